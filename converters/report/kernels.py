"""Kernels and their compiled variants, merged over runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.disassembly import disassembler
from kvtrace.converters.profile.occupancy import occupancy_of
from kvtrace.converters.profile.specialization import changes, specialization
from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.model import (
    Call,
    Kernel,
    Recompiled,
    SourceFile,
    Stage,
    Variant,
)
from kvtrace.figures.kernels import FURTHER, further_sums

if TYPE_CHECKING:
    from kvtrace.converters.profile.device_limits import DeviceLimits
    from kvtrace.converters.report.findings import PageFindings

__all__ = ["SASS", "KernelRows", "kernels_of"]

#: What makes two variants the same kernel.
Identity = tuple[str, str | None, str | None, int | None]


@dataclass(slots=True)
class KernelRows:
    """The variants of all runs, and the texts that they need."""

    variants: list[Variant] = field(default_factory=list)
    identities: dict[Identity, int] = field(default_factory=dict)
    origins: dict[int, str | None] = field(default_factory=dict)
    by_id: dict[tuple[int, int], int] = field(default_factory=dict)
    """(run, kernel_id) → variant."""
    texts: dict[tuple[str, str], int] = field(default_factory=dict)
    stage_artifacts: list[dict[str, str]] = field(default_factory=list)
    """For each variant: stage → sha256 of what the trace has."""
    disassembles: bool = field(default_factory=lambda: disassembler() is not None)

    def add(self, rows: Sequence[Mapping[str, Any]], run: int, sizes: Mapping[str, int]) -> None:
        """Add the rows of `kernels` of one run, in their order; times are nanoseconds."""
        earlier: dict[int, list[tuple[int, dict[str, str]]]] = {}
        for row in rows:
            index = self.by_id[run, row["kernel_id"]] = len(self.variants)
            kernel = self._kernel(row)
            known = earlier.setdefault(kernel, [])
            facts = specialization(row)
            recompiled = _recompiled(known, facts)
            self.variants.append(self._variant(row, kernel, run, sizes, recompiled))
            known.append((index, facts))
            self.stage_artifacts.append(
                {
                    stage["stage"]: stage["artifact"]
                    for stage in row["stages"] or ()
                    if stage["artifact"] in sizes
                }
            )

    def _kernel(self, row: Mapping[str, Any]) -> int:
        identity = (row["name"] or "(no name)", row["module"], row["file"], row["line"])
        kernel = self.identities.setdefault(identity, len(self.identities))
        self.origins.setdefault(kernel, row["origin"])
        return kernel

    def _variant(
        self,
        row: Mapping[str, Any],
        kernel: int,
        run: int,
        sizes: Mapping[str, int],
        recompiled: Recompiled | None,
    ) -> Variant:
        return Variant(
            kernel=kernel,
            run=run,
            kernel_id=row["kernel_id"],
            target=row["target"],
            warp_size=row["warp_size"],
            num_warps=row["num_warps"],
            num_ctas=row["num_ctas"],
            num_stages=row["num_stages"],
            options={key: str(value) for key, value in row["options"] or ()},
            shared_bytes=row["shared_bytes"],
            registers=row["registers"],
            spills=row["spills"],
            cache_hit=row["cache_hit"],
            cache_key=row["cache_key"],
            compile_begin=row["compile_begin"],
            recompiled=recompiled,
            occupancy=occupancy_of(row),
            compile_ns=row["compile_ns"],
            signature=tuple(row["signature"] or ()),
            stages=self._stages(row["stages"] or (), sizes),
            files=self._files(row, sizes),
            launches=0,
            calls=0,
            host_ns=0,
        )

    def _stages(
        self, rows: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]
    ) -> tuple[Stage, ...]:
        """Return what the compiler made, and the machine code as text where it can be had."""
        stages = [self._stage(stage, sizes) for stage in rows]
        cubin = next((row["artifact"] for row in rows if row["stage"] == "cubin"), None)
        if cubin is not None and cubin in sizes and self.disassembles:
            stages.append(Stage(SASS, self._text(SASS, cubin), None, None))
        return tuple(stages)

    def _stage(self, stage: Mapping[str, Any], sizes: Mapping[str, int]) -> Stage:
        name, sha256 = stage["stage"] or "", stage["artifact"]
        shown = sha256 in sizes and name not in _BINARY_STAGES
        return Stage(
            stage=name,
            text=self._text(name, sha256) if shown else None,
            size_bytes=sizes.get(sha256),
            duration_ns=stage["duration_ns"],
        )

    def _files(self, row: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[SourceFile, ...]:
        """Return the kernel's own file first, then the others that its locations point into."""
        files = [
            SourceFile(file["path"] or "", self._text("source", file["artifact"]))
            for file in row["files"] or ()
            if file["artifact"] in sizes
        ]
        files.sort(key=lambda file: (file.path != row["file"], file.path))
        own = row["source_artifact"]
        if own in sizes and not any(file.path == row["file"] for file in files):
            text = self._text("source", own)
            files.insert(0, SourceFile(row["file"] or "", text, row["line"] or 1))
        return tuple(files)

    def _text(self, stage: str, sha256: str) -> int:
        return self.texts.setdefault((stage, sha256), len(self.texts))


