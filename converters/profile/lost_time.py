"""Advice on time that a program loses: gaps, small kernels, copies, distant rooflines; headlines.

A loss is reported if it is at least the share `LEAST` of the profiled window's time.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.profile.device_text import MEMORY_KINDS
from kvtrace.converters.profile.profile_model import Advice, Figure, KernelProfile
from kvtrace.figures.columns import coded, integers
from kvtrace.figures.device_time import DeviceRow, DeviceTime
from kvtrace.figures.gap_causes import PAUSE
from kvtrace.figures.gap_parts import SMALL
from kvtrace.figures.gaps import GapGroup, Gaps, Remedy
from kvtrace.figures.identity import CUSTOM, TRITON, KernelKey, is_own
from kvtrace.figures.launch_costs import LaunchCost
from kvtrace.figures.lines import Place
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import count, duration, percent, plural, shorten

#: The rule on kernels that are far from their rooflines.
FAR_FROM_ROOFLINE: Final = "far-from-roofline"
#: Losses of at least this share of the window are reported.
LEAST: Final = 0.02
#: This share for gaps by launching, since every program has some.
_LAUNCHING: Final = 0.05
#: Share of the roofline from which a kernel counts as near to it.
NEAR: Final = 0.6
#: Fewest steps in which a gap that occurs once is none of each step.
_LEAST_STEPS: Final = 4
_NAMED: Final = 4
#: Longest name in a sentence, in characters.
_NAME: Final = 48

#: What to try if most of these pauses are between marked steps, not inside them.
_BETWEEN_STEPS: Final = (
    "they come between steps: prepare the data earlier, as by a data loader's workers"
)
#: The same where threads of the recording collected most garbage.
_IN_RECORDING: Final = (
    "the devices waited while Python collected garbage in a thread of kvtrace's",
    "nothing to change in the program, it is a cost of recording",
)
#: The rule and what to try where kernels were compiled in a run without steps, which may be short.
_AT_START: Final = (
    "compiling",
    "kernels compiled once are start-up, and later runs load them from the cache; else keep "
    "shapes, scalars and control flow the same",
)
#: Advice on gaps, by cause: the rule, what happened, and what to try.
_ADVICE: Final[dict[Remedy, tuple[str, str, str]]] = {
    "compile": (
        "recompiles",
        "the devices waited while kernels were compiled or loaded",
        "keep shapes, scalars and control flow the same, mark them dynamic, or warm up before",
    ),
    "collect": (
        "garbage-collection",
        "the devices waited while Python collected garbage",
        "call gc.freeze() after the warm-up, or collect between steps",
    ),
    "allocate": (
        "allocations",
        "the devices waited while memory was allocated or freed by the driver",
        "reuse buffers, do not empty the cache, or set expandable segments",
    ),
    "synchronize": (
        "synchronization",
        "the host waited for the devices, which then had nothing to do",
        "leave out .item(), .cpu() and synchronize() in a step, or do them later and less often",
    ),
    "host": (
        "host-bound",
        f"the devices waited {PAUSE // 1_000_000} ms and longer for code of the host, which is not "
        "recorded",
        "do that work earlier, less often, or in another process",
    ),
    "replay": (
        "between-replays",
        "the devices waited between replays of graphs for launching and code of the host",
        "prepare the next replay while the graph runs, or put several steps into one graph",
    ),
    "device": (
        "waiting-devices",
        "the host was ahead, and the devices waited for each other or for a graph to begin",
        "look for events and streams that depend on each other",
    ),
}  # fmt: skip


#: Causes of which every program has some.
_OFTEN_SMALL: Final = frozenset({"device", "replay"})


def lost_time(
    kernels: Sequence[KernelProfile],
    time: DeviceTime,
    gaps: Gaps | None,
    advised: Collection[KernelKey],
    *,
    in_recording: bool,
) -> Iterator[Advice]:
    """Yield advice on the time lost in the window that `time` and `gaps` cover.

    Kernels whose keys are in `advised` have other advice, and get none on a distant roofline.
    `in_recording`: most garbage was collected in threads of kvtrace's.
    """
    span = time.busy.span_ns
    if gaps is not None:
        lost = _recurring(time, gaps)
        yield from _gap_advice(time, gaps, lost, in_recording=in_recording)
        yield from _launching_advice(time, gaps, lost)
        yield from _once_advice(time, gaps)
    yield from _copy_advice(time, span)
    yield from _roofline_advice(kernels, span, advised)


def collects_in_recording(trace: Trace, runs: Sequence[Run]) -> bool:
    """Return whether garbage was collected for longer in threads of kvtrace's than elsewhere."""
    events = trace.table("host_events", runs, ["kind", "begin", "end"]).drop_null()
    kinds, code = coded(events["kind"])
    took = np.bincount(code, integers(events["end"]) - integers(events["begin"]), len(kinds))
    ns = dict(zip(kinds, took.tolist(), strict=True))
    return bool(ns.get("collect_recording", 0) > ns.get("collect", 0))


