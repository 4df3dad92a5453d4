"""Judgment of each unique call of runs by rules: `kvtrace sanitize`."""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from kvtrace.analysis.removed_loads import removed_loads
from kvtrace.backends.triton.recorded_ttgir import UnreadableTtgir, generic_ttgirs
from kvtrace.clients import Client
from kvtrace.clients.call_results import EqualCalls
from kvtrace.clients.recorded import Engine, Outcome, Recipe, replay
from kvtrace.clients.registry import as_client
from kvtrace.clients.sanitizer import Sanitizer
from kvtrace.converters.findings import Findings, observed_rules, read_findings
from kvtrace.figures.libraries import library_executions
from kvtrace.ir import source_stack
from kvtrace.ir.asynchronous import may_be_asynchronous
from kvtrace.ir.locations import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.progress import progress
from kvtrace.recorded_calls.reading import calls_of, stage_artifact
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.content import StackRows
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import OF_RUNS, ORDER
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.schema.without_ir import TRITON_ORIGINS
from kvtrace.settings import settings_in_force
from kvtrace.verdicts.pipeline.rule import (
    NO_ASYNCHRONOUS_OPS,
    RULE,
    OrderVerdict,
    judge_order,
    undecided,
)
from kvtrace.verdicts.rules.choice import added_rules, rule_ids
from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, rule_texts


def judge_runs(
    selection: Selection, names: Sequence[str], *, proven: bool = False,
    engine: Engine | None = None,
) -> Findings:  # fmt: skip
    """Judge runs by rules, write the table findings of the trace, and return the findings.

    Args:
        selection: The runs to judge.
        names: Names of rules, as `rule_ids` accepts them.
        proven: Whether proven accesses are among the returned findings.
        engine: The engine that evaluates the calls; None for this process.

    Raises:
        BadSetting: No rule has a given name.
        KvtraceError: The sanitizer failed, or the trace cannot be written.

    """
    trace, runs = selection.trace, selection.runs
    judged = (*RULES, *KERNEL_RULES)
    observed = observed_rules(trace, runs, judged)
    rules = rule_ids(names, observed)
    failures = [*_judge_calls(selection, rules, engine)]
    for run in runs:
        judge_by_kernel(trace, run, rules, names)
        failures += removed_loads(trace, run) if "out-of-bounds" in rules else ()
    added_ids = (rule for _, added in added_rules() for rule in added.rules)
    known_rules = (*judged, *observed, *added_ids)
    findings = read_findings(trace, runs, proven=proven, rules=rules, known_rules=known_rules)
    unrecorded: dict[str, str] = {}
    for _, added in added_rules():
        for run in runs:
            unrecorded |= added.missing(trace, run)
    named = _split_names(names) & set(rules)
    silent = named - {tally.rule for tally in findings.tallies}
    return replace(
        findings,
        named=named,
        not_evaluated=tuple(failures),
        unrecorded={rule: unrecorded[rule] for rule in sorted(silent & unrecorded.keys())},
        others=library_executions(trace, runs),
    )


def _judge_calls(
    selection: Selection, rules: Sequence[str], engine: Engine | None
) -> Iterator[str]:
    """Judge calls by those rules that judge calls; yield a message for each not evaluated."""
    if not any(name in RULES for name in rules):
        return
    recipe = partial(sanitizer, rules)
    outcomes = _judge_here(selection, recipe) if engine is None else engine(selection, [recipe])
    for outcome in outcomes:
        for error in outcome.errors:
            raise error
        yield from outcome.failures


def _judge_here(selection: Selection, recipe: Recipe) -> Iterator[Outcome]:
    equal_calls: EqualCalls = {}
    for run in selection.runs:
        with progress(f"sanitize {run.run_id}") as report:
            client = recipe()
            outcome = replay(selection.trace, run, report, (client,), equal_calls=equal_calls)
        yield outcome


