"""How kernels become machine code: a kernel that Python calls, with all that it calls, as one piece.

numba compiles each function three times over (for kernels, for Python, for C), makes each executable, and optimises it
again in each function that calls it. But most kernels are called by kernels only. So here a kernel that a kernel calls
is a *part*: typed and lowered once for its types, and no more. A kernel that Python calls is a *whole*: its parts are
linked into it, and it alone is optimised, made executable, and kept on the disk (`kernel_cache`). A kernel may be both.

The same passes that numba has, less those for what kernels do not do (objects, closures, literal types, whole arrays as
one expression); numba's own functions that kernels call, such as np.zeros, get all passes, as parts too. An argument
that is a literal is passed as a value, so that a part is compiled once for all of them. What numba does in many steps
goes in few (`lowering`), or is left out (`shortcuts`).

Compiling can be stopped (`compilation.compiling.stop`): an exception ends it within a second, in whatever thread it
is.
"""

from __future__ import annotations

import gc
import pickle
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core import cgutils, event, typed_passes, types, typing, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import CompilerPass, LoweringPass, PassManager
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from capfst.system import entry, intrinsics, kernel_cache
from capfst.system.compilation import compiling
from capfst.system.entry import type_of
from capfst.system.kernels import Kernel
from capfst.system.lowering import LowerPart, LowerWhole, calling
from capfst.system.shortcuts import shortcuts

_FRONT_END = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
)


_RETURNS_ERROR = re.compile(r"^\s*ret i32 (?!0$)", re.M).search


class _Passes(PassManager):
    _ENFORCING = False  # what numba repeats behind each pass: a third of its time


class _Library(JITCodeLibrary):
    """Code that is optimised as a whole only."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


class _Part(_Library):
    """The code of a part, which is not run by itself."""

    may_raise = True

    def add_ir_module(self, ir_module: Any) -> None:
        """As numba, less what is for libraries of several modules."""
        code = cgutils.normalize_ir_text(str(ir_module))
        self.may_raise = _RETURNS_ERROR(code) is not None
        self._final_module = binding.parse_assembly(code)
        self._optimize_functions(self._final_module)

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Whole(_Library):
    """The code of a kernel and of its parts."""

    def finalize(self) -> None:
        self._linking_libraries = list(dict.fromkeys(_libraries(self, set())))
        super().finalize()

    def link(self) -> None:
        """As `finalize`, for code that numba does not load."""
        self._codegen._check_llvm_bugs()
        for library in dict.fromkeys(_libraries(self, set())):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    def emit(self, name: str) -> tuple[tuple[str, ...], bytes]:
        """The functions that the code calls, and its object file, in which only the function `name` has a name."""
        for symbols in self._final_module.functions, self._final_module.global_variables:
            for symbol in symbols:
                if not symbol.is_declaration and symbol.name != name:
                    symbol.linkage = "internal"
        self._optimize_final_module()
        module = self._final_module
        module.verify()
        declared = (function.name for function in module.functions if function.is_declaration)
        externals = tuple(external for external in declared if not external.startswith("llvm."))
        return externals, self._codegen._tm.emit_object(module)

    def _optimize_final_module(self) -> None:
        compiling.check()
        if hasattr(
            self._codegen, "_pass_builder"
        ):  # less than numba does: kernels come out as fast; but what stands in a row may become one vector instruction
            passes, builder = self._codegen._module_pass_manager(opt=2, slp_vectorize=True)
            passes.run(self._final_module, builder)
        else:  # numba's first versions that are supported
            super()._optimize_final_module()
        compiling.check()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """As numba; but of the module that other libraries could be linked with, the names only: none are."""
        name, kind, (code, _) = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        symbols = [symbol for symbols in (module.functions, module.global_variables) for symbol in symbols]
        names = [symbol.name for symbol in symbols if not symbol.is_declaration]
        named = binding.parse_assembly("".join(f'@"{name}" = global i8 0\n' for name in names))
        return name, kind, (code, named.as_bitcode())


def _libraries(library: JITCodeLibrary, seen: set[_Part]) -> Iterator[JITCodeLibrary]:
    """All that a library has to be linked with."""
    for other in library._linking_libraries:
        if other not in seen:
            yield other
            if isinstance(other, _Part):
                seen.add(other)
                yield from _libraries(other, seen)


class _Compiler(CompilerBase):
    library_class: type[_Library]
    lowering: type[LoweringPass]

    def define_pipelines(self) -> list[PassManager]:
        compiling.check()
        state = self.state
        state.flags.no_cfunc_wrapper = True
        state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = _Passes("kernel")
        # Says where variables end, which is where references are counted.
        ends = [typed_passes.IRLegalization] if state.flags.nrt else []
        for compiler_pass in (*self.front_end(), *ends, self.lowering, typed_passes.NoPythonBackend):
            passes.add_pass(compiler_pass, compiler_pass.__name__)
        passes.finalize()
        return [passes]

    def front_end(self) -> Iterable[type[CompilerPass]]:
        return _FRONT_END


class _PartCompiler(_Compiler):
    library_class = _Part
    lowering = LowerPart

    def define_pipelines(self) -> list[PassManager]:
        self.state.flags.no_cpython_wrapper = True
        self.state.flags.no_compile = True
        return super().define_pipelines()


class _NumbaPartCompiler(_PartCompiler):
    """For numba's own functions, such as np.zeros."""

    def front_end(self) -> Iterable[type[CompilerPass]]:
        builder = DefaultPassBuilder
        for pipeline in builder.define_untyped_pipeline(self.state), builder.define_typed_pipeline(self.state):
            yield from (compiler_pass for compiler_pass, _ in pipeline.passes)


