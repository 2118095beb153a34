"""Subtitles with the defects of real files, made at random."""

from __future__ import annotations

import random
from collections.abc import Callable

_WORDS = """
i he she we they said went to new york city london paris john smith mary the us is a in and of iPhone NASA Москва ÉCOLE
straße İstanbul i̇stanbul é tomorrow monday god don't i'm l.a. Mr. dr. 42 3rd
"""
WORDS = _WORDS.split()
MARKS = [".", "?", "!", ",", "...", "…", ";", ""]
INLINE = [
    "<i>{}</i>", "<b>{}", "{}</font>", '<font color="#ff0000">{}</font>', "[{}]", "({})", "♪ {} ♪", "- {}", ">> {}",
    "JOHN: {}", "{{\\an8}}{}", "{{\\i1}}{}{{\\i0}}", "<c.yellow>{}</c>", "<v Mary Jones>{}</v>", "<00:00:01.500>{}",
    "{} &amp; {}", "&gt;&gt; {}", "a < b {}", "{} > x", "<unclosed {}", "# {} #", "–{}", "{}--", "\u200e{}",
]  # fmt: skip


def sentence(draw: random.Random) -> str:
    words = [draw.choice(WORDS) + draw.choice(MARKS) * (draw.random() < 0.2) for _ in range(draw.randint(0, 6))]
    text = " ".join(words)
    if draw.random() < 0.4:
        text = draw.choice(INLINE).format(text, text)
    return draw.choice([str.lower, str.upper, str, str, str.title])(text)


def _time(seconds: float, form: str) -> str:
    whole, hours = divmod(round(seconds * 1000), 3_600_000), form
    minutes, rest = divmod(whole[1], 60_000)
    return hours.format(h=whole[0], m=minutes, s=rest // 1000, ms=rest % 1000, cs=rest % 1000 // 10)


def _cues(draw: random.Random) -> list[tuple[float, float, list[str]]]:
    start, cues = 0.0, []
    for _ in range(draw.randint(1, 12)):
        start += draw.uniform(0, 5)
        lines = [sentence(draw) for _ in range(draw.randint(0, 3))]
        cues.append((start, start + draw.uniform(0.1, 6), lines))  # cues may overlap
    return cues


def srt(draw: random.Random) -> str:
    parts = []
    for number, (start, end, lines) in enumerate(_cues(draw), 1):
        mark = draw.choice([",", ",", "."])
        form = "{h:02}:{m:02}:{s:02}" + mark + "{ms:03}"
        index = f"{number}\n" if draw.random() < 0.9 else ""
        text = "\n".join(lines if draw.random() < 0.1 else [line for line in lines if line.strip()])
        parts.append(f"{index}{_time(start, form)} --> {_time(end, form)}\n{text}\n")
    return ("\ufeff" if draw.random() < 0.2 else "") + "\n".join(parts) + "\n" * draw.randint(0, 2)


def vtt(draw: random.Random) -> str:
    parts = [draw.choice(["WEBVTT", "WEBVTT - new york", "\ufeffWEBVTT\nKind: captions\nLanguage: en"]) + "\n"]
    for start, end, lines in _cues(draw):
        if draw.random() < 0.2:
            parts.append(draw.choice(["NOTE\nshot in new york\n", "STYLE\n::cue(b) { color: red }\n"]))
        form = "{h:02}:{m:02}:{s:02}.{ms:03}"
        settings = draw.choice(["", "", " align:start position:0%", " line:84% size:50%"])
        name = draw.choice(["", "", "intro one\n"])
        text = "\n".join(line for line in lines if line.strip() and "-->" not in line) or "x"
        parts.append(f"{name}{_time(start, form)} --> {_time(end, form)}{settings}\n{text}\n")
    return "\n".join(parts)


def ass(draw: random.Random) -> str:
    lines = [
        "[Script Info]", "; made in new york", "Title: a film", "ScriptType: v4.00+", "", "[V4+ Styles]",
        "Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic,"
        " Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL,"
        " MarginR, MarginV, Encoding",
        *(f"Style: {name},Arial,20,&H00FFFFFF,&H0000FFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1"
          for name in ("Default", "sign")),
        "", "[Events]", "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text",
    ]  # fmt: skip
    for start, end, text in _cues(draw):
        form = "{h}:{m:02}:{s:02}.{cs:02}"
        kind, style = draw.choice(["Dialogue", "Dialogue", "Comment"]), draw.choice(["Default", "sign"])
        name = draw.choice(["", "john"])
        shape = draw.choice(["", "", r"{\p1}m 0 0 l 100 0 b 5 5{\p0}", r"{\k20}"])
        lines.append(
            f"{kind}: 0,{_time(start, form)},{_time(end, form)},{style},{name},0,0,0,,{shape}" + r"\N".join(text)
        )
    return "\n".join(lines) + "\n"


def sbv(draw: random.Random) -> str:
    form = "{h}:{m:02}:{s:02}.{ms:03}"
    return "".join(
        f"{_time(start, form)},{_time(end, form)}\n{'[br]'.join(filter(str.strip, lines)) or 'x'}\n\n"
        for start, end, lines in _cues(draw)
    )


FILES: dict[str, Callable[[random.Random], str]] = {"srt": srt, "vtt": vtt, "ass": ass, "sbv": sbv}


def damaged(draw: random.Random, text: str) -> str:
    """Return a file with Windows' line ends, or with a few lines or characters lost or doubled."""
    for _ in range(draw.choice([0, 0, 1, 3])):
        i, n = draw.randrange(len(text) + 1), draw.choice([1, 3, 30])
        text = text[:i] + draw.choice(["", text[i : i + n] * 2, "\n", "<", "{", "-->"]) + text[i + n :]
    return text.replace("\n", "\r\n") if draw.random() < 0.3 else text
