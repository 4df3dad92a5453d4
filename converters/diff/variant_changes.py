"""Changes of a compiled variant: code, options, resources, calls and launches."""

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
    """Both sides; with `count_times`, a claimed change of time counts as a difference.

    `names` are the compared kernel's names on both sides; `disassembly` is shared by all kernels.
    """

    before: Snapshot
    after: Snapshot
    count_times: bool
    names: tuple[str, str] = ("", "")
    disassembly: Disassembly = field(default_factory=Disassembly)

    @property
    def one_compiler(self) -> bool:
        """Both sides were compiled by the same version of Triton."""
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
        """Return two texts by their hashes, with the kernel's name in AFTER in both.

        None if the texts are the same, or a side lacks its text.
        """
        if before == after:
            return None
        first, second = self.before.text(before), self.after.text(after)
        if first is None or second is None:
            return None
        if self.names[0] != self.names[1]:
            first = renamed(first, *self.names)
        return None if first == second else (first, second)


def variant_difference(
    pairing: Pairing,
    a: Variant,
    b: Variant,
    *,
    launches: bool,
    times: Iterable[TimeComparison] = (),
) -> VariantDifference | None:
    """Return the changes of a variant, or None if nothing differs.

    `launches`: changes of calls and numbers of launches count. `times` are comparisons of times.
    """
    calls = compare_calls(pairing.before, a, pairing.after, b) if launches else None
    facts = changes(a.facts, b.facts)
    difference = VariantDifference(
        status="changed",
        label=a.label,
        changes=facts,
        code=_code(pairing, a, b),
        resources=changes(_resources(a, b), _resources(b, a)),
        calls=calls.changes if calls else (),
        calls_unread=calls.unread if calls else 0,
        calls_added=calls.added if calls else 0,
        calls_removed=calls.removed if calls else 0,
        work=_work(a, b) if launches else (),
        times=_times(times) if pairing.count_times else (),
        before=a.totals,
        after=b.totals,
        figures=variant_figures(a, b),
    )
    shown = {*code_stages(), "amdgcn"}  # their texts a page may show beside each other
    counted = (
        difference.changes, difference.code, difference.resources, difference.calls,
        difference.calls_added, difference.calls_removed, difference.work, difference.times,
    )  # fmt: skip
    if not any(counted):
        return None
    return replace(
        difference,
        stages=stage_differences(
            pairing, a, b, _numbers(facts), difference.code.stage if difference.code else None
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
    left, right = (dedent(text).rstrip().splitlines() for text in texts)
    names = (a.row["file"] or "before", b.row["file"] or "after")
    lines = [line.rstrip("\n") for line in unified_diff(left, right, *names, lineterm="")]
    if not lines:
        return None
    body = lines[2:]
    longest = max(len(left), len(right))
    whole = [line.rstrip("\n") for line in unified_diff(left, right, n=longest, lineterm="")]
    return SourceDifference(
        lines=tuple(lines),
        removed=sum(line.startswith("-") for line in body),
        added=sum(line.startswith("+") for line in body),
        whole=tuple(whole[3:]),
        first_lines=(_first_line(a, left), _first_line(b, right)),
    )


def _first_line(variant: Variant, lines: Sequence[str]) -> int | None:
    """Return the line number of a source's first line in its file; `line` is that of `def`."""
    line: int | None = variant.row["line"]
    decorators = next((i for i, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    return None if line is None else line - decorators


def _code(pairing: Pairing, a: Variant, b: Variant) -> CodeDifference | None:
    """Return the difference of the first stage that differs, which explains those of later stages.

    After the first stages, other facts (such as the number of warps) explain the difference.
    """
    changed = changes(a.facts, b.facts)
    for stage in first_stages() if changed else code_stages():
        texts = pairing.texts(a.stages.get(stage), b.stages.get(stage))
        if texts is None:
            continue
        numbers = {} if stage in earlier_stages() else _numbers(changed)
        difference = compare_code(stage, *texts, numbers)
        if difference is not None:
            return difference
    return None


def _numbers(changed: Iterable[Change]) -> dict[str, str]:
    """Return changed numbers of constants, and the numbers below both.

    A block size of 64 appears in shapes, and as 63 in divisions that round up.
    """
    replaced: dict[str, str] = {}
    for change in changed:
        before, after = change.before or "", change.after or ""
        if before.isdecimal() and after.isdecimal():
            replaced.setdefault(before, after)
            replaced.setdefault(str(int(before) - 1), str(int(after) - 1))
    return replaced


def _resources(variant: Variant, other: Variant) -> dict[str, str]:
    """Return the resources known on both sides; a missing one is not a change."""
    return {
        name: str(variant.resources[name])
        for name in _RESOURCES
        if name in variant.resources and name in other.resources
    }


def _work(a: Variant, b: Variant) -> tuple[Change, ...]:
    """Return changes of launches, and of total bytes and FLOPs if both sides were replayed."""
    work_changes = []
    before, after = a.totals, b.totals
    if before.launches != after.launches:
        work_changes.append(Change("launches", count(before.launches), count(after.launches)))
    elif relaunched := _relaunched(a, b):
        what = f"launches of {plural(relaunched, 'call')}"
        work_changes.append(Change(what, "as many", "others, with the same sum"))
    for what, first, second, form in (
        ("bytes", before.bytes, after.bytes, size),
        ("FLOPs", before.flops, after.flops, count),
    ):
        if first is not None and second is not None and first != second:
            work_changes.append(_distinguished(what, first, second, form))
    return tuple(work_changes)


def _distinguished(what: str, first: int, second: int, form: Callable[[int], str]) -> Change:
    """Return the change in short form, or in full if the short forms are the same."""
    if form(first) == form(second):
        return Change(what, count(first), count(second))
    return Change(what, form(first), form(second))


def _relaunched(a: Variant, b: Variant) -> int:
    """Return the number of unique calls on both sides with another number of launches."""
    return sum(
        call.launches != b.calls[alike].launches
        for alike, call in a.calls.items()
        if alike in b.calls and call.launches and b.calls[alike].launches
    )


def _times(compared: Iterable[TimeComparison]) -> tuple[Change, ...]:
    """Return the claimed change of time, if any: device time if measured, else host time."""
    for comparison in compared:
        if comparison.claimed and comparison.ratio is not None:
            after = f"{duration(comparison.after_ns)} ({comparison.ratio - 1:+.1%})"
            return (
                Change(f"median {comparison.kind} time", duration(comparison.before_ns), after),
            )
        if comparison.ratio is not None:
            return ()
    return ()
