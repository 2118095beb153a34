"""markup.py: golden texts; comparison with markdown-it-py and html.parser; independence of the blocks."""

import random
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capfst.text.markup import HTML, MARKDOWN, NONE, Hiding, ends_line, hide, hide_text, markup_of, shown

ROOT = Path(__file__).parent.parent.parent

# ⟦ and ⟧ surround what is hidden, except line ends. The character after ⏎ stands for a line end.
GOLDEN_MARKDOWN = [
    "⟦---\nTitle: My Page\n---⟧\ntext\n---\nText\n",
    "⟦+++\nTitle = 'A'\n+++⟧\ntext",
    "text\n---\nTitle: A\n---\n",
    "⟦```Python\nA\n\n```⟧\ntext ```A B\n",
    "text\n⟦~~~~ A\n```\n~~~\n    ~~~~\n~~~~  ⟧\ntext",
    "- a\n  - b\n⟦    ```\n    A\n    ```⟧\n  text\n",
    "1. a\n⟦   ```\n   A⟧\ntext\n",
    "> a\n⟦> ```\n> A⟧\ntext ⟦`A`⟧\n",
    "⟦$$\nA_i\n$$⟧\ntext\n",
    "text\n    text\n\n⟦    A\n\tB⟧\n\ntext\n",
    "- a\n\n     text\n\n⟦        A⟧\n\n    text\n",
    "# A ⟦`B`⟧\ntext\n***\n⟦    A⟧\n",
    "a ⟦`B C`⟧ d ⟦``B ` C``⟧ ``` d `` \\`E F` \n",
    "a ⟦`B\nC`⟧ `d\n\n` e\n",
    '[a](⟦Http://B.c/(D)⟧) ![a](⟦<B C>⟧ "Title") [a]⟦[Ref B]⟧ [A B] [a] (B)\n',
    "⟦[Ref A]: <B C>⟧ 'Title'\n⟦[B]: C⟧\n⟦[^Note]:⟧ text⟦[^B]⟧\n",
    "a ⟦<Http://B.c>⟧ ⟦<B@C.d>⟧ ⟦<B C='D'>⟧e⟦</B>⟧ ⟦<B\nC>⟧ <b c\n",
    "a ⟦<kbd>Ctrl</kbd>⟧ ⟦<code>A *B*</code>⟧ <b c\n",
    "⟦<!-- A\n\nB -->⟧\ntext\n",
    "⟦<⏎pre>\nA\n\nB</pre>⟧\ntext\n",
    "⟦<⏎div Class='A'>⟧\ntext ⟦<code>A</code>⟧\n\ntext ⟦`A`⟧\n",
    "⟦<⏎details><⏎summary>⟧text⟦<⏎/summary>⟧\n\ntext\n\n⟦<⏎/details>⟧\n",
    "text\r\n\r\n⟦```\r\nA\r\n```\r⟧\ntext\r\n",
    "| a | ⟦`B`⟧ |\n|---|---|\n| a | b |\n",
]
GOLDEN_HTML = [
    "⟦<!DOCTYPE HTML>⟧a⟦<B C=\"D>\" E='F>'\nG>⟧h⟦</B>⟧ i < J a<1 &Eacute; x",
    "⟦<a href=\n  'A>'\n>⟧b⟦<⏎br/>⟧ c ⟦<a b=c\"d>⟧e",
    "a⟦<!-- B > C\n-- D -->⟧e⟦<!-->⟧f⟦<!---->⟧g ⟦<![CDATA[A]>]]>⟧ h ⟦<?A b?>⟧ i ⟦</ A>⟧ j",
    "⟦<SCRIPT>\nA<b>'</Scrip></b>\n</script >⟧a⟦<style>B</style>⟧c⟦<script src='A'/>⟧d",
    "a⟦<code>B\nC <i>D</i></code>⟧e⟦<kbd>F</kbd>⟧g⟦<⏎pre>A\n<code>B</code> C\n</pre>⟧ d",
    "⟦<⏎p>⟧a ⟦<code>B<⏎/p><⏎p>⟧c⟦<⏎/p>⟧⟦<textarea>A</textarea>⟧ b",
    "⟦<⏎pre>A<pre>B</pre>C</pre>⟧d",
    "⟦<⏎title>⟧text⟦<⏎/title><a title='A' Data-B=C>⟧text",
]
CASES = [(MARKDOWN, text) for text in GOLDEN_MARKDOWN] + [(HTML, text) for text in GOLDEN_HTML]


def visible(text: str, markup: str) -> str:
    """Return the text with a mark instead of each hidden character."""
    data = text.encode("latin-1")
    hidden = hide_text(data, markup).text.decode("latin-1")
    with_breaks = "".join("⏎" if old != new == "\n" else new for old, new in zip(text, hidden, strict=True))
    return re.sub("[\0\x1a]", "·", with_breaks)


@pytest.mark.parametrize(("markup", "marked"), CASES)
def test_golden(markup, marked):
    def dots(span: re.Match[str]) -> str:
        return re.sub("[^\n⏎]", "·", re.sub("⏎.", "⏎", span[1]))

    expected = re.sub("⟦(.*?)⟧", dots, marked, flags=re.DOTALL)
    assert visible(re.sub("[⟦⟧⏎]", "", marked), markup) == expected


def test_markup_of_files():
    suffixes = [".md", ".markdown", ".html", ".htm", ".xhtml", ".txt"]
    assert [markup_of(suffix) for suffix in suffixes] == [MARKDOWN, MARKDOWN, HTML, HTML, HTML, NONE]
    assert markup_of(".md", NONE) == NONE and markup_of("", MARKDOWN) == MARKDOWN


