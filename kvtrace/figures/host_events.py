"""Activities of the host in a run: what it did while devices were idle."""

from collections.abc import Callable
from functools import partial
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import Coverage, Integers, coded, integers, union_of
from kvtrace.schema.launch_flags import are_trials
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import keeps_newest
from kvtrace.schema.window import pieces_near

#: A cause of idle time; the columns of `run_parts` say what each means.
Cause = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "host", "device", "short", "unknown"
]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
#: Causes that are also what the host did in idle time: those up to `host`.
ACTIVITIES: Final = CAUSES[: CAUSES.index("host") + 1]
#: Kinds of events that are counted in gaps.
EVENTS: Final[tuple[Cause, ...]] = ("collect", "allocate", "synchronize", "launch")
#: Causes of the time between two short executions.
AROUND_SHORT: Final[tuple[Cause, ...]] = ("host", "launch", "short", "unknown")

#: Kinds of recorded events by the cause that they are.
KINDS: Final[dict[Cause, tuple[str, ...]]] = {
    "collect": ("collect", "collect_recording"),
    "allocate": ("allocate", "free", "allocate_host"),
    "synchronize": ("synchronize",),
}
#: Rounds of the recording itself, which every run has, in whatever mode.
_RECORD: Final = "record"
#: Kind of a request of a kernel whose execution another tool's file lacks, or has without a time.
UNEXECUTED: Final = "unexecuted"
#: What is missing of a file of another tool without launches and executions.
NO_IMPORTED_KERNELS: Final = (
    "the file has no launch and no execution of a kernel, so there is nothing to profile: record "
    "the device, too (torch.profiler: ProfilerActivity.CUDA)"
)
#: Nanoseconds by which a wait of the host may end before a gap and still belong to the gap.
_WAIT_TOLERANCE_NS: Final = 10_000
#: Activities that come before launching.
_BEFORE_LAUNCHES: Final = ACTIVITIES[: ACTIVITIES.index("launch")]
#: Nanoseconds above which a launch did more than launch, and is left out.
_LONGEST_LAUNCH: Final = 1_000_000


class _Compiled(NamedTuple):
    """Begin and end of a compile or load of a kernel, and the kernel's name and id."""

    begin: int
    end: int
    name: str
    kernel_id: int


class _Rows(NamedTuple):
    """Begin, end and stack id (or -1) of each event of a cause, sorted by begin."""

    begins: Integers
    ends: Integers
    stacks: Integers


