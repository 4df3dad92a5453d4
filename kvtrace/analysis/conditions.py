"""Conditions for all shapes, and the calls compared with them: `kvtrace sizes`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kvtrace.analysis.progress import Shown, unshown
from kvtrace.converters.findings.conditions import AccessLine, KernelConditions, OutsideCall
from kvtrace.converters.findings.envelope import AtSizes, EnvelopeRow, SizeVerdict
from kvtrace.converters.findings.invocation import invocation
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from pathlib import Path

    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Selection
    from kvtrace.verdicts.sizes.compared_calls import HeldAgainst
    from kvtrace.verdicts.sizes.contracts import Contract
    from kvtrace.verdicts.sizes.growth import Relations
    from kvtrace.verdicts.sizes.launch_numbers import Numbers
    from kvtrace.verdicts.verdict import Verdict

_GRAVEST = ("violation", "unknown", "proven")
_SECONDS = 6.0
"""What the tables of sizes of all kernels together may take."""
_LEAST_SECONDS = 0.05


@dataclass
class _Variant:
    """A kernel with the same conditions in whatever runs and calls."""

    described: KernelConditions
    calls: int = 0
    inside: int = 0
    short: int = 0
    others: list[OutsideCall] = field(default_factory=list)
    first: Call | None = None
    more: list[Numbers] = field(default_factory=list)
    bad: list[tuple[Numbers, str]] = field(default_factory=list)
    broken: dict[str, None] = field(default_factory=dict)
    assumed: dict[str, Contract] = field(default_factory=dict)

    def whole(
        self, sizes: Mapping[str, int], contracts: Sequence[Contract], seconds: float
    ) -> KernelConditions:
        """Return the plain data; `sizes`: what to judge the kernel at, `seconds`: for its table."""
        relations = self.relations()
        return replace(
            self.described, calls=self.calls, inside=self.inside, short=self.short,
            others=tuple(self.others),
            envelope=_envelope(relations, [*contracts, *self.assumed.values()], seconds, self.bad)
            if seconds
            else (),
            at=_at(relations, sizes), broken=tuple(self.broken),
        )  # fmt: skip

    def relations(self) -> Relations:
        """Return how the numbers of the calls hang together."""
        from kvtrace.verdicts.sizes.growth import Relations

        assert self.first is not None
        return Relations(self.first, self.more)


def sizes_of(text: str | None) -> dict[str, int]:
    """Read `--at "batch=64, seq=131072"`.

    Raises:
        BadSetting: it is not a list of names and whole numbers.

    """
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not part.strip():
            continue
        digits = value.replace("_", "").removeprefix("-")
        if not name or not equals or not digits.isdecimal():
            raise BadSetting(f'--at takes sizes as in "batch=64, seq=131072", and not {part!r}.')
        sizes[name] = int(value)
    return sizes


def contracts_of(file: Path | None) -> list[Contract]:
    """Read a file of contracts, one a line; lines that begin with # are comments.

    Raises:
        BadSetting: it cannot be read.
        BadContract: a line is not a contract.

    """
    from kvtrace.verdicts.sizes.contracts import contract_of

    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the contracts in {file} cannot be read: {error}") from error
    return [contract_of(line) for line in lines if line.strip() and line.strip()[0] != "#"]


def kernel_conditions(
    selection: Selection,
    sizes: Mapping[str, int] | None = None,
    contracts: Sequence[Contract] = (),
    shown: Shown = unshown,
    *,
    envelope: bool = True,
) -> tuple[list[KernelConditions], list[str]]:
    """Return the conditions of all kernels that were called, and why some calls were left out.

    `sizes`: what to judge each kernel at that has numbers of these names. `contracts`: what index
    tensors hold, which each call is checked by; so it is by those in comments of its kernel.
    `envelope`: whether the first bad value of each number is looked for, which may take seconds.

    Raises:
        BadSetting: a name of `sizes` is none of a number of any kernel.

    """
    from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of
    from kvtrace.verdicts.sizes.contracts import violation

    variants: dict[KernelConditions, _Variant] = {}
    failures: list[str] = []
    for run in selection.runs:
        table = selection.trace.table("calls", (run,), columns=["call_id", "kernel_id", "args"])
        rows = table.to_pylist()
        arguments = {row["call_id"]: row["args"] or [] for row in rows}
        assumed, unread = _assumed(selection, run)
        failures += unread
        kernel_of = {row["call_id"]: row["kernel_id"] for row in rows}
        described: dict[int, _Variant] = {}
        with shown(f"sanitize {run.run_id}") as progress:
            for number, call in enumerate(calls_of(selection.trace, run), start=1):
                if isinstance(call, UnreadyCall):
                    failures.append(f"call {call.call_id} of {call.kernel}: {call.reason}")
                else:
                    key = id(call.module.op)
                    if key not in described:
                        told = _described(call)
                        described[key] = variants.setdefault(told, _Variant(told))
                    _add(described[key], call, run, arguments[call.call_id])
                    own = assumed.get(kernel_of[call.call_id], [])
                    described[key].assumed |= {contract.text: contract for contract in own}
                    wrong = (violation(contract, call) for contract in (*contracts, *own))
                    described[key].broken |= dict.fromkeys(text for text in wrong if text)
                if progress is not None:
                    progress(number, table.num_rows)
    related = [variant.relations() for variant in variants.values()] if sizes else []
    missing = [name for name in sizes or () if not any(r.quantity(name) for r in related)]
    if missing and variants:
        raise BadSetting(
            f"--at names {', '.join(missing)}, which no kernel has among its scalars; tensors' "
            "extents are named as in x.shape[0], and axes of the grid as in grid_x."
        )
    ends, kernels = time.thread_time() + _SECONDS, []
    for number, variant in enumerate(variants.values()):
        left = max(ends - time.thread_time(), 0.0) / (len(variants) - number)
        seconds = max(left, _LEAST_SECONDS) if envelope else 0.0
        kernels.append(variant.whole(sizes or {}, contracts, seconds))
    return kernels, failures


def _assumed(selection: Selection, run: Run) -> tuple[dict[int, list[Contract]], list[str]]:
    """Return the contracts in comments of kernels, by kernel, and what is wrong with some."""
    from kvtrace.verdicts.sizes.contracts import BadContract, contract_of, contracts_in

    found: dict[int, list[Contract]] = {}
    wrong: dict[str, None] = {}
    columns = ["kernel_id", "name", "source_artifact"]
    for row in selection.trace.table("kernels", (run,), columns=columns).to_pylist():
        digest = row["source_artifact"]
        source = selection.trace.artifact(digest) if digest else None
        for text in contracts_in((source or b"").decode("utf-8", "replace")):
            try:
                found.setdefault(row["kernel_id"], []).append(contract_of(text))
            except BadContract as error:
                wrong[f"a comment in {row['name']}: {error}"] = None
    return found, list(wrong)


def _place(op: Op | None) -> tuple[str | None, int | None]:
    from kvtrace.ir import source_stack

    frames = source_stack(op) if op is not None else ()
    return (frames[0].file, frames[0].line) if frames else (None, None)


def _envelope(
    relations: Relations,
    contracts: Sequence[Contract],
    seconds: float,
    bad: Sequence[tuple[Numbers, str]],
) -> tuple[EnvelopeRow, ...]:
    from kvtrace.verdicts.sizes.envelope import envelope

    return tuple(
        EnvelopeRow(
            row.quantity, row.recorded, row.kind, row.first_bad, row.what, *_place(row.op),
            row.expression, row.contract, row.along, row.basis, row.reason,
            low=row.fine[0] if row.fine else None, high=row.fine[1] if row.fine else None,
            last_bad=row.last_bad, below=row.below, below_kind=row.below_kind,
        )
        for row in envelope(relations, contracts, seconds, bad)
    )  # fmt: skip


def _at(relations: Relations, sizes: Mapping[str, int]) -> AtSizes | None:
    """Judge a kernel at sizes, by its default rules; None: it has no number of these names."""
    from kvtrace.verdicts.sizes.at_size import at_size

    chosen = {name: value for name, value in sizes.items() if relations.quantity(name)}
    if not chosen:
        return None
    found = at_size(relations, chosen)
    verdicts = [v for v in found.verdicts if v.verdict != "proven"]
    return AtSizes(
        ", ".join(f"{name} = {value}" for name, value in chosen.items()),
        found.along,
        found.limit,
        len(found.verdicts) - len(verdicts),
        tuple(SizeVerdict(v.rule, v.verdict, v.message, *_place(v.op)) for v in verdicts),
        found.reason,
    )


def _described(call: Call) -> KernelConditions:
    from kvtrace.ir import source_stack
    from kvtrace.symbolic.walk import summarise
    from kvtrace.verdicts.sizes.condition import conditions_of
    from kvtrace.verdicts.sizes.wording import assumption_text, inside_text, width_text

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
    from kvtrace.verdicts.sizes.compared_calls import held_against, judged
    from kvtrace.verdicts.sizes.launch_numbers import numbers_of

    held = held_against(call)
    variant.calls += 1
    if variant.first is None:
        variant.first = call
    else:
        variant.more.append(numbers_of(call))
    variant.short += not all(each.reaches for each in held)
    if all(each.standing == "inside" for each in held):
        variant.inside += 1
        return
    written = invocation(call.kernel, call.grid, arguments) or call.kernel
    found = _outside(call, run.run_id, written, held, judged(call, held))
    variant.others.append(found)
    if found.verdict == "violation":
        variant.bad.append((numbers_of(call), found.message))


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
