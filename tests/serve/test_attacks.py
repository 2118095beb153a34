"""Clients that stall, lie, flood, or go away: each is answered or closed, and the others are served."""

import contextlib
import json
import signal
import time

import pytest
from support.command_line import TIMEOUT
from support.service import MANY, SLOW, Service, read_answer, request, serving, wait_until_it_works

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


CHUNKED = b"POST /recase HTTP/1.1\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\na: " + b"b" * (1 << 17),
        b"GET / HTTP/1.1\r\na: " + b"b" * (1 << 22),
        b"GET / HTTP/1.1\r\na: " + b"b" * (1 << 16) + b"\r\n\r\n",
        b"GET /?" + b"b" * 120_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        CHUNKED + b"0\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        CHUNKED + b"1;" + b"a" * 120_000 + b"\r\na\r\n0\r\n\r\n",
    ],
    ids=["no end", "megabytes", "a header", "an address", "many headers", "trailers", "an extension"],
)
def test_a_long_head_is_refused(limited, data):
    with limited.connect() as connection:
        try:
            connection.sendall(data)
        except OSError:
            return  # closed before all was sent
        assert read_answer(connection).status == 431


def test_a_head_that_is_nearly_too_long(limited):
    with limited.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\na: " + b"b" * 65_000 + b"\r\n\r\n")
        assert read_answer(connection).status == 200


def test_a_head_after_a_large_body_is_not_long(service):
    body = b"new york\n" * 30_000
    with service.connect() as connection:
        connection.sendall(
            request("POST", "/recase", body, "text/plain") + b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
        )
        assert len(read_answer(connection).body) == len(body)
        connection.sendall(b"\r\n")
        assert read_answer(connection).status == 200


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


@pytest.mark.parametrize("path", ["/recase", "/files?name=film.pdf", "/nothing"])
def test_a_client_that_closes_its_connection_reads_why_its_large_body_is_refused(limited, path):
    with limited.connect() as connection:
        connection.sendall(request("POST", path, b"a" * 10_000_000, "text/plain", connection="close"))
        answer = read_answer(connection)
        assert answer.status in (404, 413, 415)
        assert answer.error
        assert answer.headers["connection"] == "close"
        assert connection.recv(1) == b""


def test_a_line_without_end_is_refused_while_it_is_sent(limited):
    with limited.connect() as connection:
        connection.sendall(request("POST", "/recase", b"", "application/x-ndjson", content_length=str(1 << 30)))
        connection.sendall(b'"' + b"a" * 100_000)
        answer = b""
        while b"413" not in answer and (more := connection.recv(1 << 16)):
            answer += more
        assert b'"status":413' in answer


def test_a_connection_that_waits_gives_way_to_one_more(limited):
    with contextlib.ExitStack() as stack:
        idle, half = stack.enter_context(limited.connect()), stack.enter_context(limited.connect())
        half.sendall(STALLED["half a head"])
        for _ in range(18):
            stack.enter_context(limited.connect())
        assert is_served(limited)
        assert idle.recv(1) == b""
        stack.enter_context(limited.connect())
        assert is_served(limited)
        assert read_answer(half).status == 503


def test_connections_that_are_too_many_are_refused():
    with serving("--max-connections", 2) as service, service.connect() as one, service.connect() as other:
        for connection in one, other:
            connection.sendall(request("POST", "/recase", b'"a"\n', "application/x-ndjson", content_length="100"))
            connection.recv(1)  # the stream has begun
        with service.connect() as connection:
            answer = read_answer(connection)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")


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
    while b"capfst_requests_in_progress 1.0" not in (metrics := limited.ask("GET", "/metrics").body):
        pass
    assert b'status="499"' in metrics
    assert b'status="500"' not in metrics


HALF_UPLOAD = request("POST", "/files?name=a.txt", b"new", content_length="9")


@pytest.mark.parametrize(
    ("stalled", "missing", "most"), [(STALLED["less than was said"], 100 - len(RECASE), 4), (HALF_UPLOAD, 6, 16)]
)
def test_a_body_that_stalls_gives_way_to_one_more(stalled, missing, most):
    with serving("--max-requests", 4) as service, contextlib.ExitStack() as stack:
        connections = [stack.enter_context(service.connect()) for _ in range(most + 1)]
        for connection in connections:
            connection.sendall(stalled)
            assert is_served(service)
        answer = read_answer(connections[0])
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert service.ask("POST", "/files?name=a.txt", b"new york\n").body == b"New York\n"
        connections[0].sendall(b" " * missing + request("POST", "/recase", RECASE, "application/json"))
        assert read_answer(connections[0]).json == {"text": "New York"}


