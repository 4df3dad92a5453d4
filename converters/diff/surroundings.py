"""Context of both sides: versions, devices and notes, which do not count as differences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.converters.diff.model import Side
from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.converters.findings import Findings
from kvtrace.converters.profile.specialization import Change, changes

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run


def described_side(side: Snapshot, findings: Findings) -> Side:
    """Return the description of one side: its totals, and what of it was and can be judged."""
    commits = {run.git_commit for run in side.runs}
    unevaluated = side.unevaluated
    return Side(
        label=side.label,
        runs=tuple(run.run_id for run in side.runs),
        commit=commits.pop() if len(commits) == 1 else None,
        kernels=len(side.kernels),
        totals=side.totals,
        judged_by=tuple(findings.rules) if findings.analyzed else None,
        without_ir=() if unevaluated is None else unevaluated.names,
        without_code=tuple(
            sorted(
                key.name
                for key, variants in side.kernels.items()
                if not any(variant.stages or variant.row["source_artifact"] for variant in variants)
            )
        ),
        without_args=side.without_args,
        judgeable=not side.runs or len(findings.left_out) < len(side.runs),
    )


def context(before: Sequence["Run"], after: Sequence["Run"]) -> tuple[Change, ...]:
    """Return differing facts of the sides' first runs: commit, command, versions, devices."""
    return changes(_context_facts(before), _context_facts(after))


def _context_facts(runs: Sequence["Run"]) -> dict[str, str]:
    """Return facts of a side's first run that can explain a difference, by name."""
    if not runs:
        return {}
    first = runs[0]
    facts: dict[str, str] = {}
    for name, value in (
        ("commit", first.git_commit),
        ("uncommitted changes", first.git_dirty),
        ("command", first.command),
        ("mode", first.mode),
        ("processes", len(runs)),
    ):
        if value is not None:
            facts[name] = str(value)
    facts.update({f"version of {name}": value for name, value in first.versions.items()})
    devices = ", ".join(str(device.get("name")) for device in first.devices)
    return {**facts, "devices": devices} if devices else facts


def remove_version_options(a: Snapshot, b: Snapshot) -> tuple[Change, ...]:
    """Remove from all variants' facts the options that every kernel has with one value per side.

    The changes of these options are returned, so that an option that another compiler version adds
    is reported once, not per kernel. Nothing is removed if both sides used the same version.
    """
    versions = [{run.versions.get("triton") for run in side.runs} for side in (a, b)]
    if versions[0] == versions[1]:
        return ()
    sides = [
        [variant.facts for variants in side.kernels.values() for variant in variants]
        for side in (a, b)
    ]
    names = {name for side in sides for facts in side for name in facts if _is_option(name)}
    option_changes = []
    for name in sorted(names):
        before, after = ({facts.get(name) for facts in side} for side in sides)
        if len(before) == len(after) == 1 and before != after:
            option_changes.append(Change(f"{name} of every kernel", before.pop(), after.pop()))
            for facts in (facts for side in sides for facts in side):
                facts.pop(name, None)
    return tuple(option_changes)


def _is_option(name: str) -> bool:
    return name.startswith("option ")


def side_notes(a: Snapshot, b: Snapshot) -> list[str]:
    """Return notes on the runs of both sides: missing rows, and missing replay."""
    notes = []
    for side, other in ((a, b), (b, a)):
        notes += [f"{side.label}: {note}" for note in side.trace.notes]
        unevaluated = side.unevaluated
        if unevaluated is not None:
            notes += [f"{side.label}: {note}" for note in unevaluated.notes(imported=False)]
        for run in side.runs:
            if not run.sealed:
                notes.append(f"{side.label}: run {run.run_id} is not sealed, so it may lack rows")
            if run.dropped_rows:
                notes.append(f"{side.label}: run {run.run_id} lost {run.dropped_rows:,} rows")
        unevaluated_calls = 0 if unevaluated is None else unevaluated.calls
        has_ir = unevaluated_calls < sum(len(calls.call) for calls in side.places)
        if not side.has_ops and other.has_ops and has_ir:
            notes.append(
                f"{side.label} has not been replayed, so bytes and FLOPs are not compared "
                f"(kvtrace replay {side.trace.path})"
            )
    return notes