def _has_once(time: DeviceTime) -> bool:
    """Return whether there are enough steps to tell gaps of a step from those that occur once."""
    return time.steps is not None and time.steps.number >= _LEAST_STEPS * time.steps.runs


def _recurring(time: DeviceTime, gaps: Gaps) -> dict[Remedy, int]:
    """Return the idle time that recurs by what would save it, as far as the busiest GPU lets it.

    In ns; of runs without steps it is all of their idle time.
    """
    once = gaps.lost.once if _has_once(time) else {}
    return {
        remedy: min(ns - once.get(remedy, 0), time.busy.spare_ns)
        for remedy, ns in gaps.lost.by_remedy.items()
    }


def _once_advice(time: DeviceTime, gaps: Gaps) -> Iterator[Advice]:
    """Yield one piece on gaps that occurred once, which cost no step anything."""
    once_ns = sum(gaps.lost.once.values()) if _has_once(time) else 0
    if once_ns < LEAST * time.busy.span_ns:
        return
    groups = [group for group in gaps.groups if group.is_once]
    groups.sort(key=lambda group: -group.longest_ns)
    longest = f", the longest between {_neighbors(groups[0])}" if groups else ""
    yield Advice(
        "once", None, *_gap_location(groups),
        f"gaps that occurred once, and are not of each step{longest}",
        tuple(_gap_figures(once_ns, gaps.lost.number_once, groups)),
    )  # fmt: skip


def _groups_of(gaps: Gaps, remedy: Remedy) -> list[GapGroup]:
    """Return the groups of gaps that a remedy would save, or some of them, most time first."""
    waits = [group for group in gaps.groups if group.cause == "synchronize"]
    if remedy == "synchronize":
        return waits
    others = [group for group in gaps.groups if group.cause != "synchronize"]
    if remedy == "host":
        return [group for group in others if group.paused_ns]
    if remedy == "replay":
        return [group for group in others if group.replay_ns]
    return sorted(
        (group for group in others if group.parts_ns.get(remedy)),
        key=lambda group: -group.parts_ns[remedy],
    )


def _gap_advice(
    time: DeviceTime, gaps: Gaps, lost: Mapping[Remedy, int], *, in_recording: bool
) -> Iterator[Advice]:
    """Yield one piece of advice per remedy that would save enough of the window.

    `_launching_advice` is on launching.
    """
    span = time.busy.span_ns
    for remedy, (rule, description, to_try) in _ADVICE.items():
        idle_ns = lost.get(remedy, 0)
        if idle_ns < (_LAUNCHING if remedy in _OFTEN_SMALL else LEAST) * span:
            continue
        if remedy == "collect" and in_recording:
            description, to_try = _IN_RECORDING
        if remedy == "compile" and time.steps is None:
            rule, to_try = _AT_START
        groups = _groups_of(gaps, remedy)
        if _has_once(time):
            groups = [group for group in groups if not group.is_once] or groups
        number = sum(group.number for group in groups)
        if remedy == "host":
            number = gaps.pauses
            # Where steps are found by a period, they may begin anywhere, also inside a layer.
            has_marked_steps = time.steps is not None and time.steps.name is not None
            if has_marked_steps and 2 * gaps.paused_between_steps_ns > gaps.paused_ns:
                to_try = _BETWEEN_STEPS
        yield Advice(
            rule, None, *_gap_location(groups),
            f"{description}{_gap_neighbors(groups)}: {to_try}",
            tuple(_gap_figures(idle_ns, number, groups)),
            float(idle_ns),
        )  # fmt: skip


