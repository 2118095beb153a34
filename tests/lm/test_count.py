"""Counting: the nodes against dictionaries of tuples, for any pieces, buckets, memory limit and threads."""

from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acceptors import build, random_labels
from support.plain_kneser_ney import BEGIN, END, WORDS, adjusted_counts, corpora, labels_of, raw_counts

from capfst.corpus import labels as walking
from capfst.exceptions import CapfstError, OptionError
from capfst.lm import count as counting
from capfst.lm import estimate as building
from capfst.lm.count import COUNT, FIRST, OCCURRENCES, PARENT, NgramCounts, count
from capfst.lm.estimate import temporary_space
from capfst.lm.partition import bucket_of, partition_tokens
from capfst.options import TrainOptions
from capfst.system.buckets import Store
from capfst.system.radix_sort import refine


def counted(labels: np.ndarray, words: int, order: int, memory: int | None = None, threads: int = 1) -> NgramCounts:
    return count(labels, words, TrainOptions(order=order, prune_threshold=0.0), Store(memory), threads)


def nodes_of(counts: NgramCounts) -> list[dict[tuple[str, ...], tuple[int, int]]]:
    """Return the n-grams of each order, in the nodes' order, with adjusted count and occurrences."""
    levels: list[dict[tuple[str, ...], tuple[int, int]]] = [{}, {}]
    words = [(word,) for word in (END, *WORDS)]
    suffixes = words
    for n in range(2, counts.order + 1):
        level = {}
        for bucket in range(len(counts.nodes[n])):
            start = int(counts.first_nodes[n - 1][bucket]) if n > 2 else 0
            for node in counts.nodes[n].take(bucket):
                gram = ([BEGIN, *WORDS][node[FIRST]], *suffixes[start + node[PARENT]])
                level[gram] = (int(node[COUNT]), int(node[OCCURRENCES]))
        suffixes = list(level)
        levels.append(level)
    return levels


@settings(max_examples=60, deadline=None)
@given(corpus=corpora, order=st.integers(2, 5))
def _check(corpus: list[list[str]], order: int) -> None:
    counts = counted(labels_of(corpus), len(WORDS), order)
    raw = raw_counts(corpus, order)
    adjusted = adjusted_counts(raw)
    for n, level in enumerate(nodes_of(counts)[2:], 2):
        assert {gram: both[0] for gram, both in level.items()} == adjusted[n]
        assert {gram: both[1] for gram, both in level.items()} == raw[n]
        numbers = [[0 if word in (BEGIN, END) else WORDS.index(word) + 1 for word in reversed(gram)] for gram in level]
        assert numbers == sorted(numbers)
        assert counts.sentence_ends[n].sum() == sum(gram[-1] == END for gram in level)
    assert counts.continuations.tolist() == [adjusted[1][(word,)] for word in (END, *WORDS)]


@pytest.mark.parametrize(("piece", "bucket"), [(1 << 20, 1 << 18), (5, 3)], ids=["one bucket", "tiny buckets"])
def test_nodes(piece: int, bucket: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walking, "_CHUNK", piece)
        patch.setattr(counting, "_BUCKET", bucket)
        _check()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [{}, {"max_ngrams": 9000}, {"cutoffs": (0, 0, 1)}], ids=str)
def test_resources_do_not_affect_the_bytes(limit: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = random_labels()
    whole = build(labels, 300, 4, jobs=1, **limit)
    monkeypatch.setattr(walking, "_CHUNK", 999)
    monkeypatch.setattr(counting, "_BUCKET", 500)
    (tmp_path / "labels").write_bytes(labels.tobytes())
    mapped = np.memmap(tmp_path / "labels", np.uint32, "r")
    for memory, threads in [(None, 3), (0, 1), (0, 3), (100_000, 2)]:
        monkeypatch.setattr(building, "memory_for_data", lambda *_, memory=memory: memory)
        other = build(mapped, 300, 4, jobs=threads, tmp=tmp_path, **limit)
        assert other.states.tobytes() == whole.states.tobytes()
        assert other.arcs.tobytes() == whole.arcs.tobytes()
        assert other.ngrams == whole.ngrams
    assert [path.name for path in tmp_path.iterdir()] == ["labels"]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=50), st.randoms())
def test_refine_is_a_stable_sort(keys: list[int], random) -> None:
    order = list(range(len(keys)))
    random.shuffle(order)
    refined = refine(np.array(keys, np.uint64), np.array(order, np.uint32))
    assert refined.tolist() == sorted(order, key=keys.__getitem__)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any), st.integers(1, 30))
def test_partition_increases_with_the_words(tokens: list[int], size: int) -> None:
    parts = partition_tokens(np.array(tokens), size)
    pairs = [(word, previous) for word in range(len(tokens)) for previous in range(len(tokens)) if tokens[previous]]
    buckets = [bucket_of(parts, *pair) for pair in pairs]
    assert buckets == sorted(buckets)
    assert all(bucket < parts.n_buckets for bucket in buckets)
    for (word, _), bucket in zip(pairs, buckets, strict=True):
        first, last = parts.last_words(bucket)
        assert first <= word <= last


def test_no_sentence() -> None:
    with pytest.raises(CapfstError, match="no sentence"):
        build(np.empty(0, np.uint32), 3, 3)


@pytest.mark.parametrize(
    ("words", "order", "options", "message"),
    [
        (2**31, 3, {}, "2,147,483,648 .*`min_count`"),
        (3, 3, {"max_ngrams": 3}, "`max_ngrams` is 3, .* 3 words"),
        (3, 3, {"memory": 1 << 20}, r"`memory` is too little .* 3 words and 3 tokens.* by \d+ MiB"),
    ],
)
def test_unsupported_options(words: int, order: int, options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build(np.array([1, 2, 0], np.uint32), words, order, **options)


@pytest.mark.parametrize("labels", [[1, 4, 0], [1, 0, 2]])
def test_invalid_labels(labels: list[int]) -> None:
    with pytest.raises(ValueError, match=r"label 4 at 1|lacks its final 0"):
        build(np.array(labels, np.uint32), 3, 3)


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "memory_for_data", lambda *_: 0)
    with pytest.raises(CapfstError, match=r"/nowhere/at/all: .*: No such file or directory.*`tmp`"):
        build(random_labels(), 300, 3, tmp="/nowhere/at/all")


@pytest.mark.parametrize("limit", [{}, {"max_ngrams": 1000}], ids=str)
@pytest.mark.parametrize("order", [2, 3, 5])
def test_temporary_space_suffices(order: int, limit: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filed: list[int] = []

    class Watched(Store):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.written: WeakKeyDictionary[BinaryIO, int] = WeakKeyDictionary()

        def write(self, file: BinaryIO, records: np.ndarray, offset: int) -> None:
            super().write(file, records, offset)
            self.written[file] = self.written.get(file, 0) + records.nbytes
            filed.append(sum(self.written.values()))

    monkeypatch.setattr(building, "memory_for_data", lambda *_: 0)
    monkeypatch.setattr(building, "Store", Watched)
    labels = random_labels()
    build(labels, 300, order, tmp=tmp_path, **limit)
    assert 0 < max(filed) <= temporary_space(300, len(labels), TrainOptions(order=order, memory=1, **limit))


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "w+b", 0))  # noqa: SIM115
    monkeypatch.setattr(building, "memory_for_data", lambda *_: 0)
    with pytest.raises(CapfstError, match=f"{tmp_path}: .*: No space left on device.*space"):
        build(random_labels(), 300, 3, tmp=tmp_path)
    assert not list(tmp_path.iterdir())
