"""The table of rules: id, severity, texts, and the file whose functions judge by each rule.

A file's `judge` works on the symbolic summary alone and covers the whole call. `concrete`, if there
is one, gets the *unknown* verdicts of `judge`, and returns an observer that decides them by an
evaluation of the call, or None. A file is imported when a rule of it is judged first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kvtrace.ir.asynchronous import ADDRESSING, WITHOUT_ACT, strangers
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.verdicts.verdict import Severity, Verdict

if TYPE_CHECKING:
    from kvtrace.ir import Module, Op
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete

Judge = Callable[["BoundCall"], Iterable[Verdict]]
MakeConcrete = Callable[["BoundCall", Sequence["Verdict"]], "Concrete | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about calls: one kind of defect.

    `summary` describes a violation, `hint` how to fix the kernel. Rules that are not `default`
    are judged only on request. Rules may share a `file`, whose `judge` then returns the verdicts of
    all of these rules; a rule about kernels' TTGIR has none. A violation of a `lint` rule changes
    no result, and is not useful in code that Inductor generated. A rule's page is
    docs/rules/<id>.md. A default rule that `narrows_sizes` ends the range of `kvtrace sizes` where
    `judge`, called with ranges in place of numbers, does not prove it.

    `follows` has the ops of GPUs' dialects whose effect on what the rule judges is known; a kernel
    with another such op is *unknown*.
    """

    id: str
    severity: Severity
    summary: str
    hint: str
    file: str = ""
    default: bool = True
    lint: bool = False
    narrows_sizes: bool = True
    follows: frozenset[str] = ADDRESSING

    @property
    def judge(self) -> Judge:
        """The function that returns the verdicts of all rules of the file."""
        judge: Judge = _module(self.file).judge
        return judge

    @property
    def concrete(self) -> MakeConcrete | None:
        """The function that returns an observer of undecided ops, if the file has one."""
        return getattr(_module(self.file), "concrete", None)

    def strangers(self, module: Module) -> Iterator[Op]:
        """Return the ops of a module that the rule does not follow."""
        return strangers(module, self.follows)


@cache
def _module(file: str) -> Any:
    """Return a file's module; a call of `import_module` costs a twentieth of a judgment."""
    return import_module(f"kvtrace.verdicts.{file}")


def _by_id(*rules: Rule) -> Mapping[str, Rule]:
    return {rule.id: rule for rule in rules}


KERNEL_RULES: Final[Mapping[str, Rule]] = {
    "pipeline-order": Rule(
        "pipeline-order",
        "error",
        "its TTGIR accesses shared memory while an asynchronous operation on it is in flight",
        "compile it with num_stages=1, or with another Triton; if a dot and registers both read a "
        "tile, load it once for each",
    ),
}
"""Rules about kernels' TTGIR, judged by pipeline/."""


