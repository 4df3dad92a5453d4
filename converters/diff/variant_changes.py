"""Changes of one compiled variant: code, options, resources, unique calls and launches."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from textwrap import dedent
from typing import Any, Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.code import code_stages, compare_code, first_stages
from kvtrace.converters.diff.figures import (
    BYTES,
    FLOPS,
    VARIANT_FIGURES,
    differing,
    figure_values,
)
from kvtrace.converters.diff.match import renamed_source, renamed_stage
from kvtrace.converters.diff.model import (
    CallChange,
    CodeDifference,
    SourceDifference,
    TimeComparison,
    VariantDifference,
)
from kvtrace.converters.diff.snapshot import Snapshot, call_rows
from kvtrace.converters.diff.stages import Disassembly, stage_differences
from kvtrace.converters.diff.variant import Call, Variant, fact_changes
from kvtrace.converters.profile.recompiles import Change, changes, without_addresses
from kvtrace.text import count, duration, plural

#: Most unique calls that are read in full to find what changed; counts always cover all calls.
_MOST_READ: Final = 500
#: Most changes of one fact that are listed; more are reported as one change of the value counts.
_MOST_VALUES: Final = 3


def _compared_calls(before: Snapshot, a: Variant, after: Snapshot, b: Variant) -> dict[str, Any]:
    """Return the differences of a variant's unique calls as fields of `VariantDifference`.

    Calls that only an autotuner launched are ignored. The n-th differing call of one side
    corresponds to the n-th of the other, in the order of first launches.
    """
    calls = _launched_calls(a), _launched_calls(b)
    calls_only_before, calls_only_after = (
        [call for identity, call in own.items() if identity not in others]
        for own, others in (calls, calls[::-1])
    )
    pair_count = min(len(calls_only_before), len(calls_only_after))
    read_count = min(pair_count, _MOST_READ)
    change_counts: Counter[Change] = Counter()
    for row_before, row_after in zip(
        call_rows(before, calls_only_before[:read_count]),
        call_rows(after, calls_only_after[:read_count]),
        strict=True,
    ):
        change_counts.update(changes(call_facts(row_before), call_facts(row_after)))
    return {
        "calls": tuple(_condensed(change_counts)),
        "calls_unread": pair_count - read_count,
        "calls_added": len(calls_only_after) - pair_count,
        "calls_removed": len(calls_only_before) - pair_count,
    }


def _launched_calls(variant: Variant) -> dict[int, Call]:
    return {identity: call for identity, call in variant.calls.items() if call.launches}


def _condensed(change_counts: Counter[Change]) -> list[CallChange]:
    """Return an entry per change; a fact with more than `_MOST_VALUES` changes is one entry."""
    by_fact: dict[str, list[Change]] = {}
    for change in change_counts:
        by_fact.setdefault(change.what, []).append(change)
    condensed = []
    for fact, all_changes in by_fact.items():
        if len(all_changes) <= _MOST_VALUES:
            condensed += [CallChange(change, change_counts[change]) for change in all_changes]
            continue
        values = ({c.before for c in all_changes}, {c.after for c in all_changes})
        change = Change(fact, *(f"{len(values_of_side):,} values" for values_of_side in values))
        condensed.append(CallChange(change, sum(change_counts[c] for c in all_changes)))
    return condensed


def call_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the comparable facts of a row of `calls`, by name: grid, shapes, strides, scalars."""
    facts = {"grid": f"({row['grid_x']}, {row['grid_y']}, {row['grid_z']})"}
    for arg in row["args"] or ():
        if arg["kind"] != "constexpr":
            facts.update(_argument_facts(arg))
    return facts


