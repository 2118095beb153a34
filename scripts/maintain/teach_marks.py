"""Learn punctuation from a teacher: a transformer learns from texts, and capfst's network from its decisions.

    \b
    python scripts/maintain/teach_marks.py marks.fst talk/*.txt.zst
    make model SOURCES=../corpora MARKS=marks.fst    # `en` with these marks

As `capfst train --restore punctuation,case`, but for how the network is learned (Hinton, Vinyals & Dean 2015): it is to
find how likely the teacher thinks each mark, and only a little the marks of the text. The teacher is an encoder of ten
layers (Vaswani et al. 2017), which reads 256 words at once, of which an eighth are masked. It learns the marks, and a
little the masked words (Devlin et al. 2019): from all of the text, and then from the part that counts the sources more
alike (capfst/punctuation/train.py). The network learns with its weights rounded as in a model.

It needs PyTorch and a GPU (ten minutes on a large one), and does not give the same bytes twice. With --quick, a tiny
teacher learns for a few steps: a test of the script.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

import capfst
import capfst.punctuation.train
from capfst.cli.exit_status import exit_status
from capfst.kernels.memory import LANES, REAL_COLUMNS
from capfst.punctuation import network as net
from capfst.punctuation.learn import CONTEXT, EARLY_WEIGHT, STRETCH, Stage
from capfst.punctuation.learn import Text as Words
from capfst.system.progress import progress

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ONE_IN = 8
"""One word in this many is masked."""
MASKED_WEIGHT = 0.1
"""The weight of −ln P of the masked words."""
FOR_ALL = 0.35
"""The part of the teacher's steps in which it learns from all texts."""
SOFT = 0.9
"""The weight of the teacher's decisions; the rest is that of the marks of the text."""
EDGE = 32
"""Words at each end of 320 whose marks the teacher does not decide."""
_ONE, _MOST = 32, 127  # of what the layers give each other, in 8 bits


class Sizes:
    """Of the teacher, and the numbers of steps."""

    width, layers, batch, teacher_steps, network_steps = 640, 10, 256, 3_700, 12_000

    @classmethod
    def quick(cls) -> None:
        cls.width, cls.layers, cls.batch, cls.teacher_steps, cls.network_steps = 64, 2, 4, 10, 10


class Block(nn.Module):
    """A layer of the encoder, with rotary positions (Su et al. 2021)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // 64
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        sizes = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
        self.read, self.write, self.up, self.down = (nn.Linear(*size, bias=False) for size in sizes)
        for layer in (self.read, self.up):
            nn.init.normal_(layer.weight, std=0.02)
        for layer in (self.write, self.down):
            nn.init.zeros_(layer.weight)

    def forward(self, x: Tensor) -> Tensor:
        n, size, width = x.shape
        angles = torch.arange(size, device=x.device)[:, None] * 1e4 ** (-torch.arange(32, device=x.device) / 32)
        cosine, sine = angles.cos(), angles.sin()

        def turned(y: Tensor) -> Tensor:
            a, b = y.float().chunk(2, -1)
            return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1).to(value.dtype)

        query, key, value = self.read(self.before(x)).view(n, size, 3, self.heads, 64).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(turned(query), turned(key), value)
        x = x + functional.dropout(self.write(heads.transpose(1, 2).reshape(n, size, width)), 0.1, self.training)
        new = self.down(functional.gelu(self.up(self.between(x))))
        return x + functional.dropout(new, 0.1, self.training)


class Teacher(nn.Module):
    """Gives the scores of the marks after each word, and those of masked words."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self.words, self.endings = nn.Embedding(n_rows + 2, Sizes.width), nn.Embedding(net.N_ENDINGS + 1, Sizes.width)
        for table in (self.words, self.endings):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(Sizes.width) for _ in range(Sizes.layers))
        self.last = nn.LayerNorm(Sizes.width)
        self.marks, self.masked = nn.Linear(Sizes.width, len(net.MARKS)), nn.Linear(Sizes.width, Sizes.width)

    def forward(self, rows: Tensor, endings: Tensor) -> Tensor:
        """rows: −1 for paddings, and the number of rows for masked words."""
        x = self.words(rows + 1) + self.endings(endings)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Muon:
    """Steps of the blocks' matrices along orthogonalized gradients (Jordan et al. 2024)."""

    def __init__(self, blocks: nn.ModuleList) -> None:
        names = "read", "write", "up", "down"
        self._groups = [[getattr(block, name).weight for block in blocks] for name in names]
        self._means = [torch.zeros(len(group), *group[0].shape, device=DEVICE) for group in self._groups]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for group, mean in zip(self._groups, self._means, strict=True):
            gradient = torch.stack([weights.grad for weights in group]).float()
            mean.lerp_(gradient, 0.05)
            step = self._orthogonal(gradient.lerp(mean, 0.95)).float()
            step *= max(1, step.shape[1] / step.shape[2]) ** 0.5
            for weights, change in zip(group, step, strict=True):
                weights.mul_(1 - 0.02 * rate).add_(change, alpha=-rate)
                weights.grad = None

    @staticmethod
    def _orthogonal(x: Tensor) -> Tensor:
        is_tall = x.shape[-2] > x.shape[-1]
        x = (x.mT if is_tall else x).bfloat16()
        x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
        for _ in range(5):
            square = x @ x.mT
            x = 3.4445 * x + (2.0315 * square @ square - 4.775 * square) @ x
        return x.mT if is_tall else x


