"""Run `capfst serve` in a process of its own, and talk to it over sockets.

Importing this skips a module of tests if the extra `serve` is not installed.
"""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from support.command_line import TIMEOUT, start

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """Return the message of an error; check its shape and its status."""
        assert self.headers["content-type"] == "application/json"
        error = self.json["error"]
        assert set(error) == {"status", "message"}
        assert error["status"] == self.status
        return error["message"]


class Service(NamedTuple):
    port: int
    process: subprocess.Popen

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "", **headers: str) -> Answer:
        """Send a request over a connection of its own and return the answer."""
        with self.connect() as connection:
            connection.sendall(request(method, path, body, kind, connection="close", **headers))
            return read_answer(connection)

    def post(self, path: str, value: object, **headers: str) -> Answer:
        return self.ask("POST", path, json.dumps(value).encode(), "application/json", **headers)


def request(method: str, path: str, body: bytes = b"", kind: str = "", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"host: {headers.pop('host', 'localhost')}"]
    if method == "POST":
        headers = {"content_length": str(len(body)), "content_type": kind} | headers
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def read_answer(connection: socket.socket) -> Answer:
    """Read one answer."""
    with connection.makefile("rb") as file:
        status = int(file.readline().split()[1])
        headers = {}
        while line := file.readline().strip().decode():
            name, value = line.split(": ", 1)
            headers[name] = value
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(file.readline(), 16):
                body += file.read(size)
                file.readline()
            file.readline()
        else:
            body = file.read(int(headers.get("content-length", 0)))
    return Answer(status, headers, body)


@contextmanager
def serving(*arguments: object, program: str = "") -> Iterator[Service]:
    """Start a service on a free port, and kill it in the end. program: in Python, instead of capfst."""
    with start("serve", "--port", 0, *arguments, program=program, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if found := re.search(r"http://(?:127|0)\.0\.0\.\d:(\d+)", line):
                break
        yield Service(int(found[1]), process)


SLOW = {
    "text": "we met in new york and left it " * 120_000,
    "words": {"new york": 1.0, "New york": 1.0, "we Met": 1.0},
    "restore": "punctuation,case",
}
"""Takes most of a second."""
MANY = {"lines": ["we met mr. brown in new york " * 60] * 1000, "nbest": 100}
"""Takes seconds."""


def wait_until_it_works(service):
    """Wait until a request has arrived."""
    while not {b"capfst_requests_in_progress 2.0", b"capfst_arriving 0.0"} <= set(
        service.ask("GET", "/metrics").body.splitlines()
    ):
        pass