def _argument_facts(arg: Mapping[str, Any]) -> dict[str, str]:
    name = arg["name"]
    if arg["scalar"] is not None:
        return {name: without_addresses(arg["scalar"])}
    facts = {
        "dtype": arg["dtype"],
        "device": (arg["device"] or "").partition(":")[0] or None,
        "shape": arg["shape"],
        "strides": arg["strides"],
        "offset": arg["offset_bytes"],
        "storage bytes": arg["storage_bytes"],
        "alias group": arg["alias_group"],
    }
    return {f"{name} {fact}": str(value) for fact, value in facts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Pairing:
    """Both sides of the comparison of a kernel, whose names on both sides are `names`.

    With `count_times`, a claimed change of time counts as a difference. `disassembly` is shared by
    all kernels.
    """

    before: Snapshot
    after: Snapshot
    count_times: bool
    names: tuple[str, str] = ("", "")
    disassembly: Disassembly = field(default_factory=Disassembly)

    @property
    def one_compiler(self) -> bool:
        """Both sides were compiled by the same version of Triton."""
        return self.before.tritons == self.after.tritons

    def texts(
        self,
        before: str | None,
        after: str | None,
        renamed: Callable[[str, str, str], str] = renamed_stage,
    ) -> tuple[str, str] | None:
        """Return both sides' texts, given by their hashes; None if equal, or one is missing.

        `renamed` replaces a renamed kernel's former name in the text of BEFORE.
        """
        if before == after:
            return None
        text_before, text_after = self.before.text(before), self.after.text(after)
        if text_before is None or text_after is None:
            return None
        if self.names[0] != self.names[1]:
            text_before = renamed(text_before, *self.names)
        return None if text_before == text_after else (text_before, text_after)


def variant_difference(
    pairing: Pairing,
    a: Variant,
    b: Variant,
    *,
    launches: bool,
    times: Iterable[TimeComparison] = (),
) -> VariantDifference | None:
    """Return the changes of a variant from `a` to `b`, or None if nothing differs.

    Changes of calls and of numbers of launches count only with `launches`. `times` are comparisons
    of the variant's times.
    """
    facts = fact_changes(a, b)
    figures = differing(VARIANT_FIGURES, a, b)
    exact = (figure for figure in figures if figure.certainty == "exact")
    difference = VariantDifference(
        status="changed",
        label=a.label,
        changes=facts,
        code=_code_difference(pairing, a, b, facts),
        resources=tuple(Change(f.name, str(f.before), str(f.after)) for f in exact),
        work=_work_changes(a, b) if launches else (),
        times=_time_changes(times) if pairing.count_times else (),
        before=a.totals,
        after=b.totals,
        figures=figures,
        **(_compared_calls(pairing.before, a, pairing.after, b) if launches else {}),
    )
    shown = {*code_stages(), "amdgcn"}  # stages whose texts a page shows side by side
    counted_changes = (
        difference.changes, difference.code, difference.resources, difference.calls,
        difference.calls_added, difference.calls_removed, difference.work, difference.times,
    )  # fmt: skip
    if not any(counted_changes):
        return None
    return replace(
        difference,
        stages=stage_differences(
            pairing,
            a,
            b,
            _changed_numbers(facts),
            difference.code.stage if difference.code else None,
        ),
        artifacts=tuple(
            (stage, a.stages.get(stage), b.stages.get(stage))
            for stage in dict.fromkeys((*a.stages, *b.stages))
            if stage in shown
        ),
    )


def source_difference(pairing: Pairing, a: Variant, b: Variant) -> SourceDifference | None:
    """Return the unified difference of a kernel's sources, or None if they are the same."""
    texts = pairing.texts(a.row["source_artifact"], b.row["source_artifact"], renamed_source)
    if texts is None:
        return None
    lines_before, lines_after = (dedent(text).rstrip().splitlines() for text in texts)
    names = (a.row["file"] or "before", b.row["file"] or "after")
    lines = list(unified_diff(lines_before, lines_after, *names, lineterm=""))
    if not lines:
        return None
    body_lines = lines[2:]
    context_lines = max(len(lines_before), len(lines_after))
    whole_diff = list(unified_diff(lines_before, lines_after, n=context_lines, lineterm=""))
    return SourceDifference(
        lines=tuple(lines),
        removed=sum(line.startswith("-") for line in body_lines),
        added=sum(line.startswith("+") for line in body_lines),
        whole=tuple(whole_diff[3:]),
        first_lines=(_first_line(a, lines_before), _first_line(b, lines_after)),
    )


def _first_line(variant: Variant, lines: Sequence[str]) -> int | None:
    """Return the line number in the file of a source text's first line, which may be a decorator.

    None if the line of the definition (`def`) is not recorded.
    """
    line: int | None = variant.row["line"]
    decorators = next((i for i, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    return None if line is None else line - decorators


def _code_difference(
    pairing: Pairing, a: Variant, b: Variant, changed: Sequence[Change]
) -> CodeDifference | None:
    """Return the difference of the first stage that differs, which explains those of later stages.

    If facts `changed` (such as the number of warps), which explain later stages, only the first
    stages are compared. None if no compared stage differs.
    """
    for stage in first_stages() if changed else code_stages():
        texts = pairing.texts(a.stages.get(stage), b.stages.get(stage))
        if texts is None:
            continue
        numbers = {} if stage in earlier_stages() else _changed_numbers(changed)
        difference = compare_code(stage, *texts, numbers)
        if difference is not None:
            return difference
    return None


def _changed_numbers(changed: Iterable[Change]) -> dict[str, str]:
    """Return the changed integers of facts, from BEFORE to AFTER, and those smaller by one.

    A block size of 64 appears as 64 in shapes, and as 63 in divisions that round up.
    """
    substitutes: dict[str, str] = {}
    for change in changed:
        before, after = change.before or "", change.after or ""
        if before.isdecimal() and after.isdecimal():
            substitutes.setdefault(before, after)
            substitutes.setdefault(str(int(before) - 1), str(int(after) - 1))
    return substitutes


def _work_changes(a: Variant, b: Variant) -> tuple[Change, ...]:
    """Return changes of launches, and of total bytes and FLOPs if known on both sides."""
    work_changes = []
    before, after = a.totals, b.totals
    if before.launches != after.launches:
        work_changes.append(Change("launches", count(before.launches), count(after.launches)))
    elif relaunched := _count_of_relaunched_calls(a, b):
        what = f"launches of {plural(relaunched, 'call')}"
        work_changes.append(Change(what, "before", "different, with the same sum"))
    work_changes += [
        Change(figure.name, *figure_values(figure))
        for figure in differing((BYTES, FLOPS), before, after)
    ]
    return tuple(work_changes)


def _count_of_relaunched_calls(a: Variant, b: Variant) -> int:
    """Return how many unique calls, launched on both sides, have different launch counts."""
    return sum(
        call.launches != b.calls[alike].launches
        for alike, call in a.calls.items()
        if alike in b.calls and call.launches and b.calls[alike].launches
    )


def _time_changes(compared: Iterable[TimeComparison]) -> tuple[Change, ...]:
    """Return the claimed change of device time, or if that is not compared, of host time."""
    for comparison in compared:
        if comparison.claimed and comparison.ratio is not None:
            after = f"{duration(comparison.after_ns)} ({comparison.ratio - 1:+.1%})"
            return (
                Change(f"median {comparison.kind} time", duration(comparison.before_ns), after),
            )
        if comparison.ratio is not None:
            return ()
    return ()
