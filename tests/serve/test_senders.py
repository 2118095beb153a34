"""Requests that a browser sends for pages of others are refused: by the name of the host, and by the origin."""

import pytest
from support.service import read_answer, serving

from capfst.options import ServeOptions
from capfst.serve.app import Senders

OWN = "http://localhost:8000"
PAGE = "https://example.org"


def status(method="POST", is_local=True, host="localhost:8000", options=None, **headers) -> int | None:
    headers = {"host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "method": method,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value is not None],
    }
    refusal = Senders(ServeOptions(**options or {}), is_local).refusal(scope)
    return refusal and refusal.status


@pytest.mark.parametrize(
    "host", [None, "localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8000", "127.0.0.2", "[::1]", "[::1]:8000"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_names_of_this_machine_are_accepted(host, method):
    assert status(method, host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "", "example.org", "example.org:8000", "localhost.example.org", "localhost@example.org", "127.0.0.1.example",
        "1270.0.0.1", "10.0.0.1", "[::2]", "::1", "localhost:8000:1", "localhost\xa0", "xlocalhost",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_names_are_refused(host, method):
    assert status(method, host=host) == 421


def test_a_second_name_is_also_checked():
    scope = {"method": "GET", "headers": [(b"host", b"localhost"), (b"host", b"example.org")]}
    assert Senders(ServeOptions(), True).refusal(scope).status == 421


def test_a_public_address_has_any_name():
    assert status(is_local=False, host="example.org") is None


def test_the_name_to_listen_on_and_the_host_of_an_origin_that_may_call_are_names_of_the_service():
    assert status(host="here:8000", options={"host": "here"}) is None
    assert status(host="example.org", options={"cors": PAGE}) is None
    assert status(host="example.org", options={"cors": "https://Example.org/"}) is None
    assert status(host="example.com", options={"cors": PAGE}) == 421
    assert status(host="example.com", options={"cors": "*"}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": OWN},
        {"origin": OWN, "sec_fetch_site": "same-origin"},
        {"origin": PAGE, "sec_fetch_site": "same-origin"},  # behind a proxy
        {"sec_fetch_site": "none"},
    ],
)
def test_pages_of_the_service_are_accepted(headers):
    assert status(**headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": PAGE},
        {"origin": "null"},
        {"origin": "http://localhost"},
        {"origin": "http://localhost:3000"},
        {"origin": "https://localhost:8000"},
        {"origin": PAGE, "sec_fetch_site": "cross-site"},
        {"origin": OWN, "sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": ""},
    ],
)
@pytest.mark.parametrize("is_local", [True, False])
def test_pages_of_others_may_not_post(headers, is_local):
    assert status(is_local=is_local, **headers) == 403
    assert status("GET", is_local, **headers) is None  # what they cannot read
    for origins in ("*", [headers["origin"]] if "origin" in headers else "*"):
        assert status(is_local=is_local, options={"cors": origins}, **headers) is None


def test_a_service_refuses_them(service):
    body = {"text": "new york"}
    assert (
        service.post(
            "/recase", body, origin=f"http://localhost:{service.port}", host=f"localhost:{service.port}"
        ).status
        == 200
    )
    answer = service.post("/recase", body, origin=PAGE)
    assert (answer.status, PAGE in answer.error, "--cors" in answer.error) == (403, True, True)
    with service.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: example.org\r\n\r\n")
        assert "example.org" in read_answer(connection).error


def test_a_service_for_others_has_any_name():
    with serving("--host", "0.0.0.0") as service, service.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: example.org\r\n\r\n")
        assert read_answer(connection).status == 200
