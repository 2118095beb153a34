"""A network that reads the words around a gap, and the rest of the text through gated recurrences.

In: numbers of words, int32[n]. Out: P, float32[n, 4], the probability of each mark after each word.

With e(t) the sum of three embeddings of word t (its own, its class's and its ending's), the gap after word t has

    h0(t) = relu(A [e(t−3) … e(t+4)])
    h1(t) = reading of h0, h2(t) = reading of h1
    P(t) = softmax(B h2(t))

and a reading of h, which has matrices of its own, is

    f(t) = sigmoid(F h(t)), c(t) = tanh(C h(t))
    s(t) = f(t) s(t−1) + (1 − f(t)) c(t); r(t) is the same in the other direction, with other units
    relu(U [h(t) s(t) r(t)])

f does not depend on s, so all matrix products are computed for many words at once, as in quasi-recurrent networks
(Bradbury, Merity, Xiong & Socher 2017). A second output, which reads h1, is only used in training.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from capfst.kernels import kernel
from capfst.kernels.types import Array
from helpers.marked_words import SYMBOLS, Marked

BACK, AHEAD = 4, 4
"""Words of the window, before and after the gap."""
EMBEDDING, WINDOW, READINGS = 48, 96, ((64, 96), (48, 64))
"""Sizes: of embeddings, of h0, and of each reading: its units per direction, and those of its result."""
CONTEXT = 32
"""Words on each side of a stretch of text that are read in training, but whose marks are not learned."""
BLOCK, OVERLAP = 2_000, 64
"""Words whose marks are predicted at once, and words on each side that are read with them."""
BATCH, WARM_UP, BETAS, LARGEST = 4, 200, (0.9, 0.98), 1.0
OF_FIRST = 0.2
"""Weight of the loss of the second output."""
NO_MARK = -100
"""The target of gaps after the end of the text."""

F32Cube: TypeAlias = Annotated[npt.NDArray[np.float32], Array(np.dtype(np.float32), 3)]

torch.set_num_threads(1)  # results depend on the number


class Words(NamedTuple):
    """Numbers of embeddings, int64[words]."""

    own: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    endings: npt.NDArray[np.int64]


class Course(NamedTuple):
    """A way to learn from text. Adam's rate falls to the fraction `last`; `length`: words per stretch of text."""

    epochs: int
    rate: float
    last: float
    length: int = 512
    dropout: float = 0.0


@kernel
def _scan(f: F32Cube, x: F32Cube, s: F32Cube) -> None:
    """Fill s(t) = x(t) + f(t) s(t−1); for the second half of the units, x(t) + f(t) s(t+1).

    All are float32[texts, time, units].
    """
    last, half = f.shape[1] - 1, f.shape[2] // 2
    for text in range(len(f)):
        for unit in range(half):
            s[text, 0, unit] = x[text, 0, unit]
            s[text, last, half + unit] = x[text, last, half + unit]
        for t in range(1, last + 1):
            for unit in range(half):
                s[text, t, unit] = x[text, t, unit] + f[text, t, unit] * s[text, t - 1, unit]
        for t in range(last - 1, -1, -1):
            for unit in range(half, 2 * half):
                s[text, t, unit] = x[text, t, unit] + f[text, t, unit] * s[text, t + 1, unit]


@kernel
def _scan_gradients(f: F32Cube, s: F32Cube, of_s: F32Cube, of_f: F32Cube, of_x: F32Cube) -> None:
    """Fill the gradients of f and x, given that of s."""
    last, half = f.shape[1] - 1, f.shape[2] // 2
    for text in range(len(f)):
        for unit in range(half):
            of_x[text, last, unit] = of_s[text, last, unit]
            of_x[text, 0, half + unit] = of_s[text, 0, half + unit]
            of_f[text, 0, unit] = 0
            of_f[text, last, half + unit] = 0
        for t in range(last - 1, -1, -1):
            for unit in range(half):
                of_x[text, t, unit] = of_s[text, t, unit] + f[text, t + 1, unit] * of_x[text, t + 1, unit]
                of_f[text, t + 1, unit] = of_x[text, t + 1, unit] * s[text, t, unit]
        for t in range(1, last + 1):
            for unit in range(half, 2 * half):
                of_x[text, t, unit] = of_s[text, t, unit] + f[text, t - 1, unit] * of_x[text, t - 1, unit]
                of_f[text, t - 1, unit] = of_x[text, t - 1, unit] * s[text, t, unit]


class Scan(torch.autograd.Function):
    """s of `_scan`."""

    @staticmethod
    def forward(ctx: Any, f: Tensor, x: Tensor) -> Tensor:
        s = torch.empty_like(x)
        _scan(f.detach().numpy(), x.detach().numpy(), s.numpy())
        ctx.save_for_backward(f, s)
        return s

    @staticmethod
    def backward(ctx: Any, of_s: Tensor) -> tuple[Tensor, Tensor]:
        f, s = ctx.saved_tensors
        of_f, of_x = torch.empty_like(f), torch.empty_like(f)
        _scan_gradients(f.numpy(), s.numpy(), of_s.contiguous().numpy(), of_f.numpy(), of_x.numpy())
        return of_f, of_x


