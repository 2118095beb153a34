"""Fetches a public corpus: a known one by its name, any URL, or a data set of Hugging Face's as text.

    python scripts/fetch_corpus.py newscrawl:en:2023                     # WMT News Crawl: language, year
    python scripts/fetch_corpus.py leipzig:eng_news_2020_1M              # Leipzig Corpora Collection
    python scripts/fetch_corpus.py wikimedia:enwiki:20260101             # a dump, checked with its list of SHA-1 sums
    python scripts/fetch_corpus.py https://example.org/corpus.gz --checksum https://example.org/corpus.gz.sha256
    python scripts/fetch_corpus.py dataset:wikimedia/wikipedia --config 20231101.en -o wiki.txt    # needs `datasets`

A file appears whole and checked, or not at all. A data set is streamed, one line of text per line.
"""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import click

try:
    import pooch
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError
except ModuleNotFoundError as missing:
    raise SystemExit(f"fetch_corpus.py: error: {missing.name} is not installed: pip install '.[corpora]'") from None

from capfst.exceptions import CapfstError
from capfst.system.atomic import replacing
from capfst.system.progress import progress

ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}  # by the number of hexadecimal digits
TIMEOUT = 60.0  # seconds without a byte
CORPORA = {
    "newscrawl": ("https://data.statmt.org/news-crawl/{0}/news.{1}.{0}.shuffled.deduped.gz", None),
    "leipzig": ("https://downloads.wortschatz-leipzig.de/corpora/{0}.tar.gz", None),
    "wikimedia": (
        "https://dumps.wikimedia.org/{0}/{1}/{0}-{1}-pages-articles.xml.bz2",
        "https://dumps.wikimedia.org/{0}/{1}/{0}-{1}-sha1sums.txt",
    ),
}
"""name → URL and, if there is one, that of the checksums; {0}, {1} are what stands behind the name's colons."""


def resolve(name: str) -> tuple[str, str | None]:
    """The URL of a corpus, and that of its checksums."""
    if re.match("https?://", name):
        return name, None
    corpus, *rest = name.split(":")
    if corpus not in CORPORA or len(rest) != 1 + ("{1}" in CORPORA[corpus][0]):
        names = ", ".join(re.findall(r"fetch_corpus.py (\w+:\w\S+)", str(__doc__)))
        raise CapfstError(f"there is no corpus {name!r}: give a URL, or a name like {names}")
    url, sums = CORPORA[corpus]
    return url.format(*rest), sums and sums.format(*rest)


def _refuse_parts(response: Any, **_: Any) -> None:
    """Is called with each answer of a server: 200 says that it is whole. (pooch refuses the statuses of errors.)"""
    if response.status_code != 200 and response.status_code < 400 and not response.is_redirect:
        raise ValueError(f"the server answers with {response.status_code} {response.reason}, not with the whole file")


def download(url: str, file: IO[bytes]) -> None:
    """Writes what is at a URL to a file, with a bar on a terminal; CapfstError if it cannot be had whole."""
    try:
        # pooch tells the bar the true total.
        with tqdm(total=1, unit="B", unit_scale=True, disable=None) as bar:
            # "identity": a .gz file stays one.
            options = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": _refuse_parts}}
            pooch.HTTPDownloader(bar, timeout=TIMEOUT, **options)(url, file, None)
    except (OSError, ValueError, HTTPError) as error:
        reason = " ".join(str(error).split())
        raise CapfstError(f"cannot fetch {url}: {reason}: check the address and the network, run it again") from error


