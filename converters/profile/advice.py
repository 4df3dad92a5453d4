"""Performance advice on the kernels that take most time, each piece with the figures behind it.

Each rule has a threshold from which on the figure costs more than it is worth to look at; kernels
that take less than `IMPORTANT` of all time are left alone. A figure is measured (taken while the
program ran), derived (worked out from the IR) or assumed (a data sheet's, for a device that was not
recorded).
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.advice_model import Advice, Figure
from kvtrace.converters.profile.autotune import Tuning, read_tunings
from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.profile.device_time import DeviceTime
from kvtrace.converters.profile.lost_time import lost_time
from kvtrace.converters.profile.occupancy import occupancy_of
from kvtrace.converters.profile.recompiles import Recompile, read_recompiles
from kvtrace.figures.gaps import Gaps
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.tables import known_rows
from kvtrace.schema.columns import without_dictionary
from kvtrace.text import duration, percent, plural

if TYPE_CHECKING:
    from kvtrace.converters.profile.profile import KernelProfile
    from kvtrace.schema.trace import Run, Trace

#: Kernels with a smaller share of all time are left alone.
IMPORTANT: Final = 0.03
#: Advice that would save a smaller share of the time is left out.
_LITTLE: Final = 0.01
#: Accesses with a smaller share of their kernel's bytes are left alone.
_PART: Final = 0.1
#: Elements per 32-byte sector, on average, below which an access is uncoalesced: (nearly) each
#: element has its own sector. An access that the compiler splits for lack of known divisibility
#: has two or more elements per sector.
_ALONE: Final = 1.5
_LANES_OFF: Final = 0.4
_FEW_WARPS: Final = 0.25
#: Loads of each byte, and time of all loads over the best time, from which a load is redundant.
_REUSE: Final = 8.0
_UNCACHED: Final = 2.0
#: Share of a launch that the last wave leaves idle, from which advice is given.
_TAIL: Final = 0.25
#: Share of the roofline above which fuller waves have nothing to gain.
_FAST: Final = 0.6
_MOST_WAVES: Final = 4
_STORM: Final = 4
#: Configurations that differ by less are the same, within what trials vary.
_NOISE: Final = 0.03
_LEAST_TRIALS: Final = 3


def read_advice(
    trace: "Trace",
    runs: Sequence["Run"],
    kernels: Sequence["KernelProfile"],
    accesses: Mapping[KernelKey, Sequence[Mapping[str, Any]]],
    device: ChosenDevice | None,
    time: DeviceTime | None,
    gaps: Gaps | None = None,
) -> tuple[Advice, ...]:
    """Return what to try, the largest possible saving first; errors as `Trace.table`.

    Args:
        trace: the trace, or a window of it.
        runs: its runs.
        kernels: their profiles, with calls.
        accesses: what each access of a kernel did, by its key (`ProfileTables.accesses`).
        device: whose limits are compared with.
        time: all that devices did.
        gaps: why they were idle.
    """
    important = _important(kernels)
    tuned = any(kernel.tuning_launches for kernel in kernels)
    keys = {k.key for k in (*important, *(k for k in kernels if k.tuning_launches))}
    variants = _variants(trace, runs, keys) if keys else {}
    advice: list[Advice] = []
    advised: set[KernelKey] = set()
    caches = device is None or device.limits.has_caches
    for kernel in important:
        of_kernel = [
            *_of_accesses(kernel, accesses.get(kernel.key, ()), caches),
            *_of_variants(kernel, variants.get(kernel.key, ()), device),
        ]
        advised |= {kernel.key} if of_kernel else set()
        advice += of_kernel
    of_program: list[Advice] = []
    if _compiled_again(trace, runs):
        of_program += _recompiles(read_recompiles(trace, runs))
    if tuned:
        of_program += _tunings(read_tunings(trace, runs), _steady(kernels, variants))
    advice += of_program
    if time is not None and time.busy.span_ns:
        named = {piece.kernel for piece in of_program}
        advised |= {kernel.key for kernel in kernels if kernel.name in named}
        advice += lost_time(kernels, time, gaps, advised)
        least = _LITTLE * time.busy.span_ns
        advice = [piece for piece in advice if piece.cost_ns is None or piece.cost_ns >= least]
    return tuple(sorted(advice, key=lambda piece: -(piece.cost_ns or 0)))


def _important(kernels: Sequence["KernelProfile"]) -> list["KernelProfile"]:
    shares = _shares(kernels)
    return [k for k in kernels if shares.get(k.key, 0.0) >= IMPORTANT]


def _shares(kernels: Sequence["KernelProfile"]) -> dict[KernelKey, float]:
    """Return each kernel's share in device time, else in the time at best, else in bytes."""
    for figure in (_device_ns, _best_ns, _bytes):
        values = {k.key: figure(k) for k in kernels}
        total = sum(values.values())
        if total:
            return {key: value / total for key, value in values.items()}
    return {}


