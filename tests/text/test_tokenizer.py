"""tokenizer.py: golden tables; words by regular expressions; properties of any text."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from capfst.text import facts
from capfst.text import tokenizer as tok
from capfst.text.language import DEFAULT
from capfst.text.protected import AUTOMATON, DOT, DOTLESS, END, N_CONTEXTS, OTHERS, PATH_START, WORD_START
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED, WORD, tokenize
from capfst.text.unicode import (
    CLASS,
    INFO,
    IS_UPPER,
    LETTER,
    LOWERING,
    MARK,
    NUMBER,
    OTHER,
    PUNCT,
    SPACE,
    lower,
    lower_into,
)

LETTERS_OF_KINDS = "wcmpn"
Token = tuple[int, str]


def tokens(text: str, pretokenized: bool = False) -> list[Token]:
    data = text.encode()
    return [(int(k), data[s:e].decode()) for s, e, k in zip(*tokenize(data, pretokenized), strict=True)]


def canonical(token: str, kind: int) -> str:
    buf = np.frombuffer(token.encode(), np.uint8)
    out = np.zeros(max(8, buf.size) + 8, np.uint8)
    size = tok.canonical(buf, 0, buf.size, kind, out)
    assert size <= max(5, buf.size) and not out[size:].any()
    return out[:size].tobytes().decode()


def words(text: str) -> list[str]:
    """Return the tokens as the LM has them, compounds as parts."""
    return [canonical(token, kind) for kind, token in tokens(text) if kind != COMPOUND]


# ---- Goldens

SAME = [  # raw text, the same text as in the Penn Treebank
    ("I don't think so.", "I do n't think so ."),
    ("DON'T can't won’t", "DO N'T ca n't wo n’t"),
    ("They're here; we've won, I'm sure he'd say she'll", "They 're here ; we 've won , I 'm sure he 'd say she 'll"),
    ("I'd've y'all's don't've", "I 'd 've y'all 's do n't 've"),
    ("New York's mayor, Bill", "New York 's mayor , Bill"),
    ("the dogs' bowls", "the dogs ' bowls"),
    ("'it's' his", "' it 's ' his"),
    ("O'Neill's o'neill McDonald rock'n'roll cap'n", "O'Neill 's o'neill McDonald rock'n'roll cap'n"),
    ("U.S. senators, e.g. Ph.D.s, said the U.S.'s", "U.S. senators , e.g. Ph.D.s , said the U.S. 's"),
    ("J. K. Rowling", "J. K. Rowling"),
    ("1,234.5 people at 10:30 in the 1990s, '90s", "1,234.5 people at 10:30 in the 1990s , ' 90s"),
    ("AT&T's R&D (Q&A)", "AT&T 's R&D ( Q&A )"),
    ('"Yes," she said. "No."', "`` Yes , '' she said . `` No . ''"),
    ("“Yes” — ‘no’… well", "`` Yes '' -- ` no ' ... well"),
    ("mother-in-law's well-known", "mother-in-law 's well-known"),
    ("$5, 5% #1!?", "$ 5 , 5 % # 1 ! ?"),
    ("x (a) [b] {c d}.", "x ( a ) [ b ] { c d } ."),
    ("wait...what? No--yes", "wait ... what ? No -- yes"),
]


@pytest.mark.parametrize(("raw", "treebank"), SAME)
def test_raw_and_treebank_text_have_the_same_words(raw, treebank):
    assert words(raw) == words(treebank)


# The words of a line as the LM has them; a compound in brackets, followed by its parts.
GOLDEN = {
    "Hello, world!": "Hello , world !",
    "do n't N'T n't don’t isn't": "do n't N'T n't do n't is n't",
    "an't it't 't 't's": "a n't it't ' t ' t 's",
    "'s 'S 'really 'll ’re 's' 'd'": "'s 'S ' really 'll 're ' s ' ' d '",
    "'tis 'em '80s 's-h": "' tis ' em ' 00s 's - h",
    "O'Neill d'Artagnan l'été rock'n'roll o'clock": "O'Neill d'Artagnan l'été rock'n'roll o'clock",
    "U.S. U.S.A. a.m. Ph.D. e.g., i.e.": "U.S. U.S.A. a.m. Ph.D. e.g. , i.e.",
    "J. K. Rowling and I. So do I... J... etc. No. A.": "J. K. Rowling and I . So do I ... J ... etc . No . A.",
    "İ. i̇. É. Q&A. a_b. x.yz.": "İ . i̇ . É. Q&A . a_b . x.yz .",
    "1,234.5 10:30 1/2 3.14. 1,a a,1 1: 1990s 3.5kg ٣,٤": "0,000.0 00:00 0/0 0.00 . 0 , a a , 0 0 : 0000s 0.0kg ٣,٤",
    ">>zho_Hans<< Ab >>deu<<": "Ab >> deu <<",
    "<2de> Ab": "Ab",
    "\x1b[1;31mAb\x1b[0m \x1b[K c [Km \x1b": "Ab c [ Km",
    "AT&T a&b &amp; a& &b 1&2 é&é": "AT&T a&b & a & & b 0 & 0 é&é",
    "AT&amp;T caf&Eacute; &#8217; &#xA0; &lt;&GT; &x; S&Ls; &am p;": "AT & T caf & & & & & & x ; S&Ls ; & am p ;",
    "example.com end.Next a..b .5 5.": "example.com end.Next a ... b . 0 0 .",
    "snake_case _emph_ a__b": "snake_case _ emph _ a __ b",
    "mother-in-law U.S.-based F-16": "[mother-in-law] mother - in - law [U.S.-based] U.S. - based [F-00] F - 00",
    "2003-04 a-b-n't -x x- a--b a–b": "[0000-00] 0000 - 00 [a-b-n't] a - b - n't <url> x - a -- b a -- b",
    "\"a\" ``b'' “c” „d‟ «e» ''' ‹f›": "\" a \" \" b \" \" c \" \" d \" \" e \" ' ‹ f ›",
    "`a' ‘b’ ‚c‛": "' a ' ' b ' ' c '",
    "- -- --- ---- – — ― ‒ − ‐": "- -- -- -- -- -- -- -- − ‐",
    ". .. ... .... … ……": ". ... ... ... ... ...",
    "Ptr->Next_A->b() a-> x->=y key=Val=B, a= =b --x-y=Z": "<url> ( ) a - > x - > = y <url> , a = = b -- <url>",
    "!!!!! ?? ?! $$$$ 😀😀😀😀😀": "! ? ? ! $$$ 😀😀😀",
    "http://x.org/a?b=c. https://x_y/(z)! ftp://": "<url> . <url> ) ! <url>",
    "HTTP://X, git://a www.foo.com WWW.X.ORG/y, www. www": "<url> , <url> <url> <url> , www . www",
    "<http://x.org> \"http://x\"y (see http://x).": '< <url> > " <url> " y ( see <url> ) .',
    "me@x.org, a.b+c-d_e@f-g.com! foo@ @": "<url> , <url> ! foo @ @",
    "o'neil@x.com 1,2!b@c.d “bob@x.com” (bob@x)": '<url> 0,0 ! <url> " <url> " ( <url> )',
    "bob@x.com,ann@y.com mailto:bob@x to:bob@x": "<url> mailto : <url> to : <url>",
    "and/or a/b /usr/bin/x. ~/y ./z ../q/../r (/x) ='/y' x/y/": "and / or a / b <url> . <url> <url> <url> "
    "( <url> ) = ' <url> ' x / y /",
    r"C:\Windows\x c:\ AB:\x \\srv\x \x": r"<url> <url> AB : <url>",
    "@name: @me's @ #tag, #C# C# #1 @1 @_x a@ a#b": "<url> : <url> 's @ <url> , <url> # C # # 0 <url> <url> a @ a # b",
    "日本語のテキスト。中文 ไทย עַבְרִית हिन्दी": "日本語のテキスト 。 中文 ไทย עַבְרִית हिन्दी",
    "école école": "école école",
    "❤️ ❤ 👩‍💻👍🏽 ☺️☺️ 1️⃣ #️⃣": "❤ ❤ 👩 💻 👍 🏽 ☺ ☺ 0️⃣ #",
    "½ x² № 5€ °C ™": "½ x² № 0 € ° C ™",
    "<unk> <s> a</s>b <Br /><a href='X Y'>c <!-- D --> <?e f?>": "a b c",
    "a<b <c and d> e < f> <1> <x y/> <g\nh>": "a < b < c and d > e < f > < 0 > < g \n h >",
    "`a b` ``c`` (`d`). `e' ``f'' `g `h` i`j` `k`l `m\nn`": "<url> <url> ( <url> ) . ' e ' \" f \" ' g <url> "
    "i ' j ' ' k ' l ' m \n n '",
    "$x$ $a_i + b$, $$x=1$$ $n$-th": "<url> <url> , <url> <url> - th",
    "$5 to $6 $5-$6 US$ $5 (US$) $f(x y)$ $ x$ $us $HOME $x $y": "$ 0 to $ 0 $ 0 - $ 0 US $ $ 0 ( US $ ) <url> "
    "$ x $ $ us <url> $ x $ y",
    r"\alpha\beta \em{a}{b} \em{a b} a\b \( x \) \[y\] \(z \1": r"<url> <url> <url> <url> { a b } a <url> "
    r"<url> \ ( z",
    r"it\u2019s We\u2019re I\x27d you\U00002019ve caf\u00e9s \u2019d \u00e9": "it We I you <url> d <url>",
    "f() f(x) a.b_c() a-b() std::x::Y :: a:: __init__.py __ a ___b": "<url> f ( x ) <url> <url> <url> :: a :: "
    "<url> __ a ___ b",
    "src/main.py a_b/c xy.org/y xy.z/y, U.S./U.K. 24/7 AC/DC": "<url> <url> <url> xy.z / y , U.S. / U.K. 00/0 AC / DC",
    "and/or he/she/it a.m./p.m. U.S.-led": "and / or he / she / it a.m. / p.m. [U.S.-led] U.S. - led",
    "a\0b\x01c\u200bd\u2028e\u00a0f\x85g\u3000h\ufeff\tk\r": "a b c d e f g h k",
    "<%= X %> a <?Y z?> b <!DOCTYPE Z> c {\\An8} d": "a b c d",
    "a [X] b [xy] word(s) fix(Es) f(s)x (A) b": "a b [ xy ] word fix f ( s ) x ( A ) b",
    "1. (a) b; (IV) c or (b) d\nA) e iv) f, (a x) g": "0 . b ; c or d \n e f , ( a x ) g",
    "%{Name} %PATH% %a_B%c 5%a% %(Name)s %<n>d %[1]D, %(n) x %(a)s. %(a)dé":
    "<url> <url> <url> _ B <url> 0 % a % <url> <url> <url> , <url> x <url> . % ( a ) dé",
    "%s %-5.2F %1$S %LD %Y %dpx %5dé 5%-10% %sé 100%d":
    "<url> <url> <url> <url> <url> <url> % 0dé 0 % - 00 % % sé 000 % d",
    "{{ X }} {{{Y}}} {% If X %} {# A #} {#if X} {/b} { c } ${a}^2$ ${{ X.Y }} ${NAME} #{X} @{y}":
    "<url> <url> <url> <url> <url> <url> { c } <url> <url> <url> <url> <url>",
    "run --dry-Run and --Name or -a or -x, - b. --Albert -i":
    "run <url> and <url> or <url> or <url> , - b. -- Albert - i",
    "see \\nabla f, \\Tests a\\tests \\\\nabla x $HOME\\tests \\nand \\rm{B} \\tag":
    "see <url> f , <url> a \\ tests <url> x <url> and <url> <url>",
    "w/ A w/o b 5 w/ n/A A/K/A s/he I/O a/c r/Name u/x 10.1000/182 list=[] x:= y a=(B":
    "<url> A <url> b 0 w / <url> <url> <url> I / O a / c <url> u / x 00.0000/000 <url> [ ] x : = y <url>",
    "a (M/w/d) m/f/x. m/f m/a/d m/w/d/x": "a ( <url> ) <url> . m / f m / a / d m / w / d / x",
    "": "",
    " \t ": "",
}  # fmt: skip


@pytest.mark.parametrize("text", GOLDEN)
def test_golden(text):
    shown = [f"[{canonical(t, k)}]" if k == COMPOUND else canonical(t, k) for k, t in tokens(text)]
    assert " ".join(shown) == GOLDEN[text]


def test_each_row_of_the_table_has_an_example():
    """It is searched for in each context, and with a word that ends anywhere."""
    columns, starts, table, matched = (
        getattr(AUTOMATON, n).tolist() for n in ("columns", "starts", "table", "matched")
    )
    found = set()

    def column(c: str) -> int:
        others = {"ı": DOTLESS, "İ": DOTLESS, "\u0307": DOT}
        return columns[ord(c) if c.isascii() else others.get(c, OTHERS + (INFO[ord(c)] & CLASS))]

    for text in ("\n" + golden + "\n\n" for golden in GOLDEN):
        read = list(map(column, text))
        for i, context, word_end in product(range(1, len(text)), range(N_CONTEXTS), range(len(text))):
            if word_end and context not in (WORD_START, PATH_START):
                continue
            state, rules = table[starts[context]][read[i - 1]], [len(AUTOMATON.rules)]
            for k in range(i, len(text)):
                state = table[state][columns[END]] if k == word_end else state
                state = table[state][read[k]]
                if state >= len(table) - len(matched):
                    rules.append(matched[state - len(table)])
                elif not state:
                    break
            found.add(min(rules))
    rows = [row for row in facts.rows("protected.tsv") if row[0] != "="]
    assert [row for k, row in enumerate(rows, 1) if k not in found and "whole" not in row[1]] == []


def test_lines():
    text = "a\n\nb\r\n\r\nc\rd\x0be\x0cf"
    assert [token for _, token in tokens(text)] == ["a", "\n", "\n", "b", "\n", "\n", "c", "d", "e", "f"]


def test_long_tokens():
    parts = [
        "x" * 1_000_000, "1," * 300_000 + "1", "a-" * 300_000 + "a", "U." * 300_000, "語" * 300_000, "." * 1_000_000,
        "e\u0301" * 300_000, "@" + "x" * 1_000_000, "http://" + "!a" * 500_000, "a@b" + "!" * 500_000,
        "(/a!" * 200_000, "a@b`!" * 100_000, "'" * 500_000 + "Σ" * 10,
        "a/b" * 300_000, "`a " * 300_000, "$a " * 300_000, "\\( " * 300_000, "<b " * 300_000, "\\a{" * 300_000,
        "&am" * 300_000, "a::" * 300_000, "a()" * 300_000, "__a-" * 300_000,
    ]  # fmt: skip
    found = tokens("\n".join(parts))
    lines: list[list[str]] = [[]]
    for kind, _ in found:
        if kind == NEWLINE:
            lines.append([])
        else:
            lines[-1].append(LETTERS_OF_KINDS[kind])
    assert ["".join(line)[:8] for line in lines] == [
        "w", "w", "cwmwmwmw", "w", "w", "m", "w", "p", "p", "pm", "mpm", "pmmpmmpm", "mw",
        "wmwmwmwm", "mwmwmwmw", "mwmwmwmw", "mmmmmmmm", "mwmwmwmw", "pmpmpmpm", "mw", "pm", "pppppppp", "pm",
    ]  # fmt: skip
    assert len(lines[2]) == 1 + 2 * 300_000 + 1


# ---- Words

SPECIAL = {LETTER: "λ", NUMBER: "ν", MARK: "μ", SPACE: " ", OTHER: "\0"}
A, L, N = "[A-Za-zλ0-9νμ]", "[A-Za-zλ]", "[0-9ν]"
ENTITY = rf"&(?:\#[xX]?[0-9A-Fa-f]+|[lLgG][tT]|{L}μ*(?:[A-Za-zλ0-9ν]μ*){{2,}});μ*"
CLITIC = rf"['’](?i:ll|re|ve|[smd])(?!{A})"
NOT = rf"(?i:n['’]t)(?!{A})"
UNIT = (
    rf"(?: {L} μ* (?: (?!{ENTITY}) & (?={L}) )? | {N} μ* (?: [,:/] (?={N}) )? | μ"
    rf"| (?!{CLITIC}) ['’] (?={L}) | [._] (?={A}) )".replace(" ", "")
)
WORD_AT = re.compile(rf"{NOT}|(?={A}){UNIT}(?:(?!{NOT}){UNIT})*")
INITIAL = re.compile(rf"μ*{L}μ*")
CLITIC_AT = re.compile(CLITIC)
MARK_AT = re.compile(rf"{ENTITY}|(.)\1*μ*", re.DOTALL)


def sketch(text: str) -> str:
    """Replace each character of which only the class matters by a representative."""

    def stand_in(c: str) -> str:
        kind = INFO[ord(c)] & CLASS
        if c == "\n" or kind == PUNCT or (c.isascii() and kind in (LETTER, NUMBER)):
            return c
        return "I" if c in "İı" else SPECIAL[kind]

    return "".join(map(stand_in, text))


def reference(text: str) -> list[tuple[int, int, int]]:
    """Return (start, end, kind) of the tokens of a text without protected spans, in characters."""
    s = sketch(text)
    found: list[tuple[int, int, int]] = []

    def word(i: int) -> int:
        """Return the end of the word at i; 0 if there is none."""
        match = WORD_AT.match(s, i)
        if not match:
            return 0
        segments = match[0].split(".")
        initial = INITIAL.fullmatch(segments[-1]) and (len(segments) > 1 or s[i] not in "iI")
        return match.end() + bool(initial and s[match.end() :][:1] == "." and s[match.end() :][:2] != "..")

    i = 0
    while i < len(s):
        start = i
        if s[i] in " \0":
            i += 1
        elif s[i] == "\n":
            i += 1
            found.append((start, i, NEWLINE))
        elif end := word(i):
            parts = [(start, end, WORD)]
            while s[end : end + 1] == "-" and (after := word(end + 1)):
                parts += [(end, end + 1, MARKS), (end + 1, after, WORD)]
                end = after
            found += parts if len(parts) == 1 else [(start, end, COMPOUND), *parts]
            i = end
        else:
            clitic = CLITIC_AT.match(s, i)
            attached = bool(found) and found[-1][1] == i and found[-1][2] == WORD
            is_clitic = clitic and (attached or s[clitic.end() :][:1] not in ("'", "’"))
            i = (clitic if is_clitic else MARK_AT.match(s, i)).end()
            found.append((start, i, WORD if is_clitic else MARKS))
    return found


PROSE = [
    *"aBiInNtTsSdDmxwW019 \n'’.&,:!;\"–…“”",
    *"éÉİıKſßẞΣσςǅⒶ漢٣½\u0301\u0307\ufe0f\u200d\u00ad😀\u200b\u00a0\u2028",
    "'s", "n't", "N’T", "'ll", "'re", "U.S.", "a-b", "..", "--", "ab. ", "a. ", "' ", "&lt;", "&eacute;", "a_b",
]  # fmt: skip


@settings(deadline=None, max_examples=700)
@given(st.lists(st.sampled_from(PROSE), max_size=12).map("".join))
@example("ı. İ. i. ä. a.ı.")
def test_words_against_regular_expressions(text):
    data = text.encode()
    found = list(zip(*tokenize(data), strict=True))
    assume(all(kind != PROTECTED for _, _, kind in found))
    places = np.cumsum([0, *(len(c.encode()) for c in text)])
    assert found == [(places[start], places[end], kind) for start, end, kind in reference(text)]


PIECES = [
    *"aBiInNtTsSdDmxwW019 \n'’._-&,:/\\@#~%+=<>\"`$;{!(]–…",
    "\x1a",
    *"éÉİıKſßẞΣσςǅⒶ漢٣½\u0301\u0307\ufe0f\u200d\u00ad😀“”\0\u200b\u00a0\u2028",
    "./", "->", "'s", "n't", "N’T", "'ll", "'re", "www.", "WWW.x", "://", "http", "U.S.", "a-b", "..", "--", "a@b",
    ":\\", "a=b", "p->q",
    "ab. ", "a. ", "abcdefgh, ", "abcdefghi ", "aB) ", "' ", "/ ",
    "\\", "\\n", "\\T", "\\nu", "\\u00", "\\u00E9", "\\xe9", "\\u{e9}", "\\x27",
    "\\U0001F60", "\\x4", "{{", "}}", "{%", "%}", "%1$", "%(a)", "%l", "${", "#{",
    "a)", "(i)", " (s)", " or ", "[x]", "{\\", "-x", " --", "=\"", ":=", "n/a", "w/", "s/he", "<%", "%>", "<!--", "-->",
    "<b>", "</", "/>", "&lt;", "&eacute;", "&#x", "{a", "a}", "$a", "()", "::", "__", "\\a", "\\(", "\\)", "main.py",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)


def canonical_reference(token: str, kind: int) -> str:
    if kind == PROTECTED:
        return "<url>"
    if kind != MARKS:
        return re.sub("[0-9]", "0", token).replace("’", "'")
    mark = token[0]
    size = len(token) - len(token.lstrip(mark))
    if mark in "'`‘’‚‛":
        return '"' if size == 2 else "'"
    if mark in '"“”„‟«»':
        return '"'
    if mark in "‒–—―" or (mark == "-" and size > 1):
        return "--"
    if mark == "…" or (mark == "." and size > 1):
        return "..."
    return mark if mark in "!?" else mark * min(size, 3)


# ---- Properties of any text


@settings(deadline=None, max_examples=700)
@given(texts)
def test_offsets_increase_and_tokens_cover_words(text):
    data = text.encode()
    found = tokenize(data)
    assert len(found.starts) <= tok.capacity(len(data))
    covered = np.zeros(len(data), bool)
    end = 0  # the end of the tokens so far
    compound = 0  # end of the last compound
    for s, e, kind in zip(*found, strict=True):
        assert s < e
        assert s >= end
        if s >= compound:
            assert compound == 0 or end == compound  # its parts cover it
            compound = 0
        if kind == COMPOUND:
            compound = e
        else:
            end = e
        covered[s:e] = True
        data[s:e].decode()
        assert (kind == NEWLINE) == (data[s:e] == b"\n")
        if kind in (WORD, COMPOUND, MARKS):
            assert canonical(data[s:e].decode(), kind) == canonical_reference(data[s:e].decode(), kind)
    place = 0
    for c in text:
        size = len(c.encode())
        if INFO[ord(c)] & CLASS in (LETTER, NUMBER, MARK, PUNCT):
            assert covered[place : place + size].all() or not covered[place : place + size].any(), c
        elif c not in "\n\x1a":
            assert INFO[ord(c)] & IS_UPPER == 0
        place += size


@pytest.mark.slow
@settings(deadline=None, max_examples=700)
@given(st.lists(texts, min_size=1, max_size=3))
@example(["http://", "www.", "www.x", "x@", "C:\\", "'s", "a-"])
def test_lines_are_independent(parts):
    """A line's tokens are the same at the end of a buffer, before a line end, and between other lines."""
    assert tokens("\n".join(parts)) == [
        token for i, part in enumerate(parts) for token in [(NEWLINE, "\n")] * (i > 0) + tokens(part)
    ]