def _gap_location(groups: Sequence[GapGroup]) -> tuple[str | None, int | None]:
    """Return file and line at the first group of gaps, or of an execution around it."""
    for group in groups[:1]:
        place = group.place or group.ends.after_place or group.ends.before_place
        if place is not None:
            return place.file, place.line
    return None, None


def _gap_neighbors(groups: Sequence[GapGroup]) -> str:
    """Return ", most between A and B": the executions around the first group of gaps, or ""."""
    if not groups:
        return ""
    return f", most between {_neighbors(groups[0])}"


def _neighbors(group: GapGroup) -> str:
    """Return "A and B": the executions around gaps, and the kernels that were compiled in them."""
    ends = group.ends
    text = f"{_name_and_line(ends.before, ends.before_place)} and "
    text += _name_and_line(ends.after, ends.after_place)
    if group.kernels:
        text += f" ({plural(len(group.kernels), 'kernel')}, as {group.kernels[0]})"
    return text


def _name_and_line(name: str, place: Place | None) -> str:
    return shorten(name, _NAME) + (f" ({place.short})" if place else "")


def _gap_figures(idle_ns: int, number: int, groups: Sequence[GapGroup]) -> Iterator[Figure]:
    yield Figure("idle", duration(idle_ns), "measured")
    if groups:
        yield Figure("gaps", f"{number:,}", "measured")
        longest = max(group.longest_ns for group in groups)
        yield Figure("longest", duration(longest), "measured")


def _launching_advice(time: DeviceTime, gaps: Gaps, lost: Mapping[Remedy, int]) -> Iterator[Advice]:
    """Yield advice on a host that launches more slowly than the devices execute, if it pays.

    The gaps are those of launching, of Python between launches, and around short kernels, but not
    those until a replay of a graph. What the window would take without them is derived: CUDA graphs
    launch a whole step at once. Of several devices it is the mean, so that it never exceeds the
    run, and at least what the busiest needs.
    """
    span, around = time.busy.span_ns, sum(gaps.small.values())
    idle_ns = lost.get("launch", 0)
    if idle_ns:
        idle_ns = min(idle_ns + gaps.small.get("unknown", 0), time.busy.spare_ns)
    if idle_ns < _LAUNCHING * span and min(around, idle_ns) < LEAST * span:
        return
    without = duration((span - idle_ns) / time.devices)
    figures = [
        Figure("idle", duration(idle_ns), "measured"),
        Figure("without these gaps", without, "derived"),
    ]
    how = ' (torch.compile(mode="reduce-overhead"))' if _may_use_torch(time) else ""
    if lost.get("replay"):
        how = " of this work, too"
    remedy = f"CUDA graphs{how}: from {duration(span / time.devices)} to {without} at best"
    short = gaps.short_executions
    if around > idle_ns / 2 and short:
        most = short[0]
        row = next((row for row in time.rows if row.name == most.name), None)
        figures.append(Figure("they run for", duration(sum(s.total_ns for s in short)), "measured"))
        yield Advice(
            "small-kernels", None, row.file if row else None, row.line if row else None,
            f"{count(sum(s.number for s in short))} executions take less than {duration(SMALL)}, "
            f"{most.name} {count(most.number)} of them, and it takes longer to launch them: fuse "
            f"them, or {remedy}",
            tuple(figures), float(idle_ns),
        )  # fmt: skip
        return
    groups = [
        group
        for group in gaps.groups
        if group.cause in ("launch", "host") and not group.replay_ns and not group.paused_ns
    ]
    yield Advice(
        "launch-bound", None, *_gap_location(groups),
        "launching, and the host's code between launches, take longer than the devices' work"
        f"{_gap_neighbors(groups)}: {remedy}",

        tuple(figures), float(idle_ns),
    )  # fmt: skip


