"""Performance advice on the kernels that take most time, each piece with the figures behind it.

Each rule has a threshold, below which the loss is too small to report; kernels that take less than
`IMPORTANT` of all time get no advice. A figure is measured (taken while the program ran), derived
(computed from the IR) or assumed (from a data sheet, for a device that was not recorded).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.autotune import Tuning, read_tunings
from kvtrace.converters.profile.device_limits import ChosenDevice, occupancy_of
from kvtrace.converters.profile.lost_time import collects_in_recording, lost_time
from kvtrace.converters.profile.profile_model import Advice, Figure, KernelProfile
from kvtrace.converters.profile.recompiles import Recompile, has_recompiles, read_recompiles
from kvtrace.figures.device_time import DeviceTime
from kvtrace.figures.gaps import Gaps
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.tables import known_rows
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import duration, percent, plural

#: Kernels with a smaller share of all time get no advice.
IMPORTANT: Final = 0.03
_LEAST_SAVING: Final = 0.01
_LEAST_SHARE_OF_BYTES: Final = 0.1
#: Elements per 32-byte sector, on average, below which an access is uncoalesced: (nearly) each
#: element has its own sector. An access that the compiler splits for lack of known divisibility
#: has two or more elements per sector.
_ELEMENTS_PER_SECTOR: Final = 1.5
_LANES_OFF: Final = 0.4
_FEW_WARPS: Final = 0.25
#: Thresholds of a redundant load: loads per byte, and time without caches over the roofline time.
_REUSE: Final = 8.0
_UNCACHED_SLOWDOWN: Final = 2.0
#: Threshold of the idle share of the device, over a launch's waves, for advice on the last wave.
_IDLE_IN_LAST_WAVE: Final = 0.25
#: Share of the roofline above which fuller waves have nothing to gain.
_NEAR_ROOFLINE: Final = 0.6
_MOST_WAVES: Final = 4
_MANY_RECOMPILES: Final = 4
#: Configurations whose times differ by a smaller share count as equally fast.
_EQUALLY_FAST: Final = 0.03
_LEAST_TRIALS: Final = 3


def read_advice(
    trace: Trace,
    runs: Sequence[Run],
    kernels: Sequence[KernelProfile],
    accesses: Mapping[KernelKey, Sequence[Mapping[str, Any]]],
    device: ChosenDevice | None,
    time: DeviceTime | None,
    gaps: Gaps | None = None,
) -> tuple[Advice, ...]:
    """Return pieces of advice, the largest possible saving first; errors as `Trace.table`.

    Args:
        trace: the trace, or a window of it.
        runs: the runs to advise on.
        kernels: profiles of the kernels, with calls.
        accesses: rows of `ProfileTables.accesses`, by the kernel's key.
        device: the device whose limits kernels are compared with; None: unknown.
        time: all that devices did; None without device times.
        gaps: causes of the devices' idle time; None: unknown.
    """
    shares = _shares(kernels)
    important_kernels = [k for k in kernels if shares.get(k.key, 0.0) >= IMPORTANT]
    has_trials = any(kernel.tuning_launches for kernel in kernels)
    keys = {k.key for k in (*important_kernels, *(k for k in kernels if k.tuning_launches))}
    variants = _variants(trace, runs, keys) if keys else {}
    advice: list[Advice] = []
    caches = device is None or device.limits.has_caches
    for kernel in important_kernels:
        kernel_advice = [
            *_access_advice(kernel, accesses.get(kernel.key, ()), caches),
            *_variant_advice(kernel, variants.get(kernel.key, ()), device),
        ]
        advice += [
            replace(piece, module=kernel.module, source=kernel.source) for piece in kernel_advice
        ]
    if has_recompiles(trace, runs, _MANY_RECOMPILES):
        advice += _recompile_advice(read_recompiles(trace, runs))
    if has_trials:
        sources = {
            (row["run"], row["kernel_id"]): key.source
            for key, rows in variants.items()
            for row in rows
        }
        steady_medians = _steady_medians(kernels, variants)
        advice += _tuning_advice(read_tunings(trace, runs), steady_medians, sources)
    if time is not None and time.busy.span_ns:
        advised = {piece.key for piece in advice if piece.key is not None}
        is_idle = gaps is not None and gaps.by_cause.get("collect", 0) > 0
        in_recording = is_idle and collects_in_recording(trace, runs)
        advice += lost_time(kernels, time, gaps, advised, in_recording=in_recording)
        least_ns = _LEAST_SAVING * time.busy.span_ns
        advice = [piece for piece in advice if piece.cost_ns is None or piece.cost_ns >= least_ns]
    return tuple(sorted(advice, key=lambda piece: -(piece.cost_ns or 0)))


def _shares(kernels: Sequence[KernelProfile]) -> dict[KernelKey, float]:
    """Return each kernel's share in the total device time, by key.

    Without device times it is the share in the roofline times, and without these in the bytes.
    """
    for values in (
        {k.key: k.measured.device_ns or 0 for k in kernels},
        {k.key: k.roofline.best_ns if k.roofline else 0 for k in kernels},
        {k.key: k.derived.bytes or 0 for k in kernels},
    ):
        total = sum(values.values())
        if total:
            return {key: value / total for key, value in values.items()}
    return {}


# -- accesses -------------------------------------------------------------------------------------


_Location = tuple[str, str | None, int | None]


def _access_advice(
    kernel: KernelProfile, accesses: Sequence[Mapping[str, Any]], caches: bool
) -> Iterator[Advice]:
    sector_bytes = sum(int(row["sectors"] or 0) * 32 for row in accesses)
    requested_bytes = sum(int(row["bytes"] or 0) for row in accesses)
    wasteful_rows: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for row in accesses:
        location = (kernel.name, row["file"], row["line"])
        moved_bytes, used_bytes = int(row["sectors"] or 0) * 32, int(row["sector_bytes"] or 0)
        uncoalesced_bytes = _ELEMENTS_PER_SECTOR * _element_bytes(row["dtype"]) * (moved_bytes / 32)
        if (
            used_bytes < uncoalesced_bytes
            and moved_bytes - used_bytes > _LEAST_SHARE_OF_BYTES * sector_bytes
        ):
            wasteful_rows.setdefault((row["kind"], row["file"]), []).append(row)
        yield from _redundant_load_advice(kernel, row, location, requested_bytes, caches)
    for rows in wasteful_rows.values():
        yield _uncoalesced_advice(kernel, rows, sector_bytes)
    yield from _masked_off_advice(kernel, accesses, requested_bytes)


def _uncoalesced_advice(
    kernel: KernelProfile, rows: Sequence[Mapping[str, Any]], sector_bytes: int
) -> Advice:
    """Return the advice on the uncoalesced accesses of one kind, at the line of the first."""
    moved_bytes = sum(int(row["sectors"]) * 32 for row in rows)
    used_bytes = sum(int(row["sector_bytes"] or 0) for row in rows)
    used_share, kind = percent(used_bytes / moved_bytes), rows[0]["kind"]
    lines = ", ".join(str(line) for line in sorted({row["line"] for row in rows if row["line"]}))
    if len(rows) == 1:
        use = f"the {kind} uses {used_share} of the 32-byte sectors that it requests"
    else:
        accesses = f"{len(rows)} {kind}s" + (f" in lines {lines}" if "," in lines else "")
        use = f"{accesses} use {used_share} of the 32-byte sectors that they request"
    return Advice(
        "uncoalesced", kernel.name, rows[0]["file"], rows[0]["line"],
        f"{use}: let neighboring lanes touch neighboring elements (the order of the block's axes, "
        "or a transposed copy)",
        (
            Figure("share of sectors' bytes requested", used_share, "derived"),
            Figure("share of the kernel's sectors", percent(moved_bytes / sector_bytes), "derived"),
        ),
        _share_of_device_time(kernel, (moved_bytes - used_bytes) / sector_bytes),
    )  # fmt: skip


def _element_bytes(dtype: str | None) -> int:
    bits = re.search(r"\d+", dtype or "")
    return max(int(bits[0]) // 8, 1) if bits else 4


def _masked_off_advice(
    kernel: KernelProfile, accesses: Sequence[Mapping[str, Any]], requested: int
) -> Iterator[Advice]:
    """Yield advice if every access with enough bytes has at least `_LANES_OFF` of its lanes off.

    `requested` are the kernel's bytes. The advice is on the access with most bytes.
    """
    large_accesses = [
        row for row in accesses if int(row["bytes"] or 0) > _LEAST_SHARE_OF_BYTES * requested
    ]
    shares = [
        int(row["masked"] or 0) / int(row["lanes"]) if row["lanes"] else 0 for row in large_accesses
    ]
    if not large_accesses or min(shares) < _LANES_OFF:
        return
    share_off, row = max(
        zip(shares, large_accesses, strict=True), key=lambda pair: int(pair[1]["bytes"])
    )
    yield Advice(
        "masked-off", kernel.name, row["file"], row["line"],
        f"{percent(share_off)} of the lanes of this {row['kind']} are masked off, and at least "
        f"{percent(min(shares))} of every large access: use a smaller block, or several rows in "
        "one program",
        (Figure("lanes off", percent(share_off), "derived"),),
    )  # fmt: skip


def _redundant_load_advice(
    kernel: KernelProfile,
    row: Mapping[str, Any],
    location: _Location,
    requested: int,
    caches: bool,
) -> Iterator[Advice]:
    """Yield advice if `row` is a load that reads each byte many times and bounds the kernel.

    If the device has `caches`, only where its requests take much longer than the roofline time.
    `requested` are the kernel's bytes.
    """
    unique_bytes, loaded_bytes = int(row["unique_once"] or 0), int(row["unique_asked"] or 0)
    roofline = kernel.roofline
    if (
        row["kind"] != "load"
        or not unique_bytes
        or roofline is None
        or roofline.uncached_ns is None
    ):
        return
    if loaded_bytes < _REUSE * unique_bytes or loaded_bytes < 0.5 * requested:
        return
    if caches and roofline.uncached_ns < _UNCACHED_SLOWDOWN * roofline.best_ns:
        return
    if roofline.bound == "compute" or kernel.derived.flops_by_type is None:
        return
    if caches and kernel.derived.flops_by_type.dot:  # tiles of products are loaded again by design
        return
    remedy = (
        "caches must serve these loads; load it once and keep it"
        if caches
        else "load it once and keep it"
    )
    yield Advice(
        "redundant-load", *location,
        f"each byte is loaded {loaded_bytes / unique_bytes:.0f} times: {remedy}, or let one "
        "program do more of the work on it",
        (
            Figure("loads of a byte", f"{loaded_bytes / unique_bytes:.1f}", "derived"),
            Figure("time of all bytes over time at best",
                   f"{roofline.uncached_ns / roofline.best_ns:.1f}", "derived"),
        ),
    )  # fmt: skip


def _share_of_device_time(kernel: KernelProfile, share: float) -> float | None:
    """Return `share` of the kernel's device time, in ns; None if unknown or bounded by compute."""
    measured = kernel.measured.device_ns
    if measured is None or kernel.roofline is None or kernel.roofline.bound == "compute":
        return None
    return measured * share


