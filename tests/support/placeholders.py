r"""Escapes, placeholders, labels, options and abbreviations with slashes, by regular expressions.

The functions find them in a sketch of a text, in which λ, ν, μ, a space and \0 stand for letters, digits, marks, white
space and other characters beyond ASCII, δ for a dot above i, and the letters that have the lowercase of k or i in some
language for these. Each returns the offset after it, or 0 if there is none at `i`.
"""

import re

from capfst.text.facts import rows
from capfst.text.unicode import CLASS, INFO, LETTER, MARK

A, L, B = "[A-Za-zλ0-9νμδ]", "[A-Za-zλ]", "(?:[iI]δ|[A-Za-z])"
HEX = "[0-9A-Fa-f]"
COMMANDS = {word for kind, _, words, _, name in rows("protected.tsv") if name == "KNOWN" for word in words.split("|")}
SLASHES = {"a/k/a", "b/c", "b/w", "c/o", "d/b/a", "n/a", "s/he", "w/e", "w/in", "w/o", "w/out"}

ESCAPE = re.compile(
    rf"\\+(?:[0-9]{{1,3}}|[uUxX]\{{{HEX}{{1,8}}\}}|[xX]{HEX}{{2}}|[uU](?:(?=00(?:0|10)){HEX}{{8}}|{HEX}{{4}})"
    rf"|[nN]\{{[^{{}}\n]*\}}|[nNtTrR](?!\{{)|{B}(?![{{_\[]|{A}))"
)
NAME_OF_ESCAPE = re.compile(rf"\\+({B}+)(\{{?)")
BRACES = re.compile(
    r"\{{2,}(?!\{)(?:(?!\{\{|\}\})[^\n])*\}{2,}|\{%(?:(?!\{%|%\})[^\n])*%\}|\{#(?= )(?:(?!\{#|#\})[^\n])*#\}"
    r"|\{(?=[A-Za-zλ0-9ν_!$&*.>^])[^{}\n ]+\}|\{(?!# )[#/:@](?! )[^{}\n]*\}"
)
CLOSED = re.compile(r"\{[^{}\n]*\}")
PERCENT_NAME = re.compile(rf"%{L}[μδ]*(?:_*{A})+%(?!{A})")
PERCENT_KEY = re.compile(rf"%(?:\((?:{A}|[_.-])+\)|<(?:{A}|[_.-])+>|\[(?:{A}|[_.-])+\])")
PRINTF = re.compile(
    rf"(?P<size>[-+#'0-9.*$]*)(?P<length>(?:(?P<l>[hjlqtzHJLQTZ])(?:(?i:(?P=l))(?={B}))?)?(?={B}))(?P<letters>{B}+)(?![A-Za-zλμδ])"
)
CONVERSIONS = "acdefginopsuxACDEFGINOPSUX"
PLURAL = re.compile(rf"\([eE]?[sS]\)(?!{A})")
LABEL = rf"[0-9]{{0,2}}(?:{B}|(?:[iI]δ|[ivxIVX]){{1,5}})"
ROUND = re.compile(rf"\({LABEL}\)(?= |\n|$)")
LABELLED = re.compile(r"(?:^|\n|[)*+,\-.:;>|#&]|(?<![A-Za-zλ0-9νμδ])(?i:and|or))[ \t]*$")
CODES = re.compile(rf"\{{\\(?={A})[^{{}} \n]*\}}")
BOX = re.compile(r"\[[xX]\](?= |\n|$)")
OPTION = re.compile(
    rf"(?P<long>--(?={L})(?:{A}|_)+(?P<more>-(?={A})(?:{A}|_)+)*)(?=$|[\n ),:;\[\]|`\"])"
    rf"|-(?P<letter>{B})(?=$|[\n ),:;\[\]|`\"])"
)
SLASHED = re.compile(rf"{B}(?:/{B}+)+(?!{A}|/)")
QUOTED = re.compile(rf"([\"'])(?:\\\1|(?!\\\1|\1)[^\n])*\1(?!{A})")


