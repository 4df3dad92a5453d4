"""Planning of programs and ranges, assertions and printing."""

from __future__ import annotations

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.dialects.tt_program import range_of
from kvtrace.evaluate.errors import Unplannable
from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.comparisons import simplified_condition
from kvtrace.evaluate.plan.meanings import PlanStep, planned
from kvtrace.evaluate.plan.steps import PlanCompiler
from kvtrace.evaluate.plan.values import Condition, Constant, Integer
from kvtrace.evaluate.plan.walk import Walk
from kvtrace.ir import Op
from kvtrace.ir.model import attribute


@planned("tt.get_program_id")
def program_id(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan the program's index along an axis of the grid."""
    axis, result = int(attribute(op, "axis")), op.results[0].id

    def step(walk: Walk) -> None:
        form = walk.domain.folded(walk.region.ids[axis])
        walk.values[result] = Integer(form, (), 32)

    return step


@planned("tt.get_num_programs")
def num_programs(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan the grid's extent along an axis."""
    axis, result = int(attribute(op, "axis")), op.results[0].id

    def step(walk: Walk) -> None:
        walk.values[result] = Integer(Affine(walk.region.grid[axis]), (), 32)

    return step


@planned("tt.make_range")
def make_range(op: Op, compiler: PlanCompiler) -> PlanStep:
    """Plan consecutive integers along a lane axis."""
    start, end = range_of(op, compiler.arrays.kernel)
    lanes = (1,) if end - start > 1 else ()
    value = Integer(Affine(start, (), lanes), (end - start,), 32)
    result = op.results[0].id

    def step(walk: Walk) -> None:
        walk.values[result] = value

    return step


@planned("tt.assert")
def assert_(op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan an assertion by proving that it holds; refuse one that may fail."""
    slot = op.operand("condition").id

    def step(walk: Walk) -> None:
        condition = walk.values[slot]
        if isinstance(condition, Condition):
            condition = simplified_condition(walk, condition.forms, condition.shape)
        if not isinstance(condition, Constant) or not condition.value:
            raise Unplannable("an assertion of the kernel may fail")

    return step


@planned("tt.print")
def print_(_op: Op, _compiler: PlanCompiler) -> PlanStep:
    """Plan nothing for printing in a replay; refuse it where the program's own memory is used."""

    def step(walk: Walk) -> None:
        tensors = [x for x in walk.arguments if isinstance(x, TensorArgument)]
        if all(tensor.storage.executes for tensor in tensors):
            raise Unplannable("the kernel prints")

    return step