# -- variants and their launches ------------------------------------------------------------------


def _variants(
    trace: Trace, runs: Sequence[Run], keys: Collection[KernelKey]
) -> dict[KernelKey, list[dict[str, Any]]]:
    """Return the rows of `kernels` with the given keys, by key.

    Each row has an added entry `calls`: the number of programs of each call, by run and call id.
    """
    kernel_columns = (
        "kernel_id", "module", "name", "target", "num_warps", "registers", "spills", "shared_bytes",
        "file", "line", "source",
    )  # fmt: skip
    kernels = known_rows(trace, runs, "kernels", kernel_columns)
    names = without_dictionary(pc.fill_null(without_dictionary(kernels["name"]), ""))
    kernels = kernels.filter(pc.is_in(names, pa.array({key.name for key in keys}, pa.string())))
    variants: dict[KernelKey, list[dict[str, Any]]] = {}
    by_id: dict[tuple[str, int], dict[str, Any]] = {}
    for row in kernels.to_pylist():
        key = KernelKey.of(row["module"], row["name"], row["source"])
        if key not in keys:
            continue
        row["calls"] = {}
        by_id[row["run"], row["kernel_id"]] = row
        variants.setdefault(key, []).append(row)
    call_columns = ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z")
    calls = known_rows(trace, runs, "calls", call_columns)
    ids = pa.array({kernel_id for _, kernel_id in by_id}, calls.schema.field("kernel_id").type)
    for call in calls.filter(pc.is_in(calls["kernel_id"], ids)).to_pylist():
        variant = by_id.get((call["run"], call["kernel_id"]))
        if variant is not None:
            # A file may have a negative size, which `trace validate` reports.
            sizes = (max(call[axis] or 1, 1) for axis in ("grid_x", "grid_y", "grid_z"))
            variant["calls"][call["run"], call["call_id"]] = prod(sizes)
    return variants