def test_a_body_that_stalls_gives_its_memory_to_others():
    with serving("--max-body", 1000) as service, contextlib.ExitStack() as stack:
        connections = [stack.enter_context(service.connect()) for _ in range(16)]
        for connection in connections:
            connection.sendall(request("POST", "/recase", b"a" * 999, "text/plain", content_length="1000"))
        assert service.ask("POST", "/recase", b"a" * 1000, "text/plain").status == 200
        assert read_answer(connections[0]).status == 429


def read_to(file, text):
    """Read lines up to one with this text."""
    while text not in (line := file.readline()):
        assert line


def test_a_stream_that_waits_gives_way_to_one_more():
    head = request("POST", "/recase", b'"new york"\n', "application/x-ndjson", content_length="1000")
    with serving("--max-requests", 2) as service, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(service.connect()) for _ in range(2)]
        files = [stack.enter_context(stream.makefile("rb")) for stream in streams]
        for stream, file in zip(streams, files, strict=True):
            stream.sendall(head)
            read_to(file, b"New York")
            assert is_served(service)  # streams do not count among requests
        streams[0].sendall(b'"the us"\n')  # so that the other one has waited longer
        read_to(files[0], b"the US")
        assert service.ask("POST", "/recase", b'"new york"\n', "application/x-ndjson").body == b'"New York"\n'
        read_to(files[1], b'"status":429')
        streams[0].sendall(b'"new york"\n')
        read_to(files[0], b"New York")


def test_requests_that_are_too_many_are_refused_with_a_time_to_wait():
    with serving("--max-requests", 1) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", json.dumps(MANY).encode(), "application/json"))
        wait_until_it_works(service)
        answer = service.post("/recase", {"text": "new york"})
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert "requests" in answer.error
        assert service.ask("GET", "/healthz").status == 200


def test_work_ends_when_its_time_is_over():
    with serving("--timeout", 1, "--jobs", 1) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", json.dumps(MANY).encode(), "application/json"))
        assert is_served(service)
        assert read_answer(connection).status == 503
        # This needs the same thread. The connection may be closed: whoever sees first that the time is over ends it.
        assert service.ask("POST", "/recase", b"new york\n" * 2000, "text/plain").status in (200, 503)
        assert service.post("/recase", {"text": "new york\nnew york"}).status == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/recase", SLOW),
        ("/recase", {"lines": [SLOW["text"]], "words": SLOW["words"]}),
        ("/recase", MANY),
    ],
    ids=["text", "lines", "nbest"],
)
def test_work_ends_when_its_client_has_gone_away(path, body):
    with serving("--timeout", 10_000) as service:
        with service.connect() as connection:
            connection.sendall(request("POST", path, json.dumps(body).encode(), "application/json"))
            wait_until_it_works(service)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(TIMEOUT) == 0
        assert "not finished" not in service.process.stderr.read()


def test_a_service_ends_whatever_its_threads_do():
    program = (
        "import time\n"
        "from capfst.cli import main\n"
        "from capfst.recaser import Recaser\n"
        "Recaser.__call__ = lambda *rest, **options: time.sleep(10_000)\n"
        "main()\n"
    )
    with serving("--timeout", 1, program=program) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", b'{"text": "a\\nb"}', "application/json"))
        wait_until_it_works(service)
        service.process.send_signal(signal.SIGTERM)
        assert read_answer(connection).status == 503
        assert service.process.wait(TIMEOUT) == 0
        assert "not finished" in service.process.stderr.read()


def test_many_casings_of_a_phrase_are_refused(service):
    casings = [f"{one} {other}" for one in ("New", "nEw", "neW", "NEW") for other in ("York", "yOrk", "YORK")][:11]
    assert service.post("/recase", {"text": "new york", "words": dict.fromkeys(casings[:10], 1.0)}).status == 200
    answer = service.post("/recase", {"text": "new york", "words": dict.fromkeys(casings, 1.0)})
    assert answer.status == 400
    assert repr(casings[10]) in answer.error


@pytest.mark.parametrize("weight", ["1e308", "-1e308", "1001", "1e400", "1" + "0" * 400])
def test_costs_stay_finite(service, weight):
    body = f'{{"text": "new york", "nbest": 1, "words": {{"New York": {weight}}}}}'.encode()
    assert service.ask("POST", "/recase", body, "application/json").status == 400


def test_an_answer_that_takes_too_long_is_refused_while_others_are_served():
    lines = [("we met mr. brown in new york " * 100)[:1900]] * 2000
    body = json.dumps({"lines": lines, "nbest": 100, "confidence": True}).encode()
    with serving("--timeout", 1) as service, service.connect() as connection:
        connection.sendall(request("POST", "/recase", body, "application/json"))
        assert is_served(service)
        answer = read_answer(connection)
        assert answer.status == 503
        assert "1 s" in answer.error
