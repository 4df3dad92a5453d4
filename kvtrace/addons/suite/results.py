"""Results of a suite's calls: times of launches, their sums, and the lines that show them.

A suite has a copy of this file beside its run.py: it imports the standard library alone.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: Of the result's JSON; a minor version adds fields.
VERSION = "1.0"
#: Medians closer than this are equal: clocks of one GPU differ by as much from run to run.
LEAST_CHANGE = 0.01
#: Rounds without which no difference can be told from noise.
FEWEST_ROUNDS = 3
#: A call is as recorded if its median is within this of the recorded median.
CLOSE = 0.1

Verdict = Literal["faster", "slower", "same", "not known"]


@dataclass
class Times:
    """Times of one launch, ns.

    Attributes:
        median_ns: the median of all launches.
        low_ns: their quantile 0.2.
        high_ns: their quantile 0.8.
        rounds: the median of each round's launches.
        noise: half the distance of the slowest from the fastest round, relative to the median.
        count: the number of launches.
    """

    median_ns: float
    low_ns: float
    high_ns: float
    rounds: list[float]
    noise: float
    count: int


@dataclass
class Trial:
    """A candidate's result on one call.

    Attributes:
        function: the candidate, as FILE:FUNCTION.
        verdict: whether its results are those of the recorded kernel; failed: it raised an error.
        why: how its results differ, or its error.
        time: times with the cache as recorded, or cleared.
        warm: times with the cache as the launch before left it, if asked for.
        clock: what took the times: timestamps of the device, or events around each launch.
    """

    function: str
    verdict: Literal["right", "wrong", "failed"]
    why: str | None = None
    time: Times | None = None
    warm: Times | None = None
    clock: str | None = None


@dataclass
class Measured:
    """Measurements of one call of the suite.

    Attributes:
        name, kernel, title, launches, share: as in the suite's index.
        recorded_ns: the median of the recorded executions.
        recorded_device_ns: the time of all recorded executions.
        gpu: which of the result's GPUs launched it.
        status: timed; launched, without a GPU; failed: an error, which `why` tells.
        time, warm, clock: as in `Trial`.
        cache: what `time` found in the L2 cache: as recorded, or cleared.
        candidate: what a candidate did on it.
        results: a digest of each storage that the kernel changed, after one launch.
        repeats: whether each round's launch left the same bytes.
    """

    name: str
    kernel: str
    title: str
    launches: int
    share: float
    recorded_ns: float | None
    recorded_device_ns: int | None
    gpu: int = 0
    status: Literal["timed", "launched", "failed"] = "launched"
    why: str | None = None
    time: Times | None = None
    warm: Times | None = None
    clock: str | None = None
    candidate: Trial | None = None
    results: dict[str, str] = field(default_factory=dict)
    repeats: bool | None = None
    cache: Literal["recorded", "cleared"] = "cleared"


@dataclass
class Result:
    """A run of a suite.

    Attributes:
        version: of this format.
        suite: what the suite was recorded from: `source` and `weighed_by` of its index, and
            `device_ns`.
        settings: rounds, seed, clock, cache, and whether also warm.
        gpus: each GPU's name and versions, with its clocks before and after; empty without one.
        calls: in the order of the suite.
        summary: what `summary_of` returns.
    """

    version: str
    suite: dict[str, Any]
    settings: dict[str, Any]
    gpus: list[dict[str, Any]]
    calls: list[Measured]
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Every call was launched, and every candidate is right."""
        return all(
            call.status != "failed"
            and (call.candidate is None or call.candidate.verdict == "right")
            for call in self.calls
        )


def result_of(content: Mapping[str, Any]) -> Result:
    """Return a result from its JSON. Raises TypeError, KeyError or ValueError if it is none."""
    if str(content["version"]).partition(".")[0] != VERSION.partition(".")[0]:
        raise ValueError(f"its version is {content['version']}, and {VERSION} can be read")
    calls = []
    for call in content["calls"]:
        trial = call["candidate"]
        if trial is not None:
            trial = Trial(**_with_times(Trial, trial))
        calls.append(Measured(**_with_times(Measured, call) | {"candidate": trial}))
    return Result(**_known(Result, content) | {"calls": calls})


