"""A `Fleet` as one self-contained HTML page: tables, and a plot of each kernel's times.

The page has no script and requests nothing; every text of the trace is escaped.
"""

import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Final

from kvtrace.addons.fleet.fleet_text import expected, headline, job_label, verdict
from kvtrace.addons.fleet.model import Fleet, KernelTimes
from kvtrace.text import duration, printable

_TEMPLATE: Final = Path(__file__).with_name("page.html")
#: Kernels with a plot, those that take most time.
_MOST_KERNELS: Final = 500
_WIDTH: Final = 240
_HEIGHT: Final = 32
#: Points of a line, at most.
_POINTS: Final = 240


def fleet_page(fleet: Fleet) -> str:
    """Return the HTML page: plots of up to 500 kernels, changes, findings and jobs."""
    kernels = fleet.kernels[:_MOST_KERNELS]
    notes = [fleet.unjudged_note] if fleet.unjudged_note else []
    omitted = len(fleet.kernels) - len(kernels)
    if omitted:
        notes.insert(0, f"{omitted:,} kernels that take less time are left out")
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        path=escape(fleet.path),
        headline=escape(headline(fleet)),
        notes="".join(f"<p>{escape(note)}</p>" for note in notes),
        kernels=_rows(_kernel_row(fleet, kernel) for kernel in kernels),
        changes=_rows(
            _cells(kernel.kernel, kernel.machine, verdict(change.judged),
                   duration(kernel.times[change.job]), job_label(fleet.jobs[change.job]))
            for kernel in kernels for change in reversed(kernel.changes)
        ),
        findings=_rows(
            _cells(finding.kernel, finding.rule, finding.severity, str(finding.jobs),
                   job_label(fleet.jobs[finding.first]), job_label(fleet.jobs[finding.last]),
                   {True: "yes", False: "no", None: "not judged"}[finding.still])
            for finding in fleet.findings
        ),
        jobs=_rows(
            _cells(job_label(job), job.branch or "", str(job.runs), ", ".join(job.devices),
                   _shortened(job.hosts), job.command or "")
            for job in reversed(fleet.jobs)
        ),
    )  # fmt: skip


def _kernel_row(fleet: Fleet, kernel: KernelTimes) -> str:
    ns = kernel.times.get(fleet.newest)
    comparison = (
        expected(kernel, fleet.newest) if ns is not None else ("-", "-", kernel.reason or "")
    )
    grid = " × ".join("?" if extent is None else f"{extent:,}" for extent in kernel.grid)
    conditions = f"{kernel.kind}, {kernel.machine}, grid {grid}"
    cells = _cells(kernel.kernel, conditions, duration(ns), *comparison, verdict(kernel.newest))
    return f"{cells}<td>{_plot(kernel, len(fleet.jobs))}</td>"


def _plot(kernel: KernelTimes, jobs: int) -> str:
    """Return an SVG plot of a kernel's times (logarithmic) over the jobs, with dots at changes."""
    times = sorted(kernel.times.items())
    step = math.ceil(len(times) / _POINTS)
    changed_jobs = {change.job for change in kernel.changes}
    log_times = {job: math.log(ns) for job, ns in times[::step] + times[-1:]}
    log_times |= {job: math.log(ns) for job, ns in times if job in changed_jobs}
    low, high = min(log_times.values()), max(log_times.values())
    log_range = max(high - low, 0.02)

    def point(job: int) -> str:
        x = 3 + (_WIDTH - 6) * job / max(1, jobs - 1)
        return f"{x:.1f},{_HEIGHT - 3 - (_HEIGHT - 6) * (log_times[job] - low) / log_range:.1f}"

    points = " ".join(point(job) for job in sorted(log_times))
    dots = "".join(
        '<circle r="2.5" cx="{}" cy="{}"/>'.format(*point(job).split(",")) for job in changed_jobs
    )
    label = f"{duration(math.exp(low))} to {duration(math.exp(high))} over {len(times)} jobs"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<title>{escape(label)}</title><polyline points="{points}"/>{dots}</svg>'
    )


def _cells(*texts: str) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)


def _rows(rows: Iterable[str]) -> str:
    return "\n".join(f"<tr>{row}</tr>" for row in rows)


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def escape(text: str) -> str:
    """Return a text escaped for HTML, with control characters made visible."""
    return html.escape(printable(text))
