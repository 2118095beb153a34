"""Test the Recaser end to end with both engines: invariants, golden outputs and the public call forms."""

import inspect
import io
import math
import random
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from threading import Event

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.command_line import TIMEOUT
from support.contextual import UNHEARD
from support.models import FORMS, Model, build, random_model
from support.scoring import path_costs
from support.untouched import is_camel_case, parts, with_dots

import capfst
from capfst import recaser as recase
from capfst.batch.tally import counting
from capfst.exceptions import CapfstError
from capfst.io.protocol import RecaseCounts
from capfst.options import RecaseOptions
from capfst.recaser import Recaser
from capfst.text.unicode import lower

ENGINES = ("fast", "openfst")


def model(costs: Mapping[str, float], bigrams: str = "") -> Model:
    """Return a unigram model of these forms and `<unk>`, or with bigrams "a b, c d", which cost 0.1 each."""
    words = sorted([*costs, "<unk>"], key=lambda form: (lower(form).encode(), costs.get(form, 0.0)))
    label = {form: i for i, form in enumerate(words, 1)} | {"<s>": 0}
    arcs = {(i,): costs.get(form, 9.0) for form, i in label.items() if i}
    arcs |= {tuple(label[form] for form in bigram.split()): 0.1 for bigram in bigrams.split(", ") if bigram}
    return build(words, arcs, {gram[:1]: 0.0 for gram in arcs if len(gram) == 2}, {(): 1.0})


def recaser(path: Path, made: Model, pretokenized: bool = False, **options) -> Recaser:
    opened = made.save(path)
    if pretokenized:
        opened.signature = replace(opened.signature, tokenizer="none")
    return Recaser(opened, **options)


# Invariants

SETTINGS = [
    {"start_token": "and"},
    {"start_token": "It"},
    {"start_token": "<unk>", "pretokenized": True},
    {"sentence_case": True},
    {"sentence_case": True, "pretokenized": True},
]
WORDS = [*FORMS, *map(str.lower, FORMS), *map(str.upper, FORMS)]
OTHERS = r"""
    oov Oov ΟΔΟΣ's İ don’t X@y.z #Tag http://A.b &Amp; $It_1$ \It{Us} It/New.Us It::New Us() New_Us New.Us
    us.New-It.us 0xAb V1.2-Us \nIt Us.\NUS \nu \U201cIt\x41 %S %-5.2Fus %(It)D %It% {Us} ${It}/Us {\An8}it A) (IV) [X]
    it(S) n/A W/ -X --It-Us PyTorch iT oOV İt OovİX 1990 new-York A-a ... ” it. us! ? it&apos;s &quot; US&nbsp;it
    us·e·s 5 200MCG kw
""".split()  # noqa: SIM905
OTHERS += ["i̇", "<a B='It'>", "`It Us`", "{{ It }}US", "It='Us It'", "\x1a"]
MARKS = [" ", "  ", "\n", "\r\n", ", ", "'", "-", "\t", "\0", "\u00a0", " “"]
lines = st.lists(st.sampled_from([*WORDS, *OTHERS]), max_size=6).map(" ".join)
pieces = st.lists(st.sampled_from([*WORDS, *OTHERS, *MARKS]) | st.characters(codec="utf-8"), max_size=9)
texts = st.lists(lines, max_size=3).map("\n".join) | pieces.map("".join) | st.text(max_size=20)


@pytest.fixture(scope="module", params=range(len(SETTINGS)), ids=str)
def engines(request, tmp_path_factory) -> list[Recaser]:
    """Return Recasers of a random trigram model, one per engine."""
    rng = random.Random(request.param)
    made = random_model(rng, order=3, forms=len(FORMS) + 1, ngrams=400)
    path = tmp_path_factory.mktemp("recase") / "m.fst"
    return [recaser(path, made, engine=engine, **SETTINGS[request.param]) for engine in ENGINES]


