"""NKI calls in profiles: peaks of SBUF and PSUM, executed ops, and engines.

All figures are derived, since kernels run on NumPy. `DEVICES` has the rates of a core of each
target, from AWS Neuron's documentation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.converters.chosen_kernels import names_of_calls
from kvtrace.converters.profile.device_limits import DeviceLimits, rates
from kvtrace.converters.profile.profile_model import ProfileSection
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.text import columns, count, size

CALLS: Final = "client_nki_calls"
OPS: Final = "client_nki_ops"

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma")


@dataclass(frozen=True, slots=True)
class EngineWork:
    """The work of an engine in one launch of a call."""

    engine: str
    executions: int
    elements: int
    flops: int
    device_bytes: int
    chip_bytes: int


@dataclass(frozen=True, slots=True)
class ChipProfile:
    """One launch of an NKI call: executed ops, peaks of on-chip memory, and engines."""

    run: str
    call_id: int
    kernel: str
    target: str
    executed: int
    sbuf_peak_bytes: int
    sbuf_bytes: int
    psum_peak_banks: int
    psum_banks: int
    engines: tuple[EngineWork, ...]


def read_chip_profiles(trace: Trace, runs: Sequence[Run]) -> tuple[ChipProfile, ...]:
    """Return the profile of the first launch of each NKI call, in the order of the table.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    if CALLS not in trace.client_tables:
        return ()
    kernel_by_call = names_of_calls(Selection(trace, tuple(runs)))
    ops = _ops_by_call(trace, runs)
    profiles = []
    for row in trace.table(CALLS, runs).to_pylist():
        key = (row["run"], row["call_id"])
        if key in kernel_by_call:
            profiles.append(_profile(row, kernel_by_call[key], ops.get(key, ())))
    return tuple(profiles)


def _ops_by_call(
    trace: Trace, runs: Sequence[Run]
) -> dict[tuple[str, int], list[tuple[str, Mapping[str, Any]]]]:
    moved = {
        (row["run"], row["call_id"], row["op_index"]): row
        for row in trace.table(OPS, runs).to_pylist()
    }
    columns = ["call_id", "op_index", "dtype", "executions", "elements", "flops", "bytes"]
    ops: dict[tuple[str, int], list[tuple[str, Mapping[str, Any]]]] = {}
    for row in trace.table("ops", runs, columns).to_pylist():
        op = moved.get((row["run"], row["call_id"], row["op_index"]))
        if op is not None:
            ops.setdefault((row["run"], row["call_id"]), []).append((op["engine"], row | op))
    return ops


def _profile(
    row: Mapping[str, Any],
    kernel: str,
    ops: Sequence[tuple[str, Mapping[str, Any]]],
) -> ChipProfile:
    engines = []
    for engine in ENGINES:
        of_engine = [row for name, row in ops if name == engine]
        names = ("executions", "elements", "flops", "bytes", "chip_bytes")
        sums = (sum(int(row[name] or 0) for row in of_engine) for name in names)
        if of_engine:
            engines.append(EngineWork(engine, *sums))
    return ChipProfile(
        run=row["run"],
        call_id=row["call_id"],
        kernel=kernel,
        target=row["target"],
        executed=row["executed"],
        sbuf_peak_bytes=row["sbuf_peak_bytes"],
        sbuf_bytes=row["sbuf_bytes"],
        psum_peak_banks=row["psum_peak_banks"],
        psum_banks=row["psum_banks"],
        engines=tuple(engines),
    )


def chips_text(chips: Sequence[ChipProfile], width: int) -> list[str]:
    """Return the lines of a terminal table of calls."""
    header = ("on chip (derived)", "ops", "SBUF per partition", "PSUM banks")
    rows = [
        (
            f"{chip.kernel}, call {chip.call_id}",
            count(chip.executed),
            f"{size(chip.sbuf_peak_bytes)} of {size(chip.sbuf_bytes)}",
            f"{chip.psum_peak_banks} of {chip.psum_banks}",
        )
        for chip in chips
    ]
    return columns(header, rows, width)


SECTION: Final = ProfileSection(read_chip_profiles, chips_text)


_DOCUMENTATION: Final = "AWS Neuron: "


def _core(
    name: str, target_name: str, gigabytes_per_second: float, source: str,
    matrix: dict[str, float], vector: dict[str, float],
) -> DeviceLimits:  # fmt: skip
    return DeviceLimits(
        name,
        (target_name,),
        gigabytes_per_second * 1e9,
        matrix,
        vector,
        _DOCUMENTATION + source,
        has_caches=False,
        targets=(f"neuron:{target_name}",),
    )


DEVICES: Final = (
    _core("Trainium, one of its 2 cores", "trn1", 410,
          "Trainium and NeuronCore-v2 architecture, the chip's figures halved",
          rates(f32=23.75, tf32=95, f16=95, bf16=95, f8=95), rates(f32=2.3)),
    _core("Trainium2, one of its 8 cores", "trn2", 362.5,
          "Trainium2 and NeuronCore-v3 architecture, the chip's figures by 8",
          rates(f32=22.6, tf32=79, f16=79, bf16=79, f8=158), rates(f32=1)),
    _core("Trainium3, one of its 8 cores", "trn3", 612.5,
          "Trainium3 and NeuronCore-v4 architecture, the chip's figures by 8",
          rates(f32=22.9, tf32=83.9, f16=83.9, bf16=83.9, f8=315), rates(f32=1.2)),
)  # fmt: skip
