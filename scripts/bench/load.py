"""Measure `capfst serve` under load, text to text, next to what its HTTP library alone gives.

    \b
    python scripts/bench/load.py TEXT [--json load.json] [--seconds 5] [--minutes 0]

The lines of TEXT, lowercased, are sent one per request over 1, 8 and 64 connections, and all together as a stream of
JSON lines. The server runs on one core and the client on another (`taskset`). The yardstick for requests is a server of
the same libraries that reads and writes the same JSON and does nothing else, that for streams is `capfst recase` on one
core. Both take turns with the service, so that a shared machine is as fast for one as for the other: compare the
ratios. Requests per second of the server's processor time depend less on other work of the machine.

Then 1,000 connections send half of a request and stall. With --minutes, the service is under load for so long while its
memory is watched.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tables import FILE, NEW_FILE, load_table, save

from capfst.cli.exit_status import exit_status
from capfst.io.blocks import read_blocks

CONNECTIONS = (1, 8, 64)
STALLED = 1000
SERVER_CORE, CLIENT_CORE = 0, 1
_STREAM = 32 << 20  # bytes of text


def echo_port() -> None:
    """Serve JSON, and nothing else."""

    async def echo(request: Request) -> JSONResponse:
        return JSONResponse({"text": (await request.json())["text"]})

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        application = Starlette(routes=[Route("/recase", echo, methods=["POST"])])
        uvicorn.Server(uvicorn.Config(application, access_log=False, log_level="warning")).run([listener])


class Served(NamedTuple):
    """A server that runs."""

    port: int
    process: int


@contextmanager
def server(*command: str) -> Iterator[Served]:
    """Run a server on its core."""
    pinned = ["taskset", "-c", str(SERVER_CORE), sys.executable, *command]
    with subprocess.Popen(pinned, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                    yield Served(int(found[1]), process.pid)
                    break
        finally:
            process.terminate()
            process.stderr.read()


class Client(asyncio.Protocol):
    """Sends a request after the other, and keeps the seconds that each took."""

    def __init__(self, requests: Iterator[bytes], seconds: list[float]) -> None:
        self.requests, self.seconds = requests, seconds
        self.received = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.begin = time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        self.received += data
        head = self.received.find(b"\r\n\r\n")
        if head < 0:
            return
        length = re.search(rb"content-length: (\d+)", self.received)
        if not self.received.startswith(b"HTTP/1.1 200") or not length:
            raise RuntimeError(self.received.decode())
        if len(self.received) >= head + 4 + int(length[1]):
            self.seconds.append(time.perf_counter() - self.begin)
            self.received = b""
            self.send()


def repeated(lines: list[str]) -> Iterator[bytes]:
    """Yield a request for each line, again and again."""
    made = []
    for line in lines:
        body = json.dumps({"text": line}).encode()
        head = (
            "POST /recase HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    while True:
        yield from made


def processor_time(process: int) -> float:
    """Return the seconds that a process has used a processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def requests(served: Served, lines: list[str], connections: int, seconds: float) -> dict[str, float]:
    """Return requests per second, also of processor time, and latencies in ms over a number of connections."""
    loop, taken = asyncio.get_running_loop(), list[float]()
    source = repeated(lines)
    opened = [
        await loop.create_connection(lambda: Client(source, taken), "127.0.0.1", served.port)
        for _ in range(connections)
    ]
    await asyncio.sleep(0.5)
    taken.clear()
    begin, used = time.perf_counter(), processor_time(served.process)
    await asyncio.sleep(seconds)
    while len(taken) < 2:  # of a slow machine
        await asyncio.sleep(seconds)
    n, passed = len(taken), time.perf_counter() - begin
    used = max(1 / os.sysconf("SC_CLK_TCK"), processor_time(served.process) - used)
    for transport, _ in opened:
        transport.abort()
    quantiles = statistics.quantiles(taken, n=100)
    return {"rate": n / passed, "of_core": n / used, "p50": 1000 * quantiles[49], "p99": 1000 * quantiles[98]}


async def stalled(served: Served, lines: list[str], seconds: float) -> dict[str, float]:
    """Return the same for 8 connections, while many others stall in the middle of a request."""
    connections = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(STALLED)]
    for _, writer in connections:
        writer.write(b"POST /recase HTTP/1.1\r\nhost: localhost\r\nconten")
    measured = await requests(served, lines, 8, seconds)
    for _, writer in connections:
        writer.close()
    return measured


