"""Kernels and their compiled variants, merged over runs."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.converters.disassembly import disassembler
from kvtrace.converters.profile.occupancy import occupancy_of
from kvtrace.converters.profile.recompiles import Recompile
from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.model import (
    Kernel,
    Recompiled,
    SourceFile,
    Stage,
    Variant,
)
from kvtrace.converters.report.slices import NO_CALL, Integers, Lookup
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.kernels import FURTHER

if TYPE_CHECKING:
    from kvtrace.converters.profile.device_limits import DeviceLimits
    from kvtrace.converters.report.findings import PageFindings

__all__ = ["SASS", "KernelRows", "kernels_of"]


@dataclass(slots=True)
class KernelRows:
    """Variants and kernels of all runs as they are read, and the texts of stages and sources."""

    variants: list[dict[str, Any]] = field(default_factory=list)
    """Recorded fields of each `Variant`; its index in this list is the variant's index."""
    identities: dict[KernelKey, int] = field(default_factory=dict)
    first: list[Mapping[str, Any]] = field(default_factory=list)
    """For each kernel: the row of its first variant."""
    indices: list[Lookup] = field(default_factory=list)
    """For each run: kernel_id → index of the variant."""
    texts: dict[tuple[str, str], int] = field(default_factory=dict)
    stage_artifacts: list[dict[str, str]] = field(default_factory=list)
    """For each variant: stage → sha256, of texts in the trace."""
    disassembles: bool = field(default_factory=lambda: disassembler() is not None)

    def add(
        self,
        rows: Sequence[Mapping[str, Any]],
        run: int,
        sizes: Mapping[str, int],
        recompiles: Sequence[Recompile],
    ) -> None:
        """Add the rows of `kernels` of the next run, whose index is `run`, with their recompiles.

        `sizes` has the size in bytes of each artifact in the trace, by sha256.
        """
        ids = np.array([row["kernel_id"] for row in rows], np.int64)
        first_index = len(self.variants)
        self.indices.append(Lookup(ids, first_index + np.arange(len(rows))))
        index_by_id = {kernel_id: first_index + place for place, kernel_id in enumerate(ids)}
        for row, recompile in zip(rows, recompiles, strict=True):
            kernel = self._kernel_index(row)
            recompiled = (
                None
                if recompile.nearest is None
                else Recompiled(
                    index_by_id[recompile.nearest],
                    recompile.changes,
                    recompile.recompiled if recompile.is_recorded else None,
                )
            )
            variant = self._variant(row, kernel, run, sizes)
            reason = recompile.reason(_MOST_CHANGES)
            self.variants.append({**variant, "recompiled": recompiled, "reason": reason})
            self.stage_artifacts.append(
                {
                    stage["stage"]: stage["artifact"]
                    for stage in row["stages"] or ()
                    if stage["artifact"] in sizes
                }
            )

    def _kernel_index(self, row: Mapping[str, Any]) -> int:
        kernel = self.identities.setdefault(key_of(row), len(self.identities))
        if kernel == len(self.first):
            self.first.append(row)
        return kernel

    def _variant(
        self,
        row: Mapping[str, Any],
        kernel: int,
        run: int,
        sizes: Mapping[str, int],
    ) -> dict[str, Any]:
        return {
            "kernel": kernel,
            "run": run,
            "kernel_id": row["kernel_id"],
            "target": row["target"],
            "warp_size": row["warp_size"],
            "num_warps": row["num_warps"],
            "num_ctas": row["num_ctas"],
            "num_stages": row["num_stages"],
            "options": {key: str(value) for key, value in row["options"] or ()},
            "shared_bytes": row["shared_bytes"],
            "registers": row["registers"],
            "spills": row["spills"],
            "cache_hit": row["cache_hit"],
            "cache_key": row["cache_key"],
            "compile_begin": row["compile_begin"],
            "occupancy": occupancy_of(row),
            "compile_ns": row["compile_ns"],
            "signature": tuple(row["signature"] or ()),
            "stages": self._stages(row["stages"] or (), sizes),
            "files": self._files(row, sizes),
        }

    def kernels(self, variants: Integers) -> Integers:
        """Return the kernel index of each variant index; NO_CALL for NO_CALL."""
        kernel = [variant["kernel"] for variant in self.variants]
        return np.array([*kernel, NO_CALL], np.int64)[variants]

    def kernel(self, run: int, kernel_id: int) -> int | None:
        """Return the kernel index of the variant with an id in a run, or None if unknown."""
        variant = int(self.indices[run].of(np.array([kernel_id]))[0])
        return None if variant == NO_CALL else int(self.variants[variant]["kernel"])

    def finished(
        self, sums: Mapping[int, Mapping[str, int | None]], origin: int
    ) -> tuple[Variant, ...]:
        """Return the variants, with sums over their calls; compile times count from `origin`.

        `sums` has figures by variant index.
        """
        variants = []
        for index, variant_fields in enumerate(self.variants):
            sums_of_variant, begin = sums.get(index, {}), variant_fields["compile_begin"]
            variant_fields["compile_begin"] = None if begin is None else begin - origin
            variants.append(
                Variant(
                    **variant_fields,
                    launches=sums_of_variant.get("launches") or 0,
                    calls=sums_of_variant.get("calls") or 0,
                    host_ns=sums_of_variant.get("host_ns") or 0,
                )
            )
        return tuple(variants)

    def _stages(
        self, rows: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]
    ) -> tuple[Stage, ...]:
        """Return the compiler's stages, then machine code if a disassembler is installed."""
        stages = [self._stage(stage, sizes) for stage in rows]
        cubin = next((row["artifact"] for row in rows if row["stage"] == "cubin"), None)
        if cubin is not None and cubin in sizes and self.disassembles:
            stages.append(Stage(SASS, self._text_index(SASS, cubin), None, None))
        return tuple(stages)

    def _stage(self, stage: Mapping[str, Any], sizes: Mapping[str, int]) -> Stage:
        name, sha256 = stage["stage"] or "", stage["artifact"]
        is_text = sha256 in sizes and name not in _BINARY_STAGES
        return Stage(
            stage=name,
            text=self._text_index(name, sha256) if is_text else None,
            size_bytes=sizes.get(sha256),
            duration_ns=stage["duration_ns"],
        )

    def _files(self, row: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[SourceFile, ...]:
        """Return the recorded source files of a variant, the file that defines the kernel first."""
        files = [
            SourceFile(file["path"] or "", self._text_index("source", file["artifact"]))
            for file in row["files"] or ()
            if file["artifact"] in sizes
        ]
        files.sort(key=lambda file: (file.path != row["file"], file.path))
        source = row["source_artifact"]
        if source in sizes and not any(file.path == row["file"] for file in files):
            text = self._text_index("source", source)
            files.insert(0, SourceFile(row["file"] or "", text, row["line"] or 1))
        return tuple(files)

    def _text_index(self, stage: str, sha256: str) -> int:
        return self.texts.setdefault((stage, sha256), len(self.texts))


#: Name of the stage that is disassembled from the cubin when a page is written.
SASS: Final = "sass"
_BINARY_STAGES: Final = frozenset({"cubin", "hsaco"})
#: Most changes in the reason of a variant.
_MOST_CHANGES: Final = 4


def kernels_of(
    rows: KernelRows,
    calls: CallRows,
    variants: Sequence[Variant],
    findings: "PageFindings | None",
    limits: "DeviceLimits | None",
    without_ir: Container[int],
) -> tuple[Kernel, ...]:
    """Return the kernels, by index, with sums over their variants and calls.

    `limits` are those of the rooflines' device; `findings` are None if nothing was judged;
    `without_ir` are the indexes of kernels that cannot be evaluated.
    """
    sums_by_kernel, work_by_kernel = calls.sums(calls.kernel), calls.replayed(limits)
    variants_by_kernel: dict[int, list[int]] = {}
    for index, variant in enumerate(variants):
        variants_by_kernel.setdefault(variant.kernel, []).append(index)
    kernels = []
    for kernel, first in enumerate(rows.first):
        sums_of_kernel, replayed = sums_by_kernel.get(kernel, {}), work_by_kernel.get(kernel)
        on_device = calls.on_device and bool(sums_of_kernel)
        best_ns = None if replayed is None else replayed.best_of(sums_of_kernel["ran"])
        kernels.append(
            Kernel(
                name=first["name"] or "(no name)",
                module=first["module"],
                file=first["file"],
                line=first["line"],
                origin=first["origin"],
                variants=tuple(variants_by_kernel[kernel]),
                calls=sums_of_kernel.get("calls") or 0,
                launches=sums_of_kernel.get("launches") or 0,
                tuning_launches=sums_of_kernel.get("tuning_launches") or 0,
                runs=sums_of_kernel.get("runs") or 0,
                host_ns=sums_of_kernel.get("host_ns") or 0,
                device_ns=sums_of_kernel.get("device_ns") or 0 if on_device else None,
                device_executions=sums_of_kernel.get("device_executions") or 0
                if on_device
                else None,
                bytes=None if replayed is None else replayed.bytes,
                flops=None if replayed is None else replayed.flops,
                best_ns=best_ns,
                achieved=None if replayed is None else replayed.achieved(best_ns),
                violations=_violations(kernel, findings, without_ir),
                unknowns=None if findings is None else findings.of_kernel(kernel, "unknown"),
                judged=0 if findings is None else findings.judged[kernel],
                unjudged_calls=0 if findings is None else findings.unjudged_calls[kernel],
                without_ir=kernel in without_ir,
                further={figure.name: figure.shown(sums_of_kernel) for figure in FURTHER},
                **_variant_sums([variants[index] for index in variants_by_kernel[kernel]]),
            )
        )
    return tuple(kernels)


def _variant_sums(variants: Sequence[Variant]) -> dict[str, Any]:
    return {
        "compile_ns": known_sum([variant.compile_ns for variant in variants]),
        "registers": _largest([variant.registers for variant in variants]),
        "spills": _largest([variant.spills for variant in variants]),
        "shared_bytes": _largest([variant.shared_bytes for variant in variants]),
    }


def _violations(
    kernel: int, findings: "PageFindings | None", without_ir: Container[int]
) -> int | None:
    """Return the number of violations; None instead of 0 if the kernel was not judged."""
    number = None if findings is None else findings.of_kernel(kernel, "violation")
    return number or (None if kernel in without_ir else number)


def known_sum(values: list[int | None]) -> int | None:
    """Return the sum of the values that are known, or None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _largest(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
