"""Recasing with a context model: invariants with both engines, confidence, unseen words and casings, other
processes."""

import itertools
import math
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import contextual
from support.models import tiny, with_old_context, without_context
from support.scoring import path_costs
from support.untouched import DOTTED, is_camel_case, parts

from capfst.casing.shapes import AS_FORM, Shape
from capfst.casing.types import LabelPath
from capfst.context import learn
from capfst.exceptions import CapfstError
from capfst.recaser import Recaser, load, reopen
from capfst.search.confidence import TEMPERATURE
from capfst.text.tokenizer import PROTECTED
from capfst.text.unicode import lower

OPTIONS: list[dict[str, object]] = [
    {},
    {"sentence_case": True},
    {"oov": "pass"},
    {"sentence_case": True, "oov": "pass", "start_token": "<unk>"},
]
WORDS = """
    the python unicode string i c api ascii none true is in of class object for , . a 's note clguba hagvy
    mcfoo o’neill jean-paul xyzzy dvds mp3 zzz état οδος ΟΔΟΣ i̇x ŉa ßa ǆa 漢 X@y.z it's é e.g.
    <b> </B> &Amp; `Python` $X_i$ main.py the_c Class() 0xAb
""".split()  # noqa: SIM905
words = st.sampled_from(WORDS).flatmap(lambda w: st.sampled_from([w, w, w.upper(), w.title()]))
lines = st.lists(words, max_size=7).map(" ".join)
real = st.sampled_from([*contextual.LINES, *contextual.UNHEARD, *contextual.OTHERS])
texts = (
    st.lists(lines | real, max_size=3).map("\n".join)
    | st.lists(words | st.characters(codec="utf-8"), max_size=12).map("".join)
    | st.text(max_size=20)
)


@pytest.fixture(scope="module", params=range(len(OPTIONS)), ids=str)
def engines(request: pytest.FixtureRequest, contextual_model: Path) -> list[Recaser]:
    return [
        load(contextual_model, engine=engine, input_case="ignore", **OPTIONS[request.param])
        for engine in ("fast", "openfst")
    ]


@settings(deadline=None, max_examples=15)
@given(lines=st.lists(lines | real, max_size=3), n=st.integers(1, 5))
@example(lines=["refers to a class attribute, the left-hand side creates a new"], n=2)  # paths end in several states
def test_both_engines_agree(engines: list[Recaser], lines: list[str], n: int) -> None:
    fast, slow = engines
    text = "\n".join(lines)
    assert slow(text) == fast(text)
    costs = [path_costs(each, text.encode()).tolist() for each in engines]
    assert costs[1] == pytest.approx(costs[0], rel=1e-9)
    for line in lines:
        found, slowly = fast.nbest(line[:80], n), slow.nbest(line[:80], n)
        assert [cost for cost, _ in slowly] == pytest.approx([cost for cost, _ in found], rel=1e-4, abs=1e-4)
        assert slowly[0] == (pytest.approx(found[0][0]), found[0][1])


def passes_as(other: str, text: str, recaser: Recaser) -> bool:
    """Return whether a text is another one in other casing, with the same protected parts: CamelCase is protected in
    only one."""
    words, of_text = (parts(each, recaser.pipeline.loaded.transducer)[0] for each in (other, text))
    return lower(other) == lower(text) and list(map(lower, words)) == list(map(lower, of_text))


@settings(deadline=None, max_examples=80)
@given(text=texts)
@example("ΟΔΟΣ's οδοσ. İX i̇x ŉa ΐ “mcfoo” X@Y.Z ﬁn\n\nDŽA\r\n")
@example("aaA")
def test_any_text(engines: list[Recaser], text: str) -> None:
    fast = engines[0]
    out = fast(text)
    assert lower(out) == lower(text)
    assert "\n".join(fast(line) for line in text.split("\n")) == out
    assert fast(out) == out
    transducer = fast.pipeline.loaded.transducer
    for other in (lower(text), text.upper(), text.title()):
        if passes_as(other, text, fast):
            recased, expected, given = (parts(each, transducer)[0] for each in (fast(other), out, text))
            from_other = parts(other, transducer)[0]
            for word, wanted, *tokens in zip(recased, expected, given, from_other, strict=True):
                is_kept = any(map(is_camel_case, tokens)) or DOTTED.search("".join(tokens)) is not None
                is_kept = is_kept or "&" in text  # the letters of an entity never change
                assert word == wanted or is_kept
    assert parts(out, transducer)[1] == parts(text, transducer)[1]