@settings(deadline=None, max_examples=100)
@given(text=texts)
@example("οδος's ΟΔΟΣ. It's “don’t” X@Y.Z İ\n\nUS")
@example("aaA")
@example("A&AMP;")
@example("&APOS;S@0")
def test_invariants_of_any_text(engines, text):
    fast, slow = engines
    out = fast(text)
    assert slow(text) == out
    assert lower(out) == lower(text)
    assert out.count("\n") == text.count("\n")
    # Lines are independent.
    assert "\n".join(fast(line) for line in text.split("\n")) == out
    # All casings of a text are recased to the same text, a fixed point, except for protected text, CamelCase and İ.
    assert fast(out) == out
    transducer = fast.pipeline.loaded.transducer
    from_lowercase, recased, given = (parts(t, transducer)[0] for t in (fast(lower(text)), out, text))
    for word, other, token in zip(from_lowercase, recased, given, strict=True):
        is_same = small_entities(with_dots(word, token)) == small_entities(other)
        is_kept = is_camel_case(token) or "&" in token  # an entity, in text that is already tokenized
        assert is_same or (is_kept and other == token)
    kept = [parts(each, transducer)[1] for each in (out, text)]
    assert kept[0] == kept[1] or ("&" in text and lower("".join(kept[0])) == lower("".join(kept[1])))


def small_entities(text: str) -> str:
    """Return text whose entities are in lower case: they never change."""
    return re.sub(r"&#?\w+;", lambda entity: entity[0].lower(), text)


ENTITIES = {"&": "&amp;", "'": "&apos;", '"': "&quot;", "<": "&lt;", ">": "&#62;", "[": "&#91;", "]": "&#x5d;"}
ENTITIES |= {"|": "&#124;", "’": "&rsquo;", "“": "&ldquo;", "”": "&rdquo;", "\u00a0": "&nbsp;", "-": "&#45;"}


def escaped(text: str) -> str:
    return "".join(ENTITIES.get(c, c) for c in text)


@settings(deadline=None, max_examples=100)
@given(text=texts.filter(lambda text: not {*"Σσςİ\u0307"} & {*text}))  # their lowercase depends on what is next to them
@example("It's “don’t” it. “US” new-York AT&T a < b &lt; &amp;quot; &#65;")
def test_entities_are_their_characters(engines, text):
    for engine in engines:
        if not engine.pipeline.loaded.pretokenized:
            assert engine(escaped(text)) == escaped(engine(text))
            line = text.split("\n")[0]
            assert engine.sentences(escaped(line)) == list(map(escaped, engine.sentences(line)))
            some, same = engine.confidence(escaped(line)), engine.confidence(line)
            assert some.text == escaped(same.text)
            assert [change.word for change in some.changes] == [escaped(change.word) for change in same.changes]
            assert all(some.text[c.start : c.end] == c.word for c in some.changes)


# Golden outputs

FORMS_OF_COST = {
    1.0: "us it iPhone McDonald O'Neill U.S. do n't and the Bill , 's new told York York-based they 're all senators",
    1.2: "00:00 A-00 <url>",
    1.5: "New",
    2.0: "US It Do And The bill 'S",
    3.0: "Us IT",
    5.0: "don't ALL",
}
COSTS = {form: cost for cost, forms in FORMS_OF_COST.items() for form in forms.split()}
BIGRAMS = "<s> It, <s> US, and the, And US, the US, New York, New York-based, <unk> Us, the <url>, <url> It"
GOLDEN = {
    "us the us": "us the US",
    "US THE US, IPHONE": "us the US, iPhone",
    "dont don't they're THEY’RE": "dont don't they're they’re",
    "mcdonald o'neill O’NEILL'S": "McDonald O'Neill O’Neill's",
    "u.s. senators told us": "U.S. senators told us",
    "new york 's mayor , bill": "New York 's mayor , Bill",
    "new-york new york-based york-bases": "new-York New York-based York-bases",
    "ALL CAPS INPUT": "all caps input",
    "xx us": "xx Us",
    "the HTTP://X.Y it a-10 10:30": "the HTTP://X.Y It A-10 10:30",
    "it it": "it it",
    "": "",
    "\n\n": "\n\n",
    "it\r\n \tus\0us\n": "it\r\n \tus\0us\n",
}
SENTENCES = {
    "it it": "It it",
    "“it": "“It",
    "do n't": "Do n't",
    "mayor us": "Mayor Us",
    "iphone us": "iPhone us",
    "u.s. us": "U.S. us",
    "us us\nus": "US us\nUS",
    "http://it it": "http://it It",
    "... it": "... It",
}


