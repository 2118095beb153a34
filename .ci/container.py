#!/usr/bin/env python3
"""Take the steps of the Dockerfile without Docker.

Build the wheel from the files that .dockerignore leaves, and install it with the extra `serve` in an environment that
cannot be written to. There, run the commands of the image on a free port: the service as another user, and the health
check. Then stop the service with SIGTERM.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
SECONDS = 30


def copy_context(target: Path) -> None:
    """Copy the files that are sent to Docker, and link kernels that are compiled already."""
    rules = (ROOT / ".dockerignore").read_text("utf-8").split("\n")
    for name in (rule[1:] for rule in rules if rule.startswith("!")):
        kind = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        kind(ROOT / name, target / name)
    for name in ("kernels/lib", "kernels"):
        for path in (target / "capfst" / name).glob("*.so"):
            path.unlink()
    (target / "build").mkdir()
    (target / "build" / "kernels").symlink_to(ROOT / "build" / "kernels")


def command(keyword: str, port: int) -> list[str]:
    """Return the last command in the Dockerfile after this keyword."""
    words = re.findall(rf"^ *{keyword} (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1]
    return json.loads(words.replace("8000", str(port)))


def main(folder: Path) -> None:
    source, wheels, environment = folder / "source", folder / "wheel", folder / "env"
    source.mkdir()
    copy_context(source)
    subprocess.run([*PIP, "wheel", "--no-deps", "--wheel-dir", wheels, source], check=True)
    venv.create(environment)
    (wheel,) = wheels.glob("*.whl")
    python = environment / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    subprocess.run([*PIP, "--python", python, "install", "-c", constraints, f"{wheel}[serve]"], check=True)
    shutil.rmtree(source)
    subprocess.run(["chmod", "-R", "a-w,a+rX", folder], check=True)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"PATH": f"{environment}/bin"}
    is_root = os.getuid() == 0
    user = int(re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)[-1]) if is_root else None
    settings = {"cwd": "/", "env": variables, "user": user, "group": user, "extra_groups": [] if is_root else None}
    program, *arguments = command("ENTRYPOINT", port)
    started = time.monotonic()
    service = subprocess.Popen([environment / "bin" / program, *arguments], **settings)
    try:
        program, *arguments = command("CMD", port)
        check = [environment / "bin" / program, *arguments]
        while subprocess.run(check, stderr=subprocess.DEVNULL, check=False, **settings).returncode:
            if service.poll() is not None or time.monotonic() > started + SECONDS:
                raise SystemExit(".ci/container.py: the service is not healthy")
        seconds = time.monotonic() - started
    finally:
        service.terminate()
    if status := service.wait(SECONDS):
        raise SystemExit(f".ci/container.py: the service ended with status {status}")
    print(f"The service was healthy after {seconds:.1f} s, and ended with status 0")


with tempfile.TemporaryDirectory() as name:
    os.chmod(name, 0o755)
    try:
        main(Path(name))
    finally:
        subprocess.run(["chmod", "-R", "u+w", name], check=True)
