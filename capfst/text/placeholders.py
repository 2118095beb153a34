r"""Escapes, placeholders, list labels and options: find the end of text that is not words.

In: a buffer of lines, and an offset where such text may begin. Out: the offset after it, or −1 if none begins there.
All rules treat a text and its lowercase alike, and none reads beyond the end of the line. As in code.py, a search for
the end of a span stops where another span of its kind could begin.

* escapes: `\n`, `\t`, `\N` also directly before a word; `\x41`, `\u201c`, `\U0001F600`, `\033` (`escape_end`)
* placeholders: `%s`, `%1$s`, `%-5.2f`, `%(name)s`, `%NAME%`, `{0}`, `{name:.2f}`, `{{ x }}`, `{% if x %}`, `${HOME}`,
  `#{x}` (`placeholder_end`); `<%= x %>` is a tag (code.py)
* labels and boxes of lists: `a)`, `(iv)`, `[x]`, and the plural `(s)` (`label_end`, `bracketed_end`)
* options of commands: `-x`, `--name` (`option_end`)
* abbreviations with slashes: `n/a`, `w/o`, `s/he` (`slashed_end`)
"""

from __future__ import annotations

from capfst.kernels import inner, outlined
from capfst.kernels.types import U8Array, i64, u8
from capfst.text.code import is_digit, is_hex, math_end, name_end
from capfst.text.unicode import (
    CLASS,
    LETTER,
    MARK,
    NUMBER,
    PUNCT,
    SPACE,
    ascii_set,
    class_at,
    decode,
    is_alphanumeric,
    is_in,
)

_TAB, _NL, _SPACE, _HASH, _DOLLAR, _PERCENT, _ROUND, _ROUND_END, _HYPHEN, _PERIOD, _SLASH, _ZERO = (
    ord(c) for c in "\t\n #$%()-./0"
)
_SQUARE, _BACKSLASH, _SQUARE_END, _UNDERSCORE, _BRACE, _BRACE_END = (ord(c) for c in "[\\]_{}")
_A, _D, _E, _I, _N, _R, _S, _T, _U, _W, _X, _Y = (ord(c) for c in "adeinrstuwxy")

_KNOWN = (
    # Commands of LaTeX, and names of folders
    b" nabla name names natural ncong ne nearrow neg neq new newblock newcommand newcounter newenvironment newfont"
    b" newif newlabel newlength newline newpage newsavebox newtheorem nexists next ngeq ngtr nleftarrow nleq nless nmid"
    b" nobreak nocite node noindent nolimits nolinebreak nonumber nopagebreak norm normalfont normalsize not notag"
    b" notes notin nparallel nprec nrightarrow nsim nsubseteq nsucc nsupseteq nu null number numberwithin nwarrow"
    b" raggedleft raggedright raise raisebox rangle rank rbrace rbrack rceil re readme real ref refname relax release"
    b" renewcommand renewenvironment reports require res resizebox resources results rfloor rgroup rho right rightarrow"
    b" rightharpoondown rightleftharpoons rightmargin rm rmfamily root rotatebox row rule rvert"
    b" tab tabcolsep tableofcontents tabular tag tanh tau tbinom temp templates tensor test tests text textbackslash"
    b" textbf textcolor textit textmd textnormal textrm textsc textsf textsl textstyle textsubscript textsuperscript"
    b" texttt textup textwidth tfrac thanks thepage therefore thesection theta thickapprox thinspace thispagestyle"
    b" tilde times tiny title titlepage tmp to today tools top topmargin toprule tr triangle triangledown triangleleft"
    b" triangleq triangleright tt ttfamily twocolumn types typeout"
    # Abbreviations with slashes
    b" a/k/a b/c b/w c/o d/b/a n/a s/he w/e w/in w/o w/out "
)
r"""Words after a backslash of which the first letter is not an escape, because the rest is not a word (`\nabla`); and
abbreviations with slashes that are not capitals, unlike I/O."""

