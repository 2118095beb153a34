"""The Dockerfile, as far as it can be checked without Docker; .ci/container.py takes its steps."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from capfst.cli import cli

ROOT = Path(__file__).parent.parent
FILE = ROOT / "Dockerfile"
LINTER = shutil.which("hadolint", path=Path(sys.executable).parent)


def last_stage() -> str:
    return re.split(r"^FROM ", FILE.read_text("utf-8"), flags=re.MULTILINE)[-1]


def words(keyword: str) -> list[str]:
    """Return the words of the instruction of the last stage that begins so."""
    return json.loads(re.findall(rf"^ *{keyword} (\[.*\])$", last_stage(), re.MULTILINE)[0])


@pytest.mark.skipif(LINTER is None, reason="hadolint is not installed")
def test_the_linter_finds_nothing():
    done = subprocess.run([LINTER, FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_has_no_more_than_the_environment_and_no_root():
    assert re.findall(r"^(?:COPY|ADD) (.*)", last_stage(), re.MULTILINE) == ["--from=build /opt/capfst /opt/capfst"]
    assert not re.search("^RUN", last_stage(), re.MULTILINE)
    assert int(re.findall(r"^USER (\d+):\d+$", last_stage(), re.MULTILINE)[-1]) > 0


def test_the_service_listens_where_its_health_is_checked():
    command = words("ENTRYPOINT")
    port = command[command.index("--port") + 1]
    assert f"EXPOSE {port}\n" in last_stage()
    assert f"http://127.0.0.1:{port}/healthz" in words("CMD")[-1]
    assert CliRunner().invoke(cli, [*command[1:], "--help"]).exit_code == 0


def test_docker_is_sent_what_the_wheel_is_built_from_and_nothing_built():
    rules = [rule for rule in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not rule.startswith("#")]
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    assert rules[0] == "*"
    assert {"capfst", "grammars", "pyproject.toml", "setup.py", "README.md", "LICENSE", "constraints.txt"} == sent
    assert {"capfst/kernels/*.so", "capfst/kernels/lib", "**/__pycache__"} <= set(rules)
