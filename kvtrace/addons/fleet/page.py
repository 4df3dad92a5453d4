"""A `Fleet` as a page of the report's application: tables, and a line of each kernel's times."""

import math
from typing import Final

from kvtrace.addons.fleet.fleet_text import NO_TIMES, expected, headline, job_label, verdict
from kvtrace.addons.fleet.model import Change, Fleet, FleetFinding, Job, KernelTimes
from kvtrace.converters.report.document import (
    Column,
    DocumentCell,
    DocumentContent,
    PointLine,
    document_page,
    table,
    time_cell,
)
from kvtrace.text import duration, listed

#: Kernels with a line, those that take most time.
_MOST_KERNELS: Final = 500
#: Points of a line, at most.
_POINTS: Final = 240
_STILL: Final = {True: "yes", False: "no", None: "not judged"}


def fleet_page(fleet: Fleet) -> str:
    """Return the HTML page: times of up to 500 kernels, changes, findings and jobs."""
    kernels = fleet.kernels[:_MOST_KERNELS]
    sentences = [headline(fleet)]
    omitted = len(fleet.kernels) - len(kernels)
    if omitted:
        sentences.append(f"{omitted:,} kernels that take less time are left out")
    if fleet.unjudged_note:
        sentences.append(fleet.unjudged_note)
    if not fleet.kernels:
        sentences.append(NO_TIMES)
    changes = [(kernel, change) for kernel in kernels for change in reversed(kernel.changes)]
    sections = (
        table("Kernels", _kernel_columns(fleet), kernels),
        table("What changed", _change_columns(fleet), changes),
        table("Findings", _finding_columns(fleet), fleet.findings),
        table("Jobs", _JOBS, list(reversed(fleet.jobs))),
    )
    return document_page(
        DocumentContent(
            f"Fleet: {fleet.path}",
            sentences,
            [section for section in sections if section.rows],
        )
    )


def _kernel_columns(fleet: Fleet) -> list[Column[KernelTimes]]:
    return [
        Column("kernel", lambda kernel: kernel.kernel),
        Column("measured on", _conditions),
        Column("newest", lambda kernel: time_cell(kernel.times.get(fleet.newest)), "number"),
        Column("before", lambda kernel: expected(kernel, fleet.newest)[0], "number"),
        Column("ratio", lambda kernel: expected(kernel, fleet.newest)[1], "number"),
        Column("expected within", lambda kernel: expected(kernel, fleet.newest)[2], "prose"),
        Column("verdict", lambda kernel: verdict(kernel.newest)),
        Column("over jobs", lambda kernel: _line(kernel, len(fleet.jobs))),
    ]


def _change_columns(fleet: Fleet) -> list[Column[tuple[KernelTimes, Change]]]:
    return [
        Column("kernel", lambda row: row[0].kernel),
        Column("machine", lambda row: row[0].machine),
        Column("verdict", lambda row: verdict(row[1].judged)),
        Column("median", lambda row: time_cell(row[0].times[row[1].job]), "number"),
        Column("from job", lambda row: job_label(fleet.jobs[row[1].job])),
    ]


def _finding_columns(fleet: Fleet) -> list[Column[FleetFinding]]:
    return [
        Column("kernel", lambda finding: finding.kernel),
        Column("rule", lambda finding: finding.rule),
        Column("severity", lambda finding: finding.severity),
        Column("jobs", lambda finding: DocumentCell(str(finding.jobs), finding.jobs), "number"),
        Column("first seen in", lambda finding: job_label(fleet.jobs[finding.first])),
        Column("last seen in", lambda finding: job_label(fleet.jobs[finding.last])),
        Column("still there", lambda finding: _STILL[finding.still]),
    ]


_JOBS: Final[list[Column[Job]]] = [
    Column("job", lambda job: job_label(job)),
    Column("branch", lambda job: job.branch),
    Column("runs", lambda job: DocumentCell(str(job.runs), job.runs), "number"),
    Column("devices", lambda job: ", ".join(job.devices)),
    Column("hosts", lambda job: listed(job.hosts, 4)),
    Column("command", lambda job: job.command, "prose"),
]


def _conditions(kernel: KernelTimes) -> str:
    grid = " × ".join("?" if extent is None else f"{extent:,}" for extent in kernel.grid)
    return f"{kernel.kind}, {kernel.machine}, grid {grid}"


def _line(kernel: KernelTimes, jobs: int) -> DocumentCell:
    """Return a line of a kernel's times (logarithmic) over the jobs, with dots at changes."""
    times = sorted(kernel.times.items())
    step = math.ceil(len(times) / _POINTS)
    changed_jobs = {change.job for change in kernel.changes}
    log_times = {job: math.log(ns) for job, ns in times[::step] + times[-1:]}
    log_times |= {job: math.log(ns) for job, ns in times if job in changed_jobs}
    low, high = min(log_times.values()), max(log_times.values())
    log_range = max(high - low, 0.02)

    def point(job: int) -> tuple[float, float]:
        return job / max(1, jobs - 1), (log_times[job] - low) / log_range

    label = f"{duration(math.exp(low))} to {duration(math.exp(high))} over {len(times)} jobs"
    line = PointLine(
        [point(job) for job in sorted(log_times)], [point(job) for job in changed_jobs], label
    )
    return DocumentCell("", line=line)
