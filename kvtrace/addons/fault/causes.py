"""Why a kernel failed, and what to do: sentences from the verdicts on its call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.addons.fault.dump.exceptions import ExceptionKind, Subject
from kvtrace.converters.findings.causes import is_generated
from kvtrace.converters.findings.hints import hint_for
from kvtrace.converters.findings.model import RuleText
from kvtrace.metrics.stacks import StackRows
from kvtrace.verdicts.rules.table import rule_texts
from kvtrace.verdicts.verdict import row_of

if TYPE_CHECKING:
    from kvtrace.addons.fault.arguments import Argument
    from kvtrace.addons.fault.matching import Match
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the access that failed, once its call was judged.

    Attributes:
        kind: what the device reported.
        call: the recorded call.
        match: the call's rows, with the parameters of the dump.
        verdicts: verdicts on the ops at the place.
        address: the address of the access; None: not known.
        argument: the argument that the access is of.
        indices: names of the arguments that the address is loaded from.
    """

    kind: ExceptionKind
    call: Call
    match: Match
    verdicts: Sequence[Verdict]
    address: int | None
    argument: Argument | None
    indices: Sequence[str]

    @property
    def violations(self) -> list[Verdict]:
        """Verdicts that explain an exception of this kind."""
        if self.kind.subject is Subject.OTHER:
            return []
        return [one for one in self.verdicts if one.verdict == "violation"]

    @property
    def is_by_index(self) -> bool:
        """A loaded index can have led outside: no verdict explains the fault without it."""
        is_inside = self.argument is not None and self.argument.is_inside
        is_address = self.kind.subject is Subject.ADDRESS
        return is_address and bool(self.indices) and not self.violations and not is_inside

    @property
    def is_of_freed_memory(self) -> bool:
        """The access lies inside of the storage that the argument had when it was recorded."""
        if self.kind.subject is not Subject.ADDRESS or self.argument is None or self.is_by_index:
            return False
        bounds = [one for one in self.verdicts if one.rule == "out-of-bounds"]
        is_proven = bool(bounds) and all(one.verdict == "proven" for one in bounds)
        return self.argument.is_inside or (is_proven and self.address is None)


def causes_of(evidence: Evidence) -> tuple[str, ...]:
    """Return sentences on why a kernel failed, the most certain first."""
    kind = evidence.kind
    causes = [f"{one.message} (kvtrace sanitize: {one.rule})" for one in evidence.violations]
    held = f"what {', '.join(evidence.indices)} held" if evidence.indices else ""
    if kind.subject is Subject.ASSERTION:
        causes.append(kind.means + (held and f", by {held}"))
    elif kind.subject is Subject.ALIGNMENT and evidence.address is not None:
        causes.append(f"the address {evidence.address:#x} is not a multiple of what is accessed")
    elif evidence.is_by_index:
        causes.append(f"the address is computed from {held}, which no mask limits")
        causes += _larger_scalars(evidence)
    elif evidence.is_of_freed_memory and evidence.argument is not None:
        causes.append(
            f"the access lies inside the storage that {evidence.argument.name} had when it was "
            "recorded: that memory was freed before the kernel ran, or is not on this device"
        )
    if not causes and kind.subject is Subject.ADDRESS:
        causes += [
            one.reason for one in evidence.verdicts if one.verdict == "unknown" and one.reason
        ]
    return tuple(dict.fromkeys(causes)) or (kind.means,)


def advice_on(evidence: Evidence) -> str:
    """Return a sentence on what to do: the hint of the violated rule, else by the cause."""
    for violation in evidence.violations:
        hint = _hint(violation, evidence)
        if hint:
            return hint
    if evidence.is_by_index:
        names = ", ".join(evidence.indices)
        return f"check what {names} holds before the launch, or mask lanes whose index is outside"
    if evidence.is_of_freed_memory and evidence.argument is not None:
        return (
            f"keep {evidence.argument.name} alive, and on this device, until the kernel has run; a "
            "replayed graph uses the memory of its capture"
        )
    return evidence.kind.advice


def _hint(violation: Verdict, evidence: Evidence) -> str | None:
    texts = rule_texts([violation.rule])
    row = row_of(violation, evidence.call, StackRows())
    rules = {rule: RuleText(**text) for rule, text in texts.items()}
    return hint_for(row, rules, generated=is_generated(evidence.match.kernel))


def _larger_scalars(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each whole number that was passed and is larger than the tensor."""
    argument, match = evidence.argument, evidence.match
    if argument is None or argument.elements is None:
        return
    for parameter, arg in zip(match.parameters, match.call["args"], strict=True):
        is_whole = arg["kind"] == "scalar" and isinstance(parameter, int)
        if is_whole and parameter is not None and abs(parameter) > argument.elements:
            yield (
                f"{arg['name']} = {parameter:,} was passed, which is more than "
                f"{argument.name} has elements"
            )
