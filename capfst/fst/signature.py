"""The signature: how a model was made, in one line, kept as the name of its symbol table.

After sacreBLEU's signatures:
capfst|v:0.1.0|order:3|smoothing:kn|pruning:none|tokenizer:capfst|lowercasing:default|corpus:1f0c6a5e
"""

from dataclasses import dataclass, fields

from capfst.exceptions import CapfstError

_PREFIX = "capfst"
_KEYS = {"version": "v"}  # other fields are written with their own names


@dataclass(frozen=True)
class Signature:
    """What must be known of a model to use it, compare it or make it again."""

    version: str  # of capfst
    order: int  # of the longest n-grams
    smoothing: str
    pruning: str
    tokenizer: str
    lowercasing: str
    corpus: str  # a hash of the training text

    def format(self) -> str:
        """`capfst|key:value|…`; ValueError if a value would break the line up."""
        parts = [_PREFIX]
        for field in fields(self):
            value = str(getattr(self, field.name))
            if not value or "|" in value or not value.isprintable():
                raise ValueError(f"a signature's {field.name} cannot be {value!r}")
            parts.append(f"{_KEYS.get(field.name, field.name)}:{value}")
        return "|".join(parts)

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """The signature that `format` wrote; CapfstError if the text is none, or another version's."""
        prefix, *parts = text.split("|")
        if prefix != _PREFIX:
            raise CapfstError(
                f"the symbol table's name is no capfst signature: {text[:80]!r}: train the model with capfst"
            )
        pairs = [part.partition(":")[::2] for part in parts]
        names = {_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        if sorted(key for key, _ in pairs) != sorted(names):
            raise CapfstError(
                f"the signature {text[:200]!r} has not exactly the keys {', '.join(names)}: "
                "use the version of capfst that made the model"
            )
        values: dict[str, str] = {names[key]: value for key, value in pairs}
        order = values.pop("order")
        if not (order.isascii() and order.isdigit() and len(order) < 4):
            raise CapfstError(f"the signature's order is not a number: {order[:80]!r}: the file is damaged")
        signature = cls(order=int(order), **values)
        try:
            if signature.format() != text:
                raise ValueError("it is not in the form that capfst writes")
        except ValueError as error:
            raise CapfstError(f"the signature {text[:200]!r} is damaged: {error}") from None
        return signature

    def __str__(self) -> str:
        return self.format()
