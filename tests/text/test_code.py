"""code.py: identifiers compared with regular expressions. test_tokenizer.py tests the other spans, as tokens."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from X
from capfst.text.unicode import CLASS, INFO, LETTER, MARK, NUMBER, lower

IDENTIFIERS = """
    main.py Main.C README.md data.tar.gz my-file.txt docker-compose.yml foo_bar MAX_VALUE x_1 _a_b self.name
    os.path.join io.py é́é.éé v1.2 V1.2.3 v1.2.3-rc1 1.2.3 2.0.0-SNAPSHOT 3.11.0b4 127.0.0.1 0xDEADBEEF 0X1f
    2024-01-31T12 1999-12-31t23:59:59.5z
    77247f3 sha1:77247F3 da39a3ee5e6b4b0d3255bfef95601890afd80709 123E4567-e89b-12d3-a456-426614174000 00:00:1a2b3c4
""".split()  # noqa: SIM905
CAMEL_CASE = """
    getElementById innerHTML HttpClient FooBar2 MacBookPro XMLHttpRequest toJSON VsCode PyTorch iPhone eBay McFoo LaTeX
    PhDs LLMs HTTPServer FooB FoO gRPC kNN Gpt4All ÉcoleDuNord fooÉtude iİ
"""
NO_CAMEL_CASE = "foo Foo FOO É F f 1St hELLO gALTERS O'Neill foo-Bar Foo_B 日本 İzmir ABC4"
WORDS = """
    2024-01-31 2024-01-31t 2024-01-31tx 2024-1-31t12:00 McDonald iPhone getElementById Foo'Bar
    foo it's u.s. U.S.A e.g p.m. ph.d x.yz u.s.-led yahoo.com Yahoo.COM x-ab.org a_b.net node.js-based
    3.5kg 1.5 3.14a 10:30 f-16 mp3 h1n1 covid-19 1000bce
    deadbeef 1234567 v2 v2-rc1 v.1 1.2-3 0x 0xg 12abcde 123e4567-e89b-12d3-a456-42661417400 é.éé _a a_ a.b_
""".split()  # noqa: SIM905


def is_found(word: str) -> bool:
    buf = np.frombuffer(word.encode(), np.uint8)
    return bool(is_identifier(buf, 0, buf.size, INFO))


@pytest.mark.parametrize("word", IDENTIFIERS)
def test_identifiers(word):
    assert is_found(word)


@pytest.mark.parametrize("word", CAMEL_CASE.split() + NO_CAMEL_CASE.split())
def test_camel_case_is_recognized_by_its_capitals(word):
    for cased in (word, lower(word), word.upper()):
        buf = np.frombuffer(cased.encode(), np.uint8)
        assert is_camel_case(buf, 0, buf.size, INFO) == (cased == word and word in CAMEL_CASE.split())


@pytest.mark.parametrize("word", WORDS)
def test_words(word):
    assert not is_found(word)


TIME = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[tT][0-9].")
REPRESENTATIVE = {LETTER: "λ", NUMBER: "ν", MARK: "μ"}
A, L = "[A-Za-zλ0-9ν]", "[A-Za-zλ]"
INNER = re.compile(rf"({A}μ*){{3}}[.]{L}|({A}μ*){{2}}[.]{L}μ*{A}|{A}μ*_({A}|μ)")
VERSION = re.compile("([vV]|[0-9]+[.])[0-9]+[.][0-9]")
HEX = re.compile("0[xX][0-9a-fA-F]+|(?=.{7})[0-9a-fA-F]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def reference(word: str) -> bool:
    def representative(c: str) -> str:
        return c if c.isascii() else REPRESENTATIVE.get(INFO[ord(c)] & CLASS, "\0")

    sketch = "".join(map(representative, word))
    number = sketch.split(":")[-1]
    turns = len(re.findall("(?<=[0-9])[a-fA-F]|(?<=[a-fA-F])[0-9]", number))
    is_hex = HEX.fullmatch(number) and (turns >= 2 or number[1:2] in ("x", "X") or "-" in number)
    last = sketch.split("-")[-1]
    is_site = re.fullmatch(r"..*[.](?i:com|edu|gov|net|org)", last)
    is_time = TIME.match(sketch)
    return bool((INNER.search(last) and not is_site) or VERSION.match(sketch) or is_hex or is_time)


words = st.lists(
    st.sampled_from([*"aAfFgtTvVx019.-_:éİK\u0301٣", "Mac", *IDENTIFIERS, *WORDS]), min_size=1, max_size=9
).map("".join)


@settings(deadline=None, max_examples=1500)
@given(words | st.text("0123456789abcdefABCDEF", min_size=1, max_size=9))
@example("123e4567-e89b-12d3-a456-426614174000-")
@example("123e4567-e89b-12d3-a4560426614174000")
@example("0x3e4567-e89b-12d3-a456-426614174000")
def test_against_regular_expressions(word):
    assert is_found(word) == reference(word)
    assert is_found(lower(word)) == reference(word)
