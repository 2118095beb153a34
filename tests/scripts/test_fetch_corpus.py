"""Fetching: a local HTTP server that breaks off, cannot resume, changes its file or refuses; never the network."""

import fcntl
import hashlib
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.errors import CapfstError

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

import download  # noqa: E402
import fetch_corpus  # noqa: E402

BODY = b"".join(b"Line %d.\n" % k for k in range(100))
OTHER = BODY.upper() + b"More.\n"


class Site:
    """What the server has, how it fails, and what it was asked and sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.set(BODY)
        self.ranges = self.if_range = self.length = True
        self.drops: list[int] = []  # the connections that come break off after so many bytes
        self.statuses: list[int] = []  # they are refused so
        self.files: dict[str, bytes] = {}  # other paths
        self.requests: list[dict[str, str]] = []
        self.sent = 0

    def set(self, body: bytes, etag: str | None = '"1"', modified: str | None = None) -> None:
        self.body, self.etag, self.modified = body, etag, modified

    @property
    def asked(self) -> list[str | None]:
        return [request.get("Range") for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site = self.server.site
        site.requests.append(dict(self.headers))
        if site.statuses:
            self.send_error(site.statuses.pop(0))
            return
        if self.path != "/corpus.txt" and self.path not in site.files:
            self.send_error(404)
            return
        body, start = site.files.get(self.path, site.body), 0
        condition = self.headers["If-Range"]
        right = not site.if_range or condition in (None, site.etag, site.modified)
        if self.headers["Range"] and site.ranges and right:
            start = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])[1])
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if site.length:
            self.send_header("Content-Length", str(len(body) - start))
        for name, value in {"ETag": site.etag, "Last-Modified": site.modified}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        piece = body[start:][: site.drops.pop(0) if site.drops else None]
        site.sent += len(piece)
        self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses between attempts, which are not waited for."""
    found: list[float] = []
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download.time, "sleep", found.append)
    return found


def new_site(server) -> Site:
    server.site = Site(f"http://127.0.0.1:{server.server_port}/corpus.txt")
    return server.site


@pytest.fixture
def site(server):
    return new_site(server)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus.txt"


def leftovers(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file != path)


def test_fetch(site, path):
    download.fetch(site.url, path, hashlib.md5(BODY).hexdigest(), len(BODY))
    assert path.read_bytes() == BODY
    assert leftovers(path) == []
    assert site.asked == [None]


def test_broken_connections_go_on_where_they_ended(site, path, pauses):
    site.drops = [10, 200, 0, 0, 5]
    download.fetch(site.url, path)
    assert path.read_bytes() == BODY
    assert site.asked == [None, "bytes=10-", "bytes=210-", "bytes=210-", "bytes=210-", "bytes=215-"]
    assert {request.get("If-Range") for request in site.requests[1:]} == {'"1"'}
    assert site.sent == len(BODY)
    assert pauses == [1, 1, 2, 4, 1]


def test_a_later_run_goes_on(site, path):
    site.drops = [500]
    with pytest.raises(CapfstError, match=r"ended after 500 of 890 bytes; run it again"):
        download.fetch(site.url, path, tries=1)
    assert leftovers(path) == ["corpus.txt.part", "corpus.txt.part.json"]
    download.fetch(site.url, path)
    assert path.read_bytes() == BODY
    assert site.sent == len(BODY)
    assert leftovers(path) == []


@settings(max_examples=25, deadline=None)
@given(drops=st.lists(st.integers(0, 900), max_size=6), modes=st.tuples(*[st.booleans()] * 3), etag=st.booleans())
def test_whatever_breaks_off(server, tmp_path_factory, drops, modes, etag):
    site, path = new_site(server), tmp_path_factory.mktemp("any") / "corpus.txt"
    site.drops = list(drops)
    site.ranges, site.if_range, _ = modes
    site.set(BODY, '"1"' if etag else None, "Sat, 21 Nov 2026 00:00:00 GMT" if modes[2] else None)
    download.fetch(site.url, path, tries=8)
    assert path.read_bytes() == BODY


