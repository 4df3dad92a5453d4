"""To be run anywhere: what kvtrace says of a trace of late_ranks.py, beside what was planted.

    python tests/gpu/check_late_ranks.py TRACE TRUTH [SCENARIO …]

Reads each repetition of a scenario as a window of its own, prints a line for it with what is wrong,
and what `kvtrace profile` says of it; ends with 1 unless nine of ten are right in all.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from late_ranks import LATE_STEPS, SLEEP

from kvtrace.converters.profile.device_text import ranks_sentences
from kvtrace.figures.ranks import RanksFigures, SlowStep, read_ranks
from kvtrace.figures.window import RequestedPart, windowed
from kvtrace.schema.trace import resolve


class Repetition(NamedTuple):
    """A repetition of a scenario: figures, the number of its first step, and truths by rank."""

    ranks: RanksFigures
    first: int
    runs: list[dict[str, Any]]
    truths: list[dict[str, Any]]


def near(value: float, truth: float, share: float = 0.0, ns: float = 0.0) -> bool:
    return abs(value - truth) <= max(share * truth, ns)


def named(seen: Repetition) -> str:
    late = seen.ranks.late
    return f"limit {seen.ranks.limit}, late {late and (late.rank, late.cause)}"


def nobody(seen: Repetition) -> str:
    return "" if seen.ranks.late is None and seen.ranks.limit != "rank" else named(seen)


def slow_rank(seen: Repetition) -> str:
    late, alone = seen.ranks.late, seen.truths[2]["alone_ms"]
    more_ns = 1e6 * (alone["48"] - alone["32"])
    if late is None or (late.rank, late.cause, seen.ranks.limit) != (2, "compute", "rank"):
        return named(seen)
    text = f"{late.more_ns / 1e6:.2f} ms more, alone {(late.alone_ns or 0) / 1e6:.2f}, planted "
    return "" if near(late.alone_ns or 0, more_ns, 0.1) else f"{text}{more_ns / 1e6:.2f}"


def host(seen: Repetition) -> str:
    return "" if seen.ranks.limit == "host" and seen.ranks.late is None else named(seen)


def slow_steps(seen: Repetition, planted: dict[int, float], rank: int, causes: set[str], ms: float):
    """Say what is wrong of slow steps: `planted` has ns by step."""
    slow = {step.step - seen.first: step for step in seen.ranks.slow_steps}
    wrong = [f"step {step} not slow" for step in planted if step not in slow]
    for number, step in slow.items():
        if number not in planted:
            if step.rank is not None and not is_true(seen, step, number):
                wrong.append(f"step {number}: {said(step)} though nothing was planted")
        elif step.rank is None and said(slow.get(number + 1, step)).startswith(f"rank {rank}, "):
            continue  # behind the step's last collective: the others waited in the next one
        elif step.rank != rank or step.cause not in causes:
            wrong.append(f"step {number}: {said(step)}")
        elif (
            not planted[number] - ms * 1e6
            <= step.cause_ns
            <= ms * 1e6 + max(planted[number], host_more(seen, rank, number))
        ):
            wrong.append(f"step {number}: {said(step)}, planted {planted[number] / 1e6:.1f} ms")
    return "; ".join([*wrong, nobody(seen)]) if wrong or nobody(seen) else ""


def said(step: SlowStep) -> str:
    return f"rank {step.rank}, {step.cause} {step.cause_ns / 1e6:.1f} ms"


def is_true(seen: Repetition, step: SlowStep, number: int) -> bool:
    """Return whether the rank's host took that much longer by its own times, unplanned.

    A stall at the end of a step makes the next one slow.
    """
    longer = [host_more(seen, step.rank or 0, one) for one in (number, max(number - 1, 0))]
    return max(longer) >= 0.5 * step.cause_ns


def host_more(seen: Repetition, rank: int, number: int) -> float:
    """Return how much longer than usual, in ns, a rank's host took in a step by its own times."""
    took = [one["before"] + one["forward"] + one["rest"] for one in seen.runs[rank]["steps"]]
    return 1e9 * (took[number] - median(took))


def late_host(seen: Repetition) -> str:
    return slow_steps(seen, dict.fromkeys(LATE_STEPS, SLEEP * 1e9), 1, {"pause"}, 2)


def collection(seen: Repetition) -> str:
    planted = {step: 1e9 * seen.runs[0]["steps"][step]["before"] for step in LATE_STEPS}
    return slow_steps(seen, planted, 0, {"collect"}, 5)


