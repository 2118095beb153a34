"""Fetches a public corpus: a known one by its name, any URL, or a data set of Hugging Face's as text.

    python scripts/fetch_corpus.py newscrawl:en:2023                     # WMT News Crawl: language, year
    python scripts/fetch_corpus.py leipzig:eng_news_2020_1M              # Leipzig Corpora Collection
    python scripts/fetch_corpus.py wikimedia:enwiki:20260101             # a dump, checked with its list of SHA-1 sums
    python scripts/fetch_corpus.py https://example.org/corpus.gz --checksum https://example.org/corpus.gz.sha256
    python scripts/fetch_corpus.py dataset:wikimedia/wikipedia --config 20231101.en -o wiki.txt    # needs `datasets`

What breaks off goes on where it ended when it is run again (`download.py`). A data set is streamed, a line of text a
line, and starts anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
from download import fetch

from capfst.errors import CapfstError
from capfst.system.atomic import replacing
from capfst.system.progress import progress

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
    kind, *rest = name.split(":")
    if kind not in CORPORA or len(rest) != 1 + ("{1}" in CORPORA[kind][0]):
        names = ", ".join(re.findall(r"fetch_corpus.py (\w+:\w\S+)", str(__doc__)))
        raise CapfstError(f"there is no corpus {name!r}: give a URL, or a name like {names}")
    url, sums = CORPORA[kind]
    return url.format(*rest), sums and sums.format(*rest)


def stream(source: str, path: Path, field: str, limit: int, **options: str | None) -> None:
    """Writes the text of a data set's records, each of their lines on one of its own."""
    from datasets import load_dataset  # noqa: PLC0415

    records = load_dataset(source, streaming=True, **options)
    with replacing(path) as file, progress(0, path.name, "records") as advance:
        for record in records.take(limit) if limit else records:
            if not isinstance(record.get(field), str):
                raise CapfstError(f"the records of {source} have no text {field!r}: use --field {'|'.join(record)}")
            lines = (line.strip() for line in record[field].splitlines())
            file.write("".join(f"{line}\n" for line in lines if line).encode("utf-8", "replace"))
            advance(1)


@click.command(help=__doc__.replace("\n\n    ", "\n\n\b\n    "))
@click.argument("corpus")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write.  [default: as on the server]")
@click.option("--checksum", help="Its digits (MD5, SHA-1, SHA-256, SHA-512), or a URL or file that lists them.")
@click.option("--size", type=int, help="Its bytes, if they are known.")
@click.option("--tries", default=6, show_default=True, help="Attempts in a row that may get nothing.")
@click.option("--config", "name", help="Of a data set.")
@click.option("--data-files", help="Of a data set.")
@click.option("--split", default="train", show_default=True, help="Of a data set.")
@click.option("--field", default="text", show_default=True, help="Of a data set's records: their text.")
@click.option("--limit", default=0, help="Take only so many records of a data set.")
def main(corpus: str, output: Path | None, checksum: str | None, size: int | None, tries: int, **options: Any) -> None:
    try:
        if corpus.startswith("dataset:"):
            path = corpus.removeprefix("dataset:")
            stream(path, output or Path(f"{Path(path).name}.txt"), **options)
        else:
            url, sums = resolve(corpus)
            fetch(url, output or Path(url.split("?")[0].rsplit("/", 1)[-1] or "corpus"), checksum or sums, size, tries)
    except CapfstError as error:
        sys.exit(f"fetch_corpus: error: {error}")


if __name__ == "__main__":
    main()
