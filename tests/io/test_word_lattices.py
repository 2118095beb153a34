"""Word lattices of OpenFst and Kaldi, and confusion networks of Kaldi."""

import math

import pytest

from capfst import CorpusError
from capfst.io.word_lattices import WordLattice, word_lattices

OPENFST = "7\t3\tnew\t0.5\n7\t3\tknew\n3\t5\t<eps>\t-2\r\n5\t0.25\n\n\n"
TRANSDUCER = "0 1 a b 0.5\n1 2 c d\n2"
KALDI = "a-1 \n0 1 i 3.5,-2,12_12_14\n0 1 eye 3.5,-1.5,\n1 2 [laughter] 0,1,\n2 0.25,0.5,\n\n"
NETWORK = "a-2 [ new 0.75 knew 0.25 ] [ york 1.0 ] [ <eps> 0.5 <unk> 0.5 city 0 ]\n"


def rows(lattice: WordLattice) -> list[tuple[int, int, str, float]]:
    return [
        (source, target, lattice.words[word].decode(), cost) for source, target, word, cost in lattice.arcs.tolist()
    ]


def test_formats() -> None:
    blocks = [(OPENFST + KALDI).encode(), (NETWORK + TRANSDUCER).encode()]
    openfst, kaldi, network, transducer = word_lattices(blocks, "x")
    assert [lattice.name for lattice in (openfst, kaldi, network, transducer)] == [b"", b"a-1", b"a-2", b""]
    assert rows(openfst) == [(0, 1, "new", 0.5), (0, 1, "knew", 0), (1, 2, "", -2)]
    assert openfst.final.tolist() == [math.inf, math.inf, 0.25]
    assert rows(kaldi) == [(0, 1, "i", 1.5), (0, 1, "eye", 2), (1, 2, "[laughter]", 1)]
    assert kaldi.final[2] == 0.75
    assert [(word, math.exp(-cost)) for _, _, word, cost in rows(network)] == [
        ("new", 0.75), ("knew", 0.25), ("york", 1), ("", 0.5), ("<unk>", 0.5)]  # fmt: skip
    assert [row[:2] for row in rows(network)] == [(0, 1), (0, 1), (1, 2), (2, 3), (2, 3)]
    assert network.final.tolist() == [math.inf] * 3 + [0]
    assert rows(transducer) == [(0, 1, "b", 0.5), (1, 2, "d", 0)]


def test_states_are_ordered() -> None:
    """Arcs may be listed in any order, except that the first one begins in the start state."""
    (lattice,) = word_lattices([b"9 2 a\n4 9 d\n2 8 c\n9 8 b\n8\n"], "x")
    assert all(source < target for source, target, _, _ in rows(lattice))
    assert [row[0] for row in rows(lattice)] == sorted(row[0] for row in rows(lattice))
    assert {word for source, _, word, _ in rows(lattice) if source == lattice.start} == {"a", "b"}


def test_noises_are_not_spoken() -> None:
    (lattice,) = word_lattices([b"0 1 [noise]\n1 2 <eps>\n2 3 new\n3 4 <UNK>\n4"], "x")
    assert lattice.words == [b"[noise]", b"", b"new", b"<UNK>"]
    assert lattice.spoken == b"\n\nnew\n"


def test_nothing() -> None:
    assert list(word_lattices([], "x")) == list(word_lattices([b"\n \n"], "x")) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u\n\n0 1 a\n1\n", "x, line 1: the lattice 'u' is empty"),
        ("0 1 a\n", "x, line 1: the lattice has no path from its first state to a final state. Add a line"),
        ("\n0 1 a\n2 3 b\n3\n", "x, line 2: the lattice has no path"),
        ("u [ a 0 ]", "x, line 1: the lattice has no path"),
        ("u [ ]", "x, line 1: the lattice has no path"),
        ("0 1 a\n1 2 b\n2 1 c\n2\n", "x, line 1: the lattice has a cycle: 1 2 1. Only acyclic"),
        ("0 0 a\n0\n", "has a cycle: 0 0."),
        ("0 1 a\n1 2 b x\n2\n", "x, line 2: 'x' is not a finite number"),
        ("0 1 a nan\n1\n", "'nan' is not a finite number"),
        ("u\n0 1 a 1,inf,\n1\n", "x, line 2: '1,inf,' is not a finite number"),
        ("0 1 a\n1 y\n", "x, line 2: 'y' is not a finite number"),
        ("we met paris\n", "x, line 1: the state 'we' is not a number. Use the text of OpenFst or Kaldi"),
        ("0 1 a b 1 2\n1\n", "it has 6 fields, so it is neither an arc nor a final state"),
        ("0 1 a b 1\n1 2 c\n2\n", "x, line 2: it has 3 fields"),
        ("u [ a 0.5 b ]", "']' is not a finite number"),
        ("u [ a 0.5", "x, line 1: the last ] is missing"),
        ("u [ a 2 ]", "2 is not a probability"),
        ("u [ a -1 ]", "-1 is not a probability"),
    ],
)
def test_bad_input(text: str, message: str) -> None:
    with pytest.raises(CorpusError) as raised:
        list(word_lattices([text.encode()], "x"))
    assert message in str(raised.value)