def collection_recording(seen: Repetition) -> str:
    began = [step["began"] for step in seen.runs[0]["steps"]]
    planted: dict[int, float] = {}
    for begin, end in seen.runs[0]["collections"]:
        step = int(np.searchsorted(began, begin, "right")) - 1
        planted[step] = planted.get(step, 0) + end - begin
    return slow_steps(seen, planted, 0, {"recording"}, 5)


def busy_core(seen: Repetition) -> str:
    times = [median(step["forward"] + step["rest"] for step in run["steps"]) for run in seen.runs]
    factor = times[3] / mean(times[:3])
    late = seen.ranks.late
    if late is None or (late.rank, late.cause) != (3, "launch"):
        return f"{named(seen)}; factor of the host's times {factor:.2f}"
    return "" if near(late.factor or 0, factor, 0.2) else f"{late.factor} of {factor:.2f}"


def imbalance(seen: Repetition) -> str:
    return nobody(seen) if seen.ranks.limit == "imbalance" else named(seen)


def exposed_ms(seen: Repetition) -> float:
    """Return the mean exposed transfer of a rank in a step."""
    steps = seen.ranks.steps
    return mean(rank.parts["transfer"] / steps / 1e6 for rank in seen.ranks.ranks)


def small_buckets(seen: Repetition) -> str:
    buckets = [int(size) for size in seen.truths[0]["buckets"]["small_buckets"].split(", ")]
    moved = next(one for one in seen.ranks.transfers if one.operation == "AllReduce")
    total, bus = moved.in_a_step * moved.bytes, 1.5 * sum(buckets)
    if moved.in_a_step != len(buckets) or not near(total, bus, 0.01):
        return f"{moved.in_a_step} of {total:.0f} bytes, planted {len(buckets)} of {bus:.0f}"
    return nobody(seen)


def no_overlap(seen: Repetition) -> str:
    truth = seen.truths[0]["all_reduce"]
    moved = next(one for one in seen.ranks.transfers if one.operation == "AllReduce")
    planted_ms = min(truths["all_reduce"]["ms"] for truths in seen.truths)
    bandwidth = 1.5 * truth["bytes"] / planted_ms * 1e3
    wrong = []
    if (moved.in_a_step, moved.bytes) != (1, 1.5 * truth["bytes"]):
        wrong.append(f"{moved.in_a_step} of {moved.bytes} bytes")
    if not near(exposed_ms(seen), planted_ms, 0.1):
        wrong.append(f"exposed {exposed_ms(seen):.3f} ms, planted {planted_ms:.3f}")
    if not near(moved.bytes_per_second, bandwidth, 0.2):
        wrong.append(f"{moved.bytes_per_second / 1e9:.1f} GB/s of {bandwidth / 1e9:.1f}")
    return "; ".join([*wrong, nobody(seen)] if wrong or nobody(seen) else [])


CHECKS: dict[str, Callable[[Repetition], str]] = {
    "null": nobody, "null_host": nobody, "slow_rank": slow_rank, "slow_rank_host": host,
    "late_host": late_host, "busy_core": busy_core, "imbalance": imbalance,
    "collection": collection, "collection_launch": collection,
    "collection_recording": collection_recording, "small_buckets": small_buckets,
    "no_overlap": no_overlap,
}  # fmt: skip


def main() -> int:
    selection = resolve(sys.argv[1])
    files = sorted(Path(sys.argv[2]).glob("rank*.json"))
    truths = [json.loads(file.read_text()) for file in files]
    first = right = read = 0
    chosen = sys.argv[3:]
    runs = truths[0]["runs"]
    for index, run in enumerate(runs):
        number = len(run["steps"])
        if chosen and run["scenario"] not in chosen:
            first += number + 1
            continue
        steps = f"{first}:{first + number}"
        trace, _ = windowed(selection.trace, selection.runs, RequestedPart(steps=steps))
        ranks = read_ranks(trace, selection.runs)
        assert ranks is not None
        seen = Repetition(ranks, first, [truth["runs"][index] for truth in truths], truths)
        wrong = CHECKS[run["scenario"]](seen)
        right, read = right + (not wrong), read + 1
        print(f"{'WRONG' if wrong else 'ok'}: {run['scenario']} {run['repeat']}: {wrong}")
        print(*(f"      {sentence}" for sentence in ranks_sentences(ranks)), sep="\n", flush=True)
        first += number + 1
    print(f"late ranks: {right} of {read} right")
    return 0 if right >= 0.9 * read else 1


if __name__ == "__main__":
    sys.exit(main())
