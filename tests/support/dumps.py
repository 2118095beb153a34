"""Build a wiki dump in Wikimedia's format."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

_HEAD = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://www.mediawiki.org/xml/export-0.11/ http://www.mediawiki.org/xml/export-0.11.xsd" \
version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>dewiki</dbname>
    <base>https://de.wikipedia.org/wiki/Wikipedia:Hauptseite</base>
    <generator>MediaWiki 1.45.0-wmf.5</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-2" case="first-letter">Medium</namespace>
      <namespace key="-1" case="first-letter">Spezial</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="10" case="first-letter">Vorlage</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""


def page(title: str, *texts: str, ns: int = 0, redirect: str = "", model: str = "wikitext") -> str:
    """Return a page with a revision per text; the last one is the newest."""
    lines = ["  <page>", f"    <title>{escape(title)}</title>", f"    <ns>{ns}</ns>", "    <id>7</id>"]
    if redirect:
        lines.append(f"    <redirect title={quoteattr(redirect)} />")
    for number, text in enumerate(texts, 1):
        lines += [
            "    <revision>", f"      <id>{number}</id>", f"      <parentid>{number - 1}</parentid>",
            f"      <timestamp>2026-01-0{number}T01:02:03Z</timestamp>",
            "      <contributor>", "        <username>Ann</username>", "        <id>3</id>", "      </contributor>",
            "      <comment>/* x */ &amp; y</comment>", f"      <origin>{number}</origin>",
            f"      <model>{model}</model>", "      <format>text/x-wiki</format>",
            f'      <text bytes="{len(text.encode())}" sha1="abc" xml:space="preserve">{escape(text)}</text>',
            "      <sha1>abc</sha1>", "    </revision>",
        ]  # fmt: skip
    return "\n".join([*lines, "  </page>\n"])


def dump(pages: Iterable[str]) -> bytes:
    return "".join([_HEAD, *pages, "</mediawiki>\n"]).encode()
