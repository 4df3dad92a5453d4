"""A `Fleet` as lines for a terminal."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from kvtrace.addons.fleet.model import Fleet, Job, Judged, KernelTimes
from kvtrace.text import columns, duration, plural, wrapped

_SHOWN: Final = 20


def fleet_text(fleet: Fleet, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal; without `full` the first twenty rows of each table."""
    lines = wrapped(headline(fleet), width)
    if fleet.every > 1:
        lines += wrapped(sampled(fleet), width)
    if not fleet.kernels:
        lines += ["", "no launch was timed on a device, or on a host that has one"]
    header = ("newest job", "median", "before", "ratio", "expected within", "")
    newest = [kernel for kernel in fleet.kernels if fleet.newest in kernel.times]
    if any(kernel.newest is not None for kernel in newest):
        rows = [_newest_row(fleet, kernel) for kernel in newest]
        lines += _table(header, rows, full, width)
    else:
        alone = [(kernel.kernel, duration(kernel.times[fleet.newest])) for kernel in newest]
        lines += _table(header[:2], alone, full, width)
    changes = sorted(
        ((change, kernel) for kernel in fleet.kernels for change in kernel.changes),
        key=lambda pair: (-pair[0].job, pair[0].judged.ratio),
    )
    rows = [
        (kernel.kernel, duration(kernel.times[change.job]), verdict(change.judged),
         place_of(fleet.jobs[change.job]))
        for change, kernel in changes
    ]  # fmt: skip
    lines += _table(("changed", "median", "", "in job"), rows, full, width)
    found = [
        (f"{one.kernel}: {one.rule}", str(one.jobs), place_of(fleet.jobs[one.first]),
         "yes" if one.still else "not judged" if one.still is None else "no")
        for one in fleet.findings
    ]  # fmt: skip
    lines += _table(("finding", "jobs", "first seen in", "still"), found, full, width)
    if not fleet.judged_jobs:
        lines += ["", "no run was judged: kvtrace sanitize looks for findings"]
    return lines


def headline(fleet: Fleet) -> str:
    """Return one sentence: how many runs and jobs, and what became of the newest one."""
    slower = [k for k in fleet.kernels if k.newest is not None and k.newest.claimed]
    worse = sum(k.newest is not None and k.newest.ratio > 1 for k in slower)
    judged = sum(k.newest is not None for k in fleet.kernels)
    newest = place_of(fleet.jobs[fleet.newest])
    told = (
        f"{plural(fleet.runs, 'run')} in {plural(len(fleet.jobs), 'job')}; the newest is {newest}"
    )
    if not judged:
        why = f" ({reason})" if (reason := _why_not_compared(fleet)) else ""
        return f"{told}, which is compared with none yet{why}"
    return (
        f"{told}: {worse} of {plural(judged, 'kernel')} slower, "
        f"{len(slower) - worse} faster than the jobs before"
    )


def _why_not_compared(fleet: Fleet) -> str:
    """Return the reason that all kernels of the newest job share; "" where there is no such one."""
    reasons = {k.reason for k in fleet.kernels if fleet.newest in k.times}
    return (reasons.pop() or "") if len(reasons) == 1 else ""


def sampled(fleet: Fleet) -> str:
    """Return the sentence that says of which launches times were taken."""
    return f"medians are of one launch in {fleet.every} of each run"


def place_of(job: Job) -> str:
    """Return a job's commit, or group, and when it began."""
    name = job.commit[:12] + ("+" if job.dirty else "") if job.commit else job.group
    return name if job.started is None else f"{name} ({moment(job.started)})"


def moment(started: int) -> str:
    """Return a point in time to the minute, UTC."""
    return datetime.fromtimestamp(started / 1e9, UTC).strftime("%Y-%m-%d %H:%M")


def verdict(judged: Judged | None) -> str:
    """Return what is claimed: slower, faster, or nothing."""
    if judged is None or not judged.claimed:
        return ""
    return f"×{judged.ratio:.2f} {'slower' if judged.ratio > 1 else 'faster'}"


def expected(kernel: KernelTimes, newest: int) -> tuple[str, str, str]:
    """Return the mean before, the ratio, and the interval that 99 % of such jobs are in."""
    judged = kernel.newest
    if judged is None:
        return "-", "-", kernel.reason or ""
    mean = kernel.times[newest] / judged.ratio
    low, high = (judged.ratio / end for end in reversed(judged.interval))
    return duration(mean), f"×{judged.ratio:.2f}", f"×{low:.2f} to ×{high:.2f}"


def _newest_row(fleet: Fleet, kernel: KernelTimes) -> tuple[str, ...]:
    told = duration(kernel.times[fleet.newest])
    return (kernel.kernel, told, *expected(kernel, fleet.newest), verdict(kernel.newest))


def _table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], full: bool, width: int
) -> list[str]:
    if not rows:
        return []
    shown = rows if full else rows[:_SHOWN]
    lines = ["", *columns(header, shown, width)]
    if len(shown) < len(rows):
        lines.append(f"… {len(rows) - len(shown):,} more (--full shows them)")
    return lines