@pytest.fixture(scope="module")
def golden_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("golden") / "golden.fst"
    model(COSTS, BIGRAMS).save(path)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_golden_outputs(golden_file, engine):
    recaser = capfst.load(golden_file, engine=engine)
    assert {text: recaser(text) for text in GOLDEN} == GOLDEN
    recaser = capfst.load(golden_file, engine=engine, sentence_case=True)
    assert {text: recaser(text) for text in SENTENCES} == SENTENCES


@pytest.mark.parametrize(
    ("start_token", "text", "expected"),
    [
        ("and", "us", "us"),
        ("And", "us", "US"),
        ("the", "us", "US"),
        ("<unk>", "us", "Us"),
        ("unknown words", "us", "Us"),
        ("New", "york", "York"),
    ],
)
def test_the_first_word_depends_on_the_start_token(golden_file, start_token, text, expected):
    for engine in ENGINES:
        assert capfst.load(golden_file, start_token=start_token, engine=engine)(text) == expected


def test_pretokenized_text_is_split_only_at_white_space(tmp_path):
    costs = {"Don't": 1.0, "A-10": 1.0, '"Us': 1.0, "1990": 1.0, "U.S": 1.0, "HTTP://x": 1.0, "’Tis": 1.0}
    for engine in ENGINES:
        plain = recaser(tmp_path / "p.fst", model(costs), pretokenized=True, engine=engine)
        out = plain("don't don’t A-10 a-11 \"US 1990 u.s http://X ’tis\0'tis <UNK>")
        assert out == "Don't don’t A-10 a-11 \"Us 1990 U.S HTTP://x ’Tis\0'tis <unk>"


# Call forms


@pytest.fixture(scope="module")
def golden(golden_file) -> Recaser:
    return capfst.load(golden_file)


@settings(deadline=None, max_examples=60)
@given(batch=st.lists(texts | lines.map("{}\n".format), max_size=8), ahead=st.integers(1, 4))
def test_recase_lines_equals_one_call_per_line(golden, batch, ahead):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recase, "_LINES", ahead)
        assert list(golden.recase_lines(batch)) == [golden(line) for line in batch]


def test_a_text_gives_a_text_and_a_list_gives_a_list(golden):
    assert golden("THE US") == golden("THE US") == "the US"
    assert golden(["THE US\nIT", "", "it\n"]) == ["the US\nit", "", "it\n"]
    assert golden(("THE US",)) == ["the US"]
    assert golden([]) == []


@pytest.mark.parametrize("ahead", [1, 5, 300])
def test_a_line_does_not_wait_for_the_next_one(golden, ahead):
    """This holds for any number of lines that were ready before."""
    come = Event()

    def transcript():
        for _ in range(ahead):
            yield "THE US"
        assert come.wait(TIMEOUT)
        yield "it"

    recased = golden.recase_lines(transcript())
    assert list(islice(recased, ahead)) == ["the US"] * ahead
    come.set()
    assert list(recased) == ["it"]


def test_an_iterator_is_not_read_to_its_end(golden):
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield "THE US"

    recased = golden.recase_lines(endless())
    assert next(recased) == "the US"
    recased.close()
    assert taken <= 2 * recase._LINES + 2