_LENGTHS = ascii_set("hjlLqtzHJQTZ")
_CONVERSIONS = ascii_set("acdefginopsuxACDEFGINOPSUX")
"""Letters of printf's format strings, in both cases."""
_FLAGS = ascii_set("-+#'0.*$")
_SIGILS = ascii_set("!#$&*./:>@^")
"""Marks at the start of a placeholder in braces, besides letters, digits and underscores."""
_BLOCKS = ascii_set("#/:@")
"""Those of them after which the placeholder may have blanks: {#if x}."""
_LABELLED = ascii_set("#&)*+,-.:;>|")
"""Marks before the label of a list."""
_AFTER_OPTION = ascii_set('),:;[]|`"')
_NO_OPTION = ascii_set("\n!\"').?}")
"""What ends a sentence or a quotation, after which a dash begins no option."""
LONGEST_LABEL = 5
_LONGEST_UNIT = 3
"""Letters of a label (xviii) and of a unit after a placeholder (%dkbs)."""


@inner
def _letter_at(buf: U8Array, i: i64, end: i64) -> tuple[i64, i64]:
    """Return the letter of the English alphabet at `i` in lowercase, 0 if there is none, and the offset after it.

    The Kelvin sign is k, and İ, ı and i with a dot above are i, because in some language they have the same lowercase.
    """
    if i >= end:
        return 0, i
    letter = i64(buf[i]) | 32
    if 97 <= letter <= 122:
        has_dot = letter == _I and i + 2 < end and buf[i + 1] == 0xCC and buf[i + 2] == 0x87
        return letter, i + (3 if has_dot else 1)
    if buf[i] == 0xC4 and i + 1 < end and buf[i + 1] & 0xFE == 0xB0:
        return _I, i + 2
    if buf[i] == 0xE2 and i + 2 < end and buf[i + 1] == 0x84 and buf[i + 2] == 0xAA:
        return 107, i + 3
    return 0, i


@inner
def _letters_end(buf: U8Array, i: i64, end: i64) -> tuple[i64, i64]:
    """Return the end and the number of the letters of the English alphabet from `i` on."""
    n = 0
    while True:
        letter, after = _letter_at(buf, i, end)
        if letter == 0:
            return i, n
        i = after
        n += 1


@inner
def _is_known(buf: U8Array, i: i64, e: i64) -> bool:
    """Return whether buf[i:e], in any case, is one of the words of _KNOWN."""
    for k in range(len(_KNOWN) - 1):
        if _KNOWN[k] == _SPACE:
            m, at = k + 1, i
            while at < e:
                letter, after = _letter_at(buf, at, e)
                if letter == 0:
                    letter, after = i64(buf[at]), at + 1
                if _KNOWN[m] != letter:
                    break
                m, at = m + 1, after
            if at == e and _KNOWN[m] == _SPACE:
                return True
    return False


@inner
def _closing(buf: U8Array, i: i64, end: i64, opening: i64, closing: i64) -> i64:
    """Return the offset after the next `closing` in the line, before any `opening`; −1 if there is none."""
    while i < end and buf[i] != _NL and buf[i] != opening:
        if buf[i] == closing:
            return i + 1
        i += 1
    return -1


@inner
def _hex_end(buf: U8Array, i: i64, end: i64) -> i64:
    """Return the end of at most eight hexadecimal digits."""
    last = min(end, i + 8)
    while i < last and is_hex(buf[i]):
        i += 1
    return i


@outlined
@inner
def escape_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    r"""Find the end of \n  \t  \r  \N{DASH}  \x41  \u201c  \U0001F600  \u{1F600}  \033, which may have several
    backslashes; of any other letter only if no letter or digit follows: \d.

    After \n, \t and \r a word may follow, as in `\nand`, unless it makes a command: \nabla, \rm, \n{…}.
    """
    j = i + 1
    while j < end and buf[j] == _BACKSLASH:
        j += 1
    if j >= end:
        return -1
    letter, after = _letter_at(buf, j, end)
    if is_digit(buf[j]):
        last = min(end, j + 3)
        while j < last and is_digit(buf[j]):
            j += 1
        return j
    if letter == 0:
        return -1
    is_braced = after < end and buf[after] == _BRACE
    if letter == _U or letter == _X:
        if is_braced:
            closed = _hex_end(buf, after + 1, end)
            if closed > after + 1 and closed < end and buf[closed] == _BRACE_END:
                return closed + 1
        digits = _hex_end(buf, after, end) - after
        if letter == _X and digits >= 2:
            return after + 2
        if letter == _U and digits >= 4:
            # A character has at most the code 10FFFF, so that \u00e9cade is an escape and letters.
            is_long = digits == 8 and buf[after] == _ZERO and buf[after + 1] == _ZERO
            is_long = is_long and (buf[after + 2] == _ZERO or (buf[after + 2] == 49 and buf[after + 3] == _ZERO))
            return after + (8 if is_long else 4)
    if is_braced:
        return _closing(buf, after + 1, end, _BRACE, _BRACE_END) if letter == _N else -1
    if letter == _N or letter == _T or letter == _R:
        name, n = _letters_end(buf, j, end)
        is_command = n > 1 and (
            (name < end and buf[name] == _BRACE)
            or (_is_known(buf, j, name) and not is_alphanumeric(class_at(buf, name, end, info)))
        )
        return -1 if is_command else after
    if after < end and (buf[after] == _UNDERSCORE or buf[after] == _SQUARE):
        return -1
    return -1 if is_alphanumeric(class_at(buf, after, end, info)) else after