def test_threads_and_blocks_give_the_same(recaser: Recaser) -> None:
    every = [f"{line}\n".lower().encode() for line in contextual.UNHEARD + contextual.OTHERS[:100]]
    whole = recaser(b"".join(every).decode())
    for size, jobs in itertools.product([1, 7, 300], [1, 3]):
        blocks = [b"".join(every[k : k + size]) for k in range(0, len(every), size)]
        assert b"".join(recaser.pipeline.recase_blocks(blocks, jobs)).decode() == whole
    assert list(recaser.recase_lines(whole.lower().splitlines())) == whole.splitlines()


@settings(deadline=None, max_examples=40)
@given(line=lines, n=st.integers(1, 30))
def test_nbest(engines: list[Recaser], line: str, n: int) -> None:
    fast = engines[0]
    found = fast.nbest(line, n)
    assert found[0] == (pytest.approx(path_costs(fast, line.encode())[0]), fast(line))
    costs, casings = [cost for cost, _ in found], [casing for _, casing in found]
    assert costs == sorted(costs)
    assert len(set(casings)) == len(casings) <= n
    assert {lower(casing) for casing in casings} == {lower(line)}


# ---- confidence


def alternatives(recaser: Recaser, line: str) -> list[dict[str, float]]:
    """Return for each token, by its casing, the cost of the cheapest path and choice of shapes, by trying all of
    them."""
    buf = np.frombuffer(line.encode(), np.uint8)
    words = recaser.pipeline.words(buf)
    costs = recaser.pipeline.costs(buf, words, include_pruned=True)
    assert costs.arc_costs is not None
    assert costs.options is not None
    offsets = np.cumsum(words.n_forms) - words.n_forms

    def tokens(path: LabelPath, shape: int) -> list[str]:
        shapes = np.full(len(path.labels), shape, np.uint8)
        data = bytes(recaser.pipeline.surface(buf, words, path, costs._replace(shapes=shapes)))
        found = recaser.pipeline.loaded.transducer.words(np.frombuffer(data, np.uint8))
        return [data[s:e].decode() for s, e in zip(found.starts, found.ends, strict=True)]

    found: list[dict[str, float]] = [{} for _ in words.token_types]
    for lm, path in recaser.pipeline.engine.nbest(words, 10**6):
        ways: list[list[tuple[float, str]]] = []  # of each word: costs and casings
        in_shape = [tokens(path, shape) for shape in (*range(4), AS_FORM)]
        for i, (label, first, forms) in enumerate(zip(path.labels, words.first_labels, words.n_forms, strict=True)):
            if label == first:
                ways.append([(float(cost), in_shape[k][i]) for k, cost in enumerate(costs.options[i])])
            else:
                ways.append([(float(costs.arc_costs[offsets[i] + label - first]), in_shape[4][i])])
            assert forms or label == 0
        cheapest = [min(way)[0] for way in ways]
        for i, way in enumerate(ways):
            others = lm + sum(cheapest) - cheapest[i]
            for cost, text in way:
                found[i][text] = min(found[i].get(text, math.inf), others + cost)
    return found


@settings(deadline=None, max_examples=40)
@given(line=st.lists(words, max_size=4).map(" ".join))
@example("mcfoo PYTHON")
@example("Xyzzy THE")
@example("i . unicode")
def test_confidence_is_the_distance_to_the_cheapest_other_casing(engines: list[Recaser], line: str) -> None:
    fast = engines[0]
    text, changes = fast.confidence(line)
    assert text == fast(line)
    data = line.encode()
    spans = fast.pipeline.loaded.transducer.words(np.frombuffer(text.encode(), np.uint8))
    best = [text.encode()[s:e].decode() for s, e in zip(spans.starts, spans.ends, strict=True)]
    before = fast.pipeline.loaded.transducer.words(np.frombuffer(data, np.uint8))
    changed = [
        i for i, (s, e) in enumerate(zip(before.starts, before.ends, strict=True)) if data[s:e].decode() != best[i]
    ]
    assert [change.word for change in changes] == [best[i] for i in changed]
    assert [text[change.start : change.end] for change in changes] == [best[i] for i in changed]
    found = alternatives(fast, line)
    odds = [
        min((cost for casing, cost in found[i].items() if casing != best[i]), default=math.inf) - found[i][best[i]]
        for i in changed
    ]
    assert [TEMPERATURE * change.log_odds for change in changes] == pytest.approx(odds, rel=1e-5, abs=1e-4)


def test_confidence_in_guesses_is_finite(recaser: Recaser) -> None:
    _, (change,) = recaser.confidence("the XYZZY", input_case="ignore")
    assert 0 < change.log_odds < math.inf
    _, (passed,) = load(recaser.model.path, oov="pass", input_case="ignore").confidence("the XYZZY")
    assert passed.log_odds == math.inf


