"""Test streams: words and hypotheses of utterances, in Python and as `recase --stream` reads them."""

import io
import os
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count, islice, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.models import FORMS, in_one_folder, random_model

import capfst
from capfst import stream as stream_module
from capfst.cli import live
from capfst.cli.live import recase_stream, recase_stream_json
from capfst.recaser import Recaser
from capfst.text.unicode import lower

SPEECH = "i live in new york city and work for ibm in san francisco but my parents are in the us"
CASED = "I live in New York City and work for IBM in San Francisco but my parents are in the US"


@pytest.fixture(scope="module")
def en() -> Recaser:
    return capfst.load("en")


@pytest.fixture(scope="module")
def trigrams(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    """Return a Recaser of random trigrams, whose casing depends on the words around."""
    made = random_model(random.Random(3), order=3, forms=len(FORMS) + 1, ngrams=400)
    return Recaser(made.save(tmp_path_factory.mktemp("stream") / "m.fst"))


words = st.lists(st.sampled_from([*FORMS, "oov", "Oov", "`it", "us`", "us.", "<a", "i̇"]), max_size=20)
spaces = st.sampled_from([" ", "  ", "\t", "\u00a0", " \x1c", "\r"])
look_aheads = st.integers(0, 5)


def test_words_come_out_when_enough_words_follow(en: Recaser) -> None:
    stream = en.stream(look_ahead=2)
    given_out = [stream.add(word) for word in SPEECH.split()[:7]]
    assert given_out == ["", "", "I", " live", " in", " New", " York"]
    assert stream.tentative == " City and"
    assert stream.end() == " City and"
    assert stream.end() == stream.tentative == ""


@given(
    parts=words.flatmap(lambda each: st.lists(spaces, min_size=len(each) + 1, max_size=len(each) + 1).map(
        lambda between: [*chain.from_iterable(zip(between, each, strict=False)), between[-1]]
    )),
    cuts=st.sets(st.integers(1, 40)),
    look_ahead=look_aheads,
)  # fmt: skip
def test_the_pieces_do_not_matter(trigrams: Recaser, parts: list[str], cuts: set[int], look_ahead: int) -> None:
    text = "".join(parts)
    whole = trigrams.stream(look_ahead)
    stream = trigrams.stream(look_ahead)
    ends = [0, *(cut for cut in sorted(cuts) if cut < len(parts)), len(parts)]
    in_pieces = "".join(stream.add("".join(parts[begin:end])) for begin, end in pairwise(ends)) + stream.end()
    assert in_pieces == whole.add(text) + whole.end()
    assert lower(in_pieces) == lower(text)


@given(spoken=words, look_ahead=look_aheads)
def test_each_word_is_that_of_the_line_that_ends_look_ahead_words_later(
    trigrams: Recaser, spoken: list[str], look_ahead: int
) -> None:
    stream = trigrams.stream(look_ahead)
    seen: list[str] = []
    for n, word in enumerate(spoken, 1):
        line = trigrams(" ".join(spoken[:n])).split()
        seen += stream.add(word).split()
        assert len(seen) == max(0, n - look_ahead)
        assert seen[n - look_ahead - 1 :] == line[n - look_ahead - 1 : n - look_ahead] or n <= look_ahead
        assert stream.tentative.split() == line[len(seen) :]
    assert seen + stream.end().split() == seen + trigrams(" ".join(spoken)).split()[len(seen) :]


def test_lines_are_utterances_of_a_text(en: Recaser) -> None:
    """After utterances with all of their capitals, one without capitals is left as it is."""
    lines = ["she met Anna in Paris", "I work for IBM in New York", "", "\tLondon is in England\r"] * 5
    text = "".join(f"{line}\n" for line in [*lines, "he works at apple"])
    assert en.stream(look_ahead=20).add(text) == en(text) == text
    assert en.stream(20).add("he works at apple\n") == "he works at Apple\n"
    assert en.stream(20, input_case="ignore").add(text) == en(text, input_case="ignore") != text
    stream = en.stream(20)
    for line in lines:
        stream.revise(line)
        stream.end()
    assert "".join(stream.revise("he works at apple")) == "he works at apple"


@pytest.mark.parametrize(
    "options",
    [{"sentence_case": True}, {"context": False}, {"words": {"meTin": None}}, {"input_case": "keep"}, {"oov": "pass"}],
    ids=lambda options: next(iter(options)),
)
def test_options_hold(en: Recaser, options: dict[str, object]) -> None:
    text = "the SchoolBoy met metin, a Person of paris. my name is mr. qwertzov and the it crowd is from new york\n"
    assert en.stream(99, **options).add(text) == en(text, **options) != en(text)


def test_both_engines_give_the_same(en: Recaser) -> None:
    assert en.stream(2, engine="openfst").add(f"{SPEECH}\n") == en.stream(2).add(f"{SPEECH}\n")


# Hypotheses


@pytest.mark.parametrize(
    ("look_ahead", "hypotheses"),
    [
        (
            2,
            [
                ("i", "", "I"),
                ("i live", "", "I live"),
                ("i live in new", "I live", " in new"),
                ("i live in new york city", "I live in New", " York City"),
                ("i live in  new york", "I live in  New", " York"),  # it has become shorter
                ("well i lived in new york city", "well I lived in New", " York City"),  # a word more, one changed
                ("in new york", "in New", " York"),  # words less
                ("", "", ""),
                (" new york ", "", " New York "),
            ],
        ),
        (0, [("new", "new", ""), ("new york", "new York", ""), ("the new york", "the new York", "")]),
        (9, [("new", "", "new"), ("new york", "", "New York")]),
    ],
)
def test_settled_words_stay_unless_the_recognizer_changes_them(
    en: Recaser, look_ahead: int, hypotheses: list[tuple[str, str, str]]
) -> None:
    stream = en.stream(look_ahead)
    for hypothesis, *expected in hypotheses:
        assert list(stream.revise(hypothesis)) == expected
        assert stream.tentative == expected[1]
    assert stream.end() == expected[1]


@given(spoken=words, changes=st.lists(st.tuples(st.integers(0, 20), words), max_size=5), look_ahead=look_aheads)
@example(spoken=["it"] * 20, changes=[(0, ["us", *["it"] * 20])], look_ahead=1)
def test_revisions_keep_what_they_do_not_change(
    trigrams: Recaser, spoken: list[str], changes: list[tuple[int, list[str]]], look_ahead: int
) -> None:
    stream = trigrams.stream(look_ahead)
    before: list[str] = []
    n_before = 0
    for begin, more in [(0, spoken), *changes]:
        spoken = spoken[:begin] + more
        found = stream.revise(" ".join(spoken))
        cased = "".join(found).split()
        assert lower("".join(found)) == lower(" ".join(spoken))
        pairs = enumerate(zip(before, cased, strict=False))
        same = next((k for k, (a, b) in pairs if lower(a) != lower(b)), len(spoken))
        n_same = min(same, begin, n_before)
        assert cased[:n_same] == before[:n_same]
        assert len(found.settled.split()) >= max(len(spoken) - look_ahead, min(n_same, len(spoken)))
        before, n_before = cased, len(found.settled.split())
    # A word before all others leaves them as they were.
    if before:
        again = stream.revise(" ".join(["zzz", *spoken]))
        assert "".join(again).split()[1 : 1 + n_before] == before[:n_before]


@given(hypothesis=words, more=words, look_ahead=look_aheads)
def test_words_may_follow_a_hypothesis_and_the_reverse(
    trigrams: Recaser, hypothesis: list[str], more: list[str], look_ahead: int
) -> None:
    stream = trigrams.stream(look_ahead)
    settled = stream.revise(" ".join(hypothesis)).settled.split()
    settled += stream.add(" ".join(more)).split()
    assert len(settled) == max(0, len(hypothesis) + len(more) - look_ahead)
    revised = stream.revise(" ".join([*hypothesis, *more]))
    assert revised.settled.split() == settled
    assert revised.tentative == stream.end()


# Long utterances


def test_memory_and_context_are_bounded(trigrams: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "CONTEXT", 5)
    recased: list[int] = []
    recase = trigrams.pipeline.recase

    def counting(line, **options):  # type: ignore[no-untyped-def]
        recased.append(len(bytes(line).split()))
        return recase(line, **options)

    monkeypatch.setattr(trigrams.pipeline, "recase", counting)
    stream = trigrams.stream(look_ahead=3)
    for word in random.Random(1).choices(FORMS, k=500):
        stream.add(word)
        assert sum(len(held) for held in vars(stream).values() if isinstance(held, list)) <= 3 * (5 + 3) + 1
    assert max(recased) == 5 + 3 + 1
    stream.revise(" ".join(FORMS * 10))
    recased.clear()
    stream.revise(" ".join([*FORMS * 10, "it"]))
    assert recased == [5 + 3 + 1]


# Generators


def test_words_are_taken_only_when_they_are_needed(en: Recaser) -> None:
    taken: list[str] = []

    def spoken() -> Iterator[str]:
        for word in SPEECH.split():
            taken.append(word)
            yield word

    cased = en.stream(look_ahead=3)(spoken())
    assert taken == []
    assert (next(cased), len(taken)) == ("I", 4)
    assert (next(cased), len(taken)) == ("live", 5)
    assert ["I", "live", *cased] == CASED.split()


def test_a_reader_that_leaves_ends_the_utterance(en: Recaser) -> None:
    closed = []

    def endless() -> Iterator[str]:
        try:
            for number in count():
                yield "new" if number % 2 else "york"
        finally:
            closed.append(True)

    stream = en.stream(look_ahead=3)
    cased = stream(endless())
    assert list(islice(cased, 1000))[-1] == "New"
    cased.close()
    del cased
    assert closed
    assert stream.tentative == ""
    assert list(stream(["york"])) == list(en.stream(3)(["york"]))


def test_an_item_may_have_any_number_of_words(en: Recaser) -> None:
    assert list(en.stream()(["", " ", "i live in new", " york  city ", "\n", "and"])) == CASED.split()[:7]


# Errors


@pytest.mark.parametrize("look_ahead", [-1, 1.5, None, "4"])
def test_a_look_ahead_that_is_no_number_of_words_is_refused(trigrams: Recaser, look_ahead: object) -> None:
    with pytest.raises(capfst.OptionError, match=r"`look_ahead` is .*0 or more"):
        trigrams.stream(look_ahead)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"), [("document", True), ("wrapped", True), ("markup", "html"), ("repair", True)]
)
def test_options_for_whole_texts_are_refused(en: Recaser, name: str, value: object) -> None:
    with pytest.raises(capfst.OptionError, match=f"`{name}\\b.*stream"):
        en.stream(**{name: value})