def test_an_error_of_the_iterator_is_raised_after_its_lines(golden):
    def broken():
        yield "US"
        raise ZeroDivisionError

    recased = golden.recase_lines(broken())
    assert next(recased) == "us"
    with pytest.raises(ZeroDivisionError):
        next(recased)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda recaser: recaser(None), "str .*NoneType"),
        (lambda recaser: recaser(b"us"), "str .*bytes"),
        (lambda recaser: recaser(line for line in ["us"]), "str .*generator.*recase_lines"),
        (lambda recaser: recaser(["us", 1]), r"text 2 .*str\b.*int"),
        (lambda recaser: list(recaser.recase_lines(iter([b"us"]))), r"text 1 .*str\b.*bytes"),
        (lambda recaser: recaser.recase_lines("one string"), r"recase_lines .*\bstr\b"),
        (lambda recaser: recaser.recase_lines(b"one string"), r"recase_lines .*\bbytes\b"),
        (lambda recaser: recaser.recase_lines(None), "'NoneType'"),
        (lambda recaser: recaser.nbest(b"us", 1), r"\bstr\b.*bytes"),
        (lambda recaser: recaser.confidence(["us"]), r"\bstr\b.*list\.$"),
        (lambda recaser: recaser.knows(None), r"\bstr\b.*NoneType"),
        (lambda recaser: recaser.recase_aligned(None, "us"), r"\bstr\b.*NoneType"),
    ],
)
def test_arguments_other_than_text_raise_a_type_error(golden, call, named):
    with pytest.raises(TypeError, match=named):
        call(golden)


def test_repr_shows_the_model_and_the_options(golden_file, contextual_model):
    shown = repr(capfst.load(golden_file, sentence_case=True))
    assert f"{golden_file}: order 3, " in shown
    assert f"{len(COSTS) + 1} words, no context; " in shown
    assert "sentence_case=True, only=None, start_token='and', breaks=True, oov='guess'" in shown
    assert "context of 2 domains" in repr(capfst.load(contextual_model))


def test_options_of_a_call_override_those_of_load(golden_file, contextual_model):
    recaser = capfst.load(golden_file)
    assert recaser("it is the us", sentence_case=True) == capfst.load(golden_file, sentence_case=True)("it is the us")
    assert recaser("it is the us") != recaser("it is the us", sentence_case=True)
    lines = ["it is the us.", "the us is it."]
    assert list(recaser.recase_lines(lines, sentence_case=True)) == recaser(lines, sentence_case=True)
    for engine in ENGINES:
        for options in {"start_token": "<unk>"}, {"sentence_case": True}, {"breaks": False}:
            alone = capfst.load(golden_file, engine=engine, **options)
            assert recaser.nbest("it is the us", 5, engine=engine, **options) == alone.nbest("it is the us", 5)
    contextual = capfst.load(contextual_model, context=False)
    assert contextual(UNHEARD, context=True) == capfst.load(contextual_model)(UNHEARD) != contextual(UNHEARD)


@pytest.mark.parametrize("call", ["__call__", "recase_lines", "recase_aligned", "nbest", "confidence", "sentences"])
def test_unknown_and_unsupported_options_of_a_call_are_refused(golden, call):
    arguments = {"nbest": ("it", 1), "recase_lines": (["it"],), "recase_aligned": ("it", "it")}.get(call, ("it",))
    with pytest.raises(TypeError, match="sentence_cases"):
        getattr(golden, call)(*arguments, sentence_cases=True)
    with pytest.raises(capfst.OptionError, match=r"`oov` is 'gues'.*guess, pass"):
        getattr(golden, call)(*arguments, oov="gues")


def test_a_recaser_of_a_name_is_a_type_error(golden_file):
    for model in "en", golden_file:
        with pytest.raises(TypeError, match=r"capfst\.load"):
            Recaser(model)


