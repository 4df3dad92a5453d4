"""One sentence on each kernel: its share of the time, what bounds it, and what to try first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kvtrace.converters.profile.advice_model import Advice
from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.profile.device_time import DeviceTime
from kvtrace.converters.profile.lost_time import FAR_FROM_ROOFLINE, NEAR
from kvtrace.figures.gap_causes import SMALL
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.launch_costs import LaunchCost
from kvtrace.figures.makers import is_own
from kvtrace.text import duration, percent

if TYPE_CHECKING:
    from kvtrace.converters.profile.profile_model import KernelProfile

#: What helps a kernel, by what bounds it, where no rule of `advice.py` says more.
_REMEDIES: Final = {
    "launch": "fuse it with its neighbors, or launch it in a CUDA graph",
    "memory": "moving fewer bytes helps most",
    "caches": "loading bytes less often helps",
    "compute": "fewer FLOPs, or narrower types, help most",
    "latency": "more programs, warps or loads in flight help",
}


def kernel_headlines(
    kernels: Sequence["KernelProfile"],
    time: DeviceTime | None,
    advice: Sequence[Advice],
    launch_costs: Sequence[LaunchCost],
    device: ChosenDevice | None,
) -> dict[KernelKey, str | None]:
    """Return a sentence on each kernel by key; None if nothing is known of a kernel.

    Args:
        kernels: the kernels' profiles.
        time: all that devices did; None without device times.
        advice: advice on kernels and the program, the largest possible saving first.
        launch_costs: kernels whose launches stand out.
        device: the device of the rooflines; None: unknown.
    """
    shares = {row.key: row.share for row in (() if time is None else time.rows) if is_own(row.kind)}
    costs = {cost.key: cost for cost in launch_costs}
    first_advice: dict[KernelKey | None, Advice] = {}
    for piece in advice:
        first_advice.setdefault(piece.key, piece)
    headlines = {}
    for kernel in kernels:
        share, cost = shares.get(kernel.key), costs.get(kernel.key)
        bound, remedy = _bound(kernel, device)
        own_advice = first_advice.get(kernel.key)
        phrases = [
            None if share is None else f"{percent(share)} of GPU time",
            bound,
            None if cost is None else f"a launch takes {cost.times_usual:.1f} times the usual time",
            remedy if own_advice is None else _advice_phrase(own_advice),
        ]
        known_phrases = [phrase for phrase in phrases if phrase is not None]
        headlines[kernel.key] = "; ".join(known_phrases) or None
    return headlines


def _bound(kernel: "KernelProfile", device: ChosenDevice | None) -> tuple[str | None, str | None]:
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
