"""Wikimedia dumps: only the running text of articles is read."""

import bz2
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.dumps import dump, page

from capfst.exceptions import CorpusError

pytest.importorskip("mwxml")
pytest.importorskip("mwparserfromhell")

from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks

ARTICLE = """\
{{Infobox Ort
| Name = Paris
| Bild = [[Datei:Paris.jpg|mini]]
}}
[[Datei:Seine.jpg|mini|Die [[Seine]] in '''Paris'''.]]
[[File:x.png|thumb|A picture.]]
'''Paris''' ({{IPA|paˈʁi}}; französisch) ist die [[Hauptstadt]] von [[Frankreich|France]]<ref name="a">Ein [[Buch]].</ref>.

== Geschichte ==
Sie ist ''sehr''&nbsp;alt&nbsp;– älter als [[Die Stadt: Ein Film]]<ref name="a" /> , {{lang|fr|déjà}} d''''Orsay'''.<br />
Neue Zeile __NOTOC__ mit <small>kleinem</small> <span style="x">Text</span> <!-- Kommentar -->und H<sub>2</sub>O [[:Kategorie:Ort|hier]].
* Punkt eins
# Punkt zwei
: eingerückt
; Begriff: Erklärung
{| class="wikitable"
! Kopf
|-
| Zelle || [[Link]]
|}
<gallery>
Datei:a.jpg|Text
</gallery>
<math>x^2</math> ist die [https://example.org Formel] (<math>y</math>, {{x}}) &amp; [[foo_bar]].
Das {{nicht geschlossen
<div class="x">Im Kasten.</div>

==Weblinks==
* [https://example.org Seite]
[[Kategorie:Ort]]
[[de:Paris]]
"""  # noqa: E501
TEXT = """\
Paris ist die Hauptstadt von France.
Sie ist sehr alt – älter als Die Stadt: Ein Film, d'Orsay.
Neue Zeile mit kleinem Text und H2O hier.
ist die Formel & foo bar.
Im Kasten.
"""


def text_of(path: Path) -> str:
    return b"".join(text_blocks([path], TextOptions())).decode()


def write(path: Path, *pages: str) -> Path:
    path.write_bytes(dump(pages))
    return path


def test_an_article(tmp_path):
    assert text_of(write(tmp_path / "a.xml", page("Paris", ARTICLE))) == TEXT


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("A ([[b]]) c.", "A (b) c."),
        ("A (''{{b}}'', {{c}}) d ( ) e.", "A d e."),
        ("http://a.org/b [http://a.org] [http://a.org ''c'']", "http://a.org/b c"),
        ("a<ref>b\n\nc</ref> d", "a d"),
        ("''a'' '''b''' '''''c''''' d's", "a b c d's"),
        ("a <!-- {{ --> b<!--\n\n--> c", "a b c"),
        ("a {{b|{{c|{{d}}|<ref>e</ref>}}}}. f", "a. f"),
        ("a<ref name=b /> c<REF>d {{e}}\n</Ref> f", "a c f"),
        ("a{{b|c=[[d]]\n|e}}f", "a f"),
        ("<ul><li>a</li></ul>b", "b"),
        ("<nowiki>''a''</nowiki> b", "a b"),
        ("[[Medium:a.ogg|b]]c", "c"),
        ("[[ image : a.png | b]]c", "c"),
        ("[[wikt:a|b]] [[en:c]] [[a:b c]]", "b"),
        ("a\n\n\n\nb", "a\nb"),
        ("&lt;a&gt; &#x41;&#66; &nosuch;", "<a> AB &nosuch;"),
        ("{| a\n|b", ""),
        ("a }} b\n\nc", "c"),
        ("#WEITERLEITUNG a", ""),
        ("#redirect [[a]]", ""),
        ("", ""),
    ],
)
def test_wikitext(tmp_path, wikitext, text):
    assert text_of(write(tmp_path / "a.xml", page("A", wikitext))) == (text and text + "\n")


def test_only_the_newest_text_of_articles(tmp_path):
    pages = [
        page("Alt", "Old text.", "New text."),
        page("Weiter", "#WEITERLEITUNG [[Alt]]\nNot this.", redirect="Alt"),
        page("Diskussion:Alt", "I think so.", ns=1),
        page("Vorlage:x", "A template.", ns=10),
        page("Alt.css", "body { }", model="css"),
        page("Leer", ""),
        page("Ohne"),
        page("Neu", "More text."),
    ]
    assert text_of(write(tmp_path / "a.xml", *pages)) == "New text.\nMore text.\n"


@pytest.mark.parametrize("name", ["a.xml.bz2", "dewiki-20260101-pages-articles1.xml-p1p297012.bz2"])
def test_compressed(tmp_path, name):
    data = dump(page(f"A{n}", f"Text {n}.") for n in range(2000))
    path = tmp_path / name
    path.write_bytes(bz2.compress(data[:5000]) + bz2.compress(data[5000:]))  # like the multistream dumps
    read: list[int] = []
    blocks = text_blocks([path], TextOptions(), progress=read.append)
    assert b"".join(blocks).decode() == "".join(f"Text {n}.\n" for n in range(2000))
    assert sum(read) == path.stat().st_size


def test_processes_give_the_same_text(tmp_path, monkeypatch):
    monkeypatch.setattr("capfst.io.wiki._CHUNK", 500)
    path = write(tmp_path / "a.xml", *(page(f"A{n}", f"Text {n} [[Datei:x.png|no]] {'y' * n}.") for n in range(50)))
    expected = list(text_blocks([path], TextOptions(), 100))
    assert list(text_blocks([path], TextOptions(jobs=2), 100)) == expected
    assert b"".join(expected).decode() == "".join(f"Text {n} {'y' * n}.\n".replace(" .", ".") for n in range(50))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no element found: line 1, column 0"),
        (b"Text.", "syntax error: line 1"),
        (b"<html><p>Text.</p></html>", "it begins with <html>, not with <mediawiki>"),
        (b"<mediawiki></mediawiki>", "<siteinfo>"),
        (dump([page("A", "x")])[:-30], "line"),
        (dump([page("A", "x").replace("<ns>0</ns>", "<ns>x</ns>")]), "'x'"),
        (dump(["<other/>"]), "other"),
    ],
)
def test_files_that_are_not_dumps(tmp_path, data, problem):
    (tmp_path / "a.xml").write_bytes(data)
    with pytest.raises(CorpusError, match=rf"a\.xml: .*{re.escape(problem)}"):
        text_of(tmp_path / "a.xml")


def test_a_damaged_dump(tmp_path):
    path = tmp_path / "a.xml.bz2"
    path.write_bytes(bz2.compress(dump([page("A", "x")]))[:-9])
    with pytest.raises(CorpusError, match=r"a\.xml\.bz2: .*ends early, at byte \d+"):
        text_of(path)


_READING = """
import re, sys
from pathlib import Path
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

def size(name):
    return sum(map(len, text_blocks([Path(name)], TextOptions())))

few = size(sys.argv[1])
before = peak()
print(few, size(sys.argv[2]), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has no /proc")
def test_memory_does_not_grow_with_the_pages(tmp_path):
    few = write(tmp_path / "few.xml", *[page("A", "x", redirect="B")] * 100, page("A", "Text."))
    many = write(tmp_path / "many.xml", *[page("A", "x", redirect="B")] * 60_000, page("A", "Text."))
    done = subprocess.run([sys.executable, "-c", _READING, few, many], check=True, capture_output=True, timeout=120)
    n_few, n_many, growth = map(int, done.stdout.split())
    assert n_few == n_many == len("Text.\n")
    assert growth < 8 << 20
