"""The rules, each once: what it is called, how grave it is, and the function that judges it.

A rule's functions live in a file of their own. `judge` works on the symbolic summary alone and
covers the whole call. What it leaves *unknown* goes to `concrete`, which gives an observer of an
evaluation of the call, if one could decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.verdicts.verdict import Severity, Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete

Judge = Callable[["BoundCall"], Iterable[Verdict]]
MakeConcrete = Callable[["BoundCall", Sequence["Verdict"]], "Concrete | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of defect.

    `summary` says what is wrong where it is violated, `hint` what to do about it. Rules that are
    not `default` are looked at only when asked for. Rules may share a `judge`, which then gives the
    verdicts of all of them.
    """

    id: str
    severity: Severity
    summary: str
    hint: str
    judge: Judge
    default: bool = True
    concrete: MakeConcrete | None = None


@dataclass(frozen=True, slots=True)
class KernelRule:
    """One kind of defect of what Triton's passes made of a kernel, whatever it is called with."""

    id: str
    severity: Severity
    summary: str
    hint: str
    default: bool = True


@cache
def _judge(file: str) -> Judge:
    """Return the `judge` of a file, which is imported when a call is judged by it."""

    def judge(bound: BoundCall) -> Iterable[Verdict]:
        found: Iterable[Verdict] = import_module(f"kvtrace.verdicts.{file}").judge(bound)
        return found

    return judge


@cache
def _concrete(file: str) -> MakeConcrete:
    """Return the `concrete` of a file, likewise."""

    def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
        module = import_module(f"kvtrace.verdicts.{file}")
        made: Concrete | None = module.concrete(bound, undecided)
        return made

    return concrete


def _by_id(*rules: Rule) -> Mapping[str, Rule]:
    return {rule.id: rule for rule in rules}


KERNEL_RULES: Final[Mapping[str, KernelRule]] = {
    "pipeline-order": KernelRule(
        "pipeline-order",
        "error",
        "in its TTGIR, shared memory is read or written before what is under way there has ended",
        "compile it with num_stages=1, or another Triton; load a tile that a product and registers "
        "read once for each",
    ),
}
"""Rules by which each kernel's TTGIR is judged, and no call; see pipeline/."""


RULES: Final = _by_id(
    Rule(
        "out-of-bounds",
        "error",
        "a lane reads or writes outside the storage of its tensor",
        "mask the access with the tensor's extent, or launch fewer programs",
        _judge("rules.bounds"),
        concrete=_concrete("rules.bounds"),
    ),
    Rule(
        "out-of-view",
        "warning",
        "a lane leaves its tensor's view, still inside the storage",
        "mask the access with the view's extent; if the kernel means to, turn the rule off",
        _judge("rules.bounds"),
        concrete=_concrete("rules.bounds"),
    ),
    Rule(
        "null-pointer",
        "error",
        "an access goes through a null pointer, as of a tensor without elements",
        "do not launch on empty tensors, or mask the access with the tensor's extent",
        _judge("rules.alignment"),
    ),
    Rule(
        "misaligned",
        "error",
        "an address is no multiple of the size of the element that is accessed",
        "pass a tensor whose data pointer and strides are multiples of the pointer's type",
        _judge("rules.alignment"),
    ),
    Rule(
        "descriptor-contract",
        "error",
        "a tensor descriptor is not as the hardware demands, or a store through it writes past its "
        "inner extent",
        "make its base, strides, blocks' starts and, of stores, the inner extent multiples of 16 "
        "bytes",
        _judge("rules.descriptors"),
    ),
    Rule(
        "overflow",
        "error",
        "an integer that decides an access does not fit its width and wraps around",
        "compute it in 64 bits: widen one factor with .to(tl.int64) before multiplying",
        _judge("rules.overflow"),
    ),
    Rule(
        "wrong-hint",
        "error",
        "a promise to the compiler (multiple_of, max_contiguous, divisibility by 16) does not hold",
        "take the promise back, or pass what keeps it",
        _judge("rules.hints"),
    ),
    Rule(
        "race",
        "error",
        "two programs touch the same bytes, one of them writes, and nothing orders them",
        "give programs parts of their own, use atomics for both, or reduce in a second launch",
        _judge("races"),
        concrete=_concrete("races"),
    ),
    Rule(
        "race-within-program",
        "error",
        "two lanes of one program touch the same bytes, one stores, and no barrier orders them",
        "put tl.debug_barrier() between them, let each lane touch its own elements alone, or keep "
        "the value in registers",
        _judge("within.race"),
        concrete=_concrete("within.race"),
    ),
    Rule(
        "lane-conflict",
        "error",
        "two lanes of one store write one byte, and what stays there depends on their order",
        "give lanes places of their own, mask all but one off, or use an atomic",
        _judge("within.lane_conflict"),
        concrete=_concrete("within.lane_conflict"),
    ),
    Rule(
        "device-assert",
        "error",
        "an assertion of the kernel's own fails",
        "look at the values that the assertion names in the program and lane of the witness",
        _judge("rules.asserts"),
        concrete=_concrete("rules.asserts"),
    ),
    Rule(
        "division-by-zero",
        "error",
        "an integer is divided by zero",
        "check the divisor before the launch, or take max(divisor, 1)",
        _judge("rules.division"),
    ),
    Rule(
        "undefined-lanes",
        "warning",
        "lanes that a masked load leaves without a value are stored, or added by an atomic",
        "give the load other=, or mask these lanes off where they are stored",
        _judge("rules.undefined_lanes"),
    ),
    Rule(
        "undefined-use",
        "warning",
        "lanes that a masked load leaves without a value decide an address, a mask or a branch",
        "give the load other=, or mask these lanes off where they are used",
        _judge("rules.undefined_lanes"),
    ),
    Rule(
        "mask-always-false",
        "warning",
        "a mask is false in every lane of every program of the call: the access never happens",
        "look for a comparison that is the wrong way round, or conditions that exclude each other",
        _judge("rules.masks"),
    ),
    Rule(
        "mask-always-true",
        "note",
        "a mask is true in every lane of every program of the call, and costs instructions",
        "leave it out in a variant of the kernel for shapes like these",
        _judge("rules.masks"),
        default=False,
    ),
    Rule(
        "non-finite",
        "warning",
        "an operation gives a NaN or an infinity for operands that are none, and it is stored",
        "keep its operands away from where it does: a number added, a maximum, a mask",
        _judge("rules.non_finite"),
        default=False,
    ),
)


def default_rules() -> tuple[str, ...]:
    """Return the ids of the rules that are looked at unless others are asked for."""
    return tuple(rule.id for rule in RULES.values() if rule.default)


def chosen_rules(ids: Iterable[str] | None) -> tuple[Rule, ...]:
    """Return rules by their ids, in the table's order; None: the default ones.

    Raises:
        BadSetting: there is no rule of an id.

    """
    wanted = set(default_rules() if ids is None else ids)
    unknown = sorted(wanted - RULES.keys())
    if unknown:
        raise BadSetting(
            f"there is no rule {unknown[0]!r}{nearest(unknown[0], RULES)}; there are "
            f"{', '.join(RULES)}"
        )
    return tuple(rule for rule in RULES.values() if rule.id in wanted)
