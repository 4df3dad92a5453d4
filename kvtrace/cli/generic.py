"""`kvtrace sanitize --generic`: conditions for all shapes, and the calls compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtrace.converters.findings.conditions import AccessLine, KernelConditions, OutsideCall
from kvtrace.converters.findings.invocation import invocation

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call
    from kvtrace.schema.trace import Run, Selection
    from kvtrace.verdicts.generic_calls import HeldAgainst
    from kvtrace.verdicts.verdict import Verdict

_GRAVEST = ("violation", "unknown", "proven")


@dataclass
class _Variant:
    """A kernel with the same conditions in whatever runs and calls."""

    described: KernelConditions
    calls: int = 0
    inside: int = 0
    short: int = 0
    others: list[OutsideCall] = field(default_factory=list)

    def whole(self) -> KernelConditions:
        """Return the plain data."""
        d = self.described
        return KernelConditions(
            d.kernel, d.file, d.line, d.accesses, d.widths, d.assumptions,
            d.reach, self.calls, self.inside, self.short, tuple(self.others),
        )  # fmt: skip


def kernel_conditions(selection: Selection) -> tuple[list[KernelConditions], list[str]]:
    """Return the conditions of all kernels that were called, and why some calls were left out."""
    from kvtrace.calls.recorded import UnreadyCall, calls_of
    from kvtrace.cli.progress import calls_progress

    variants: dict[KernelConditions, _Variant] = {}
    failures: list[str] = []
    for run in selection.runs:
        table = selection.trace.table("calls", (run,), columns=["call_id", "args"])
        arguments = {row["call_id"]: row["args"] or [] for row in table.to_pylist()}
        described: dict[int, _Variant] = {}
        with calls_progress(f"sanitize {run.run_id}") as progress:
            for number, call in enumerate(calls_of(selection.trace, run), start=1):
                if isinstance(call, UnreadyCall):
                    failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
                else:
                    key = id(call.module.op)
                    if key not in described:
                        told = _described(call)
                        described[key] = variants.setdefault(told, _Variant(told))
                    _add(described[key], call, run, arguments[call.call_id])
                if progress is not None:
                    progress(number, table.num_rows)
    return [variant.whole() for variant in variants.values()], failures


def _described(call: Call) -> KernelConditions:
    from kvtrace.ir import source_stack
    from kvtrace.symbolic.walk import summarise
    from kvtrace.verdicts.generic import conditions_of
    from kvtrace.verdicts.generic_text import assumption_text, inside_text, width_text

    summary = summarise(call.module)
    names = [value.name.lstrip("%") for value in call.module.main.arguments]
    accesses: list[AccessLine] = []
    widths: dict[str, None] = {}
    assumptions: dict[str, None] = {}
    reach: dict[str, None] = {}
    for found in conditions_of(call.module):
        frames = source_stack(found.op)
        argument = found.access.argument
        accesses.append(
            AccessLine(
                found.access.kind,
                None if argument is None else names[argument],
                frames[0].file if frames else None,
                frames[0].line if frames else None,
                None if found.condition is None else inside_text(found, summary),
                found.exact,
                found.reason,
            )
        )
        widths |= dict.fromkeys(width_text(each, summary) for each in found.widths)
        reach |= dict.fromkeys(width_text(each, summary) for each in found.reach)
        assumptions |= dict.fromkeys(
            assumption_text(symbol, least, summary) for symbol, least in found.assumptions
        )
    frames = source_stack(call.module.main.op)
    return KernelConditions(
        call.kernel,
        frames[0].file if frames else None,
        frames[0].line if frames else None,
        tuple(accesses),
        tuple(widths),
        tuple(assumptions),
        tuple(reach),
    )


def _add(variant: _Variant, call: Call, run: Run, arguments: Sequence[dict[str, object]]) -> None:
    from kvtrace.verdicts.generic_calls import held_against, judged

    held = held_against(call)
    variant.calls += 1
    variant.short += not all(each.reaches for each in held)
    if all(each.standing == "inside" for each in held):
        variant.inside += 1
        return
    written = invocation(call.kernel, call.grid, arguments) or call.kernel
    variant.others.append(_outside(call, run.run_id, written, held, judged(call, held)))


def _outside(
    call: Call,
    run: str,
    written: str,
    held: Sequence[HeldAgainst],
    verdicts: Sequence[Verdict],
) -> OutsideCall:
    from kvtrace.ir import source_stack

    worst = min(verdicts, key=lambda verdict: _GRAVEST.index(verdict.verdict))
    frames = source_stack(worst.op)
    return OutsideCall(
        run,
        call.call_id,
        written,
        any(each.standing == "outside" for each in held),
        worst.verdict,
        worst.message,
        frames[0].file if frames else None,
        frames[0].line if frames else None,
        next((each.reason for each in held if each.reason), None),
    )
