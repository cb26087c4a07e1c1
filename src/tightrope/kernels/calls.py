"""Calls of compiled functions by address, with arguments that lie in a block of memory.

A caller that makes such a call depends neither on the function nor on the types of its arguments.
It is compiled once for all functions, and each function once for all callers. ::

    @compiled
    def norm(block):                     # a function that can be called so takes a block alone,
        x, out = unpack(block)           # and returns a whole number
        ...

    block = Block(x, out)
    call = block.call(norm)              # for `invoke(call)` in compiled code
    norm(block)                          # the same from Python
"""

# mypy: disable-error-code="no-untyped-call,untyped-decorator,attr-defined,misc"
# Numba's compiler has no types

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.core import config as numba_config
from numba.core.datamodel import models
from numba.extending import NativeValue, lower_builtin, register_model, type_callable, unbox
from numba.np.arrayobj import populate_array

config: Any = numba_config  # without types
WORD, CODE = ir.IntType(64), ir.FunctionType(ir.IntType(64), [ir.IntType(8).as_pointer()])
GENERATOR = ("state", "fnptr_next_double", "fnptr_next_uint64", "fnptr_next_uint32")
Call = tuple[Any, Any]  # addresses of a function and of its block; both are 0 where nothing is done
NO_CALL: Call = (0, 0)


class BlockType(types.Type):
    """Type of a block: the types of the values in it."""

    def __init__(self, kinds: tuple[Any, ...]) -> None:
        self.types = kinds
        super().__init__(name=f"Block({', '.join(map(str, kinds))})")


@register_model(BlockType)
class BlockModel(models.OpaqueModel):
    """A block is passed by its address."""


KINDS: dict[Any, BlockType] = {}  # types of blocks by `layout_of` their values


def layout_of(value: Any) -> Any:
    """What the type of a value depends on, in a tenth of the time that the type takes."""
    if isinstance(value, tuple):
        return type(value), *map(layout_of, value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return value.dtype if isinstance(value, np.void) else type(value)


class Block:
    """Values in memory as compiled code finds them: a word for each pointer, size and number.

    Parameters
    ----------
    values : arrays, records, generators, numbers, or named tuples of these
        Compiled code reads and writes the arrays and records themselves.
    """

    def __init__(self, *values: Any) -> None:
        self.values = values  # so that they exist as long as the block does
        if config.DISABLE_JIT:
            return
        layout = layout_of(values)
        if layout not in KINDS:
            KINDS[layout] = BlockType(tuple(map(typeof, values)))
        kind = self._numba_type_ = KINDS[layout]
        words = [w for pair in zip(kind.types, values, strict=True) for w in find_words(*pair)]
        self.words = np.array(words, dtype=np.uint64)
        self.address = address_of(self.words)

    def call(self, kernel: Any) -> Call:
        """A call of a kernel with this block, for `invoke`."""
        if config.DISABLE_JIT:
            return kernel, self
        kernel.compile((self._numba_type_,))
        made = kernel.overloads[(self._numba_type_,)]
        return made.library.get_pointer_to_function(
            made.fndesc.llvm_cfunc_wrapper_name
        ), self.address


def address_of(array: Any) -> int:
    """Address of the first element."""
    return int(array.__array_interface__["data"][0])


def find_words(kind: Any, value: Any) -> Iterator[int]:
    """Words of a value in a block, as `read_words` reads them."""
    if isinstance(kind, types.BaseTuple):
        for pair in zip(kind.types, value, strict=True):
            yield from find_words(*pair)
    elif isinstance(kind, types.Array):
        yield from (address_of(value), *value.shape, *(stride % 2**64 for stride in value.strides))
    elif isinstance(kind, types.Record):
        yield address_of(np.frombuffer(value, dtype=np.uint8))
    elif isinstance(kind, types.NumPyRandomGeneratorType):
        source = value.bit_generator.ctypes
        yield source.state.value
        for function in (source.next_double, source.next_uint64, source.next_uint32):
            yield ctypes.cast(function, ctypes.c_void_p).value or 0
    elif isinstance(kind, types.Float):
        yield int(np.float64(value).view(np.uint64))
    elif isinstance(kind, types.Integer | types.Boolean):
        yield int(value) % 2**64
    elif not isinstance(kind, types.NoneType):
        raise TypeError(f"{kind}: not a value that can lie in a block")


def read_words(context: Any, builder: Any, kind: Any, read: Callable[[], Any]) -> Any:
    """The value of that type which the next words stand for, in compiled code."""
    if isinstance(kind, types.BaseTuple):
        parts = [read_words(context, builder, each, read) for each in kind.types]
        return context.make_tuple(builder, kind, parts)
    if isinstance(kind, types.Array):
        made = context.make_array(kind)(context, builder)
        data = builder.inttoptr(read(), made.data.type)
        shape, strides = ([read() for _ in range(kind.ndim)] for _ in range(2))
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        itemsize = context.get_constant(types.intp, size)
        populate_array(made, data, shape, strides, itemsize, meminfo=None)
        return made._getvalue()
    if isinstance(kind, types.NumPyRandomGeneratorType):
        generator = cgutils.create_struct_proxy(kind)(context, builder)
        inner = types.NumPyRandomBitGeneratorType("bit_generator")
        source = cgutils.create_struct_proxy(inner)(context, builder)
        for name in GENERATOR:
            setattr(source, name, read())
        generator.bit_generator = source._getvalue()
        return generator._getvalue()
    made = context.get_value_type(kind)
    if isinstance(kind, types.NoneType):
        return context.get_dummy_value()
    if isinstance(kind, types.Record):
        return builder.inttoptr(read(), made)
    if isinstance(kind, types.Float):
        value = builder.bitcast(read(), ir.DoubleType())
        return value if kind.bitwidth == 64 else builder.fptrunc(value, made)
    return builder.trunc(read(), made) if made.width < 64 else read()


def unpack(block: Any) -> Any:
    """The values in a block, as a tuple."""
    return block.values


@type_callable(unpack)
def _type_of_unpack(context: Any) -> Callable[..., Any]:
    return lambda block: types.Tuple(block.types) if isinstance(block, BlockType) else None


@lower_builtin(unpack, BlockType)
def _unpack(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    words = builder.bitcast(args[0], WORD.as_pointer())
    places = iter(range(2**31))

    def read() -> Any:
        return builder.load(builder.gep(words, [WORD(next(places))]))

    return read_words(context, builder, sig.return_type, read)


@unbox(BlockType)
def _unbox(kind: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    word = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(word, ir.IntType(8).as_pointer()))


def invoke(call: Call) -> int:
    """Make a call; the whole number that the function returns."""
    return int(call[0](call[1]))


@type_callable(invoke)
def _type_of_invoke(context: Any) -> Callable[..., Any]:
    return lambda call: types.int64


@lower_builtin(invoke, types.BaseTuple)
def _invoke(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    code, block = (builder.extract_value(args[0], k) for k in range(2))
    code = builder.inttoptr(code, CODE.as_pointer())
    return builder.call(code, [builder.inttoptr(block, ir.IntType(8).as_pointer())])
