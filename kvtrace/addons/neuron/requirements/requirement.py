"""Requirements that the reference of `nki.isa` puts on calls of instructions, one sentence each.

    requires(
        "nisa.nc_transpose",
        Requirement("the engine is tensor or vector", "engine", lambda call: …),
    )

A call that violates a requirement is a finding of the requirement's rule, or an error with
`KVTRACE_NKI_STRICT=1`.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import INSTRUCTION_ARGUMENT
from kvtrace.addons.neuron.targets import Target
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token, token_of


class Call:
    """The operands of an instruction's call as attributes; None for operands that were not passed.

    `dst` is the destination, None if the instruction returns a new tile.
    """

    target: Target

    def __init__(self, operands: dict[str, Any]) -> None:
        """`operands` includes the target."""
        self.__dict__ = operands

    def __getattr__(self, name: str) -> Any:
        return None


class Requirement(NamedTuple):
    """A sentence that is true of a correct call, names of the operands to show, and a check."""

    sentence: str
    #: Names of operands to show in the message, separated by spaces.
    operands: str
    #: Returns whether a call meets the requirement.
    holds: Callable[[Call], Any]
    rule: str = INSTRUCTION_ARGUMENT
    #: The check depends on the offset of an operand in its memory.
    depends_on_offset: bool = False

    def message(self, instruction: str, call: Call) -> str:
        """Return the message of a violation: the requirement, and the operands passed."""
        operands_passed = ", ".join(
            f"{name}={_operand_text(getattr(call, name))}" for name in self.operands.split()
        )
        return f"{instruction}: {self.sentence}; here {operands_passed}"


#: Name of an op → its requirements.
REQUIREMENTS: Final[dict[str, list[Requirement]]] = {}


def requires(instruction: str, *requirements: Requirement) -> None:
    """Add requirements to those of an instruction."""
    REQUIREMENTS.setdefault(instruction, []).extend(requirements)


def _operand_text(value: Any) -> str:
    if isinstance(value, Enum | Target):
        return value.name
    return getattr(value, "__name__", "") or repr(value)


# -- checks of operands ------------------------------------------------------------------------


def name_of(value: Any) -> str:
    """Return the name of a mode or an engine, or ""."""
    return getattr(value, "name", "")


def engine_in(call: Call, *names: str) -> bool:
    """Return whether the call's engine is among `names`, or is not named."""
    return name_of(call.engine) in ("", "unknown", *names)


def token(operation: Any) -> Token:
    """Return the token of an instruction's argument `op`."""
    return token_of(operation)


def is_bits(operation: Any) -> bool:
    """Return whether an operation is bitwise; None is not."""
    return operation is not None and token_of(operation).kind == "bits"


def is_integer(*operands: Any) -> bool:
    """Return whether all tensors among the operands have integer types."""
    return all(operand.dtype in dtypes.BITS for operand in operands if isinstance(operand, Tensor))


def is_float(*operands: Any) -> bool:
    """Return whether all tensors among the operands have float types."""
    return all(
        operand.dtype in dtypes.FLOATS for operand in operands if isinstance(operand, Tensor)
    )


def is_type(operand: Any, *types: Any) -> bool:
    """Return whether an operand's element type is among `types`, or the operand is no tensor."""
    return not isinstance(operand, Tensor) or operand.dtype in types


def is_not_type(operand: Any, *types: Any) -> bool:
    """Return whether an operand's element type is not among `types`, or it is no tensor."""
    return not isinstance(operand, Tensor) or operand.dtype not in types


def is_of_one_type(left: Any, right: Any) -> bool:
    """Return whether two operands have equal element types, or either is no tensor."""
    are_tensors = isinstance(left, Tensor) and isinstance(right, Tensor)
    return not are_tensors or left.dtype == right.dtype


def lies_in(operand: Any, *spaces: str) -> bool:
    """Return whether an operand's memory is among `spaces`, or the operand is no tensor."""
    return not isinstance(operand, Tensor) or operand.memory.space in spaces


def not_both_in_psum(left: Any, right: Any) -> bool:
    """Return whether at least one of two operands is not a tensor that must be in PSUM."""
    return not (_is_fixed_in_psum(left) and _is_fixed_in_psum(right))


def _is_fixed_in_psum(operand: Any) -> bool:
    if not isinstance(operand, Tensor) or operand.memory.space != "psum":
        return False
    return not operand.memory.placed_by_compiler


def free_size(operand: Tensor) -> int:
    """Return the number of elements per partition of a tile."""
    return operand.size // max(operand.shape[0], 1)


def generation(call: Call) -> int:
    """Return the NeuronCore version of the kernel's target."""
    return call.target.generation
