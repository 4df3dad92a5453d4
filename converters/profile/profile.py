"""Profile of a trace: time, bytes and FLOPs per kernel, per unique call and per source line.

Times are *measured* while recording. Bytes, FLOPs, lanes and sectors are *derived*: `kvtrace
replay` evaluates the IR over the whole grid and fills the table `ops`, and the sums here weigh each
call by its runs: its launches, or the replays of the graph that it was captured into. Launches of
autotuners and warm-ups are left out of all sums and counted apart. docs/profile.md says what every
figure is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kvtrace.converters.profile.advice import IMPORTANT, read_advice
from kvtrace.converters.profile.advice_model import Advice
from kvtrace.converters.profile.device_limits import ChosenDevice, chosen_device
from kvtrace.converters.profile.device_time import DeviceTime, read_device_time
from kvtrace.converters.profile.profile_sections import profile_sections
from kvtrace.converters.profile.profile_tables import ProfileTables, Row
from kvtrace.converters.profile.roofline import Position, Work, joined, position
from kvtrace.converters.source_lines import SourceLines
from kvtrace.figures.gaps import Gaps, read_gaps
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.makers import CUSTOM, OWN
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.times import Times, device_times, host_times
from kvtrace.figures.unevaluated import read_unevaluated
from kvtrace.figures.window import Window, windowed

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Measured:
    """Times taken while recording, in nanoseconds; None where nothing was timed.

    Launches in which the kernel was compiled or loaded are in `compiling_ns`, and in no other time
    of the host. `further` are figures that nothing asks for by name (`figures/kernels.py`).
    """

    host_ns: int | None
    host_median_ns: float | None
    compiling_launches: int
    compiling_ns: int | None
    device_ns: int | None
    device_median_ns: float | None
    device_executions: int
    further: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlopsByType:
    """FLOPs by element type: of dots (the type of their factors), and of all other ops."""

    dot: dict[str, int]
    other: dict[str, int]


@dataclass(frozen=True, slots=True)
class Derived:
    """Figures from evaluating the IR, summed over runs; None where unknown.

    `bytes` counts active lanes of loads, stores and atomics; where a mask depends on data that was
    not recorded, that access is left out and counted in `unknown_accesses`, so `bytes` is a lower
    bound. `unique_bytes` are the distinct bytes that each run reads and writes. `intensity` is
    FLOPs per byte, `mask_efficiency` the share of lanes that were active, `sector_efficiency` the
    share of the 32-byte sectors' bytes that were asked for, `reuse` how often an op asks for each
    byte. `bytes_per_second` and `flops_per_second` divide by the measured device time, where every
    call has some.
    """

    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    flops_by_type: FlopsByType | None
    bytes_per_launch: float | None
    flops_per_launch: float | None
    intensity: float | None
    mask_efficiency: float | None
    sector_efficiency: float | None
    reuse: float | None
    bytes_per_second: float | None
    flops_per_second: float | None
    unknown_accesses: int


@dataclass(frozen=True, slots=True)
class CallProfile:
    """A unique call of a kernel: its grid and the shapes of its tensors."""

    run: str
    call_id: int
    grid: tuple[int, int, int]
    tensors: tuple[str, ...]
    launches: int
    runs: int
    measured: Measured
    derived: Derived
    roofline: Position | None


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """A kernel (`kvtrace/figures/identity.py`) over all chosen runs of the program.

    Its own `runs` are its launches, where those that were captured into graphs count as often as
    the graphs were replayed.
    """

    name: str
    module: str | None
    file: str | None
    line: int | None
    launches: int
    runs: int
    tuning_launches: int
    compilations: int
    compile_ns: int | None
    measured: Measured
    derived: Derived
    roofline: Position | None
    calls: tuple[CallProfile, ...] = ()
    source: str | None = None

    @property
    def key(self) -> KernelKey:
        """The kernel's key."""
        return KernelKey(self.module or "", self.name, self.source or "")