def lowered_tokens(text: str) -> list[Token]:
    """Return the tokens of a text, each lowercased in its context."""
    data = text.encode()
    buf = np.frombuffer(data, np.uint8)
    out = np.zeros(2 * buf.size + 8, np.uint8)
    found = []
    for s, e, kind in zip(*tokenize(data), strict=True):
        size = lower_into(buf, s, e, 0, buf.size, out, 0, LOWERING)
        found.append((int(kind), out[:size].tobytes().decode()))
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=1500)
@given(texts)
@example("aİ&b İ:\\x İ. K:\\x aİ'sİ @İ 1İ,2 -İ")
def test_case_does_not_matter(text):
    """The tokens of a text and its lowercase differ only in case: training and recasing depend on this."""
    assert tokens(lower(text)) == lowered_tokens(text)


FRAMES = """
    {0} a{0} {0}b {0}'s a'{0} '{0} n{0}'t {0}n't {0}. x.{0}. {0}.. {0}.b {0}&b a&{0} 1,{0} {0},1 {0}:\\x {0}://x @{0}
    a@{0} {0}@b #{0} /{0} {0}-{0} www.{0} ww{0}.x {0}{0} _{0}_
    <{0}> a<{0}>b `{0}` ``{0}x`{0} ${0}$ ${0}x$ ${0}us ${0}home $a={0}$ $$a={0}$$ \\{0}a \\a{0}{{{0}}} \\({0}\\)
    {0}::{0} {0}() ${0}( x)$ __{0} {0}/a_b {0}a/{0}b.{0} &{0}lt; &l{0}; &a{0}b; &#x{0}; a&{0}l; {0}{0}.{0}
"""


