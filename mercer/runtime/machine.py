"""Operations that numba lacks: borrow or prefetch a row; read, count or scatter bits."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from mercer.runtime.jit import FAST

CACHE_LINE = 64  # bytes
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads numbers evenly


@intrinsic
def borrow(typingctx, matrix, i):  # type: ignore[no-untyped-def]
    """Return row i of a C-contiguous matrix without owning it.

    ``matrix[i]`` would update a reference count, atomically, for every pair of rows.
    """
    returned = types.Array(matrix.dtype, 1, "C")

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        _, features = cgutils.unpack_tuple(builder, array.shape)
        stride, itemsize = cgutils.unpack_tuple(builder, array.strides)
        row = context.make_array(signature.return_type)(context, builder)
        populate_array(
            row,
            data=cgutils.pointer_add(builder, array.data, builder.mul(args[1], stride)),
            shape=cgutils.pack_array(builder, [features]),
            strides=cgutils.pack_array(builder, [itemsize]),
            itemsize=array.itemsize,
            meminfo=None,
        )
        return row._getvalue()

    return returned(matrix, types.intp), codegen


@intrinsic
def frozen(typingctx, array):  # type: ignore[no-untyped-def]
    """Return the same array, read-only for compiled code."""
    returned = array.copy(readonly=True)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return args[0]

    return returned(array), codegen


@intrinsic
def prefetch(typingctx, matrix, i):  # type: ignore[no-untyped-def]
    """Request row i of a matrix from memory, every cache line of it, without waiting."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        stride, _ = cgutils.unpack_tuple(builder, array.strides)
        byte = ir.IntType(8).as_pointer()
        start = builder.gep(builder.bitcast(array.data, byte), [builder.mul(args[1], stride)])
        flag = ir.IntType(32)
        takes = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], takes)
        step = stride.type(CACHE_LINE)
        with cgutils.for_range_slice(builder, stride.type(0), stride, step) as (offset, _):
            # for reading, to be kept in all caches, data
            builder.call(fetch, [builder.gep(start, [offset]), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(matrix, types.intp), codegen


def _reinterpret(context, builder, signature, args):  # type: ignore[no-untyped-def]
    return builder.bitcast(args[0], context.get_value_type(signature.return_type))


@intrinsic
def bits_of(typingctx, number):  # type: ignore[no-untyped-def]
    """Return the bits of a float as an integer of the same size."""
    returned = types.int32 if number == types.float32 else types.int64
    return returned(number), _reinterpret


@intrinsic
def float_of(typingctx, bits):  # type: ignore[no-untyped-def]
    """Return the float that has these bits."""
    returned = types.float32 if bits == types.int32 else types.float64
    return returned(bits), _reinterpret


@intrinsic
def popcount(typingctx, word):  # type: ignore[no-untyped-def]
    """Return how many bits of a 64-bit word are set."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def trailing_zeros(typingctx, word):  # type: ignore[no-untyped-def]
    """Return the number of trailing zero bits of a 64-bit word that is not 0."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.uint64), codegen


@intrinsic
def reaching(typingctx, values, start, floor):  # type: ignore[no-untyped-def]
    """Compare 64 floats from `start` on with a floor; bit i is set if value i reaches it."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        lanes = ir.VectorType(context.get_value_type(signature.args[2]), 64)
        place = builder.bitcast(builder.gep(array.data, [args[1]]), lanes.as_pointer())
        loaded = builder.load(place, align=values.dtype.bitwidth // 8)
        one = builder.insert_element(ir.Constant(lanes, ir.Undefined), args[2], ir.IntType(32)(0))
        picks = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        floors = builder.shuffle_vector(one, ir.Constant(lanes, ir.Undefined), picks)
        return builder.bitcast(builder.fcmp_ordered(">=", loaded, floors), ir.IntType(64))

    return types.uint64(values, types.intp, values.dtype), codegen


@njit(**FAST)
def scattered(word):  # type: ignore[no-untyped-def]
    """Return 64 bits that look random and differ for every word (SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
