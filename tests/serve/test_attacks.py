"""Clients that stall, lie, flood, or go away: each is answered or closed, and the others are served."""

import json
import time

import pytest
from support.service import Service, read_answer, request, serving

RECASE = b'{"text": "new york"}'


def is_served(service: Service) -> bool:
    return service.post("/recase", {"text": "new york"}).json == {"text": "New York"}


STALLED = {
    "no request": b"",
    "half a head": b"POST /recase HTTP/1.1\r\nhost: localhost\r\nconten",
    "half a body": request("POST", "/recase", RECASE, "application/json")[:-3],
    "less than was said": request("POST", "/recase", RECASE, "application/json", content_length="100"),
    "half a chunk": b"POST /recase HTTP/1.1\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\nff\r\nnew",
}


@pytest.mark.parametrize("case", STALLED)
def test_a_request_that_does_not_arrive_is_refused(limited, case):
    with limited.connect() as connection:
        connection.sendall(STALLED[case])
        assert is_served(limited)
        answer = read_answer(connection)
        assert answer.status == 408
        assert "2 s" in answer.error
        assert connection.recv(1) == b""


def test_a_request_that_trickles_is_refused(limited):
    with limited.connect() as connection:
        connection.sendall(b"POST /recase HTTP/1.1\r\n")
        connection.setblocking(False)
        answer = b""
        while not answer:
            connection.send(b"a: b\r\n")
            time.sleep(0.1)
            try:
                answer = connection.recv(1 << 16)
            except BlockingIOError:
                continue
        assert b" 408 " in answer


def test_a_stream_that_pauses_too_long_is_closed(limited):
    with limited.connect() as connection:
        head = request("POST", "/recase", b'"new york"\n', "application/x-ndjson", content_length="1000")
        connection.sendall(head)
        data = b""
        while more := connection.recv(1 << 16):
            data += more
        assert b'"New York"\n' in data


def test_a_client_that_does_not_read_is_closed(limited):
    with limited.connect() as connection:
        connection.setsockopt(1, 8, 1 << 12)  # SO_RCVBUF
        head = request("POST", "/recase", b"", "application/x-ndjson", content_length=str(1 << 40))
        line = json.dumps("new york " * 100).encode() + b"\n"
        connection.sendall(head)
        connection.settimeout(10)
        with pytest.raises(OSError):
            while True:
                connection.sendall(line * 50)
        assert is_served(limited)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /recase HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(limited, data):
    with limited.connect() as connection:
        connection.sendall(data)
        assert read_answer(connection).status == 400
        assert connection.recv(1) == b""


def test_a_body_with_more_than_was_said_is_refused(limited):
    with limited.connect() as connection:
        size = str(len(RECASE))
        connection.sendall(
            request("POST", "/recase", RECASE + b"more\r\n\r\n", "application/json", content_length=size)
        )
        assert read_answer(connection).status == 400
        assert connection.recv(1) == b""


@pytest.mark.parametrize("size", [1 << 17, 1 << 22])
def test_a_long_head_is_refused(limited, size):
    with limited.connect() as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\na: " + b"b" * size)
        except OSError:
            return  # closed before all was sent
        assert read_answer(connection).status == 431


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(limited):
    with limited.connect() as connection:
        head = request("POST", "/recase", b"", "application/json", content_length=str(1 << 40))
        connection.sendall(head)
        assert read_answer(connection).status == 413
        connection.settimeout(10)
        with pytest.raises(OSError):
            while True:
                connection.sendall(b"a" * 1000)
                time.sleep(0.01)


def test_the_connection_of_a_body_that_is_too_large_can_be_used_again(limited):
    with limited.connect() as connection:
        connection.sendall(request("POST", "/recase", b"a" * 1_000_000, "text/plain"))
        assert read_answer(connection).status == 413
        connection.sendall(request("POST", "/recase", RECASE, "application/json"))
        assert read_answer(connection).json == {"text": "New York"}


def test_a_line_without_end_is_refused_while_it_is_sent(limited):
    with limited.connect() as connection:
        connection.sendall(request("POST", "/recase", b"", "application/x-ndjson", content_length=str(1 << 30)))
        connection.sendall(b'"' + b"a" * 100_000)
        answer = b""
        while b"413" not in answer and (more := connection.recv(1 << 16)):
            answer += more
        assert b'"status":413' in answer


def test_connections_that_are_too_many_are_refused(limited):
    open_connections = [limited.connect() for _ in range(20)]
    with limited.connect() as connection:
        assert read_answer(connection).status == 503
    for connection in open_connections:
        connection.close()
    while limited.ask("GET", "/healthz").status == 503:
        pass
    assert is_served(limited)


def test_requests_that_are_sent_ahead_are_limited(limited):
    with limited.connect() as connection:
        connection.sendall(request("POST", "/explain", b'{"text": "new york"}', "application/json") * 100)
        while more := connection.recv(1 << 16):
            last = more
        assert b" 400 " in last
    assert is_served(limited)


def test_a_client_that_goes_away_hurts_no_one(limited):
    for sent in (request("POST", "/explain", b'{"text": "new york"}', "application/json"), STALLED["half a body"]):
        for _ in range(10):
            with limited.connect() as connection:
                connection.sendall(sent)
    assert is_served(limited)


def test_requests_that_are_too_many_are_refused_with_a_time_to_wait():
    with serving("--max-requests", 1) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", b'"a"\n', "application/x-ndjson", content_length="100"))
        connection.recv(1)  # the stream has begun
        answer = service.post("/recase", {"text": "a"})
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert "requests" in answer.error
        assert service.ask("GET", "/healthz").status == 200


def test_an_answer_that_takes_too_long_is_refused_while_others_are_served():
    lines = [("we met mr. brown in new york " * 100)[:1900]] * 2000
    body = json.dumps({"lines": lines, "nbest": 100, "confidence": True}).encode()
    with serving("--timeout", 1) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", body, "application/json"))
        assert is_served(service)
        answer = read_answer(connection)
        assert answer.status == 503
        assert "1 s" in answer.error
