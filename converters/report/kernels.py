"""Kernels, their variants and distinct calls, merged over runs."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.converters.report.model import Argument, Call, Kernel, SourceFile, Stage, Variant
from kvtrace.converters.report.slices import NO_CALL

if TYPE_CHECKING:
    from kvtrace.converters.report.findings import PageFindings

__all__ = ["CallRows", "KernelRows", "kernels_of"]

Integers = npt.NDArray[np.int64]
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

    def add(self, table: pa.Table, run: int, sizes: dict[str, int]) -> None:
        """Add the rows of `kernels` of one run, in their order."""
        for row in table.drop_columns(["compile_begin"]).to_pylist():
            self.by_id[run, row["kernel_id"]] = len(self.variants)
            self.variants.append(self._variant(row, run, sizes))

    def _variant(self, row: dict[str, Any], run: int, sizes: dict[str, int]) -> Variant:
        identity = (row["name"] or "(no name)", row["module"], row["file"], row["line"])
        kernel = self.identities.setdefault(identity, len(self.identities))
        self.origins.setdefault(kernel, row["origin"])
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
            compile_ns=row["compile_ns"],
            signature=tuple(row["signature"] or ()),
            stages=tuple(self._stage(stage, sizes) for stage in row["stages"] or ()),
            files=self._files(row, sizes),
            launches=0,
            calls=0,
            host_ns=0,
        )

    def _stage(self, stage: dict[str, Any], sizes: dict[str, int]) -> Stage:
        name, sha256 = stage["stage"] or "", stage["artifact"]
        shown = sha256 in sizes and name not in _BINARY_STAGES
        return Stage(
            stage=name,
            text=self._text(name, sha256) if shown else None,
            size_bytes=sizes.get(sha256),
            duration_ns=stage["duration_ns"],
        )

    def _files(self, row: dict[str, Any], sizes: dict[str, int]) -> tuple[SourceFile, ...]:
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


_BINARY_STAGES = frozenset({"cubin", "hsaco"})


@dataclass(slots=True)
class CallRows:
    """The distinct calls of all runs, and what is counted for each of them."""

    calls: list[Call] = field(default_factory=list)
    call_kernels: list[int] = field(default_factory=list)
    """Kernel of each call."""
    by_id: dict[tuple[int, int], int] = field(default_factory=dict)
    """(run, call_id) → call."""
    arguments: dict[Argument, int] = field(default_factory=dict)
    launches: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    host_ns: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    device_ns: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    on_device: bool = False
    ops: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Call → bytes and FLOPs of one launch."""

    def begin_run(
        self, table: pa.Table, run: int, kernels: KernelRows, stacks: dict[int, int]
    ) -> dict[int, int]:
        """Add the rows of `calls` of one run; return call_id → index."""
        places: dict[int, int] = {}
        for row in table.to_pylist():
            places[row["call_id"]] = self.by_id[run, row["call_id"]] = len(self.calls)
            variant = kernels.by_id.get((run, row["kernel_id"]), NO_CALL)
            kernel = kernels.variants[variant].kernel if variant != NO_CALL else NO_CALL
            self.call_kernels.append(kernel)
            self.calls.append(self._call(row, run, variant, stacks))
        self.launches, self.host_ns, self.device_ns = (
            np.concatenate([column, np.zeros(len(places), np.int64)])
            for column in (self.launches, self.host_ns, self.device_ns)
        )
        return places

    def _call(self, row: dict[str, Any], run: int, variant: int, stacks: dict[int, int]) -> Call:
        args = (_argument(entry) for entry in row["args"] or ())
        return Call(
            variant=variant,
            run=run,
            call_id=row["call_id"],
            grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
            args=tuple(self.arguments.setdefault(arg, len(self.arguments)) for arg in args),
            stack=stacks.get(row["stack_id"]),
            launches=0,
            host_ns=0,
            device_ns=None,
            bytes=None,
            flops=None,
        )

    def kernels(self, calls: Integers) -> Integers:
        """Return the kernel of each call; NO_CALL where the call is not known."""
        return np.asarray([*self.call_kernels, NO_CALL], np.int64)[calls]

    def count_launches(self, calls: Integers, duration: Integers) -> None:
        """Add launches and the host time that they took."""
        known = calls != NO_CALL
        self.launches += np.bincount(calls[known], minlength=len(self.launches))
        self.host_ns += _exact_sums(calls[known], duration[known], len(self.host_ns))

    def count_device(self, calls: Integers, duration: Integers) -> None:
        """Add the device time of kernel executions that belong to a known call."""
        self.on_device = True
        known = calls != NO_CALL
        self.device_ns += _exact_sums(calls[known], duration[known], len(self.device_ns))

    def add_ops(self, table: pa.Table, run: int) -> None:
        """Add the rows of `ops` of one run: bytes and FLOPs of one launch of each call."""
        sums = table.group_by("call_id").aggregate([("bytes", "sum"), ("flops", "sum")])
        for row in sums.to_pylist():
            call = self.by_id.get((run, row["call_id"]))
            if call is not None:
                self.ops[call] = (row["bytes_sum"] or 0, row["flops_sum"] or 0)

    def evaluated(self) -> int | None:
        """Return how many calls have ops; None where replay has not run."""
        return len(self.ops) or None

    def total(self, what: Literal["bytes", "flops"]) -> int | None:
        """Return the sum over all launches of the calls that have ops."""
        if not self.ops:
            return None
        place = 0 if what == "bytes" else 1
        return sum(int(self.launches[call]) * sums[place] for call, sums in self.ops.items())

    def finished(self) -> tuple[Call, ...]:
        """Return the calls with all that was counted."""
        return tuple(
            replace(
                call,
                launches=int(self.launches[index]),
                host_ns=int(self.host_ns[index]),
                device_ns=int(self.device_ns[index]) if self.on_device else None,
                bytes=self.ops[index][0] if index in self.ops else None,
                flops=self.ops[index][1] if index in self.ops else None,
            )
            for index, call in enumerate(self.calls)
        )


