"""Work of numba that kernels need not wait for, left out while they are compiled.

Each of these does what the numba function in its place does, as far as kernels can tell. All are in force under numba's
lock for compiling only, and so for kernels only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import transforms, types
from numba.core.postproc import PostProcessor, VariableLifetime

_call_type = types.BaseFunction.get_call_type
_post_process = PostProcessor.run
_call_types: dict[Any, Any] = {}


def _known_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The types of an operation, which numba searches for each time it occurs, in typing and in lowering: here once."""
    if kws:
        return _call_type(function, context, args, kws)
    key = function, tuple(args)
    signature = _call_types.get(key)
    if signature is None:
        signature = _call_types[key] = _call_type(function, context, args, kws)
    return signature


def _mark_lifetimes(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Which variables live where, which numba finds out after most passes: here for the one that asks for it."""
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _post_process(processor, emit_dels, extend_lifetimes)
    else:
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)  # analyses when read
        function.generator_info = None


@contextmanager
def shortcuts() -> Iterator[None]:
    """Puts the functions above in the place of numba's."""
    before = types.BaseFunction.get_call_type, PostProcessor.run
    functions: Any = types.BaseFunction
    functions.get_call_type, PostProcessor.run = _known_call_type, _mark_lifetimes
    try:
        yield
    finally:
        functions.get_call_type, PostProcessor.run = before
