"""Overhead of recording, in per cent of the program's time without recording."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.schema.runs import Run

#: Parts of `runs.overhead` that grow as long as the program runs.
_LASTING: Final = ("launches_ns", "waits_ns", "profiler_ns")


def overhead_percent(run: "Run") -> dict[str, float] | None:
    """Return the overhead of recording after all kernels were compiled: `total` and its parts.

    Returns:
        Per cent by part: `launches`, the time of recording in the program's threads; `waits`, the
        time that these waited for the writing thread; `profiler`, CUPTI's time in these threads,
        which is left out of parts and sum if unknown. None if launches never stopped compiling, and
        in runs of format 1.7 and before.
    """
    ns_by_part = {name: part for name, part in (run.overhead or {}).items() if part is not None}
    costs = {name: ns_by_part[name] for name in _LASTING if name in ns_by_part}
    own_ns = ns_by_part.get("running_ns", 0) - sum(costs.values())
    if own_ns <= 0 or not costs:
        return None
    shares = {name.removesuffix("_ns"): 100 * cost / own_ns for name, cost in costs.items()}
    return {"total": sum(shares.values()), **shares}


def overhead_text(shares: dict[str, float]) -> str:
    """Return the result of `overhead_percent` as one line.

    It is an estimate: benchmarks/RESULTS.md compares it with what whole processes lost.
    """
    parts = [f"launches {shares['launches']:.1f}", f"waits {shares['waits']:.1f}"]
    profiler = shares.get("profiler")
    if profiler is None:
        parts.append("CUPTI ?")
    elif profiler:
        parts.append(f"CUPTI {profiler:.1f}")
    return f"about {shares['total']:+.1f} % of its time: {', '.join(parts)}"
