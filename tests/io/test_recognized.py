"""Formats whose texts are parts of a file: what is recognized by its content, and that only case changes."""

import json
import re
from pathlib import Path

import pytest

from capfst.exceptions import CapfstError, CorpusError
from capfst.io.formats import format_of, format_of_text, reader, recognized
from capfst.io.protocol import BatchOptions
from capfst.io.text_file import SpeechFile

NAMES = re.compile(r"(?i)\b(?:new|york|anna|smith|eu|angela|merkel)\b").sub


def cased(text: str) -> str:
    """Return a text with the case of the names in it, as a model would."""
    return NAMES(lambda name: name[0].upper() if name[0].lower() == "eu" else name[0].title(), text)


def recased(text: str, format: str, fields: tuple[str, ...] = ()) -> tuple[str, str]:
    """Return the running text of a file, and the file with its names in their case."""
    parts = list(reader("a", format, fields).read(text.encode().splitlines(keepends=True)))
    said = "".join(part.text.decode() for part in parts)
    return said, b"".join(part.written(cased(part.text.decode()).encode()) for part in parts).decode()


LRC = """\ufeff[ti:in new york]
[Ar: anna smith]
[Re:new york 2]
[offset:+500]
[00:12.00][00:45.3]in new york
[00:15] <00:15.10> the <00:15.90> eu\r

# anna
"""
PO = r"""
# anna smith
msgid ""
msgstr ""
"Project-Id-Version: new york\n"

#: src/Anna.c:1
msgctxt "new york"
msgid "anna %s"
msgstr "in new "
"york\nwith \"anna\"\\smith %s"
#~ msgstr "anna"
msgid "eu"
msgid_plural "eu"
msgstr[0] "anna"
msgstr[1] ""
"""
TEXTGRID = '''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 3
item []:
    item [1]:
        class = "IntervalTier"
        name = "anna words"
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1
            text = "in new"
        intervals [2]:
            text = ""
        intervals [3]:
            text = "york ""eu"""
    item [2]:
        class = "IntervalTier"
        name = "anna - phones"
            text = "eu"
    item [3]:
        class = "TextTier"
        name = "new"
        points [1]:
            number = 1
            mark = "anna
smith"
'''
SHORT = re.sub(r"(?m)^ *(?:\w+ (?:class|type) = |\w+ = |\w+\? |\w+: size = |\w+ \[\d*\]:\n)", "", TEXTGRID)
TTML = """<?xml version="1.0"?>
<tt:tt xmlns:tt="http://www.w3.org/ns/ttml" xml:lang="EU"><head><title>anna</title></head><body>
<tt:div Region="new"><tt:p begin="0s" end="1s" xml:id="eu">in new<tt:br/>york</tt:p>
<tt:p begin="1s" end="2s"><tt:span Style="anna">with angela &amp; merkel</tt:span></tt:p><tt:p/></tt:div>
</body></tt:tt>
"""
YOUTUBE = """{"events": [{"segs": [{"utf8": "in"}, {"utf8": " new", "tOffsetMs": 9}]}, {"segs": [{"utf8": "\\n"}]},
 {"segs": [{"utf8": "york"}, {"utf8": " so"}]}], "anna": "eu"}"""
SPEECHMATICS = """{"format": "2.9", "job": {"id": "anna"}, "results": [
 {"type": "word", "alternatives": [{"content": "new", "speaker": "S1"}]},
 {"type": "word", "alternatives": [{"content": "york", "speaker": "S1"}]},
 {"type": "punctuation", "alternatives": [{"content": ".", "speaker": "S1"}]},
 {"type": "word", "alternatives": [{"content": "eu", "speaker": "anna"}]}]}"""
REV = """{"monologues": [{"speaker": 0, "elements": [{"type": "text", "value": "new"}, {"type": "punct", "value": " "},
 {"type": "text", "value": "york"}, {"type": "punct", "value": ". "}, {"type": "text", "value": "anna"}]}]}"""
SHERPA = '{"text": " IN NEW YORK", "tokens": [" IN", " NE", "W", " ", "YO", "RK"], "lang": "EU", "timestamps": [0.1]}'
LINES = '{"Speaker":"anna", "duration":2.0,"text":"in new york"}\n\n{"Anna": "eu", "text" : "\\u0061nna\\nsmith"}\n'