def test_the_signature_lists_the_options():
    for called in capfst.load, capfst.Recaser:
        parameters = inspect.signature(called).parameters
        assert [parameters[each.name].default for each in fields(RecaseOptions)] == [
            each.default for each in fields(RecaseOptions)
        ]
        assert all(f"\n    {each.name}: " in called.__doc__ for each in fields(RecaseOptions))


@pytest.mark.parametrize("text", ["\n" * 3000, " \t\r\n\x0b\n"])
def test_white_space_is_not_recased(golden, monkeypatch, text):
    monkeypatch.setattr("capfst.pipeline.Pipeline.words", lambda *_: pytest.fail("recased"))
    assert golden(text) == text
    recased, counts = counting(golden)(text.encode())
    assert (bytes(recased), counts) == (text.encode(), RecaseCounts(lines=text.count("\n")))


def test_lines_are_taken_as_needed(golden):
    def endless():
        while True:
            yield "THE US\n"

    assert list(islice(golden.recase_lines(endless()), 10_000)) == ["the US\n"] * 10_000


@settings(deadline=None, max_examples=60)
@given(
    batch=st.lists(lines.filter(lambda line: "\n" not in line), min_size=1, max_size=20),
    ends=st.lists(st.integers(0, 20), max_size=8).map(sorted),
    jobs=st.sampled_from([1, 3]),
    last=st.sampled_from(["", "\n"]),
)
def test_blocks_are_recased_like_the_whole_text(golden, batch, ends, jobs, last):
    """The text is the same for all blocks and numbers of threads; blocks keep their order and number."""
    text = "\n".join(batch) + last
    whole = text.encode().splitlines(keepends=True)
    blocks = [b"".join(whole[i:j]) for i, j in zip([0, *ends], [*ends, len(whole)], strict=True)]
    recased = [bytes(block) for block in golden.pipeline.recase_blocks(iter(blocks), jobs)]
    assert [lower(block.decode()) for block in recased] == [lower(block.decode()) for block in blocks]
    assert b"".join(recased).decode() == golden(text)


@pytest.mark.parametrize("jobs", [1, 3])
def test_blocks_are_taken_as_needed(golden, jobs):
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield b"THE US\n"

    recased = golden.pipeline.recase_blocks(endless(), jobs)
    assert [bytes(next(recased)) for _ in range(5)] == [b"the US\n"] * 5
    recased.close()
    assert taken <= 5 + 2 * jobs + 2


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_of_the_source_of_blocks_is_raised(golden, jobs):
    def broken():
        yield b"US\n"
        raise CapfstError("bad input")

    with pytest.raises(CapfstError, match="bad input"):
        list(golden.pipeline.recase_blocks(broken(), jobs))


def test_lone_surrogates_pass_unchanged(golden):
    text, recased = "US \ud800 THE\udfff US", "us \ud800 the\udfff US"
    assert golden(text) == recased
    assert list(golden.recase_lines([text])) == [recased]
    assert golden.nbest(text, 1)[0][1] == recased
    assert golden.confidence(text)[0] == recased
    assert golden("x\ud800", words={"X\ud800": None}) == "X\ud800"
    assert path_costs(golden, text.encode("utf-8", "surrogatepass")).tolist() == [
        pytest.approx(golden.nbest(text, 1)[0][0])
    ]


def test_long_lines_and_words_are_recased(golden):
    """Recase a line of many words, a word of many letters, and a compound of many parts."""
    assert golden("THE US " * 50_000) == "the US " * 50_000
    word = "X" * 1_000_000
    assert golden(f"US {word}, THE US") == f"us {word.lower()}, the US"
    assert golden("IT-" * 300_000) == "it-" * 300_000


