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
from kvtrace.addons.neuron.findings import (
    ENGINE_DTYPE,
    INSTRUCTION_ARGUMENT,
    MEMORY_SPACE,
    TARGET_SUPPORT,
)
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


def is_type(operand: Any, *types: Any) -> bool:
    """Return whether an operand's element type is among `types`, or the operand is no tensor."""
    return not isinstance(operand, Tensor) or operand.dtype in types


def is_of_one_type(left: Any, right: Any) -> bool:
    """Return whether two operands have equal element types, or either is no tensor."""
    are_tensors = isinstance(left, Tensor) and isinstance(right, Tensor)
    return not are_tensors or left.dtype == right.dtype


def lies_in(operand: Any, *spaces: str) -> bool:
    """Return whether an operand's memory is among `spaces`, or the operand is no tensor."""
    return not isinstance(operand, Tensor) or operand.memory.space in spaces


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


# -- requirements that several instructions have -----------------------------------------------


def has_type(operands: str, *types: Any, subject: str = "", negated: bool = False) -> Requirement:
    """Return the requirement that each operand has one of `types` (`negated`: none of them)."""
    names = operands.split()
    verb = ("is" if len(names) == 1 else "are") + (" not" if negated else "")
    return Requirement(
        f"{subject or _listed(names, 'and')} {verb} {_listed([str(t) for t in types], 'or')}",
        operands,
        lambda call: all(
            not isinstance(operand := getattr(call, name), Tensor)
            or (operand.dtype in types) != negated
            for name in names
        ),
        ENGINE_DTYPE,
    )


def has_float_type(operand: str) -> Requirement:
    """Return the requirement that an operand has a float type."""
    return Requirement(
        f"{operand} has a float type",
        operand,
        lambda call: is_type(getattr(call, operand), *dtypes.FLOATS),
        ENGINE_DTYPE,
    )


def has_type_of(operand: str, other: str) -> Requirement:
    """Return the requirement that two operands, if both are tensors, have one type."""
    return Requirement(
        f"{operand} has the type of {other}",
        f"{operand} {other}",
        lambda call: is_of_one_type(getattr(call, operand), getattr(call, other)),
        ENGINE_DTYPE,
    )


def in_sbuf(operands: str, subject: str = "") -> Requirement:
    """Return the requirement that operands lie in SBUF."""
    names = operands.split()
    return Requirement(
        f"{subject or _listed(names, 'and')} {'lies' if len(names) == 1 else 'lie'} in SBUF",
        operands,
        lambda call: all(lies_in(getattr(call, name), "sbuf") for name in names),
        MEMORY_SPACE,
    )


def not_both_in_psum(left: str, right: str) -> Requirement:
    """Return the requirement that two operands are not both tensors that must be in PSUM."""
    return Requirement(
        f"{left} and {right} do not both lie in PSUM",
        f"{left} {right}",
        lambda call: not all(_is_fixed_in_psum(getattr(call, name)) for name in (left, right)),
        MEMORY_SPACE,
    )


def engine_among(*names: str) -> Requirement:
    """Return the requirement that the named engine is one of `names`."""
    sentence = f"the engine is {_listed([*names], 'or')}"
    return Requirement(sentence, "engine", lambda call: engine_in(call, *names))


def from_generation(least: int) -> Requirement:
    """Return the requirement that the target has a version of NeuronCore, or a later one."""
    return Requirement(
        f"needs NeuronCore-v{least} or later",
        "target",
        lambda call: generation(call) >= least,
        TARGET_SUPPORT,
    )


def is_arithmetic(operands: str) -> Requirement:
    """Return the requirement that operations are not bitwise."""
    names = operands.split()
    return Requirement(
        f"{_listed(names, 'and')} {'is' if len(names) == 1 else 'are'} arithmetic",
        operands,
        lambda call: not any(is_bits(getattr(call, name)) for name in names),
    )


def operation_among(operand: str, *names: str) -> Requirement:
    """Return the requirement that an operation, if it is passed, is one of `names`."""
    return Requirement(
        f"{operand} is {_listed([*names], 'or')}",
        operand,
        lambda call: getattr(call, operand) is None or token(getattr(call, operand)).name in names,
    )


def integers_if_bitwise(op: str, tensors: str) -> Requirement:
    """Return the requirement that operands and result of a bitwise operation are integers."""
    return Requirement(
        "bitwise operations take and return integers",
        f"{op} {tensors}",
        lambda call: (
            not is_bits(getattr(call, op))
            or all(is_type(getattr(call, name), *dtypes.BITS) for name in tensors.split())
        ),
        ENGINE_DTYPE,
    )


def _listed(words: list[str], conjunction: str) -> str:
    """Return words as a list in a sentence: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last
