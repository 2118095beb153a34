"""A character BiLSTM of two layers of 150 that labels each character as a capital or not (Susanto et al. 2016), with
the vectors of 50, dropout of 0.25 and Adam of Mayhew et al. (2020).

Training is on one core: in bfloat16 and small batches, until the loss on held-out sentences, a fiftieth of them, hardly
falls. The model is the moving average of the weights.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from peers import Recase, Sentence, lowered, with_capitals

TAGGER = "tagger.pt"
EPOCHS, BATCH, RATE, DECAY, HELD_OUT, RARE, SEED = 8, 32, 0.002, 0.998, 50, 5, 1
PADDING, UNKNOWN, FIRST = 0, 1, 2  # codes of characters

torch.set_num_threads(1)  # results depend on the number


class Tagger(nn.Module):
    """The log-odds of each character's capital: float32[time, batch] from codes of characters, int64[time, batch]."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, 50, PADDING)
        self.lstm = nn.LSTM(50, 150, 2, dropout=0.25, bidirectional=True)
        self.dropout = nn.Dropout(0.25)
        self.output = nn.Linear(300, 1)

    def forward(self, codes: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.output(self.dropout(self.lstm(self.embedding(codes))[0])).squeeze(-1).float()


def batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indices of texts of similar length."""
    order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    for k in range(0, len(order), BATCH):
        yield order[k : k + BATCH]


def padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Return rows as the columns of int64[time, batch]. Times are multiples of 16: PyTorch prepares for each one."""
    length = -(-max(map(len, rows), default=0) // 16) * 16
    return torch.tensor([[*row, *[fill] * (length - len(row))] for row in rows]).T.contiguous()


def codes(texts: Sequence[str], alphabet: dict[str, int]) -> Tensor:
    return padded([[alphabet.get(c, UNKNOWN) for c in lowered(text)] for text in texts], PADDING)


def loss(tagger: Tagger, texts: Sequence[str], alphabet: dict[str, int]) -> tuple[Tensor, int]:
    """Return the sum of the cross-entropies, in nats, of all characters of cased texts, and their number."""
    capitals = padded([[c != lowered(c) for c in text] for text in texts], 0).float()
    inputs = codes(texts, alphabet)
    losses = nn.functional.binary_cross_entropy_with_logits(tagger(inputs), capitals, reduction="none")
    known = inputs != PADDING
    return losses[known].sum(), int(known.sum())


def train(sentences: list[Sentence], folder: Path) -> dict[str, Any]:
    """Train the model; return the losses of each epoch, in nats per character: in training, and held out."""
    torch.manual_seed(SEED)
    shuffled = random.Random(SEED)
    texts = [" ".join(sentence) for sentence in sentences]
    held_out, kept = texts[::HELD_OUT], [text for k, text in enumerate(texts) if k % HELD_OUT]
    counts = Counter(lowered("".join(kept)))
    alphabet = {c: k for k, c in enumerate(sorted(c for c, n in counts.items() if n >= RARE), FIRST)}
    tagger = Tagger(FIRST + len(alphabet))
    optimizer = torch.optim.Adam(tagger.parameters(), lr=RATE)
    average = AveragedModel(tagger, multi_avg_fn=get_ema_multi_avg_fn(DECAY))
    groups = list(batches(kept))
    losses = []
    for epoch in range(EPOCHS):
        shuffled.shuffle(groups)
        total, characters = 0.0, 0
        for group in groups:
            each, number = loss(tagger, [kept[k] for k in group], alphabet)
            optimizer.zero_grad()
            (each / number).backward()
            nn.utils.clip_grad_norm_(tagger.parameters(), 5)
            optimizer.step()
            average.update_parameters(tagger)
            total, characters = total + each.item(), characters + number
        average.eval()
        with torch.inference_mode():
            sums = [loss(average.module, [held_out[k] for k in group], alphabet) for group in batches(held_out)]
        unseen = sum(each.item() for each, _ in sums) / sum(number for _, number in sums)
        losses.append((total / characters, unseen))
        print(f"epoch {epoch + 1}: loss {total / characters:.5f}, held out {unseen:.5f}", file=sys.stderr, flush=True)
        torch.save({"alphabet": alphabet, "tagger": average.module.state_dict()}, folder / TAGGER)
    return {"epochs": EPOCHS, "losses": losses}


def load(folder: Path) -> Recase:
    saved = torch.load(folder / TAGGER)
    tagger = Tagger(FIRST + len(saved["alphabet"]))
    tagger.load_state_dict(saved["tagger"])
    tagger.eval()

    def recase(sentences: list[Sentence]) -> list[Sentence]:
        texts = list(map(" ".join, sentences))
        cased: list[Sentence] = [[] for _ in texts]
        with torch.inference_mode():
            for group in batches(texts):
                capitals = (tagger(codes([texts[k] for k in group], saved["alphabet"])) > 0).T.tolist()
                for k, row in zip(group, capitals, strict=True):
                    cased[k] = with_capitals(sentences[k], row)
        return cased

    return recase
