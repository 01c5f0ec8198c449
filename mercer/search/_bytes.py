"""The compiled product of bytes, where the machine has an instruction for it (AVX-512 VNNI)."""

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from mercer.runtime.jit import cached_njit

LANES = 16  # rows side by side in one register
QUERIES = 8  # accumulators: queries that share each load of a row, unless there is only one

AVAILABLE = (
    bool(llvmlite.binding.get_host_cpu_features().get("avx512vnni"))
    and not config.CPU_NAME  # if numba was told to compile for another machine
    and not config.CPU_FEATURES
)
INTS, FLOATS = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.FloatType(), LANES)
WORD, LONG = ir.IntType(32), ir.IntType(64)
SUM = ("contract", "reassoc", "nsz")


def _block(n_queries: int) -> Any:
    """Return what fills a corner of `out`: so many queries, and the LANES rows of one block."""

    @intrinsic
    def fill(  # type: ignore[no-untyped-def]
        typingctx, codes, leads, block, words, factors, query, out, column
    ):
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            _fill_corner(n_queries, context, builder, signature.args, args)
            return context.get_dummy_value()

        return types.void(
            codes, leads, types.intp, words, factors, types.intp, out, types.intp
        ), codegen

    return fill


def _fill_corner(n_queries: int, context: Any, builder: Any, kinds: Any, args: Any) -> None:
    """Write the instructions of `_block`."""

    def pointer(place: int, offset: Any, kind: Any) -> Any:
        """Return where row `offset` of an argument begins, as a pointer of this kind."""
        array = context.make_array(kinds[place])(context, builder, args[place])
        stride = cgutils.unpack_tuple(builder, array.strides)[0]
        first = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        return builder.bitcast(builder.gep(first, [builder.mul(offset, stride)]), kind.as_pointer())

    n_words = cgutils.unpack_tuple(
        builder, context.make_array(kinds[3])(context, builder, args[3]).shape
    )[1]
    queries = [pointer(3, builder.add(args[5], LONG(i)), WORD) for i in range(n_queries)]
    sums = _accumulate(builder, pointer(0, args[2], INTS), queries, n_words)
    lead = pointer(1, args[2], FLOATS)
    first, residual = (builder.load(builder.gep(lead, [LONG(i)]), align=4) for i in range(2))
    for i, total in enumerate(sums):
        row = builder.add(args[5], LONG(i))
        scale = pointer(4, row, ir.FloatType())
        factor = [_spread(builder, builder.load(builder.gep(scale, [LONG(j)])), FLOATS)
                  for j in range(4)]  # fmt: skip
        value = builder.fmul(builder.sitofp(total, FLOATS), factor[0], flags=SUM)
        value = builder.fadd(value, factor[1], flags=SUM)
        value = builder.fadd(value, builder.fmul(first, factor[2], flags=SUM), flags=SUM)
        value = builder.fadd(value, builder.fmul(residual, factor[3], flags=SUM), flags=SUM)
        place = builder.gep(pointer(6, row, ir.FloatType()), [args[7]])
        builder.store(value, builder.bitcast(place, FLOATS.as_pointer()), align=4)


def _accumulate(builder: Any, rows: Any, queries: list[Any], n_words: Any) -> list[Any]:
    """Return Σ over words of the four products of unsigned and signed bytes, for each query."""
    takes = ir.FunctionType(INTS, [INTS, INTS, INTS])
    multiply = builder.module.declare_intrinsic("llvm.x86.avx512.vpdpbusd.512", [], takes)
    before = builder.block
    loop, after = (builder.append_basic_block(name) for name in ("words", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    word = builder.phi(LONG)
    word.add_incoming(LONG(0), before)
    sums = [builder.phi(INTS) for _ in queries]
    for total in sums:
        total.add_incoming(ir.Constant(INTS, [0] * LANES), before)
    row = builder.load(builder.gep(rows, [word]), align=4)
    added = []
    for total, query in zip(sums, queries, strict=True):
        spread = _spread(builder, builder.load(builder.gep(query, [word])), INTS)
        added.append(builder.call(multiply, [total, row, spread]))
    following = builder.add(word, LONG(1))
    word.add_incoming(following, loop)
    for total, more in zip(sums, added, strict=True):
        total.add_incoming(more, loop)
    builder.cbranch(builder.icmp_signed("<", following, n_words), loop, after)
    builder.position_at_end(after)
    return added


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector that holds one value in every lane."""
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, value, WORD(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(INTS, [0] * LANES))


_one, _several = _block(1), _block(QUERIES)


@cached_njit(nogil=True)
def tile(  # type: ignore[no-untyped-def]
    codes, leads, first_block, step, n_blocks, words, factors, out
):
    """Fill out[i, j] = a c·c' + b + d first_j + e residual_j, with (a, b, d, e) = factors[i].

    Column j is row j of every `step`-th block from `first_block` on. `codes`, of shape (blocks,
    n_words, 4 LANES), hold unsigned bytes, word by word, the rows of a block side by side;
    `leads`, of shape (blocks, 2, LANES), the first component and the residual; `words`, of shape
    (n, n_words), four signed bytes each. The number of queries n is 1 or a multiple of QUERIES.
    """
    if words.shape[0] == 1:
        for block in range(n_blocks):
            _one(codes, leads, first_block + block * step, words, factors, 0, out, block * LANES)
        return
    for query in range(0, words.shape[0], QUERIES):
        for block in range(n_blocks):
            row = first_block + block * step
            _several(codes, leads, row, words, factors, query, out, block * LANES)
