"""The text of a `Fleet` for a terminal."""

from collections.abc import Sequence
from typing import Final

from kvtrace.addons.fleet.model import Fleet, Job, JobComparison, KernelTimes
from kvtrace.text import columns, duration, moment, plural, wrapped

#: What is said in place of a table of kernels.
NO_TIMES: Final = (
    "no run has times of kernels with a launch from Python: neither of devices, nor of a host with "
    "a device"
)
_SHOWN: Final = 20


def fleet_text(fleet: Fleet, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal; without `full`, the first twenty rows of each table."""
    lines = wrapped(headline(fleet), width)
    if not fleet.kernels:
        lines += ["", NO_TIMES]
    header = ("newest job", "median", "before", "ratio", "expected within", "")
    newest = [kernel for kernel in fleet.kernels if fleet.newest in kernel.times]
    if any(kernel.newest is not None for kernel in newest):
        rows = [_newest_row(fleet, kernel) for kernel in newest]
        lines += _table(header, rows, full, width)
    else:
        timed_rows = [(kernel.kernel, duration(kernel.times[fleet.newest])) for kernel in newest]
        lines += _table(header[:2], timed_rows, full, width)
    changes = sorted(
        ((change, kernel) for kernel in fleet.kernels for change in kernel.changes),
        key=lambda pair: (-pair[0].job, pair[0].judged.ratio),
    )
    rows = [
        (kernel.kernel, duration(kernel.times[change.job]), verdict(change.judged),
         job_label(fleet.jobs[change.job]))
        for change, kernel in changes
    ]  # fmt: skip
    lines += _table(("changed", "median", "", "from job"), rows, full, width)
    finding_rows = [
        (f"{finding.kernel}: {finding.rule}", str(finding.jobs),
         job_label(fleet.jobs[finding.first]),
         "yes" if finding.still else "not judged" if finding.still is None else "no")
        for finding in fleet.findings
    ]  # fmt: skip
    lines += _table(("finding", "jobs", "first seen in", "still there"), finding_rows, full, width)
    lines += ["", fleet.unjudged_note] if fleet.unjudged_note else []
    return lines


def headline(fleet: Fleet) -> str:
    """Return a sentence with the numbers of runs, jobs, and kernels slower in the newest job."""
    changed = [k for k in fleet.kernels if k.newest is not None and k.newest.claimed]
    slower = sum(k.newest is not None and k.newest.ratio > 1 for k in changed)
    compared = sum(k.newest is not None for k in fleet.kernels)
    newest = job_label(fleet.jobs[fleet.newest])
    summary = (
        f"{plural(fleet.runs, 'run')} in {plural(len(fleet.jobs), 'job')}; the newest is {newest}"
    )
    if not compared:
        suffix = f" ({reason})" if (reason := _why_not_compared(fleet)) else ""
        return f"{summary}, which cannot be compared yet{suffix}"
    return (
        f"{summary}: {slower} of {plural(compared, 'kernel')} slower, "
        f"{len(changed) - slower} faster than in earlier jobs"
    )


def _why_not_compared(fleet: Fleet) -> str:
    """Return why the newest job's kernels are not compared; "" if their reasons differ."""
    reasons = {k.reason for k in fleet.kernels if fleet.newest in k.times}
    return (reasons.pop() or "") if len(reasons) == 1 else ""


def job_label(job: Job) -> str:
    """Return a job's commit or group, and its start."""
    name = job.commit[:12] + ("+" if job.dirty else "") if job.commit else job.group
    return name if job.started is None else f"{name} ({moment(job.started)})"


def verdict(comparison: JobComparison | None) -> str:
    """Return the change of a comparison, such as "×1.30 slower"; "" if none is claimed."""
    if comparison is None or not comparison.claimed:
        return ""
    return f"×{comparison.ratio:.2f} {'slower' if comparison.ratio > 1 else 'faster'}"


def expected(kernel: KernelTimes, newest: int) -> tuple[str, str, str]:
    """Return texts: the mean of earlier jobs, the newest job's ratio to it, and its 99 % interval.

    Without a comparison they are "-", "-" and the reason.
    """
    comparison = kernel.newest
    if comparison is None:
        return "-", "-", kernel.reason or ""
    mean = kernel.times[newest] / comparison.ratio
    low, high = (comparison.ratio / bound for bound in reversed(comparison.interval))
    return duration(mean), f"×{comparison.ratio:.2f}", f"×{low:.2f} to ×{high:.2f}"


def _newest_row(fleet: Fleet, kernel: KernelTimes) -> tuple[str, ...]:
    median = duration(kernel.times[fleet.newest])
    return (kernel.kernel, median, *expected(kernel, fleet.newest), verdict(kernel.newest))


def _table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], full: bool, width: int
) -> list[str]:
    if not rows:
        return []
    shown_rows = rows if full else rows[:_SHOWN]
    lines = ["", *columns(header, shown_rows, width)]
    if len(shown_rows) < len(rows):
        lines.append(f"… {len(rows) - len(shown_rows):,} more (--full shows them)")
    return lines
