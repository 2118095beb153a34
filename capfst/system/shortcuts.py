"""Work of numba that kernels need not wait for, left out while they are compiled, or from them.

Each of these does what the numba function in its place does, as far as kernels can tell: none has a negative index. All
are in force under numba's lock for compiling only, and so for kernels only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import lru_cache
from types import BuiltinFunctionType
from typing import Any

from numba.core import base, errors, interpreter, ir, lowering, transforms, types
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import BaseContext
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.np import arrayobj

_call_type = types.BaseFunction.get_call_type
_post_process = PostProcessor.run
_takes_location = lru_cache(None)(base._has_loc)
_literal_type = lowering._lit_or_omitted
_value_type = BaseContext.resolve_value_type
_call_types: dict[Any, Any] = {}
_value_types: dict[Any, Any] = {}
_implementations: dict[Any, Any] = {}


def _known_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The types of an operation, which numba searches for each time it occurs, in typing and in lowering: here once."""
    if kws:
        return _call_type(function, context, args, kws)
    key = function, tuple(args)
    signature = _call_types.get(key)
    if signature is None:
        signature = _call_types[key] = _call_type(function, context, args, kws)
    return signature


def _known_value_type(context: Any, value: Any) -> Any:
    """The type of a global value, which numba finds for an operator (operator.add) by way of an exception."""
    if type(value) is not BuiltinFunctionType:
        return _value_type(context, value)
    if value not in _value_types:
        _value_types[value] = _value_type(context, value)
    return _value_types[value]


def _known_literal_type(value: Any) -> Any:
    """The type of an operand that is a constant, which numba also asks of those that are none, and then does not
    use."""
    return None if value is ir.UNDEFINED else _literal_type(value)


def _plain_message(scheme: Any, message: str) -> str:
    """An error's message without colours. Most errors are caught by numba itself."""
    return message


def _mark_lifetimes(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Which variables live where, which numba finds out after most passes: here for the one that asks for it."""
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _post_process(processor, emit_dels, extend_lifetimes)
    else:
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)  # analyses when read
        function.generator_info = None


def _no_warnings(fixer: Any, filename: Any = None, lineno: Any = None) -> Any:
    """What numba collects warnings in, once for each expression whenever it may have found its type."""
    return nullcontext()


def _index(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """An index, from which numba would count from the end if it is negative: in kernels none is."""
    return context.cast(builder, index, index_type, types.intp)


def _as_it_is(function: Any) -> Any:
    """A function without `with` and dict displays, which numba looks for."""
    return function


@contextmanager
def _replaced(owner: Any, name: str, function: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def shortcuts(part: Callable[[Any, dict[str, Any]], Any]) -> Iterator[None]:
    """Puts the functions above in the place of numba's; `part` makes parts of functions of numba's (np.empty, max)
    that kernels call, which numba would make executable: it is given the function and its options."""

    def implementation(template: Any, args: Any, kws: Any) -> Any:
        key = template._overload_func, tuple(args), tuple(kws.items()), ConfigStack.top_or_none()
        if key not in _implementations:
            template._get_jit_decorator = lambda: lambda **options: lambda function: part(function, options)
            _implementations[key] = template._build_impl(None, args, kws)
        return _implementations[key]

    with ExitStack() as stack:
        for owner, name, function in (
            (types.BaseFunction, "get_call_type", _known_call_type),
            (BaseContext, "resolve_value_type", _known_value_type),
            (lowering, "_lit_or_omitted", _known_literal_type),
            (type(errors.termcolor()), "errmsg", _plain_message),
            (PostProcessor, "run", _mark_lifetimes),
            (errors.WarningsFixer, "catch_warnings", _no_warnings),  # type: ignore[attr-defined]
            (base, "_has_loc", _takes_location),
            (arrayobj, "fix_integer_index", _index),
            (interpreter, "peep_hole_delete_with_exit", _as_it_is),
            (interpreter, "peep_hole_fuse_dict_add_updates", _as_it_is),
            (_OverloadFunctionTemplate, "_get_impl", implementation),
        ):
            stack.enter_context(_replaced(owner, name, function))
        yield
