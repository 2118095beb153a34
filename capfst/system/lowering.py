"""From typed kernels to LLVM's language, in half the instructions that numba writes, which all have to be optimised.

numba takes structures (arrays, named tuples) apart for each call, and puts them together again in the function called;
it has memory for each variable, and stores an array for each item that is read or written; it works out beforehand how
often a loop runs; and it deletes variables in which nothing is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from numba.core import cgutils, ir, ir_utils
from numba.core import types as numba_types
from numba.core.callconv import CPUCallConv
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering

types: Any = numba_types


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

    def call(self, builder: Any, part: Any, args: Any, error: Any) -> tuple[Any, Any]:
        """Calls a part: its status, and what it returns. error: where it tells of an error."""
        function = self.declare_function(builder.module, part)
        slot = _new_slot(builder, function.args[0].type.pointee)
        status = builder.call(function, [slot, error, *self._get_arg_packer(part.argtypes).as_arguments(builder, args)])
        return status, slot

    def result(self, builder: Any, part: Any, slot: Any) -> Any:
        return self.context.get_returned_value(builder, part.restype, builder.load(slot))


def calling(part: Any, library: Any) -> Any:
    """What lowering puts in the place of a call of a part. It returns if that has raised an error."""

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = _PartConvention(context)
        status, slot = convention.call(builder, part, args, convention._get_excinfo_argument(builder.function))
        if library.may_raise:
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
                builder.ret(status)
        return convention.result(builder, part, slot)

    call.signature, call.libs = part.argtypes, (library,)  # type: ignore[attr-defined]
    return call


def call_part(context: Any, builder: Any, part: Any, args: Any) -> tuple[Any, Any, Any]:
    """Calls a part from a function that is none: the status, where an error is told of, and what it returns if the
    status is 0."""
    convention = _PartConvention(context)
    function = convention.declare_function(builder.module, part)
    error = _new_slot(builder, function.args[1].type.pointee)
    status, slot = convention.call(builder, part, args, error)
    return status, error, convention.result(builder, part, slot)


def _new_slot(builder: Any, type_: Any, name: str = "") -> Any:
    """Memory of the function for a value, in which is anything at first."""
    with builder.goto_entry_block():
        return builder.alloca(type_, name=name)


class _LowerWhole(Lower):
    def _find_singly_assigned_variable(self) -> None:
        """Most variables are assigned at one place, which comes before all others: they need no memory."""
        blocks = self.func_ir.blocks.values()
        assigned = Counter(inst.target.name for block in blocks for inst in block.find_insts(ir.Assign))
        self._singly_assigned_vars = {
            name for name, places in assigned.items() if places == 1 and not self._is_counted(name)
        }
        self._blk_local_varmap: dict[str, Any] = {}

    def lower_function_body(self) -> Any:
        order = ir_utils.find_topo_order(self.blocks)
        for number in order:
            self.blkmap[number] = self.function.append_basic_block(f"B{number}")
        self.pre_lower()
        end_of_entry = self.builder.basic_block
        for number in order:
            self.builder.position_at_end(self.blkmap[number])
            self.lower_block(self.blocks[number])
        self.post_lower()
        return end_of_entry

    # The next five as in numba, but without the text for debugging that numba makes of each instruction.

    def lower_block(self, block: Any) -> None:
        if self.context.enable_nrt:
            return super().lower_block(block)
        for inst in block.body:
            self.loc = inst.loc
            self.lower_inst(inst)

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, ir.Assign):
            value = self.lower_assign(self.typeof(inst.target.name), inst)
            self.storevar(value, inst.target.name, inst.value.index + 1 if isinstance(inst.value, ir.Arg) else None)
        elif isinstance(inst, ir.Jump):
            self.builder.branch(self.blkmap[inst.target])
        elif isinstance(inst, ir.Branch):
            condition = self._cast_var(inst.cond, types.boolean)
            self.builder.cbranch(condition, self.blkmap[inst.truebr], self.blkmap[inst.falsebr])
        else:
            super().lower_inst(inst)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        if expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED:
            return super().lower_binop(resty, expr, op)
        typing = self.context.typing_context
        function, signature = typing.resolve_value_type(op), self.fndesc.calltypes[expr]
        args = [self._cast_var(var, type_) for var, type_ in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        code = self.context.get_function(function, function.get_call_type(typing, signature.args, {}))
        return self.context.cast(self.builder, code(self.builder, args), signature.return_type, resty)

    def lower_call(self, resty: Any, expr: Any) -> Any:
        function, signature = self.typeof(expr.func.name), self.fndesc.calltypes[expr]
        if not isinstance(function, types.Dispatcher):
            return super().lower_call(resty, expr)
        args = self.fold_call_args(function, signature, expr.args, expr.vararg, expr.kws)
        result = self.context.get_function(function, signature)(self.builder, args, self.loc)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if isinstance(ty, types.Dispatcher):  # of which calls need the type only
            return self.context.get_constant_null(ty)
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op in ("getiter", "iternext"):
            iterated = self.typeof(expr.value.name)
            if isinstance(iterated, types.RangeType):
                return self._begin_range(self.loadvar(expr.value.name), resty)
            if isinstance(iterated, types.RangeIteratorType):
                return self._next_of_range(self.loadvar(expr.value.name), iterated, resty)
        elif expr.op == "static_getitem" and isinstance(self.typeof(expr.value.name), types.Array):
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        return super().lower_expr(resty, expr)

    def _begin_range(self, value: Any, iterator_type: Any) -> Any:
        """The iterator of a range: where the next number is, the stop and the step; the last field is not used."""
        builder = self.builder
        start, stop, step = (builder.extract_value(value, k) for k in range(3))
        slot = _new_slot(builder, start.type)
        builder.store(start, slot)
        iterator = self.context.get_constant_undef(iterator_type)
        for k, field in enumerate((slot, stop, step, slot)):
            iterator = builder.insert_value(iterator, field, k)
        return iterator

    def _next_of_range(self, iterator: Any, iterator_type: Any, pair_type: Any) -> Any:
        """The next number, and whether there is one."""
        builder = self.builder
        slot, stop, step = (builder.extract_value(iterator, k) for k in range(3))
        number = builder.load(slot)
        compare = builder.icmp_signed if iterator_type.yield_type.signed else builder.icmp_unsigned
        rises = builder.icmp_signed(">", step, step.type(0))
        is_valid = builder.select(rises, compare("<", number, stop), compare(">", number, stop))
        builder.store(builder.add(number, step), slot)
        pair = builder.insert_value(self.context.get_constant_undef(pair_type), number, 0)
        return builder.insert_value(pair, is_valid, 1)

    def fold_call_args(self, fnty: Any, signature: Any, pos_args: Any, vararg: Any, kw_args: Any) -> Any:
        if vararg or kw_args or len(pos_args) != len(signature.args):
            return super().fold_call_args(fnty, signature, pos_args, vararg, kw_args)
        return [self._cast_var(var, arg_type) for var, arg_type in zip(pos_args, signature.args, strict=True)]

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        pointer = self._pointer(value, index)
        if pointer is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        array: Any = self.typeof(value.name)
        if self._is_row(value, index):
            return self._row(resty, value, pointer)
        item = self.context.unpack_value(self.builder, array.dtype, pointer, self._alignment(value))
        return self.context.cast(self.builder, item, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array: Any = self.typeof(target_var.name)
        pointer = None if self._is_row(target_var, index_var) else self._pointer(target_var, index_var)
        if pointer is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item = self.context.cast(self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), array.dtype)
        return self.context.pack_value(self.builder, array.dtype, item, pointer, self._alignment(target_var))

    def _is_row(self, array_var: Any, index_var: Any) -> bool:
        """Whether an index is that of a row of a matrix."""
        array: Any = self.typeof(array_var.name)
        is_matrix = isinstance(array, types.Array) and array.ndim == 2 and array.layout == "C"
        return is_matrix and isinstance(self.typeof(index_var.name), types.Integer)

    def _alignment(self, array_var: Any) -> int | None:
        return None if self.typeof(array_var.name).aligned else 1

    def _pointer(self, array_var: Any, index_var: Any) -> Any:
        """Where an item of an array is, or a row of a matrix; None if the array or the index is another one."""
        array: Any = self.typeof(array_var.name)
        index_type: Any = self.typeof(index_var.name)
        if not isinstance(array, types.Array):
            return None
        index_types = tuple(index_type) if isinstance(index_type, types.BaseTuple) else (index_type,)
        if not all(isinstance(type_, types.Integer) for type_ in index_types):
            return None
        if not (len(index_types) == array.ndim > 0 or self._is_row(array_var, index_var)):
            return None
        builder, field = self.builder, self._fields(array, array_var.name)
        value = self.loadvar(index_var.name)
        indices = cgutils.unpack_tuple(builder, value) if isinstance(index_type, types.BaseTuple) else [value]
        offset = None
        # None is negative (shortcuts.py).
        for axis, (index, type_) in enumerate(zip(indices, index_types, strict=True)):
            index = self.context.cast(builder, index, type_, types.intp)
            if self.context.enable_boundscheck:
                cgutils.do_boundscheck(self.context, builder, index, field("shape", axis), axis)
            if array.ndim == 1 and array.layout == "C":
                return builder.gep(field("data"), [index])
            step = builder.mul(index, field("strides", axis))
            offset = step if offset is None else builder.add(offset, step)
        return cgutils.pointer_add(builder, field("data"), offset)

    def _row(self, row_type: Any, matrix_var: Any, pointer: Any) -> Any:
        field = self._fields(self.typeof(matrix_var.name), matrix_var.name)
        row = self.context.make_array(row_type)(self.context, self.builder)
        row.meminfo, row.parent, row.itemsize = field("meminfo"), field("parent"), field("itemsize")
        row.data, row.nitems = pointer, field("shape", 1)
        row.shape = cgutils.pack_array(self.builder, [field("shape", 1)])
        row.strides = cgutils.pack_array(self.builder, [field("strides", 1)])
        self.incref(row_type, row._getvalue())
        return row._getvalue()

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
        if self._is_counted(name):
            return cgutils.alloca_once(self.builder, lltype, name=name)
        return _new_slot(self.builder, lltype, name)

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
        self.function.linkage = "linkonce_odr"
        if getattr(self.func_ir.func_id.func, "outlined", False):
            self.function.attributes.add("noinline")
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