@dataclass(frozen=True, slots=True)
class LineProfile:
    """A source line with the sums over its ops and all launches (derived)."""

    file: str
    line: int
    source: str | None
    kernels: tuple[str, ...]
    accesses: str
    bytes: int | None
    flops: int | None
    intensity: float | None
    mask_efficiency: float | None
    sector_efficiency: float | None
    reuse: float | None
    unknown_accesses: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Kernels by time (device time if recorded), and source lines by bytes.

    Attributes:
        window: The part of the runs that figures cover; None if nothing was timed.
        device: The device whose limits rooflines use; None if no limits are known.
        replayed: The table `ops` has rows.
        missing_calls: Launched calls without rows in `ops`, except of `not_evaluated` kernels.
        not_evaluated: A sentence: which kernels cannot be evaluated, and why.
        device_time: All that devices did; None without a device timeline.
        gaps: Causes of the devices' idle time; None without a device timeline.
        advice: What to try, the largest possible saving first.
        left_out: Replay's notes on figures that were skipped for their cost.
        sectors: Memory ops counted `by_compiled_layout` and `by_lane_order` (docs/accesses.md).
        sections: Add-ons' sections by name (`profile_sections.py`).

    """

    path: str
    runs: tuple[str, ...]
    device: ChosenDevice | None
    kernels: tuple[KernelProfile, ...]
    replayed: bool
    missing_calls: int
    not_evaluated: str | None = None
    window: Window | None = None
    device_time: DeviceTime | None = None
    gaps: Gaps | None = None
    advice: tuple[Advice, ...] = ()
    left_out: tuple[str, ...] = ()
    sectors: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[LineProfile, ...] = ()
    sections: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def has_times_alone(self) -> bool:
        """The trace was imported with times only, without arguments or IR."""
        rows = () if self.device_time is None else self.device_time.rows
        return {row.kind for row in rows if row.kind in OWN} == {CUSTOM}


def read_profile(
    trace: "Trace",
    runs: Sequence["Run"],
    *,
    calls: bool = False,
    lines: bool = False,
    device: str | None = None,
    times: tuple[Times, Times] | None = None,
    window: Window | None = None,
    part: RequestedPart = STEADY,
) -> Profile:
    """Read the profile of the runs.

    Args:
        trace: The trace, or a window of it.
        runs: The runs.
        calls: Add profiles of unique calls.
        lines: Add profiles of source lines.
        device: The device whose limits rooflines use; by default the recorded device, or a common
            one for the kernels' compile target.
        times: Host and device times that another engine summed; launches and executions are then
            not read. The profile covers whole runs, without idle times, unless there is a `window`.
        window: The window that `trace` and `times` cover.
        part: The part of the runs that figures cover; by default the steady part.

    Raises:
        BadSetting: the limits of `device` are not known, or there is no such part.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    whole = times is not None and window is None
    if times is None:
        trace, window = windowed(trace, runs, part)
        times = host_times(trace, runs), device_times(trace, runs)
    with ProfileTables(trace, runs, *times, calls=calls) as tables:
        chosen = chosen_device(device, _device_names(runs), tables.targets())
        by_kernel = tables.sums()
        flops = tables.flops()
        kernels, work = tables.kernels(), tables.work()
        shown = (
            [row["kernel"] for row in kernels] if calls or work else _kernels_for_advice(by_kernel)
        )
        by_call, places = tables.sums_of_calls(shown), tables.places(shown)
        by_line = tables.lines() if lines else []
        accesses = tables.accesses()
        replayed, missing = tables.coverage()
    flops_of = {key: _by(flops, key) for key in ("place", "kernel")}
    roofs = _positions(work, flops_of["place"], chosen)
    call_profiles = _call_profiles(places, by_call, work, flops_of["place"], roofs)
    profiles = [
        _kernel(
            row,
            by_kernel.get(row["kernel"], {}),
            flops_of["kernel"].get(row["kernel"], ()),
            call_profiles.get(row["kernel"], []),
        )
        for row in kernels
    ]
    time = None if whole else read_device_time(trace, runs, window, times[1])
    keys = {row["kernel"]: kernel.key for row, kernel in zip(kernels, profiles, strict=True)}
    by_key: dict[KernelKey, list[Row]] = {}
    for access in accesses:
        by_key.setdefault(keys[access["kernel"]], []).append(access)
    gaps = None if time is None else read_gaps(trace, runs)
    advice = read_advice(trace, runs, profiles, by_key, chosen, time, gaps)
    if not calls:
        profiles = [replace(kernel, calls=()) for kernel in profiles]
    source = SourceLines(trace, runs) if lines else None
    left_out, sectors = _replay_facts(trace, runs)
    unevaluated = read_unevaluated(trace, runs)
    return Profile(
        path=str(trace.path),
        runs=tuple(run.run_id for run in runs),
        device=chosen,
        kernels=tuple(sorted(profiles, key=_cost, reverse=True)),
        replayed=replayed,
        missing_calls=missing if unevaluated is None else max(0, missing - unevaluated.calls),
        not_evaluated=None if unevaluated is None else unevaluated.note,
        window=window,
        device_time=time,
        gaps=gaps,
        advice=advice,
        left_out=left_out,
        sectors=sectors,
        lines=tuple(_line(row, source) for row in by_line if source is not None),
        sections={name: section.read(trace, runs) for name, section in profile_sections().items()},
    )


