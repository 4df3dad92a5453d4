"""Kernels and their compiled variants, merged over runs."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.disassembly import disassembler
from kvtrace.converters.findings.model import DEFECTS
from kvtrace.converters.profile.device_limits import occupancy_of
from kvtrace.converters.profile.recompiles import Recompile, variants_of
from kvtrace.converters.report.calls import CallRows, measured_sums
from kvtrace.converters.report.model import (
    Kernel,
    Recompiled,
    SourceFile,
    Stage,
    Variant,
)
from kvtrace.converters.report.slices import MISSING, NO_CALL, Integers, Lookup
from kvtrace.figures.columns import coded, combined_codes, integers
from kvtrace.figures.identity import TRITON, KernelKey, key_of, own_kind
from kvtrace.figures.kernels import FURTHER
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.converters.profile.device_limits import DeviceLimits
    from kvtrace.converters.report.findings import PageFindings
    from kvtrace.schema.trace import Run, Trace

#: Most variants on a page.
_MOST_VARIANTS: Final = 5_000
#: Columns of `kernels` that `key_of` reads.
_KEY: Final = ("module", "name", "source_artifact", "file")
#: Columns of variants that the page has as they are recorded.
_SAME: Final = (
    "kernel_id", "target", "warp_size", "num_warps", "num_ctas", "num_stages", "shared_bytes",
    "registers", "spills", "cache_hit", "cache_key", "compile_ns", "load_ns",
)  # fmt: skip
#: Sums over the calls of a variant.
_SUMS: Final = ("launches", "calls", "host_ns")
#: Columns of a kernel's first variant that are shown as the kernel's.
_FIRST: Final = (*_KEY, "line", "origin")
#: Figures of a kernel that are summed, or of which the largest is shown, over its variants.
_SUMMED: Final = (
    ("compile_ns", "sum"), ("registers", "max"), ("spills", "max"), ("shared_bytes", "max"),
)  # fmt: skip


@dataclass(slots=True)
class KernelRows:
    """Kernels and variants of all runs as columns, and the texts of stages and sources.

    A variant is identified by its row in `table`; `Variant` objects are built only for variants on
    the page (`finished`), with their `texts`, `stage_artifacts` and `recompiles`.
    """

    table: pa.Table
    """Rows of `kernels`, run by run in the order of the runs."""
    run: Integers
    """Index of each variant's run."""
    kernel: Integers
    """Index of each variant's kernel."""
    identities: dict[KernelKey, int]
    first_rows: Integers
    """For each kernel: its first variant."""
    indices: list[Lookup]
    """For each run: kernel_id → index of the variant."""
    texts: dict[tuple[str, str], int] = field(default_factory=dict)
    stage_artifacts: list[dict[str, str]] = field(default_factory=list)
    """For each variant on the page: stage → sha256, of texts in the trace."""
    recompiles: dict[int, Recompile] = field(default_factory=dict)
    """Comparisons with earlier variants, of those on the page and of all that have earlier ones."""
    disassembles: bool = field(default_factory=lambda: disassembler() is not None)

    @classmethod
    def read(
        cls, trace: "Trace", runs: "Sequence[Run]", chosen: frozenset[str] | None = None
    ) -> Self:
        """Return the kernels of some runs, or those of some names; errors as `Trace.table`."""
        table = trace.table("kernels", runs)
        if chosen is not None:
            names = table["name"].cast(pa.string())
            table = table.filter(pc.is_in(names, pa.array(sorted(chosen))))
        run_indexes = {run.run_id: index for index, run in enumerate(runs)}
        names, codes = coded(table["run"])
        run = np.array([run_indexes.get(name or "", NO_CALL) for name in names])[codes]
        ids = integers(table["kernel_id"], MISSING)
        rows_of_runs = [np.flatnonzero(run == index) for index in range(len(runs))]
        indices = [Lookup(ids[rows], rows) for rows in rows_of_runs]
        return cls(table, run, *_identified(table), indices)

    def __len__(self) -> int:
        return len(self.run)

    def kernels(self, variants: Integers) -> Integers:
        """Return the kernel index of each variant index; NO_CALL for NO_CALL."""
        return np.append(self.kernel, NO_CALL)[variants]

    def maker(self, variant: int) -> str:
        """Return the maker of a variant's kernel; Triton for NO_CALL."""
        return TRITON if variant == NO_CALL else own_kind(self.table["origin"][variant].as_py())

    def index_of(self, run: int, kernel_id: int) -> int | None:
        """Return the kernel index of the variant with an id in a run, or None if unknown."""
        variant = int(self.indices[run].of(np.array([kernel_id]))[0])
        return None if variant == NO_CALL else int(self.kernel[variant])

    def targets(self) -> list[str]:
        """Return the variants' compile targets, the target with most variants first."""
        counts = Counter(self.table["target"].drop_null().to_pylist())
        return [target for target, _ in counts.most_common()]

    def stage_times(self) -> dict[str, int]:
        """Return the compile time in ns by stage, over all variants."""
        stages = pc.list_flatten(self.table["stages"])
        names = pc.fill_null(pc.struct_field(stages, "stage").cast(pa.string()), "")
        durations = pc.struct_field(stages, "duration_ns")
        table = pa.table({"stage": names, "ns": durations}).filter(pc.is_valid(durations))
        sums = table.group_by("stage", use_threads=False).aggregate([("ns", "sum")])
        return dict(zip(sums["stage"].to_pylist(), sums["ns_sum"].to_pylist(), strict=True))

    def sums(self) -> list[dict[str, Any]]:
        """Return for each kernel the figures `_SUMMED`, and the number of its variants."""
        columns = {name: self.table[name] for name, _ in _SUMMED}
        table = pa.table({**columns, "kernel": pa.array(self.kernel)})
        sums = table.group_by("kernel").aggregate([*_SUMMED, ([], "count_all")]).sort_by("kernel")
        names = [*(name for name, _ in _SUMMED), "compilations"]
        sums = sums.select([*(f"{name}_{how}" for name, how in _SUMMED), "count_all"])
        rows: list[dict[str, Any]] = sums.rename_columns(names).to_pylist()
        return rows

    def shown(self, needed: Integers) -> Integers:
        """Return the sorted indexes of the variants on the page, at most about `_MOST_VARIANTS`.

        Those in `needed` and the first of each kernel come first, then those compiled the longest.
        """
        if len(self) <= _MOST_VARIANTS:
            return np.arange(len(self))
        is_optional = np.ones(len(self), np.bool_)
        is_optional[needed[needed != NO_CALL]] = False
        is_optional[self.first_rows] = False
        fixed = len(self) - int(is_optional.sum())
        order = np.lexsort((-integers(self.table["compile_ns"], -1), is_optional))
        return np.sort(order[: max(fixed, _MOST_VARIANTS)])

    def finished(
        self,
        trace: "Trace",
        runs: "Sequence[Run]",
        shown: Integers,
        sums: Mapping[int, Mapping[str, int | None]],
        origin: int,
    ) -> tuple[Variant, ...]:
        """Return the variants with the indexes `shown`, with sums over their calls.

        `sums` has figures by variant index; begins count from `origin`. A variant whose
        nearest earlier one is not on the page has no comparison with it. Errors as `Trace.table`.
        """
        new_indexes = {variant: index for index, variant in enumerate(shown.tolist())}
        compared = np.union1d(np.concatenate([shown, self.first_rows]), self._of_several())
        variants = []
        table = self.table.take(
            pa.array(compared)
        ).combine_chunks()  # a take of each run costs more
        bounds = np.searchsorted(self.run[compared], np.arange(len(runs) + 1))
        for run_index, (run, start, end) in enumerate(zip(runs, bounds, bounds[1:], strict=False)):
            rows_of_run, rows = compared[start:end], plain_rows(table.slice(start, end - start))
            of_run = dict(zip(rows_of_run.tolist(), variants_of(rows, trace, [run]), strict=True))
            self.recompiles |= of_run
            sizes = _artifact_sizes(trace, run, rows)
            for index, row in zip(of_run, rows, strict=True):
                if index in new_indexes:
                    recompiled = self._recompiled(run_index, of_run[index], new_indexes)
                    self._add_stage_artifacts(row, sizes)
                    sums_of_variant = sums.get(index, {})
                    counts: dict[str, Any] = {n: sums_of_variant.get(n) or 0 for n in _SUMS}
                    variants.append(
                        Variant(
                            **self._variant(row, int(self.kernel[index]), run_index, sizes, origin),
                            recompiled=recompiled,
                            reason=of_run[index].reason(_MOST_CHANGES),
                            **counts,
                        )
                    )
        return tuple(variants)

    def _of_several(self) -> Integers:
        """Return the variants of kernels of which their run has several, from one file."""
        codes, _ = combined_codes(
            [pa.chunked_array([self.run]), pa.chunked_array([self.kernel]), self.table["file"]]
        )
        return np.flatnonzero(np.bincount(codes)[codes] > 1)

    def _recompiled(
        self, run: int, recompile: Recompile, new_indexes: Mapping[int, int]
    ) -> Recompiled | None:
        if recompile.nearest is None:
            return None
        nearest = int(self.indices[run].of(np.array([recompile.nearest]))[0])
        if nearest not in new_indexes:
            return None
        again = recompile.recompiled if recompile.is_recorded else None
        return Recompiled(new_indexes[nearest], recompile.changes, again)

    def _add_stage_artifacts(self, row: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self.stage_artifacts.append(
            {
                stage["stage"]: stage["artifact"]
                for stage in row["stages"] or ()
                if stage["artifact"] in sizes
            }
        )

    def _variant(
        self,
        row: Mapping[str, Any],
        kernel: int,
        run: int,
        sizes: Mapping[str, int],
        origin: int,
    ) -> dict[str, Any]:
        begins = {name: row[name] for name in ("compile_begin", "load_begin")}
        return {
            **{name: row[name] for name in _SAME},
            **{name: None if begin is None else begin - origin for name, begin in begins.items()},
            "kernel": kernel,
            "run": run,
            "options": {key: str(value) for key, value in row["options"] or ()},
            "occupancy": occupancy_of(row),
            "signature": tuple(row["signature"] or ()),
            "stages": self._stages(row["stages"] or (), sizes),
            "files": self._files(row, sizes),
        }

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


def _identified(table: pa.Table) -> tuple[Integers, dict[KernelKey, int], Integers]:
    """Return each row's kernel index, the kernels' keys, and each kernel's first row."""
    codes, _ = combined_codes([table[name] for name in _KEY])
    first_rows = np.unique(codes, return_index=True)[1]
    kernel_by_code = np.zeros(len(first_rows), np.int64)
    identities: dict[KernelKey, int] = {}
    first_of_kernels: list[int] = []
    order = np.argsort(first_rows)
    examples = table.select(_KEY).take(pa.array(first_rows[order])).to_pylist()
    for code, example in zip(order.tolist(), examples, strict=True):
        kernel = identities.setdefault(key_of(example), len(identities))
        kernel_by_code[code] = kernel
        if kernel == len(first_of_kernels):
            first_of_kernels.append(int(first_rows[code]))
    return kernel_by_code[codes], identities, np.array(first_of_kernels, np.int64)


def _artifact_sizes(
    trace: "Trace", run: "Run", rows: Sequence[Mapping[str, Any]]
) -> dict[str, int]:
    """Return the size in bytes of each artifact of a run, by sha256; {} if no kernel has one."""
    if not any(row["stages"] or row["files"] or row["source_artifact"] for row in rows):
        return {}
    artifacts = trace.table("artifacts", [run], ["sha256", "size_bytes"])
    columns = (artifacts[name].to_pylist() for name in ("sha256", "size_bytes"))
    return dict(zip(*columns, strict=True))


def kernels_of(
    rows: KernelRows,
    calls: CallRows,
    variants: Sequence[Variant],
    findings: "PageFindings | None",
    limits: "DeviceLimits | None",
    without_ir: Container[int],
    headlines: Mapping[KernelKey, str | None],
) -> tuple[Kernel, ...]:
    """Return the kernels, by index, with sums over their variants and calls.

    `variants` are those on the page; `limits` are those of the rooflines' device; `findings` are
    None if nothing was judged; `without_ir` are the indexes of kernels that cannot be evaluated.
    `headlines` has the sentence of each kernel of which one is known.
    """
    sums_by_kernel, work_by_kernel = calls.sums(calls.kernel), calls.replayed(limits)
    variants_by_kernel: dict[int, list[int]] = {}
    for index, variant in enumerate(variants):
        variants_by_kernel.setdefault(variant.kernel, []).append(index)
    kernels = []
    firsts = rows.table.select(_FIRST).take(pa.array(rows.first_rows)).to_pylist()
    rows_of_kernels = zip(rows.identities, firsts, rows.sums(), strict=True)
    for kernel, (key, first, of_variants) in enumerate(rows_of_kernels):
        sums_of_kernel, replayed = sums_by_kernel.get(kernel, {}), work_by_kernel.get(kernel)
        on_device = calls.on_device and bool(sums_of_kernel)
        best_ns = None if replayed is None else replayed.best_of(sums_of_kernel["ran"])
        kernels.append(
            Kernel(
                name=first["name"] or "(no name)",
                **{name: first[name] for name in ("module", "file", "line", "origin")},
                variants=tuple(variants_by_kernel[kernel]),
                calls=sums_of_kernel.get("calls") or 0,
                **measured_sums(sums_of_kernel, on_device=on_device),
                bytes=None if replayed is None else replayed.bytes,
                flops=None if replayed is None else replayed.flops,
                best_ns=best_ns,
                achieved=None if replayed is None else replayed.achieved(best_ns),
                violations=_violations(kernel, findings, without_ir),
                errors=None if findings is None else findings.of_kernel(kernel, ("error",)),
                unknowns=None if findings is None else findings.of_kernel(kernel, ("unknown",)),
                judged=0 if findings is None else findings.judged[kernel],
                unjudged_calls=0 if findings is None else findings.unjudged_calls[kernel],
                without_ir=kernel in without_ir,
                further={figure.name: figure.shown(sums_of_kernel) for figure in FURTHER},
                headline=headlines.get(key),
                **of_variants,
            )
        )
    return tuple(kernels)


def _violations(
    kernel: int, findings: "PageFindings | None", without_ir: Container[int]
) -> int | None:
    """Return the number of errors and warnings; None instead of 0 if the kernel was not judged."""
    number = None if findings is None else findings.of_kernel(kernel, DEFECTS)
    return number or (None if kernel in without_ir else number)
