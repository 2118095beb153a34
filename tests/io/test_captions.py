"""Subtitles: only the case of the cues' text changes, and sentences run over cues."""

import io
import random
import warnings

import pysubs2
import pytest
import srt
import webvtt
from support.subtitles import FILES, damaged

from capfst import CapfstError, CorpusError, Recaser, load
from capfst.io.captions import Srt
from capfst.io.cue_text import Marks, _n_same
from capfst.io.formats import reader
from capfst.options import REMARKS
from capfst.text.unicode import lower

TIMES = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:03,000 --> 00:00:04,000\n{}\n"


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load(sentence_case=True)


def recased(recaser: Recaser, text: str, kind: str, remarks: str = "keep") -> str:
    parts = reader("film", kind, remarks=remarks).read([text.encode()])
    return b"".join(part.written(recaser.pipeline.recase_text(part.text)) for part in parts).decode()


def events(text: str, kind: str) -> object:
    """Return what a library reads from a file, except its text; or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "sbv":
                return [(cue.start, cue.end) for cue in webvtt.from_buffer(io.StringIO(text), "sbv")]
            found = pysubs2.SSAFile.from_string(text, format_=kind)
        except Exception as error:
            return type(error)
    return [(each.start, each.end, each.style, each.name, each.type) for each in found], list(found.styles), found.info


def cues(text: str, kind: str) -> object:
    """Return what another library reads."""
    try:
        if kind == "srt":
            return [(cue.index, cue.start, cue.end, cue.proprietary) for cue in srt.parse(text, ignore_errors=True)]
        if kind == "vtt":
            found = webvtt.from_buffer(io.StringIO(text), "vtt")
            captions = [(cue.start, cue.end, cue.identifier, cue.voice) for cue in found]
            return captions, [style.text for style in found.styles], found.header_comments
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("kind", FILES)
def test_only_the_case_of_the_text_changes_in_damaged_files(recaser: Recaser, kind: str) -> None:
    n_changed = n_refused = 0
    for seed in range(1000):
        draw = random.Random(f"{kind} {seed}")
        text = damaged(draw, FILES[kind](draw))
        try:
            out = recased(recaser, text, kind, draw.choice(REMARKS))
        except CapfstError:
            n_refused += 1
            continue
        assert lower(out) == lower(text), seed
        assert events(out, kind) == events(text, kind), seed
        assert cues(out, kind) == cues(text, kind), seed
        n_changed += out != text
    assert n_changed > 800
    assert n_refused < 60


@pytest.mark.parametrize(
    ("first", "second", "expected_first", "expected_second"),
    [
        ("i met angela", "merkel in new york.", "I met Angela", "Merkel in New York."),
        ("I MET ANGELA", "MERKEL IN NEW YORK.", "I met Angela", "Merkel in New York."),
        ("we went home.", "then he left.", "We went home.", "Then he left."),
        ("he met mr.", "smith there.", "He met Mr.", "Smith there."),
        ("- are you there?\n- yes, john", "and we", "- Are you there?\n- Yes, John", "and we"),
        ("who is there", "- it is john", "Who is there", "- It is John"),
        (">> good evening", ">>> in other news", ">> Good evening", ">>> In other news"),
        ("he lives (SOBBING) in new", "york [MUSIC] city.", "He lives (SOBBING) in New", "York [MUSIC] City."),
        ("[door closes]", "(sighs) i know.", "[door closes]", "(sighs) I know."),
        ("who?", "- (laughing) me.\n- no.", "Who?", "- (laughing) Me.\n- No."),
        ("we live in paris (not in\nnew york) and", "yes.", "We live in Paris (not in\nNew York) and", "yes."),
        ("john (on tape): who is it?", "the word(s) of john", "John (on tape): Who is it?", "The word(s) of John"),
        ("♪ we live in paris ♪", "he sang", "♪ We live in Paris ♪", "He sang"),
        ("JOHN: where is mary?", "MARY: in paris.", "JOHN: Where is Mary?", "MARY: In Paris."),
        ("JOHN: WHERE IS MARY?", "HE ASKED", "John: Where is Mary?", "He asked"),
        ("JOHN: <i>IN PARIS</i>", "MARY: WITH McDONALD", "John: <i>In Paris</i>", "Mary: With McDonald"),
        ("[SPEAKER_00]: we live in new", "[SPEAKER_00]: york", "[SPEAKER_00]: We live in New", "[SPEAKER_00]: York"),
        ("[SPEAKER_00]: we live", "[SPEAKER_01]: they left", "[SPEAKER_00]: We live", "[SPEAKER_01]: They left"),
        ("John Smith: where, in new", "John Smith: york?", "John Smith: Where, in New", "John Smith: York?"),
        ("Он и она: who is there", "we", "Он и она: who is there", "we"),  # no label
        ("JOHN: he met tim", "JOHN: cook", "JOHN: He met Tim", "JOHN: Cook"),
        ("JOHN: he left\n- why", "JOHN: they left", "JOHN: He left\n- Why", "JOHN: They left"),
        ("JOHN: he left >> why", "JOHN: they left", "JOHN: He left >> Why", "JOHN: They left"),
        ("MAN #1: we met", "JOHN & MARY: when", "MAN #1: We met", "JOHN & MARY: When"),
        ("2ND MAN: WHERE?", "MAN #1: HERE", "2nd Man: Where?", "Man #1: Here"),
        ("[JOHN:] we met, [MARY:] when", "(JOHN:) now", "[JOHN:] We met, [MARY:] When", "(JOHN:) Now"),
        ("MAN:\nWHERE ARE YOU?", "HE ASKED", "Man:\nWhere are you?", "He asked"),
        ("it is provided\nnarrator:\nin paris,", "we", "It is provided\nNarrator:\nIn Paris,", "we"),
        ("[mary]: come here. - no.", "yes", "[mary]: Come here. - No.", "Yes"),
        ("come here. -no. –yes", "- john", "Come here. -No. –Yes", "- John"),
        (
            "<i>- who?</i><br/><i>- john</i>",
            "MAN: and<BR>ANN: no",
            "<i>- Who?</i><br/><i>- John</i>",
            "MAN: And<BR>ANN: No",
        ),
        ("<i>new</i> yo<b>rk", "is in the {\\an8}u.s.", "<i>New</i> Yo<b>rk", "is in the {\\an8}U.S."),
        ("i met the <font color=red>pope", "&amp; john", "I met the <font color=red>Pope", "&amp; John"),
        ("&quot;are you there?&quot;", "he asked", "&quot;Are you there?&quot;", "he asked"),
        ("{\\an7}\\h\\hi met\\h\\hangela", "\\h- john", "{\\an7}\\h\\hI met\\h\\hAngela", "\\h- John"),
        ("in new york", "", "In New York", ""),
        ("42", "is john's number", "42", "is John's number"),
        ("{\\p1}m 0 0 l 5 5{\\p0}in paris", "john", "{\\p1}m 0 0 l 5 5{\\p0}In Paris", "John"),
    ],
)
def test_golden(recaser: Recaser, first: str, second: str, expected_first: str, expected_second: str) -> None:
    expected = TIMES.format(expected_first, expected_second)
    assert recased(recaser, TIMES.format(first, second), "srt") == expected
    windows = "\ufeff" + TIMES.format(first, second).replace("\n", "\r\n")
    assert recased(recaser, windows, "srt") == "\ufeff" + expected.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "lower", "capitalized"),
    [
        ("[MUSIC]", "[music]", "[Music]"),
        ("he [laughs] left.", "He [laughs] left.", "He [Laughs] left."),
        (
            "I LIVE IN NEW [SIREN WAILING] YORK",
            "I live in New [siren wailing] York",
            "I live in New [Siren wailing] York",
        ),
        ("(door opens)", "(door opens)", "(Door opens)"),
        ("[Michael Jackson's Music Plays]", "[Michael Jackson's music plays]", "[Michael Jackson's music plays]"),
        ("[NASA RADIO]", "[NASA radio]", "[NASA radio]"),
        ("[music by Gorvexa plays]", "[music by Gorvexa plays]", "[Music by Gorvexa plays]"),
        ("[<i>Speaks\nGERMAN</i>]", "[<i>speaks\nGerman</i>]", "[<i>Speaks\nGerman</i>]"),
        ("[♪ Music &amp; Laughter]", "[♪ music &amp; laughter]", "[♪ Music &amp; laughter]"),
        ("[?] [ ] []", "[?] [ ] []", "[?] [ ] []"),
        ("[1980S MUSIC]", "[1980s music]", "[1980s music]"),
        ("JOHN: in paris", "JOHN: In Paris", "JOHN: In Paris"),
        ("[JOHN]: in paris", "[JOHN]: In Paris", "[JOHN]: In Paris"),
        ("[JOHN:] in paris", "[JOHN:] In Paris", "[JOHN:] In Paris"),
        ("[MAN] he left.", "[man] He left.", "[Man] He left."),
        ("♪ in paris ♪", "♪ In Paris ♪", "♪ In Paris ♪"),
        ("he left.\nSIREN WAILS", "He left.\nSIREN WAILS", "He left.\nSIREN WAILS"),
        ("he (not John) left", "He (not John) left", "He (not John) left"),
    ],
)
def test_remarks(recaser: Recaser, text: str, lower: str, capitalized: str) -> None:
    for remarks, cased in ("lower", lower), ("capitalized", capitalized):
        out = recased(recaser, TIMES.format("It is so.", text), "srt", remarks)
        assert out == TIMES.format("It is so.", cased)
        assert recased(recaser, out, "srt", remarks) == out


def test_remarks_do_not_depend_on_sentence_case() -> None:
    text = TIMES.format("[MUSIC PLAYS]", "[john Laughs]")
    assert recased(load(), text, "srt", "lower") == TIMES.format("[music plays]", "[John laughs]")
    assert recased(load(), text, "srt", "capitalized") == TIMES.format("[Music plays]", "[John laughs]")


@pytest.mark.parametrize("remarks", REMARKS)
def test_remarks_do_not_change_the_text_around_them(recaser: Recaser, remarks: str) -> None:
    text = FILES["vtt"](random.Random(7)).replace("\n\n", " [He LAUGHS]\n\n")
    out = recased(recaser, text, "vtt", remarks)
    laughs = {"keep": "[He LAUGHS]", "lower": "[he laughs]", "capitalized": "[He laughs]"}[remarks]
    assert laughs in out
    assert out.replace(laughs, "[He LAUGHS]") == recased(recaser, text, "vtt")


def test_remarks_get_no_marks() -> None:
    marked = load(sentence_case=True, restore="punctuation,case")
    out = recased(marked, TIMES.format("[MUSIC PLAYS]", "we met john how are you"), "srt", "lower")
    assert out == TIMES.format("[music plays]", "We met John. How are you?")


def test_captions_that_roll_up_repeat_their_case(recaser: Recaser) -> None:
    text = (
        "WEBVTT\nKind: captions\n\nNOTE in new york\n\nintro\n00:00.000 --> 00:02.000 align:start\n \n"
        "i live in<00:00.480><c> new</c>\n\n00:02.000 --> 00:02.010\ni live in new\n \n\n"
        "00:02.010 --> 00:04.000\ni live in new\nyork<00:02.480><c> city</c>\n"
    )
    out = recased(recaser, text, "vtt")
    assert out == text.replace("i live", "I live").replace("in<", "in<").replace("york<", "York<").replace(
        "<c> new", "<c> New"
    ).replace("in new\n", "in New\n").replace("<c> city", "<c> City")


def test_repeated_lines_are_the_same_whatever_is_between_their_words() -> None:
    text = TIMES.format("we met tim\ncook<c> &gt;&gt;</c><c> and</c>", "cook &gt;&gt; and\nleft")
    (part,) = reader("film", "srt").read([text.encode()])
    assert part.text.split() == b"we met tim cook and left".split()


@pytest.mark.parametrize(("first", "cased"), [("ok, how", "OK. How"), ("we left so", "we left. So")])
def test_captions_that_repeat_or_grow_have_the_same_marks(first: str, cased: str) -> None:
    (part,) = reader("film", "srt").read([TIMES.format(first, f"{first} are you\n").encode()])
    out = part.written(f"{cased} are you?\n".encode())
    assert out.decode() == TIMES.format(cased, f"{cased} are you?\n")


def test_captions_that_grow_have_one_case(recaser: Recaser) -> None:
    lines = [
        "on",
        "on the river",
        "on the river thames",
        "on the river thames in london.\nthen",
        "in london.\nthen john",
    ]
    cased = [
        "On",
        "On the River",
        "On the River Thames",
        "On the River Thames in London.\nThen",
        "in London.\nThen John",
    ]
    text, expected = ("\n".join(f"{k}\n00:00:0{k},0 --> 00:00:0{k},5\n{line}\n" for k, line in enumerate(of))
                      for of in (lines, cased))  # fmt: skip
    assert recased(recaser, text.replace("in london.\nthen", "in london.\nthen"), "srt") == expected


def test_shouts_and_signs_stay_among_other_text(recaser: Recaser) -> None:
    text = TIMES.format("SIREN WAILS\nI was in Paris.", "OH MY GOD!") + TIMES.format("We left london.", "It is fine.")
    assert recased(recaser, text, "srt") == text.replace("london", "London")


def test_the_words_of_a_shout_are_counted_over_lines(recaser: Recaser) -> None:
    text = TIMES.format("AND THEN\nWE LEFT LONDON", "I was in Paris.") + TIMES.format("We left.", "It is fine.")
    assert "London" in recased(recaser, text, "srt")


def test_cues_without_words_are_not_text_without_capitals(recaser: Recaser) -> None:
    text = TIMES.format("[MUSIC]", "[SIRENS]") + TIMES.format("NEW YORK", "[MUSIC]")
    assert recased(recaser, text, "srt") == text.replace("NEW YORK", "New York")


@pytest.mark.parametrize("kind", FILES)
def test_lines_may_end_with_a_carriage_return_alone(recaser: Recaser, kind: str) -> None:
    text = FILES[kind](random.Random(7))
    assert recased(recaser, text.replace("\n", "\r"), kind) == recased(recaser, text, kind).replace("\n", "\r")


def test_line_ends_may_be_doubled() -> None:
    text = TIMES.format("we met in", "2007")
    for end in ("\n\n", "\r\r\n"):
        (part,) = reader("film", "srt").read([text.replace("\n", end).encode()])
        assert part.text.split() == b"we met in 2007".split()


def test_times_may_be_negative_after_a_shift() -> None:
    text = TIMES.format("we met in", "2007").replace("\n00", "\n-00").replace("> ", "> -")
    (part,) = reader("film", "srt").read([text.encode()])
    assert part.text.split() == b"we met in 2007".split()


def test_cues_that_begin_with_a_capital_keep_it() -> None:
    lines = ["Then let's go", "Already full", "Are you there", "Maybe tomorrow", "So what", "Now we are here"]
    text = "".join(TIMES.format(*lines[k : k + 2]) for k in range(0, 6, 2))
    assert recased(load(), text, "srt") == text


def test_data_in_cues_stay(recaser: Recaser) -> None:
    text = (
        'WEBVTT\n\n00:00.000 --> 00:02.000\n{"lat": 51.5,\n"name": "new york"}\n\n00:03.000 --> 00:04.000\nin paris\n'
    )
    assert recased(recaser, text, "vtt") == text.replace("in paris", "In Paris")


def test_a_voice_is_a_speaker(recaser: Recaser) -> None:
    text = "WEBVTT\n\n00:00.000 --> 00:02.000\n<v mary>i said\n\n00:02.000 --> 00:03.000\n<v {}>he did</v>\n"
    assert "<v john>He did" in recased(recaser, text.format("john"), "vtt")
    assert "<v mary>he did" in recased(recaser, text.format("mary"), "vtt")


def test_the_style_of_a_line_in_ass_is_a_speaker(recaser: Recaser) -> None:
    line = "Dialogue: 0,0:00:01.00,0:00:02.00,{},,0,0,0,,{}\n"
    head = "[Script Info]\nTitle: in new york\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR," \
        " MarginV, Effect, Text\n"  # fmt: skip
    text = head + line.format("main", r"{\k20}lon{\k30}don, i\Nsaid") + line.format("sign", "new york")
    comment = "Comment: 0,0:00:01.00,0:00:02.00,main,,0,0,0,,in new york\n"
    out = recased(recaser, text + comment, "ass")
    assert out == text.replace("lon{", "Lon{").replace("i\\N", "I\\N").replace(",new york", ",New York") + comment


def test_blocks_of_a_file_may_end_anywhere(recaser: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(TIMES.format(f"a{k}\nb{k}", f"- c{k}\n\nd{k}") for k in range(9))
    (whole,) = reader("film", "srt").read([text.encode()])
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 1)
    parts = list(reader("film", "srt").read(text.encode().splitlines(keepends=True)))
    assert b"".join(part.text for part in parts).split() == whole.text.split()
    assert len(parts) >= 18
    for kind, make in FILES.items():
        text = make(random.Random(kind)) + make(random.Random(f"{kind} 2"))
        parts = list(reader("film", kind).read(text.encode().splitlines(keepends=True)))
        assert "".join(part.data for part in parts) == text
        assert len(parts) > 1


@pytest.mark.parametrize("kind", FILES)
def test_parts_do_not_depend_on_how_a_file_arrives(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    text = "".join(FILES[kind](random.Random(f"{kind} {k}")) for k in range(4)).encode()
    monkeypatch.setattr("capfst.io.text_file.BLOCK", len(text) // 4)
    (*first, last), *others = (
        [part.data for part in reader("film", kind).read(blocks)] for blocks in (text.splitlines(keepends=True), [text])
    )
    assert others == [[*first, last]]
    assert first


@pytest.mark.parametrize("kind", ["srt", "vtt", "ass", "sbv"])
def test_other_files_are_refused(kind: str) -> None:
    with pytest.raises(CorpusError, match="film: no cues of "):
        list(reader("film", kind).read([b"in new york, WEBVTT, [Script Info], [Events]\n"]))
    assert list(reader("film", kind).read([])) == []


def test_events_without_their_section(recaser: Recaser) -> None:
    """As grep selects them from a file."""
    text = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,in new york\n"
    assert recased(recaser, text, "ass") == text.replace("in new york", "In New York")


def test_without_cues() -> None:
    for kind, text in (("vtt", "WEBVTT\n"), ("ass", "; a\n\n[Events]\n"), ("srt", "\n\n")):
        (part,) = reader("film", kind).read([text.encode()])
        assert (part.text, part.written(b"")) == (b"", text.encode())


def test_urls_and_escapes_in_capitals_stay(recaser: Recaser) -> None:
    text = TIMES.format("VISIT US AT www.foo.com/Bar", "IT IS %s AND \\u00c7 IN McDONALD'S ΝΈΑ ΥΌΡΚΗ\u0345")
    out = recased(recaser, text, "srt")
    assert "www.foo.com/Bar" in out
    assert r"%s and \u00c7" in out
    assert out.endswith("\u0345\n")
    assert lower(out) == lower(text)


class Counted(str):
    """A text that counts the characters that are taken from it."""

    taken = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        self.taken += len(part)
        return part


@pytest.mark.parametrize(
    ("line", "word"),
    [("JOHN:\n", "JOHN:"), ("- JOHN: A\n", "JOHN: A"), ("<i>JOHN: A\n", "JOHN: A"), ("JOHN: a\n", "a")],
)
def test_many_speakers_in_a_cue_are_read_once(line: str, word: str) -> None:
    text = Counted(line * 1000)
    cue = Marks(Srt.marks).read(text, 0, len(text), breaks=False)
    assert cue.lines[0][0].value.strip() == word  # a cue in capitals has no labels
    assert text.taken < 6 * len(text)


class CountedLines(list):
    """Lines that count those that are taken from them."""

    taken = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        CountedLines.taken += len(part) if isinstance(key, slice) else 1
        return part


def test_cues_with_many_lines_are_compared_in_part() -> None:
    before, lines = (CountedLines(["A"] * 3000 + [last]) for last in "BA")
    assert _n_same(before, lines) == (0, False)
    assert CountedLines.taken < 50_000
