"""Figures of many runs, as plain data. Times are nanoseconds; points in time since 1970."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["device", "host"]


@dataclass(frozen=True, slots=True)
class Job:
    """The runs of one group, such as all ranks of a program; jobs are numbered from the oldest."""

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
class Judged:
    """A job's time by what the jobs before it let expect.

    `ratio` is the time by the geometric mean of those before (at most 20 jobs that measured it on
    the same machine), `interval` where the ratio lies with 99 % for a job that is like them.
    `claimed`: 1 is outside of the interval, and the ratio beyond the threshold.
    """

    ratio: float
    interval: tuple[float, float]
    claimed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A job from which on a kernel takes longer, or less long, than in the jobs before it."""

    job: int
    judged: Judged


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """The times of a kernel on one kind of machine, of one grid: the one that took most time.

    `times` are by job number: the median of a launch, over the job's runs. `newest` is how the
    newest job compares with those before, None with `reason` where there is no comparison.
    `total_ns` is the time of all launches that were read.
    """

    kernel: str
    module: str | None
    source: str | None
    kind: Kind
    machine: str
    grid: tuple[int | None, int | None, int | None]
    times: dict[int, float]
    total_ns: float
    newest: Judged | None
    reason: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """Findings of a rule about a kernel: the jobs that had some, first and last, and how many.

    `still`: the newest job has some; None where it was not judged.
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
    """Jobs in order of their start, the number of the one that is compared, kernels by time.

    `every`: of each run, every so-manieth launch was read. `judged_jobs` had findings looked
    for.
    """

    path: str
    jobs: tuple[Job, ...]
    runs: int
    newest: int
    kernels: tuple[KernelTimes, ...]
    findings: tuple[FleetFinding, ...]
    judged_jobs: int
    every: int = 1


def fleet_object(fleet: Fleet) -> dict[str, Any]:
    """Return the JSON form: the fields of `Fleet`."""
    return asdict(fleet)
