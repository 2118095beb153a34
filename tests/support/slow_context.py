"""A slow twin of context/weigh.py: what the context model says of a text, in plain Python from the same arrays."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from support.plain_context import (
    Fact,
    decision,
    describe,
    first_features,
    is_capital,
    lines_of,
    own_features,
    second_features,
    softmax,
)  # fmt: skip

from capfst.casing.shapes import AS_FORM, Shape, shape_of
from capfst.casing.transducer import Words
from capfst.context import features, learn, weigh
from capfst.context.classes import RARE
from capfst.context.model import SHARED, Context
from capfst.context.words import BARE, BEGIN, UNSEEN
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD, canonical
from capfst.text.unicode import INFO, lower


class Said(NamedTuple):
    """As weigh.CasingCosts, by word."""

    weights: list[list[float]]
    shapes: list[int]
    options: list[list[float]]


def said(context: Context, buf: npt.NDArray[np.uint8], words: Words, plain: bool, guess: bool) -> Said:
    """What the context model says of a text."""
    tokens = list(zip(*(array.tolist() for array in words), strict=True))
    lines: list[list[int]] = [[]]
    for i, (_, _, kind, _, _) in enumerate(tokens):
        if kind == NEWLINE:
            lines.append([])
        else:
            lines[-1].append(i)
    facts, hashes = [], {}
    for line in lines:
        facts.append([])
        for place, i in enumerate(line):
            start, end, kind, first, forms = tokens[i]
            place = min(place, features.FAR)
            if forms:
                known = context.known[first]
                e = BARE if context.shapes[first] == Shape.CASELESS else int(known["evidence"])
                facts[-1].append(
                    Fact(
                        int(known["word"]),
                        int(known["two"]),
                        e,
                        int(known["lead"]),
                        place,
                        *known[["small", "capital"]].tolist(),
                    )
                )
                continue
            hashes[i], cased = unseen(buf, start, end, kind, plain)
            facts[-1].append(Fact(hashes[i][0], hashes[i][7], UNSEEN if cased else BARE, 0, place, RARE, RARE))
    every, places = lines_of(facts)
    costs: dict[int, list[float]] = {}
    for line, at in zip(lines, places, strict=True):
        costs |= line_costs(context, tokens, every, dict(zip(at, line, strict=True)), hashes)
    found = [word(context, token, costs.get(i), guess) for i, token in enumerate(tokens)]
    return Said([w for w, _, _ in found], [shape for _, shape, _ in found], [options for _, _, options in found])


def unseen(buf: npt.NDArray[np.uint8], start: int, end: int, kind: int, plain: bool) -> tuple[list[int], bool]:
    """The hashes of an OOV token, and whether it has case."""
    text = np.frombuffer(lower(buf[start:end].tobytes().decode()).encode(), np.uint8)
    cased = kind in (WORD, COMPOUND)
    if not (plain and cased):
        out = np.empty(len(text) + 8, np.uint8)
        text, whole = out, text
        text = text[: canonical(whole, 0, len(whole), kind, out)]
    return describe(text.tobytes().decode()), cased and shape_of(text, 0, len(text), INFO) != Shape.CASELESS


def row(table: npt.NDArray[np.uint32], feature: int) -> list[int]:
    """The weights of a row, unless another row has its place."""
    number = feature % (SHARED * len(table)) // len(table)
    *weights, owner = int(table[feature % len(table)]).to_bytes(4, "little")
    return [0, *(weight - 128 for weight in weights)] if owner == number + 1 else [0] * 4


def total(table: npt.NDArray[np.uint32], found: list[int]) -> list[int]:
    return [sum(column) for column in zip(*(row(table, feature) for feature in found), strict=True)]


def line_costs(
    context: Context, tokens: list, facts: list[Fact], line: dict[int, int], hashes: dict[int, list[int]]
) -> dict[int, list[float]]:
    """−ln p of the shapes of each word of a line that has case; line: the word at each place."""
    votes = [0] * len(context.scales)
    for i in line.values():
        if tokens[i][4]:
            votes = [vote + int(told) for vote, told in zip(votes, context.known[tokens[i][3]]["told"], strict=False)]
    kind = votes.index(max(votes))
    scale, scale2 = context.scales[kind]
    decisions = [features.NO_DECISION] * len(facts)
    p: dict[int, list[float]] = {}
    for t, i in line.items():
        if facts[t].evidence >= BEGIN:
            continue
        z = total(context.first[kind], first_features(facts, t))
        if i in hashes:
            own = total(context.first[kind], own_features(hashes[i], UNSEEN))
        else:
            own = [0, *context.own[kind, tokens[i][3]].tolist()]
        p[t] = softmax([scale * (a + b) for a, b in zip(z, own, strict=True)])
        decisions[t] = decision(p[t])
    capitals = sum(is_capital(decisions[t]) for t in p)
    costs = {}
    for t, q in p.items():
        if max(q) < learn.SURE:
            z = total(context.second[kind], second_features(facts, decisions, t, capitals, len(p)))
            q = softmax([learn.BASE * math.log(x) + scale2 * w for x, w in zip(q, z, strict=True)])
        costs[line[t]] = [-math.log(max(x, 1e-300)) for x in q]
    return costs


def word(
    context: Context, token: tuple[int, ...], costs: list[float] | None, guess: bool
) -> tuple[list[float], int, list[float]]:
    """The weights of a word's forms, its shape, its options."""
    _, _, _, first, forms = token
    options = [math.inf] * 4 + [0.0]
    if costs is None:
        return [0.0] * forms, AS_FORM, options
    costs = [weigh.SCALE * (cost + (weigh.BIAS if shape == Shape.LOWER else 0)) for shape, cost in enumerate(costs)]
    if not forms:
        if not guess:
            return [], AS_FORM, options
        return [], costs.index(min(costs)), [*costs, math.inf]
    seen = context.shapes[first : first + forms].tolist()
    weights = [costs[shape] for shape in seen]
    options[4] = weights[0]
    known = context.known[first]
    for shape in (Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER):
        if shape not in seen and not (shape == Shape.UPPER and known["single"]):
            options[shape] = costs[shape] + float(known["penalty"])
    weights[0] = min(options)
    return weights, AS_FORM if options[4] <= weights[0] else options.index(weights[0]), options