def _may_use_torch(time: DeviceTime) -> bool:
    """Return whether an execution may be torch's or Triton's; not if all name other makers."""
    return any(not is_own(row.kind) or row.kind in (TRITON, CUSTOM) for row in time.rows
               if row.kind not in MEMORY_KINDS)  # fmt: skip


def _copy_advice(time: DeviceTime, span: int) -> Iterator[Advice]:
    copies = [r for r in time.rows if r.kind == "copy" and "host" in r.name]
    copy_ns = sum(row.device_ns for row in copies)
    if copy_ns < LEAST * span:
        return
    yield Advice(
        "copies", None, None, None,
        "copies between host and device take part of the time: keep data on the device, or copy "
        "pinned memory on another stream",
        tuple(Figure(row.name, duration(row.device_ns), "measured") for row in copies),
        float(copy_ns),
    )  # fmt: skip


def _roofline_advice(
    kernels: Sequence[KernelProfile], span: int, advised: Collection[KernelKey]
) -> Iterator[Advice]:
    """Yield advice on kernels far from their rooflines, by lost time.

    A kernel that loses at least `LEAST` of `span` has its own advice; the others share one.
    """
    far_kernels: list[tuple[float, float, KernelProfile]] = []
    for kernel in kernels:
        roof, measured = kernel.roofline, kernel.measured
        if roof is None or roof.achieved is None or roof.achieved >= NEAR:
            continue
        if measured.device_ns is None or (measured.device_median_ns or 0) < SMALL:
            continue
        if kernel.key not in advised:
            far_kernels.append((measured.device_ns * (1 - roof.achieved), roof.achieved, kernel))
    far_kernels.sort(key=lambda entry: -entry[0])
    large_losses = [entry for entry in far_kernels if entry[0] >= LEAST * span]
    for lost_ns, achieved, kernel in large_losses:
        yield Advice(
            FAR_FROM_ROOFLINE, kernel.name, kernel.file, kernel.line,
            f"it reaches {percent(achieved)} of its roofline: look at its lines (--lines), tile "
            "sizes, and warps",
            (
                Figure("device time", duration(kernel.measured.device_ns), "measured"),
                Figure("share of roofline", percent(achieved), "derived"),
            ),
            lost_ns, kernel.module, kernel.source,
        )  # fmt: skip
    small_losses = far_kernels[len(large_losses) :]
    lost_ns = sum(entry[0] for entry in small_losses)
    if small_losses and lost_ns >= LEAST * span:
        named = ", ".join(
            f"{k.name} ({percent(achieved)})" for _, achieved, k in small_losses[:_NAMED]
        )
        more = f" and {len(small_losses) - _NAMED} more" if len(small_losses) > _NAMED else ""
        first_kernel = small_losses[0][2]
        yield Advice(
            FAR_FROM_ROOFLINE, None, first_kernel.file, first_kernel.line,
            f"{plural(len(small_losses), 'kernel')} reach less than {percent(NEAR)} of their "
            f"rooflines, and each takes little time: {named}{more}",
            (Figure("lost by all", duration(lost_ns), "derived"),),
            lost_ns,
        )  # fmt: skip


# -- one sentence on each kernel: its share, what bounds it, what to try first ---------------------