def _variant_advice(
    kernel: KernelProfile, variants: Sequence[Mapping[str, Any]], device: ChosenDevice | None
) -> Iterator[Advice]:
    launched = {(call.run, call.call_id): call for call in kernel.calls}
    launched_variants = [v for v in variants if not launched.keys().isdisjoint(v["calls"])]
    location = (kernel.name, kernel.file, kernel.line)
    spilling = [v for v in launched_variants if v["spills"]]
    if spilling:
        words = max(v["spills"] for v in spilling)
        yield Advice(
            "spills", *location,
            f"{plural(words, 'word')} of a thread's registers are kept in local memory: use a "
            "smaller tile, more warps, or fewer stages",
            (Figure("spilled words", f"{words:,}", "measured"),),
        )  # fmt: skip
    yield from _occupancy_advice(kernel, launched_variants, location)
    if device is not None and device.limits.multiprocessors:
        yield from _tail_wave_advice(kernel, launched_variants, launched, device, location)


def _occupancy_advice(
    kernel: KernelProfile, variants: Sequence[Mapping[str, Any]], location: _Location
) -> Iterator[Advice]:
    by_type = kernel.derived.flops_by_type
    if kernel.roofline is None or kernel.roofline.bound == "compute":
        return
    if by_type is None or by_type.dot:  # kernels with dots hide latency in other ways
        return
    for variant in variants:
        occupancy = occupancy_of(variant)
        if occupancy is None or occupancy.share > _FEW_WARPS:
            continue
        yield Advice(
            "low-occupancy", *location,
            f"{occupancy.warps} of {occupancy.of} warps fit on a multiprocessor, limited by "
            f"{occupancy.limited_by}: too few to hide memory latency",
            (
                Figure("occupancy", percent(occupancy.share), "derived"),
                Figure("registers", f"{variant['registers']}", "measured"),
            ),
        )  # fmt: skip
        return