# ---- Other parsers


def letters(text: str) -> list[str]:
    return re.findall("[A-Za-z]+", unescape(text))


def pages() -> list[Path]:
    return [page for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if page.name != "index.md"]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_against_markdown_it(page):
    markdown_it = pytest.importorskip("markdown_it")
    text = page.read_text("utf-8")

    def words(children) -> str:
        kinds = {"text": lambda t: t.content, "softbreak": lambda t: " ", "image": lambda t: words(t.children)}
        return "".join(kinds.get(t.type, lambda t: "")(t) for t in children)

    parsed = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    titles = {t.attrs.get("title") for p in parsed for t in p.children or [] if t.type in ("link_open", "image")}
    assert titles <= {None}
    shown_text = "\n".join(
        words(t.children) if t.type == "inline" else hide_text(t.content.encode(), HTML).text.decode()
        for t in parsed
        if t.type in ("inline", "html_block")
    )
    assert letters(shown_text) == letters(hide_text(text.encode(), MARKDOWN).text.decode())


class TextOf(HTMLParser):
    """Collects the text outside of script, style and pre."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "style", "pre", "code"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        self.text += "" if self.open else data


HTML_PIECES = [
    "<p>", "</p>", "<a href='A>b'>", '<a\ntitle="C\n d" e=f/g>', "</a>", "<br />", "<!-- A\n> b -->", "<!DOCTYPE html>",
    "<script>if (A<b) '</p>'\n</script>", "<style>A{}</style>", "<pre>", "</pre>", "a < b ", "&amp; Text\n", "More ",
    "1<2",
]  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(HTML_PIECES), max_size=12).map("".join))
def test_against_html_parser(text):
    # Nested <pre> is counted here, and a list element of the same name there.
    parser = TextOf()
    parser.feed(text)
    parser.close()
    assert letters(parser.text) == letters(hide_text(text.encode(), HTML).text.decode())


# ---- Any text

LINES = [
    "```", "~~~ A", "---", "    A", "- a", "  ", "", "> a", "text `b", "c` d", "<div>", "<pre>", "</pre>", "<!-- a",
    "-->",
    "1. b", "[a](b)", "# a", "\ta", "é\0\x1a", "$$", "<a b='", "'>", "+++", "   - a", "a\\`",
]  # fmt: skip
texts = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join) | st.text(max_size=20)


@settings(deadline=None, max_examples=400)
@given(texts, st.sampled_from([MARKDOWN, HTML, NONE]), st.lists(st.integers(1, 12)))
@example("---\na\n---\nb", MARKDOWN, [1, 1])
@example("> a\n1. b\n- a\n    A", MARKDOWN, [1, 2])
def test_any_text_in_any_blocks(text, markup, sizes):
    data = text.encode()
    lines = re.findall(b"[^\n]*\n|[^\n]+", data)
    blocks = []
    for size in [*sizes, len(lines)]:
        blocks, lines = [*blocks, b"".join(lines[:size])], lines[size:]
    whole = hide_text(data, markup)
    assert bytes(shown(whole.text, whole.bytes)) == data
    assert ends_line(whole.text, whole.bytes).count(1) == data.count(b"\n") and len(whole.text) == len(data)
    assert b"".join(part.text for part in hide(filter(None, blocks), markup)) == whole.text
    hiding = Hiding()
    assert b"".join(hiding.show(hiding.hide(filter(None, blocks), markup))) == data


# ---- Time

REPEATED = [
    "<!--", "x <!--", "<!-- -->", "<?", "<? ?>", "<!D", "<![CDATA[", "<", "<a", "<a b", "<a b=", "<a b='", '<a b="',
    "<a b='<a c=\" x=' ", "<a>", "</a", "</", "<a@", "<a:b", "<code>", "<kbd>", "<pre>", "<script>", "<div>", ">", "> ",
    "- ", "* ", "1. ", "1) ", "\t", " ", "`", "` ", "`a `` ", "a`", "``` ", "~~~", "[", "]", "[a", "](", "](a", "](a(",
    "](a)(", "](a \"", "](a '", "](<", "[a]:", "[a]: b ", "[^a", "\\", "\\[", "$", "$$", "$$a", "*", "*a_", "&",
    "&amp;", "=", "-", "#", "|", "a", "é", "\r",
]  # fmt: skip
LINE_ENDS = ["", "\n", "\n\n", "\n    ", "\n> ", "\n- "]
FRONT = ["", "---\n", "+++\n"]
SIZE, SECONDS = 100_000, 30  # characters; far more than linear time takes, and far less than quadratic time


def fragments() -> list[str]:
    rng = random.Random(1)
    pairs = ["".join(rng.choices(REPEATED, k=2)) + rng.choice(LINE_ENDS) for _ in range(40)]
    alone = [fragment + rng.choice(["", "", "\n"]) for fragment in REPEATED]
    return [rng.choice(FRONT) + "\x00" + fragment for fragment in pairs] + ["\x00" + fragment for fragment in alone]


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("markup", [MARKDOWN, HTML])
@pytest.mark.parametrize("fragment", fragments())
def test_long_texts_take_time_in_proportion_to_their_size(fragment, markup):
    """They are read line by line."""
    front, repeated = fragment.encode().split(b"\0")
    data = front + repeated * (SIZE // len(repeated))
    lines, hiding = re.findall(b"[^\n]*\n|[^\n]+", data), Hiding()
    assert b"".join(hiding.show(hiding.hide(lines, markup))) == data
