"""Reading of a `Fleet` from a trace: times of calls are added up by kernel and job.

The median over several runs cannot be computed from theirs, so times are aggregated run by run. A
limited number of runs is read at a time, so that memory does not grow with launches.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import geometric_mean, median
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from kvtrace.addons.fleet.model import (
    Change,
    Fleet,
    FleetFinding,
    Job,
    JobComparison,
    KernelTimes,
)
from kvtrace.converters.diff.times import THRESHOLD, Kind
from kvtrace.converters.parallel import in_order
from kvtrace.converters.query.query import connect, query
from kvtrace.figures.identity import SOURCE
from kvtrace.figures.kernels import DEVICE_MEDIAN, HOST_MEDIAN
from kvtrace.figures.scans import row_count
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.tables import close_times, known_rows, scratch
from kvtrace.figures.times import device_times, host_times
from kvtrace.schema.layout import pass_parts, run_folder
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace
from kvtrace.schema.without_ir import runs_without_ir

#: Earlier jobs to compare with, at most and at least.
WINDOW: Final = 20
LEAST: Final = 4
#: Later jobs that have to confirm a change, if there are any.
_AFTER: Final = 3
#: Student's t at 0.995 by degrees of freedom, from 3 on: 0.5 % lie beyond at each end.
_T: Final = np.array(
    [5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
     2.921, 2.898, 2.878, 2.861]
)  # fmt: skip
#: Thresholds of diff; processes differ in host times, by the speed of their core.
_LEAST_THRESHOLD: Final[dict[Kind, float]] = {"device": THRESHOLD, "host": 0.25}

Real = npt.NDArray[np.float64]
#: The pass that judges accesses.
_SANITIZER: Final = "sanitizer"
#: Executions or launches whose sums are not stored, and runs, that are read together, at most.
_ROWS_AT_ONCE: Final = 4_000_000
_RUNS_AT_ONCE: Final = 125

#: The figures of calls, and the columns that have the number and median of their steady times.
_TIMES: Final = {
    "device": (device_times, "device_executions", DEVICE_MEDIAN.name),
    "host": (host_times, "timed_launches", HOST_MEDIAN.name),
}
#: Total time and time of a launch by run, kernel and grid; calls of one grid are weighted by their
#: launches. (In another join order, all rows of a run would be paired first.)
_BY_RUN: Final = """
    WITH known AS MATERIALIZED (
        SELECT c.run, c.call_id, coalesce(k.name, '?') AS kernel, k.module, k.source, c.grid_x,
            c.grid_y, c.grid_z
        FROM calls c JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id
    )
    SELECT t.run, n.kernel, n.module, n.source, n.grid_x, n.grid_y, n.grid_z,
        sum(t.{number} * t.{ns}) AS total, sum(t.{number} * t.{ns}) / sum(t.{number}) AS ns
    FROM call_times t JOIN known n ON n.run = t.run AND n.call_id = t.call_id
    WHERE t.{ns} IS NOT NULL
    GROUP BY ALL
"""
_OF_CALLS: Final = {
    "calls": ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z"),
    "kernels": ("kernel_id", "name", "module", "source"),
}
#: Times by job and run for each kernel and machine, of the grid that took most time.
_KERNELS: Final = """
    WITH by_run AS (
        SELECT r.kernel, r.module, r.source, j.machine, r.grid_x, r.grid_y, r.grid_z, j.job,
            r.total, r.ns
        FROM times r JOIN jobs j ON j.run = r.run
    ), ranked AS (
        SELECT kernel, module, source, machine, grid_x, grid_y, grid_z, row_number() OVER (
                PARTITION BY kernel, module, source, machine ORDER BY sum(total) DESC, grid_x,
                grid_y, grid_z) AS place, sum(sum(total)) OVER (
                PARTITION BY kernel, module, source, machine) AS all_ns
        FROM by_run GROUP BY kernel, module, source, machine, grid_x, grid_y, grid_z
    )
    SELECT b.kernel, b.module, b.source, b.machine, b.grid_x, b.grid_y, b.grid_z, r.all_ns,
        list(b.job ORDER BY b.job, b.ns) AS jobs, list(b.ns ORDER BY b.job, b.ns) AS ns
    FROM by_run b JOIN ranked r ON r.place = 1 AND b.kernel = r.kernel
        AND b.machine = r.machine AND b.module IS NOT DISTINCT FROM r.module
        AND b.source IS NOT DISTINCT FROM r.source
        AND b.grid_x IS NOT DISTINCT FROM r.grid_x AND b.grid_y IS NOT DISTINCT FROM r.grid_y
        AND b.grid_z IS NOT DISTINCT FROM r.grid_z
    WHERE b.ns > 0
    GROUP BY ALL
