"""Check that a batch on a Spark cluster completes, with the same output, when a worker is lost half-way.

    \b
    python scripts/maintain/spark_cluster.py cap.fst FOLDER

Recases FOLDER with the model without Spark, then on a standalone cluster on this machine: a master and two workers,
started from the pyspark package. When half of the bytes are written, one worker is killed with its executor. Compares
the outputs, and prints the time of each run. Needs Java 17 (JAVA_HOME, or on the PATH).
"""

from __future__ import annotations

import filecmp
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import pyspark

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError

HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}
ENVIRONMENT = {
    **os.environ,
    "SPARK_HOME": str(HOME),
    "SPARK_LOCAL_IP": HOST,
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf {key}={value}" for key, value in SETTINGS.items()) + " pyspark-shell",
}


def daemon(name: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a master or worker, in its own process group, which includes its executors."""
    command = [
        str(HOME / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{name}",
        "--host",
        HOST,
        "--webui-port",
        "0",
    ]
    with open(folder / f"{name}.log", "ab") as log:
        return subprocess.Popen(
            [*command, *arguments], stdout=log, stderr=log, env=ENVIRONMENT, cwd=folder, start_new_session=True
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    raise CapfstError("The Spark master did not start within 120 s.")


def files(folder: Path) -> dict[Path, int]:
    """Return the complete outputs in a folder, and their sizes."""
    return {
        path.relative_to(folder): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def batch(lm: Path, texts: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "capfst", "batch", "--lm", str(lm), str(texts), "--output", str(out), "-q", *options]


@click.command(help=__doc__)
@click.argument("lm", type=click.Path(exists=True, path_type=Path))
@click.argument("texts", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(lm: Path, texts: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="capfst-cluster-") as name:
        folder = Path(name)
        local, cluster = folder / "local", folder / "cluster"
        begin = time.monotonic()
        subprocess.run(batch(lm, texts, local), check=True)
        click.echo(f"local: {len(files(local))} files in {time.monotonic() - begin:.1f} s")
        half = sum(files(local).values()) // 2
        port = free_port()
        url = f"spark://{HOST}:{port}"
        daemons = [daemon("master.Master", folder, "--port", str(port))]
        try:
            wait_for(port)
            for _ in range(2):
                daemons.append(daemon("worker.Worker", folder, "--cores", "1", "--memory", "1g", url))
            begin = time.monotonic()
            command = batch(lm, texts, cluster, "--runner", "spark", "--master", url)
            with open(folder / "driver.log", "wb") as log:
                job = subprocess.Popen(command, stderr=log, env=ENVIRONMENT, start_new_session=True)
            daemons.append(job)
            while job.poll() is None and (not cluster.exists() or sum(files(cluster).values()) < half):
                time.sleep(0.05)
            done = len(files(cluster))
            if job.poll() is not None:
                click.echo((folder / "driver.log").read_text(), err=True)
                raise CapfstError("The job ended before half of the output was written. Its log is above.")
            kill(daemons[2])
            click.echo(f"cluster: killed a worker after {time.monotonic() - begin:.1f} s, at {done} files")
            status = job.wait()
            log_text = (folder / "driver.log").read_text()
            lost = log_text.count("Lost executor")
            click.echo(f"cluster: exit status {status} after {time.monotonic() - begin:.1f} s, executors lost: {lost}")
        finally:
            for process in reversed(daemons):
                kill(process)
        names = sorted(files(local))
        _, different, failed = filecmp.cmpfiles(local, cluster, names, shallow=False)
        if status or not lost or different or failed or files(cluster).keys() != files(local).keys():
            click.echo(log_text, err=True)
            raise CapfstError(
                f"Exit status {status}, executors lost: {lost}, outputs that differ: {different + failed}."
            )
        click.echo("the outputs are identical")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
