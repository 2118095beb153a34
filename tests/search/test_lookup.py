"""The tables that look-ups use tell the same as the model's arcs."""

from itertools import takewhile

import numpy as np
from hypothesis import given
from support.models import Model, arcs_of, backoff_models, backoff_of, in_one_folder

from capfst.search.lookup import STEP, find_slot, hash_label, lookup_tables, search_sparse_index


@in_one_folder
@given(model=backoff_models())
def test_tables(tmp_path, model: Model) -> None:
    fst = model.save(tmp_path / "cap.fst")
    made = lookup_tables(fst)
    np.testing.assert_array_equal(made.sparse_index, fst.arcs["ilabel"][::STEP])
    word_of = [
        0,
        *(int(start) for start, end in zip(fst.starts, fst.starts[1:], strict=False) for _ in range(start, end)),
    ]
    singles = list(takewhile(lambda s: backoff_of(fst, s)[1] == 0, range(1, len(fst.states))))
    after: list[int] = []
    for state in singles:
        pos, narcs = int(fst.states["pos"][state]), int(fst.states["narcs"][state])
        arcs = {word_of[label]: k for k, label in reversed(list(enumerate(arcs_of(fst, state)["ilabel"])))}
        after += arcs_of(fst, state)["ilabel"][1:].tolist()
        for word in set(word_of[1:]):
            h = hash_label(word)
            tag = h & ((1 << (32 - made.arc_bits)) - 1)
            slot = find_slot(made, 2 * pos, 2 * narcs, h * 2 * narcs >> 32, tag)
            # Another word may have the same tag: the arc that is found tells. Here there are too few of them.
            assert int(made.slots[2 * pos + slot]) & ((1 << made.arc_bits) - 1) == arcs.get(word, 0)
    assert len(made.slots) == 2 * (len(fst.symbols) - 1 + sum(int(fst.states["narcs"][s]) for s in singles))
    for label in range(1, len(fst.symbols)):
        form, arc = made.forms[label], fst.arcs[label - 1]
        assert (form["cost"], form["state"]) == (arc["weight"], arc["nextstate"])
        assert form["share_below"] == np.float32(sum(other < label for other in after) / max(1, len(after)))
        if form["state"]:
            state = fst.states[form["state"]]
            assert (form["pos"], form["narcs"], form["backoff_cost"]) == (
                state["pos"],
                state["narcs"],
                backoff_of(fst, form["state"])[0],
            )


def test_entries_of_the_sparse_index_are_found_from_anywhere() -> None:
    sparse_index = np.array([3, 5, 9, 11, 40, 41, 100], np.int32)
    for low in range(8):
        for high in range(low, 8):
            for label in (2, 3, 4, 11, 12, 41, 99, 101):
                for guess in range(-3, 12):
                    found = search_sparse_index(sparse_index, low, high, guess, label)
                    assert found == low + np.searchsorted(sparse_index[low:high], label)