FILES = {
    "lrc": (
        LRC,
        "in new york\n anna smith\nin new york\n  the  eu\n# anna\n",
        [
            ("in new york]", "in New York]"),
            ("anna smith", "Anna Smith"),
            ("in new york\n", "in New York\n"),
            (" eu\r", " EU\r"),
            ("# anna", "# Anna"),
        ],
    ),
    "po": (
        PO,
        'in new york\nwith "anna"\\smith %s\nanna\n',
        [
            ('in new "', 'in New "'),
            ('"york\\n', '"York\\n'),
            ('with \\"anna', 'with \\"Anna'),
            ("\\\\smith", "\\\\Smith"),
            ('[0] "anna', '[0] "Anna'),
        ],
    ),
    "textgrid": (
        TEXTGRID,
        'in new york "eu\nanna\nsmith\n',
        [("in new", "in New"), ('"york ""eu', '"York ""EU'), ('"anna\nsmith', '"Anna\nSmith')],
    ),
    "ttml": (
        TTML,
        "in new york with angela & merkel\n",
        [("in new<", "in New<"), (">york", ">York"), ("angela &amp; merkel", "Angela &amp; Merkel")],
    ),
    "youtube": (YOUTUBE, "in new york so\n", [('" new"', '" New"'), ('"york"', '"York"')]),
    "speechmatics": (SPEECHMATICS, "new york.\neu\n", [('"new"', '"New"'), ('"york"', '"York"'), ('"eu"', '"EU"')]),
    "rev": (REV, "new york. anna\n", [('"new"', '"New"'), ('"york"', '"York"'), ('"anna"', '"Anna"')]),
    "sherpa": (
        SHERPA,
        " IN NEW YORK\n",
        [("IN NEW YORK", "IN New York"), ('" IN", " NE", "W", " ", "YO", "RK"', '" IN", " Ne", "w", " ", "Yo", "rk"')],
    ),
    "json": (
        LINES,
        "in new york\nanna\nsmith\n",
        [("in new york", "in New York"), ("\\u0061nna\\nsmith", "\\u0041nna\\nSmith")],
    ),
}


@pytest.mark.parametrize("format", FILES)
def test_only_the_case_of_text_changes(format: str) -> None:
    text, said, changes = FILES[format]
    expected = text
    for old, new in changes:
        assert old in expected
        expected = expected.replace(old, new, 1) if format != "lrc" else expected.replace(old, new)
    assert recased(text, format) == (said, expected)
    detected = format_of_text(text.encode())
    assert detected == ("transcript" if text.startswith("{") and format != "json" else format)
    assert recased(text, detected) == (said, expected)
    assert recased(text.replace("\n", "\r\n"), format)[1] == expected.replace("\n", "\r\n") or format == "textgrid"


def test_short_text_grids() -> None:
    said, found = recased(SHORT, "textgrid")
    assert said == 'in new york "eu\nanna\nsmith\n'
    assert found.split("\n") == [
        line if line.strip() in ('"anna words"', '"anna - phones"', '"new"', '"eu"') else cased(line)
        for line in SHORT.split("\n")
    ]


def test_a_tier_follows_another_with_the_same_words_and_pauses_and_noises_stay() -> None:
    tier = 'class = "IntervalTier"\nname = "{}"\n{}\n'
    words = "\n".join(f'text = "{word}"' for word in ("sil", "in", "new", "sp", "{LG}", "york"))
    text = tier.format("words", words) + tier.format("said", 'text = "<unk> in [laughter] new york."')
    assert recased(text, "textgrid") == ("in new york\n", cased(text))
    quoted = tier.format("words", 'text = """in new"""\ntext = ""\ntext = "york"')
    assert recased(quoted, "textgrid") == ('"in new" york\n', cased(quoted))