"""
_FINDINGS: Final = f"""
    SELECT f.run, k.module, {SOURCE} AS source, coalesce(k.name, '?') AS kernel, f.rule,
        min(f.severity) AS severity, count(DISTINCT f.finding_id) AS distinct_findings
    FROM findings f LEFT JOIN calls c ON c.run = f.run AND c.call_id = f.call_id
    LEFT JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id
    WHERE f.verdict = 'violation'
    GROUP BY f.run, k.module, {SOURCE}, coalesce(k.name, '?'), f.rule
"""  # noqa: S608


def read_fleet(trace: Trace, newest: Sequence[Run]) -> Fleet:
    """Read all runs up to those of one job, and compare the job with earlier jobs.

    `newest` are the runs of the job to compare; later runs are ignored. Sums of long runs are
    stored first, if they are not yet.

    Raises:
        DamagedFile, NewerFormat, OlderFormat: a file cannot be read; see `Trace.table`.
    """
    last_run_id = max(run.run_id for run in newest)
    runs = [run for run in trace.runs if run.run_id <= last_run_id]
    jobs, job_of = _jobs(runs)
    newest_job = job_of[newest[-1].run_id]
    runs_with_findings = [
        run for run in runs if pass_parts(run_folder(trace.path, "findings", run.run_id))
    ]
    # Passes with rules of their own, as of invariance, do not judge accesses.
    judged_jobs = {
        job_of[run.run_id]
        for run in runs_with_findings
        if pass_parts(run_folder(trace.path, "findings", run.run_id), _SANITIZER)
    }
    findings = []
    if runs_with_findings:
        with connect(trace, runs_with_findings, _FINDINGS) as database:
            findings = query(database, _FINDINGS)[1]
    executions = {run.run_id: row_count(trace, run, "gpu_kernels") for run in runs}
    on_device = [run for run in runs if executions[run.run_id]]
    on_host = [run for run in runs if not executions[run.run_id] and _device_models(run)]
    launches = {run.run_id: row_count(trace, run, "launches") for run in on_host}
    add_up(trace, [*on_device, *on_host])
    summed = {run.run_id: 0 for run in runs if sums_stored(trace, run)}
    rows_to_read = executions | launches | summed
    kernels: list[KernelTimes] = []
    by_kind: tuple[tuple[Kind, list[Run]], ...] = (("device", on_device), ("host", on_host))
    for kind, kind_runs in by_kind:
        portions = _portions(kind_runs, rows_to_read)
        queries = (partial(_times_by_run, trace, kind, portion) for portion in portions)
        # Listings of an object store must come from one thread.
        remote = remote_folder(trace.path) is not None
        times = [task() for task in queries] if remote else list(in_order(queries))
        kernels += _kernel_times_of_runs(kind, kind_runs, times, job_of, newest_job)
    return Fleet(
        path=str(trace.path),
        jobs=jobs,
        runs=len(runs),
        newest=newest_job,
        kernels=tuple(sorted(kernels, key=_by_time)),
        findings=_findings(findings, job_of, newest_job, newest_job in judged_jobs),
        judged_jobs=len(judged_jobs),
        judgeable=any(not runs_without_ir(trace, (run,)) for run in runs),
    )


def _by_time(kernel: KernelTimes) -> tuple[float, str, str, str, str]:
    """Return what kernels are sorted by; several of one name have no order of their own."""
    names = kernel.kernel, kernel.machine, kernel.module or "", kernel.source or ""
    return (-kernel.total_ns, *names)


def _jobs(runs: Sequence[Run]) -> tuple[tuple[Job, ...], dict[str, int]]:
    """Return the jobs in the order of their starts, and the job number of each run by run id."""
    runs_by_group: dict[str, list[Run]] = {}
    for run in runs:
        runs_by_group.setdefault(run.group_id or run.run_id, []).append(run)
    start_by_group = {
        group: min((r.started or 0, r.run_id) for r in group_runs)
        for group, group_runs in runs_by_group.items()
    }
    groups_by_start = sorted(runs_by_group, key=lambda group: start_by_group[group])
    jobs = tuple(_job(group, runs_by_group[group]) for group in groups_by_start)
    job_of = {
        run.run_id: number
        for number, group in enumerate(groups_by_start)
        for run in runs_by_group[group]
    }
    return jobs, job_of


def _job(group: str, runs: Sequence[Run]) -> Job:
    first_run = runs[0]
    return Job(
        group=group,
        runs=len(runs),
        started=min((r.started for r in runs if r.started is not None), default=None),
        commit=first_run.git_commit,
        branch=first_run.git_branch,
        dirty=first_run.git_dirty,
        command=first_run.command,
        hosts=tuple(sorted({r.host for r in runs if r.host})),
        devices=tuple(sorted({name for r in runs for name in _device_models(r)})),
    )


def _device_models(run: Run) -> list[str]:
    return sorted({str(device["name"]) for device in run.devices if device.get("name")})


def _portions(runs: Sequence[Run], rows: Mapping[str, int]) -> Iterator[list[Run]]:
    portion: list[Run] = []
    total = 0
    for run in runs:
        too_many = total + rows[run.run_id] > _ROWS_AT_ONCE or len(portion) == _RUNS_AT_ONCE
        if portion and too_many:
            yield portion
            portion, total = [], 0
        portion.append(run)
        total += rows[run.run_id]
    if portion:
        yield portion


def _times_by_run(trace: Trace, kind: Kind, runs: Sequence[Run]) -> pa.Table:
    """Return total time and time of a launch by run, kernel and grid, as `_BY_RUN` selects them."""
    times_of, number, ns = _TIMES[kind]
    times = times_of(trace, runs).calls
    close_times(trace, runs)
    with scratch() as database:
        database.register("call_times", times)
        for name, columns in _OF_CALLS.items():
            database.register(name, known_rows(trace, runs, name, columns))
        table = database.sql(_BY_RUN.format(number=number, ns=ns)).to_arrow_table()
    for name in ("run", "kernel", "module", "source"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).dictionary_encode())
    return table


def _kernel_times_of_runs(
    kind: Kind, runs: Sequence[Run], times: Sequence[pa.Table], job_of: Mapping[str, int],
    newest: int,
) -> list[KernelTimes]:  # fmt: skip
    """Return the kernels' times by job and their changes, from the tables of `_times_by_run`."""
    if not times:
        return []
    jobs = {
        "run": [run.run_id for run in runs],
        "job": [job_of[run.run_id] for run in runs],
        "machine": [_machine(run, kind) for run in runs],
    }
    with scratch() as database:
        database.register("jobs", pa.table(jobs))
        database.register("times", pa.concat_tables(times).unify_dictionaries())
        table = database.sql(_KERNELS).to_arrow_table()
    jobs_of, ns_of = (table.column(name) for name in ("jobs", "ns"))
    return [
        _kernel_times(kind, row, _medians(jobs_of[index].values, ns_of[index].values), newest)
        for index, row in enumerate(table.drop_columns(["jobs", "ns"]).to_pylist())
    ]


