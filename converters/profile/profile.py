"""Profile of a trace: time, bytes and FLOPs per kernel, per unique call and per source line.

Times are *measured* while recording. Bytes, FLOPs, lanes and sectors are *derived*: an evaluation
of the IR over the whole grid fills the table `ops`, and the sums here weigh each call by its runs:
its launches, or the replays of the graph that it was captured into. Launches of autotuners and
warm-ups are left out of all sums and counted apart. docs/profile.md says what every figure is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from kvtrace.converters.notes import read_unevaluated
from kvtrace.converters.profile.advice import IMPORTANT, read_advice
from kvtrace.converters.profile.device_limits import (
    ChosenDevice,
    Position,
    chosen_device,
    joined,
    position,
    recorded_names,
)
from kvtrace.converters.profile.lost_time import kernel_headlines
from kvtrace.converters.profile.profile_model import (
    CallProfile,
    Derived,
    FlopsByType,
    KernelProfile,
    LineProfile,
    Measured,
    Profile,
    profile_sections,
)
from kvtrace.converters.profile.profile_tables import (
    ProfileTables,
    Row,
    launch_work,
    mask_efficiency,
    ratio,
    rows_by,
    sector_efficiency,
)
from kvtrace.converters.profile.stated_work import StatedFigures
from kvtrace.converters.source_lines import SourceLines
from kvtrace.figures.columns import sum_if_all_known
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.part_figures import PartFigures, open_figures
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.schema.layout import IMPORT_UNCERTAIN
from kvtrace.schema.trace import Run, Trace


def read_profile(
    trace: Trace, runs: Sequence[Run], part: RequestedPart = STEADY, **options: Any
) -> Profile:
    """Return `profile_of` a part of the runs, by default the steady one, with its options.

    Raises:
        BadSetting: as `profile_of`, or there is no such part.

    """
    return profile_of(open_figures(trace, runs, part), **options)


def profile_of(
    figures: PartFigures,
    *,
    calls: bool = False,
    lines: bool = False,
    sections: bool = True,
    device: str | None = None,
) -> Profile:
    """Return the profile of a part of runs: kernels by time, and optional calls and source lines.

    Args:
        figures: The figures of the part.
        calls: Add profiles of unique calls.
        lines: Add profiles of source lines.
        sections: Add the add-ons' sections.
        device: The device whose limits rooflines use; by default the recorded device, or a common
            one for the kernels' compile target.

    Raises:
        BadSetting: the limits of `device` are not known.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    trace, runs = figures.trace, figures.runs
    device_time, gaps, launch_costs = figures.device_time, figures.gaps, figures.launch_costs
    ranks, graph_replays, by_call = figures.ranks, figures.graph_replays, figures.by_call
    executed = {} if device_time is None else device_time.kernel_rows
    added = {
        name: section.read(trace, runs)
        for name, section in (profile_sections() if sections else {}).items()
    }
    medians = figures.launched.kernels, figures.executed.kernels
    with ProfileTables(trace, runs, by_call, medians, calls=calls) as tables:
        chosen_limits = chosen_device(device, recorded_names(runs), tables.targets())
        sums_by_kernel = tables.sums()
        flops = tables.flops()
        kernels, work = tables.kernels(), tables.work()
        kernels_with_calls = (
            [row["kernel"] for row in kernels]
            if calls or work
            else _kernels_for_advice(sums_by_kernel)
        )
        sums_by_call, places = (
            tables.sums_of_calls(kernels_with_calls),
            tables.places(kernels_with_calls),
        )
        line_sums = tables.lines() if lines else []
        accesses, stated = tables.accesses(), tables.stated()
        replayed, missing_calls = tables.coverage()
    flops_of = {key: rows_by(flops, key) for key in ("place", "kernel")}
    rooflines = _positions(work, flops_of["place"], chosen_limits)
    call_profiles = _call_profiles(places, sums_by_call, work, flops_of["place"], rooflines)
    profiles = [
        _kernel_profile(
            row,
            sums_by_kernel.get(row["kernel"], {}),
            flops_of["kernel"].get(row["kernel"], ()),
            call_profiles.get(row["kernel"], []),
            stated.get(row["kernel"]),
        )
        for row in kernels
    ]
    keys_by_number = {
        row["kernel"]: kernel.key for row, kernel in zip(kernels, profiles, strict=True)
    }
    accesses_by_key: dict[KernelKey, list[Row]] = {}
    for access in accesses:
        accesses_by_key.setdefault(keys_by_number[access["kernel"]], []).append(access)
    advice = read_advice(trace, runs, profiles, accesses_by_key, chosen_limits, device_time, gaps)
    headlines = kernel_headlines(profiles, executed, advice, launch_costs, chosen_limits)
    profiles = [replace(kernel, headline=headlines[kernel.key]) for kernel in profiles]
    if not calls:
        profiles = [replace(kernel, calls=()) for kernel in profiles]
    left_out, sectors = _replay_facts(trace, runs)
    unevaluated = read_unevaluated(trace, runs)
    return Profile(
        path=str(trace.path),
        runs=tuple(run.run_id for run in runs),
        device=chosen_limits,
        kernels=tuple(sorted(profiles, key=_sort_key, reverse=True)),
        replayed=replayed,
        missing_calls=missing_calls
        if unevaluated is None
        else max(0, missing_calls - unevaluated.calls),
        not_evaluated=None if unevaluated is None else "; ".join(unevaluated.notes()),
        window=figures.window,
        device_time=device_time,
        gaps=gaps,
        ranks=ranks,
        launch_costs=launch_costs,
        advice=advice,
        left_out=left_out,
        sectors=sectors,
        lines=_line_profiles(trace, runs, line_sums) if lines else (),
        on_host=not any(run.devices or run.source for run in runs),
        imported=all(run.source for run in runs),
        uncertain=_import_warnings(trace, runs),
        graph_replays=graph_replays,
        sections=added,
    )


