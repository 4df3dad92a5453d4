"""All that devices did, ranked by time: kernels of every library, copies, fills, and idleness."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.device_busy import Busy, Steps, busy_of
from kvtrace.schema.symbols import readable, titled

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Whose a kernel is, by its name as people write it; the first that fits.
_MAKERS: Final = tuple(
    (maker, re.compile(pattern))
    for maker, pattern in (
        ("NCCL", r"nccl"),
        ("cuDNN", r"cudnn"),
        ("cuBLAS", r"cublas|nvjet_|gemmk1_|gemv|.*[a-z]gemm_|gemm_|.*_gemm_"),
        ("CUTLASS", r"cutlass"),
        ("FlashAttention", r"flash::|flash_fwd|flash_bwd"),
        ("torch", r"at::|at_cuda_detail|c10::|\(anonymous\)::"),
    )
)


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """What ran on devices under one name.

    `kind` says whose it is: Triton, a library's name, copy, fill or other. `share` is that of all
    rows. `bytes` are those copied or filled. `step_ns` is the mean time in one step of one run,
    where there are steps. `module`, `file` and `line` are a Triton kernel's.
    """

    name: str
    kind: str
    executions: int
    device_ns: int
    median_ns: float
    share: float
    bytes: int | None = None
    step_ns: float | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """Rows by time, and when devices were idle; all measured.

    Executions of autotuners and warm-ups are in no row: they are `tuning_ns`. The rows and those
    add up to `busy.busy_ns` + `busy.overlapped_ns`, over runs.
    """

    rows: tuple[DeviceRow, ...]
    executions: int
    device_ns: int
    tuning_executions: int
    tuning_ns: int
    devices: int
    busy: Busy
    steps: Steps | None = None


def kind_of(name: str, of_memory: str | None = None) -> str:
    """Return whose a kernel is that no launch is known for; `of_memory`: copy or fill."""
    if of_memory is not None:
        return of_memory
    written = readable(name)
    return next((maker for maker, found in _MAKERS if found.match(written)), "other")


def device_time(
    trace: "Trace",
    runs: Sequence["Run"],
    sums: Sequence[Mapping[str, Any]],
    tuned: tuple[int, int],
    steps: Steps | None,
) -> DeviceTime | None:
    """Put together what is known of devices; None where no execution was timed.

    Args:
        trace: the trace.
        runs: its runs.
        sums: by kernel or name: `kernel`, `name`, `kind`, `executions`, `ns`, `bytes`, `median`,
            `stepped_ns`, and `module`, `file` and `line` of a Triton kernel.
        tuned: executions of autotuners, and their time.
        steps: what `stepped_ns` is of.

    """
    found = [busy for run in runs if (busy := busy_of(trace, run)) is not None]
    if not found:
        return None
    merged: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in sums:
        ours = row["kernel"] is not None
        key = (row["kernel"],) if ours else (titled(row["name"]), kind_of(row["name"], row["kind"]))
        merged.setdefault(key, []).append(row)
    total = sum(int(row["ns"]) for row in sums)
    number = steps.total if steps else 0
    rows = [_row(key, group, total, number) for key, group in merged.items()]
    rows.sort(key=lambda row: (-row.device_ns, row.name))
    return DeviceTime(
        rows=tuple(rows),
        executions=sum(row.executions for row in rows),
        device_ns=total,
        tuning_executions=tuned[0],
        tuning_ns=tuned[1],
        devices=len(found),
        busy=sum(found, Busy()),
        steps=steps,
    )


def _row(
    key: tuple[Any, ...], group: Sequence[Mapping[str, Any]], total: int, steps: int
) -> DeviceRow:
    first = group[0]
    ours = first["kernel"] is not None
    taken = sum(int(row["ns"]) for row in group)
    stepped = sum(int(row["stepped_ns"] or 0) for row in group)
    moved = [int(row["bytes"]) for row in group if row["bytes"] is not None]
    longest = max(group, key=lambda row: int(row["ns"]))
    return DeviceRow(
        name=first["name"] if ours else key[0],
        kind="Triton" if ours else key[1],
        executions=sum(int(row["executions"]) for row in group),
        device_ns=taken,
        median_ns=longest["median"],
        share=taken / total if total else 0.0,
        bytes=sum(moved) if moved else None,
        step_ns=stepped / steps if steps else None,
        module=first["module"],
        file=first["file"],
        line=first["line"],
    )