def test_nbest_lists_all_casings_by_cost(golden):
    found = golden.nbest("us it", 20)
    costs = [cost for cost, _ in found]
    assert {casing for _, casing in found} == {f"{a} {b}" for a in ("us", "US", "Us") for b in ("it", "It", "IT")}
    assert len(found) == 9
    assert costs == sorted(costs)
    # and, us, it and </s>
    assert found[0] == (pytest.approx(4.0), "us it")
    assert golden.nbest("us it", 2) == found[:2]
    assert golden.nbest("", 3) == [(pytest.approx(2.0), "")]
    assert golden.nbest("Oov", 3) == [(pytest.approx(11.0), "oov")]
    casings = [casing for _, casing in golden.nbest("“us” HTTP://X", 9)]
    assert casings == ["“Us” HTTP://X", "“us” HTTP://X", "“US” HTTP://X"]
    with pytest.raises(CapfstError, match="nbest"):
        golden.nbest("us\n", 1)
    with pytest.raises(capfst.OptionError, match="`n` is 0"):
        golden.nbest("us", 0)


def test_path_costs_are_those_of_each_line(golden):
    assert path_costs(golden, b"us it\nOov\n\n").tolist() == pytest.approx([4, 11, 2])
    assert path_costs(golden, b"us it\nOov").tolist() == pytest.approx([4, 11])
    assert path_costs(golden, b"").tolist() == pytest.approx([2])


@pytest.mark.parametrize(
    ("line", "text", "changes"),
    [
        ("us it", "us it", []),
        ("the us!", "the US!", [(4, 6, "US", 0.6)]),  # "the US" costs 0.1, us 1: 0.9 more
        ("“IPHONE” İ us", "“iPhone” İ Us", [(1, 7, "iPhone", math.inf), (11, 13, "Us", 0.6)]),
        ("", "", []),
    ],
)  # fmt: skip
def test_confidence_lists_each_change_with_its_log_odds(golden, line, text, changes):
    found = golden.confidence(line)
    assert found[0] == text
    assert [change[:3] for change in found[1]] == [change[:3] for change in changes]
    assert [change.log_odds for change in found[1]] == pytest.approx([change[3] for change in changes])


def test_confidence_takes_one_line(golden):
    with pytest.raises(CapfstError, match="confidence"):
        golden.confidence("us\n")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("u.s. ALL", "U.S. all"),  # with U.S., no small letter is left: ALL is no evidence
        ("The MAYOR Do &amp; iphone", "the mayor do &amp; iPhone"),
        ("Do All U.S. o'neill", "do all U.S. O'Neill"),  # all words would have a capital
    ],
)
def test_all_calls_agree_where_the_case_of_a_line_does_not_count(golden_file, engine, line, text):
    recaser = capfst.load(golden_file, input_case="keep", engine=engine)
    explanation = recaser.explain(line)
    found = [recaser.nbest(line, 1)[0].text, recaser.confidence(line).text, "".join(recaser.sentences(line))]
    assert [recaser(line), *found, explanation.text, explanation.recased] == [text] * 6
    assert " ".join(word.given for word in explanation.words) == line
    assert [change.word for change in recaser.confidence(line).changes] == [
        word for given, word in zip(line.split(), text.split(), strict=True) if given != word
    ]


def test_words_of_the_vocabulary_are_known_in_any_casing(golden):
    assert golden.knows("IPHONE")
    assert golden.knows("don't")
    assert golden.knows("O’Neill's")
    assert golden.knows("York-Based")
    assert not golden.knows("york-bound")
    assert not golden.knows("us!")


def test_an_unsupported_engine_and_a_missing_model_are_errors(golden_file, tmp_path):
    with pytest.raises(CapfstError, match=r"`engine` is 'slow'.*fast, openfst"):
        capfst.load(golden_file, engine="slow")
    with pytest.raises(CapfstError, match=r"none\.fst"):
        capfst.load(tmp_path / "none.fst")


def test_a_file_object_is_recased_line_by_line(golden):
    assert list(golden.recase_lines(io.StringIO("THE US\nIT"))) == ["the US\n", "it"]
