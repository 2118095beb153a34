"""Transcripts by lines: .ctm, .stm and Kaldi's text."""

import pytest

from capfst import CorpusError, Recaser, load
from capfst.io.formats import reader

CTM = """\
;; in new york
call A 0.10 0.20 i 0.9

call A 0.1 .2 live
call\tA  0.30 0.20 in 0.9 lex john
call A 0.30 0.20 <eps> 0.9 lex john
call A 0.50 0.20 new 0.9 lex john
call A 0.70 0.20 york 0.9 lex mary
call A * * <ALT_BEGIN>
other 1 1 2 paris
"""
STM = """\
;; LABEL "o" "overall" in paris
call 1 john 0.1 2.3 <o,f0,male> i live in (%hesitation) new york { a / the } united
call 1 john 2.3 4 states
call 1 mary 4 5 ignore_time_segment_in_scoring
call 1 mary 4 5
call 1 mary 5 6 where is paris
"""
KALDI = """\
84-121-0000 I LIVE IN NEW
84-121-0001 YORK CITY <UNK> NOW
85-121-0002 JOHN
al_2009-0001-0200 angela
al_2009-0200-0300 [laughter] merkel
al_2009-0150-0250 in paris
paris
b1
"""
RUNNING = {
    "ctm": (CTM, ["i live", "in new", "york", "paris"]),
    "stm": (STM, ["i live in new york a the united states", "where is paris"]),
    "kaldi": (KALDI, ["I LIVE IN NEW YORK CITY NOW", "JOHN", "angela merkel", "in paris"]),
}


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load()


def recased(recaser: Recaser, text: str, kind: str) -> str:
    parts = reader("speech", kind).read([text.encode()])
    return b"".join(part.written(recaser.pipeline.recase_text(part.text)) for part in parts).decode()


@pytest.mark.parametrize("kind", RUNNING)
def test_running_text(recaser: Recaser, kind: str) -> None:
    text, expected = RUNNING[kind]
    for file in (text, text.replace("\n", "\r\n"), text.removesuffix("\n")):
        (part,) = reader("speech", kind).read([file.encode()])
        assert [" ".join(line.split()) for line in part.text.decode().splitlines()] == expected
        assert recased(recaser, file, kind).lower() == file.lower()


def test_negative_durations(recaser: Recaser) -> None:
    """NIST's own test file has some, and sclite reads them."""
    ctm = "call 1 0.50 -0.10 we 0.9\ncall 1 -.5 1 met\ncall 1 0.75 -1 paris\n"
    assert recased(recaser, ctm, "ctm").lower() == ctm
    assert all(pause >= 0 for _, pause in pauses(ctm, "ctm"))


def test_golden(recaser: Recaser) -> None:
    ctm = CTM.replace(" lex john", "").replace(" lex mary", "")
    words = {" i ": " I ", " new 0": " New 0", " york 0": " York 0", "2 paris": "2 Paris"}
    expected = ctm
    for word, cased in words.items():
        expected = expected.replace(word, cased)
    assert recased(recaser, ctm, "ctm") == expected
    assert recased(recaser, ctm.replace(" i ", " I "), "ctm") == expected
    out = recased(recaser, STM, "stm").splitlines()
    assert out[0] == STM.splitlines()[0]
    assert out[1].endswith("> I live in (%hesitation) New York { a / the } United")
    assert out[2:] == ["call 1 john 2.3 4 States", *STM.splitlines()[3:5], "call 1 mary 5 6 where is Paris"]
    assert recased(recaser, KALDI, "kaldi").splitlines() == [
        "84-121-0000 I live in New",
        "84-121-0001 York City <UNK> now",
        "85-121-0002 John",
        "al_2009-0001-0200 Angela",
        "al_2009-0200-0300 [laughter] Merkel",
        "al_2009-0150-0250 in Paris",
        "paris",
        "b1",
    ]


def pauses(text: str, kind: str) -> list[tuple[bytes, float]]:
    """Return the text before each known pause, and its seconds."""
    (part,) = reader("speech", kind).read([text.encode()])
    text_before = [part.text[:end] for end in part.pauses().ends]
    return [*zip(text_before, part.pauses().seconds.round(3).tolist(), strict=True)]


def test_pauses() -> None:
    assert pauses(CTM, "ctm") == [(b"i", 0.0), (b"i live\nin", 0.0)]  # no others: another speaker or recording follows
    ctm = "a 1 0.5 0.5 caf\u00e9\na 1 1.25 .25 i'm\na 1 * * here\na 1 2 1 now\na 1 2.9 1 ok\n"
    assert pauses(ctm, "ctm") == [("caf\u00e9".encode(), 0.25), ("caf\u00e9 i'm here now".encode(), 0.0)]
    assert pauses(STM, "stm") == pauses(KALDI, "kaldi") == pauses(";;\n", "ctm") == []


def test_lines_in_capitals_are_apart(recaser: Recaser) -> None:
    text = "a-1 we met the\na-2 THE CAT SAT ON THE MAT IN PARIS\na-3 and left NASA\n"
    assert recased(recaser, text, "kaldi") == "a-1 we met the\na-2 the cat sat on the mat in Paris\na-3 and left NASA\n"


def test_blocks_of_a_file_may_end_after_any_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 1)
    for kind, (text, expected) in RUNNING.items():
        parts = list(reader("speech", kind).read(text.encode().splitlines(keepends=True)))
        assert "".join(part.data for part in parts) == text
        assert b"".join(part.text for part in parts).split() == " ".join(expected).encode().split()


@pytest.mark.parametrize(
    "line", ["call A 0.1 i", "call A x 0.2 i 0.9", "in new york he met john", "call A 1 2 a 1 x y z"]
)
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(CorpusError, match=r"speech, line 3: not CTM, which has .*" + line):
        list(reader("speech", "ctm").read([f"call A 1 2 i\n\n{line}\n".encode()]))
    with pytest.raises(CorpusError, match="speech, line 1: not STM, which has "):
        list(reader("speech", "stm").read([b"call A john 1 i\n"]))
