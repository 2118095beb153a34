"""Reference implementation of context/casing_costs.py in plain Python, which reads the same arrays."""

import math
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from support.plain_context import (
    Token,
    decision,
    decision_features,
    first_features,
    has_capitals,
    hash_word,
    leads,
    neighbor_features,
    padded,
    settled_decision,
    softmax,
    word_features,
)  # fmt: skip
from support.plain_network import PlainNetwork, ending_embedding

from capfst.casing.shapes import AS_FORM, Shape, shape_of
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context import casing_costs, features
from capfst.context.classes import RARE
from capfst.context.context_model import ROWS_PER_SLOT, Context
from capfst.context.lexicon import BEGIN, NO_CASE, UNSEEN
from capfst.fst.symbols import first_labels
from capfst.text.restoring import diacritics
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD, canonical
from capfst.text.unicode import INFO, lower


class Costs(NamedTuple):
    """As CasingCosts, by word."""

    arc_costs: list[list[float]]
    shapes: list[int]
    options: list[list[float]]


def casing_costs_of(
    context: Context,
    buf: npt.NDArray[np.uint8],
    words: Words,
    transducer: Transducer,
    guess: bool,
    begins: npt.NDArray[np.bool_],
) -> Costs:
    """Return the costs of a text's casings."""
    listed = list(zip(*(array.tolist() for array in words[:5]), strict=True))
    lines: list[list[list[int]]] = [[[]]]  # lines of sentences of words
    for i, (_, _, token_type, _, _) in enumerate(listed):
        if token_type == NEWLINE:
            lines.append([[]])
        elif begins[i]:
            lines[-1].append([i])
        else:
            lines[-1][-1].append(i)
    read, hashes = [], {}
    records = {i: first for i, (_, _, _, first, forms) in enumerate(listed) if forms}  # the label of each word's record
    for sentence in chain.from_iterable(lines):
        read.append([])
        for position, i in enumerate(sentence):
            start, end, token_type, first, forms = listed[i]
            position = min(position, features.MAX_POSITION)
            hashes[i], cased, proxy = oov(buf, start, end, token_type, transducer)
            evidence = rare(context, hashes[i][0]) if cased else NO_CASE
            if not forms and evidence == UNSEEN and proxy and context.shapes[proxy] != Shape.CASELESS:
                records[i] = first = proxy
            if i in records:
                known = context.words[first]
                e, hashed = int(known["shape_evidence"]), (int(known["word_hash"]), int(known["suffix2_hash"]))
                classes = known[["lower_class", "cased_class"]].tolist()
                embedding = int(known["embedding"])
                read[-1].append(Token(*hashed, e, int(known["frequency_rank"]), position, *classes, 0, embedding))
                continue
            ending = hashes[i][7]
            read[-1].append(Token(hashes[i][0], ending, evidence, 0, position, RARE, RARE, 0, ending_embedding(ending)))
    every, all_indices = padded(read)
    costs: dict[int, list[float]] = {}
    sentence_indices = iter(all_indices)
    for line in lines:
        indices = chain.from_iterable(islice(sentence_indices, len(line)))
        costs |= line_costs(
            context, listed, every, dict(zip(indices, chain.from_iterable(line), strict=True)), hashes, records
        )
    by_word = [word_costs(context, token, costs.get(i), guess) for i, token in enumerate(listed)]
    return Costs(*map(list, zip(*by_word, strict=True))) if by_word else Costs([], [], [])


def oov(
    buf: npt.NDArray[np.uint8], start: int, end: int, token_type: int, transducer: Transducer
) -> tuple[list[int], bool, int]:
    """Return the hashes of an OOV token, whether it has case, and the label of its proxy, or 0."""
    text = np.frombuffer(lower(buf[start:end].tobytes().decode()).encode(), np.uint8)
    cased = token_type in (WORD, COMPOUND)
    if not (transducer.pretokenized and cased):
        out = np.empty(len(text) + 8, np.uint8)
        text, whole = out, text
        text = text[: canonical(whole, 0, len(whole), token_type, out)]
    word = text.tobytes().decode()
    stripped = "".join(diacritics("default").get(character, character) for character in word)
    forms = transducer.symbols.forms(stripped, first_labels(transducer.symbols))
    proxy = forms.start if stripped != word else 0
    return hash_word(word), cased and shape_of(text, 0, len(text), INFO) != Shape.CASELESS, proxy


def rare(context: Context, hashed: int) -> int:
    """Return the shape evidence of a word that the LM lacks; UNSEEN if the context model has none."""
    begins, low_bits, evidence = context.rare
    bucket = hashed * (len(begins) - 1) >> 32
    words = range(begins[bucket], begins[bucket + 1]) if len(evidence) else range(0)
    return next((int(evidence[k]) for k in words if low_bits[k] == hashed & 0xFFFF), UNSEEN)


