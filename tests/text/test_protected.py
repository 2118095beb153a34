"""protected.py and its table: patterns compared with `re`; unknown words that are names in code.

test_tokenizer.py tests what begins at marks and with words that may be known, as tokens.
"""

import random
import re

import make_protected
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.text.facts import rows
from capfst.text.protected import (
    AUTOMATON,
    IDENTIFIER,
    KINDS,
    NOTHING,
    SPAN,
    VERSION,
    WHOLE_WORD,
    Automaton,
    search,
)
from capfst.text.tokenizer import tokenize
from capfst.text.unicode import INFO, lower

# ---- Patterns


def row(pattern: str, kind: str = "span", where: str = "any", before: str = "") -> list[str]:
    return [kind, where, pattern, before, ""]


def found(automaton: Automaton, text: str, i: int) -> tuple[int, int]:
    """Return the kind of what begins at text[i], and its end; the text is ASCII."""
    buf = np.frombuffer(text.encode(), np.uint8)
    kind, end = search(buf, i, -1, buf.size, 0, INFO, automaton)
    return kind, end if kind != NOTHING else 0


@pytest.mark.parametrize(
    "pattern",
    [
        "ab*", "a(b|cd)*d", "a{2,3}b?", "b{2}", "[^ab]+b", "[a-c]+", "d.*?d", "a+(?=b)", "a+(?![b-d])", "(?<=a)b+",
        "(?<!a)b", "(?<![ab])c+", "a(?=b*c)[bc]*d", "(?!a?b)[abc]+d", r"[\s.]+a", r"\.\[a|b\]", "a|", "a(?=cd)",
    ],
)  # fmt: skip
def test_patterns_match_as_in_re(pattern: str) -> None:
    automaton, rng = make_protected.compiled([row(pattern)]), random.Random(0)
    for _ in range(200):
        text = "".join(rng.choices("aabbccdd .[]A", k=12))
        for i in range(len(text)):
            expected = re.compile(pattern, re.IGNORECASE).match(text, i)
            assert found(automaton, text, i) == ((SPAN, expected.end()) if expected else (NOTHING, 0)), (text, i)


def test_the_first_row_counts_with_its_longest_match() -> None:
    automaton = make_protected.compiled([row("ab", "nothing"), row("a+|a+c", "blank"), row("a+c+")])
    for text, kind, end in [("aacc", "blank", 3), ("ab", "nothing", 0), ("aab", "blank", 2)]:
        assert found(automaton, text, 0) == (KINDS.index(kind), end)


def test_names_and_the_text_before() -> None:
    automaton = make_protected.compiled(
        [["=", "", "x", "", "N"], ["=", "", "yz?", "", "N"], row("b{N}+", before="a{N}*")]
    )
    for text in ("abx", "axyzbx", "bx", "a.bx", "ayzzbx"):
        expected = re.search(r"a(x|yz?)*$", text[: text.index("b")])
        assert found(automaton, text, text.index("b"))[0] == (SPAN if expected else NOTHING)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (row("a(?=b)(?=c)"), "matches nothing"),
        (row("a)"), "unexpected"),
        (row("(a"), "not closed"),
        (row("(a(?=b))*"), "repeated"),
        (row("A"), "no symbol"),
        (row(r"\W"), "no symbol"),
        (row("a", "spam"), "tuple"),
        (row("ab¦", where="word"), "matches a word alone"),
    ],
)
def test_wrong_rows_are_refused(wrong: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_protected.compiled([wrong])


@pytest.mark.slow
def test_the_automaton_is_that_of_the_table() -> None:
    """If this fails, run scripts/maintain/make_protected.py."""
    for name, array in make_protected.compiled(rows("protected.tsv"))._asdict().items():
        assert np.array_equal(getattr(AUTOMATON, name), array), name


# ---- Hostile text

BEGINNINGS = [
    "{{a ", "{% ", "{# ", "{#a ", "%(a", "%a_", "<!--", "<% ", "<?", "<a b", r"\n{", r"\nn", r"\( ", r"\a{", r"\u{1",
    r"{\a", 'k="', r'k="\"', " --a-", "|--a", " - -a", " (a) ", "and (a", "a) ", "${a", "$a{", "$$a", "$a ", "r/a",
    "a/", "é/", "/a/", "10.1234/", "~/", " w/", "&a;", "&am", "``a ", "`a ", "x->", "a@", "#a", "a:=", "a=(", "a::",
    "__a-", "www.", "v1.",
]  # fmt: skip


@pytest.mark.parametrize("fragment", BEGINNINGS)
def test_what_nothing_closes_takes_time_in_proportion_to_its_length(fragment: str) -> None:
    """If each fragment were searched to the end of the line, this would exceed the time that tests may take."""
    few, many = (tokenize(fragment.encode() * n).token_types[:100] for n in (200, 400_000))
    assert few.tolist() == many.tolist()


# ---- Unknown words

IDENTIFIERS = """
    main.py Main.C README.md data.tar.gz my-file.txt docker-compose.yml foo_bar MAX_VALUE x_1 _a_b self.name
    os.path.join io.py é́é.éé v1.2 V1.2.3 v1.2.3-rc1 1.2.3 2.0.0-SNAPSHOT 3.11.0b4 127.0.0.1 0xDEADBEEF 0X1f
    2024-01-31T12 1999-12-31t23:59:59.5z
    77247f3 sha1:77247F3 da39a3ee5e6b4b0d3255bfef95601890afd80709 123E4567-e89b-12d3-a456-426614174000 00:00:1a2b3c4
""".split()  # noqa: SIM905
WORDS = """
    2024-01-31 2024-01-31t 2024-01-31tx 2024-1-31t12:00 McDonald iPhone getElementById Foo'Bar
    foo it's u.s. U.S.A e.g p.m. ph.d x.yz u.s.-led yahoo.com Yahoo.COM x-ab.org a_b.net node.js-based
    sig.ra Dott.ssa gent.mo
    3.5kg 1.5 3.14a 10:30 f-16 mp3 h1n1 covid-19 1000bce
    deadbeef 1234567 v2 v2-rc1 v.1 1.2-3 0x 0xg 12abcde 123e4567-e89b-12d3-a456-42661417400
    123e4567-e89b-12d3-a456-426614174000- é.éé _a a_ a.b_
""".split()  # noqa: SIM905


def is_found(word: str) -> bool:
    buf = np.frombuffer(word.encode(), np.uint8)
    return search(buf, 0, -1, buf.size, WHOLE_WORD, INFO, AUTOMATON)[0] in (VERSION, IDENTIFIER)


@pytest.mark.parametrize("word", IDENTIFIERS)
def test_identifiers(word):
    assert is_found(word)


@pytest.mark.parametrize("word", WORDS)
def test_words(word):
    assert not is_found(word)


words = st.lists(
    st.sampled_from([*"aAfFgtTvVx019.-_:éİK\u0301٣", "Mac", *IDENTIFIERS, *WORDS]), min_size=1, max_size=9
).map("".join)


@settings(deadline=None, max_examples=500)
@given(words | st.text("0123456789abcdefABCDEF", min_size=1, max_size=9))
def test_case_does_not_matter(word):
    assert is_found(lower(word)) == is_found(word)
