"""Meanings of programs, ranges and assertions of `tt`, and of ops without formulas."""

from __future__ import annotations

from kvtrace.ir import Op
from kvtrace.ir.attributes import StringAttribute
from kvtrace.ir.model import number_of
from kvtrace.ir.types import shape_of
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.summary import Assertion
from kvtrace.symbolic.terms import lane, program, programs
from kvtrace.symbolic.walk import Walk


@meaning("tt.get_program_id")
def program_id(walk: Walk, op: Op) -> None:
    """Set the result to the program's index along an axis."""
    walk.set(op.results[0], program(number_of(op, "axis")))


@meaning("tt.get_num_programs")
def num_programs(walk: Walk, op: Op) -> None:
    """Set the result to the grid's extent along an axis."""
    walk.set(op.results[0], programs(number_of(op, "axis")))


@meaning("tt.make_range")
def make_range(walk: Walk, op: Op) -> None:
    """Set the result to consecutive integers from `start` on."""
    start, end = number_of(op, "start"), number_of(op, "end")
    walk.set(op.results[0], lane(0, end - start) + start)


@meaning("tt.assert", "llvm.intr.assume")
def assertion(walk: Walk, op: Op) -> None:
    """Record an assertion, or an assumption of the compiler."""
    attribute = op.attributes.get("message")
    message = attribute.value if isinstance(attribute, StringAttribute) else ""
    assertion = Assertion(
        **walk.place_fields(op),
        condition=walk.condition(op.operand("condition")),
        message=message,
        shape=shape_of(op.operand("condition").type),
    )
    (walk.assertions if op.name == "tt.assert" else walk.assumptions).append(assertion)


@meaning(
    "tt.print", "gpu.barrier", "nvvm.barrier0", "tt.debug_barrier", "ttg.barrier", "rocdl.barrier",
    "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents",
)  # fmt: skip
def nothing(_walk: Walk, _op: Op) -> None:
    """Do nothing, as these ops have no integer results."""