def file_name(url: str) -> str:
    """What the file is called on the server."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    if name in ("", ".", ".."):
        raise CapfstError(f"{url} does not end in the name of a file: give one (-o)")
    return name


def known_hash(checksum: str, name: str) -> str:
    """A checksum as "algorithm:digits". checksum: its digits, or the URL or path of a list that has those of the file
    `name`.

    A line of a list is "DIGITS  name", "DIGITS *name" (GNU), "SHA256 (name) = DIGITS" (BSD), or the digits alone.
    """
    if _is_digest(checksum):
        return f"{ALGORITHMS[len(checksum)]}:{checksum.lower()}"
    if re.match("https?://", checksum):
        file = io.BytesIO()
        download(checksum, file)
        text = file.getvalue().decode(errors="replace")
    elif os.path.isfile(checksum):
        text = Path(checksum).read_text("utf-8", "replace")
    else:
        raise CapfstError(f"{checksum} is no checksum and no file: give hexadecimal digits, a URL or a path")
    for line in text.splitlines():
        words = re.sub(r"[*()=]", " ", line).split()
        digits = [word.lower() for word in words if _is_digest(word)]
        if digits and (len(words) == 1 or name in (Path(word).name for word in words)):
            return f"{ALGORITHMS[len(digits[0])]}:{digits[0]}"
    raise CapfstError(f"{checksum} has no checksum of {name}: give its digits (--checksum)")


def _is_digest(word: str) -> bool:
    return len(word) in ALGORITHMS and re.fullmatch("[0-9a-fA-F]+", word) is not None


def fetch(url: str, path: Path, checksum: str | None = None) -> None:
    """Fetches a URL into a file. checksum: hexadecimal digits, or the URL or path of a list of them.

    Raises:
        CapfstError: it cannot be had or written, has another checksum, or another file is there already.
    """
    expected = None if checksum is None else known_hash(checksum, file_name(url))
    if os.path.isfile(path):
        if not pooch.hashes.hash_matches(path, expected):
            raise CapfstError(f"{path} is there already with another checksum: remove it or choose another path (-o)")
        print(f"{path} is there already", file=sys.stderr)
        return
    with replacing(path) as file:
        download(url, file)
        file.flush()
        try:
            pooch.hashes.hash_matches(file.name, expected, strict=True, source=path.name)
        except ValueError as error:
            algorithm, digits = str(expected).split(":")
            actual = pooch.file_hash(file.name, algorithm)
            raise CapfstError(
                f"{url} has the {algorithm} {actual}, not {digits}: check the checksum, run it again"
            ) from error


def stream(source: str, path: Path, field: str, limit: int, **options: str | None) -> None:
    """Writes the text of a data set's records, each of their lines on one of its own."""
    try:
        from datasets import load_dataset  # noqa: PLC0415

        records = load_dataset(source, streaming=True, **options)
        with replacing(path) as file, progress(0, path.name, "records") as advance:
            for record in records.take(limit) if limit else records:
                if not isinstance(record.get(field), str):
                    raise CapfstError(f"the records of {source} have no text {field!r}: use --field {'|'.join(record)}")
                lines = (line.strip() for line in record[field].splitlines())
                file.write("".join(f"{line}\n" for line in lines if line).encode("utf-8", "replace"))
                advance(1)
    except ImportError as error:
        raise CapfstError("data sets need the package `datasets`: pip install 'capfst[datasets]'") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CapfstError(f"cannot fetch the data set {source}: {reason}: check its name and the network") from error


@click.command(help=__doc__.replace("\n\n    ", "\n\n\b\n    "))
@click.argument("corpus")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write.  [default: as on the server]")
@click.option("--checksum", help="Its digits (MD5, SHA-1, SHA-256, SHA-512), or a URL or file that lists them.")
@click.option("--config", "name", help="Of a data set.")
@click.option("--data-files", help="Of a data set.")
@click.option("--split", default="train", show_default=True, help="Of a data set.")
@click.option("--field", default="text", show_default=True, help="Of a data set's records: their text.")
@click.option("--limit", default=0, help="Take only so many records of a data set.")
def main(corpus: str, output: Path | None, checksum: str | None, **options: Any) -> None:
    try:
        if corpus.startswith("dataset:"):
            path = corpus.removeprefix("dataset:")
            stream(path, output or Path(f"{Path(path).name}.txt"), **options)
        else:
            url, sums = resolve(corpus)
            fetch(url, output or Path(file_name(url)), checksum or sums)
    except CapfstError as error:
        sys.exit(f"fetch_corpus: error: {error}")


if __name__ == "__main__":
    main()
