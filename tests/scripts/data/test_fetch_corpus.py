"""scripts/data/fetch_corpus.py: downloads from a local HTTP server that breaks off, refuses, redirects or sends wrong
files; never from the network."""

import bz2
import hashlib
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.command_line import run
from support.dumps import dump, page

from capfst.exceptions import CapfstError

pytest.importorskip("pooch")
fetch_corpus = pytest.importorskip("fetch_corpus")
fetch = fetch_corpus.fetch
BODY = b"".join(b"Line %d.\n" % k for k in range(100))
DIGEST = hashlib.sha256(BODY).hexdigest()


class Site:
    """The files of the server, its faults, and the requests that it received."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files = {"/corpus.txt": BODY}
        self.status = 200
        self.headers: dict[str, str | None] = {}  # replace its own headers; None: not sent
        self.sent: int | None = None  # number of bytes before the connection breaks off
        self.requests: list[dict[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site = self.server.site
        site.requests.append(dict(self.headers))
        body = site.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(site.status)
        for name, value in ({"Content-Length": str(len(body))} | site.headers).items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: site.sent])

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


@pytest.fixture
def site(server, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    server.site = Site(f"http://127.0.0.1:{server.server_port}/corpus.txt")
    return server.site


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corpus.txt"


def leftovers(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if file != path)


def refused(match: str, *arguments: str) -> None:
    """Assert that the command raises an error whose message is one line and matches."""
    result = CliRunner().invoke(fetch_corpus.main, arguments)
    assert isinstance(result.exception, CapfstError), result.output
    assert re.fullmatch(r"[^\r\n]+", str(result.exception))
    assert re.search(match, str(result.exception)), str(result.exception)


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_fetch(site, path, algorithm):
    fetch(site.url, path, hashlib.new(algorithm, BODY).hexdigest().upper())
    assert path.read_bytes() == BODY
    assert leftovers(path) == []
    assert [request["Accept-Encoding"] for request in site.requests] == ["identity"]


@pytest.mark.parametrize("length", [None, "-1"])
def test_a_file_of_unknown_length(site, path, length):
    site.headers["Content-Length"] = length
    fetch(site.url, path)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize("sent", [0, 1, 500])
def test_a_broken_connection_leaves_nothing(site, path, sent):
    site.sent = sent
    refused(r"http://\S+corpus\.txt: .*bytes", site.url, "-o", str(path))
    path.write_bytes(b"mine")
    refused(rf"{path} .*checksum", site.url, "-o", str(path), "--checksum", DIGEST)
    assert (path.read_bytes(), leftovers(path)) == (b"mine", [])


@pytest.mark.parametrize("status", [401, 403, 404, 410, 429, 500, 503])
def test_http_errors(site, path, status):
    site.status = status
    refused(rf"corpus\.txt: {status} ", site.url, "-o", str(path))
    assert (path.exists(), len(site.requests), leftovers(path)) == (False, 1, [])


@pytest.mark.parametrize("status", [201, 204, 206, 302, 304])
def test_answers_that_are_not_the_whole_file(site, path, status):
    """An unrequested part, nothing, or a redirection to nowhere."""
    site.status = status
    refused(rf"corpus\.txt: .* {status} ", site.url, "-o", str(path))
    assert (path.exists(), leftovers(path)) == (False, [])


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "/nowhere"])
def test_redirects(site, path, target):
    """Only redirects to http and https are followed."""
    site.status, site.headers["Location"] = 302, target
    refused(
        f"{site.url}: .*" + ("404" if target == "/nowhere" else "No connection adapters"), site.url, "-o", str(path)
    )
    assert not path.exists()
    site.headers["Location"] = "/corpus.txt"
    refused("redirects", site.url, "-o", str(path))  # an endless loop


def test_nobody_answers(site, path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        port = other.server_port
    refused(rf"{port}/x: .*refused", f"http://127.0.0.1:{port}/x", "-o", str(path))
    refused(r"http://nowhere\.invalid/x: ", "http://nowhere.invalid/x", "-o", str(path))
    refused("http://:80/x: ", "http://:80/x", "-o", str(path))
    assert leftovers(path) == []


@pytest.mark.parametrize("end", ["", "/", "/..", "/a/.", "/?x=/y"])
def test_urls_that_end_in_no_name(site, path, monkeypatch, end):
    monkeypatch.chdir(path.parent)
    refused(r"\(-o\)", site.url.removesuffix("/corpus.txt") + end)
    assert site.requests == []


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
    site.files |= {"/sums": sums.encode(), "/corpus.txt": body}
    where = site.url.replace("corpus.txt", "sums")
    if local:
        where = str(path.with_name("sums"))
        Path(where).write_text(sums, "utf-8")
    if body == BODY:
        fetch(site.url, path, where)
        assert path.read_bytes() == BODY
    else:
        refused(r"corpus\.txt: .*sha(256|1) .*\w{40}.*\w{40}", site.url, "-o", str(path), "--checksum", where)
        assert not path.exists()
    assert leftovers(path) == ["sums"] * local


@pytest.mark.parametrize(
    ("checksum", "message"),
    [
        ("nowhere", "^nowhere .*neither"),
        ("abc", "^abc .*neither"),
        ("ftp://localhost/sums", "^ftp://localhost/sums .*neither"),
        (__file__, rf"^{re.escape(__file__)} .* corpus\.txt"),
    ],
)
def test_no_checksum(site, path, checksum, message):
    refused(message, site.url, "-o", str(path), "--checksum", checksum)
    assert site.requests == []


def test_an_existing_file_is_not_downloaded_again(site, path):
    path.write_bytes(b"mine")
    fetch(site.url, path)
    fetch(site.url, path, hashlib.sha1(b"mine").hexdigest())
    with pytest.raises(CapfstError, match=rf"{path} .*checksum"):
        fetch(site.url, path, hashlib.sha1(BODY).hexdigest())
    assert (path.read_bytes(), site.requests) == (b"mine", [])


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
    with pytest.raises(CapfstError, match=rf"{re.escape(name)}.* newscrawl:en:2023, leipzig:"):
        fetch_corpus.resolve(name)


def test_command(site, path, monkeypatch):
    monkeypatch.setitem(fetch_corpus.CORPORA, "local", (site.url + "{0}", site.url.replace("corpus.txt", "sums")))
    monkeypatch.chdir(path.parent)
    site.files |= {"/corpus.txt.gz": BODY, "/sums": f"{DIGEST}  corpus.txt.gz\n".encode()}
    assert CliRunner().invoke(fetch_corpus.main, ["local:.gz"]).exit_code == 0
    assert Path("corpus.txt.gz").read_bytes() == BODY
    refused(r"corpus\.txt: .*md5 .*0{32}", site.url, "--checksum", "0" * 32)
    assert os.listdir() == ["corpus.txt.gz"]


def test_training_on_a_downloaded_dump(site, tmp_path, monkeypatch):
    pytest.importorskip("mwxml")
    pytest.importorskip("mwparserfromhell")
    name = "xxwiki-20260101-pages-articles.xml.bz2"
    article = "{{Infobox}}\n'''The mayor''' of [[New York]]<ref>Not this.</ref> met [[IBM|an IBM engineer]].\n\n* No.\n"
    body = bz2.compress(dump([page("A", article), page("Talk:A", "I think so.", ns=1), page("B", article)]))
    folder = "/xxwiki/20260101/"
    site.files = {
        folder + name: body,
        f"{folder}xxwiki-20260101-sha1sums.txt": f"{hashlib.sha1(body).hexdigest()}  {name}\n".encode(),
    }
    root = site.url.removesuffix("/corpus.txt")
    addresses = [url.replace("https://dumps.wikimedia.org", root) for url in fetch_corpus.CORPORA["wikimedia"]]
    monkeypatch.setitem(fetch_corpus.CORPORA, "wikimedia", tuple(addresses))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(fetch_corpus.main, ["wikimedia:xxwiki:20260101"])
    assert result.exit_code == 0, result.output
    run("train", name, "-o", "cap.fst")
    done = run("recase", "--lm", "cap.fst", "--sentence-case", stdin="the mayor of new york met an ibm engineer.\n")
    assert done.stdout == b"The mayor of New York met an IBM engineer.\n"
    assert sorted(os.listdir()) == ["cap.fst", name]


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
    assert isinstance(result.exception, CapfstError)
    assert "--field text|id" in str(result.exception)
    assert path.read_text("utf-8") == "Title\nA line.\nAnother.\n"
