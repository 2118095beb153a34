"""Store the context model as a part of cap.fst, and read it from there, memory-mapped.

In: the context model (train.py). Out: a part of the model's trailer (fst/trailer.py) with a record for each word and
the learned weights in bytes; and `Context`, views of the arrays of that part. Any bytes in these arrays are legal
except in the shapes and the network; so only these, the settings and the sizes of the arrays are checked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import lexicon as lx
from capfst.context.classes import RARE
from capfst.context.domains import MAX_DOMAINS, MAX_LANGUAGES
from capfst.context.features import MAX_WORD_FEATURES, word_features
from capfst.context.network import N_INPUTS, NO_NETWORK, Layers, Network, ending_embeddings, layer_shapes
from capfst.fst.read import CapFst, OtherVersionError
from capfst.fst.trailer import Part
from capfst.kernels import allocating, count_ones, inner
from capfst.kernels.types import I8Matrix, I16Matrix, U8Array, U8Matrix, U32Array

from capfst.kernels.types import U32Matrix, i64, u32, u64  # isort: skip

PART, SPELLINGS = "context", "spellings"
"""Names of the parts of a model: its context model, and that of spellings."""
_FORMAT = 7
MAX_WEIGHT = 127  # the largest absolute weight of a table, in units of its scale
ROWS_PER_SLOT = 16
"""Rows of a learned table that share a slot of the file's table. The slot holds one of them."""
FIRST_PASS_ARRAY = "first_look"
"""Name of the first pass's table in the file."""
EMPTY_ROW = np.uint32(0x00808080)
"""A slot that holds no row: all weights are 0."""
NO_OWNERS = np.empty(0, np.uint8)
"""Owners of the rows of a table (`owned`) in which each feature owns its row."""

LEAST_PENALTY = 1.0
"""`unseen_penalty` of a word is LEAST_PENALTY + ln(1 + occurrences)."""