RULES: Final = _by_id(
    Rule(
        "out-of-bounds",
        "error",
        "a lane reads or writes outside the storage of its tensor",
        "mask the access with the tensor's extent, or launch fewer programs",
        "rules.bounds",
    ),
    Rule(
        "out-of-view",
        "warning",
        "a lane leaves its tensor's view but stays inside the storage",
        "mask the access with the view's extent; if this is intended, turn the rule off",
        "rules.bounds",
    ),
    Rule(
        "null-pointer",
        "error",
        "an access goes through a null pointer, such as that of a tensor without elements",
        "do not launch on empty tensors, or mask the access with the tensor's extent",
        "rules.alignment",
    ),
    Rule(
        "misaligned",
        "error",
        "an address is not a multiple of the size of the accessed element",
        "pass a tensor whose data pointer and strides are multiples of the pointer's type",
        "rules.alignment",
    ),
    Rule(
        "descriptor-contract",
        "error",
        "a tensor descriptor violates the hardware's limits, or a store through it writes past its "
        "inner extent",
        "make its base, strides, block starts and, for stores, the inner extent multiples of 16 "
        "bytes",
        "rules.descriptors",
    ),
    Rule(
        "overflow",
        "error",
        "an integer that decides an access does not fit its width and wraps around",
        "widen an operand with .to(tl.int64) before this operation, or keep it smaller; positions "
        "in descriptors and block pointers have 32 bits: move the base pointer instead",
        "rules.overflow",
    ),
    Rule(
        "wrong-hint",
        "error",
        "a promise to the compiler (multiple_of, max_contiguous, divisibility by 16) does not hold",
        "remove the promise, or pass arguments that keep it",
        "rules.hints",
    ),
    Rule(
        "race",
        "error",
        "two programs access the same bytes, one of them writes, and nothing orders them",
        "let each program write its own part, use atomics for both, or reduce in a second launch",
        "conflicts.race",
    ),
    Rule(
        "race-within-program",
        "error",
        "two lanes of one program access the same bytes, one stores, and no barrier orders them",
        "put tl.debug_barrier() between them, let each lane access only its own elements, or keep "
        "the value in registers",
        "conflicts.race_within",
    ),
    Rule(
        "lane-conflict",
        "error",
        "two lanes of one store write the same byte, and the result depends on their order",
        "give each lane a different address, mask off all but one lane, or use an atomic",
        "conflicts.lane_conflict",
    ),
    Rule(
        "device-assert",
        "error",
        "an assertion in the kernel fails",
        "inspect the values that the assertion names in the program and lane of the witness",
        "rules.asserts",
    ),
    Rule(
        "division-by-zero",
        "error",
        "an integer is divided by zero",
        "check the divisor before the launch, or take max(divisor, 1)",
        "rules.division",
    ),
    Rule(
        "grid-limit",
        "error",
        "a grid has more programs along an axis than the target launches",
        "put the longest axis first, or let each program do more",
        "rules.grids",
    ),
    Rule(
        "buffer-range",
        "note",
        "offsets leave the 2 GiB of an AMD buffer: the device drops them, or Triton uses no buffer",
        "add what may be negative or large to the base pointer, outside of the offsets",
        "rules.buffers",
        lint=True,
    ),
    Rule(
        "undefined-lanes",
        "warning",
        "lanes that a masked load leaves undefined are stored, or added by an atomic",
        "give the load other=, or mask these lanes off where they are stored",
        "rules.undefined_lanes",
    ),
    Rule(
        "undefined-use",
        "warning",
        "lanes that a masked load leaves undefined decide an address, a mask or a branch",
        "give the load other=, or mask these lanes off where they are used",
        "rules.undefined_lanes",
    ),
    Rule(
        "mask-always-false",
        "warning",
        "a mask is false in every lane of every program of the call: the access never happens",
        "look for a reversed comparison, or conditions that exclude each other",
        "rules.masks",
        lint=True,
        # at a size without accesses, as to neighbors of one element, the mask is rightly false
        narrows_sizes=False,
    ),
    Rule(
        "mask-always-true",
        "note",
        "a mask is true in every lane of every program of the call, and only costs instructions",
        "omit it in a variant of the kernel for shapes like these",
        "rules.masks",
        default=False,
        lint=True,
    ),
    Rule(
        "non-finite",
        "warning",
        "an operation turns finite operands into a NaN or an infinity, which is stored",
        "keep its operands in range: add a small number, take a maximum, or mask",
        "rules.non_finite",
        default=False,
        follows=WITHOUT_ACT,
    ),
)


def default_rules() -> tuple[str, ...]:
    """Return the ids of the rules about calls that are judged by default."""
    return tuple(rule.id for rule in RULES.values() if rule.default)


def chosen_rules(ids: Iterable[str] | None) -> tuple[Rule, ...]:
    """Return the rules with these ids, in the table's order; None: the default rules.

    Raises:
        BadSetting: an id is unknown.

    """
    selected = set(default_rules() if ids is None else ids)
    unknown = sorted(selected - RULES.keys())
    if unknown:
        raise BadSetting(
            f"there is no rule {unknown[0]!r}{nearest(unknown[0], RULES)}; there are "
            f"{', '.join(RULES)}"
        )
    return tuple(rule for rule in RULES.values() if rule.id in selected)


def rule_texts(ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return severity, summary and hint of rules, by id, as stored with a pass's findings."""
    texts = {}
    for rule in ((RULES.get(name) or KERNEL_RULES[name]) for name in ids):
        texts[rule.id] = {"severity": rule.severity, "summary": rule.summary, "hint": rule.hint}
        if rule.lint:
            texts[rule.id]["lint"] = "in generated code"
    return texts
