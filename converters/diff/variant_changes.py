"""Changes of one compiled variant: code, options, resources, calls and launches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from textwrap import dedent
from typing import Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.calls import compare_calls
from kvtrace.converters.diff.code import code_stages, compare_code, first_stages
from kvtrace.converters.diff.figures import variant_figures
from kvtrace.converters.diff.model import (
    CodeDifference,
    SourceDifference,
    TimeComparison,
    VariantDifference,
)
from kvtrace.converters.diff.renames import renamed_source, renamed_stage
from kvtrace.converters.diff.snapshot import Snapshot, Variant
from kvtrace.converters.diff.stages import Disassembly, stage_differences
from kvtrace.converters.profile.specialization import Change, changes
from kvtrace.text import count, duration, plural, size

_RESOURCES: Final = ("registers", "spills", "shared_bytes")


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
        """Whether both sides were compiled by the same version of Triton."""
        versions = [
            {run.versions.get("triton") for run in side.runs} for side in (self.before, self.after)
        ]
        return versions[0] == versions[1]

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
    calls = compare_calls(pairing.before, a, pairing.after, b) if launches else None
    facts = changes(a.facts, b.facts)
    difference = VariantDifference(
        status="changed",
        label=a.label,
        changes=facts,
        code=_code_difference(pairing, a, b),
        resources=changes(_common_resources(a, b), _common_resources(b, a)),
        calls=calls.changes if calls else (),
        calls_unread=calls.unread if calls else 0,
        calls_added=calls.added if calls else 0,
        calls_removed=calls.removed if calls else 0,
        work=_work_changes(a, b) if launches else (),
        times=_time_changes(times) if pairing.count_times else (),
        before=a.totals,
        after=b.totals,
        figures=variant_figures(a, b),
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
    lines = [
        line.rstrip("\n") for line in unified_diff(lines_before, lines_after, *names, lineterm="")
    ]
    if not lines:
        return None
    body_lines = lines[2:]
    context_lines = max(len(lines_before), len(lines_after))
    whole_diff = [
        line.rstrip("\n")
        for line in unified_diff(lines_before, lines_after, n=context_lines, lineterm="")
    ]
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


def _code_difference(pairing: Pairing, a: Variant, b: Variant) -> CodeDifference | None:
    """Return the difference of the first stage that differs, which explains those of later stages.

    If facts changed (such as the number of warps), which explain later stages, only the first
    stages are compared. None if no compared stage differs.
    """
    changed = changes(a.facts, b.facts)
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


def _common_resources(variant: Variant, other: Variant) -> dict[str, str]:
    """Return the variant's resources as text by name, without those that the other side lacks."""
    return {
        name: str(variant.resources[name])
        for name in _RESOURCES
        if name in variant.resources and name in other.resources
    }


def _work_changes(a: Variant, b: Variant) -> tuple[Change, ...]:
    """Return changes of launches, and of total bytes and FLOPs if known on both sides."""
    work_changes = []
    before, after = a.totals, b.totals
    if before.launches != after.launches:
        work_changes.append(Change("launches", count(before.launches), count(after.launches)))
    elif relaunched := _count_of_relaunched_calls(a, b):
        what = f"launches of {plural(relaunched, 'call')}"
        work_changes.append(Change(what, "before", "different, with the same sum"))
    for what, number_before, number_after, format_number in (
        ("bytes", before.bytes, after.bytes, size),
        ("FLOPs", before.flops, after.flops, count),
    ):
        if number_before is not None and number_after is not None and number_before != number_after:
            work_changes.append(_number_change(what, number_before, number_after, format_number))
    return tuple(work_changes)


def _number_change(
    what: str, first: int, second: int, format_number: Callable[[int], str]
) -> Change:
    """Return a change of two numbers in short form, or in full if the short forms are equal."""
    if format_number(first) == format_number(second):
        return Change(what, count(first), count(second))
    return Change(what, format_number(first), format_number(second))


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