def row(table: npt.NDArray[np.uint32], feature: int) -> list[int]:
    """Return the weights of a feature's row; zeros if another row has its slot."""
    number = feature % (ROWS_PER_SLOT * len(table)) // len(table)
    *weights, owner = int(table[feature % len(table)]).to_bytes(4, "little")
    return [0, *(weight - 128 for weight in weights)] if owner == number + 1 else [0] * 4


def total(table: npt.NDArray[np.uint32], hashed: list[int]) -> list[int]:
    return [sum(column) for column in zip(*(row(table, feature) for feature in hashed), strict=True)]


def with_pruned(words: Words, arc_costs: npt.NDArray[np.float32]) -> list[float]:
    """Return the arc costs of words, with +inf for the pruned surface forms."""
    return [
        cost if cost <= costs.min() + np.float32(casing_costs.MARGIN) else math.inf
        for costs in np.split(arc_costs, np.cumsum(words.n_forms)[:-1])
        for cost in costs.tolist()
    ]


def line_costs(
    context: Context,
    listed: list,
    tokens: list[Token],
    line: dict[int, int],
    hashes: dict[int, list[int]],
    records: dict[int, int],
) -> dict[int, list[float]]:
    """Return −ln p of the shapes of each word of a line that has case, less that of the likeliest. line: the word at
    each index."""
    votes = [0] * context.n_domains
    for i in line.values():
        if listed[i][4]:
            log_odds = context.words[listed[i][3]]["domain_log_odds"].tolist()
            votes = [vote + more for vote, more in zip(votes, log_odds, strict=False)]
    domain = votes.index(max(votes))
    scale, scale2, scale_first = context.scales
    decisions = [features.NO_DECISION] * len(tokens)
    p: dict[int, list[float]] = {}
    settled = set()
    for t, i in line.items():
        if tokens[t].shape_evidence >= BEGIN:
            continue
        z = [scale_first * score for score in total(context.first_pass, first_features(tokens, t, domain))]
        if tokens[t].shape_evidence != UNSEEN and settled_decision(z) != features.NO_DECISION:
            decisions[t] = settled_decision(z)
            p[t] = [math.exp(score - max(z)) for score in z]
            settled.add(t)
            continue
        z = total(context.stage1, neighbor_features(tokens, t, domain))
        if i in records and tokens[t].shape_evidence != UNSEEN:
            own = [0, *context.words[records[i]]["scores"].tolist()]
        else:
            own = total(context.stage1, word_features(hashes[i], tokens[t].shape_evidence, domain))
        z = [scale * (a + b) for a, b in zip(z, own, strict=True)]
        p[t], decisions[t] = softmax(z), decision(z)
        if max(leads(z)) >= features.STAGE1_LEAD:
            settled.add(t)
    n_capitals = sum(has_capitals(decisions[t]) for t in p)
    costs = {}
    for t, q in p.items():
        if t not in settled:
            z = total(context.stage2, decision_features(tokens, decisions, t, len(p), n_capitals))
            scores = [features.PRIOR_WEIGHT * math.log(x) + scale2 * w for x, w in zip(q, z, strict=True)]
            if len(context.network.embeddings) and max(leads(scores)) < features.STAGE2_LEAD and tokens[t].position:
                more = PlainNetwork(context.network).scores(tokens, decisions, t, domain)
                scores = [a + b for a, b in zip(scores, more, strict=True)]
            q = softmax(scores)
        costs[line[t]] = [math.log(max(q)) - math.log(max(x, 1e-300)) for x in q]
    return costs


def word_costs(
    context: Context, token: tuple[int, ...], costs: list[float] | None, guess: bool
) -> tuple[list[float], int, list[float]]:
    """Return the costs of a word's forms, its shape, and its options."""
    _, _, _, first, forms = token
    options = [math.inf] * 4 + [0.0]
    if costs is None:
        return [0.0] * forms, AS_FORM, options
    penalties = [casing_costs.LOWER_PENALTY if shape == Shape.LOWER else 0 for shape in range(4)]
    costs = [casing_costs.SCALE * (cost + penalty) for cost, penalty in zip(costs, penalties, strict=True)]
    if not forms:
        if not guess:
            return [], AS_FORM, options
        return [], costs.index(min(costs)), [*costs, math.inf]
    seen = context.shapes[first : first + forms].tolist()
    is_name = Shape.MIXED in seen and Shape.CAPITALIZED not in seen
    if is_name:
        costs[Shape.MIXED] = min(costs[Shape.MIXED], costs[Shape.CAPITALIZED])
    arc_costs = [costs[shape] for shape in seen]
    options[4] = arc_costs[0]
    known = context.words[first]
    for shape in (Shape.LOWER, Shape.UPPER) if is_name else (Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER):
        if shape not in seen and not (shape == Shape.UPPER and known["one_letter"]):
            options[shape] = costs[shape] + float(known["unseen_penalty"])
    arc_costs[0] = min(options)
    return arc_costs, AS_FORM if options[4] <= arc_costs[0] else options.index(arc_costs[0]), options