class _WholeCompiler(_Compiler):
    library_class = _Whole
    lowering = LowerWhole

    def define_pipelines(self) -> list[PassManager]:
        passes = super().define_pipelines()
        self.state.library.enable_object_caching()
        return passes


class Dispatcher(CPUDispatcher):
    """What numba knows a kernel by (kernels.Kernel)."""

    part_compiler: type[_PartCompiler] = _PartCompiler

    def __init__(self, kernel: Any) -> None:
        options = {"nopython": True, "nogil": True, "boundscheck": None, **kernel.options}
        super().__init__(kernel.py_func, targetoptions=options, pipeline_class=_WholeCompiler)
        self._parts: dict[tuple[Any, ...], tuple[object, CompileResult]] = {}
        self._part_types = normalize_signature(kernel.signature)[0] if kernel.signature else None

    @cached_property
    def _part_compiler(self) -> Any:
        whole = self._compiler
        return type(whole)(self.py_func, self.targetdescr, whole.targetoptions, {}, self.part_compiler)

    def _event(self, args: tuple[Any, ...]) -> AbstractContextManager[Any]:
        return event.trigger_event("numba:compile", {"dispatcher": self, "args": args})

    def compile(self, sig: Any) -> Any:
        """The kernel for these types of arguments, to be called by numba."""
        with global_compiler_lock:
            args, _ = normalize_signature(sig)
            if args not in self.overloads:
                rtsys.initialize(self.targetctx)
                data = kernel_cache.load(self.py_func, args)
                if data:
                    result = CompileResult._rebuild(self.targetctx, *pickle.loads(data))
                else:
                    with _compiling(), self._event(args):
                        result = self._compiler.compile(args, None)
                    if not result.library.has_dynamic_globals:
                        kernel_cache.save(self.py_func, args, dumps(result._reduce()))
                self.add_overload(result)
            return self.overloads[args].entry_point

    def compile_entry(self, values: tuple[Any, ...], name: str) -> bytes:
        """The kernel for arguments of the types of these, to be called as machine_code.py does, under a name: the bytes
        of a `Code`; none if it returns what that cannot."""
        with global_compiler_lock, _compiling():
            self.targetctx.refresh()
            arg_types = tuple(map(type_of, values))
            _, _, part_types, _ = self.get_call_template(arg_types, {})
            part = self._parts[part_types][1]
            library = _Whole(self.targetctx.codegen(), name)
            with self.targetctx.push_code_library(library):
                if not entry.add(self.targetctx, library, name, arg_types, part):
                    return b""
            library.add_linking_library(part.library)
            library.link()
            return pickle.dumps((name, *library.emit(name)))

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What the typing of a kernel that calls this one asks for: the part for these types."""
        pysig = self._compiler.pysig
        if kws or len(args) != len(pysig.parameters):
            pysig, args = self._compiler.fold_argument_types(args, kws)
        args = self._part_types or tuple(map(types.unliteral, args))  # type: ignore[attr-defined]
        if args not in self._parts:
            with global_compiler_lock, _compiling(), self._event(args):
                result = self._part_compiler.compile(args, None)
            key = object()
            self.targetctx.insert_func_defn([(calling(result.fndesc, result.library), key, result.signature.args)])
            self._parts[args] = key, result
        name = self.py_func.__name__
        template = typing.make_concrete_template(name, key=name, signatures=[self._parts[args][1].signature])
        return template, pysig, args, {}

    def get_overload(self, sig: Any) -> object:
        """What lowering knows the part by."""
        return self._parts[tuple(map(types.unliteral, normalize_signature(sig)[0]))][0]  # type: ignore[attr-defined]


class _NumbaDispatcher(Dispatcher):
    part_compiler = _NumbaPartCompiler


def _part_of_numba(function: Any, options: dict[str, Any]) -> _NumbaDispatcher:
    return _NumbaDispatcher(Kernel(function, options))


def type_of_intrinsic(name: str) -> Any:
    """What numba knows a function of intrinsics.py by."""
    return Dispatcher.targetdescr.typing_context.resolve_value_type(getattr(intrinsics, name))


@contextmanager
def _compiling() -> Iterator[None]:
    """Searching for garbage would take a tenth of the time: what compiling makes stays, or is freed by counting."""
    collects = gc.isenabled()
    gc.disable()
    try:
        with compiling, shortcuts(_part_of_numba):
            yield
    finally:
        if collects:
            gc.enable()


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None if nothing can be written."""
    return kernel_cache.writable()


compiling.are_kept = lambda: cache_folder() is not None
