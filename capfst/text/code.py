"""Markup, code and identifiers: find the end of spans that must pass through unchanged.

In: a buffer of lines, and an offset where a tag, an entity, code or an identifier may begin. Out: the offset after it,
or −1 if none begins there. All rules except `is_camel_case` treat a text and its lowercase alike, and none reads
beyond the end of the line. A search for the end of a span stops where another span of its kind could begin, so that all
searches together read each character only a few times.

Tags, entities, back-quoted spans, LaTeX commands and math are recognized by their first characters (`tag_end` …
`math_end`); words, and spans that begin with a word, by the whole of it (`is_identifier`, `has_inner_sign`).
"""

from __future__ import annotations

from capfst.kernels import inner, outlined
from capfst.kernels.types import U8Array, i64, u8
from capfst.text.unicode import (
    CLASS,
    IS_CASED,
    IS_UPPER,
    LETTER,
    MARK,
    NUMBER,
    OTHER,
    SPACE,
    ascii_set,
    class_at,
    decode,
    is_alphanumeric,
    is_in,
)

_NL, _DOLLAR, _PERCENT, _AMP, _ROUND, _ROUND_END, _HYPHEN, _PERIOD, _SLASH, _SEMICOLON, _LESS, _EQUAL, _GREATER = (
    ord(c) for c in "\n$%&()-./;<=>"
)
_SQUARE, _BACKSLASH, _SQUARE_END, _UNDERSCORE, _BACKTICK, _BRACE, _BRACE_END, _HASH, _COLON = (
    ord(c) for c in "[\\]_`{}#:"
)
_MATH_SIGNS = ascii_set("\\^_={+<")
_NAME_MARKS = ascii_set("-.:_")
"""Marks in the names of tags."""

_MIN_VARIABLE = 4
"""The least number of letters at the start of `$name`: `$us` and `$a` are currencies."""
_MIN_AROUND = 4
_MIN_HEX, _MIN_TURNS = 7, 2
"""The least number of characters of a hexadecimal number without 0x (git's short ones have seven), and of changes
between digits and letters in it, unlike `1000bce`."""
_COM, _EDU, _GOV, _NET, _ORG = (int.from_bytes(ending, "big") for ending in (b"com", b"edu", b"gov", b"net", b"org"))
_UUID_HYPHENS = 1 << 8 | 1 << 13 | 1 << 18 | 1 << 23
_UUID_SIZE = 36
_MIN_MISTAKEN = 4


@outlined
@inner
def name_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the end of the letters, digits and underscores from `i` on."""
    while i < end:
        if not (is_alphanumeric(class_at(buf, i, end, info)) or buf[i] == _UNDERSCORE):
            break
        i = decode(buf, i, end)[1]
    return i


@inner
def is_blank(char_class: i64) -> bool:
    """Return whether a class is that of white space or is treated like it (controls and format characters)."""
    return char_class == SPACE or char_class == OTHER


@outlined
@inner
def tag_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of <b>  </p>  <br/>  <a href="…">  <!doctype …>  <!-- … -->  <?xml … ?>  <%= … %>. A tag with
    blanks has an = or ends in a /, because `if a <b and c> d` is not a tag."""
    if i + 1 < end and (buf[i + 1] == _PERCENT or buf[i + 1] == 63):  # <% x %>, <?php x ?>
        j = i + 2
        while j + 1 < end and buf[j] != _LESS and buf[j] != _NL:
            if buf[j] == buf[i + 1] and buf[j + 1] == _GREATER:
                return j + 2
            j += 1
    if i + 3 < end and buf[i + 1] == 33 and buf[i + 2] == _HYPHEN and buf[i + 3] == _HYPHEN:  # !
        j = i + 4
        while j + 2 < end and buf[j] != _NL and not (buf[j] == _LESS and buf[j + 1] == 33):
            if buf[j] == _HYPHEN and buf[j + 1] == _HYPHEN and buf[j + 2] == _GREATER:
                return j + 3
            j += 1
    j = i + 1
    is_declaration, has_attributes = j + 1 < end and (buf[j] == 33 or buf[j] == 63), False  # ! ?
    if is_declaration:
        if class_at(buf, j + 1, end, info) != LETTER and buf[j + 1] != _HYPHEN and buf[j + 1] != _SQUARE:
            return -1
    else:
        if j < end and buf[j] == _SLASH:
            j += 1
        if class_at(buf, j, end, info) != LETTER:
            return -1
        while j < end and (is_alphanumeric(class_at(buf, j, end, info)) or is_in(buf[j], _NAME_MARKS)):
            j = decode(buf, j, end)[1]
    has_blanks = class_at(buf, j, end, info) == SPACE
    name_ends = j
    while j < end and buf[j] != _LESS and buf[j] != _GREATER and buf[j] != _NL:
        has_attributes = has_attributes or buf[j] == _EQUAL
        j += 1
    if j >= end or buf[j] != _GREATER:
        return -1
    is_closed = buf[j - 1] == _SLASH and (has_blanks or j - 1 == name_ends)
    return j + 1 if is_declaration or is_closed or j == name_ends or (has_blanks and has_attributes) else -1


