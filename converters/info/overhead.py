"""Overhead of recording, in per cent of the program's time without recording."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.schema.runs import Run

#: Parts of `runs.overhead` that grow as long as the program runs.
_LASTING: Final = ("launches_ns", "waits_ns", "profiler_ns")


def overhead_percent(run: "Run") -> dict[str, float] | None:
    """Return the overhead while compiled kernels were launched: `total` and its parts.

    Returns:
        Per cent by part: `launches`, what recording ran in the program's threads; `waits`, how long
        they were kept waiting by the thread that writes; `profiler`, what CUPTI took in them,
        which is left out of parts and sum where it is not known. None where no time passed with
        known kernels only, and in runs of format 1.7 and before.
    """
    parts = {name: part for name, part in (run.overhead or {}).items() if part is not None}
    costs = {name: parts[name] for name in _LASTING if name in parts}
    without = parts.get("running_ns", 0) - sum(costs.values())
    if without <= 0 or not costs:
        return None
    shares = {name.removesuffix("_ns"): 100 * cost / without for name, cost in costs.items()}
    return {"total": sum(shares.values()), **shares}


def overhead_text(shares: dict[str, float]) -> str:
    """Return the result of `overhead_percent` as one line; CUPTI's part may be unknown.

    "At least": the program also loses cache lines to what recording reads and writes, which no
    clock inside the recorder sees (benchmarks/RESULTS.md compares it with whole processes).
    """
    parts = [f"launches {shares['launches']:.1f}", f"waits {shares['waits']:.1f}"]
    profiler = shares.get("profiler")
    if profiler is None:
        parts.append("CUPTI ?")
    elif profiler:
        parts.append(f"CUPTI {profiler:.1f}")
    return f"at least {shares['total']:+.1f} % of its time: {', '.join(parts)}"
