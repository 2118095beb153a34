"""A component of spaCy pipelines that recases Docs: `nlp.add_pipe("capfst", first=True)`.

In: a Doc. Out: a new Doc with the same tokens in their best casing, for the components that follow. Tokens keep their
lengths, offsets, white space and annotations. `doc._.original_text`, and that of tokens and spans, is the text as it
came.

spaCy imports this module by its entry point (pyproject.toml) for any pipeline, so the recaser is imported at first use.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch

from capfst import models
from capfst.exceptions import ModelError
from capfst.options import RecaseOptions
from capfst.system.atomic import replacing

if TYPE_CHECKING:
    from capfst.recaser import Recaser

_WORD = re.compile(r"\S+")
_MODEL = "cap.fst"  # in the folder of the component

# What a Doc has besides its words.
_ANNOTATIONS: list[int | str] = [
    "NORM", "LEMMA", "TAG", "POS", "MORPH", "HEAD", "DEP", "SENT_START", "ENT_IOB", "ENT_TYPE", "ENT_ID", "ENT_KB_ID",
]  # fmt: skip
_ATTRIBUTES = [
    "cats", "tensor", "sentiment", "has_unknown_spaces", "user_hooks", "user_token_hooks", "user_span_hooks",
    "_context",  # of nlp.pipe(…, as_tuples=True)
]  # fmt: skip


class RecaserPipe:
    """Recases Docs. The model is opened at first use, because `from_disk` may bring it."""

    def __init__(self, model: str | os.PathLike[str] | None, options: RecaseOptions) -> None:
        options.check_call("doc")
        self.model = model
        self.options = options

    @cached_property
    def recaser(self) -> Recaser:
        from capfst.recaser import load  # noqa: PLC0415

        return load(self.model, **asdict(self.options))

    def __call__(self, doc: Doc) -> Doc:
        return next(self._recased([doc]))

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Yield each Doc recased; those of a batch are recased together."""
        for batch in minibatch(docs, batch_size):
            yield from self._recased(batch)

    def _recased(self, docs: list[Doc]) -> Iterator[Doc]:
        texts = [doc.text for doc in docs]
        # With `document`, the texts of a list would be evidence for each other.
        recased = [self.recaser(text) for text in texts] if self.options.document else self.recaser(texts)
        return map(_with_text, docs, recased)

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Copy the model into the folder `path`, unless it is bundled with capfst."""
        model = Path(self.recaser.model.path)
        if models.card(model) is None:
            Path(path).mkdir(parents=True, exist_ok=True)
            with model.open("rb") as file, replacing(Path(path, _MODEL)) as copy:
                shutil.copyfileobj(file, copy)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> RecaserPipe:
        """Use the model in the folder `path`, if there is one."""
        if Path(path, _MODEL).exists():
            self.model = Path(path, _MODEL)
            self.__dict__.pop("recaser", None)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return a hash of the model. The model itself is not part of a pipeline's bytes."""
        from capfst.recaser import identity  # noqa: PLC0415

        return identity(self.recaser.model).encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> RecaserPipe:
        """Check that the model is that of the serialized pipeline; ModelError if it is another one."""
        if data != self.to_bytes():
            path = self.recaser.model.path
            raise ModelError(f"{path}: the serialized pipeline has another model. Load a pipeline with the same model.")
        return self


def _with_text(doc: Doc, recased: str) -> Doc:
    text = _of_same_lengths(doc.text, recased)
    words = [text[token.idx : token.idx + len(token)] for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    made = Doc(doc.vocab, words=words, spaces=spaces, user_data=dict(doc.user_data))
    annotations: Any = doc.to_array(_ANNOTATIONS)
    made.from_array(_ANNOTATIONS, annotations)
    for key, group in doc.spans.items():
        made.spans[key] = group.copy(doc=made)
    for name in _ATTRIBUTES:
        setattr(made, name, getattr(doc, name))
    if made._.original_text is None:
        made._.original_text = doc.text
    return made


def _of_same_lengths(text: str, recased: str) -> str:
    """Return the recased text, in which words whose length differs stay as they are in `text`: i̇ is longer than İ."""
    words = iter(_WORD.findall(recased))

    def same_length(found: re.Match[str]) -> str:
        word = next(words)
        return word if len(word) == len(found[0]) else found[0]

    return _WORD.sub(same_length, text)


def _original_text(part: Token | Span) -> str:
    start = part.idx if isinstance(part, Token) else part.start_char
    text: str = part.doc._.original_text or part.doc.text
    return text[start : start + len(part.text)]


Doc.set_extension("original_text", default=None)
Token.set_extension("original_text", getter=_original_text)
Span.set_extension("original_text", getter=_original_text)


def make(nlp: Language, name: str, model: str | None, **options: Any) -> RecaserPipe:
    """Return a component. Its config is a model, named as for `capfst.load`, and the options of recasing."""
    return RecaserPipe(model, RecaseOptions(**options))


_DEFAULTS = {"model": None} | {each.name: each.default for each in fields(RecaseOptions)}
# spaCy compares the keys of the config with the signature.
make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in ("nlp", "name", *_DEFAULTS)]
)
Language.factory("capfst", default_config=_DEFAULTS, assigns=["doc._.original_text"])(make)