def _with_times(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: content[name] for name in ("time", "warm")}
    return _known(kind, content) | {
        name: None if value is None else Times(**_known(Times, value))
        for name, value in times.items()
    }


def _known(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class; those of a later minor version are left out."""
    return {name: content[name] for name in kind.__annotations__ if name in content}


def times_of(rounds: Sequence[Sequence[float]]) -> Times | None:
    """Return the times of launches from those of each round, ns; None without launches."""
    medians = [statistics.median(times) for times in rounds if times]
    every = sorted(time for times in rounds for time in times)
    if not every:
        return None
    median = statistics.median(every)
    noise = (max(medians) - min(medians)) / 2 / median if median else 0.0
    low, high = (every[round(part * (len(every) - 1))] for part in (0.2, 0.8))
    return Times(median, low, high, medians, noise, len(every))


def change(before: Times, after: Times) -> Verdict:
    """Return whether times are faster or slower than others, beyond the noise of the rounds.

    They are slower if each round was slower than each round before, and the median by more than
    1 %; faster, if both are the other way round. With five rounds each, times of one distribution
    are told apart in 0.8 % of all cases. With fewer than three rounds it is not known.
    """
    if min(len(before.rounds), len(after.rounds)) < FEWEST_ROUNDS or not before.median_ns:
        return "not known"
    ratio = after.median_ns / before.median_ns
    if min(after.rounds) > max(before.rounds) and ratio > 1 + LEAST_CHANGE:
        return "slower"
    if max(after.rounds) < min(before.rounds) and ratio < 1 / (1 + LEAST_CHANGE):
        return "faster"
    return "same"


def spans(operations: Sequence[tuple[float, float, str]], count: int) -> list[float] | None:
    """Return the times of launches: from the begin of the first operation to the end of the last.

    Args:
        operations: begin, end and name of what the device did, in order: first what prepares a
            launch, then `count` times what prepares one and the launch.
        count: how many launches there were, more than a preparation has operations.

    Returns None if the operations are not these. With p operations that prepare a launch of k, they
    are p + count * (p + k), so that p is what is left by a division.
    """
    size, prepared = divmod(len(operations), count)
    if size <= prepared:
        return None
    whole = operations[prepared:]
    groups = [whole[start : start + size] for start in range(0, len(whole), size)]
    names = [[name for _, _, name in group] for group in (*groups, operations[:prepared])]
    if any(name != names[0] for name in names[:-1]) or names[-1] != names[0][:prepared]:
        return None
    return [max(end for _, end, _ in group[prepared:]) - group[prepared][0] for group in groups]


def summary_of(suite: Mapping[str, Any], calls: Sequence[Measured]) -> dict[str, Any]:
    """Return what the timed calls stand for, their weighted time, and what candidates save.

    Args:
        suite: as in `Result`.
        calls: all that were launched.

    Returns: numbers of `calls`, `timed` and `failed` ones; the `share` of the run that timed ones
        stand for; `suite_ns`, their medians times their launches. Of calls with recorded times:
        `recorded_ns`, `ratio` and `warm_ratio` of their weighted time to it, `share_of_device`, and
        how many of the `compared` medians are `close` to the recorded one, and `warm_close` with a
        warm cache. With candidates, `candidate`: see `_savings`.
    """
    timed = [(call, call.time) for call in calls if call.time is not None]
    summary: dict[str, Any] = {
        "calls": len(calls),
        "timed": len(timed),
        "failed": sum(call.status == "failed" for call in calls),
        "share": sum(call.share for call, _ in timed),
        "suite_ns": sum(call.launches * time.median_ns for call, time in timed),
    }
    recorded = [(call, time, call.recorded_device_ns or 0) for call, time in timed]
    recorded = [(call, time, ns) for call, time, ns in recorded if ns]
    if recorded:
        recorded_ns = sum(ns for _, _, ns in recorded)
        suite_ns = sum(call.launches * time.median_ns for call, time, _ in recorded)
        warm = [call.launches * call.warm.median_ns for call, _, _ in recorded if call.warm]
        summary |= {
            "recorded_ns": recorded_ns,
            "ratio": suite_ns / recorded_ns,
            "warm_ratio": sum(warm) / recorded_ns if len(warm) == len(recorded) else None,
        }
        if suite["device_ns"]:
            summary["share_of_device"] = recorded_ns / suite["device_ns"]
    medians = [(call, time, call.recorded_ns) for call, time in timed if call.recorded_ns]
    summary |= {
        "compared": len(medians),
        "close": sum(_is_close(time, ns) for _, time, ns in medians),
        "warm_close": sum(_is_close(call.warm, ns) for call, _, ns in medians),
    }
    if any(call.candidate is not None for call in calls):
        summary["candidate"] = _savings(suite, calls)
    return summary


def _is_close(times: Times | None, recorded_ns: float) -> bool:
    return times is not None and abs(times.median_ns / recorded_ns - 1) <= CLOSE


def _savings(suite: Mapping[str, Any], calls: Sequence[Measured]) -> dict[str, Any]:
    """Return on how many calls candidates are right, wrong or failed, and what time they save.

    Only right ones save time; they are `faster` or `slower` beyond the noise. `saved` is a share of
    the run's time of Triton's kernels on the device, `saved_of_device` of all that ran there. Where
    no time was recorded, `saved` is a share of the time of all timed calls. A slower candidate has
    negative ones.
    """
    pairs = [
        (call, call.time, trial.time)
        for call in calls
        if call.time and (trial := call.candidate) and trial.time and trial.verdict == "right"
    ]
    kernel_ns = sum(call.launches * before.median_ns for call, before, _ in pairs)
    candidate_ns = sum(call.launches * after.median_ns for call, _, after in pairs)
    verdicts = [call.candidate.verdict for call in calls if call.candidate]
    savings: dict[str, Any] = {kind: verdicts.count(kind) for kind in ("right", "wrong", "failed")}
    savings |= {"kernel_ns": kernel_ns, "candidate_ns": candidate_ns}
    changes = [change(before, after) for _, before, after in pairs]
    savings |= {"faster": changes.count("faster"), "slower": changes.count("slower")}
    if suite["weighed_by"] != "device time":
        whole = sum(call.launches * call.time.median_ns for call in calls if call.time)
        return savings | {"saved": (kernel_ns - candidate_ns) / whole if whole else 0.0}
    parts = [(call, 1 - after.median_ns / before.median_ns) for call, before, after in pairs]
    savings["saved"] = sum(call.share * part for call, part in parts)
    if suite["device_ns"]:
        saved_ns = sum((call.recorded_device_ns or 0) * part for call, part in parts)
        savings["saved_of_device"] = saved_ns / suite["device_ns"]
    return savings


# ---- Text ----


def lines_of(result: Result) -> Iterator[str]:
    """Yield a table of the calls, and what they come to."""
    heads = ["call", "launches", "recorded", "now", "ratio", "noise"]
    has_warm = any(call.warm for call in result.calls)
    has_candidate = any(call.candidate for call in result.calls)
    heads += ["warm", "ratio"] if has_warm else []
    heads += ["candidate", "of it", ""] if has_candidate else []
    rows = [heads]
    for call in result.calls:
        row = [call.name, f"{call.launches:,}", duration(call.recorded_ns)]
        if call.time is None:
            row += [call.status, "", ""]
        else:
            row += _timed_cells(call.time, call.recorded_ns)
            row.append(f"±{percent(call.time.noise)}")
        if has_warm:
            row += _timed_cells(call.warm, call.recorded_ns)
        if has_candidate:
            row += _candidate_cells(call)
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()
    yield ""
    for call in result.calls:
        if call.status == "failed":
            yield f"{call.name} failed: {call.why}"
        if call.candidate is not None and call.candidate.verdict != "right":
            trial = call.candidate
            yield f"{trial.function} is {trial.verdict} on {call.name}: {trial.why}"
        if call.repeats is False:
            yield f"{call.name}: launches on equal inputs leave different bytes"
    yield from sentences(result)


def _timed_cells(time: Times | None, recorded_ns: float | None) -> list[str]:
    if time is None:
        return ["", ""]
    return [duration(time.median_ns), f"{time.median_ns / recorded_ns:.2f}" if recorded_ns else ""]


def _candidate_cells(call: Measured) -> list[str]:
    trial = call.candidate
    if trial is None:
        return ["", "", ""]
    if trial.time is None or call.time is None:
        return ["", "", trial.verdict]
    ratio = trial.time.median_ns / call.time.median_ns
    return [duration(trial.time.median_ns), f"{ratio:.2f}", trial.verdict]


def sentences(result: Result) -> Iterator[str]:
    """Yield sentences on what the calls stand for, how they compare, and what candidates save."""
    summary, suite = result.summary, result.suite
    if not summary["timed"] and summary["failed"] == summary["calls"]:
        yield f"None of {summary['calls']} calls could be launched"
    elif not summary["timed"]:
        yield (
            f"{summary['calls'] - summary['failed']} of {summary['calls']} calls were launched "
            "without a GPU, by kvtrace's evaluator: this says that they work, not how fast they are"
        )
    else:
        of = (
            "time of Triton's kernels on the device"
            if suite["weighed_by"] == "device time"
            else "launches of Triton's kernels"
        )
        text = f"These calls stand for {percent(summary['share'])} of the run's {of}"
        if "share_of_device" in summary:
            text += f", and {percent(summary['share_of_device'])} of all its device time"
        yield text
    if "ratio" in summary:
        now_ns = summary["ratio"] * summary["recorded_ns"]
        text = (
            f"Weighted by launches they take {duration(now_ns)}, {summary['ratio']:.3f} times the "
            f"recorded {duration(summary['recorded_ns'])}"
        )
        if summary["warm_ratio"] is not None:
            text += f" ({summary['warm_ratio']:.3f} times with a warm cache)"
        yield text
        text = (
            f"{summary['close']} of {summary['compared']} medians are within {100 * CLOSE:.0f} % "
            "of the recorded ones"
        )
        if summary["warm_ratio"] is not None:
            text += f" ({summary['warm_close']} with a warm cache)"
        yield text
    elif summary["timed"]:
        yield f"Weighted by launches they take {duration(summary['suite_ns'])}"
    cleared = sum(call.time is not None and call.cache == "cleared" for call in result.calls)
    if summary["timed"] and cleared < summary["timed"]:
        rest = f", and cleared for {cleared}" if cleared else ""
        yield (
            f"The L2 cache was as the recorded launches found it for "
            f"{summary['timed'] - cleared} of {summary['timed']} calls{rest}"
        )
    if {call.clock for call in result.calls} >= {"device", "events"}:
        yield "Some calls were timed by events, which add some microseconds: their clock says which"
    if "candidate" in summary:
        yield _savings_text(summary["candidate"], suite)


def _savings_text(savings: Mapping[str, Any], suite: Mapping[str, Any]) -> str:
    tried = savings["right"] + savings["wrong"] + savings["failed"]
    text = f"The candidate is right on {savings['right']} of {tried} calls"
    if not savings["kernel_ns"]:
        return text
    verb = "saves" if savings["saved"] >= 0 else "costs"
    of = (
        "the run's time of Triton's kernels on the device"
        if suite["weighed_by"] == "device time"
        else "the time of these calls"
    )
    text += f", and {verb} {percent(abs(savings['saved']))} of {of}"
    if "saved_of_device" in savings:
        text += f" ({percent(abs(savings['saved_of_device']))} of all its device time)"
    return (
        f"{text}; beyond the noise it is faster on {savings['faster']} and slower on "
        f"{savings['slower']}"
    )


def duration(nanoseconds: float | None) -> str:
    """Return a time with three digits and a unit, "-" for None."""
    if nanoseconds is None:
        return "-"
    value = float(nanoseconds)
    for unit in ("ns", "µs", "ms"):
        if value < 999.5:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} s" if value < 999.5 else f"{value:,.0f} s"


def percent(share: float) -> str:
    """Return a share in percent, with one digit."""
    return f"{100 * share:.1f} %"