class Context(NamedTuple):
    """Context model of a model: views of its part of the file.

    Learned weights are integers: of each shape except LOWER, less LOWER's. A table has 2^b slots of four bytes. The
    bytes of a slot, lowest first: the three weights of a row, each plus 128; and 1 + the row's number among those that
    share the slot. Feature f has slot f mod 2^b and number ⌊f / 2^b⌋ mod ROWS_PER_SLOT.
    """

    words: lx.WordRecordArray  # by label: at the most frequent form of each lowercase word, and 0 elsewhere
    shapes: U8Array  # by label
    stage1: U32Array  # [2^b]
    stage2: U32Array
    first_pass: U32Array
    scales: tuple[float, float, float]  # the weight that the integer 1 stands for: stage 1, stage 2, first pass
    n_domains: int  # of all languages, equally many of each
    language_log_odds: I8Matrix  # [V + 1, languages] as from domains.find_domains
    language_evidence: U8Matrix  # same shape: shape evidence from the text of each language alone
    rare: lx.RareWords = lx.NO_RARE_WORDS
    network: Network = NO_NETWORK
    has_gaps: bool = False  # whether stage 1 has learned where sentences begin (gaps.py)

    @classmethod
    def of(cls, model: CapFst, name: str = PART) -> Context | None:
        """Return the context model in a model's file; None if it has none.

        Raises:
            ModelError: the context model is damaged, or of another version of capfst.
        """

        def read(part: Part) -> Context:
            if name == PART and not part.settings.get("gaps"):
                raise OtherVersionError
            return cls._read(part, len(model.symbols))

        return model.part(name, _FORMAT, read, "Train the model again, or use it with `context=False`.")

    @classmethod
    def _read(cls, part: Part, n_labels: int) -> Context:
        n_domains, (scale1, scale2, scale_first) = int(part.settings["domains"]), map(float, part.settings["scales"])
        scales = scale1, scale2, scale_first
        of_languages = part.arrays.get("language_log_odds")
        n_languages = 0 if of_languages is None else max(1, of_languages.size // n_labels)
        if n_languages > MAX_LANGUAGES:
            raise ValueError("too many languages")
        domains, rest = divmod(n_domains, max(1, n_languages))
        if not (rest == 0 and 0 < domains <= MAX_DOMAINS and all(0 < scale < np.inf for scale in scales)):
            raise ValueError("invalid scales or number of domains")

        def array(name: str, dtype: npt.DTypeLike, *shape: int) -> npt.NDArray[Any]:
            if 0 in shape:  # arrays of languages, in a model that does not distinguish any
                return np.empty(shape, dtype)
            return part.arrays[name].view(dtype).reshape(shape)

        rare, network, languages = lx.NO_RARE_WORDS, NO_NETWORK, (n_labels, n_languages)
        if "rare_begins" in part.arrays:
            dtypes = zip(lx.RareWords._fields, (np.uint32, np.uint16, np.uint8), strict=True)
            rare = lx.RareWords(*(array(f"rare_{field}", dtype, -1) for field, dtype in dtypes))
        if "network_embeddings" in part.arrays:
            layers = (array(f"network_{k}", np.float32, *shape) for k, shape in layer_shapes(n_domains).items())
            network = Network.of(array("network_embeddings", np.int8, -1, N_INPUTS), Layers(*layers))
        words, shapes = array("words", lx.WORD_RECORD, n_labels), array("shapes", np.uint8, n_labels)
        stage1, stage2, first_pass = (array(name, np.uint32, -1) for name in ("stage1", "stage2", FIRST_PASS_ARRAY))
        log_odds = array("language_log_odds", np.int8, *languages)
        evidence, has_gaps = array("language_evidence", np.uint8, *languages), bool(part.settings.get("gaps"))
        of_all = words, shapes, stage1, stage2, first_pass, scales, n_domains
        context = cls(*of_all, log_odds, evidence, rare, network, has_gaps)
        if not context.rare.is_valid():
            raise ValueError("the buckets of rare words do not fit")
        if any(table.size.bit_count() != 1 for table in (context.stage1, context.stage2, context.first_pass)):
            raise ValueError("the size of a table is not a power of 2")
        if context.shapes.max() > Shape.CASELESS:
            raise ValueError("a surface form has an invalid shape code")
        return context

    @property
    def n_languages(self) -> int:
        """Number of languages that the model distinguishes; 0 if there is only one, or their names were not given."""
        return self.language_log_odds.shape[1]

    def part(self) -> Part:
        """Return the context model as a part of a model's file."""
        arrays = self._asdict()
        rare: lx.RareWords = arrays.pop("rare")
        if rare.evidence.size:
            arrays |= {f"rare_{name}": array for name, array in rare._asdict().items()}
        network: Network = arrays.pop("network")
        if network.embeddings.size:
            arrays["network_embeddings"] = network.embeddings
            arrays |= {f"network_{name}": array for name, array in network.layers._asdict().items()}
        settings = {"format": _FORMAT, "scales": list(arrays.pop("scales")), "domains": arrays.pop("n_domains")}
        if arrays.pop("has_gaps"):
            settings["gaps"] = True
        if not self.n_languages:
            del arrays["language_log_odds"], arrays["language_evidence"]
        named = {FIRST_PASS_ARRAY if name == "first_pass" else name: array for name, array in arrays.items()}
        return Part(settings, {name: array.reshape(-1).view(np.uint8) for name, array in named.items()})


def of_spellings(context: Context) -> Context:
    """Return the context model of spellings with an infinite cost of unseen spellings, which it could not write.
    Changes it in place."""
    context.words["unseen_penalty"] = np.inf
    return context


def word_records(hashes: U32Matrix) -> lx.WordRecordArray:
    """Return WORD_RECORD[words], of unknown words with these hashes: uint32[words, N_HASHES]."""
    words = np.zeros(len(hashes), lx.WORD_RECORD)
    words["word_hash"], words["suffix2_hash"] = hashes[:, lx.WHOLE], hashes[:, lx.SUFFIX + 1]
    words["unseen_penalty"], words["embedding"] = LEAST_PENALTY, ending_embeddings(words["suffix2_hash"])
    words["lower_class"] = words["cased_class"] = RARE
    words["one_letter"] = words["suffix2_hash"] == 0
    return words


def packed(weights: I16Matrix, owners: U8Array) -> U32Array:
    """Return the slots of a table, uint32[slots]: the inverse of `unpacked`."""
    bytes_ = np.empty((len(weights), N_SHAPES), np.uint8)
    bytes_[:, :-1], bytes_[:, -1] = np.clip(weights, -MAX_WEIGHT, MAX_WEIGHT) + 128, owners
    return bytes_.view(np.uint32).reshape(-1)


@inner
def owned(owners: U8Array, features: U32Array, n: i64) -> i64:
    """Keep, in place, those of n features that own their row, and return their number. Without owners, all do."""
    if owners.size == 0:
        return n
    mask, bits = u32(owners.size - 1), u32(count_ones(owners.size - 1))
    kept = 0
    for i in range(n):
        feature = features[i]
        number = u32(feature >> bits & u32(ROWS_PER_SLOT - 1))
        features[kept] = feature
        kept += i64(owners[feature & mask] == number + u32(1))
    return kept


@allocating
def sum_word_scores(
    hashes: U32Matrix, evidence: U8Array, weights: I16Matrix, owners: U8Array, scores: I16Matrix
) -> None:
    """Add to scores[word, shape − 1] the weights of those of the word's word_features that own their row. Words with
    evidence UNSEEN, whose features depend on the domain, and tokens without case get the score 0."""
    features = np.empty(MAX_WORD_FEATURES, np.uint32)
    mask = u64(len(weights) - 1)
    for word in range(len(evidence)):
        if evidence[word] == lx.UNSEEN or evidence[word] >= lx.BEGIN:
            scores[word, 0] = scores[word, 1] = scores[word, 2] = 0
            continue
        n = owned(owners, features, word_features(hashes[word], evidence[word], 0, features))
        for i in range(n):
            for k in range(N_SHAPES - 1):
                scores[word, k] += weights[i64(features[i] & mask), k]


def unpacked(slots: U32Array) -> tuple[I16Matrix, U8Array]:
    """Return the weights in the slots of a table, int16[slots, N_SHAPES − 1], and 1 + the number of the row that each
    slot holds."""
    bytes_ = np.ascontiguousarray(slots).view(np.uint8).reshape(-1, 4)
    owners = bytes_[:, N_SHAPES - 1].copy()
    weights = bytes_[:, : N_SHAPES - 1].astype(np.int16) - 128
    weights[owners == 0] = 0
    return weights, owners
