"""The pieces of a running text, recased and written back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CapfstError
from capfst.io.running_text import Copy, RunningText, Span, with_case_of
from capfst.text.unicode import lower

LETTERS = st.text("abiİı̇ßÉ ", max_size=6)


@given(st.lists(st.tuples(LETTERS, LETTERS, st.sampled_from(["", " ", "\n", "&"])), max_size=6))
def test_what_is_between_the_spans_stays(parts: list[tuple[str, str, str]]) -> None:
    data, spans = "", []
    for between, value, before in parts:
        data += f"<{between}>"
        spans.append(Span(len(data), len(data) + len(value), value, before))
        data += value
    text = RunningText(data, spans)
    assert text.written(text.text) == data.encode()
    expected = data
    for span in reversed(spans):  # of which some change their length
        expected = expected[: span.start] + lower(span.value) + expected[span.end :]
    assert text.written(lower(text.text.decode()).encode()).decode() == expected


def test_a_word_may_be_in_several_spans() -> None:
    data = "<b>i</b>stan|bul"
    text = RunningText(data, [Span(3, 4, "i"), Span(8, 12, "stan"), Span(13, 16, "bul")])
    assert text.text == b"istanbul\n"
    assert text.written("İstanbul\n".encode()).decode() == "<b>İ</b>stan|bul"
    data = "<b>İ</b>stan|bul"
    text = RunningText(data, [Span(3, 4, "İ"), Span(8, 12, "stan"), Span(13, 16, "bul")])
    assert text.written("i̇stanBul\n".encode()).decode() == "<b>i̇</b>stan|Bul"


@pytest.mark.parametrize(
    ("said", "recased", "written"),
    [
        (["i̇t", "is", "here"], "İt is, here", ["İt", "is,", "here"]),  # as long as before
        (["i̇s", "here", "i̇"], "İs here? İ", ["İs", "here?", "İ"]),
        (["İs", "i̇"], "i̇s, İ.", ["i̇s,", "İ."]),
        (["is,", "here"], "Is here.", ["Is", "here."]),  # without marks that were there
        (["is,", "it...", "here!"], "Is. It... Here", ["Is.", "It...", "Here"]),
        (['is"', "it"], 'Is," it', ['Is,"', "it"]),
        (["cafe", "strasse"], "Café, Straße", ["Café,", "Straße"]),  # with diacritics
        (["ısparta", "istanbul"], "Isparta, İstanbul.", ["Isparta,", "İstanbul."]),
        (["é", "\x1f", "is"], "É \x1f, Is.", ["É", "\x1f,", "Is."]),  # a control character, which is no word
    ],
)
def test_marks_and_letters_of_another_length(said: list[str], recased: str, written: list[str]) -> None:
    data, spans = "", []
    for word in said:
        spans.append(Span(len(data) + 1, len(data) + 1 + len(word), word, " " if spans else ""))
        data += f"<{word}>"
    found = RunningText(data, spans).written(f"{recased}\n".encode()).decode()
    assert found == "".join(f"<{word}>" for word in written)


MARKED = st.lists(
    st.tuples(
        st.from_regex("[aiİßσς][aiİßσς\u0301]{0,2}[.,!]?", fullmatch=True).map(
            lambda text: text.replace("i", "i\u0307")
        ),
        st.booleans(),
        st.sampled_from(["", ".", ",", "?"]),
        st.sampled_from(["", " ", "\n"]),
    ),
    max_size=5,
)


@given(MARKED)
def test_marks_come_beside_any_letters(parts: list[tuple[str, bool, str, str]]) -> None:
    data, recased, spans = "", "", []
    for word, is_upper, mark, space in parts:
        data += "|"
        before = space if spans else ""
        spans.append(Span(len(data), len(data) + len(word), word, before))
        data += word
        changed = word.replace("i\u0307", "İ") if is_upper else lower(word)
        recased += before + changed + (mark if word[-1] not in ".,!" else "")
    text = RunningText(data, spans)
    found = text.written(recased.encode() + b"\n" * bool(text.text)).decode()
    bare = str.maketrans("", "", ".,?!")
    assert lower(found).translate(bare).replace("ς", "σ") == lower(data).translate(bare).replace("ς", "σ")


@pytest.mark.parametrize("recased", ["new yorks", "new", "york new", "new york x", "", "ne wyork", "néw", "né w york"])
def test_another_text_is_refused(recased: str) -> None:
    with pytest.raises(CapfstError, match="not that of the file"):
        RunningText("new|york", [Span(0, 3, "new"), Span(4, 8, "york", " ")]).written(f"{recased}\n".encode())


def test_letters_between_the_spans_have_any_case() -> None:
    text = RunningText("new&Amp;york", [Span(0, 3, "new"), Span(8, 12, "york", "&Amp;İ")])
    assert text.written("New&amp;i̇.York.\n".encode()).decode() == "New&Amp;York."
    with pytest.raises(CapfstError, match="not that of the file"):
        text.written(b"New&amp;york\n")


def test_copies() -> None:
    data = "new york|new, york|in new york"
    spans = [Span(0, 8, "new york"), Span(19, 30, "in new york", "\n")]
    text = RunningText(data, spans, [Copy([Span(9, 18, "new, york")], spans[:1]), Copy(spans[1:], spans[:1])])
    assert text.text == b"new york\nin new york\n"
    assert text.written(b"NEW York\nIn new york\n") == b"NEW York|NEW, York|In NEW York"


@pytest.mark.parametrize("own", [b"", b"met 22 men. So we left?\n", b"met 22 men So we left\n"])
def test_copies_follow_the_marks_of_their_words(own: bytes) -> None:
    data = "met 22 men so we left.|met 22 men. so we left|so we"
    first, other, part = Span(0, 22, data[:22]), Span(23, 45, data[23:45], "\n"), Span(46, 51, "so we")
    spans = [first, other] if own else [first]  # a copy may be recased, too
    text = RunningText(data, spans, [Copy([other], [first]), Copy([part], [first])])
    mark = "," if b"men S" in own else "."
    assert text.written(b"Met 22 men, so WE left!\n" + own).decode() == (
        f"Met 22 men, so WE left!|Met 22 men{mark} so WE left|so WE"
    )


def test_copies_follow_accents() -> None:
    text = RunningText(
        "cafe de|<cafe>, de", [Span(0, 7, "cafe de")], [Copy([Span(9, 13, "cafe")], [Span(0, 7, "cafe de")])]
    )
    assert text.written("Café dé\n".encode()) == "Café dé|<Café>, de".encode()


def test_with_case_of() -> None:
    table = [
        ("new york", "New York", "New York"),
        ("- new york.", "New-York", "- New York."),
        ("i live at twenty two main street", "I live at 22 Main Street", "I live at twenty two Main Street"),
        ("the cat sat", "A dog", "the cat sat"),
        ("a b c new york d", "x a B New York", "a B c New York d"),
        ("", "New", ""),
        ("... new york", "New York", "... New York"),
    ]
    for text, cased, expected in table:
        assert with_case_of(text, cased) == expected, text


@given(st.text("abc .", max_size=20), st.text("abcABC .", max_size=20))
def test_only_case_changes(text: str, cased: str) -> None:
    out = with_case_of(text, cased)
    assert out.lower() == text
    assert with_case_of(cased.lower(), cased) == cased