def escape(s: str, i: int) -> int:
    found, name = ESCAPE.match(s, i), NAME_OF_ESCAPE.match(s, i)
    if name and name[1][0] in "nNtTrR" and not re.match(r"\\+[nN]\{", s[i:]):
        word = name[1].lower().replace("δ", "")
        if len(word) > 1 and (name[2] or (word in COMMANDS and not re.match(A, s[name.end() :]))):
            return 0
    return found.end() if found else 0


def is_letter_escape(escape: str) -> bool:
    found = re.fullmatch(rf"\\+[uUxX]\{{?({HEX}+)\}}?", escape)
    code = int(found[1], 16) if found else 0
    return 128 <= code < 0x110000 and INFO[code] & CLASS in (LETTER, MARK)


def placeholder(s: str, i: int, math: re.Pattern[str]) -> int:
    if s[i] == "%":
        return percent(s, i)
    if s[i] == "{":
        found = BRACES.match(s, i)
    elif s[i + 1 : i + 2] != "{" or i + 2 >= len(s):
        return 0
    elif s[i] == "$":
        found = math.match(s, i) or (BRACES if s[i + 2] == "{" else CLOSED).match(s, i + 1)
    else:
        found = CLOSED.match(s, i + 1)
    return found.end() if found else 0


def percent(s: str, i: int) -> int:
    if s[i + 1 : i + 2] == "{":
        found = CLOSED.match(s, i + 1)
        return found.end() if found else 0
    if name := PERCENT_NAME.match(s, i):
        return name.end()
    key = PERCENT_KEY.match(s, i)
    if not key and (s[i + 1 : i + 2] in ("(", "<", "[") or s[i - 1 : i] in tuple("0123456789")):
        return 0
    j = key.end() if key else i + 1
    if key and s[j : j + 1] in ("", " ", "\n"):
        return j
    found = PRINTF.match(s, j)
    if not found:
        return 0
    letters = re.findall(B, found["letters"])
    is_sized = bool((key or found["size"]) and letters[0][0] in CONVERSIONS)
    if len(letters) > 1 and is_sized:
        return found.start("letters") + len(letters[0])
    if len(letters) == 1:
        return found.end() if is_sized or not re.match(A, s[found.end() :]) else 0
    return found.end() if letters[0] in "dD" and len(letters) <= 3 else 0


def bracketed(s: str, i: int, before: str, is_mark: bool) -> int:
    """before: the text before `i`. is_mark: as for `option`."""
    if s[i] == "{":
        found = CODES.match(s, i)
    elif s[i] == "[":
        found = BOX.match(s, i) if before[-1:] in ("", " ", "\t", "\n") else None
    elif before[-1:] not in ("", " ", "\t", "\n"):
        found = PLURAL.match(s, i) if re.match("[A-Za-zλμδ]", s[i - 1]) else None
    else:
        found = ROUND.match(s, i) if (is_mark or LABELLED.search(before)) else None
    return found.end() if found else 0


def label(s: str, start: int, end: int, before: str) -> int:
    is_label = re.fullmatch(LABEL, s[start:end]) and s[end : end + 1] == ")"
    if not is_label or s[end + 1 : end + 2] not in ("", " ", "\n") or before[-1:] not in ("", " ", "\t", "\n"):
        return 0
    line = before.rpartition("\n")[2]
    return 0 if line.rfind("(") > line.rfind(")") else end + 1


def option(s: str, i: int, before: str, is_mark: bool) -> int:
    """is_mark: whether the last character of `before` that is not blank is punctuation beyond ASCII."""
    found = OPTION.match(s, i)
    if not found:
        return 0
    last = before.rstrip(" \t")[-1:]
    is_inside = last not in ("", *"\n!\"').?}") and not is_mark
    if found["long"]:
        return found.end() if is_inside or found["more"] else 0
    letter = found["letter"][0].lower()
    return found.end() if letter != "i" and (is_inside or letter not in "aeouy") else 0


def slashed(s: str, start: int, end: int, before: str) -> int:
    if end - start > 1 or before.endswith("/"):
        return 0
    if s[start] in "wW" and s[end + 1 : end + 2] in ("", " ", "\n"):
        return 0 if before.rstrip(" ")[-1:] in tuple("0123456789") else end + 1
    found = SLASHED.match(s, start)
    return found.end() if found and found[0].lower().replace("δ", "") in SLASHES else 0