def _tail_wave_advice(
    kernel: KernelProfile,
    variants: Sequence[Mapping[str, Any]],
    launched: Mapping[tuple[str, int], Any],
    device: ChosenDevice,
    location: _Location,
) -> Iterator[Advice]:
    """Yield advice if the last wave of programs of a call leaves much of the device idle.

    Considered are calls with at least half of the kernel's launches (`launched`: its call profiles
    by run and call id). The one with the largest idle share is reported.
    """
    largest_idle: tuple[float, int, int] | None = None
    runs = sum(call.runs for call in launched.values())
    if kernel.roofline is not None and (kernel.roofline.achieved or 0) > _NEAR_ROOFLINE:
        return
    for variant in variants:
        occupancy = occupancy_of(variant)
        if occupancy is None:
            continue
        programs_at_once = occupancy.blocks(variant["num_warps"]) * (
            device.limits.multiprocessors or 0
        )
        for key, programs in variant["calls"].items():
            call = launched.get(key)
            if call is None or not programs_at_once or call.runs < 0.5 * runs:
                continue
            waves = -(-programs // programs_at_once)
            idle_share = 1 - programs / (waves * programs_at_once)
            if (
                1 < waves <= _MOST_WAVES
                and idle_share > _IDLE_IN_LAST_WAVE
                and (largest_idle is None or idle_share > largest_idle[0])
            ):
                largest_idle = (idle_share, programs, programs_at_once)
    if largest_idle is None:
        return
    idle_share, programs, programs_at_once = largest_idle
    yield Advice(
        "tail-wave", *location,
        f"{programs_at_once:,} of {programs:,} programs run at once, and the last wave is not "
        f"full: the device is {percent(idle_share)} idle; use fewer, larger programs, or "
        "persistent ones",
        (
            Figure("programs", f"{programs:,}", "measured"),
            Figure("programs at once", f"{programs_at_once:,}",
                   "assumed" if device.how == "assumed" else "derived"),
        ),
        None if kernel.measured.device_ns is None else kernel.measured.device_ns * idle_share,
    )  # fmt: skip


# -- the program ----------------------------------------------------------------------------------


def _recompile_advice(recompiles: Sequence[Recompile]) -> Iterator[Advice]:
    by_kernel: dict[KernelKey, list[Recompile]] = {}
    for recompile in recompiles:
        by_kernel.setdefault(recompile.key, []).append(recompile)
    for key, group in by_kernel.items():
        kernel, file = group[0].kernel, group[0].file
        if all(recompile.compile_begin is None and recompile.compile_ns for recompile in group):
            continue  # compiled outside of the window
        values_by_fact: dict[str, set[str | None]] = {}
        for recompile in group:
            if len(recompile.changes) == 1:
                values_by_fact.setdefault(recompile.changes[0].what, set()).add(
                    recompile.changes[0].after
                )
        for fact, values_after in values_by_fact.items():
            if len(values_after) < _MANY_RECOMPILES or fact.startswith(("num_", "option ")):
                continue  # options differ because an autotuner tries them
            caused_by_fact = [
                recompile for recompile in group if [c.what for c in recompile.changes] == [fact]
            ]
            compile_ns = sum(recompile.compile_ns or 0 for recompile in caused_by_fact)
            yield Advice(
                "recompiles", kernel, file, None,
                f"compiled again for {len(values_after)} values of {fact}: pass it as a number "
                "that is not specialized (no tl.constexpr, do_not_specialize), or round it to few "
                "values",
                (
                    Figure("variants", f"{len(group)}", "measured"),
                    Figure("time to compile them", duration(compile_ns), "measured"),
                ),
                float(compile_ns), key.module, key.source,
            )  # fmt: skip


def _steady_medians(
    kernels: Sequence[KernelProfile],
    variants: Mapping[KernelKey, Sequence[Mapping[str, Any]]],
) -> dict[tuple[str, int], float]:
    """Return the least of the median device times of each variant's calls, in ns.

    Keys are run and kernel id. Autotuning trials are not in the medians; variants without timed
    calls have no entry.
    """
    medians: dict[tuple[str, int], float] = {}
    for kernel in kernels:
        calls = {(call.run, call.call_id): call.measured.device_median_ns for call in kernel.calls}
        for variant in variants.get(kernel.key, ()):
            call_medians = [
                time for key in variant["calls"] if (time := calls.get(key)) is not None
            ]
            if call_medians:
                medians[variant["run"], variant["kernel_id"]] = min(call_medians)
    return medians


def _tuning_advice(
    tunings: Sequence[Tuning],
    steady: Mapping[tuple[str, int], float],
    sources: Mapping[tuple[str, int], str],
) -> Iterator[Advice]:
    """Yield advice on configurations; `steady` and `sources` are by run and kernel id."""
    for tuning in tunings:
        timed_trials = [t for t in tuning.trials if t.median_ns and t.launches >= _LEAST_TRIALS]
        chosen = next((t for t in timed_trials if t.kept), None)
        if len(timed_trials) < 2 or chosen is None or chosen.median_ns is None:
            continue
        chosen_ns = min(
            chosen.median_ns, steady.get((tuning.run, chosen.kernel_id), chosen.median_ns)
        )
        fastest_ns = min(t.median_ns for t in timed_trials if t.median_ns)
        slowest_ns = max(t.median_ns for t in timed_trials if t.median_ns)
        location = (tuning.kernel, tuning.file, None)
        if chosen_ns > fastest_ns * (1 + 5 * _EQUALLY_FAST):
            yield Advice(
                "autotune-choice", *location,
                f"the chosen configuration takes {duration(chosen_ns)} for these arguments, "
                f"another one {duration(fastest_ns)}: add an argument that distinguishes them to "
                "the autotuner's key",
                (Figure("kept", duration(chosen_ns), "measured"),
                 Figure("fastest", duration(fastest_ns), "measured")),
                module=tuning.module, source=sources.get((tuning.run, chosen.kernel_id)),
            )  # fmt: skip
        elif slowest_ns < fastest_ns * (1 + _EQUALLY_FAST):
            yield Advice(
                "autotune-noise", *location,
                f"{len(timed_trials)} configurations are equally fast within "
                f"{percent(slowest_ns / fastest_ns - 1)}: keep one, and skip the trials",
                (Figure("fastest", duration(fastest_ns), "measured"),
                 Figure("slowest", duration(slowest_ns), "measured")),
                module=tuning.module, source=sources.get((tuning.run, chosen.kernel_id)),
            )  # fmt: skip