def _medians(job_column: pa.Array, ns_column: pa.Array) -> dict[int, float]:
    """Return the median time by job number; both arrays are sorted by job, then by time."""
    jobs, ns = job_column.to_numpy(), ns_column.to_numpy()
    first_indexes = np.flatnonzero(np.diff(jobs, prepend=-1))
    count = np.diff(first_indexes, append=jobs.size)
    low, high = ns[first_indexes + (count - 1) // 2], ns[first_indexes + count // 2]
    return dict(zip(jobs[first_indexes].tolist(), (low + (high - low) / 2).tolist(), strict=True))


def _kernel_times(
    kind: Kind, row: Mapping[str, Any], times: dict[int, float], newest: int
) -> KernelTimes:
    comparison, reason, changes = judge_times(kind, times, newest)
    return KernelTimes(
        kernel=row["kernel"],
        module=row["module"],
        source=row["source"],
        kind=kind,
        machine=row["machine"],
        grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
        times=times,
        total_ns=row["all_ns"],
        newest=comparison,
        reason=reason,
        changes=changes,
    )


def _machine(run: Run, kind: Kind) -> str:
    """Return the name of what times depend on: the device models; for host times the host too."""
    models = ", ".join(_device_models(run)) or "unknown device"
    return models if kind == "device" else f"{models} in {run.host or 'unknown host'}"


def _findings(
    rows: Sequence[tuple[Any, ...]], job_of: Mapping[str, int], newest: int, is_judged: bool
) -> tuple[FleetFinding, ...]:
    jobs_by_finding: dict[tuple[str, str | None, str | None, str], dict[int, tuple[str, int]]] = {}
    for run, module, source, kernel, rule, severity, distinct in rows:
        jobs = jobs_by_finding.setdefault((kernel, module, source, rule or "?"), {})
        earlier_count = jobs.get(job_of[run], ("", 0))[1]
        jobs[job_of[run]] = (severity or "note", max(earlier_count, distinct))
    findings = [
        FleetFinding(
            kernel=kernel,
            module=module,
            source=source,
            rule=rule,
            severity=jobs[max(jobs)][0],
            first=min(jobs),
            last=max(jobs),
            jobs=len(jobs),
            distinct=jobs[max(jobs)][1],
            still=newest in jobs if is_judged else None,
        )
        for (kernel, module, source, rule), jobs in jobs_by_finding.items()
    ]
    return tuple(sorted(findings, key=lambda f: (-f.last, f.first, f.kernel, f.rule)))


# Statistical comparison of a job's time with earlier jobs: changes are claimed beyond chance.
#
# `kvtrace diff` claims a change if the 99 % interval of the medians' ratio excludes 1 and the ratio
# is beyond a threshold. A single job is not a sample, so its variation is estimated from the jobs
# before it: the interval here is the 99 % prediction interval for one more job, assuming log-normal
# times. For example, with 10 earlier jobs whose logarithms have a standard deviation of 0.02, t =
# 3.25, and the ratio lies within exp(±3.25 · 0.02 · √(1 + 1/10)), or ×0.93 to ×1.07.


def judge_times(
    kind: Kind, times: Mapping[int, float], newest: int
) -> tuple[JobComparison | None, str | None, tuple[Change, ...]]:
    """Compare a kernel's time in each job with its times in earlier jobs.

    Returns the newest job's comparison, or None and the reason; and the changes of all jobs.

    Args:
        kind: Device times or host times; host times have a higher threshold.
        times: Positive times by job number.
        newest: The number of the newest job.
    """
    jobs, threshold = sorted(times), _LEAST_THRESHOLD[kind]
    ns = [times[job] for job in jobs]
    comparisons = _comparisons_of_jobs(np.log(ns), threshold)
    changes = _confirmed_changes(jobs, ns, comparisons, threshold)
    if newest not in times:
        return None, "not launched in this job", changes
    index = jobs.index(newest)
    if index < LEAST:
        return None, f"fewer than {LEAST} earlier jobs", changes
    return comparisons.at(index), None, changes


class _Comparisons(Struct, frozen=True):
    """The fields of `JobComparison`, as arrays over all jobs but the first `LEAST`."""

    ratio: Real
    low: Real
    high: Real
    claimed: npt.NDArray[np.bool_]

    def at(self, index: int) -> JobComparison:
        """Return the comparison of the job at an index among all jobs."""
        ratio, low, high = (float(c[index - LEAST]) for c in (self.ratio, self.low, self.high))
        return JobComparison(ratio, (low, high), bool(self.claimed[index - LEAST]))


def _comparisons_of_jobs(logs: Real, threshold: float) -> _Comparisons:
    centered = logs - logs.mean()
    sums = np.concatenate([[0.0], np.cumsum(centered)])
    squares = np.concatenate([[0.0], np.cumsum(centered * centered)])
    indexes = np.arange(LEAST, logs.size)
    window = np.minimum(indexes, WINDOW)
    mean = (sums[indexes] - sums[indexes - window]) / window
    squared_deviations = squares[indexes] - squares[indexes - window] - window * mean * mean
    spread = np.sqrt(np.maximum(squared_deviations, 0.0) / (window - 1))
    half_width = _T[window - LEAST] * spread * np.sqrt(1 + 1 / window)
    difference = centered[indexes] - mean
    ratio, low, high = (
        np.exp(d) for d in (difference, difference - half_width, difference + half_width)
    )
    return _Comparisons(
        ratio, low, high, ((low > 1) | (high < 1)) & (np.abs(ratio - 1) >= threshold)
    )


def _confirmed_changes(
    jobs: Sequence[int], times: Sequence[float], comparisons: _Comparisons, threshold: float
) -> tuple[Change, ...]:
    """Return the changes that later jobs confirm, each for its first job only.

    The jobs after a change also lie outside of the interval of the jobs before it. So a further
    change must also be beyond the threshold compared with the mean of the jobs since the last one.
    """
    changes: list[Change] = []
    last_change = 0
    for index in (np.flatnonzero(comparisons.claimed) + LEAST).tolist():
        comparison = comparisons.at(index)
        later_times = times[index + 1 : index + 1 + _AFTER]
        reference_means = [times[index] / comparison.ratio]
        reference_means += [geometric_mean(times[last_change:index])] if changes else []
        observed_times = [times[index], *([median(later_times)] if later_times else [])]
        ratios = [ns / mean for ns in observed_times for mean in reference_means]
        if all(abs(r - 1) >= threshold and (r > 1) == (comparison.ratio > 1) for r in ratios):
            changes.append(Change(jobs[index], comparison))
            last_change = index
    return tuple(changes)
