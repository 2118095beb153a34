"""word_index.py: frequent words come first, and colliding words are distinguished."""

from itertools import product

import numpy as np
import pytest

from capfst.casing.word_index import SLOT, Index, build_index, find_slot, first_label, first_slot
from capfst.fst.symbols import Symbols, check


def test_frequent_words_are_found_at_once():
    """Of several words whose search begins in the same slot, a frequent one is there."""
    words = ["<unk>", *("".join(letters) for letters in product("abcdef", repeat=4))]
    costs = np.where(np.arange(len(words)) % 10, 20, 2).astype(np.float32)
    frequent = set(1 + np.flatnonzero(costs == 2))
    symbols = Symbols.from_words(words)

    def at_once(costs: np.ndarray | None) -> int:
        slots = build_index(symbols, check(symbols), costs).slots
        positions = [position for position, slot in enumerate(slots) if slot["label_or_position"] in frequent]
        return sum(first_slot(slots["key"][position], len("abcd"), slots) == position for position in positions)

    assert at_once(costs) > 1.1 * at_once(None)


@pytest.mark.parametrize(
    "words", [[b"a" * 9, b"b" * 9, b"c" * 9], [b"a" * 9, b"a" * 11, b"a" * 10], [b"a", b"a\0", b"a\0\0"]]
)
def test_equal_hashes(words):
    """Words that hash to the same slot, even with the same key, are distinguished."""
    table = Index(np.zeros(4, SLOT), np.zeros(100, np.uint64))
    key = np.uint64(0x61)
    used = 1
    slots = []
    probes = [np.frombuffer(word.ljust(-len(word) % 8 + len(word), b"\0"), np.uint64) for word in words]
    for label, (word, parts) in enumerate(zip(words, probes, strict=True), 1):
        slot = find_slot(3, key, parts, 0, len(word), table)
        assert table.slots[slot]["n_forms_length"] == 0
        assert first_label(slot, len(word), table) == 0
        table.slots[slot] = (key, label if len(word) <= 8 else used, 1 << 4 | min(len(word), 9))
        table.parts[used] = label << 32 | len(word)
        table.parts[used + 1 : used + 1 + len(parts)] = parts
        used += 1 + len(parts)
        slots.append(slot)
    assert len(set(slots)) == 3
    for label, (word, parts, slot) in enumerate(zip(words, probes, slots, strict=True), 1):
        assert find_slot(3, key, parts, 0, len(word), table) == slot
        assert first_label(slot, len(word), table) == label
