"""Counts the work of a module that reads text with regular expressions: steps of their search, and executed lines.

The search is that of Python's `re`, with backtracking, as a program for a small machine. It counts; the results are
those of `re`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    from re import _constants as sre
    from re import _parser as parser
else:
    import sre_constants as sre
    import sre_parse as parser

_SPACES = frozenset(b" \t\n\r\f\v")
_DIGITS = frozenset(b"0123456789")
_WORD = frozenset(i for i in range(128) if chr(i).isalnum()) | {ord("_")}
_ALL = frozenset(range(256))
_CATEGORIES = {
    sre.CATEGORY_SPACE: _SPACES, sre.CATEGORY_NOT_SPACE: _ALL - _SPACES, sre.CATEGORY_DIGIT: _DIGITS,
    sre.CATEGORY_WORD: _WORD, sre.CATEGORY_NOT_WORD: _ALL - _WORD,
}  # fmt: skip
_MANY = 30  # repetitions of more are as good as any number
_SET, _SPLIT, _JUMP, _AT, _LOOK, _DONE = range(6)

_NOTHING = (_JUMP, 0, 0)
Instruction = tuple[int, Any, Any]


def _characters(op: Any, value: Any, flags: int) -> frozenset[int] | None:
    """Return the bytes that a part of a pattern matches; None if it is not a single byte."""
    if op is sre.LITERAL:
        found = frozenset([value])
    elif op is sre.NOT_LITERAL:
        return _ALL - {value}
    elif op is sre.ANY:
        return _ALL if flags & re.DOTALL else _ALL - {10}
    elif op is sre.RANGE:
        found = frozenset(range(value[0], value[1] + 1))
    elif op is sre.CATEGORY:
        return _CATEGORIES[value]
    elif op is sre.IN:
        is_negated = value[0][0] is sre.NEGATE
        found = frozenset().union(*(_characters(*each, flags) or () for each in value[is_negated:]))
        return _ALL - found if is_negated else found
    else:
        return None
    if flags & re.IGNORECASE:
        found |= frozenset(ord(case) for i in found for case in (chr(i).lower(), chr(i).upper()) if case.isascii())
    return found


class Program:
    """A pattern of bytes, as a program that searches with backtracking."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._flags = pattern.flags
        self._code: list[Instruction] = []
        self._add(parser.parse(pattern.pattern, pattern.flags & ~re.LOCALE))
        self._code.append((_DONE, 0, 0))
        self._first = self._first_bytes()

    def _add(self, parts: Any) -> None:
        code = self._code
        for op, value in parts:
            if (characters := _characters(op, value, self._flags)) is not None:
                code.append((_SET, characters, 0))
            elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
                self._repeat(op is sre.MIN_REPEAT, *value)
            elif op is sre.SUBPATTERN:
                self._add(value[-1])
            elif op is sre.BRANCH:
                jumps = []
                for k, branch in enumerate(value[1]):
                    split = len(code)
                    code.append((_JUMP, split + 1, 0))
                    self._add(branch)
                    if k < len(value[1]) - 1:
                        jumps.append(len(code))
                        code.append((_JUMP, 0, 0))
                        code[split] = (_SPLIT, split + 1, len(code))
                for jump in jumps:
                    code[jump] = (_JUMP, len(code), 0)
            elif op is sre.AT:
                code.append((_AT, value, 0))
            elif op in (sre.ASSERT, sre.ASSERT_NOT):
                assert value[0] == 1, "a look-behind"
                look = len(code)
                code.append(_NOTHING)
                self._add(value[1])
                code.append((_DONE, 0, 0))
                code[look] = (_LOOK, op is sre.ASSERT, len(code))
            else:
                raise NotImplementedError(op)

    def _repeat(self, is_lazy: bool, least: int, most: int, parts: Any) -> None:
        code = self._code
        for _ in range(least):
            self._add(parts)
        splits = []
        for _ in range(1 if most > _MANY else most - least):
            splits.append(len(code))
            code.append(_NOTHING)
            self._add(parts)
        if most > _MANY:
            code.append((_JUMP, splits[0], 0))
        for split in splits:
            both = (split + 1, len(code))
            code[split] = (_SPLIT, *both[::-1]) if is_lazy else (_SPLIT, *both)

    def match(self, data: bytes, at: int, end: int, begin: int = 0) -> tuple[int, int]:
        """Return the end of a match at this offset, or −1, and the number of steps. begin: in the program."""
        code, steps = self._code, 0
        waiting = [(begin, at)]
        while waiting:
            pc, i = waiting.pop()
            while True:
                steps += 1
                kind, one, other = code[pc]
                if kind == _SET:
                    if i >= end or data[i] not in one:
                        break
                    pc, i = pc + 1, i + 1
                elif kind == _SPLIT:
                    waiting.append((other, i))
                    pc = one
                elif kind == _JUMP:
                    pc = one
                elif kind == _AT:
                    if not self._is_at(one, data, i, end):
                        break
                    pc += 1
                elif kind == _LOOK:
                    found, more = self.match(data, i, end, pc + 1)
                    steps += more
                    if (found >= 0) != one:
                        break
                    pc = other
                else:
                    return i, steps
        return -1, steps

    def _first_bytes(self) -> frozenset[int]:
        """Return the bytes with which a match may begin."""
        found, waiting = frozenset[int](), [0]
        seen = set[int]()
        while waiting:
            pc = waiting.pop()
            kind, one, other = self._code[pc]
            if kind == _DONE:
                return _ALL
            found |= one if kind == _SET else frozenset()
            after = {_SET: (), _SPLIT: (one, other), _JUMP: (one,), _AT: (pc + 1,), _LOOK: (other,)}[kind]
            waiting += set(after) - seen
            seen.update(after)
        return found

    def _is_at(self, where: Any, data: bytes, i: int, end: int) -> bool:
        by_line = self._flags & re.MULTILINE
        if where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            return i == 0 or (bool(by_line) and data[i - 1] == 10)
        assert where is sre.AT_END
        return i == end or (data[i] == 10 and (bool(by_line) or i == end - 1))

    def search(self, data: bytes, at: int, end: int) -> tuple[int, int, int]:
        """Return the start and the end of the first match, or −1, and the number of steps."""
        total = 0
        for i in range(at, end + 1):
            if self._first is not _ALL and (i == end or data[i] not in self._first):
                total += 1
                continue
            found, steps = self.match(data, i, end)
            total += steps
            if found >= 0:
                return i, found, total
        return -1, -1, total