def json_lines(lines: list[str], size: int) -> tuple[bytes, int]:
    """Return the lines of a stream, and how often they are sent."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    return text, -(-size // len(text))


async def stream(served: Served, lines: list[str], size: int) -> float:
    """Return the seconds from the first line of a stream to the last answer."""
    text, n = json_lines(lines, size)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1 << 22)
    begin = time.perf_counter()
    writer.write(b"POST /recase HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n")
    writer.write(b"content-length: %d\r\nconnection: close\r\n\r\n" % (n * len(text)))

    async def send() -> None:
        for _ in range(n):
            writer.write(text)
            await writer.drain()

    sending = asyncio.ensure_future(send())
    size = 0
    while data := await reader.read(1 << 20):
        size += len(data)
    await sending
    writer.close()
    if size < n * len(text):
        raise RuntimeError("the stream ended early")
    return time.perf_counter() - begin


def recase(lines: list[str], size: int) -> float:
    """Return the seconds of `capfst recase` for the same text, without its start."""
    text = "".join(f"{line}\n" for line in lines).encode()
    n = json_lines(lines, size)[1]
    command = ["taskset", "-c", str(SERVER_CORE), sys.executable, "-m", "capfst", "recase", "--jobs", "1", "--quiet"]
    taken = []
    for data in (b"\n", text * n):
        begin = time.perf_counter()
        subprocess.run(command, input=data, stdout=subprocess.DEVNULL, check=True)
        taken.append(time.perf_counter() - begin)
    return taken[1] - taken[0]


def first_answer() -> float:
    """Return the seconds from the start of the service to its first answer."""
    begin = time.perf_counter()
    with server("-m", "capfst", "serve", "--port", "0") as served:
        subprocess.run(
            ["curl", "-s", "-H", "content-type: text/plain", "-d", "new york", f"127.0.0.1:{served.port}/recase"],
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return time.perf_counter() - begin


def memory(process: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


async def soak(served: Served, lines: list[str], minutes: float) -> list[float]:
    """Return the memory of the service each half minute under load: requests, and streams."""
    used = []
    for _ in range(round(2 * minutes)):
        await asyncio.gather(requests(served, lines, 64, 29), stream(served, lines, _STREAM))
        used.append(memory(served.process))
    return used


@click.command(help=__doc__)
@click.argument("text", type=FILE)
@click.option("--seconds", default=5.0, show_default=True, help="Time of each measurement.")
@click.option("--rounds", default=3, show_default=True, help="Number of measurements, whose median counts.")
@click.option("--minutes", default=0.0, show_default=True, help="Time under load while memory is watched.")
@click.option("--quick", is_flag=True, help="Measure for a moment, which shows nothing.")
@click.option("--json", "output", type=NEW_FILE, help="File to write the results to.")
def main(text: Path, seconds: float, rounds: int, minutes: float, quick: bool, output: Path | None) -> None:
    seconds, rounds, minutes, size = (0.2, 1, 0, 1 << 16) if quick else (seconds, rounds, minutes, _STREAM)
    given = b"".join(read_blocks([text])).decode().lower().splitlines()
    lines = [line.strip() for line in given if line.strip()]
    short = [line for line in lines if 20 <= len(line) <= 100]
    n_tokens = sum(len(line.split()) for line in lines)
    os.sched_setaffinity(0, {CLIENT_CORE})
    uvloop.install()
    results: dict[str, Any] = {"table": "load", "requests": [], "start": first_answer()}
    echo = (str(Path(__file__).parent / "load.py"), "--echo")
    with server("-m", "capfst", "serve", "--port", "0") as served, server(*echo) as bare:
        for connections in CONNECTIONS:
            measured: dict[str, list[dict[str, float]]] = {"library": [], "capfst": []}
            for _ in range(rounds):
                measured["library"].append(asyncio.run(requests(bare, short, connections, seconds)))
                measured["capfst"].append(asyncio.run(requests(served, short, connections, seconds)))
            results["requests"].append({"connections": connections} | {k: _median(v) for k, v in measured.items()})
        results["stalled"] = asyncio.run(stalled(served, short, seconds))
        pairs = [(asyncio.run(stream(served, lines, size)), recase(lines, size)) for _ in range(rounds)]
        n = json_lines(lines, size)[1]
        results["stream"], results["command"] = (
            n * n_tokens / statistics.median(taken) for taken in zip(*pairs, strict=True)
        )
        results["memory"] = [memory(served.process), *asyncio.run(soak(served, lines, minutes))]
    if output:
        save(results, output)
    print(load_table(results))


def _median(measured: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in measured) for name in measured[0]}


if __name__ == "__main__":
    with exit_status():
        echo_port() if sys.argv[1:] == ["--echo"] else main(standalone_mode=False)