def kernels_of(
    rows: KernelRows, calls: CallRows, findings: "PageFindings | None"
) -> tuple[tuple[Kernel, ...], tuple[Call, ...]]:
    """Return kernels and calls with their sums; also fills the sums of `rows.variants`."""
    finished = calls.finished()
    by_variant: dict[int, list[Call]] = {}
    for call in finished:
        by_variant.setdefault(call.variant, []).append(call)
    rows.variants[:] = [
        replace(
            variant,
            calls=len(by_variant.get(index, ())),
            launches=sum(call.launches for call in by_variant.get(index, ())),
            host_ns=sum(call.host_ns for call in by_variant.get(index, ())),
        )
        for index, variant in enumerate(rows.variants)
    ]
    members: dict[int, list[int]] = {}
    for index, variant in enumerate(rows.variants):
        members.setdefault(variant.kernel, []).append(index)
    kernels = tuple(
        _kernel(identity, kernel, rows, members[kernel], by_variant, findings)
        for identity, kernel in rows.identities.items()
    )
    return kernels, finished


def _kernel(
    identity: Identity,
    kernel: int,
    rows: KernelRows,
    members: list[int],
    by_variant: dict[int, list[Call]],
    findings: "PageFindings | None",
) -> Kernel:
    name, module, file, line = identity
    variants = [rows.variants[index] for index in members]
    calls = [call for index in members for call in by_variant.get(index, ())]
    evaluated = [call for call in calls if call.bytes is not None]
    return Kernel(
        name=name,
        module=module,
        file=file,
        line=line,
        origin=rows.origins[kernel],
        variants=tuple(members),
        calls=len(calls),
        launches=sum(call.launches for call in calls),
        host_ns=sum(call.host_ns for call in calls),
        device_ns=_sum([call.device_ns for call in calls]),
        bytes=_sum([call.launches * (call.bytes or 0) for call in evaluated]),
        flops=_sum([call.launches * (call.flops or 0) for call in evaluated]),
        compile_ns=_sum([variant.compile_ns for variant in variants]),
        registers=_largest([variant.registers for variant in variants]),
        spills=_largest([variant.spills for variant in variants]),
        shared_bytes=_largest([variant.shared_bytes for variant in variants]),
        violations=None if findings is None else findings.of_kernel(kernel, "violation"),
        unknowns=None if findings is None else findings.of_kernel(kernel, "unknown"),
        judged=0 if findings is None else findings.judged[kernel],
    )


def _exact_sums(keys: Integers, values: Integers, count: int) -> Integers:
    """Return the sum of the values of each key; halves of 32 bits keep float64 sums exact."""
    low = np.bincount(keys, weights=values & 0xFFFFFFFF, minlength=count).astype(np.int64)
    high = np.bincount(keys, weights=values >> 32, minlength=count).astype(np.int64)
    return np.asarray(low + (high << 32), np.int64)


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _largest(values: list[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _argument(entry: dict[str, Any]) -> Argument:
    return Argument(
        name=entry["name"],
        kind=entry["kind"],
        dtype=entry["dtype"],
        device=entry["device"],
        shape=None if entry["shape"] is None else tuple(entry["shape"]),
        strides=None if entry["strides"] is None else tuple(entry["strides"]),
        offset_bytes=entry["offset_bytes"],
        storage_bytes=entry["storage_bytes"],
        alias_group=entry["alias_group"],
        alignment=entry["alignment"],
        scalar=entry["scalar"],
    )