def _kernels_for_advice(sums: Mapping[int, Row]) -> list[int]:
    """Return the kernels whose calls advice needs, if only times are known."""
    total = sum(row["device_ns"] or 0 for row in sums.values())
    return [
        kernel
        for kernel, row in sums.items()
        if row["tuning_launches"] or (row["device_ns"] or 0) >= IMPORTANT * total > 0
    ]


def profile_object(profile: Profile) -> dict[str, Any]:
    """Return the JSON form: the fields of `Profile`, as docs/profile.md describes them."""
    form = asdict(profile)
    if form["device"] is not None:
        for name in ("words", "has_caches", "targets"):
            del form["device"]["limits"][name]
    form |= form.pop("sections")
    for row in form["kernels"]:
        for entry in (row, *row["calls"]):
            entry["measured"] |= entry["measured"].pop("further")
    return form


def _device_names(runs: Sequence["Run"]) -> list[str]:
    names = [str(device["name"]) for run in runs for device in run.devices or () if device["name"]]
    return list(dict.fromkeys(names))


def _replay_facts(trace: "Trace", runs: Sequence["Run"]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return replay's notes, and the number of memory ops by the way sectors were counted."""
    notes: list[str] = []
    models: dict[str, int] = {}
    for run in runs:
        settings = trace.passes(run.run_id).get("profiler", {})
        notes += settings.get("left_out", [])
        for name, number in settings.get("sectors", {}).items():
            models[name] = models.get(name, 0) + number
    return tuple(notes), models


def _positions(
    work: Sequence[Row], flops: Mapping[int, Sequence[Row]], device: ChosenDevice | None
) -> dict[int, Position | None]:
    """Return the roofline position of each launched and replayed call, by `place`."""
    if device is None:
        return {}
    positions = {}
    for row in work:
        by_type = _flops_by_type(flops.get(row["place"], ()), once=True)
        unique = _whole(row["unique_bytes"])
        call_work = Work(
            unique_bytes=unique if row["accesses"] else 0,
            bytes=None if row["unknown"] else _whole(row["bytes"]) or 0,
            dots=by_type.dot,
            others=by_type.other,
        )
        positions[row["place"]] = position(call_work, device.limits, row["runs"])
    return positions


def _by(rows: Sequence[Row], key: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups


def _flops_by_type(flops: Sequence[Row], *, once: bool = False) -> FlopsByType:
    """Return the FLOPs of some calls by type, over all runs, or over one run per call (`once`)."""
    sums = FlopsByType({}, {})
    for row in flops:
        kind = sums.dot if row["dot"] else sums.other
        times = 1 if once else int(row["runs"])
        kind[row["dtype"]] = kind.get(row["dtype"], 0) + int(row["flops"]) * times
    return sums


def _kernel(
    row: Row, sums: Mapping[str, Any], flops: Sequence[Row], calls: Sequence[CallProfile]
) -> KernelProfile:
    measured = _measured(sums)
    by_type = _flops_by_type(flops)
    unique = [call.derived.unique_bytes for call in calls]
    roof = joined(call.roofline for call in calls)
    return KernelProfile(
        name=row["name"] or "",
        module=row["module"],
        file=row["file"],
        line=row["line"],
        launches=sums.get("launches") or 0,
        runs=_whole(sums.get("runs")) or 0,
        tuning_launches=sums.get("tuning_launches") or 0,
        compilations=row["compilations"],
        compile_ns=_whole(row["compile_ns"]),
        measured=measured,
        derived=_derived(sums, by_type, _total(unique)),
        roofline=_achieved(roof, sums),
        calls=tuple(calls),
        source=row["source"],
    )


def _call_profiles(
    places: Sequence[Row],
    sums: Mapping[int, Row],
    work: Sequence[Row],
    flops: Mapping[int, Sequence[Row]],
    roofs: Mapping[int, Position | None],
) -> dict[int, list[CallProfile]]:
    """Return the profiles of launched calls by kernel, the longest-running first."""
    moved = {row["place"]: row for row in work}
    profiles: dict[int, list[CallProfile]] = {}
    for row in places:
        number = row["place"]
        figures = sums.get(number, {})
        if not (figures.get("launches") or figures.get("runs")):
            continue
        measured = _measured(figures)
        unique = _whole(moved.get(number, {}).get("unique_bytes"))
        runs = _whole(figures.get("runs")) or 0
        profile = CallProfile(
            run=row["run"],
            call_id=row["call_id"],
            grid=tuple(row["grid"]),
            tensors=tuple(row["tensors"] or ()),
            launches=figures.get("launches") or 0,
            runs=runs,
            measured=measured,
            derived=_derived(
                figures,
                _flops_by_type(flops.get(number, ())),
                None if unique is None else unique * runs,
            ),
            roofline=_achieved(roofs.get(number), figures),
        )
        profiles.setdefault(row["kernel"], []).append(profile)
    for calls in profiles.values():
        calls.sort(key=_cost, reverse=True)
    return profiles


def _measured(sums: Mapping[str, Any]) -> Measured:
    return Measured(
        host_ns=sums.get("host_ns"),
        host_median_ns=sums.get("host_median_ns"),
        compiling_launches=sums.get("compiling_launches") or 0,
        compiling_ns=sums.get("compiling_ns"),
        device_ns=sums.get("device_ns"),
        device_median_ns=sums.get("device_median_ns"),
        device_executions=sums.get("device_executions") or 0,
        further={figure.name: figure.shown(sums) for figure in FURTHER},
    )


def _achieved(roof: Position | None, sums: Mapping[str, Any]) -> Position | None:
    """Return a roofline position with `achieved`: best time over measured time."""
    measured = sums.get("all_ns")
    return replace(roof, achieved=roof.best_ns / measured) if roof and measured else roof


def _derived(sums: Mapping[str, Any], by_type: FlopsByType, unique: int | None) -> Derived:
    runs = _whole(sums.get("replayed_runs"))
    is_known = bool(runs)
    moved = (_whole(sums.get("bytes")) or 0) if is_known else None
    flops = (_whole(sums.get("flops")) or 0) if is_known else None
    seconds = (sums.get("all_ns") or 0) / 1e9 if runs == _whole(sums.get("runs")) else 0
    return Derived(
        bytes=moved,
        unique_bytes=unique if is_known else None,
        flops=flops,
        flops_by_type=by_type if is_known else None,
        bytes_per_launch=_ratio(moved, runs),
        flops_per_launch=_ratio(flops, runs),
        intensity=_ratio(flops, moved),
        mask_efficiency=_mask_efficiency(sums),
        sector_efficiency=_sector_efficiency(sums),
        reuse=_reuse(sums),
        bytes_per_second=_ratio(moved, seconds),
        flops_per_second=_ratio(flops, seconds),
        unknown_accesses=_whole(sums.get("unknown")) or 0,
    )


def _line(row: Row, source: SourceLines) -> LineProfile:
    moved, flops = _whole(row["bytes"]), _whole(row["flops"])
    return LineProfile(
        file=row["file"],
        line=row["line"],
        source=source.text(row["file"], row["line"]),
        kernels=tuple(name or "" for name in row["kernels"] or ()),
        accesses=row["accesses"] or "",
        bytes=moved,
        flops=flops,
        intensity=_ratio(flops, moved),
        mask_efficiency=_mask_efficiency(row),
        sector_efficiency=_sector_efficiency(row),
        reuse=_reuse(row),
        unknown_accesses=row["unknown"],
    )


def _mask_efficiency(sums: Mapping[str, Any]) -> float | None:
    lanes, masked = _whole(sums.get("lanes")), _whole(sums.get("masked"))
    return None if not lanes or masked is None else 1 - masked / lanes


def _sector_efficiency(sums: Mapping[str, Any]) -> float | None:
    sectors = _whole(sums.get("sectors"))
    return _ratio(_whole(sums.get("sector_bytes")), None if sectors is None else 32 * sectors)


def _reuse(sums: Mapping[str, Any]) -> float | None:
    return _ratio(_whole(sums.get("unique_asked")), _whole(sums.get("unique_once")))


def _total(figures: Sequence[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known and len(known) == len(figures) else None


def _ratio(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _cost(profile: KernelProfile | CallProfile) -> tuple[int, int, int]:
    """Return the sort key of a profile: device time, since host time is that of launching."""
    measured = profile.measured
    return (measured.device_ns or 0, measured.host_ns or 0, profile.launches)