def test_a_server_that_cannot_resume(site, path):
    site.ranges = False
    site.drops = [100, 50]
    download.fetch(site.url, path)
    assert path.read_bytes() == BODY
    assert site.sent == 150 + len(BODY)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"etag": '"1"'}, {"etag": '"2"'}),
        ({"etag": None, "modified": "Mon"}, {"etag": None, "modified": "Tue"}),
        ({"etag": 'W/"1"', "modified": "Mon"}, {"etag": 'W/"2"', "modified": "Tue"}),
        ({"etag": None}, {"etag": None}),  # only its size tells
    ],
)
@pytest.mark.parametrize("if_range", [True, False])
def test_a_file_that_changes_between_attempts_is_fetched_anew(site, path, before, after, if_range):
    site.set(BODY, **before)
    site.if_range = if_range
    site.drops = [100]
    with pytest.raises(CapfstError):
        download.fetch(site.url, path, tries=1)
    site.set(OTHER, **after)
    download.fetch(site.url, path)
    assert path.read_bytes() == OTHER
    assert site.requests[1].get("If-Range") == (before["etag"] if before["etag"] == '"1"' else before.get("modified"))


@pytest.mark.parametrize(("now", "sent"), [(BODY, 0), (BODY[:50], 50)])
def test_a_part_that_is_as_long_as_the_file(site, path, now, sent):
    path.with_name("corpus.txt.part").write_bytes(BODY)
    notes = {"url": site.url, "size": len(BODY), "validator": '"1"'}
    path.with_name("corpus.txt.part.json").write_text(json.dumps(notes), "utf-8")
    site.if_range = now == BODY
    site.set(now, '"1"' if now == BODY else '"2"')
    if now != BODY:
        path.with_name("corpus.txt.part").write_bytes(BODY[:60])
    download.fetch(site.url, path)
    assert path.read_bytes() == now
    assert site.sent == sent


def test_the_part_of_another_url_is_not_taken(site, path):
    site.drops = [100]
    with pytest.raises(CapfstError):
        download.fetch(site.url, path, tries=1)
    site.files["/other.txt"] = OTHER
    download.fetch(site.url.replace("corpus", "other"), path)
    assert path.read_bytes() == OTHER


def test_a_file_of_unknown_length(site, path):
    site.length = False
    download.fetch(site.url, path)
    assert path.read_bytes() == BODY


DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.mark.parametrize(
    "sums",
    [
        f"{DIGEST}\n",
        f"{'0' * 64}  other.txt\n{DIGEST}  corpus.txt\n",
        f"{'0' * 64} *a-corpus.txt\n{DIGEST.upper()} *data/corpus.txt\n",
        f"SHA256 (other.txt) = {'0' * 64}\nSHA256 (corpus.txt) = {DIGEST}\n",
        f"{hashlib.sha1(BODY).hexdigest()}  corpus.txt\n",
    ],
)
@pytest.mark.parametrize("body", [BODY, BODY[:-2] + b"!\n"])
@pytest.mark.parametrize("local", [True, False])
def test_checksums_in_lists(site, path, sums, body, local):
    site.files["/sums"] = sums.encode()
    site.set(body)
    where = site.url.replace("corpus.txt", "sums")
    if local:
        where = str(path.with_name("sums"))
        Path(where).write_text(sums, "utf-8")
    if body == BODY:
        download.fetch(site.url, path, where)
        assert path.read_bytes() == BODY
    else:
        with pytest.raises(CapfstError, match=r"not what it should be: its sha(256|1) is \w+, not"):
            download.fetch(site.url, path, where)
        assert not path.exists()
    assert leftovers(path) == ["sums"] * local


@pytest.mark.parametrize(
    ("checksum", "message"),
    [
        ("nowhere", "no checksum and no file"),
        ("abc", "no checksum and no file"),
        (__file__, "has no checksum of corpus"),
    ],
)
def test_no_checksum(site, path, checksum, message):
    with pytest.raises(CapfstError, match=message):
        download.fetch(site.url, path, checksum)
    assert site.requests == []


def test_another_size_is_refused_at_once(site, path):
    with pytest.raises(CapfstError, match="has 890 bytes, not 1,000"):
        download.fetch(site.url, path, size=1000)
    site.length = False
    with pytest.raises(CapfstError, match="it has 890 bytes, not 1,000"):
        download.fetch(site.url, path, size=1000)
    assert leftovers(path) == []
    assert site.sent < 2 * len(BODY) + 1


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_what_is_not_there_is_told_at_once(site, path, status, pauses):
    site.statuses = [status]
    with pytest.raises(CapfstError, match=f"corpus.txt: HTTP {status} .*: check the address"):
        download.fetch(site.url, path)
    assert (len(site.requests), pauses, leftovers(path)) == (1, [], [])


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(site, path, status, pauses):
    site.statuses = [status] * 3
    download.fetch(site.url, path)
    assert (path.read_bytes(), pauses) == (BODY, [1, 2, 4])
    path.unlink()
    site.statuses = [status] * 3
    with pytest.raises(CapfstError, match=f"HTTP {status}"):
        download.fetch(site.url, path, tries=3)
    assert leftovers(path) == []