class Work:
    """What has been counted. most: beyond it, counting stops."""

    def __init__(self, most: float) -> None:
        self.steps, self.most = 0, most

    def add(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.most:
            raise TooMuchWorkError


class TooMuchWorkError(Exception):
    """More was done than expected."""


class _Counting:
    """A pattern that counts the steps of its calls."""

    def __init__(self, pattern: re.Pattern[bytes], work: Work) -> None:
        self._pattern, self._program, self._work = pattern, Program(pattern), work

    def search(self, data: bytes, at: int = 0, end: int = sys.maxsize) -> re.Match[bytes] | None:
        self._work.add(self._program.search(data, at, min(end, len(data)))[-1])
        return self._pattern.search(data, at, end)

    def match(self, data: bytes, at: int = 0, end: int = sys.maxsize) -> re.Match[bytes] | None:
        self._work.add(self._program.match(data, at, min(end, len(data)))[-1])
        return self._pattern.match(data, at, end)

    def finditer(self, data: bytes, at: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[bytes]]:
        while found := self.search(data, at, end):
            yield found
            at = found.end() + (found.end() == found.start())


@contextmanager
def counted(module: ModuleType, most: float) -> Iterator[Work]:
    """Count the steps of the module's patterns and its lines. most: at more work, raise TooMuchWorkError."""
    work = Work(most)
    made: dict[re.Pattern[bytes], _Counting] = {}

    def counting(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: counting(each) for key, each in value.items()}
        if isinstance(value, re.Pattern):
            return made.setdefault(value, made.get(value) or _Counting(value, work))
        return value

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            work.add(1)
        return trace

    class Expressions:
        compile = staticmethod(lambda *arguments: counting(re.compile(*arguments)))
        Pattern, Match, DOTALL = re.Pattern, re.Match, re.DOTALL

    before = sys.gettrace()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in vars(module).copy().items():
            if isinstance(value, (re.Pattern, dict)) and not name.startswith("__"):
                patch.setattr(module, name, counting(value))
        patch.setattr(module, "re", Expressions)
        sys.settrace(trace)
        try:
            yield work
        finally:
            sys.settrace(before)
