"""Judgment of each called kernel's TTGIR by the rule `pipeline-order`."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from kvtrace.backends.triton.recorded_ttgir import UnreadableTtgir, generic_ttgirs
from kvtrace.ir import source_stack
from kvtrace.ir.asynchronous import may_be_asynchronous
from kvtrace.ir.columns import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.metrics.stacks import StackRows
from kvtrace.recorded_calls.recorded import Call, calls_of, stage_artifact
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import ORDER
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import TRITON_ORIGINS
from kvtrace.verdicts.pipeline.rule import (
    NO_ASYNCHRONOUS_OPS,
    RULE,
    OrderVerdict,
    judge_order,
    undecided,
)
from kvtrace.verdicts.rules.choice import rule_texts
from kvtrace.verdicts.rules.table import KERNEL_RULES

#: The op that each TTGIR has.
_FUNCTION: Final = "tt.func"
#: Most calls of a kernel that are evaluated to find a fault.
_CALLS: Final = 3
#: The verdict on a kernel that was not reached in time.
_NOT_REACHED: Final = undecided("not reached in time; kvtrace sanitize judges all kernels")

Kernel = Mapping[str, Any]


def judge_kernels(trace: Trace, run: Run, end: float | None = None) -> None:
    """Judge each kernel of a run by `pipeline-order`, and write the verdicts to `findings`.

    Kernels without recorded TTGIR or without calls are skipped, and of kernels with equal TTGIR
    only one is judged. From the time `end` (`time.process_time()`) on, kernels are *unknown*, and
    the verdicts are kept beside the trace (`results_beside`).

    Raises:
        KvtraceError: The trace cannot be read or written.

    """
    columns = ["kernel_id", "name", "file", "stages", "options", "origin"]
    rows = trace.table("kernels", (run,), columns=columns).to_pylist()
    kernels = {row["kernel_id"]: row for row in rows if stage_artifact(row, "ttgir")}
    if not kernels:
        return
    calls: dict[int, list[int]] = {}
    for row in trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist():
        if row["kernel_id"] in kernels:
            calls.setdefault(row["kernel_id"], []).append(row["call_id"])
    stacks = StackRows()
    called_kernels = [kernels[kernel_id] for kernel_id in calls]
    verdicts = list(_verdicts(trace, run, called_kernels, calls, end))
    findings = [
        _row(kernel, calls[kernel["kernel_id"]][0], verdict, stacks) for kernel, verdict in verdicts
    ]
    tables = {
        "findings": pa.Table.from_pylist(findings, TABLES["findings"].schema),
        "stacks": pa.Table.from_pylist(stacks.rows(), TABLES["stacks"].schema),
    }
    is_whole = all(verdict is not _NOT_REACHED for _, verdict in verdicts)
    trace.add_derived(run.run_id, ORDER, tables, {"rules": rule_texts([RULE])}, whole=is_whole)


def _verdicts(
    trace: Trace, run: Run, kernels: Sequence[Kernel], calls: Mapping[int, Sequence[int]],
    end: float | None,
) -> Iterator[tuple[Kernel, OrderVerdict]]:  # fmt: skip
    """Yield kernels with their verdicts; of kernels with equal TTGIR only the first.

    `calls` has the call ids of each kernel id. Kernels are unknown after the time `end`.
    """
    kernels_by_ttgir: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        kernels_by_ttgir.setdefault(str(stage_artifact(kernel, "ttgir")), []).append(kernel)
    asynchronous: dict[str, tuple[str, str | None]] = {}
    for digest, equal_kernels in kernels_by_ttgir.items():
        content = trace.artifact(digest)
        text = "" if content is None else content.decode(errors="replace")
        if content is not None and may_be_asynchronous(text):
            asynchronous[digest] = text, triton_of(equal_kernels[0], run.versions)
            continue
        if content is None:
            verdict = undecided("the trace has lost its kernel's TTGIR")
        elif equal_kernels[0]["origin"] not in TRITON_ORIGINS and _FUNCTION not in text:
            verdict = undecided("another producer's text, which is not Triton's TTGIR")
        else:
            verdict = NO_ASYNCHRONOUS_OPS
        yield equal_kernels[0], verdict
    modules = generic_ttgirs(list(asynchronous.values()))
    for digest, module in zip(asynchronous, modules, strict=True):
        equal_kernels = kernels_by_ttgir[digest]
        if end is not None and time.process_time() >= end:
            yield equal_kernels[0], _NOT_REACHED
            continue
        call_ids = [call for kernel in equal_kernels for call in calls[kernel["kernel_id"]]]
        yield (
            equal_kernels[0],
            _verdict(module, equal_kernels[0], _first_calls(trace, run, call_ids)),
        )


def _first_calls(trace: Trace, run: Run, call_ids: Sequence[int]) -> Iterator[Call]:
    """Yield the first three of the calls, without calls that cannot be evaluated."""
    calls = calls_of(trace, run, call_ids[:_CALLS])
    return islice((call for call in calls if isinstance(call, Call)), _CALLS)


def _verdict(text: str | UnreadableTtgir, kernel: Kernel, calls: Iterator[Call]) -> OrderVerdict:
    if isinstance(text, UnreadableTtgir):
        return undecided(str(text))
    try:
        module = module_defined_in(text, kernel["file"])
    except KvtraceError as error:
        return undecided(str(error))
    return judge_order(module, kernel["name"] or "?", calls)


def _row(kernel: Kernel, call_id: int, verdict: OrderVerdict, stacks: StackRows) -> dict[str, Any]:
    """Return the row of `findings` of a verdict; its source lines are added to `stacks`."""
    ttgir = stage_artifact(kernel, "ttgir")
    identity = f"{RULE} {kernel['name']} {ttgir} {verdict.verdict} {verdict.message}"
    is_violation = verdict.verdict == "violation"
    return {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "call_id": call_id,
        "rule": RULE,
        "verdict": verdict.verdict,
        "severity": KERNEL_RULES[RULE].severity if is_violation else "note",
        "stack_id": None if verdict.op is None else stacks.add(source_stack(verdict.op)),
        "other_stack_id": None
        if verdict.other is None
        else stacks.add(source_stack(verdict.other)),
        "iteration": verdict.iteration,
        "method": "states" if verdict.verdict == "proven" else None,
        "reason": verdict.reason,
        "message": verdict.message,
    }