#: The stage that is made of the cubin when a page is written.
SASS: Final = "sass"
_BINARY_STAGES: Final = frozenset({"cubin", "hsaco"})
#: A new variant is compared with that many that were compiled before it.
_MOST_COMPARED: Final = 64


def _recompiled(
    earlier: Sequence[tuple[int, dict[str, str]]], facts: Mapping[str, str]
) -> Recompiled | None:
    """Return what differs from the nearest of the variants that were there already."""
    found = [Recompiled(index, changes(known, facts)) for index, known in earlier[-_MOST_COMPARED:]]
    return min(found, key=lambda one: len(one.changes), default=None)


def kernels_of(
    rows: KernelRows,
    calls: CallRows,
    findings: "PageFindings | None",
    limits: "DeviceLimits | None",
    origin: int,
) -> tuple[tuple[Kernel, ...], tuple[Call, ...]]:
    """Return kernels and calls with their sums; also finishes `rows.variants`.

    Those get their sums, and times that count from the page's origin.
    """
    finished = calls.finished(limits)
    by_variant: dict[int, list[int]] = {}
    for index, call in enumerate(finished):
        by_variant.setdefault(call.variant, []).append(index)
    rows.variants[:] = [
        replace(
            variant,
            compile_begin=None if variant.compile_begin is None else variant.compile_begin - origin,
            calls=len(by_variant.get(index, ())),
            launches=sum(finished[call].launches for call in by_variant.get(index, ())),
            host_ns=sum(finished[call].host_ns for call in by_variant.get(index, ())),
        )
        for index, variant in enumerate(rows.variants)
    ]
    members: dict[int, list[int]] = {}
    for index, variant in enumerate(rows.variants):
        members.setdefault(variant.kernel, []).append(index)
    kernels = []
    for (name, module, file, line), kernel in rows.identities.items():
        own = [call for index in members[kernel] for call in by_variant.get(index, ())]
        best = _best(own, finished)
        kernels.append(
            Kernel(
                name=name,
                module=module,
                file=file,
                line=line,
                origin=rows.origins[kernel],
                variants=tuple(members[kernel]),
                best_ns=best,
                achieved=_achieved(best, own, calls),
                violations=None if findings is None else findings.of_kernel(kernel, "violation"),
                unknowns=None if findings is None else findings.of_kernel(kernel, "unknown"),
                judged=0 if findings is None else findings.judged[kernel],
                further=_further(calls.figures.get(call, {}) for call in own),
                **_call_sums([finished[call] for call in own]),
                **_variant_sums([rows.variants[index] for index in members[kernel]]),
            )
        )
    return tuple(kernels), finished


def _call_sums(calls: Sequence[Call]) -> dict[str, Any]:
    evaluated = [call for call in calls if call.bytes is not None]
    return {
        "calls": len(calls),
        "launches": sum(call.launches for call in calls),
        "tuning_launches": sum(call.tuning_launches for call in calls),
        "runs": sum(call.runs for call in calls),
        "host_ns": sum(call.host_ns for call in calls),
        "device_ns": _sum([call.device_ns for call in calls]),
        "device_executions": _sum([call.device_executions for call in calls]),
        "bytes": _sum([call.runs * (call.bytes or 0) for call in evaluated]),
        "flops": _sum([call.runs * (call.flops or 0) for call in evaluated]),
    }


def _further(calls: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    total = further_sums(calls)
    return {each.name: each.shown(total) for each in FURTHER}


def _variant_sums(variants: Sequence[Variant]) -> dict[str, Any]:
    return {
        "compile_ns": _sum([variant.compile_ns for variant in variants]),
        "registers": _largest([variant.registers for variant in variants]),
        "spills": _largest([variant.spills for variant in variants]),
        "shared_bytes": _largest([variant.shared_bytes for variant in variants]),
    }


def _best(own: Sequence[int], calls: Sequence[Call]) -> float | None:
    """Return the time at best of all runs; None unless each call that ran has one."""
    ran = [calls[index] for index in own if calls[index].runs]
    known = [
        call.runs * call.roofline.position.best_ns for call in ran if call.roofline is not None
    ]
    return sum(known) if ran and len(known) == len(ran) else None


def _achieved(best: float | None, own: Sequence[int], calls: CallRows) -> float | None:
    times = [calls.run_time(index) for index in own if calls.figures.get(index, {}).get("runs")]
    known = [time for time in times if time is not None]
    if best is None or not known or len(known) < len(times):
        return None
    return best / sum(known) if sum(known) else None


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _largest(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
