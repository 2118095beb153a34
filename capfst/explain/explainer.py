"""Explain a line: take the costs of its best casings apart, and find the best path through each other one.

In: a pipeline, and a text. Out: an `Explanation`. Its costs are those of `nbest`, and the parts add up to them:
arcs.py takes the costs of casings apart, and finds the paths, lm/query.py the n-grams, and
context/contributions.py the reasons of the context model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.types import KEEPS_FIRST, LabelPath, Words
from capfst.context.casing_costs import LOWER_PENALTY, SCALE
from capfst.context.contributions import Reasons, contributions
from capfst.exceptions import CorpusError, OptionError, quantity
from capfst.explain import explanation as ex
from capfst.explain.arcs import CONTEXT, GAP, LM, Arc, Paths, arc_parts, casing_costs
from capfst.io.alignments import Block
from capfst.io.documents import documents, lines_of
from capfst.pipeline import Pipeline
from capfst.search.confidence import spellings
from capfst.text.given import Text
from capfst.text.sentences import openings
from capfst.text.utf8 import decoded

_LOWER, _UNSEEN = "lower case costs more anywhere", "a casing that the LM has not seen"
_DRAWN = 6.0  # the arcs of the lattice whose best path costs at most so much more than the best


def line_of_text(pipeline: Pipeline, block: Block, number: int) -> tuple[Text, Words, Block, int]:
    """Return the line with this number, from 1, as a text, its words, the same with its source, and the number of the
    line in it, from 0; with the option `document`, with the lines of its document."""
    pipeline.options.check_call("explain")
    if not pipeline.options.document:
        if number != 1:
            raise OptionError(f"`line` is {number}. Use 1, or set `document` to explain a line of a document.")
        return *pipeline.line(block), block, 0
    pipeline.options.check_call("single_line")
    left = number
    for lines in documents(lines_of(block.target) if block.target else [b""]):
        if 1 <= left <= len(lines):
            block = block._replace(target=b"".join(lines))
            text = pipeline.text(np.frombuffer(block.target, np.uint8), block)
            return text, pipeline.words(text.buf), block, left - 1
        left -= len(lines)
    raise OptionError(f"`line` is {number}, but the text has {quantity(number - left, 'line')}. Use one of them.")


class _Explainer:
    """The lattice of a line, and the parts of its costs."""

    def __init__(self, pipeline: Pipeline, text: Text, words: Words, block: Block, number: int) -> None:
        self.pipeline, self.lm, self.whole = pipeline, pipeline.loaded.lm, (text.buf, words)
        self.line, self.parts, self.in_context = arc_parts(pipeline, text.buf, words, block, number)
        given = text.given.tobytes().split(b"\n")[number]
        self.text = pipeline.text(np.frombuffer(given, np.uint8), block)._replace(buf=self.line.buf)
        words, costs = self.line.words, self.line.costs
        self.costs = casing_costs(words, costs)
        # Of the most frequent form, or OOV, the casing that is written, if it costs least.
        of_first, every = self.costs[:, : N_SHAPES + 1], np.arange(len(words.starts))
        least = of_first.argmin(1)
        own = least if costs.shapes is None else np.where(costs.shapes == AS_FORM, N_SHAPES, costs.shapes)
        self.columns = np.where(of_first[every, own] <= of_first[every, least], own, least)
        passes: npt.ArrayLike = ()
        keeps = costs.keeps_capital
        if pipeline.options.capitalizes_first or (keeps is not None and (keeps == KEEPS_FIRST).any()):
            language = pipeline.loaded.model.symbols.language
            passes = openings(self.line.buf, words.tokens, pipeline.loaded.pretokenized, language, costs.languages)
        self.paths = Paths(words, pipeline.paths(words, costs, passes), self.lm.unknown, self.columns)
        self.spell = partial(pipeline.spelled, self.text, words, costs)
        self.texts = {key: list(map(decoded, texts)) for key, texts in spellings(words, costs, self.spell).items()}

    def given(self, word: int) -> str:
        """Return a word as it was given."""
        start, end = self.text.offsets(np.array([self.line.words.starts[word], self.line.words.ends[word]]))
        return decoded(self.text.given[start:end].tobytes())

    def arcs_of(self, word: int) -> Iterator[tuple[str, Arc]]:
        """Yield the casings of a word, as it is written."""
        row, has_shapes = self.costs[word].tolist(), self.line.costs.options is not None
        for arc in self.paths.arcs_of(word):
            for column in (arc.column,) if arc.form else range(N_SHAPES + 1):
                cost = arc.through + (row[column] - row[arc.column])
                if cost < np.inf:
                    text = self.texts[arc.form, None if arc.form or not has_shapes else column, arc.is_first][word]
                    yield text, arc._replace(column=column, through=cost)

    def parts_of(self, arcs: list[Arc], with_end: bool = True) -> ex.Parts:
        """Return the parts of the cost of a path, or of a part of it: the LM's, with that of the line's end; that of
        gaps where sentences may begin, if there are any; and those of the casings."""
        is_end = with_end and (not arcs or arcs[-1].word + 1 == len(self.columns))
        parts = {LM: math.fsum(arc.lm for arc in arcs) + (self.end(arcs) if is_end else 0.0)}
        if (self.line.words.begin_odds != 0).any():
            parts[GAP] = math.fsum(arc.gap for arc in arcs)
        for part, costs in self.parts.items():
            parts[part] = math.fsum(costs[arc.word, arc.column] for arc in arcs)
        return parts

    def parts_of_word(self, arc: Arc) -> ex.Parts:
        """Return the parts of the cost of a casing of a word."""
        own = {part: float(costs[arc.word, arc.column]) for part, costs in self.parts.items()}
        return self.parts_of([arc], with_end=False) | own

    def end(self, arcs: list[Arc]) -> float:
        """Return the cost of the end of the line after a path."""
        return self.paths.ends[arcs[-1].target if arcs else 0]

    def line_with(self, path: LabelPath, arcs: list[Arc]) -> str:
        """Return the line as it is written with these casings, and as on the path elsewhere."""
        labels, begins, shapes = path.labels.copy(), path.begins.copy(), self.line.costs.shapes
        of_columns = np.array([*range(N_SHAPES), *[AS_FORM] * (self.costs.shape[1] - N_SHAPES)], np.uint8)
        if shapes is not None:
            shapes = of_columns[self.columns]
        for arc in arcs:
            if self.line.words.n_forms[arc.word]:
                labels[arc.word] = arc.label
            if arc.word + 1 < len(begins):
                begins[arc.word + 1] = arc.ends
            if shapes is not None:
                shapes[arc.word] = of_columns[arc.column]
        costs = self.line.costs._replace(shapes=shapes)
        return decoded(self.pipeline.casing(self.text, self.line.words, LabelPath(labels, begins), costs).data)

    def history(self, arcs: Iterable[Arc], n: int) -> list[str]:
        """Return the last n words that the LM has read after a path, given its arcs from the last to the first."""
        model, start, words = self.lm.model, self.pipeline.engine.starts.line, list[str]()
        for arc in islice(arcs, n):
            if arc.ends:
                start = self.pipeline.engine.starts.sentence
                break
            words.insert(0, model.symbols[arc.label])
        if len(words) < n:
            token = [] if start == model.start else [self.lm.label(self.pipeline.options.start_token)]
            words = ["<s>", *map(model.symbols.__getitem__, token), *words]
        return words[len(words) - n :]

    def ngram(self, arcs: list[Arc]) -> ex.NGram:
        """Return the n-gram by which the LM reads the last word of a path."""
        arc = arcs[-1]
        state = self.paths.states[arc.source]
        backoffs = self.lm.backoffs(state, arc.label)
        words = self.history(arcs[-2::-1], self.lm.context(state) - backoffs)
        cost = self.lm.arc(state, arc.label)[0]
        return ex.NGram((*words, self.lm.model.symbols[arc.label]), backoffs, cost)

    def reasons(self, casing: Arc, other: Arc, found: Reasons) -> tuple[ex.Reason, ...]:
        """Return why the context model holds more, or less, against a casing of a word than against another."""
        context = self.pipeline.context
        sums: dict[str, float] = {}
        for arc, sign in ((casing, 1), (other, -1)):
            assert context is not None
            is_unseen = arc.column < N_SHAPES
            shape = arc.column if is_unseen else int(context.shapes[arc.label])
            if not self.in_context[arc.word, arc.column] or shape == Shape.CASELESS:
                return ()
            costs = {name: -SCALE * float(row[shape]) for name, row in found.items()}
            costs[_LOWER] = SCALE * LOWER_PENALTY if shape == Shape.LOWER else 0.0
            if is_unseen and self.line.words.n_forms[arc.word]:
                costs[_UNSEEN] = float(context.words["unseen_penalty"][arc.label])
            for name, cost in costs.items():
                sums[name] = sums.get(name, 0.0) + sign * cost
        ordered = sorted(sums.items(), key=lambda item: -abs(item[1]))
        return tuple(ex.Reason(name, cost) for name, cost in ordered if cost)

    def forms(
        self, best: list[Arc], path: LabelPath, texts: list[str], found: list[Reasons]
    ) -> Iterator[tuple[ex.ExplainedForm, ...]]:
        """Yield the casings of each word that competed, given the best path and its words, and the reasons of the
        context model."""
        nodes = {0, *(arc.target for arc in best)}
        for word, text in enumerate(texts):
            cheapest = {text: (0.0, best[word])}
            for written, arc in self.arcs_of(word):
                margin = arc.through - best[word].through
                if written != text and (written not in cheapest or margin < cheapest[written][0]):
                    cheapest[written] = max(0.0, margin), arc
            ordered = sorted(cheapest.items(), key=lambda item: (item[1][0], item[0] != text))
            others = [arc for _, (_, arc) in ordered]
            forms = []
            for written, (margin, arc) in ordered:
                detour = self.paths.detour(arc, nodes)
                begin = detour[0].word
                of_best, parts = self.parts_of(best[begin : begin + len(detour)]), self.parts_of(detour)
                other = others[0] if written != text else others[min(1, len(others) - 1)]
                forms.append(
                    ex.ExplainedForm(
                        written, margin, self.parts_of_word(arc),
                        {part: parts[part] - of_best[part] for part in parts},
                        self.ngram([*best[:begin], *detour[: word + 1 - begin]]),
                        self.reasons(arc, other, found[word]) if found else (),
                        self.line_with(path, detour),
                    )
                )  # fmt: skip
            yield tuple(forms)

    def found_reasons(self) -> list[Reasons]:
        """Return the reasons of the context model for the shapes of each word; none without one."""
        pipeline, (buf, words) = self.pipeline, self.whole
        if CONTEXT not in self.parts:
            return []
        assert pipeline.context is not None
        chosen = range(self.line.begin, self.line.begin + len(self.costs))
        transducer = pipeline.loaded.transducer
        return contributions(pipeline.context, buf, words, transducer, pipeline.language, chosen)

    def drawn(self, best: list[Arc]) -> tuple[tuple[str, ...], tuple[ex.LatticeArc, ...]]:
        """Return the states and the arcs of the lattice on paths that cost little more than the best."""
        arcs, numbers = list[ex.LatticeArc](), dict[int, int]()
        for word, of_best in enumerate(best):
            for text, arc in self.arcs_of(word):
                margin = max(0.0, arc.through - best[0].through)
                if margin <= _DRAWN or arc == of_best:
                    source, target = (numbers.setdefault(node, len(numbers)) for node in (arc.source, arc.target))
                    cost = sum(self.parts_of_word(arc).values())
                    arcs.append(
                        ex.LatticeArc(source, target, self.given(word), text, arc.ends, cost, margin, arc == of_best)
                    )
        return tuple(map(self._name, numbers)), tuple(arcs)

    def _name(self, node: int) -> str:
        """Return the words by which the LM goes on from a node."""
        return " ".join(self.history(self.paths.backwards(node), self.lm.context(self.paths.states[node])))


def explain(pipeline: Pipeline, block: Block, n: int = 1, number: int = 1) -> ex.Explanation:
    """Explain the line of a text with this number, from 1, and its n best casings. Errors are those of
    `Recaser.explain`."""
    text, words, block, index = line_of_text(pipeline, block, number)
    explainer = _Explainer(pipeline, text, words, block, index)
    line, words = explainer.line, explainer.line.words
    start = pipeline.start_cost
    casings = []
    for casing, (cost, path) in pipeline.nbest_paths(explainer.text, words, line.costs, n).items():
        if cost == math.inf:
            raise CorpusError("the model excludes all casings of the line, so that there is nothing to explain.")
        arcs = explainer.paths.path_of(path)
        parts = explainer.parts_of(arcs)
        parts[LM] += start
        casings.append((ex.ExplainedCasing(cost, decoded(casing), parts), arcs, path))
    explained, best, path = casings[0]
    data, spelled, tokens = explainer.spell(path, line.costs.shapes)
    texts = list(map(decoded, spelled))
    recased = bytes(pipeline.recase(text.given, block)[1]).split(b"\n")[index]
    of_words, end = [], 0
    for i, forms in enumerate(explainer.forms(best, path, texts, explainer.found_reasons())):
        begin = end + len(decoded(data[tokens.ends[i - 1] if i else 0 : tokens.starts[i]]))
        end = begin + len(texts[i])
        log_odds = forms[1].margin / pipeline.temperature if len(forms) > 1 else math.inf
        of_words.append(ex.ExplainedWord(begin, end, explainer.given(i), bool(path.begins[i]), log_odds, forms))
    return ex.Explanation(
        explained.text,
        decoded(recased),
        explained.cost,
        start,
        explainer.end(best),
        tuple(of_words),
        tuple(each for each, *_ in casings),
        *explainer.drawn(best),
    )