def test_nobody_answers(path, server):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        port = other.server_port
    with pytest.raises(CapfstError, match=r"cannot fetch .*refused"):
        download.fetch(f"http://127.0.0.1:{port}/x", path, tries=2)


def test_a_file_that_is_there_is_not_fetched_again(site, path):
    path.write_bytes(b"mine")
    download.fetch(site.url, path)
    download.fetch(site.url, path, hashlib.sha1(b"mine").hexdigest())
    with pytest.raises(CapfstError, match="is there already, but its sha1"):
        download.fetch(site.url, path, hashlib.sha1(BODY).hexdigest())
    assert (path.read_bytes(), site.requests) == (b"mine", [])


def test_not_twice_at_once(site, path):
    with open(path.with_name("corpus.txt.part"), "wb") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        with pytest.raises(CapfstError, match="written by another process"):
            download.fetch(site.url, path)


def test_no_folder(site, path):
    with pytest.raises(CapfstError, match="choose another path"):
        download.fetch(site.url, path / "no" / "x")


@pytest.mark.parametrize(
    ("name", "url", "sums"),
    [
        ("newscrawl:de:2020", "https://data.statmt.org/news-crawl/de/news.2020.de.shuffled.deduped.gz", None),
        ("leipzig:eng_news_2020_1M", "https://downloads.wortschatz-leipzig.de/corpora/eng_news_2020_1M.tar.gz", None),
        (
            "wikimedia:nlwiki:20260101",
            "https://dumps.wikimedia.org/nlwiki/20260101/nlwiki-20260101-pages-articles.xml.bz2",
            "https://dumps.wikimedia.org/nlwiki/20260101/nlwiki-20260101-sha1sums.txt",
        ),
        ("http://localhost/x:y", "http://localhost/x:y", None),
    ],
)
def test_names(name, url, sums):
    assert fetch_corpus.resolve(name) == (url, sums)


@pytest.mark.parametrize("name", ["nowhere", "newscrawl:de", "newscrawl:de:2020:x", "leipzig", "file:///etc/passwd"])
def test_bad_names(name):
    with pytest.raises(CapfstError, match=r"there is no corpus .* newscrawl:en:2023, leipzig:"):
        fetch_corpus.resolve(name)


def test_command(site, path, monkeypatch):
    monkeypatch.setitem(fetch_corpus.CORPORA, "local", (site.url + "{0}", site.url.replace("corpus.txt", "sums")))
    monkeypatch.chdir(path.parent)
    site.files |= {"/corpus.txt.gz": BODY, "/sums": f"{DIGEST}  corpus.txt.gz\n".encode()}
    assert CliRunner().invoke(fetch_corpus.main, ["local:.gz"]).exit_code == 0
    assert Path("corpus.txt.gz").read_bytes() == BODY
    result = CliRunner().invoke(fetch_corpus.main, [site.url, "--checksum", "0" * 32])
    assert result.exit_code == 1
    assert re.search(r"fetch_corpus: error: corpus.txt is not what it should be: its md5", result.output)


def test_a_data_set_as_text(path):
    pytest.importorskip("datasets")
    records = path.with_name("records.jsonl")
    texts = ["Title\n\n A line. \nAnother.", "", "In Ústí."]
    records.write_text("".join(json.dumps({"text": text, "id": k}) + "\n" for k, text in enumerate(texts)), "utf-8")
    arguments = ["dataset:json", "--data-files", str(records), "-o", str(path)]
    result = CliRunner().invoke(fetch_corpus.main, arguments)
    assert result.exit_code == 0, result.output
    assert path.read_text("utf-8") == "Title\nA line.\nAnother.\nIn Ústí.\n"
    assert CliRunner().invoke(fetch_corpus.main, [*arguments, "--limit", "1"]).exit_code == 0
    assert path.read_text("utf-8") == "Title\nA line.\nAnother.\n"
    result = CliRunner().invoke(fetch_corpus.main, [*arguments, "--field", "body"])
    assert (result.exit_code, "--field text|id" in result.output) == (1, True)
    assert path.read_text("utf-8") == "Title\nA line.\nAnother.\n"