class HostEvents(Struct):
    """Host activities of a run, launches only near the times of `move_to`.

    Attributes:
        coverage: The time of each activity and of all before it in `ACTIVITIES`, without `host`.
        rows: The events of each cause in `KINDS`.
        recording: Begins and ends of the collections of garbage in kvtrace's own threads.
        launched: When launches began, sorted.
        kernels: Begin and end of each compile and load, name and id of its kernel, sorted.
        generated: When compiles and loads of Inductor's code began, sorted.
        recorded: Whether the run has host events.
        undated: By device, when executions began whose ends are impossible, and times in the gaps
            in which executions may have been that are lost; sorted.

    """

    coverage: dict[Cause, Coverage]
    rows: dict[Cause, _Rows]
    recording: tuple[Integers, Integers]
    launched: Integers
    kernels: list[_Compiled]
    generated: Integers
    recorded: bool
    undated: dict[int, Integers]
    _waits: tuple[Integers, Integers]
    #: The union of all activities but launches.
    _union: tuple[Integers, Integers]
    _launches_near: Callable[[int, int], tuple[Integers, tuple[Integers, Integers]]]

    @classmethod
    def read(cls, trace: Trace, run: Run) -> "HostEvents":
        """Return the activities of a run; errors as `Trace.table`."""
        kernels, generated = _compiled_kernels(trace, run)
        events = trace.table("host_events", [run], ["kind", "begin", "end", "stack_id"])
        events = events.filter(pc.and_(pc.is_valid(events["begin"]), pc.is_valid(events["end"])))
        is_record = pc.equal(events["kind"].cast(pa.string()), _RECORD)
        events = events.filter(pc.invert(pc.fill_null(is_record, fill_value=False)))
        kinds, code = coded(events["kind"])
        begins, ends = integers(events["begin"]), integers(events["end"])
        stacks = integers(events["stack_id"], -1)
        rows: dict[Cause, _Rows] = {}
        for cause, cause_kinds in KINDS.items():
            here = np.isin(code, [number for number, k in enumerate(kinds) if k in cause_kinds])
            order = np.flatnonzero(here)[np.argsort(begins[here], kind="stable")]
            rows[cause] = _Rows(begins[order], ends[order], stacks[order])
        is_recording, is_lost = (
            np.array([kind == name for kind in kinds], bool)[code]
            for name in ("collect_recording", UNEXECUTED)
        )
        waits = union_of(rows["synchronize"].begins, rows["synchronize"].ends)
        compiled = np.array([kernel[:2] for kernel in kernels], np.int64).reshape(-1, 2)
        first = _first_launches(trace, run)
        # Each cause with all before it, so that time counts for the first of those under way.
        spans = {cause: (rows[cause].begins, rows[cause].ends) for cause in KINDS}
        spans["compile"] = union_of(*(np.append(compiled[:, edge], first[edge]) for edge in (0, 1)))
        coverage: dict[Cause, Coverage] = {}
        nothing = np.zeros(0, np.int64)
        union = nothing, nothing
        for cause in _BEFORE_LAUNCHES:
            union = union_of(*map(np.concatenate, zip(union, spans[cause], strict=True)))
            coverage[cause] = Coverage(*union)
        return cls(
            coverage=coverage, rows=rows, recording=(begins[is_recording], ends[is_recording]),
            launched=nothing, kernels=kernels, generated=generated, recorded=not is_lost.all(),
            undated=_undated(trace, run, begins[is_lost]), _waits=waits, _union=union,
            _launches_near=partial(_launches_near, trace, run),
        )  # fmt: skip

    def move_to(self, begin: int, end: int) -> None:
        """Make `launched` and the coverage of launches those between two times, in ns since 1970.

        Errors as `Trace.table`.
        """
        self.launched, launches = self._launches_near(begin, end)
        first = int(np.searchsorted(self._union[1], begin))
        last = int(np.searchsorted(self._union[0], end, "right"))
        near = (edges[first:last] for edges in self._union)
        union = union_of(*map(np.concatenate, zip(near, launches, strict=True)))
        self.coverage["launch"] = Coverage(*union)

    def waits_at(self, moments: Integers) -> Integers:
        """Return the ns of the host's wait during which, or soon after, each moment is."""
        begins, ends = self._waits
        if not begins.size:
            return np.zeros_like(moments)
        latest = np.searchsorted(begins, moments, side="right") - 1
        is_waiting = (latest >= 0) & (ends[latest] >= moments - _WAIT_TOLERANCE_NS)
        return np.where(is_waiting, ends[latest] - begins[latest], 0)

    def generated_in(self, begin: Integers, end: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of gaps in which a compile or load of Inductor's code began."""
        first = np.searchsorted(self.generated, begin)
        return np.asarray(np.searchsorted(self.generated, end) > first)

    def undated_in(self, device: int, begin: Integers, end: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of a device's gaps in which an execution may have been without a time."""
        moments = self.undated.get(device, self.launched[:0])
        return np.asarray(np.searchsorted(moments, end) > np.searchsorted(moments, begin))

    def stack_at(self, cause: Cause, begin: int, end: int) -> int:
        """Return the stack id of a cause's longest event during or just before a gap, or -1."""
        begins, ends, stacks = self.rows[cause]
        last = int(np.searchsorted(begins, end, side="right"))
        first = last
        # Events nest: one that lasts longer may have begun before up to seven that ended too soon.
        while first > 0 and (ends[first - 1] >= begin - _WAIT_TOLERANCE_NS or last - first < 8):
            first -= 1
        overlapping = [i for i in range(first, last) if ends[i] >= begin - _WAIT_TOLERANCE_NS]
        longest = max(overlapping, key=lambda i: ends[i] - begins[i], default=None)
        return -1 if longest is None else int(stacks[longest])

    def begun_in(self, cause: Cause, begin: Integers, end: Integers) -> Integers:
        """Return the number of a cause's events that began in each gap."""
        begins = self.launched if cause == "launch" else self.rows[cause].begins
        return np.asarray(np.searchsorted(begins, end) - np.searchsorted(begins, begin))

    def compiled_in(self, begin: Integers, end: Integers) -> dict[int, list[int]]:
        """Return ids of kernels whose compile or load began in a gap, in order, by the gap."""
        moments = np.array([compiled.begin for compiled in self.kernels], np.int64)
        first, last = np.searchsorted(moments, begin), np.searchsorted(moments, end)
        return {
            gap: [compiled.kernel_id for compiled in self.kernels[first[gap] : last[gap]]]
            for gap in np.flatnonzero(first < last).tolist()
        }


def _undated(trace: Trace, run: Run, lost: Integers) -> dict[int, Integers]:
    """Return `HostEvents.undated`; only runs of other tools have such executions.

    `lost` are the times of requests without an execution. Each would have run before the execution
    that was requested next.
    """
    if run.source is None:
        return {}
    names = ["start", "device", "impossible", "requested"]
    rows = trace.table("gpu_kernels", [run], names if lost.size else names[:3])
    rows = rows.filter(pc.is_valid(rows["start"]))
    start, device = integers(rows["start"]), integers(rows["device"], -1)
    is_possible = rows["impossible"].is_null().to_numpy()
    moments, devices = start[~is_possible], device[~is_possible]
    if lost.size:
        requested = integers(rows["requested"], -1)
        known = np.flatnonzero(is_possible & (requested >= 0))
        known = known[np.argsort(requested[known], kind="stable")]
        place = np.searchsorted(requested[known], lost, "right")
        following = known[place[place < known.size]]
        moments = np.concatenate([moments, start[following] - 1])
        devices = np.concatenate([devices, device[following]])
    return {index: np.sort(moments[devices == index]) for index in np.unique(devices).tolist()}


def _compiled_kernels(trace: Trace, run: Run) -> tuple[list[_Compiled], Integers]:
    """Return `HostEvents.kernels` and `HostEvents.generated`."""
    times = ["compile_begin", "compile_ns", "load_begin", "load_ns"]
    rows = trace.table("kernels", [run], ["kernel_id", "name", "origin", *times])
    titles, ids = rows["name"].cast(pa.string()).to_pylist(), rows["kernel_id"].to_pylist()
    origins = rows["origin"].cast(pa.string()).to_pylist()
    kernels, generated = [], []
    for begin_column, duration_column in (times[:2], times[2:]):
        begins, durations = integers(rows[begin_column], -1), integers(rows[duration_column])
        for begin, duration, title, kernel_id, origin in zip(
            begins.tolist(), durations.tolist(), titles, ids, origins, strict=True
        ):
            if begin >= 0:
                end = begin + max(duration, 0)
                kernels.append(_Compiled(begin, end, title or "?", kernel_id))
                generated += [begin] if origin == "inductor" else []
    return sorted(kernels), np.sort(np.array(generated, np.int64))


def _first_launches(trace: Trace, run: Run) -> tuple[Integers, Integers]:
    """Return begin and end of launches that made a kernel ready.

    A kernel was compiled, loaded or tuned in them; or they are the first of a kernel and took as
    long as `_LONGEST_LAUNCH`: what precedes and follows a compilation is not recorded.
    """
    from kvtrace.figures.times import compiling_launches  # an import reads no launches

    rows = compiling_launches(trace, run, None if keeps_newest(run) else _LONGEST_LAUNCH)
    rows = rows.filter(pc.and_(pc.is_valid(rows["enter"]), pc.is_valid(rows["exit"])))
    return integers(rows["enter"]), integers(rows["exit"])


def _launches_near(
    trace: Trace, run: Run, begin: int, end: int
) -> tuple[Integers, tuple[Integers, Integers]]:
    """Return when launches began, sorted, and begin and end of those that only launch.

    Of launches that began, or took less than `_LONGEST_LAUNCH` and were under way, from `begin` to
    `end`, all are there; of others, some.
    """
    near = begin - _LONGEST_LAUNCH, end + _LONGEST_LAUNCH
    columns, span = ("enter", "exit", "phase"), ("enter", "exit")
    enters, exits, trials = ([np.zeros(0, np.int64)] for _ in range(3))
    for piece in pieces_near(trace, "launches", run, columns, span, [near]):
        rows = piece.filter(pc.is_valid(piece["enter"]))
        enter = integers(rows["enter"])
        leave = np.maximum(integers(rows["exit"], -1), enter)
        is_near = (enter <= near[1]) & (leave >= near[0])
        enters.append(enter[is_near])
        exits.append(leave[is_near])
        trials.append(enter[is_near & are_trials(rows).to_numpy()])
    enter, leave, trial = map(np.concatenate, (enters, exits, trials))
    trial.sort()
    only_launched = leave - enter < _LONGEST_LAUNCH
    if trial.size:
        holds = np.searchsorted(trial, leave) > np.searchsorted(trial, enter, "right")
        only_launched &= ~holds
    return np.sort(enter), (enter[only_launched], leave[only_launched])
