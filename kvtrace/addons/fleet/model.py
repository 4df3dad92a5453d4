"""Figures of many runs as plain data; durations in ns, points in time in ns since 1970."""

from dataclasses import dataclass

from kvtrace.converters.diff.times import Kind


@dataclass(frozen=True, slots=True)
class Job:
    """The runs of one group, such as all ranks of a program; jobs are numbered by their start."""

    group: str
    runs: int
    started: int | None
    commit: str | None
    branch: str | None
    dirty: bool | None
    command: str | None
    hosts: tuple[str, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobComparison:
    """A kernel's time in one job, compared with its times in earlier jobs.

    `ratio`: the time divided by the geometric mean of earlier jobs (at most 20 that measured it on
    the same machine). `interval`: the 99 % prediction interval of the ratio. `claimed`: a change is
    claimed, since 1 lies outside of the interval and the ratio is beyond the threshold.
    """

    ratio: float
    interval: tuple[float, float]
    claimed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """The number of the first job in which a kernel is slower or faster, and the comparison."""

    job: int
    judged: JobComparison


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Times of a kernel on one kind of machine, for the grid that took most time.

    `times`: the time of a launch by job number: the median over the job's runs. `newest`: the
    newest job's comparison with earlier jobs; None, with a `reason`, if there is none. `total_ns`:
    the sum over all launches, of any grid.
    """

    kernel: str
    module: str | None
    source: str | None
    kind: Kind
    machine: str
    grid: tuple[int | None, int | None, int | None]
    times: dict[int, float]
    total_ns: float
    newest: JobComparison | None
    reason: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """Findings of a rule in a kernel.

    `first` and `last` are numbers of jobs with such findings, `jobs` counts them, `distinct` counts
    the findings of the last. `still`: the newest job has some; None if it was not checked.
    """

    kernel: str
    module: str | None
    source: str | None
    rule: str
    severity: str
    first: int
    last: int
    jobs: int
    distinct: int
    still: bool | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """Kernels' times and findings over the jobs of a trace.

    Jobs are in the order of their starts, kernels of their total times, longest first. `newest`:
    the number of the compared job. `judged_jobs`: the number of jobs that were checked for
    findings; `judgeable`: whether a run has IR that can be.
    """

    path: str
    jobs: tuple[Job, ...]
    runs: int
    newest: int
    kernels: tuple[KernelTimes, ...]
    findings: tuple[FleetFinding, ...]
    judged_jobs: int
    judgeable: bool = True

    @property
    def unjudged_note(self) -> str | None:
        """A sentence on findings if no run was checked for them, else None."""
        if self.judged_jobs:
            return None
        if not self.judgeable:
            return "no run was checked for findings: none has IR that can be judged"
        if self.findings:  # of other passes
            return "no run's accesses were checked: kvtrace sanitize does that"
        return "no run was checked for findings: kvtrace sanitize does that"