@outlined
@inner
def is_letter_escape(buf: U8Array, i: i64, e: i64, info: U8Array) -> bool:
    r"""Return whether the escape buf[i:e] is that of a letter beyond ASCII, as in caf\u00e9s."""
    while buf[i] == _BACKSLASH:
        i += 1
    letter = buf[i] | 32
    if letter != _U and letter != _X:
        return False
    code = 0
    for k in range(i + 1, e):
        if is_hex(buf[k]) and code < 0x110000:
            code = code << 4 | (i64(buf[k]) & 15) + (0 if is_digit(buf[k]) else 9)
    return 128 <= code < 0x110000 and (info[code] & CLASS == LETTER or info[code] & CLASS == MARK)


@outlined
@inner
def placeholder_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of %s  %(name)s  %NAME%  %{name}  {0}  {name}  {{ x }}  {% x %}  ${NAME}  #{x}  @{x}."""
    byte = buf[i]
    if byte == _PERCENT:
        return _percent_end(buf, i, end, info)
    if byte == _BRACE:
        return _brace_end(buf, i, end, info)
    if i + 2 >= end or buf[i + 1] != _BRACE:
        return -1
    if byte == _DOLLAR:
        math = math_end(buf, i, end, info)
        if math > 0:
            return math
        if buf[i + 2] == _BRACE:  # ${{ x }}
            return _brace_end(buf, i + 1, end, info)
    return _closing(buf, i + 2, end, _BRACE, _BRACE_END)


