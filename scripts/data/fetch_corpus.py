"""Download a public corpus: by its name, from any URL, or from Hugging Face as text.

    \b
    python scripts/data/fetch_corpus.py newscrawl:en:2023           # WMT News Crawl: language, year
    python scripts/data/fetch_corpus.py leipzig:eng_news_2020_1M    # Leipzig Corpora Collection
    python scripts/data/fetch_corpus.py wikimedia:enwiki:20260101   # a dump, verified with its SHA-1 sums
    python scripts/data/fetch_corpus.py https://example.org/a.gz --checksum https://example.org/a.gz.sha256
    python scripts/data/fetch_corpus.py dataset:wikimedia/wikipedia --config 20231101.en -o wiki.txt

A file is written only after the download is complete and verified. A data set (which needs the extra `datasets`) is
streamed, and each line of its texts becomes one line.
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
    raise SystemExit(f"capfst: error: {missing.name} is not installed. Run: pip install '.[corpora]'") from None

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.system.atomic import replacing
from capfst.system.progress import progress

ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}  # by number of hexadecimal digits
TIMEOUT = 60.0  # seconds without a byte
CORPORA = {
    "newscrawl": ("https://data.statmt.org/news-crawl/{0}/news.{1}.{0}.shuffled.deduped.gz", None),
    "leipzig": ("https://downloads.wortschatz-leipzig.de/corpora/{0}.tar.gz", None),
    "wikimedia": (
        "https://dumps.wikimedia.org/{0}/{1}/{0}-{1}-pages-articles.xml.bz2",
        "https://dumps.wikimedia.org/{0}/{1}/{0}-{1}-sha1sums.txt",
    ),
}
"""name → URL of the corpus, URL of its checksums or None; {0} and {1} are the parts after the colons of the name."""


def resolve(name: str) -> tuple[str, str | None]:
    """Return the URL of a corpus, and the URL of its checksums or None."""
    if re.match("https?://", name):
        return name, None
    corpus, *rest = name.split(":")
    if corpus not in CORPORA or len(rest) != 1 + ("{1}" in CORPORA[corpus][0]):
        names = ", ".join(re.findall(r"fetch_corpus.py (\w+:\w\S+)", str(__doc__)))
        raise OptionError(f"Unknown corpus {name!r}. Use a URL, or a name such as {names}.")
    url, sums = CORPORA[corpus]
    return url.format(*rest), sums and sums.format(*rest)


def _refuse_parts(response: Any, **_: Any) -> None:
    """Refuse every response of a server except a whole file (200). pooch refuses error statuses itself."""
    if response.status_code != 200 and response.status_code < 400 and not response.is_redirect:
        raise ValueError(f"the server did not send the whole file but {response.status_code} {response.reason}")


def download(url: str, file: IO[bytes]) -> None:
    """Download a URL into a file, with a progress bar on a terminal.

    Raises:
        CorpusError: the download fails or is incomplete.
    """
    try:
        # pooch sets the bar's total.
        with tqdm(total=1, unit="B", unit_scale=True, disable=None) as bar:
            # "identity", so that a .gz file is not decompressed.
            options = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": _refuse_parts}}
            pooch.HTTPDownloader(bar, timeout=TIMEOUT, **options)(url, file, None)
    except (OSError, ValueError, HTTPError) as error:
        reason = " ".join(str(error).split())
        raise CorpusError(
            f"Cannot download {url}: {reason}. Check the address and the network, then try again."
        ) from error


def file_name(url: str) -> str:
    """Return the name of the file on the server."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    if name in ("", ".", ".."):
        raise OptionError(f"{url} does not end in a file name. Name the output file (-o).")
    return name


def known_hash(checksum: str, name: str) -> str:
    """Return a checksum as "algorithm:digits".

    checksum: its digits, or the URL or path of a list that contains the file `name`. A line of a list is
    "DIGITS  name", "DIGITS *name" (GNU), "SHA256 (name) = DIGITS" (BSD), or only the digits.
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
        raise OptionError(f"{checksum} is neither a checksum nor a file. Use hexadecimal digits, a URL or a path.")
    for line in text.splitlines():
        words = re.sub(r"[*()=]", " ", line).split()
        digits = [word.lower() for word in words if _is_digest(word)]
        if digits and (len(words) == 1 or name in (Path(word).name for word in words)):
            return f"{ALGORITHMS[len(digits[0])]}:{digits[0]}"
    raise CorpusError(f"{checksum} has no checksum of {name}. Set --checksum to its digits.")


def _is_digest(word: str) -> bool:
    return len(word) in ALGORITHMS and re.fullmatch("[0-9a-fA-F]+", word) is not None


def fetch(url: str, path: Path, checksum: str | None = None) -> None:
    """Download a URL into a file, unless the file exists.

    Args:
        checksum: hexadecimal digits, or the URL or path of a list of checksums.

    Raises:
        CapfstError: the download or writing fails, the checksum differs, or another file exists at the path.
    """
    expected = None if checksum is None else known_hash(checksum, file_name(url))
    if os.path.isfile(path):
        if not pooch.hashes.hash_matches(path, expected):
            raise CorpusError(f"{path} exists with another checksum. Remove it, or choose another path (-o).")
        print(f"{path} exists already", file=sys.stderr)
        return
    with replacing(path) as file:
        download(url, file)
        file.flush()
        try:
            pooch.hashes.hash_matches(file.name, expected, strict=True, source=path.name)
        except ValueError as error:
            algorithm, digits = str(expected).split(":")
            actual = pooch.file_hash(file.name, algorithm)
            raise CorpusError(
                f"{url}: the {algorithm} checksum is {actual}, not {digits}. Check the checksum, then try again."
            ) from error


def stream(source: str, path: Path, field: str, limit: int, **options: str | None) -> None:
    """Write the texts of a data set's records, line by line, without blank lines; limit: number of records, or 0."""
    try:
        from datasets import load_dataset  # noqa: PLC0415

        records = load_dataset(source, streaming=True, **options)
        with replacing(path) as file, progress(0, path.name, "records") as advance:
            for record in records.take(limit) if limit else records:
                if not isinstance(record.get(field), str):
                    raise CorpusError(f"{source}: records have no text {field!r}. Use --field {'|'.join(record)}.")
                lines = (line.strip() for line in record[field].splitlines())
                file.write("".join(f"{line}\n" for line in lines if line).encode("utf-8", "replace"))
                advance(1)
    except ImportError as error:
        raise CapfstError("The package datasets is not installed. Run: pip install '.[datasets]'") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CorpusError(
            f"Cannot download the data set {source}: {reason}. Check its name and the network."
        ) from error


@click.command(help=__doc__)
@click.argument("corpus")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write.  [default: its name on the server]"
)
@click.option(
    "--checksum", help="Digits of the checksum (MD5, SHA-1, SHA-256, SHA-512), or a URL or file that lists checksums."
)
@click.option("--config", "name", help="Configuration of a data set.")
@click.option("--data-files", help="Files of a data set.")
@click.option("--split", default="train", show_default=True, help="Split of a data set.")
@click.option("--field", default="text", show_default=True, help="Field of a data set's records that holds the text.")
@click.option("--limit", default=0, help="Number of records to take from a data set.  [default: all]")
def main(corpus: str, output: Path | None, checksum: str | None, **options: Any) -> None:
    if corpus.startswith("dataset:"):
        path = corpus.removeprefix("dataset:")
        stream(path, output or Path(f"{Path(path).name}.txt"), **options)
    else:
        url, sums = resolve(corpus)
        fetch(url, output or Path(file_name(url)), checksum or sums)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
