"""Names and codes: lowercase word × its pattern, and lowercase word × the word in mixed case.

In: names.tsv (first parts of hyphenated words), languages.tsv (the beginnings of words in mixed case). Out:
PATTERNS, an acceptor for each pattern; NAMING, which returns the first pattern that fits; MIXING, which capitalizes by
the first rule that fits (the rank of a rule is its weight, so the shortest path is the answer); `pattern` and `mixed`,
which apply them. `capfst/casing/names.py` does the same in kernels.

Try it:

    python -c "from capfst.grammars.names import pattern; print(pattern('xiv'), pattern('dvds'))"
    python -c "from capfst.grammars.names import mixed; print(mixed('mcdonald'), mixed('editor-in-chief'))"
"""

from functools import cache

import pynini
from pynini.lib import rewrite, utf8

from capfst.text.facts import rows

from .lower import DEFAULT, lower, spelled
from .shapes import capitalizing, raising_all, sequences

Fst = pynini.Fst


# Inventory. Input is lowercase, so ASCII capitals are not letters here; outside ASCII, everything except ’ is a letter.
def _characters(first: int, last: int) -> Fst:
    return pynini.union(*(pynini.escape(chr(code)) for code in range(first, last + 1)))


CHARACTER = utf8.VALID_UTF8_CHAR
APOSTROPHE = pynini.union("'", "’")
BEYOND_ASCII = pynini.difference(CHARACTER, pynini.union(_characters(1, 127), "’").optimize())
LETTER = pynini.union(_characters(ord("a"), ord("z")), BEYOND_ASCII).optimize()
DIGIT = _characters(ord("0"), ord("9")).optimize()
CONSONANT = pynini.union(*"bcdfghjklmnpqrstvwxz").optimize()
NOT_HYPHEN = pynini.difference(CHARACTER, "-").optimize()


def _some(fst: Fst, least: int, most: int = 0) -> Fst:
    """Repeat an FST `least` to `most` times; without `most`, at least `least` times."""
    return (pynini.closure(fst, least, most) if most else fst**least + pynini.closure(fst)).optimize()


def _first(*rules: Fst) -> Fst:
    """Build the union of the rules, in which earlier rules have a lower weight."""
    return pynini.union(*(pynini.accep("", weight=rank) + rule for rank, rule in enumerate(rules)))


# Patterns
def _decimal(one: str, five: str, ten: str) -> Fst:
    """Build one decimal digit of a Roman numeral: 0 … 3, 4, 5 … 8, 9."""
    return pynini.union(one + ten, one + five, pynini.closure(five, 0, 1) + pynini.closure(one, 0, 3))


def _after(letter: str, ones: str) -> Fst:
    return pynini.accep(letter) + pynini.union(*ones)


@cache
def patterns() -> dict[str, Fst]:
    """Build PATTERNS: the words of each pattern; a word that fits several has the first. Shared: copy them before you
    change them."""
    numeral = pynini.closure("m", 0, 3) + _decimal("c", "d", "m") + _decimal("x", "l", "c") + _decimal("i", "v", "x")
    alphanumeric = pynini.union(LETTER, DIGIT).optimize()
    not_s = pynini.difference(CONSONANT, "s")
    return {
        "ROMAN": pynini.intersect(numeral.optimize(), _some(CONSONANT | "i", 2)),
        "MAC": pynini.accep("mc") + _some(LETTER, 2),
        "APOSTROPHE": _some(LETTER, 1, 2) + APOSTROPHE + _some(LETTER, 2),
        "HYPHENATED": _some(NOT_HYPHEN, 1) + _some(pynini.accep("-") + _some(NOT_HYPHEN, 1), 1),
        # consonants rare after i and e at the start of common words
        "PRODUCT": pynini.union(_after("i", "bhjkpw"), _after("e", "bhjw")) + _some(LETTER, 2),
        "PLURAL": _some(CONSONANT, 1, 3) + not_s + "s",
        "CODE": pynini.intersect(
            _some(alphanumeric, 2),
            pynini.closure(alphanumeric) + (LETTER + DIGIT | DIGIT + LETTER) + pynini.closure(alphanumeric),
        ),
        "ACRONYM": _some(CONSONANT, 2, 5),
    }


@cache
def naming() -> Fst:
    """Build NAMING: word × the name of its pattern, or NONE. Shared: copy it before you change it."""
    named = [pynini.cross(words, name) for name, words in patterns().items()]
    return _first(*named, pynini.cross(pynini.closure(CHARACTER), "NONE")).optimize()


# Mixed case
@cache
def mixing(language: str = DEFAULT) -> Fst:
    """Build MIXING: word × the word in mixed case, or capitalized if no rule applies. Shared: copy it before you change
    it."""
    title, upper = capitalizing(language), raising_all(language)

    def capitalized(word: Fst) -> Fst:
        return pynini.compose(word, title).optimize()

    # Rules for a part of a word, and for a word without hyphens
    name = capitalized(_some(LETTER, 2))
    part = _first(
        pynini.accep("d") + APOSTROPHE + name,  # d'Ivoire
        capitalized(_some(LETTER, 1, 2)) + APOSTROPHE + name,  # O'Neill
        pynini.cross("mc", "Mc") + name,  # McDonald
        capitalized(pynini.closure(NOT_HYPHEN)),
    )
    whole = _first(
        pynini.cross("mc", "Mc") + name,
        pynini.compose(_some(LETTER, 2, 4), upper) + "s",  # APIs
        pynini.cross("mac", "Mac") + capitalized(_some(LETTER, 3)),  # MacArthur
        part,
    )

    # Rules for hyphenated words
    small = pynini.union(*(word for word, how in rows("names.tsv") if how == "SMALL"))
    capitals = pynini.compose(pynini.union(*(word for word, how in rows("names.tsv") if how == "UPPER")), upper)
    short = pynini.closure(pynini.difference(pynini.union(*map(_byte, range(1, 256))), "-"), 0, 3)
    inner = "-" + pynini.union(short, pynini.accep("", weight=_MORE) + part)
    first = pynini.union(small, capitals, pynini.accep("", weight=_MORE) + part)  # anti-American, US-Soviet
    every = pynini.union(whole, first + pynini.closure(inner) + "-" + part).optimize()  # Editor-in-Chief
    begin = sequences(language, "MIXED")  # nAthair
    return _first(begin + pynini.closure(CHARACTER), every).optimize()


_MORE = 10  # more than the weight of any rule for a part


def _byte(value: int) -> str:
    return f"[{value}]"


def pattern(word: str) -> str:
    """Return the name of the pattern of a lowercase word, or NONE. Raise CapfstError if it contains NUL."""
    return rewrite.one_top_rewrite(spelled(word), naming())


def mixed(word: str, language: str = DEFAULT) -> str:
    """Return a lowercase word in mixed case; return it unchanged if the result has another lowercase (σ and ς). Raise
    CapfstError if it contains NUL."""
    form = rewrite.one_top_rewrite(spelled(word), mixing(language))
    return form if lower(form, language) == word else word