class Reading(nn.Module):
    """A reading of h, float32[texts, time, size]."""

    def __init__(self, size: int, units: int, result: int) -> None:
        super().__init__()
        self.units = units
        self.gates = nn.Linear(size, 4 * units)  # f in both directions, then c
        self.result = nn.Linear(size + 2 * units, result)
        with torch.no_grad():  # at first, units forget at different speeds
            self.gates.bias[: 2 * units] += torch.linspace(-1, 3, units).repeat(2)

    def forward(self, h: Tensor) -> Tensor:
        f, c = self.gates(h).float().chunk(2, -1)
        f, c = f.sigmoid(), c.tanh()
        s = Scan.apply(f, torch.addcmul(c, f, c, value=-1))
        return torch.relu_(self.result(torch.cat([h, s.to(h.dtype)], -1)))


class Network(nn.Module):
    """The network, for training. `Predictor` is faster."""

    def __init__(self, words: Words, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._words = [torch.from_numpy(numbers) for numbers in words]
        self.embeddings = nn.ModuleList(
            nn.Embedding(int(numbers.max()) + 1, EMBEDDING, sparse=not k) for k, numbers in enumerate(words)
        )
        for embedding, deviation in zip(self.embeddings, (0.05, 0.5, 0.1), strict=True):
            nn.init.normal_(embedding.weight, 0, deviation)
        self.window = nn.Linear((BACK + AHEAD) * EMBEDDING, WINDOW)
        sizes = [WINDOW, *(result for _, result in READINGS)]
        self.readings = nn.ModuleList(
            Reading(size, *reading) for size, reading in zip(sizes[:-1], READINGS, strict=True)
        )
        self.outputs = nn.ModuleList(nn.Linear(result, len(SYMBOLS)) for result in sizes[1:])
        self.dropout = nn.Dropout(0.0)

    def embedded(self, words: Tensor | slice = slice(None)) -> Tensor:
        """Return e of words, or of all words."""
        return sum(embedding(of[words]) for embedding, of in zip(self.embeddings, self._words, strict=True))

    def forward(self, embedded: Tensor) -> list[Tensor]:
        """Return the scores of marks, float32[texts, time, 4], of both outputs."""
        length = embedded.shape[1]
        padded = functional.pad(self.dropout(embedded), (0, 0, BACK - 1, AHEAD))
        h = torch.cat([padded[:, k : k + length] for k in range(BACK + AHEAD)], -1)
        h = self.dropout(torch.relu_(self.window(h)))
        scores = []
        for reading, output in zip(self.readings, self.outputs, strict=True):
            h = self.dropout(reading(h))
            scores.append(output(h).float())
        return scores

    def learn(self, text: Marked, course: Course) -> None:
        """Learn from text: Adam on the cross-entropy of the marks, with products of 16 bits."""
        own, *others = self.embeddings
        dense = [parameter for module in (*others, *list(self.children())[1:]) for parameter in module.parameters()]
        optimizers = [torch.optim.Adam(dense, betas=BETAS), torch.optim.SparseAdam(own.parameters(), betas=BETAS)]
        steps = course.epochs * (len(text.words) // (course.length * BATCH) + 1)
        self.dropout.p = course.dropout
        self.train()
        step = 0
        for _ in range(course.epochs):
            for words, marks in self._batches(text, course.length):
                rate = course.rate * (course.last + (1 - course.last) * (1 - step / steps))
                for optimizer in optimizers:
                    optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / WARM_UP)
                    optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16):
                    scores = self(self.embedded(words).bfloat16())
                losses = [
                    functional.cross_entropy(
                        of[:, CONTEXT:-CONTEXT].flatten(0, 1), marks.flatten(), ignore_index=NO_MARK
                    )
                    for of in scores
                ]
                (losses[-1] + OF_FIRST * losses[0]).backward()
                nn.utils.clip_grad_norm_(dense, LARGEST)
                for optimizer in optimizers:
                    optimizer.step()
                step += 1
        self.eval()

    def _batches(self, text: Marked, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield stretches of text in random order: words with CONTEXT on both sides, int64[texts, time], and marks."""
        starts = np.arange(-int(self._random.integers(length)), len(text.words), length)
        self._random.shuffle(starts)
        words = np.pad(text.words.astype(np.int64), length + CONTEXT)
        marks = np.pad(text.marks.astype(np.int64), length, constant_values=NO_MARK)
        for begin in range(0, len(starts), BATCH):
            first = starts[begin : begin + BATCH, None] + length
            yield (
                torch.from_numpy(words[first + np.arange(length + 2 * CONTEXT)]),
                torch.from_numpy(marks[first + np.arange(length)]),
            )


class Predictor:
    """P of a network whose numbers have 32 or, if `is_short`, 16 bits."""

    def __init__(self, network: Network, is_short: bool = False) -> None:
        self._network = deepcopy(network).to(torch.bfloat16 if is_short else torch.float32)
        with torch.inference_mode():
            self._embedded = self._network.embedded()

    def __call__(self, text: Marked) -> npt.NDArray[np.float32]:
        words = torch.from_numpy(text.words.astype(np.int64))
        p = []
        with torch.inference_mode():
            for begin in range(0, len(words), BLOCK):
                first = max(0, begin - OVERLAP)
                scores = self._network(self._embedded[None, words[first : begin + BLOCK + OVERLAP]])[-1][0]
                p.append(scores[begin - first :][:BLOCK].softmax(-1))
        return torch.cat(p).numpy()
