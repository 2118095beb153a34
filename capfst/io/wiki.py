"""Read the paragraphs of the articles in a Wikimedia dump.

Input: an XML dump of pages, such as `…-pages-articles.xml`. Output: the running text of each article, one paragraph per
line, without pages of other namespaces (talk, templates, …) and redirects, and without headings, tables, lists,
templates, references, files, categories, formulas and code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

from capfst.exceptions import CorpusError, missing_extra
from capfst.io.compression import OnRead, decompressed
from capfst.io.protocol import TextOptions
from capfst.system.workers import map_in_processes

try:
    import mwparserfromhell
    from mwparserfromhell import nodes
    from mwxml import Dump, Page
    from mwxml.element_iterator import ElementIterator
    from mwxml.errors import MalformedXML
except ImportError as error:
    raise missing_extra("Wikimedia dumps need mwxml and mwparserfromhell", "wiki") from error

_ARTICLES = 0  # number of this namespace in all wikis
_HIDDEN = (-2, 6, 14)  # Media, File, Category: links to them are not text, but pictures or labels of the page
_CHUNK = 1 << 18  # characters of wikitext that are parsed together
_ENGLISH = ("media", "file", "image", "category")  # names of these namespaces in all wikis

# Elements whose contents are running text. The contents of others, such as `ref`, `table`, `math`, are skipped.
_is_prose = re.compile(
    "abbr|b|bdi|big|blockquote|center|cite|del|dfn|div|em|font|i|ins|mark|nowiki|onlyinclude|p|q|s|section|small|span"
    "|strong|sub|sup|tt|u|var"
).fullmatch
_LIST, _GAP = "\0", "\1"  # replace the mark of a list item, and a template

_comments = re.compile("<!--.*?-->", re.DOTALL).sub
_innermost_templates = re.compile(r"\{\{[^{}]*\}\}").subn
_references = re.compile(r"<ref\b[^<>]*/>|<ref\b[^<>]*>.*?</ref\s*>", re.DOTALL | re.IGNORECASE).sub
_quotes = re.compile("'{2,}").sub  # bold and italics
_interwiki = re.compile(r"[a-z][a-z-]*:\S").match
_magic_word = re.compile("__[A-Z]+__").sub
_no_prose = re.compile(rf"{_LIST}|\{{\{{|\}}\}}|\[\[|\]\]|\{{\||\|\}}|^[|!]").search  # markup that was not closed
_hollow = re.compile(rf" ?\((?:[^()]*{_GAP}[^()]*|[^\w()]*)\)").sub  # such as pronunciations
_before_mark = re.compile(r" +([,.])(?=\s|$)").sub


class _Chunk(NamedTuple):
    """Articles that are parsed together, which takes most of the time."""

    path: Path  # of the dump
    hidden: set[str]  # namespaces, see Wiki._articles
    articles: list[tuple[str, str]]  # titles and wikitext


class Wiki:
    """A `Reader` of dumps, plain or compressed."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.path = path
        self.jobs = options.jobs

    def texts(self, on_read: OnRead) -> Iterator[str]:
        with decompressed(self.path, on_read) as stream:
            for texts in map_in_processes(_texts, self._chunks(stream), self.jobs):
                yield from texts

    def _chunks(self, stream: Any) -> Iterator[_Chunk]:
        hidden: set[str] = set(_ENGLISH)
        articles: list[tuple[str, str]] = []
        size = 0
        for title, text in self._articles(stream, hidden):
            articles.append((title, text))
            size += len(text)
            if size >= _CHUNK:
                yield _Chunk(self.path, hidden, articles)
                articles, size = [], 0
        yield _Chunk(self.path, hidden, articles)

    def _articles(self, stream: Any, hidden: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the titles and texts of the articles, as wikitext. Add to `hidden` the names, in lower case, of this
        wiki's namespaces of files and categories."""
        try:
            root = ElementIterator.from_file(stream)
            if root.tag != "mediawiki":
                raise MalformedXML(f"it begins with <{root.tag}>, not with <mediawiki>")
            dump = Dump.from_element(root)
            for namespace in dump.site_info.namespaces or ():
                if namespace.id in _HIDDEN:
                    hidden.add(namespace.name.lower())
            for page in dump.pages:
                root.element.clear()  # otherwise it would keep an empty element for each page
                if page.namespace == _ARTICLES and page.redirect is None and (text := _wikitext(page)):
                    yield page.title, text
        except (ParseError, MalformedXML, AssertionError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split(": b'")[0].split())[:200]  # without the bytes that mwxml shows
            raise CorpusError(
                f"{self.path}: not a readable Wikimedia dump of pages: {reason}. Download it again."
            ) from error


def _texts(chunk: _Chunk) -> list[str]:
    texts = []
    for title, wikitext in chunk.articles:
        try:
            code = mwparserfromhell.parse(_shortened(wikitext), skip_style_tags=True)
        except mwparserfromhell.parser.ParserError as error:
            raise CorpusError(f"{chunk.path}: cannot parse the page {title!r}: {error}. Remove the page.") from error
        texts.append("\n".join(_paragraphs(_text(code, chunk.hidden))))
    return texts


def _wikitext(page: Page) -> str | None:
    """Return the text of a page's last revision; None if it is not an article."""
    content = None
    for revision in page:
        content = revision.slots.contents.get("main")
    if content is None or content.model not in (None, "wikitext"):
        return None
    return None if content.text and content.text.lstrip()[:9].upper() == "#REDIRECT" else content.text


def _shortened(text: str) -> str:
    """Remove closed comments, templates and references, which take longest to parse, from wikitext."""
    text, n_templates = _comments("", text), 1
    while n_templates:
        text, n_templates = _innermost_templates(_GAP, text)
    return _references("", text)


def _text(code: Any, hidden: set[str]) -> str:
    """Return the running text in parsed wikitext, with its line ends."""
    return "".join(_TEXT_OF[type(node)](node, hidden) for node in code.nodes if type(node) in _TEXT_OF)


def _link(link: nodes.Wikilink, hidden: set[str]) -> str:
    title = str(link.title).strip()
    if title.partition(":")[0].strip().lower() in hidden:
        return ""
    if link.text is not None:
        return _text(link.text, hidden)
    return "" if _interwiki(title) else title.removeprefix(":").replace("_", " ")


def _external_link(link: nodes.ExternalLink, hidden: set[str]) -> str:
    if not link.brackets:
        return str(link.url)
    return "" if link.title is None else _text(link.title, hidden)


def _tag(tag: nodes.Tag, hidden: set[str]) -> str:
    name = str(tag.tag).strip().lower()
    if tag.wiki_markup in ("*", "#", ":", ";"):
        return _LIST
    if name == "br":
        return "\n"
    return _text(tag.contents, hidden) if _is_prose(name) and tag.contents is not None else ""


_TEXT_OF: dict[type, Callable[[Any, set[str]], str]] = {
    nodes.ExternalLink: _external_link,
    nodes.HTMLEntity: lambda entity, hidden: entity.normalize(),
    nodes.Tag: _tag,
    nodes.Template: lambda template, hidden: _GAP,
    nodes.Text: lambda text, hidden: text.value,
    nodes.Wikilink: _link,
}
"""The running text of a node, by its type. Nodes of other types, such as headings, have none."""


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines that are running text, without the gaps that removed markup leaves."""
    text = _quotes(lambda quotes: "'" if len(quotes[0]) == 4 else "", text)  # four: an apostrophe next to bold text
    for line in _magic_word("", text).split("\n"):
        if not _no_prose(line):
            line = " ".join(_hollow("", line).replace(_GAP, " ").split())
            if line := _before_mark(r"\1", line):
                yield line