@outlined
@inner
def entity_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of &amp;  &Eacute;  &#8217;  &#x27;. The only entities of two letters are &lt; and &gt;, because
    `S&Ls;` is not an entity."""
    j = i + 1
    n = 0
    if j < end and buf[j] == _HASH:
        j += 1
        if j < end and buf[j] | 32 == 120:  # x
            j += 1
        while j < end and is_hex(buf[j]):
            n += 1
            j += 1
        fits = n > 0
    else:
        if class_at(buf, j, end, info) != LETTER:
            return -1
        while j < end and is_alphanumeric(class_at(buf, j, end, info)):
            n += class_at(buf, j, end, info) != MARK
            j = decode(buf, j, end)[1]
        fits = n >= 3 or (j - i == 3 and (buf[i + 1] | 32 == 108 or buf[i + 1] | 32 == 103) and buf[i + 2] | 32 == 116)
    return j + 1 if fits and j < end and buf[j] == _SEMICOLON else -1


@outlined
@inner
def back_quoted_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of `x`  ``x y``: as many backticks at the end as at the start, no blank next to them inside, no
    letter or digit after them. `quoted' and ``quoted'' are not code."""
    content = i
    while content < end and buf[content] == _BACKTICK:
        content += 1
    last = class_at(buf, content, end, info)
    if is_blank(last):
        return -1
    j = content
    while j < end and buf[j] != _BACKTICK and buf[j] != _NL:
        code, j = decode(buf, j, end)
        last = info[code] & CLASS
    size = j
    while j < end and buf[j] == _BACKTICK:
        j += 1
    if j - size != content - i or is_blank(last) or is_alphanumeric(class_at(buf, j, end, info)):
        return -1
    return j


@outlined
@inner
def math_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of $x_i$  $$e = mc^2$$: no letter or digit after the dollars. Single dollars have no blank next to
    them inside, and enclose either a sign of mathematics, or no blank and no digit at the start: `$5 (US$)` is not
    math. Double dollars enclose such a sign."""
    marks = 1
    if i + 1 < end and buf[i + 1] == _DOLLAR:
        marks = 2
    content = i + marks
    first = class_at(buf, content, end, info)
    if content >= end or buf[content] == _DOLLAR or (marks == 1 and is_blank(first)):
        return -1
    sign, blank, last = False, False, first
    j = content
    while j < end and buf[j] != _DOLLAR and buf[j] != _NL:
        sign = sign or is_in(buf[j], _MATH_SIGNS) or (buf[j] == _ROUND and (last == LETTER or last == MARK))
        code, j = decode(buf, j, end)
        last = info[code] & CLASS
        blank = blank or is_blank(last)
    if j >= end or buf[j] != _DOLLAR:
        return -1
    if marks == 2:
        return j + 2 if sign and j + 1 < end and buf[j + 1] == _DOLLAR else -1
    if is_blank(last) or is_alphanumeric(class_at(buf, j + 1, end, info)):
        return -1
    return j + 1 if sign or not (blank or first == NUMBER) else -1


@outlined
@inner
def variable_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Find the end of $HOME  $this."""
    j = i + 1
    letters = 0
    while letters < _MIN_VARIABLE:
        char_class = class_at(buf, j, end, info)
        if char_class == LETTER:
            letters += 1
        elif char_class != MARK or letters == 0:
            return -1
        j = decode(buf, j, end)[1]
    return name_end(buf, j, end, info)