# ---- with and without context
UNHEARD = "\n".join(contextual.UNHEARD).lower()


def test_context_false_ignores_the_context_model(contextual_model: Path, tmp_path: Path) -> None:
    alone = without_context(contextual_model, tmp_path / "alone.fst")
    without = load(alone)
    assert without.pipeline.context is None
    ignored = load(contextual_model, context=False)
    assert ignored.pipeline.context is None
    assert ignored(UNHEARD) == without(UNHEARD)
    assert (path_costs(ignored, UNHEARD.encode()) == path_costs(without, UNHEARD.encode())).all()
    assert ignored(UNHEARD) != load(contextual_model)(UNHEARD)
    old = with_old_context(tiny(), tmp_path / "old.fst")
    with pytest.raises(CapfstError, match=r"old\.fst: its part 'context'"):
        load(old)
    assert load(old, context=False)("it works") == load(tiny().save(tmp_path / "new.fst").path)("it works")


def oov_words(recaser: Recaser, text: str) -> list[str]:
    data = recaser(text).encode()
    words = recaser.pipeline.loaded.transducer.words(np.frombuffer(data, np.uint8))
    unknown = (words.n_forms == 0) & (words.token_types < PROTECTED)
    return [data[s:e].decode() for s, e in zip(words.starts[unknown], words.ends[unknown], strict=True)]


def test_unseen_words_are_guessed_or_passed(contextual_model: Path) -> None:
    guessed = oov_words(load(contextual_model), UNHEARD)
    passed = oov_words(load(contextual_model, oov="pass"), UNHEARD)
    assert len(passed) > 20
    assert passed == [word.lower() for word in guessed]
    assert any(word[0].isupper() for word in guessed)
    with pytest.raises(CapfstError, match=r"`oov` is 'drop'.*guess, pass"):
        load(contextual_model, oov="drop")


def test_unseen_casings_are_written(recaser: Recaser) -> None:
    """If the context asks for it, a word is written in a casing that the corpus does not have."""
    text = "\n".join(contextual.UNHEARD + contextual.OTHERS).lower()
    buf = np.frombuffer(text.encode(), np.uint8)
    words = recaser.pipeline.words(buf)
    costs = recaser.pipeline.costs(buf, words)
    assert costs.shapes is not None
    choice = recaser.pipeline.engine.best(words, costs.arc_costs).labels
    unseen = (costs.shapes != AS_FORM) & (choice == words.first_labels) & (words.n_forms > 0)
    assert unseen.any()
    data = recaser(text).encode()
    for i in np.flatnonzero(unseen):
        word = data[words.starts[i] : words.ends[i]].decode()
        forms = [
            recaser.model.symbols[k] for k in range(words.first_labels[i], words.first_labels[i] + words.n_forms[i])
        ]
        assert word not in forms
        as_shape: dict[int, Callable[[str], str]] = {Shape.CAPITALIZED: str.capitalize, Shape.UPPER: str.upper}
        assert word == as_shape.get(int(costs.shapes[i]), str.lower)(word)


# ---- in other processes


@pytest.fixture
def copied(contextual_model: Path, tmp_path: Path) -> Path:
    path = shutil.copy(contextual_model, tmp_path / "cap.fst")
    reopen.cache_clear()
    return path


@pytest.mark.parametrize("options", [{}, {"oov": "pass"}, {"context": False}, {"sentence_case": True}])
def test_a_recaser_is_pickled_with_its_context(copied: Path, options: dict[str, object]) -> None:
    recaser = load(copied, **options)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(recaser))
    assert again is not recaser
    assert (again.pipeline.context is None) == (recaser.pipeline.context is None)
    assert again.options == recaser.options
    assert again(UNHEARD) == recaser(UNHEARD)


def test_a_missing_context_model_is_noticed(copied: Path, contextual_model: Path) -> None:
    pickled = pickle.dumps(load(copied))
    without_context(contextual_model, copied)
    with pytest.raises(CapfstError, match=re.escape(str(copied))):
        pickle.loads(pickled)
    bare = pickle.dumps(load(copied))
    reopen.cache_clear()
    assert pickle.loads(bare).pipeline.context is None


def test_another_context_model_is_noticed(copied: Path, tmp_path: Path) -> None:
    pickled = pickle.dumps(load(copied))
    other = tmp_path / "other"
    other.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "RATES", tuple(2 * rate for rate in learn.RATES))
        trained = contextual.train(other / "cap.fst")
    shutil.copy(trained, copied)
    assert load(copied).pipeline.context is not None
    with pytest.raises(CapfstError, match=re.escape(str(copied))):
        pickle.loads(pickled)