def _kernels_for_advice(sums: Mapping[int, Row]) -> list[int]:
    """Return the numbers of the kernels that advice is given on, where only times are known.

    `sums` has each kernel's times by its number. Kernels with autotuning trials are included, and
    those with at least `IMPORTANT` of the device time.
    """
    total = sum(row["device_ns"] or 0 for row in sums.values())
    return [
        kernel
        for kernel, row in sums.items()
        if row["tuning_launches"] or (row["device_ns"] or 0) >= IMPORTANT * total > 0
    ]


def _import_warnings(trace: Trace, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the sentences on what makes figures of imported runs uncertain, each once."""
    imported = [run for run in runs if run.source]
    if not imported:
        return ()
    rows = trace.table("messages", imported, ["code", "text"])
    texts = rows.filter(pc.equal(rows["code"].cast("string"), IMPORT_UNCERTAIN))["text"]
    return tuple(dict.fromkeys(texts.cast("string").to_pylist()))


def _replay_facts(trace: Trace, runs: Sequence[Run]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return replay's notes on skipped figures, and the number of memory ops by sector model.

    Both are read from the settings that the replay of each run recorded.
    """
    notes: list[str] = []
    ops_by_model: dict[str, int] = {}
    for run in runs:
        settings = trace.passes(run.run_id, "profiler").get("profiler", {})
        notes += settings.get("left_out", [])
        for sector_model, op_count in settings.get("sectors", {}).items():
            ops_by_model[sector_model] = ops_by_model.get(sector_model, 0) + op_count
    return tuple(notes), ops_by_model


def _positions(
    work: Sequence[Row], flops: Mapping[int, Sequence[Row]], device: ChosenDevice | None
) -> dict[int, Position | None]:
    """Return the roofline position of each call of `work`, by its `place`; {} without a device.

    `flops` has the calls' FLOPs by `place`, a row per element type.
    """
    if device is None:
        return {}
    return {
        row["place"]: position(
            launch_work(row, flops.get(row["place"], ())), device.limits, row["runs"]
        )
        for row in work
    }


def _flops_by_type(flops: Sequence[Row]) -> FlopsByType:
    """Return the FLOPs of some calls by type, over all runs."""
    sums = FlopsByType({}, {})
    for row in flops:
        sums_by_dtype = sums.dot if row["dot"] else sums.other
        sums_by_dtype[row["dtype"]] = sums_by_dtype.get(row["dtype"], 0) + int(
            row["flops"] * row["runs"]
        )
    return sums


def _kernel_profile(
    row: Row,
    sums: Mapping[str, Any],
    flops: Sequence[Row],
    calls: Sequence[CallProfile],
    stated: StatedFigures | None,
) -> KernelProfile:
    measured = _measured(sums)
    by_type = _flops_by_type(flops)
    unique_bytes = [call.derived.unique_bytes for call in calls]
    roofline = joined(call.roofline for call in calls)
    return KernelProfile(
        name=row["name"] or "",
        module=row["module"],
        file=row["file"],
        line=row["line"],
        launches=sums.get("launches") or 0,
        runs=sums.get("runs") or 0,
        tuning_launches=sums.get("tuning_launches") or 0,
        compilations=row["compilations"],
        compile_ns=row["compile_ns"],
        measured=measured,
        derived=_derived(sums, by_type, sum_if_all_known(unique_bytes)),
        roofline=_with_achieved(roofline, sums),
        calls=tuple(calls),
        source=row["source"],
        stated=stated,
    )


def _call_profiles(
    places: Sequence[Row],
    sums: Mapping[int, Row],
    work: Sequence[Row],
    flops: Mapping[int, Sequence[Row]],
    roofs: Mapping[int, Position | None],
) -> dict[int, list[CallProfile]]:
    """Return the profiles of launched calls by kernel number, the longest-running first.

    Args:
        places: rows of unique calls; `place` is the number of a call in the other arguments.
        sums: times and work over all launches, by `place`.
        work: rows with the distinct bytes of one launch of a call.
        flops: rows of FLOPs by `place`.
        roofs: roofline positions by `place`.
    """
    work_by_call = {row["place"]: row for row in work}
    profiles: dict[int, list[CallProfile]] = {}
    for row in places:
        call_number = row["place"]
        figures = sums.get(call_number, {})
        if not (figures.get("launches") or figures.get("runs")):
            continue
        measured = _measured(figures)
        unique_bytes = work_by_call.get(call_number, {}).get("unique_bytes")
        runs = figures.get("runs") or 0
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
                _flops_by_type(flops.get(call_number, ())),
                None if unique_bytes is None else unique_bytes * runs,
            ),
            roofline=_with_achieved(roofs.get(call_number), figures),
        )
        profiles.setdefault(row["kernel"], []).append(profile)
    for calls in profiles.values():
        calls.sort(key=_sort_key, reverse=True)
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


