"""Streams of JSON lines: a line in, a line out, as it arrives; wrong lines; the end."""

import json
import signal
import socket
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.service import Answer, Service, read_answer, request, serving

import capfst
from capfst.serve.body import recase_block

KIND = "application/x-ndjson"


class Stream:
    """A stream whose body is sent piece by piece."""

    def __init__(self, service: Service, path: str = "/recase") -> None:
        self.connection = service.connect()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {KIND}\r\ntransfer-encoding: chunked\r\n\r\n"
        self.connection.sendall(head.encode())
        self.file = self.connection.makefile("rb")
        assert self.file.readline().split()[1] == b"200"
        while self.file.readline().strip():
            pass

    def send(self, data: bytes) -> None:
        self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.connection.sendall(b"0\r\n\r\n")

    def receive(self) -> bytes:
        """Return the next piece of the answer; b"" at its end."""
        size = int(self.file.readline(), 16)
        data = self.file.read(size)
        self.file.readline()
        return data

    def rest(self) -> bytes:
        return b"".join(iter(self.receive, b""))


def sent(service: Service, body: bytes, path: str = "/recase") -> Answer:
    return service.ask("POST", path, body, KIND)


def test_lines_are_answered_while_the_stream_goes_on(service):
    stream = Stream(service)
    for line, answer in (
        (b'"new york"', b'"New York"'),
        (b'{"text":"an iphone","id":7}', b'{"text":"an iPhone","id":7}'),
    ):
        stream.send(line + b"\n")
        assert stream.receive() == answer + b"\n"
    stream.send(b'"the u')
    stream.send(b's navy"')
    stream.end()
    assert stream.rest() == b'"the US Navy"\n'


def test_each_line_is_on_its_own(service):
    recaser = capfst.load("en")
    lines = ["WE USE PyTorch", "In NEW york", "zelner\nzelner", "", "a" * 5000] * 500
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answers = [json.loads(line) for line in sent(service, body).body.decode().splitlines()]
    assert answers == recaser(lines)


def test_other_fields_stay_as_they_are():
    line = b'{"n":1.10,"e":1e400,"u":"\\u00e9","o":{"text": [ "us" ]},"text":"%b"}\n'
    assert recase_block(line % b"us", lambda texts: [text.upper() for text in texts]) == line % b"US"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"", "truncated"),
        (b"7", "int"),
        (b"{}", "`text`"),
        (b'{"text": 7}', "`text`"),
        (b'"a" "b"', "trailing"),
        (b'"\xff"', "UTF-8"),
        (b'{"text": "a", "b": "\xff"}', "UTF-8"),
        (b"[" * 100_000, "array"),
        (b'{"a":' * 100_000, "nested"),
        (b'{"text": "a", "b": NaN}', "invalid"),
        (b'"\\ud800"', "invalid"),
    ],
)
def test_a_wrong_line_has_an_error_in_its_place(service, line, named):
    answers = sent(service, b'"new york"\n' + line + b'\n"new york"\n').body.splitlines()
    assert (answers[0], answers[2], len(answers)) == (b'"New York"', b'"New York"', 3)
    error = json.loads(answers[1])["error"]
    assert error["status"] == 400
    assert named in error["message"]


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_lines = st.one_of(
    _texts.map(json.dumps),
    st.dictionaries(st.sampled_from(["text", "id"]), st.one_of(_texts, st.integers(0, 9), st.none())).map(json.dumps),
    st.sampled_from(["", " ", "{", "}", "[", "]", '"', '{"text":"a"', ',"id":1}', '"a","b"', "null", "1"]),
)


@settings(max_examples=300)
@given(st.lists(_lines, max_size=6))
def test_each_line_has_its_own_answer_whatever_the_others_are(lines):
    def recase(texts):
        return list(map(str.upper, texts))

    def answer(line: str) -> bytes:
        return recase_block(f"{line}\n".encode(), recase)

    assert recase_block("".join(f"{line}\n" for line in lines).encode(), recase) == b"".join(map(answer, lines))


def test_options_are_in_the_query_and_are_checked_first(service):
    assert sent(service, b'"new york"\n', "/recase?sentence_case=true&words=YORK").body == b'"New YORK"\n'
    assert "`language`" in sent(service, b'"a"\n', "/recase?language=de").error
    assert "`nbest`" in sent(service, b'"a"\n', "/recase?nbest=2").error
    for option in "document", "repair":
        assert f"`{option}`" in sent(service, b'"a"\n', f"/recase?{option}=true").error


def test_a_line_that_is_too_long_ends_the_stream(limited):
    stream = Stream(limited)
    stream.send(b'"new york"\n' + b'"' + b"a" * 1000)
    assert stream.receive() == b'"New York"\n'
    stream.send(b"a" * 1001)
    assert json.loads(stream.rest())["error"]["status"] == 413


def test_a_stopping_service_answers_what_has_arrived_and_ends():
    with serving() as service:
        stream, idle = Stream(service), service.connect()
        stream.send(b'"new york"\n"half a li')
        assert stream.receive() == b'"New York"\n'
        service.process.send_signal(signal.SIGTERM)
        assert json.loads(stream.rest())["error"]["status"] == 503
        assert idle.recv(1) == b""
        assert service.process.wait() == 0


def test_a_second_signal_does_not_wait():
    with serving("--timeout", 10_000) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", b"new", "text/plain", content_length="100"))
        service.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionError):  # once the service has stopped listening, it has handled the signal
            while True:
                service.connect().close()
                time.sleep(0.01)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait() == 0


def test_requests_that_have_arrived_are_finished_after_a_signal():
    with serving() as service:
        body = json.dumps({"lines": ["new york has new information"] * 100, "confidence": True}).encode()
        with service.connect() as connection:
            connection.sendall(request("POST", "/recase", body, "application/json"))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            while not any(
                b"capfst_requests_in_progress 2" in line for line in service.ask("GET", "/metrics").body.splitlines()
            ):
                pass
            service.process.send_signal(signal.SIGINT)
            assert len(read_answer(connection).json["lines"]) == 100
        assert service.process.wait() == 0
