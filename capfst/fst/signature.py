"""The signature: how a model was made, in one line, which is the name of its symbol table.

Modeled on sacreBLEU's signatures:
capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:1f0c6a5e
"""

from dataclasses import dataclass, fields

from capfst.exceptions import ModelError

_PREFIX = "capfst"
_KEYS = {"version": "v"}  # other fields have their own names as keys


@dataclass(frozen=True)
class Signature:
    """The facts about a model that are needed to use it, compare it or make it again."""

    version: str  # of capfst
    order: int  # of the longest n-grams
    smoothing: str
    pruning: str
    tokenizer: str
    lowercasing: str
    corpus: str  # a hash of the training text

    def __str__(self) -> str:
        """Return `capfst|key:value|…`; ValueError if a value cannot be part of that line."""
        parts = [_PREFIX]
        for field in fields(self):
            value = str(getattr(self, field.name))
            if not value or "|" in value or not value.isprintable():
                raise ValueError(f"a signature's {field.name} cannot be {value!r}")
            parts.append(f"{_KEYS.get(field.name, field.name)}:{value}")
        return "|".join(parts)

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Parse a line that `str` wrote.

        Raises:
            ModelError: the text is not a signature, or another version's.
        """
        prefix, *parts = text.split("|")
        if prefix != _PREFIX:
            raise ModelError(
                f"the symbol table's name is not a capfst signature: {text[:80]!r}. Train a model with capfst."
            )
        values = dict(part.partition(":")[::2] for part in parts)
        names = {_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        if values.keys() != names.keys():
            raise ModelError(
                f"the signature {text[:200]!r} does not have exactly the keys {', '.join(names)}. "
                "Use the version of capfst that made the model."
            )
        order = values.pop("order")
        if not (order.isascii() and order.isdigit() and len(order) < 4):
            raise ModelError(f"the signature's order is not a number: {order[:80]!r}. Copy the file again.")
        signature = cls(order=int(order), **{names[key]: value for key, value in values.items()})
        try:
            if str(signature) != text:
                raise ValueError("its keys or values are not as capfst writes them")
        except ValueError as error:
            raise ModelError(f"the signature {text[:200]!r} is damaged: {error}. Copy the file again.") from None
        return signature

    @property
    def pretokenized(self) -> bool:
        """Whether the model is for text whose tokens are separated by white space."""
        return self.tokenizer == "none"
