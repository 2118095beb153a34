"""A kernel as it is written: a function, and what is to be made of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from enum import EnumMeta
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from capfst.kernels.types import hints, items

registry: list[Declaration] = []
"""The kernels of all modules that have been imported."""


class Declaration:
    """A function that becomes machine code.

    Args:
        function: of Python; stays available as `py_func`.
        allocates: whether it makes arrays.
        is_entry: whether Python calls it.
        is_inlined: whether its code becomes part of its callers'; None: as LLVM sees fit.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        allocates: bool = False,
        is_entry: bool = True,
        is_inlined: bool | None = None,
    ) -> None:
        self.py_func, self.__doc__ = function, function.__doc__
        self.allocates, self.is_entry, self.is_inlined = allocates, is_entry, is_inlined
        self.name = f"{function.__module__.removeprefix('capfst.')}.{function.__qualname__}"
        self.symbol = re.sub(r"\W", "_", self.name)
        registry.append(self)

    @cached_property
    def digest(self) -> str:
        """A hash of all that the kernel's machine code is made of: its code and types, and those of the kernels and
        constants that it names. Comments and docstrings do not change it; another version of Python does."""
        reached = [self]
        for kernel in reached:  # which grows meanwhile
            reached += [
                value for value in kernel._names().values() if isinstance(value, Declaration) and value not in reached
            ]
        return hashlib.blake2b("".join(kernel._content() for kernel in reached).encode(), digest_size=16).hexdigest()

    def _names(self) -> dict[str, Any]:
        """Return the globals that the function names."""
        known, code = self.py_func.__globals__, self.py_func.__code__
        return {name: known[name] for name in sorted(code.co_names) if name in known}

    def _content(self) -> str:
        code = self.py_func.__code__
        constants = [constant for constant in code.co_consts if constant != self.__doc__]
        types = [_described(hint) for hint in hints(self.py_func).values()]
        content = [self.name, self.allocates, self.is_inlined, types, code.co_code, constants, code.co_names]
        for name, value in self._names().items():
            if not isinstance(value, (Declaration, ModuleType)):
                try:
                    content += [name, _constant(value)]
                except TypeError as error:
                    raise TypeError(f"{self.name} names {name}, {error}: make it an argument") from None
        return repr(content)


def _constant(value: Any) -> str:
    """Describe a value that a kernel names in full. TypeError: that is not possible."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple):
        return str([_constant(item) for item in value])
    if isinstance(value, EnumMeta):
        return repr(list(value))
    if hasattr(value, "_fields"):
        return _described(value)
    if callable(value):  # an operation (memory.py), or a type that converts
        return ""
    if isinstance(value, (int, float, str, bytes, np.generic, np.dtype)):
        return repr(value)
    raise TypeError(f"a {type(value).__name__}")


def _described(hint: Any) -> str:
    parts = items(hint)
    return repr(hint) if parts is None else f"{hint} {[_described(part) for part in parts.values()]}"
