"""Judgment of each unique call of runs by rules: `kvtrace sanitize`."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kvtrace.analysis.ordering import judge_kernels
from kvtrace.analysis.replaying import Engine, Recipe
from kvtrace.clients import Client
from kvtrace.clients.recorded import Outcome, replay
from kvtrace.clients.registry import as_client
from kvtrace.clients.sanitizer import Sanitizer
from kvtrace.converters.findings import Findings, observed_rules, read_findings
from kvtrace.progress import progress
from kvtrace.schema.layout import OF_RUNS
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.settings import settings_in_force
from kvtrace.verdicts.rules.added import added_rules, pass_rules, run_rules, watched_rules
from kvtrace.verdicts.rules.choice import rule_ids
from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

if TYPE_CHECKING:
    import pyarrow as pa


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
    observed = (*watched_rules(), *observed_rules(trace, runs, judged))
    rules = rule_ids(names, observed)
    failures: list[str] = []
    recipe = partial(sanitizer, rules)
    outcomes: Iterable[Outcome] = ()
    if any(name in RULES for name in rules):
        outcomes = _judge_here(selection, recipe) if engine is None else engine(selection, [recipe])
    for outcome in outcomes:
        for error in outcome.errors:
            raise error
        failures += outcome.failures
    for run in runs:
        judge_by_kernel(trace, run, rules, names)
    known_rules = (*judged, *observed, *run_rules(), *pass_rules())
    findings = read_findings(trace, runs, proven=proven, rules=rules, known_rules=known_rules)
    named = _split_names(names) & set(rules)
    silent = named - {tally.rule for tally in findings.tallies}
    needs = {rule: text for _, added in added_rules() for rule, text in added.needs.items()}
    unrecorded = {rule: needs[rule] for rule in sorted(silent & needs.keys())}
    return replace(findings, named=named, not_evaluated=tuple(failures), unrecorded=unrecorded)


def _judge_here(selection: Selection, recipe: Recipe) -> Iterator[Outcome]:
    for run in selection.runs:
        with progress(f"sanitize {run.run_id}") as report:
            outcome = replay(selection.trace, run, report, (recipe(),))
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
            settings = {"rules": dict(added.rules), "artifacts": _artifact_hashes(tables)}
            trace.add_derived(run.run_id, pass_name, tables, settings)
        elif pass_name in trace.passes(run.run_id):
            trace.add_derived(run.run_id, pass_name, {}, {})


def _artifact_hashes(tables: "Mapping[str, pa.Table]") -> dict[str, str]:
    """Return the hash by kind of each row in the table artifacts; {} without this table."""
    rows = tables["artifacts"].to_pylist() if "artifacts" in tables else ()
    return {row["kind"]: row["sha256"] for row in rows}


def _split_names(names: Iterable[str]) -> frozenset[str]:
    """Return the single names in texts that separate names by commas."""
    return frozenset(part.strip() for name in names for part in name.split(","))


def sanitizer(rules: Sequence[str]) -> Client:
    """Return a client that judges calls by these rules, except for rules that judge kernels."""
    return as_client(Sanitizer([name for name in rules if name in RULES]), "sanitizer")


def environment_rules() -> str:
    """Return the value of KVTRACE_RULES, of the project's rules, or of the default."""
    settings, _ = settings_in_force(os.environ)
    return settings.rules
