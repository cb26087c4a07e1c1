"""Compilation of kernels that call kernels, with each of them compiled once.

Numba compiles every function for calls from Python: with wrappers that unpack Python objects, and
optimized and emitted together with all that it calls. Then it links the same code into every
caller, where it is optimized and emitted again. Along a chain of kernels most of that work is for
code that never runs.

Here a kernel is translated to intermediate code, and kernels that call it get that. Only one that
Python calls is finished: it gets a wrapper, is optimized and emitted.

Numba also keeps each variable that more than one block uses in memory and loads it whole at every
use, all arrays of a record for one of them. Here variables that are assigned once are values.
"""

# mypy: disable-error-code="no-untyped-call,attr-defined,misc,call-arg"
# Numba's compiler has no types

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

from numba import _dynfunc
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import _FunctionCompiler
from numba.core.ir_utils import rename_labels
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from tightrope.kernels.calls import BlockType

COMPACT: set[Any] = set()  # functions to optimize for size


class ValueLower(Lower):
    """Translation of a function in which variables that are assigned once are values."""

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        count: Counter[str] = Counter()
        block_of = {}
        for label, block in self.blocks.items():
            for statement in block.find_insts(ir.Assign):
                count[statement.target.name] += 1
                block_of[statement.target.name] = label
        in_memory = {name for name in count if count[name] > 1}
        dominators = compute_cfg_from_blocks(self.blocks).dominators()
        for label, used in compute_use_defs(self.blocks).usemap.items():
            before = dominators[label] - {label}
            in_memory |= {name for name in used if block_of.get(name) not in before}
        self._singly_assigned_vars |= count.keys() - in_memory

    def lower_function_body(self) -> Any:
        """Translate the function, with a mark if it is to be optimized for size."""
        if self.func_ir.func_id.func in COMPACT:
            self.function.attributes.add("optsize")
        return super().lower_function_body()

    def delvar(self, name: str) -> None:
        """Nothing: kernels do not count references."""


@register_pass(mutates_CFG=True, analysis_only=False)
class ValueLowering(NativeLowering):
    """Pass that translates by `ValueLower`."""

    _name = "value_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that translates."""
        return ValueLower

    def run_pass(self, state: Any) -> Any:
        """Translate blocks in an order in which values are there before their uses."""
        state.func_ir.blocks = rename_labels(state.func_ir.blocks)
        return super().run_pass(state)


class UnfinishedLibrary(JITCodeLibrary):
    """Intermediate code of a kernel, to be linked into a library that is finished."""

    def _optimize_final_module(self) -> None:
        """Nothing: linked code is optimized."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class CalleeCompiler(Compiler):
    """Compiles a kernel for other kernels."""

    def __init__(
        self,
        typing: Any,
        target: Any,
        library: Any,
        args: Any,
        returned: Any,
        flags: Any,
        kinds: Any,
    ) -> None:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        library = UnfinishedLibrary(target.codegen(), "callee")
        super().__init__(typing, target, library, args, returned, flags, kinds)

    def define_pipelines(self) -> Any:
        """The usual passes, with another translation."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (ValueLowering if kind is NativeLowering else kind, words)
            for kind, words in passes.passes
        ]
        return [passes]

    def _compile_core(self) -> Any:
        result = super()._compile_core()
        about, kept = result.fndesc, (result.library,)
        # compiled callers find the code by this object; there is nothing at its address
        key = _dynfunc.make_function(
            about.lookup_module(), about.qualname, "", 0, result.environment, kept
        )
        self.state.targetctx.insert_user_function(key, about, kept)
        return result._replace(entry_point=key)


class Callee(CPUDispatcher):
    """A kernel as compiled callers see it."""

    def __call__(self, *args: Any) -> Any:
        """Refuse: there is no machine code."""
        raise TypeError(f"{self.py_func.__name__}: compiled for compiled callers only")


class WrapperCompiler(_FunctionCompiler):
    """Finishes a kernel that was compiled for other kernels, so that Python can call it."""

    def __init__(self, callee: Callee) -> None:
        super().__init__(
            callee.py_func, callee.targetdescr, callee.targetoptions, {}, CalleeCompiler
        )
        self.callee = callee

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        self.callee.compile(tuple(args))
        result = self.callee.overloads[tuple(args)]
        target, about, env = result.target_context, result.fndesc, result.environment
        library = target.codegen().create_library(about.qualname)
        library.enable_object_caching()
        library.add_linking_library(result.library)
        target.create_cpython_wrapper(library, about, env, result.call_helper, release_gil=True)
        if any(isinstance(kind, BlockType) for kind in args):  # called by address too
            target.create_cfunc_wrapper(library, about, env, result.call_helper)
        function = target.get_executable(library, about, env)
        return result._replace(entry_point=function, library=library, metadata=None)


class Kernel(CPUDispatcher):
    """A compiled function that is finished only where Python calls it."""

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, **more: Any
    ) -> None:
        types = locals or {}  # of local variables
        super().__init__(py_func, types, targetoptions, **more)
        self.callee = Callee(py_func, types, targetoptions, pipeline_class=CalleeCompiler)
        self._compiler = WrapperCompiler(self.callee)

    def compile(self, sig: Any) -> Any:
        """Compile, without garbage collection: it would take a tenth of the time."""
        is_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            if is_enabled:
                gc.enable()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Types of a call from compiled code."""
        return self.callee.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Code for a call from compiled code."""
        return self.callee.get_overload(sig)