@inner
def _brace_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of {0}  {user.name}  {x:.2f}  {#if x}  {{ x }}  {% x %}  {# x #}. Only templates have blanks."""
    j = i + 1
    if j >= end:
        return -1
    first = buf[j]
    if first == _BRACE or first == _PERCENT or (first == _HASH and class_at(buf, j + 1, end, info) == SPACE):
        closing = _BRACE_END if first == _BRACE else first
        while first == _BRACE and j + 1 < end and buf[j + 1] == _BRACE:  # {{{x}}}
            j += 1
        j += 1
        while j + 1 < end and buf[j] != _NL and not (buf[j] == _BRACE and buf[j + 1] == first):
            if buf[j] == closing and buf[j + 1] == _BRACE_END:
                j += 2
                while j < end and closing == _BRACE_END and buf[j] == _BRACE_END:
                    j += 1
                return j
            j += 1
        return -1
    char_class = class_at(buf, j, end, info)
    if char_class != LETTER and char_class != NUMBER and first != _UNDERSCORE and not is_in(first, _SIGILS):
        return -1
    may_have_blanks = is_in(first, _BLOCKS) and class_at(buf, j + 1, end, info) != SPACE
    while j < end and buf[j] != _BRACE and buf[j] != _NL:
        if buf[j] == _BRACE_END:
            return j + 1
        if not may_have_blanks and class_at(buf, j, end, info) == SPACE:
            return -1
        j = decode(buf, j, end)[1]
    return -1


@inner
def _percent_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of %s  %-5.2f  %1$s  %ld  %dpx  %(name)s  %<name>s  %{name}  %[1]d  %NAME%. A letter that is not
    printf's must stand alone: %Y."""
    j = i + 1
    if j >= end:
        return -1
    first = buf[j]
    if first == _BRACE:
        return _closing(buf, j + 1, end, _BRACE, _BRACE_END)
    is_sized = False
    if first == _ROUND or first == 60 or first == _SQUARE:  # <
        k = name_end(buf, j + 1, end, info)
        while k < end and (buf[k] == _PERIOD or buf[k] == _HYPHEN):
            k = name_end(buf, k + 1, end, info)
        if k == j + 1 or k >= end or buf[k] != (_ROUND_END if first == _ROUND else 62 if first == 60 else _SQUARE_END):
            return -1
        j = k + 1
        is_sized = True
        if class_at(buf, j, end, info) == SPACE:
            return j
    else:
        k = name_end(buf, j, end, info)
        second = decode(buf, j, end)[1]
        while class_at(buf, second, end, info) == MARK:
            second = decode(buf, second, end)[1]
        is_name = second < k < end and buf[k] == _PERCENT and class_at(buf, j, end, info) == LETTER
        if is_name and buf[k - 1] != _UNDERSCORE and not is_alphanumeric(class_at(buf, k + 1, end, info)):
            return k + 1
    if not is_sized and i > 0 and is_digit(buf[i - 1]):
        return -1  # 5%-10%
    start = j
    while j < end and (is_in(buf[j], _FLAGS) or is_digit(buf[j])):
        j += 1
    is_sized = is_sized or j > start
    letters, n = _letters_end(buf, j, end)
    follows = class_at(buf, letters, end, info)
    if n == 0 or follows == LETTER or follows == MARK:
        return -1
    lengths = i64(n > 1 and is_in(buf[j], _LENGTHS))
    lengths += i64(n > 2 and lengths == 1 and buf[j + 1] | 32 == buf[j] | 32)
    conversion, after = _letter_at(buf, j + lengths, end)
    if (n == lengths + 1 and follows != NUMBER) or (is_sized and is_in(conversion, _CONVERSIONS)):
        return after
    return letters if conversion == _D and lengths + 1 < n <= lengths + _LONGEST_UNIT else -1  # %dpx


@outlined
@inner
def bracketed_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    r"""Find the end of the label (a) or (iv) of a list, the plural (s) or (es) of the word before it, the box [x], or
    codes of subtitles {\an8}, none of which separates words."""
    byte = buf[i]
    if byte == _BRACE:
        j = i + 2
        if j >= end or buf[i + 1] != _BACKSLASH or not is_alphanumeric(class_at(buf, j, end, info)):
            return -1
        while j < end and buf[j] != _BRACE and class_at(buf, j, end, info) != SPACE:
            if buf[j] == _BRACE_END:
                return j + 1
            j = decode(buf, j, end)[1]
        return -1
    if byte == _SQUARE:
        is_box = i + 2 < end and buf[i + 1] | 32 == _X and buf[i + 2] == _SQUARE_END
        is_apart = class_at(buf, i + 3, end, info) == SPACE and (i == 0 or _is_white(buf[i - 1]))
        return i + 3 if is_box and is_apart else -1
    if i > 0 and not _is_white(buf[i - 1]):
        e = i + 1 + (i + 1 < end and buf[i + 1] | 32 == _E)
        is_plural = e + 1 < end and buf[e] | 32 == _S and buf[e + 1] == _ROUND_END
        before = _class_before(buf, i, info)
        is_plural = is_plural and (before == LETTER or before == MARK)
        return e + 2 if is_plural and not is_alphanumeric(class_at(buf, e + 2, end, info)) else -1
    e = _label_of(buf, i + 1, end)
    is_label = 0 < e < end and buf[e] == _ROUND_END and class_at(buf, e + 1, end, info) == SPACE
    return e + 1 if is_label and _is_labelled(buf, i, info) else -1


@inner
def _class_before(buf: U8Array, i: i64, info: U8Array) -> i64:
    """Return the class of the character before `i` > 0."""
    k = i - 1
    while k > 0 and buf[k] & 0xC0 == 0x80:
        k -= 1
    return class_at(buf, k, i, info)


@inner
def _is_white(byte: u8) -> bool:
    return byte == _SPACE or byte == _TAB or byte == _NL


@inner
def _label_of(buf: U8Array, i: i64, end: i64) -> i64:
    """Return the end of a letter, also after a number, or of a Roman numeral up to 39, at `i`; −1 if there is none."""
    start = i
    while i < end and i < start + 2 and is_digit(buf[i]):
        i += 1
    e, n = _letters_end(buf, i, end)
    if n == 0 or n > LONGEST_LABEL:
        return -1
    while n > 1 and i < e:
        letter, i = _letter_at(buf, i, e)
        if letter != _I and letter != 118 and letter != _X:  # v
            return -1
    return e


@inner
def _is_labelled(buf: U8Array, i: i64, info: U8Array) -> bool:
    """Return whether a list may have a label at `i`: at the start of a line, after punctuation, or after `and`, `or` or
    `&`."""
    while i > 0 and (buf[i - 1] == _SPACE or buf[i - 1] == _TAB):
        i -= 1
    if i == 0 or buf[i - 1] == _NL or is_in(buf[i - 1], _LABELLED):
        return True
    if buf[i - 1] >= 128:  # a bullet, or a letter
        return _class_before(buf, i, info) == PUNCT
    if i > 1 and buf[i - 2] | 32 == 111 and buf[i - 1] | 32 == _R:
        i -= 2
    elif i > 2 and buf[i - 3] | 32 == _A and buf[i - 2] | 32 == _N and buf[i - 1] | 32 == _D:
        i -= 3
    else:
        return False
    return i == 0 or not is_alphanumeric(_class_before(buf, i, info))


@outlined
@inner
def label_end(buf: U8Array, i: i64, e: i64, end: i64, info: U8Array) -> i64:
    """Find the end of the label `a)` or `iv)` of a list that begins with the word buf[i:e], before `)`: white space
    surrounds it, and no bracket is open, unlike in `(plan b)`."""
    if e >= end or buf[e] != _ROUND_END or (i > 0 and not _is_white(buf[i - 1])):
        return -1
    if class_at(buf, e + 1, end, info) != SPACE or _label_of(buf, i, end) != e:
        return -1
    k = i
    while k > 0 and buf[k - 1] != _NL and buf[k - 1] != _ROUND_END:
        k -= 1
        if buf[k] == _ROUND:
            return -1
    return e + 1


@outlined
@inner
def option_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of the option -x, --name or --dry-run of a command, at the hyphen `i` after white space.

    A dash may also begin a quotation's source (--Albert Einstein), a bullet or speech (-I know): an option is in the
    middle of a line, not after the end of a sentence, unless it has a hyphen or is a consonant; and it is not -i.
    """
    k = i
    while k > 0 and (buf[k - 1] == _SPACE or buf[k - 1] == _TAB):
        k -= 1
    is_inside = k > 0 and not is_in(buf[k - 1], _NO_OPTION)
    is_inside = is_inside and (buf[k - 1] < 128 or _class_before(buf, k, info) != PUNCT)
    j = i + 1
    if j < end and buf[j] == _HYPHEN:
        if class_at(buf, j + 1, end, info) != LETTER:
            return -1
        e = name_end(buf, j + 1, end, info)
        while e + 1 < end and buf[e] == _HYPHEN and is_alphanumeric(class_at(buf, e + 1, end, info)):
            e = name_end(buf, e + 1, end, info)
            is_inside = True
        return e if is_inside and _ends_option(buf, e, end, info) else -1
    letter, e = _letter_at(buf, j, end)
    if letter == 0 or letter == _I or not _ends_option(buf, e, end, info):
        return -1
    is_vowel = letter == _A or letter == _E or letter == 111 or letter == _U or letter == _Y
    return e if is_inside or not is_vowel else -1


@inner
def _ends_option(buf: U8Array, e: i64, end: i64, info: U8Array) -> bool:
    return class_at(buf, e, end, info) == SPACE or is_in(buf[e], _AFTER_OPTION)


@outlined
@inner
def slashed_end(buf: U8Array, i: i64, e: i64, end: i64, info: U8Array) -> i64:
    """Find the end of n/a  s/he  w/o  a/k/a, or of w/ before white space and not after a number, with the word buf[i:e]
    before the first slash."""
    if e - i > 1 or (i > 0 and buf[i - 1] == _SLASH):
        return -1
    if buf[i] | 32 == _W and class_at(buf, e + 1, end, info) == SPACE:
        k = i
        while k > 0 and buf[k - 1] == _SPACE:
            k -= 1
        return -1 if k > 0 and is_digit(buf[k - 1]) else e + 1
    while e + 1 < end and buf[e] == _SLASH and _letter_at(buf, e + 1, end)[0] != 0:
        e = _letters_end(buf, e + 1, end)[0]
    is_apart = not is_alphanumeric(class_at(buf, e, end, info)) and not (e < end and buf[e] == _SLASH)
    return e if is_apart and e > i + 1 and _is_known(buf, i, e) else -1