#: What helps a kernel, by what bounds it, where no rule of `advice.py` says more.
_REMEDIES: Final = {
    "launch": "fuse it with its neighbors, or launch it in a CUDA graph",
    "memory": "moving fewer bytes helps most",
    "caches": "loading bytes less often helps",
    "compute": "fewer FLOPs, or narrower types, help most",
    "latency": "more programs, warps or loads in flight help",
}


def kernel_headlines(
    kernels: Sequence[KernelProfile],
    executed: Mapping[KernelKey, DeviceRow],
    advice: Sequence[Advice],
    launch_costs: Sequence[LaunchCost],
    device: ChosenDevice | None,
) -> dict[KernelKey, str | None]:
    """Return a sentence on each kernel by key; None if nothing is known of a kernel.

    Args:
        kernels: the kernels' profiles.
        executed: the executions of each kernel that devices ran, by key.
        advice: advice on kernels and the program, the largest possible saving first.
        launch_costs: kernels whose launches stand out.
        device: the device of the rooflines; None: unknown.
    """
    costs = {cost.key: cost for cost in launch_costs}
    first_advice: dict[KernelKey | None, Advice] = {}
    for piece in advice:
        first_advice.setdefault(piece.key, piece)
    headlines = {}
    for kernel in kernels:
        row, cost = executed.get(kernel.key), costs.get(kernel.key)
        bound, remedy = _bound(kernel, device)
        own_advice = first_advice.get(kernel.key)
        phrases = [
            None if row is None else f"{percent(row.share)} of GPU time",
            bound,
            None if cost is None else f"a launch takes {cost.times_usual:.1f} times the usual time",
            remedy if own_advice is None else _advice_phrase(own_advice),
            None if kernel.stated is None else f"a launch: {kernel.stated.sentence}",
        ]
        headlines[kernel.key] = "; ".join(filter(None, phrases)) or None
    return headlines


def _bound(kernel: KernelProfile, device: ChosenDevice | None) -> tuple[str | None, str | None]:
    """Return what bounds a kernel, or what it reaches of its roofline, and what helps.

    A kernel may take longer to launch than to run. It is bound by what bounds its roofline if it is
    near that, and by latency if all sectors that it requests and all its arithmetic would take much
    less time than it takes. In between, it may or may not wait for caches. None: not known.
    """
    measured, roofline = kernel.measured, kernel.roofline
    device_ns, host_ns = measured.device_median_ns, measured.host_median_ns
    if (
        device_ns is not None
        and device_ns < SMALL
        and host_ns is not None
        and host_ns > device_ns
        and kernel.runs == kernel.launches  # replays of a graph are not launched one by one
    ):
        times = f"{duration(host_ns)} on the host, {duration(device_ns)} on the GPU; medians"
        return f"takes longer to launch than to run ({times})", _REMEDIES["launch"]
    if roofline is None or device is None:
        return None, None
    how = f"derived, for an assumed {device.limits.name}" if device.how == "assumed" else "derived"
    if roofline.achieved is None:
        return f"bound by {roofline.bound} ({how})", None
    reached = f"{percent(roofline.achieved)} of its roofline ({how})"
    if roofline.achieved >= NEAR:
        return f"bound by {roofline.bound}: {reached}", _REMEDIES[roofline.bound]
    sector_efficiency = kernel.derived.sector_efficiency
    if not roofline.achieved or roofline.uncached_ns is None or not sector_efficiency:
        return reached, None
    taken_ns = roofline.best_ns / roofline.achieved
    requested_ns = max(roofline.uncached_ns / sector_efficiency, roofline.compute_ns)
    if requested_ns < NEAR * taken_ns:
        return f"bound by latency: {reached}", _REMEDIES["latency"]
    return reached, None


def _advice_phrase(advice: Advice) -> str:
    if advice.rule == FAR_FROM_ROOFLINE:  # the share of its roofline is said already
        return advice.text.partition(": ")[2]
    location = f" at {advice.where}" if advice.where else ""
    return f"{advice.rule}{location}: {advice.text}"
