"""Check that a batch on a Spark cluster completes, with the same output, when an executor is lost half-way.

    \b
    python scripts/maintain/spark_cluster.py cap.fst FOLDER

Recases FOLDER with the model without Spark, then with two executors on this machine, each a process of its own. When
half of the bytes are written, one of them is killed. Compares the outputs, and prints the time of each run. Needs
Java 17 (JAVA_HOME, or on the PATH).
"""

from __future__ import annotations

import filecmp
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import pyspark

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError

SETTINGS = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
ENVIRONMENT = {
    **os.environ,
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf {key}={value}" for key, value in SETTINGS.items()) + " pyspark-shell",
}
CLUSTER = "local-cluster[2,1,1024]"  # two executors with a core and 1,024 MB each
EXECUTOR = b"CoarseGrainedExecutorBackend"


def files(folder: Path) -> dict[Path, int]:
    """Return the complete outputs in a folder, and their sizes."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder): path.stat().st_size for path in found}


def executors(group: int) -> list[int]:
    """Return the processes of executors in a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if EXECUTOR in (folder / "cmdline").read_bytes() and os.getpgid(int(folder.name)) == group:
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


def batch(lm: Path, texts: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "capfst", "batch", "--lm", str(lm), str(texts), "--output", str(out), "-q", *options]


@click.command(help=__doc__)
@click.argument("lm", type=click.Path(exists=True, resolve_path=True, path_type=Path))
@click.argument("texts", type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path))
def main(lm: Path, texts: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="capfst-cluster-") as name:
        local, cluster, log = (Path(name) / each for each in ("local", "cluster", "driver.log"))
        begin = time.monotonic()
        subprocess.run(batch(lm, texts, local), check=True)
        click.echo(f"local: {len(files(local))} files in {time.monotonic() - begin:.1f} s")
        half, begin = sum(files(local).values()) // 2, time.monotonic()
        command = batch(lm, texts, cluster, "--runner", "spark", "--master", CLUSTER)
        with log.open("wb") as out:
            job = subprocess.Popen(command, stdout=out, stderr=out, env=ENVIRONMENT, cwd=name, start_new_session=True)
        try:
            while job.poll() is None and (not cluster.exists() or sum(files(cluster).values()) < half):
                time.sleep(0.05)
            if job.poll() is not None:
                raise CapfstError(f"The job ended before half of the output was written:\n{log.read_text()}")
            os.kill(executors(job.pid)[0], signal.SIGKILL)
            click.echo(
                f"cluster: killed an executor after {time.monotonic() - begin:.1f} s, at {len(files(cluster))} files"
            )
            status = job.wait()
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
        lost = log.read_text().count("Lost executor")
        click.echo(f"cluster: exit status {status} after {time.monotonic() - begin:.1f} s, executors lost: {lost}")
        _, different, failed = filecmp.cmpfiles(local, cluster, sorted(files(local)), shallow=False)
        if status or not lost or different or failed or files(cluster).keys() != files(local).keys():
            raise CapfstError(f"Outputs that differ: {different + failed}. The log:\n{log.read_text()}")
        click.echo("the outputs are identical")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