def _device_ns(kernel: "KernelProfile") -> float:
    return kernel.measured.device_ns or 0


def _best_ns(kernel: "KernelProfile") -> float:
    return kernel.roofline.best_ns if kernel.roofline else 0


def _bytes(kernel: "KernelProfile") -> float:
    return kernel.derived.bytes or 0


# -- accesses -------------------------------------------------------------------------------------

_Location = tuple[str, str | None, int | None]


def _of_accesses(
    kernel: "KernelProfile", accesses: Sequence[Mapping[str, Any]], caches: bool
) -> Iterator[Advice]:
    moved = sum(int(row["sectors"] or 0) * 32 for row in accesses)
    requested = sum(int(row["bytes"] or 0) for row in accesses)
    for row in accesses:
        location = (kernel.name, row["file"], row["line"])
        sectors, used = int(row["sectors"] or 0) * 32, int(row["sector_bytes"] or 0)
        wasted = sectors - used
        alone = _ALONE * _element_bytes(row["dtype"]) * (sectors / 32)
        if sectors and used < alone and wasted > _PART * moved:
            yield Advice(
                "uncoalesced", *location,
                f"the {row['kind']} uses {percent(used / sectors)} of the 32-byte sectors that "
                "it requests: let neighboring lanes touch neighboring elements (the order of the "
                "block's axes, or a transposed copy)",
                (
                    Figure("share of sectors' bytes asked for", percent(used / sectors), "derived"),
                    Figure("share of the kernel's sectors", percent(sectors / moved), "derived"),
                ),
                _part(kernel, wasted / moved),
            )  # fmt: skip
        yield from _redundant(kernel, row, location, requested, caches)
    yield from _masked_off(kernel, accesses, requested)


