"""NKI calls in a profile: peaks of SBUF and PSUM, executed ops, and how busy each engine is.

All of it is derived: kernels ran on NumPy. Times of engines are the least that published rates
allow (`engine_times.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.neuron.views.engine_times import least_ns
from kvtrace.addons.neuron.views.on_chip import CALLS, OPS
from kvtrace.converters.profile.device_limits import DeviceLimits, limits_for_target
from kvtrace.converters.profile.profile_sections import ProfileSection
from kvtrace.text import columns, count, duration, percent, size

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma")


@dataclass(frozen=True, slots=True)
class EngineShare:
    """What an engine does in one launch of a call.

    `busy_ns` is the least time that its published rates allow, None where there are none; `share`
    is that of the busiest engine's time, for engines work at the same time.
    """

    engine: str
    executions: int
    elements: int
    flops: int
    device_bytes: int
    busy_ns: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class ChipProfile:
    """One launch of an NKI call: executed ops, on-chip memory at its fullest, engines."""

    run: str
    call_id: int
    kernel: str
    target: str
    executed: int
    sbuf_peak_bytes: int
    sbuf_bytes: int
    psum_peak_banks: int
    psum_banks: int
    engines: tuple[EngineShare, ...]


def read_chip_profiles(trace: "Trace", runs: Sequence["Run"]) -> tuple[ChipProfile, ...]:
    """Return a profile of each NKI call of the runs; none where they have no such calls.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    if CALLS not in trace.client_tables:
        return ()
    names = {
        (row["run"], row["kernel_id"]): row["name"] or "?"
        for row in trace.table("kernels", runs, ["kernel_id", "name"]).to_pylist()
    }
    kernels = {
        (row["run"], row["call_id"]): names.get((row["run"], row["kernel_id"]), "?")
        for row in trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist()
    }
    work = _work(trace, runs)
    found = []
    for row in trace.table(CALLS, runs).to_pylist():
        key = (row["run"], row["call_id"])
        if key in kernels:
            limits = limits_for_target(f"neuron:{row['target']}")
            found.append(_profile(row, kernels[key], work.get(key, ()), limits))
    return tuple(found)


def _work(
    trace: "Trace", runs: Sequence["Run"]
) -> dict[tuple[str, int], list[tuple[str, Mapping[str, Any]]]]:
    """Return the ops of each call, each with its engine."""
    engines = {
        (row["run"], row["call_id"], row["op_index"]): row["engine"]
        for row in trace.table(OPS, runs, ["call_id", "op_index", "engine"]).to_pylist()
    }
    wanted = ["call_id", "op_index", "dtype", "executions", "elements", "flops", "bytes"]
    found: dict[tuple[str, int], list[tuple[str, Mapping[str, Any]]]] = {}
    for row in trace.table("ops", runs, wanted).to_pylist():
        engine = engines.get((row["run"], row["call_id"], row["op_index"]))
        if engine is not None:
            found.setdefault((row["run"], row["call_id"]), []).append((engine, row))
    return found


def _profile(
    row: Mapping[str, Any],
    kernel: str,
    work: Sequence[tuple[str, Mapping[str, Any]]],
    limits: DeviceLimits | None,
) -> ChipProfile:
    sums = {engine: [op for each, op in work if each == engine] for engine in ENGINES}
    busy = {engine: _busy(engine, ops, limits) for engine, ops in sums.items() if ops}
    longest = max((each for each in busy.values() if each is not None), default=0.0)
    engines = []
    for engine, ns in busy.items():
        executions, elements, flops, nbytes = (
            sum(int(op[name] or 0) for op in sums[engine])
            for name in ("executions", "elements", "flops", "bytes")
        )
        share = None if ns is None or not longest else ns / longest
        engines.append(EngineShare(engine, executions, elements, flops, nbytes, ns, share))
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


def _busy(
    engine: str, ops: Sequence[Mapping[str, Any]], limits: DeviceLimits | None
) -> float | None:
    if limits is None:
        return None
    total = 0.0
    for op in ops:
        elements, flops, nbytes = (int(op[name] or 0) for name in ("elements", "flops", "bytes"))
        ns = least_ns(engine, op["dtype"], elements, flops, nbytes, limits)
        if ns is None:
            return None
        total += ns
    return total


def chips_text(chips: Sequence[ChipProfile], width: int) -> list[str]:
    """Return the calls as tables for a terminal."""
    header = ("on chip (derived)", "ops", "SBUF a partition", "PSUM banks", "busiest", "least")
    rows = []
    for chip in chips:
        known = [each for each in chip.engines if each.busy_ns is not None]
        longest = max(known, key=lambda each: each.busy_ns or 0, default=None)
        rows.append(
            (
                f"{chip.kernel}, call {chip.call_id}",
                count(chip.executed),
                f"{size(chip.sbuf_peak_bytes)} of {size(chip.sbuf_bytes)}",
                f"{chip.psum_peak_banks} of {chip.psum_banks}",
                "-" if longest is None else longest.engine,
                "-" if longest is None else duration(longest.busy_ns),
            )
        )
    lines = columns(header, rows, width)
    names = ("engine (derived)", "call", "ops", "elements", "bytes", "least", "busy")
    shares = [
        (
            each.engine,
            str(chip.call_id),
            count(each.executions),
            count(each.elements),
            size(each.device_bytes),
            duration(each.busy_ns),
            percent(each.share),
        )
        for chip in chips
        for each in chip.engines
    ]
    lines += ["", *columns(names, shares, width)]
    return [
        *lines,
        "least: time at published rates; busy: share of the busiest engine's; none for GpSimd",
    ]


SECTION: Final = ProfileSection(read_chip_profiles, chips_text)