def _with_achieved(roof: Position | None, sums: Mapping[str, Any]) -> Position | None:
    """Return a roofline position with `achieved`: roofline time over measured device time.

    It is returned unchanged where the device time of some launches is not known.
    """
    device_ns = sums.get("all_ns")
    return replace(roof, achieved=roof.best_ns / device_ns) if roof and device_ns else roof


def _derived(sums: Mapping[str, Any], by_type: FlopsByType, unique_bytes: int | None) -> Derived:
    runs = sums.get("replayed_runs")
    is_replayed = bool(runs)
    moved_bytes = (sums.get("bytes") or 0) if is_replayed else None
    flops = (sums.get("flops") or 0) if is_replayed else None
    seconds = (sums.get("all_ns") or 0) / 1e9 if runs == sums.get("runs") else 0
    return Derived(
        bytes=moved_bytes,
        unique_bytes=unique_bytes if is_replayed else None,
        flops=flops,
        flops_by_type=by_type if is_replayed else None,
        bytes_per_launch=ratio(moved_bytes, runs),
        flops_per_launch=ratio(flops, runs),
        intensity=ratio(flops, moved_bytes),
        mask_efficiency=mask_efficiency(sums),
        sector_efficiency=sector_efficiency(sums),
        reuse=ratio(sums.get("unique_asked"), sums.get("unique_once")),
        bytes_per_second=ratio(moved_bytes, seconds),
        flops_per_second=ratio(flops, seconds),
        unknown_accesses=sums.get("unknown") or 0,
    )


def _line_profiles(
    trace: Trace, runs: Sequence[Run], rows: Sequence[Row]
) -> tuple[LineProfile, ...]:
    if not rows:
        return ()
    from kvtrace.converters.line_layouts import LineLayouts  # it imports readers of IR

    source, layouts = SourceLines(trace, runs), LineLayouts(trace, runs)
    return tuple(
        LineProfile(
            file=row["file"],
            line=row["line"],
            source=source.text(row["file"], row["line"]),
            kernels=tuple(name or "" for name in row["kernels"] or ()),
            accesses=row["accesses"] or "",
            bytes=row["bytes"],
            flops=row["flops"],
            intensity=ratio(row["flops"], row["bytes"]),
            mask_efficiency=mask_efficiency(row),
            sector_efficiency=sector_efficiency(row),
            reuse=ratio(row["unique_asked"], row["unique_once"]),
            unknown_accesses=row["unknown"],
            layout=layouts.at((row["file"], row["line"]), row["variants"]),
        )
        for row in rows
    )


def _sort_key(profile: KernelProfile | CallProfile) -> tuple[int, int, int, int]:
    measured, moved_bytes = profile.measured, profile.derived.bytes
    return (measured.device_ns or 0, measured.host_ns or 0, moved_bytes or 0, profile.launches)