def half() -> torch.autocast:
    return torch.autocast(DEVICE, torch.bfloat16)


def on_device(array: Any) -> Tensor:
    return torch.as_tensor(array.astype(np.int32)).to(DEVICE)


def stretches(n: int, size: int, batch: int, random: np.random.Generator) -> Iterator[Tensor]:
    """Yield without end the words of some stretches of a text of n words, int64[batch, size]."""
    batch = min(batch, n // size - 1)
    while True:
        starts = np.arange(int(random.integers(size)), n - size, size)
        random.shuffle(starts)
        for begin in range(0, len(starts) - batch + 1, batch):
            yield (torch.as_tensor(starts[begin : begin + batch])[:, None] + torch.arange(size)).to(DEVICE)


def rate_at(step: int, steps: int, warm_up: int = 100) -> float:
    return min(1, (step + 1) / warm_up) * max(0.01, 1 - step / steps)


def report(name: str, step: int, loss: float, begun: float) -> None:
    if step % 200 == 0:
        click.echo(f"{name}: step {step}, −ln P {loss:.4f}, {time.time() - begun:.0f} s", err=True)


def taught(texts: tuple[Words, Words], n_rows: int) -> Tensor:
    """Learn a teacher from two texts; return the probability of each mark after each word of the first one,
    float16[words, marks]."""
    random, begun = np.random.default_rng(1), time.time()
    tensors = [tuple(map(on_device, text)) for text in texts]
    teacher = Teacher(n_rows).to(DEVICE)
    fast = torch.compile(teacher) if DEVICE == "cuda" else teacher
    muon = Muon(teacher.blocks)
    matrices = {id(weights) for block in teacher.blocks for weights in block.parameters() if weights.ndim > 1}
    others = [weights for weights in teacher.parameters() if id(weights) not in matrices]
    adam = torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0)
    batches = [stretches(len(text.rows), 256, Sizes.batch, random) for text in texts]
    for step in range(Sizes.teacher_steps):
        which = int(step >= FOR_ALL * Sizes.teacher_steps)
        rows, endings, marks = (each[next_].long() for next_ in [next(batches[which])] for each in tensors[which])
        hidden = torch.rand(rows.shape, device=DEVICE).topk(rows.shape[1] // ONE_IN, 1).indices
        with half():
            x = fast(rows.scatter(1, hidden, n_rows), endings.scatter(1, hidden, net.N_ENDINGS))
            of_marks = functional.cross_entropy(teacher.marks(x).float().mT, marks, ignore_index=255)
            of_hidden = functional.gelu(teacher.masked(x.gather(1, hidden[..., None].expand(-1, -1, x.shape[-1]))))
            scores = functional.linear(of_hidden, teacher.words.weight[: n_rows + 1])
            of_words = functional.cross_entropy(scores.float().mT, rows.gather(1, hidden) + 1)
        (of_marks + MASKED_WEIGHT * of_words).backward()
        nn.utils.clip_grad_norm_(others, 1.0)
        rate = rate_at(step, Sizes.teacher_steps)
        for group in adam.param_groups:
            group["lr"] = 1.5e-3 * rate
        muon.step(0.02 * rate)
        adam.step()
        adam.zero_grad()
        report("teacher", step, of_marks.item(), begun)
    return decisions(teacher.eval(), *tensors[0][:2])


@torch.no_grad()
def decisions(teacher: Teacher, rows: Tensor, endings: Tensor) -> Tensor:
    inner = 256
    n = -(-len(rows) // inner) * inner
    padded = [functional.pad(x, (EDGE, n - len(x) + EDGE), value=v) for x, v in ((rows, -1), (endings, 0))]
    parts = [x.unfold(0, inner + 2 * EDGE, inner).split(256) for x in padded]
    found = []
    with half():
        for part in zip(*parts, strict=True):
            scores = teacher.marks(teacher(*(each.long() for each in part))).float()
            found.append(scores[:, EDGE:-EDGE].softmax(-1).reshape(-1, len(net.MARKS)).half())
    return torch.cat(found)[: len(rows)]


class Scan(torch.autograd.Function):
    """s(t) = a(t) s(t − 1) + u(t), of [time, …]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, u: Tensor) -> Tensor:
        s = u.clone()
        for t in range(1, len(u)):
            s[t].addcmul_(a[t], s[t - 1])
        ctx.save_for_backward(a, s)
        return s

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, Tensor]:
        a, s = ctx.saved_tensors
        of_u = above.clone()
        for t in range(len(above) - 2, -1, -1):
            of_u[t].addcmul_(a[t + 1], of_u[t + 1])
        of_a = torch.zeros_like(a)
        of_a[1:] = of_u[1:] * s[:-1]
        return of_a, of_u


def rounded(x: Tensor, unit: Tensor | float, most: float) -> Tensor:
    """Return x as multiples of `unit`; gradients pass through."""
    return x + ((x.detach() / unit).round().clamp(-most, most) * unit - x.detach())


def dense(layer: nn.Linear, x: Tensor) -> Tensor:
    unit = layer.weight.detach().abs().amax(1, keepdim=True) / net.LARGEST_WEIGHT
    return functional.linear(x, rounded(layer.weight, unit, net.LARGEST_WEIGHT), layer.bias).float()


def positive(layer: nn.Linear, x: Tensor) -> Tensor:
    return rounded(functional.relu(dense(layer, x)).clamp(max=_MOST / _ONE), 1 / _ONE, _MOST)


def windows(x: Tensor, back: int, ahead: int) -> Tensor:
    padded = functional.pad(x, (0, 0, back - 1, ahead))
    return torch.cat([padded[:, k : k + x.shape[1]] for k in range(back + ahead)], -1)


def q(x: Tensor) -> Tensor:
    x = x.clamp(-2, 2)
    return x * (1 - x.abs() / 4)


class Student(nn.Module):
    """The network of capfst/punctuation/network.py, with weights that are rounded as there. The outputs of gates are
    those of F and then of C, in each the forward direction first."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self.words, self.endings = nn.Embedding(n_rows, net.EMBEDDING), nn.Embedding(net.N_ENDINGS, net.EMBEDDING)
        nn.init.normal_(self.words.weight, std=0.05)
        nn.init.normal_(self.endings.weight, std=0.1)
        widths = net.WINDOW, 4 * net.UNITS1, len(net.MARKS), net.RESULT1, 4 * net.UNITS2, net.RESULT2, len(net.MARKS)
        self.dense = nn.ModuleList(nn.Linear(inputs, n) for (inputs, _), n in zip(net.SIZES, widths, strict=True))
        for gates, units in ((self.dense[1], net.UNITS1), (self.dense[4], net.UNITS2)):
            with torch.no_grad():
                gates.bias[: 2 * units] += torch.linspace(-0.5, 1.5, units).repeat(2)

    def unit(self, ending_of: Tensor) -> float:
        known = self.words.weight[1:] + self.endings(ending_of[1:])
        rare = self.words.weight[0] + self.endings.weight
        return float(max(known.detach().abs().max(), rare.detach().abs().max())) / net.LARGEST_EMBEDDED

    def forward(self, rows: Tensor, endings: Tensor, unit: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the early scores, the scores of gaps in doubt, where these are, and which of them are."""
        window, gates1, early, result1, gates2, result2, output = self.dense
        is_padding = rows < 0
        x = rounded(self.words(rows.clamp(min=0)) + self.endings(endings), unit, net.LARGEST_EMBEDDED)
        x = x * ~is_padding[..., None]
        begins = is_padding | functional.pad(is_padding[:, :-1], (1, 0), value=True)
        h1 = self._read(
            positive(window, windows(x, net.BACK, net.AHEAD)), gates1, windows(x, net.NEAR_BACK, net.NEAR_AHEAD), begins
        )
        first = dense(early, h1)
        is_doubtful = (first[..., 1:].amax(-1) > first[..., 0] - net.DOUBT) & ~is_padding
        at = (~is_doubtful).byte().argsort(dim=1, stable=True)[:, : max(1, int(is_doubtful.sum(1).max()))]
        is_used = is_doubtful.gather(1, at)
        of_text = begins.cumsum(1).gather(1, at)
        begins2 = functional.pad(of_text[:, 1:] != of_text[:, :-1], (1, 0), value=True)
        h2 = positive(result1, h1.gather(1, at[..., None].expand(-1, -1, h1.shape[-1])) * is_used[..., None])
        h3 = positive(result2, self._read(h2, gates2, h2, begins2))
        return first, dense(output, h3), at, is_used

    @staticmethod
    def _read(h: Tensor, gates: nn.Linear, read: Tensor, begins: Tensor) -> Tensor:
        f, c = map(q, dense(gates, read).chunk(2, -1))
        f = (1 + f) / 2
        ends = functional.pad(begins[:, 1:], (0, 1), value=True)
        states = []
        for k, is_first in ((0, begins), (1, ends)):
            f_, c_ = (each.chunk(2, -1)[k] for each in (f, c))
            both = f_ * ~is_first[..., None], (1 - f_) * c_
            a, u = (each.flip(1) if k else each for each in both)
            s = Scan.apply(a.transpose(0, 1).contiguous(), u.transpose(0, 1).contiguous()).transpose(0, 1)
            states.append(s.flip(1) if k else s)
        return torch.cat([h, rounded(torch.cat(states, -1), 1 / _ONE, _ONE)], -1)

    def network(self, class_of: npt.NDArray[np.int32]) -> net.Network:
        arrays = [parameter.detach().float().cpu().numpy() for parameter in self.parameters()]
        words, endings, layers = arrays[0], arrays[1], []
        for k, (inputs, outputs) in enumerate(net.SIZES):
            weights, bias = arrays[2 + 2 * k].T, arrays[3 + 2 * k]
            if k in (1, 4):  # blocks of F and C in turn, first those of all units of the forward direction
                order = np.arange(outputs).reshape(2, 2, -1, LANES).transpose(1, 2, 0, 3).ravel()
                weights, bias = weights[:, order], bias[order]
            wide, long = np.zeros((inputs, max(outputs, REAL_COLUMNS)), np.float32), np.zeros(outputs, np.float32)
            wide[:, : weights.shape[1]], long[: len(bias)] = weights, bias
            layers.append(net.Dense(wide, long))
        classes = np.zeros((net.N_CLASSES, net.EMBEDDING), np.float32)
        return net.Network(words, classes, endings, class_of, net.Layers(*layers))


def learn(
    stages: tuple[Stage, Stage], class_of: npt.NDArray[np.int32], _threads: int, advance: Callable[[int], object]
) -> net.Network:
    """Learn a network, as capfst.punctuation.learn.learn does."""
    text, n_rows, begun = stages[0].text, len(class_of), time.time()
    soft = taught((text, stages[1].text), n_rows)
    rows, endings, marks = map(on_device, text)
    ending_of = torch.zeros(n_rows, dtype=torch.long, device=DEVICE)
    ending_of[rows.clamp(min=0).long()] = endings.long()
    student = Student(n_rows).to(DEVICE)
    adam = torch.optim.Adam(student.parameters(), betas=(0.9, 0.98))
    inner = torch.zeros(STRETCH + 2 * CONTEXT, device=DEVICE)
    inner[CONTEXT:-CONTEXT] = 1
    batches = stretches(len(rows), len(inner), 64, np.random.default_rng(2))
    for step in range(Sizes.network_steps):
        at = next(batches)
        truth = marks[at].long()
        weight = inner * (truth < len(net.MARKS))
        target = SOFT * soft[at] + (1 - SOFT) * functional.one_hot(truth.clamp(max=len(net.MARKS) - 1), len(net.MARKS))
        with half():
            early, late, doubtful, is_used = student(rows[at].long(), endings[at].long(), student.unit(ending_of))
        of_early = (-(target * early.log_softmax(-1)).sum(-1) * weight).sum() / weight.sum()
        of_late = -(target.gather(1, doubtful[..., None].expand(-1, -1, len(net.MARKS))) * late.log_softmax(-1)).sum(-1)
        loss = (of_late * weight.gather(1, doubtful) * is_used).sum() / weight.sum()
        adam.zero_grad()
        (loss + EARLY_WEIGHT * of_early).backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        for group in adam.param_groups:
            group["lr"] = 3e-3 * rate_at(step, Sizes.network_steps)
        adam.step()
        report("network", step, loss.item(), begun)
    advance(sum(stage.n_steps for stage in stages))
    return student.network(class_of)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("texts", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="A tiny teacher and few steps: a test.")
def main(model: Path, texts: tuple[str, ...], quick: bool) -> None:
    """Write a MODEL with the punctuation of cased TEXTS."""
    if quick:
        Sizes.quick()
    training: Any = capfst.punctuation.train
    training.learn = learn
    show = partial(progress, quiet=False)
    capfst.train(texts, model, order=1, context=False, clean=False, restore="punctuation,case", progress=show)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
