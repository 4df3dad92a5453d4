"""Judgment of every unique call of runs by rules, with the resulting findings."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kvtrace.analysis.ordering import judge_kernels
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.analysis.replaying import Engine, Recipe
from kvtrace.clients import Client
from kvtrace.clients.recorded import Outcome, replay
from kvtrace.clients.registry import as_client
from kvtrace.clients.sanitizer import Sanitizer
from kvtrace.converters.findings import Findings, observed_rules, read_findings
from kvtrace.schema.layout import OF_RUNS
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.settings import settings_from_environment
from kvtrace.verdicts.rules.added import added_rules, pass_rules, run_rules, watched_rules
from kvtrace.verdicts.rules.choice import rule_ids
from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """The findings of runs, and a sentence for each call whose evaluation failed.

    `left_out` has a sentence for each run without anything to judge.
    """

    findings: Findings
    failures: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def judge_runs(
    selection: Selection, names: Sequence[str], *, proven: bool = False, shown: Shown = unshown,
    engine: Engine | None = None,
) -> JudgedRuns:  # fmt: skip
    """Judge runs by the named rules (see `rule_ids`), and fill the table findings.

    Args:
        selection: The runs to judge.
        names: Rules.
        proven: Also list proven accesses.
        shown: The progress display.
        engine: The engine that evaluates the calls; None for this process.

    Raises:
        BadSetting: No rule has a given name.
        KvtraceError: The sanitizer failed, or the trace cannot be written.

    """
    trace, runs = selection.trace, selection.runs
    judged = (*RULES, *KERNEL_RULES)
    observed = (*watched_rules(), *observed_rules(trace, runs, judged))
    rules = rule_ids(names, observed)
    failures: list[str] = []
    left_out: list[str] = []
    recipe = partial(sanitizer, rules)
    outcomes: Iterable[Outcome] = ()
    if any(name in RULES for name in rules):
        outcomes = (
            _here(selection, recipe, shown) if engine is None else engine(selection, [recipe])
        )
    for outcome in outcomes:
        for error in outcome.errors:
            raise error
        failures += outcome.failures
        left_out += [outcome.left_out] if outcome.left_out is not None else []
    for run in runs:
        judge_by_kernel(trace, run, rules, names)
    known_rules = (*judged, *observed, *run_rules(), *pass_rules())
    findings = read_findings(trace, runs, proven=proven, rules=rules, known_rules=known_rules)
    findings = replace(findings, named=_parts(names) & set(rules))
    return JudgedRuns(findings, tuple(failures), tuple(left_out))


def _here(selection: Selection, recipe: Recipe, shown: Shown) -> Iterator[Outcome]:
    for run in selection.runs:
        with shown(f"sanitize {run.run_id}") as progress:
            outcome = replay(selection.trace, run, progress, (recipe(),))
        yield outcome


def judge_by_kernel(
    trace: Trace, run: Run, rules: Sequence[str], names: Sequence[str] = (), *, again: bool = True
) -> None:
    """Judge a run's kernels by the given rules that are about kernels, if any.

    Args:
        trace: The trace; receives the findings.
        run: The run.
        rules: Ids of rules.
        names: The user's names of rules.
        again: Also repeat judgments of add-ons that the run has already.

    """
    if any(name in KERNEL_RULES for name in rules):
        judge_kernels(trace, run)
    for name, added in added_rules():
        chosen = set(added.rules) & set(rules)
        pass_name = f"{OF_RUNS}{name}"
        is_judged = not again and pass_name in trace.passes(run.run_id)
        if not chosen or is_judged or added.findings is None:
            continue
        tables = added.findings(trace, run, not _parts(names).isdisjoint({*chosen, "all"}))
        if tables is not None:
            settings = {"rules": dict(added.rules), "artifacts": _by_kind(tables)}
            trace.add_derived(run.run_id, pass_name, tables, settings)
        elif pass_name in trace.passes(run.run_id):
            trace.add_derived(run.run_id, pass_name, {}, {})


def _by_kind(tables: "Mapping[str, pa.Table]") -> dict[str, str]:
    """Return the hashes of the artifacts of a judgment, by kind."""
    rows = tables["artifacts"].to_pylist() if "artifacts" in tables else ()
    return {row["kind"]: row["sha256"] for row in rows}


def _parts(names: Iterable[str]) -> frozenset[str]:
    """Return the names in comma-separated texts."""
    return frozenset(part.strip() for name in names for part in name.split(","))


def sanitizer(rules: Sequence[str]) -> Client:
    """Return the client that judges calls by those of the given rules that are about calls."""
    return as_client(Sanitizer([name for name in rules if name in RULES]), "sanitizer")


def environment_rules() -> str:
    """Return the rules of KVTRACE_RULES, or the default rules."""
    settings, _ = settings_from_environment(os.environ)
    return settings.rules