@outlined
@inner
def command_end(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    r"""Find the end of \( … \)  \[ … \]  \alpha  \begin{itemize}  \cite[12]{knuth}: a command with its arguments, up to
    the first argument that contains a blank or braces."""
    if i + 1 < end and (buf[i + 1] == _ROUND or buf[i + 1] == _SQUARE):
        closing = _ROUND_END if buf[i + 1] == _ROUND else _SQUARE_END
        j = i + 2
        while j + 1 < end and buf[j] != _NL:
            if buf[j] == _BACKSLASH and buf[j + 1] == closing:
                return j + 2
            if buf[j] == _BACKSLASH and buf[j + 1] == buf[i + 1]:
                return -1
            j += 1
        return -1
    if class_at(buf, i + 1, end, info) != LETTER:
        return -1
    command = name_end(buf, i + 1, end, info)
    while command < end and (buf[command] == _BRACE or buf[command] == _SQUARE):
        opening = buf[command]
        closing = _BRACE_END if opening == _BRACE else _SQUARE_END
        j = command + 1
        while j < end and buf[j] != closing and buf[j] != opening and not is_blank(class_at(buf, j, end, info)):
            j = decode(buf, j, end)[1]
        if j >= end or buf[j] != closing:
            break
        command = j + 1
    return command


@outlined
@inner
def has_inner_sign(buf: U8Array, i: i64, end: i64, info: U8Array) -> bool:
    """Return whether buf[i:end] has an underscore inside a word (foo_bar), or a period after two letters or digits and
    before a letter, with at least four of them around it (main.py, np.array); the periods of u.s., e.g., ph.d and 3.5kg
    do not count."""
    part = 0  # letters and digits since the last other character
    before = 0  # letters and digits before that, if such a period ends them
    while i < end:
        byte = buf[i]
        code, i = decode(buf, i, end)
        char_class = info[code] & CLASS
        if char_class == LETTER or char_class == NUMBER:
            part += 1
            if before > 0 and before + part >= _MIN_AROUND:
                return True
        elif char_class != MARK:
            after = class_at(buf, i, end, info)
            if byte == _UNDERSCORE and part > 0 and is_alphanumeric(after):
                return True
            before = part if byte == _PERIOD and part >= 2 and after == LETTER else 0
            part = 0
    return False


@inner
def is_digit(byte: u8) -> bool:
    return 48 <= byte <= 57


@inner
def is_hex(byte: u8) -> bool:
    return is_digit(byte) or 97 <= byte | 32 <= 102


@outlined
@inner
def is_version(buf: U8Array, i: i64, end: i64) -> bool:
    """Return whether the word begins with v1.2 or 1.2.3; anything may follow, as in 1.2.3-rc1."""
    needed = 2
    if buf[i] | 32 == 118:
        i += 1
        needed = 1
    while i < end and is_digit(buf[i]):
        while i < end and is_digit(buf[i]):
            i += 1
        if needed == 0:
            return True
        if i >= end or buf[i] != _PERIOD:
            return False
        i += 1
        needed -= 1
    return False


@inner
def _is_hexadecimal(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether the word is like 0xff, 77247f3 or a UUID; a name and a colon may precede it: sha1:77247f3."""
    for k in range(start, end):
        if buf[k] == _COLON:
            start = k + 1
    i = start
    if end - start > 2 and buf[start] == 48 and buf[start + 1] | 32 == 120:
        i += 2
    hyphens, turns = 0, 0
    for k in range(i, end):
        if buf[k] == _HYPHEN:
            hyphens += 1
            if i > start or end - start != _UUID_SIZE or not _UUID_HYPHENS >> (k - start) & 1:
                return False
        elif not is_hex(buf[k]):
            return False
        elif k > i:
            turns += is_digit(buf[k]) != is_digit(buf[k - 1])
    if hyphens > 0:
        return hyphens == 4
    return i > start or (end - start >= _MIN_HEX and turns >= _MIN_TURNS)


@inner
def _is_time(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether the word begins like 2024-01-31t12:00."""
    if end - start < 13:
        return False
    for k in range(12):
        byte = buf[start + k]
        if k == 4 or k == 7:
            if byte != _HYPHEN:
                return False
        elif k == 10:
            if byte | 32 != 116:  # t
                return False
        elif not is_digit(byte):
            return False
    return True


@outlined
@inner
def is_camel_case(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word is like getElementById, PyTorch, iPhone or LLMs: letters and digits with a small letter,
    and a capital that is not the first letter. One small letter before many capitals (hELLO) is a mistake."""
    capitals, smalls, begins_small = 0, 0, False
    i = start
    while i < end:
        code, i = decode(buf, i, end)
        flags = info[code]
        if flags & CLASS == LETTER:
            is_first = capitals + smalls == 0
            capitals += i64(flags & IS_UPPER != 0)
            smalls += i64(flags & (IS_UPPER | IS_CASED) == IS_CASED)
            begins_small = begins_small or (is_first and smalls > 0)
        elif not is_alphanumeric(flags & CLASS):
            return False
    if begins_small:
        return capitals > 0 and (smalls > 1 or capitals < _MIN_MISTAKEN)
    return capitals > 1 and smalls > 0


@inner
def _is_site(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether the word is like yahoo.com or amazon.org, which are also names of companies."""
    if end - start < 5 or buf[end - 4] != _PERIOD:
        return False
    ending = 0
    for k in range(end - 3, end):
        ending = ending << 8 | i64(buf[k] | 32)
    return ending == _COM or ending == _EDU or ending == _GOV or ending == _NET or ending == _ORG


@outlined
@inner
def is_identifier(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether a word or compound is the name of a file or of something in a program, a version, a time or a
    hexadecimal number: foo_bar  self.name  my-file.txt  v1.2.3-rc1  2024-01-31t12:00:00z  0xff  77247f3
    123e4567-e89b-12d3-a456-426614174000.

    Some names of products look like these (node.js): use this only for words that the model does not know.
    """
    last = end  # only the last part of a compound: node.js-based is not a file name
    while last > start and buf[last - 1] != _HYPHEN:
        last -= 1
    if has_inner_sign(buf, last, end, info) and not _is_site(buf, last, end):
        return True
    return is_version(buf, start, end) or _is_hexadecimal(buf, start, end) or _is_time(buf, start, end)