def judge_by_kernel(
    trace: Trace, run: Run, rules: Sequence[str], names: Sequence[str] = (), *, again: bool = True,
    end: float | None = None,
) -> None:  # fmt: skip
    """Judge a run by the rules that judge kernels, not calls, and by rules of add-ons.

    Args:
        trace: The trace, to which the findings are written.
        run: The run.
        rules: Ids of rules; rules that judge calls are ignored.
        names: The rules as the user named them: add-ons are told whether theirs were named.
        again: Whether to repeat judgments of add-ons that the run already has.
        end: See `judge_kernels`.

    """
    if any(name in KERNEL_RULES for name in rules):
        judge_kernels(trace, run, end)
    for name, added in added_rules():
        requested = set(added.rules) & set(rules)
        pass_name = f"{OF_RUNS}{name}"
        is_judged = not again and pass_name in trace.passes(run.run_id)
        if not requested or is_judged or added.findings is None:
            continue
        is_named = not _split_names(names).isdisjoint({*requested, "all"})
        tables = added.findings(trace, run, is_named)
        if tables is not None:
            trace.add_derived(run.run_id, pass_name, tables, {"rules": dict(added.rules)})
        elif pass_name in trace.passes(run.run_id):
            trace.add_derived(run.run_id, pass_name, {}, {})


def _split_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names in texts such as "race,out-of-bounds"."""
    return frozenset(part.strip() for name in names for part in name.split(","))


def sanitizer(rules: Sequence[str]) -> Client:
    """Return a client that judges calls by these rules, except for rules that judge kernels."""
    return as_client(Sanitizer([name for name in rules if name in RULES]), "sanitizer")


def environment_rules() -> str:
    """Return the value of KVTRACE_RULES, of the project's rules, or of the default."""
    settings, _ = settings_in_force(os.environ)
    return settings.rules


# -- kernels by pipeline-order ---------------------------------------------------------------------


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
        kernel, content = equal_kernels[0], trace.artifact(digest)
        text = None if content is None else content.decode(errors="replace")
        if text is not None and may_be_asynchronous(text):
            asynchronous[digest] = text, triton_of(kernel, run.versions)
        else:
            yield kernel, _verdict_of_text(text, kernel)
    modules = generic_ttgirs(list(asynchronous.values()))
    for digest, module in zip(asynchronous, modules, strict=True):
        equal_kernels = kernels_by_ttgir[digest]
        verdict = _NOT_REACHED
        if end is None or time.process_time() < end:
            call_ids = [call for kernel in equal_kernels for call in calls[kernel["kernel_id"]]]
            calls_of_kernel = _first_calls(trace, run, call_ids)
            verdict = _verdict_of_module(module, equal_kernels[0], calls_of_kernel)
        yield equal_kernels[0], verdict


def _verdict_of_text(text: str | None, kernel: Kernel) -> OrderVerdict:
    """Return the verdict on a TTGIR without asynchronous ops, or on one that the trace has lost."""
    if text is None:
        return undecided("the trace has lost its kernel's TTGIR")
    if kernel["origin"] not in TRITON_ORIGINS and _FUNCTION not in text:
        return undecided("another producer's text, which is not Triton's TTGIR")
    return NO_ASYNCHRONOUS_OPS


def _first_calls(trace: Trace, run: Run, call_ids: Sequence[int]) -> Iterator[Call]:
    """Yield the first three of the calls, without calls that cannot be evaluated."""
    calls = calls_of(trace, run, call_ids[:_CALLS])
    return islice((call for call in calls if isinstance(call, Call)), _CALLS)


def _verdict_of_module(
    text: str | UnreadableTtgir, kernel: Kernel, calls: Iterator[Call]
) -> OrderVerdict:
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
        "stack_id": verdict.op and stacks.add(source_stack(verdict.op)),
        "other_stack_id": verdict.other and stacks.add(source_stack(verdict.other)),
        "iteration": verdict.iteration,
        "method": "states" if verdict.verdict == "proven" else None,
        "reason": verdict.reason,
        "message": verdict.message,
    }
