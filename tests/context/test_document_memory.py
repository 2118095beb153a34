"""Document memory: its sums against the definition; where documents end; both engines."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import contextual
from support.command_line import run
from support.scoring import path_costs

from capfst.context import casing_costs as module
from capfst.context.other_lines import RARE, rarity
from capfst.io import documents as io_documents
from capfst.io.documents import documents, whole_documents
from capfst.recaser import Recaser, load
from capfst.text.tokenizer import NEWLINE
from capfst.text.unicode import lower

LINES = [lower(line) for line in contextual.UNHEARD[:150]]


@pytest.fixture(scope="module", params=["fast", "openfst"])
def recaser(request: pytest.FixtureRequest, contextual_model: Path) -> Recaser:
    return load(contextual_model, document=True, engine=request.param)


@pytest.fixture(scope="module")
def fast(contextual_model: Path) -> Recaser:
    return load(contextual_model, document=True)


def test_documents() -> None:
    lines = ["a", "b", "", " ", "c", "", "d"]
    assert list(documents(lines)) == [["a", "b", "", " "], ["c", ""], ["d"]]
    assert list(documents([""])) == [[""]]
    assert list(documents([])) == []  # type: ignore[misc]
    assert [len(part) for part in documents(["a"] * 450)] == [200, 200, 50]
    assert [len(part) for part in documents(["a" * 100_000] * 4)] == [2, 2]
    assert [len(part) for part in documents(["a" * 400_000, "a"])] == [1, 1]


@given(
    lines=st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b" \t\n"])),
    sizes=st.lists(st.integers(1, 3), min_size=1),
    last=st.sampled_from([b"", b"c"]),
)
def test_documents_do_not_depend_on_blocks(lines: list[bytes], sizes: list[int], last: bytes) -> None:
    blocks, rest = [], [*lines, *([last] if last else [])]
    for size in sizes:
        blocks.append(b"".join(rest[:size]))
        rest = rest[size:]
    found = list(whole_documents([*blocks, b"".join(rest)]))
    assert found == list(map(b"".join, documents([*lines, *([last] if last else [])])))


@contextmanager
def spied(see: Callable[[Any, np.ndarray], None]) -> Iterator[None]:
    """Call `see` with the tokens, and with ln p of their shapes up to a constant, from which costs are computed."""
    fill = module._fill

    def spy(text: Any, context: Any, forms: Any, guess: bool, log_p: Any, *costs: Any) -> None:
        see(text, log_p.copy())
        fill(text, context, forms, guess, log_p, *costs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_fill", spy)
        yield


def plain_memory(lines: list[str], recaser: Recaser) -> tuple[np.ndarray, np.ndarray]:
    """Return, by the definition, ln p of the words of lines with document memory; and for which words it changes ln
    p."""
    context = recaser.pipeline.context
    assert context is not None
    words, log_p = [], []
    for number, line in enumerate(lines):
        buf = np.frombuffer(line.encode(), np.uint8)
        found = recaser.pipeline.words(buf)
        seen: list[tuple[np.ndarray, np.ndarray]] = []
        with spied(lambda text, p: seen.append((text.tokens[text.token_of], p))):  # noqa: B023
            module.casing_costs(
                context,
                buf,
                found,
                recaser.pipeline.loaded.transducer,
                True,
            )
        ((tokens, p),) = seen
        weights = rarity(found, recaser.model.arcs)
        cased = [bool(evidence < 150) for evidence in tokens["shape_evidence"]]
        hashes, joined = tokens["word_hash"].tolist(), found.begins
        for i in range(len(hashes)):
            before = hashes[i - 1] if i > 0 and cased[i - 1] and not joined[i] else None
            after = hashes[i + 1] if i + 1 < len(hashes) and cased[i + 1] and not joined[i + 1] else None
            words.append((number, cased[i], tokens["position"][i] > 0, hashes[i], before, after, weights[i]))
            own = p[i].astype(float) if cased[i] else np.zeros(4)
            log_p.append(own - np.log(np.exp(own).sum()))
    remembered, is_remembered = [], []
    for (number, is_cased, _, word, before, after, weight), own in zip(words, log_p, strict=True):
        z = own.copy()
        for w_key, part, wanted in ((weight, [3], word), (1, [3, 4], before), (1, [3, 5], after)):
            same = [all(w[k] == (word, before, after)[k - 3] for k in part) and w[0] != number for w in words]
            others = [p for w, p, is_same in zip(words, log_p, same, strict=True) if is_same and w[1] and w[2]]
            if others and wanted is not None:
                z += w_key * np.exp(others).sum(0) / math.sqrt(len(others))
        remembered.append(z - np.log(np.exp(z).sum()))
        is_remembered.append(is_cased and bool((z != own).any()))
    return np.array(remembered), np.array(is_remembered)


def test_sums_match_the_definition(fast: Recaser) -> None:
    lines = LINES[:60]
    buf = np.frombuffer("\n".join(lines).encode(), np.uint8)
    words = fast.pipeline.words(buf)
    found: list[np.ndarray] = []
    with spied(lambda text, p: found.append(p)):
        fast.pipeline.costs(buf, words)
    expected, cased = plain_memory(lines, fast)
    is_word = words.token_types != NEWLINE
    assert cased.sum() > 100
    np.testing.assert_allclose(found[0][is_word][cased], expected[cased], atol=1e-3)


def test_rarity(fast: Recaser) -> None:
    words = fast.pipeline.words(np.frombuffer(b"the zzzz", np.uint8))
    first, n = int(words.first_labels[0]), int(words.n_forms[0])
    frequency = sum(math.exp(-fast.pipeline.loaded.lm.arc(0, label)[0]) for label in range(first, first + n))
    assert rarity(words, fast.model.arcs).tolist() == pytest.approx([RARE / (RARE + frequency), 1])


def test_blank_lines_separate_documents(recaser: Recaser) -> None:
    first, second = LINES[:12], LINES[12:24]
    together = recaser("\n".join([*first, "", *second]))
    assert together == recaser("\n".join(first)) + "\n\n" + recaser("\n".join(second))
    assert recaser([*first, "", *second]) == together.split("\n")
    assert lower(together) == "\n".join([*first, "", *second])


def test_lines_are_evidence_for_each_other(fast: Recaser, contextual_model: Path) -> None:
    alone = load(contextual_model)
    text = "\n".join(LINES)
    assert (path_costs(fast, text.encode()) != path_costs(alone, text.encode())).mean() > 0.5
    assert [fast(line) for line in LINES] == alone(LINES)


@settings(deadline=None, max_examples=20)
@given(order=st.permutations(range(40)))
def test_the_order_of_lines_does_not_matter(fast: Recaser, order: list[int]) -> None:
    expected = fast(LINES[:40])
    assert fast([LINES[i] for i in order]) == [expected[i] for i in order]


def test_engines_agree(contextual_model: Path) -> None:
    fast, slow = (load(contextual_model, document=True, engine=engine) for engine in ("fast", "openfst"))
    assert slow(LINES[:40]) == fast(LINES[:40])
    text = "\n".join(LINES[:10]).encode()
    costs = [path_costs(each, text).tolist() for each in (fast, slow)]
    assert costs[1] == pytest.approx(costs[0], rel=1e-9)


def test_command(contextual_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: Recaser) -> None:
    monkeypatch.setattr(io_documents, "LONGEST", 40)
    text = "\n".join([*LINES[:60], "", *LINES[60:], ""])
    (tmp_path / "in.txt").write_text(text, "utf-8")
    for jobs in ("1", "3"):
        done = run("recase", "--lm", contextual_model, "--document", "--jobs", jobs, tmp_path / "in.txt")
        assert done.stdout.decode() == fast(text)
    for option in (["--nbest", "2"], ["--confidence"], ["--no-context"]):
        failed = run("recase", "--lm", contextual_model, "--document", *option, tmp_path / "in.txt", code=2)
        error = failed.stderr.decode().splitlines()[-1]
        assert "--document" in error and option[0] in error
