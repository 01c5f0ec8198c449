"""Keep a user's float32 kernel in float32.

numba types ``2`` as int64, ``0.5`` as float64, and int64 times float32 as float64, so one literal
halves the speed of a loop over float32 rows. This compiler pass types literals that are combined
with floats as float32, as NumPy does. It works on numba's intermediate representation, so closures,
line numbers and error messages do not change.
"""

import operator
from typing import Any

import numpy as np
from numba import types
from numba.core import ir, typed_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import NumbaError
from numba.core.untyped_passes import ReconstructSSA

POWERS = (operator.pow, operator.ipow)  # an integer exponent means repeated multiplication


@register_pass(mutates_CFG=False, analysis_only=False)
class _SingleLiterals(FunctionPass):  # type: ignore[misc]
    """Turn float literals, and integers combined with floats, into float32."""

    _name = "mercer_single_literals"

    def __init__(self) -> None:
        super().__init__()  # numba declares it abstract

    def run_pass(self, state: Any) -> bool:
        try:
            typed = typed_passes.type_inference_stage(
                state.typingctx, state.targetctx, state.func_ir, state.args, None
            )
        except NumbaError:
            return False  # the next pass of the pipeline reports the same error
        found = [
            statement
            for block in state.func_ir.blocks.values()
            for statement in block.find_insts(ir.Assign)
        ]
        meets_floats = _names_that_meet_floats(found, typed.typemap)
        changed = [_to_single(one, meets_floats) for one in found]
        return any(changed)


def _names_that_meet_floats(found: list[Any], typemap: dict[str, Any]) -> set[str]:
    globals_ = {one.target.name: one.value.value for one in found if _is_global(one.value)}
    names: set[str] = set()
    for statement in found:
        operands = [one.name for one in _operands(statement.value, globals_)]
        if any(isinstance(typemap[name], types.Float) for name in operands):
            names.update(operands)
    return names


def _operands(value: Any, globals_: dict[str, Any]) -> list[Any]:
    """Return the variables that this expression converts to a common type."""
    if not isinstance(value, ir.Expr):
        return []
    if value.op in ("binop", "inplace_binop") and value.fn not in POWERS:
        return [value.lhs, value.rhs]
    if value.op == "phi":
        return [one for one in value.incoming_values if isinstance(one, ir.Var)]
    if value.op == "call" and globals_.get(value.func.name) in (min, max):
        return list(value.args)
    return []


def _is_global(value: Any) -> bool:
    return isinstance(value, (ir.Global, ir.FreeVar))


def _to_single(statement: Any, meets_floats: set[str]) -> bool:
    if not isinstance(statement.value, ir.Const) and not _is_global(statement.value):
        return False
    literal = statement.value.value
    is_number = type(literal) is float or (
        type(literal) is int and statement.target.name in meets_floats
    )
    if is_number:
        statement.value = ir.Const(np.float32(literal), statement.loc)
    return is_number


class SinglePrecision(CompilerBase):  # type: ignore[misc]
    """numba's compiler with the pass `_SingleLiterals`."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual pipeline with one extra pass."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_SingleLiterals, ReconstructSSA)
        passes.finalize()
        return [passes]