PARTS = {
    "textgrid": [
        "xmin = 0",
        "xmax = 2.5 ",
        '  text = "new"',
        "intervals [1]:",
        'class = "IntervalTier"',
        'name = "new"',
    ],
    "lrc": ["[ar:anna smith]", "[00:12.00]new", "[00:12.00] new", "[00:12]new", "[al: new york ]", "[00:01:50]new"],
    "po": ['msgid "new"', 'msgstr "new"', 'msgstr[0] "new"', '#, fuzzy\n#: a:1\n\nmsgid "a"'],
    "json": ['{"a": 1', '[{"text":"new"}]', '[\n {\n  "a"\n  :', "{}", '{\n"a":', '{"a b\\"c":'],
    "srt": ["1\n00:00:01,000 --> 00:00:02,000\nnew", "00:00:01.000 --> 00:00:02.000", "1\r\r\n-00:00:01,000 -->"],
    "vtt": ["WEBVTT", "WEBVTT - new\n\n", "WEBVTT new york\n\n1\n00:01.000 --> 00:02.000\nnew"],
    "ass": ["[Script Info]", "[Events]\n"],
    "sbv": ["0:00:01.000,0:00:02.000\nnew"],
    "ttml": ["<tt xml:lang='en'>", '<!-- a --> <tt:tt xmlns="b">', "<?xml version='1.0'?>\n<timedtext format='3'>"],
}
PROSE = [
    "", "\n", "[Laughs] we met anna.", "[12:30] anna: we met", "[12:30:45] <anna> we met", "[anna: new york] is here",
    "{anna} met", "[see {anna}]", '["new", he said]', "[new york](http://x.org)", "# msgid", "# New York\n\nIt is",
    '"text": "new"', "text = new", "time = money", "time = 5 pm", "size = matters", "item 5: new", "class = 5",
    "msgid is a keyword", "1\nnew", "00:01 new", "1. new", "WEBVTTx", "<b>new</b>", "<html>", "<p>new", "point [1]",
    "WEBVTT is new", "WEBVTT has 00:01.000 --> 00:02.000", "Files type = \"ooText", "{",
    "we met {\"a\": 1}", "Dialogue: new york",
]  # fmt: skip


def test_what_is_recognized() -> None:
    for format, texts in PARTS.items():
        for text in texts:
            assert recognized(text.encode()) == format, text
            assert recognized(b"\xef\xbb\xbf\r\n" + text.encode()) == format, text
    for text in PROSE:
        assert recognized(text.encode()) is None, text
    for text in ('{"text": "new", "tokens": ["new"]}', '[{"text": "new", "words": [{"word": "new"}]}]'):
        assert format_of_text(text.encode()) == "transcript"
    long = json.dumps({"text": "new york " * 50_000, "segments": [{"text": "new"}]})
    assert format_of_text(long.encode()) == "transcript"
    assert format_of_text(b'[{"text": "new", "start": 0, "end": 1}]') == "transcript"
    for text in (
        '{"tokens": ["new"]}',
        '{"text": "new", "start": 0, "end": 1}',
        '{"text": "\\x", "words": [{"word": "a"}]}',
    ):
        assert format_of_text(text.encode()) == "json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"text": "a"}\n{"Title": "a", "b": [{"c": "d"}]}\n',
            r"a, line 2: the object has no field 'text'\. Use .*Title",
        ),
        ('[\n{"text": 5}]', "a, line 2: the field 'text' is not a string, but a number"),
        ('{"text": "a"}\nnew york\n', "a, line 2: invalid JSON"),
        ('{"text": "a",}\n', "a, line 1: invalid JSON"),
    ],
)
def test_json_without_the_field_is_refused(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        recased(text, "json")


def test_fields_of_json() -> None:
    text = '{"a": [{"b": "new"}, {"b": null}], "c": "york", "text": "anna"}\n'
    assert recased(text, "json", ("a[].b", "c")) == ("new\nyork\n", text.replace("new", "New").replace("york", "York"))


def test_lines_of_json_are_passed_on_as_they_arrive() -> None:
    lines = [b'{"text": "a"}\n', b'{"text": "b"}\n']
    given = iter(lines)
    parts = reader("a", "json").read(given)
    assert next(parts).text == b"a\n"
    assert list(given) == lines[1:]


def test_the_content_of_text_files_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for format, (text, _, _) in FILES.items():
        path.write_text(text)
        kind = format_of(path, BatchOptions())
        assert type(kind).__name__ == "Json" if format == "json" else isinstance(kind, SpeechFile)
        assert type(format_of(path, BatchOptions(format="text"))).__name__ == "PlainText"
        assert format_of(path, BatchOptions(markup="html")).markup == "html"
    path.write_text(json.dumps({"text": "a", "words": [{"word": "a"}]}), "utf-16")
    assert isinstance(format_of(path, BatchOptions(encoding="utf-16")), SpeechFile)
    path = tmp_path / "a.xml"
    path.write_text(TTML)
    assert isinstance(format_of(path, BatchOptions()), SpeechFile)
    path.write_text("<a>new</a>")
    with pytest.raises(CapfstError, match=r"cannot read \.xml files"):
        format_of(path, BatchOptions())