def _element_bytes(dtype: str | None) -> int:
    bits = re.search(r"\d+", dtype or "")
    return max(int(bits[0]) // 8, 1) if bits else 4


def _masked_off(
    kernel: "KernelProfile", accesses: Sequence[Mapping[str, Any]], requested: int
) -> Iterator[Advice]:
    """Yield advice if every access that matters has most of its lanes masked off."""
    matter = [row for row in accesses if int(row["bytes"] or 0) > _PART * requested]
    shares = [int(row["masked"] or 0) / int(row["lanes"]) if row["lanes"] else 0 for row in matter]
    if not matter or min(shares) < _LANES_OFF:
        return
    off, row = max(zip(shares, matter, strict=True), key=lambda pair: int(pair[1]["bytes"]))
    yield Advice(
        "masked-off", kernel.name, row["file"], row["line"],
        f"{percent(off)} of the lanes of this {row['kind']} are masked off, and of no other access "
        f"less than {percent(min(shares))}: a smaller block, or several rows in one program",
        (Figure("lanes off", percent(off), "derived"),),
    )  # fmt: skip


def _redundant(
    kernel: "KernelProfile",
    row: Mapping[str, Any],
    location: _Location,
    requested: int,
    caches: bool,
) -> Iterator[Advice]:
    """Yield advice on a load that reads each byte many times, if caches cannot absorb that."""
    once, times = int(row["unique_once"] or 0), int(row["unique_asked"] or 0)
    roof = kernel.roofline
    if row["kind"] != "load" or not once or roof is None or roof.uncached_ns is None:
        return
    if times < _REUSE * once or times < 0.5 * requested:
        return
    if caches and roof.uncached_ns < _UNCACHED * roof.best_ns:
        return
    if roof.bound == "compute" or kernel.derived.flops_by_type is None:
        return
    if caches and kernel.derived.flops_by_type.dot:  # tiles of products are loaded again by design
        return
    remedy = (
        "caches must serve that; load it once and keep it" if caches else "load it once, keep it"
    )
    yield Advice(
        "redundant-load", *location,
        f"each byte is loaded {times / once:.0f} times: {remedy}, or let one program do more of "
        "the work that needs it",
        (
            Figure("loads of a byte", f"{times / once:.1f}", "derived"),
            Figure("time of all bytes over time at best",
                   f"{roof.uncached_ns / roof.best_ns:.1f}", "derived"),
        ),
    )  # fmt: skip


def _part(kernel: "KernelProfile", share: float) -> float | None:
    """Return a share of the kernel's device time, or None unless memory bounds the kernel."""
    measured = kernel.measured.device_ns
    if measured is None or kernel.roofline is None or kernel.roofline.bound == "compute":
        return None
    return measured * share


# -- variants and their launches ------------------------------------------------------------------


def _variants(
    trace: "Trace", runs: Sequence["Run"], keys: Collection[KernelKey]
) -> dict[KernelKey, list[dict[str, Any]]]:
    """Return the variants of some kernels, each with `calls`: programs by run and call id."""
    columns = (
        "kernel_id", "module", "name", "target", "num_warps", "registers", "spills", "shared_bytes",
        "file", "line", "source",
    )  # fmt: skip
    kernels = known_rows(trace, runs, "kernels", columns)
    named = without_dictionary(pc.fill_null(without_dictionary(kernels["name"]), ""))
    kernels = kernels.filter(pc.is_in(named, pa.array({key.name for key in keys}, pa.string())))
    variants: dict[KernelKey, list[dict[str, Any]]] = {}
    by_id: dict[tuple[str, int], dict[str, Any]] = {}
    for row in kernels.to_pylist():
        key = KernelKey(row["module"] or "", row["name"] or "", row["source"] or "")
        if key not in keys:
            continue
        row["calls"] = {}
        by_id[row["run"], row["kernel_id"]] = row
        variants.setdefault(key, []).append(row)
    grids = ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z")
    calls = known_rows(trace, runs, "calls", grids)
    ids = pa.array({kernel_id for _, kernel_id in by_id}, calls.schema.field("kernel_id").type)
    for call in calls.filter(pc.is_in(calls["kernel_id"], ids)).to_pylist():
        variant = by_id.get((call["run"], call["kernel_id"]))
        if variant is not None:
            programs = (call["grid_x"] or 1) * (call["grid_y"] or 1) * (call["grid_z"] or 1)
            variant["calls"][call["run"], call["call_id"]] = programs
    return variants


def _of_variants(
    kernel: "KernelProfile", variants: Sequence[Mapping[str, Any]], device: ChosenDevice | None
) -> Iterator[Advice]:
    launched = {(call.run, call.call_id): call for call in kernel.calls}
    run = [v for v in variants if not launched.keys().isdisjoint(v["calls"])]
    location = (kernel.name, kernel.file, kernel.line)
    spilled = [v for v in run if v["spills"]]
    if spilled:
        words = max(v["spills"] for v in spilled)
        yield Advice(
            "spills", *location,
            f"{plural(words, 'word')} of a thread's registers are kept in local memory: a "
            "smaller tile, more warps, or fewer stages",
            (Figure("spilled words", f"{words:,}", "measured"),),
        )  # fmt: skip
    yield from _few_warps(kernel, run, location)
    if device is not None and device.limits.multiprocessors:
        yield from _tail(kernel, run, launched, device, location)


def _few_warps(
    kernel: "KernelProfile", variants: Sequence[Mapping[str, Any]], location: _Location
) -> Iterator[Advice]:
    by_type = kernel.derived.flops_by_type
    if kernel.roofline is None or kernel.roofline.bound == "compute":
        return
    if by_type is None or by_type.dot:  # which hides latency in other ways
        return
    for variant in variants:
        occupancy = occupancy_of(variant)
        if occupancy is None or occupancy.share > _FEW_WARPS:
            continue
        yield Advice(
            "low-occupancy", *location,
            f"{occupancy.warps} of {occupancy.of} warps fit on a multiprocessor, limited by "
            f"{occupancy.limited_by}: too few to hide the latency of memory",
            (
                Figure("occupancy", percent(occupancy.share), "derived"),
                Figure("registers", f"{variant['registers']}", "measured"),
            ),
        )  # fmt: skip
        return


def _tail(
    kernel: "KernelProfile",
    variants: Sequence[Mapping[str, Any]],
    launched: Mapping[tuple[str, int], Any],
    device: ChosenDevice,
    location: _Location,
) -> Iterator[Advice]:
    """Yield advice if the last wave of programs leaves much of the device idle."""
    worst: tuple[float, int, int] | None = None
    runs = sum(call.runs for call in launched.values())
    if kernel.roofline is not None and (kernel.roofline.achieved or 0) > _FAST:
        return
    for variant in variants:
        occupancy = occupancy_of(variant)
        if occupancy is None:
            continue
        room = occupancy.blocks(variant["num_warps"]) * (device.limits.multiprocessors or 0)
        for key, programs in variant["calls"].items():
            call = launched.get(key)
            if call is None or not room or not programs or call.runs < 0.5 * runs:
                continue
            waves = -(-programs // room)
            idle = 1 - programs / (waves * room)
            if 1 < waves <= _MOST_WAVES and idle > _TAIL and (worst is None or idle > worst[0]):
                worst = (idle, programs, room)
    if worst is None:
        return
    idle, programs, room = worst
    yield Advice(
        "tail-wave", *location,
        f"of {programs:,} programs {room:,} run at once: the last wave leaves "
        f"{percent(idle)} of the launch idle; fewer, larger programs, or persistent ones",
        (
            Figure("programs", f"{programs:,}", "measured"),
            Figure("programs at once", f"{room:,}",
                   "assumed" if device.how == "assumed" else "derived"),
        ),
        None if kernel.measured.device_ns is None else kernel.measured.device_ns * idle,
    )  # fmt: skip


# -- the program ----------------------------------------------------------------------------------


def _compiled_again(trace: "Trace", runs: Sequence["Run"]) -> bool:
    """Return whether a kernel was compiled often enough to be worth reading in full."""
    key = ["module", "name", "source", "file"]
    rows = known_rows(trace, runs, "kernels", key)
    rows = pa.table({name: without_dictionary(rows[name]) for name in (*key, "run")})
    variants = rows.group_by([*key, "run"]).aggregate([([], "count_all")])
    recompiled = variants.append_column("more", pc.subtract(variants["count_all"], 1))
    sums = recompiled.group_by(key).aggregate([("more", "sum")])["more_sum"]
    return bool((pc.max(sums).as_py() or 0) >= _STORM)


def _recompiles(recompiles: Sequence[Recompile]) -> Iterator[Advice]:
    by_kernel: dict[KernelKey, list[Recompile]] = {}
    for recompile in recompiles:
        by_kernel.setdefault(recompile.key, []).append(recompile)
    for group in by_kernel.values():
        kernel, file = group[0].kernel, group[0].file
        if all(recompile.compile_begin is None and recompile.compile_ns for recompile in group):
            continue  # outside of the window
        values: dict[str, set[str | None]] = {}
        for recompile in group:
            if len(recompile.changes) == 1:  # options are an autotuner's, who tries them on purpose
                values.setdefault(recompile.changes[0].what, set()).add(recompile.changes[0].after)
        for fact, values_after in values.items():
            if len(values_after) < _STORM or fact.startswith(("num_", "option ")):
                continue
            of_fact = [
                recompile for recompile in group if [c.what for c in recompile.changes] == [fact]
            ]
            compile_ns = sum(recompile.compile_ns or 0 for recompile in of_fact)
            yield Advice(
                "recompiles", kernel, file, None,
                f"compiled again for {len(values_after)} values of {fact}: pass it as a number "
                "that is not specialized (no tl.constexpr, do_not_specialize), or round it to few "
                "values",
                (
                    Figure("variants", f"{len(group)}", "measured"),
                    Figure("time to compile them", duration(compile_ns), "measured"),
                ),
                float(compile_ns),
            )  # fmt: skip


def _steady(
    kernels: Sequence["KernelProfile"],
    variants: Mapping[KernelKey, Sequence[Mapping[str, Any]]],
) -> dict[tuple[str, int], float]:
    """Return the median device time, in ns, of each variant's launches that were not trials."""
    medians: dict[tuple[str, int], float] = {}
    for kernel in kernels:
        calls = {(call.run, call.call_id): call.measured.device_median_ns for call in kernel.calls}
        for variant in variants.get(kernel.key, ()):
            times = [time for key in variant["calls"] if (time := calls.get(key)) is not None]
            if times:
                medians[variant["run"], variant["kernel_id"]] = min(times)
    return medians


def _tunings(
    tunings: Sequence[Tuning], steady: Mapping[tuple[str, int], float]
) -> Iterator[Advice]:
    for tuning in tunings:
        timed = [t for t in tuning.trials if t.median_ns and t.launches >= _LEAST_TRIALS]
        chosen = next((t for t in timed if t.kept), None)
        if len(timed) < 2 or chosen is None or chosen.median_ns is None:
            continue
        chosen_ns = min(
            chosen.median_ns, steady.get((tuning.run, chosen.kernel_id), chosen.median_ns)
        )
        fastest = min(t.median_ns for t in timed if t.median_ns)
        slowest = max(t.median_ns for t in timed if t.median_ns)
        location = (tuning.kernel, tuning.file, None)
        if chosen_ns > fastest * (1 + 5 * _NOISE):
            yield Advice(
                "autotune-choice", *location,
                f"the chosen configuration takes {duration(chosen_ns)} for these arguments, "
                f"another one {duration(fastest)}; the autotuner's key does not tell these "
                "arguments apart",
                (Figure("kept", duration(chosen_ns), "measured"),
                 Figure("fastest", duration(fastest), "measured")),
            )  # fmt: skip
        elif slowest < fastest * (1 + _NOISE):
            yield Advice(
                "autotune-noise", *location,
                f"{len(timed)} configurations are equally fast within "
                f"{percent(slowest / fastest - 1)}: trying them buys nothing",
                (Figure("fastest", duration(fastest), "measured"),
                 Figure("slowest", duration(slowest), "measured")),
            )  # fmt: skip
