"""From typed kernels to LLVM's language, in half the instructions that numba writes, which all have to be optimised.

numba takes structures (arrays, named tuples) apart for each call, and puts them together again in the function called;
it stores an array for each item that is read or written; and it deletes variables in which nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.core.callconv import CPUCallConv
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering


class _Arguments:
    """The arguments of a part: structures are passed as they are."""

    def __init__(self, models: Any, arg_types: Any) -> None:
        self._models = [models.lookup(arg_type) for arg_type in arg_types]
        self.argument_types = [model.get_value_type() for model in self._models if _is_passed(model)]

    def as_arguments(self, builder: Any, values: Any) -> list[Any]:
        passed = [(value, model) for value, model in zip(values, self._models, strict=True) if _is_passed(model)]
        return [
            # a tuple of equal types may be a structure or an array
            value if value.type == type_ else model.from_argument(builder, model.as_argument(builder, value))
            for (value, model), type_ in zip(passed, self.argument_types, strict=True)
        ]

    def from_arguments(self, builder: Any, args: Any) -> list[Any]:
        passed = iter(args)
        return [next(passed) if _is_passed(model) else model.from_argument(builder, ()) for model in self._models]

    def assign_names(self, args: Any, names: Any) -> None:
        pass


def _is_passed(model: Any) -> bool:
    """No arguments that are left out, and no empty tuples."""
    return model.get_argument_type() != ()


class _PartConvention(CPUCallConv):
    """How parts are called: as kernels, but for structures."""

    def _get_arg_packer(self, argtypes: Any) -> _Arguments:
        return _Arguments(self.context.data_model_manager, argtypes)

    @property
    def call_conv(self) -> _PartConvention:
        return self

    def declare_function(self, module: Any, part: Any) -> Any:
        function_type = self.get_function_type(part.restype, part.argtypes)
        function = cgutils.get_or_insert_function(module, function_type, part.mangled_name)
        self.decorate_function(function, part.args, part.argtypes)
        if part.inline:
            function.attributes.add("alwaysinline")
        return function

    def call(self, builder: Any, part: Any, args: Any) -> Any:
        """Calls a part, and returns if that has raised an error."""
        function = self.declare_function(builder.module, part)
        result = cgutils.alloca_once(builder, function.args[0].type.pointee)
        packed = self._get_arg_packer(part.argtypes).as_arguments(builder, args)
        code = builder.call(function, [result, self._get_excinfo_argument(builder.function), *packed])
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, code)):
            builder.ret(code)
        return self.context.get_returned_value(builder, part.restype, builder.load(result))


def calling(part: Any, library: Any) -> Any:
    """What lowering puts in the place of a call of a part."""

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _PartConvention(context).call(builder, part, args)

    call.signature, call.libs = part.argtypes, (library,)  # type: ignore[attr-defined]
    return call


class _LowerWhole(Lower):
    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        pointer = self._item_pointer(value, index)
        if pointer is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        item_type = self.typeof(value.name).dtype
        item = self.context.unpack_value(self.builder, item_type, pointer, self._alignment(value))
        return self.context.cast(self.builder, item, item_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        pointer = self._item_pointer(target_var, index_var)
        if pointer is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item_type = self.typeof(target_var.name).dtype
        item = self.context.cast(self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), item_type)
        return self.context.pack_value(self.builder, item_type, item, pointer, self._alignment(target_var))

    def _alignment(self, array_var: Any) -> int | None:
        return None if self.typeof(array_var.name).aligned else 1

    def _item_pointer(self, array_var: Any, index_var: Any) -> Any:
        """Where an item of a one-dimensional array is; None if it is not such an array or index."""
        array: Any = self.typeof(array_var.name)
        index_type: Any = self.typeof(index_var.name)
        if not (isinstance(array, types.Array) and array.ndim == 1 and isinstance(index_type, types.Integer)):
            return None
        builder, field = self.builder, self._fields(array, array_var.name)
        index = self.context.cast(builder, self.loadvar(index_var.name), index_type, types.intp)
        size = field("shape", 0)
        if index_type.signed:  # type: ignore[attr-defined]
            is_negative = builder.icmp_signed("<", index, index.type(0))
            index = builder.select(is_negative, builder.add(index, size), index)
        if self.context.enable_boundscheck:
            cgutils.do_boundscheck(self.context, builder, index, size, 0)
        if array.layout == "C":
            return builder.gep(field("data"), [index])
        return cgutils.pointer_add(builder, field("data"), builder.mul(index, field("strides", 0)))

    def _fields(self, array: Any, name: str) -> Callable[..., Any]:
        """The fields of the array in a variable, each by its name and, if it is a tuple, which item."""
        position = self.context.data_model_manager[array].get_field_position
        if name in self._blk_local_varmap:
            value = self._blk_local_varmap[name]
            return lambda field, *item: self.builder.extract_value(value, [position(field), *item])
        pointer = self.getvar(name)
        return lambda field, *item: self.builder.load(
            cgutils.gep_inbounds(self.builder, pointer, 0, position(field), *item)
        )

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if self._is_counted(name) or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def delvar(self, name: str) -> None:
        if self._is_counted(name):
            super().delvar(name)

    def _is_counted(self, name: str) -> bool:
        """Whether references to what is in a variable are counted."""
        model = self.context.data_model_manager[self.typeof(name)]
        return self.context.enable_nrt and model.contains_nrt_meminfo()


class _LowerPart(_LowerWhole):
    context: Any

    def emit_environment_object(self) -> None:
        """What a kernel has for Python's objects is declared where one is used."""

    def setup_function(self, fndesc: Any) -> None:
        context, self.context = self.context, _PartConvention(self.context)
        super().setup_function(fndesc)
        self.context = context

    def extract_function_arguments(self) -> Any:
        self.fnargs = _PartConvention(self.context).decode_arguments(self.builder, self.fndesc.argtypes, self.function)
        return self.fnargs


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerWhole(BaseNativeLowering):
    """Lowers a kernel that Python calls."""

    _name = "lower_whole"
    lowering_class = _LowerWhole


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPart(BaseNativeLowering):
    """Lowers a kernel that a kernel calls."""

    _name = "lower_part"
    lowering_class = _LowerPart