def test_text_that_is_no_str_is_refused_and_the_utterance_goes_on(trigrams: Recaser) -> None:
    stream = trigrams.stream()
    stream.add("us")
    for call in stream.add, stream.revise, lambda word: list(trigrams.stream()([word])):
        with pytest.raises(TypeError, match=r"takes a str, not (bytes|NoneType|int)"):
            call(b"us")  # type: ignore[arg-type]
    for text in "us it", b"us":
        with pytest.raises(TypeError, match="iterable of words, not one"):
            stream(text)  # type: ignore[arg-type]
    with pytest.raises(capfst.CorpusError, match=r"line break.*`end`"):
        stream.revise("us\nit")
    with pytest.raises(TypeError, match="sentence_cases"):
        trigrams.stream(sentence_cases=True)
    assert lower(stream.end()) == "us"


# Pipes


class Pipe(io.RawIOBase):
    """A source whose reads return these pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)

    def read(self, size: int = -1) -> bytes:
        return next(self.pieces, b"")


def through(recaser: Recaser, text: bytes, look_ahead: int = 4, size: int = 1 << 20, **options) -> bytes:  # type: ignore[no-untyped-def]
    pieces = [text[k : k + size] for k in range(0, len(text), size)]
    return b"".join(recase_stream(recaser.stream(look_ahead), Pipe(pieces), **options))


@settings(in_one_folder, max_examples=50)
@given(
    text=st.lists(st.sampled_from([*FORMS, " ", "\n", "\r\n", "  ", "é", "𐐨"]), max_size=30).map("".join),
    size=st.integers(1, 9),
    look_ahead=look_aheads,
)
def test_lines_of_a_pipe_are_utterances_however_they_arrive(
    trigrams: Recaser, text: str, size: int, look_ahead: int
) -> None:
    stream = trigrams.stream(look_ahead)
    expected = stream.add(text.replace("\r\n", "\n")) + stream.end()
    assert through(trigrams, text.encode(), look_ahead, size).decode().replace("\r\n", "\n") == expected
    assert lower(through(trigrams, text.encode(), look_ahead, size).decode()) == lower(text)


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_partial_results_of_kaldi(en: Recaser, size: int) -> None:
    results = "i live in new\ri live in new york\rhe lives in new york city and\rhe lives in new york city\nibm\ri am\n"
    cased = "I live in new\rI live in New York\rhe lives in New York City and\rhe lives in New York City\nIBM\rI am\n"
    assert through(en, results.encode(), 2, size).decode() == cased
    assert through(en, results[:-1].encode(), 2, size).decode() == cased[:-1]
    assert through(en, b"new york\r", 2, size) == b"New York\r"


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_utterances_with_carriage_returns_have_the_style_of_a_text(en: Recaser, size: int) -> None:
    text = b"she met Anna in Paris\r\nI work for IBM in New York\r\n" * 8 + b"he works at apple\r\n"
    assert through(en, text, size=size) == text


def test_a_line_that_ends_with_a_carriage_return_and_a_line_break_has_ended() -> None:
    marked = capfst.load(restore="punctuation,case")
    text = b"where are you".rjust(255) + b"\r\n"
    assert through(marked, 2 * text, size=256) == 2 * text.replace(b"where are you", b"Where are you?")
    assert through(marked, b"where are\rwhere are you\r\n", 8) == b"Where are\rWhere are you?\r\n"


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_word_does_not_wait_for_more_than_its_look_ahead(en: Recaser, buffering: int) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering) as source:
        cased = recase_stream(en.stream(look_ahead=1), source)
        os.write(writing, b"new york city ")
        assert next(cased) == b"New York"
        os.write(writing, b"an")
        assert next(cased) == b""
        os.write(writing, b"d\n")
        assert next(cased) == b" City and\n"
        os.close(writing)
        assert b"".join(cased) == b""


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_results_of_vosk(en: Recaser, size: int) -> None:
    results = """{\n  "partial" : "new"\n}\n{"partial": "new york"}{
  "result" : [{"conf" : 1.000000, "end" : 1.020, "word" : "ibm"}, {"word" : "caf\\u00e9"}],
  "text" : "ibm caf\\u00e9"\n}\n {"text": "we met in \\"paris\\""}\n{"text": ""}"""
    cased = """{\n  "partial" : "new"\n}\n{"partial": "New York"}{
  "result" : [{"conf" : 1.000000, "end" : 1.020, "word" : "IBM"}, {"word" : "Caf\\u00e9"}],
  "text" : "IBM Caf\\u00e9"\n}\n {"text": "we met in \\"Paris\\""}\n{"text": ""}"""
    pieces = [results.encode()[k : k + size] for k in range(0, len(results.encode()), size)]
    found = b"".join(recase_stream_json(en.stream(), Pipe(pieces))).decode()
    assert lower(found) == lower(results)
    assert found == cased


def test_a_long_result_of_vosk_is_parsed_few_times(trigrams: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'{"result": [' + b'{"conf": 1.0, "word": "it"}, ' * 5_000 + b'{"word": "it"}], "text": "it"}'
    parsed: list[int] = []
    parse = live._object
    monkeypatch.setattr(live, "_object", lambda held, begin: parsed.append(begin) or parse(held, begin))
    assert b"".join(recase_stream_json(trigrams.stream(), io.BytesIO(text))).lower() == text
    assert len(parsed) <= len(text) // 50_000 + 1


def test_words_of_vosk_that_are_not_those_of_its_text_stay_as_they_are(en: Recaser) -> None:
    text = b'{"result": [{"word": "the"}, {"word": "ibm"}], "text": "ibm"}\n'
    assert b"".join(recase_stream_json(en.stream(), io.BytesIO(text))) == text.replace(b'"text": "ibm', b'"text": "IBM')


def test_a_text_of_vosk_ends_its_utterance(en: Recaser) -> None:
    text = b'{"partial": "new"}{"text": "new"}{"partial": "new york"}'
    cased = b'{"partial": "new"}{"text": "new"}{"partial": "New York"}'
    assert b"".join(recase_stream_json(en.stream(look_ahead=0), io.BytesIO(text))) == cased


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"[1]", r"JSON object, not '\[1\]'"),
        (b'{"text": "a"} x', "JSON object, not 'x'"),
        (b'{"text": "a"', "complete JSON object"),
        (b'{"alternatives": []}', "`partial` or `text`.*found: alternatives"),
        (b'{"text": ["a"]}', "found: text"),
        (b"{}", "found: none"),
        (b'{"text": "\xff"}', "byte 10 .*0xff"),
    ],
)
def test_json_of_another_shape_is_one_line(trigrams: Recaser, text: bytes, named: str) -> None:
    with pytest.raises(capfst.CorpusError, match=f"<stdin>.*: .*{named}"):
        list(recase_stream_json(trigrams.stream(), io.BytesIO(text)))


@pytest.mark.parametrize("size", [1, 2, 1 << 20])
def test_bytes_that_are_not_utf8(trigrams: Recaser, size: int) -> None:
    for text, at in ((b"us \xff it", 3), (b"us it \xc3", 6), (b"\xe2\x82us", 0)):
        with pytest.raises(capfst.CorpusError, match=rf"<stdin>, line 1: not UTF-8 at byte {at} .*errors='replace'"):
            through(trigrams, text, size=size)
        assert lower(through(trigrams, text, size=size, errors="replace").decode()) == lower(
            text.decode(errors="replace")
        )


def test_compressed_text_and_endless_words_are_refused(trigrams: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(capfst.CorpusError, match=r"compressed.*gzip"):
        through(trigrams, b"\x1f\x8b\x08\x00")
    monkeypatch.setattr("capfst.cli.live._LONGEST", 100)
    for text in b"a" * 200, b"us\r" + b"it " * 50:
        with pytest.raises(capfst.CorpusError, match=r"<stdin>: 100 characters.*--stream"):
            through(trigrams, text, size=10)


@pytest.mark.parametrize("text", [b"a", b" ", b"it" + b" " * 98])
def test_what_has_no_end_is_read_once(trigrams: Recaser, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    n_read = 0

    def counting(function: Callable[..., list[str]]) -> Callable[[str], list[str]]:
        def call(read: str) -> list[str]:
            nonlocal n_read
            n_read += len(read)
            return function(read)

        return call

    for name in ("_ended", "spaces_and_words"):
        monkeypatch.setattr(live, name, counting(getattr(live, name)))
    text *= 20_000 // len(text)
    assert lower(through(trigrams, text, size=100).decode()) == text.decode()
    assert n_read < 4 * len(text)
