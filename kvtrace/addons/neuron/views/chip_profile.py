"""NKI calls in profiles: peaks of SBUF and PSUM, executed ops, and engines.

All figures are derived, since kernels run on NumPy. An engine's time is the shortest that published
rates allow; `DEVICES` has the rates of a core of each target, from AWS Neuron's documentation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.converters.profile.device_limits import TERA, DeviceLimits, limits_for_target, rates
from kvtrace.converters.profile.profile_model import ProfileSection
from kvtrace.text import columns, count, duration, percent, size

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


CALLS: Final = "client_nki_calls"
OPS: Final = "client_nki_ops"

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma")


@dataclass(frozen=True, slots=True)
class EngineWork:
    """The work of an engine in one launch of a call, and its share of the busiest engine's time.

    `busy_ns` is the shortest time that published rates allow, None without a published rate;
    `share` is `busy_ns` divided by that of the busiest engine, since engines work in parallel.
    """

    engine: str
    executions: int
    elements: int
    flops: int
    device_bytes: int
    chip_bytes: int
    busy_ns: float | None
    share: float | None


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


def read_chip_profiles(trace: "Trace", runs: Sequence["Run"]) -> tuple[ChipProfile, ...]:
    """Return the profile of the first launch of each NKI call, in the order of the table.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    if CALLS not in trace.client_tables:
        return ()
    kernel_names = {
        (row["run"], row["kernel_id"]): row["name"] or "?"
        for row in trace.table("kernels", runs, ["kernel_id", "name"]).to_pylist()
    }
    kernel_by_call = {
        (row["run"], row["call_id"]): kernel_names.get((row["run"], row["kernel_id"]), "?")
        for row in trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist()
    }
    ops = _ops_by_call(trace, runs)
    profiles = []
    for row in trace.table(CALLS, runs).to_pylist():
        key = (row["run"], row["call_id"])
        if key in kernel_by_call:
            limits = limits_for_target(f"neuron:{row['target']}")
            profiles.append(_profile(row, kernel_by_call[key], ops.get(key, ()), limits))
    return tuple(profiles)


def _ops_by_call(
    trace: "Trace", runs: Sequence["Run"]
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
    limits: DeviceLimits | None,
) -> ChipProfile:
    by_engine = {name: [row for engine, row in ops if engine == name] for name in ENGINES}
    busy = {name: _busy_ns(name, rows, limits) for name, rows in by_engine.items() if rows}
    longest_ns = max((busy_ns for busy_ns in busy.values() if busy_ns is not None), default=0.0)
    engines = []
    for engine, busy_ns in busy.items():
        share = None if busy_ns is None or not longest_ns else busy_ns / longest_ns
        executions, elements, flops, device_bytes, chip_bytes = (
            sum(int(row[name] or 0) for row in by_engine[engine])
            for name in ("executions", "elements", "flops", "bytes", "chip_bytes")
        )
        engines.append(
            EngineWork(
                engine, executions, elements, flops, device_bytes, chip_bytes, busy_ns, share
            )
        )
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


def _busy_ns(
    engine: str, ops: Sequence[Mapping[str, Any]], limits: DeviceLimits | None
) -> float | None:
    if limits is None:
        return None
    total_ns = 0.0
    for op in ops:
        elements, flops, nbytes = (int(op[name] or 0) for name in ("elements", "flops", "bytes"))
        ns = shortest_ns(engine, op["dtype"], elements, flops, nbytes, limits)
        if ns is None:
            return None
        total_ns += ns
    return total_ns


def chips_text(chips: Sequence[ChipProfile], width: int) -> list[str]:
    """Return the lines of terminal tables: the calls, and then their engines."""
    header = ("on chip (derived)", "ops", "SBUF per partition", "PSUM banks", "busiest", "at least")
    rows = []
    for chip in chips:
        timed_engines = [engine for engine in chip.engines if engine.busy_ns is not None]
        busiest = max(timed_engines, key=lambda engine: engine.busy_ns or 0, default=None)
        rows.append(
            (
                f"{chip.kernel}, call {chip.call_id}",
                count(chip.executed),
                f"{size(chip.sbuf_peak_bytes)} of {size(chip.sbuf_bytes)}",
                f"{chip.psum_peak_banks} of {chip.psum_banks}",
                "-" if busiest is None else busiest.engine,
                "-" if busiest is None else duration(busiest.busy_ns),
            )
        )
    lines = columns(header, rows, width)
    names = ("engine (derived)", "call", "ops", "elements", "bytes", "at least", "busy")
    engines = [
        (
            engine.engine,
            str(chip.call_id),
            count(engine.executions),
            count(engine.elements),
            size(engine.device_bytes),
            duration(engine.busy_ns),
            percent(engine.share),
        )
        for chip in chips
        for engine in chip.engines
    ]
    lines += ["", *columns(names, engines, width)]
    return [
        *lines,
        "at least: time at published rates (GpSimd has none); "
        "busy: share of the busiest engine's time",
    ]


SECTION: Final = ProfileSection(read_chip_profiles, chips_text)


# Shortest times of ops on engines of a Neuron core, derived from published rates.
#
# A tensor op takes its FLOPs divided by the rate of its element type. A vector or scalar op takes
# its elements, or its FLOPs if more, divided by the engine's rate. A transfer takes its bytes
# divided by the memory's bandwidth. GpSimd's rate is not published, so its ops have no time.

#: Target → float32 operations per second of the scalar engine ("NeuronCore-v2", "-v3" and "-v4
#: Architecture" of AWS Neuron's documentation).
_SCALAR_RATES: Final[Mapping[str, float]] = {
    "trn1": 2.9 * TERA,
    "trn2": 1.2 * TERA,
    "trn3": 1.2 * TERA,
}


def shortest_ns(
    engine: str,
    dtype: str | None,
    elements: int,
    flops: int,
    device_bytes: int,
    limits: DeviceLimits,
) -> float | None:
    """Return the shortest time of an op on an engine, in ns; None without a published rate."""
    if engine == "dma":
        return 1e9 * device_bytes / limits.bandwidth
    if engine == "tensor":
        rate = limits.dot_rate(dtype or "f32")
        return None if rate is None else 1e9 * flops / rate
    rate = {"vector": limits.vector_rate("f32"), "scalar": _scalar_rate(limits)}.get(engine)
    return None if rate is None else 1e9 * max(elements, flops) / rate


def _scalar_rate(limits: DeviceLimits) -> float | None:
    return next((_SCALAR_RATES[word] for word in limits.words if word in _SCALAR_RATES), None)


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
