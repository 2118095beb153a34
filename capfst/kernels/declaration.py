"""A kernel as it is written: a function, its types, and what is to be made of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from capfst.kernels.types import Layout, Tuple, layouts

registry: list[Declaration] = []
"""The kernels of all modules that have been imported."""


class Specialization(NamedTuple):
    """A kernel's types, with one of its constraints for each TypeVar."""

    name: str  # of its entry in the library
    arguments: Tuple
    result: Layout


class Declaration:
    """A function that becomes machine code.

    Args:
        function: of Python; stays available as `py_func`.
        allocates: whether it makes arrays.
        is_entry: whether Python calls it.
        is_inlined: whether its code becomes part of its callers'.
    """

    def __init__(
        self, function: Callable[..., Any], *, allocates: bool = False, is_entry: bool = True, is_inlined: bool = False
    ) -> None:
        assert isinstance(function, FunctionType)
        self.py_func = function
        self.allocates, self.is_entry, self.is_inlined = allocates, is_entry, is_inlined
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self.name = f"{function.__module__.removeprefix('capfst.')}.{function.__qualname__}"
        registry.append(self)

    def specializations(self) -> list[Specialization]:
        """Return the types for which Python calls this kernel."""
        name = re.sub(r"\W", "_", self.name)
        arguments, result = layouts(self.py_func)
        variables = list(dict.fromkeys(arguments.variables()))
        if not variables:
            return [Specialization(name, arguments, result)]
        return [
            Specialization(f"{name}_{number}", *layouts(self.py_func, dict(zip(variables, chosen, strict=True))))
            for number, chosen in enumerate(product(*(variable.__constraints__ for variable in variables)))
        ]

    @cached_property
    def digest(self) -> str:
        """A hash of all that the kernel's machine code is made of: its code and types, and those of the kernels and
        constants that it names. Comments and docstrings do not change it; another version of Python does."""
        parts = [part for kernel in self._reachable() for part in kernel._parts()]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    def _reachable(self) -> list[Declaration]:
        """The kernel and all that it calls, however indirectly."""
        found = {self: None}
        waiting = [self]
        while waiting:
            for value in waiting.pop()._globals().values():
                if isinstance(value, Declaration) and value not in found:
                    found[value] = None
                    waiting.append(value)
        return list(found)

    def _globals(self) -> dict[str, Any]:
        """What the function's names stand for outside it."""
        known = self.py_func.__globals__
        return {name: known[name] for name in sorted(self.py_func.__code__.co_names) if name in known}

    def _parts(self) -> Iterator[str]:
        code = self.py_func.__code__
        constants = [constant for constant in code.co_consts if constant != self.__doc__]
        yield f"{self.name} {self.allocates} {self.is_inlined} {layouts(self.py_func)}"
        yield f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames}"
        for name, value in self._globals().items():
            if isinstance(value, np.ndarray):
                yield f"{name} {value.dtype} {value.shape} {hashlib.blake2b(value.tobytes()).hexdigest()}"
            elif isinstance(value, (int, float, str, tuple, np.generic, np.dtype)):
                yield f"{name} {value!r}"
            else:
                yield name