def test_case_of_no_letter_matters():
    capitals = [chr(code) for code in np.flatnonzero(INFO & IS_UPPER)]
    assert len(capitals) > 1400
    text = "\n".join(FRAMES.format(c) for c in capitals)
    assert tokens(lower(text)) == lowered_tokens(text)


@settings(deadline=None)
@given(st.text(st.sampled_from("aÉ.'@ \n\t\r\x0b\x0c\0\x1c\x85\u00a0\u2028-"), max_size=30))
def test_pretokenized(text):
    lines = [re.findall(r"[^ \t\r\v\f\0]+", line) for line in text.split("\n")]
    expected = [token for line in lines for token in [*((WORD, word) for word in line), (NEWLINE, "\n")]]
    assert tokens(text, pretokenized=True) == expected[:-1]
    assert [t.encode() for k, t in tokens(text, True) if k == WORD] == text.replace("\0", " ").encode().split()


@settings(deadline=None, max_examples=400)
@given(texts, st.booleans())
def test_keys(text, pretokenized):
    raw = (text + "\nABCDefgh " + 8 * "-").encode()
    data = np.frombuffer(raw, np.uint8)
    types = np.int64, np.int64, np.uint8, np.uint64
    starts, ends, kinds, keys = (np.zeros(tok.capacity(data.size), t) for t in types)
    if pretokenized:
        n = tok.scan_spaced(data, data.size, tok.Tokens(starts, ends, kinds), keys)
    else:
        n = tok.scan(data, data.size, INFO, DEFAULT.clitics, AUTOMATON, tok.Tokens(starts, ends, kinds), keys)
    for start, end, kind, key in zip(starts[:n], ends[:n], kinds[:n], keys[:n].tolist(), strict=True):
        token = raw[start:end]
        is_apart = {raw[start - 1 : start], raw[end : end + 1]} <= {b"", b" ", b"\n"}
        is_short_word = kind == WORD and token.isalpha() and len(token) <= 8 and is_apart
        assert key == (int.from_bytes(token.lower(), "little") if key or is_short_word else 0)
    assert b"abcdefgh" in [key.tobytes() for key in keys[:n]]
