"""A simulated data-parallel job whose truth is known: who waits for whom, and for how long.

Each step of a rank: the host begins the step (a mark), collects garbage, pauses, and then requests
kernels one after another, with an AllReduce on another stream in the middle, which the device
overlaps with later kernels, and one at the end. Then the host waits for the device. A kernel begins
when it was requested and the stream is free; a collective transfers when all ranks have begun it.
All times are whole numbers of `UNIT` ns, so that `true_parts` can look at each unit alone.
"""

from dataclasses import dataclass, field
from pathlib import Path

from kvtrace.schema.trace import Selection, resolve
from kvtrace.schema.writer import RunWriter
from tests.support.replacing import replace

EPOCH = 1_767_323_045_000_000_000
UNIT = 100_000
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
KERNELS = 4


@dataclass(frozen=True)
class Step:
    """A rank's plan for a step, in units: its pause and collections (of kvtrace's thread, and its
    own) before it launches, then of each kernel the time to launch and to run, the transfer of each
    collective, and the time that its host takes until the next step."""

    pause: int = 0
    recording: int = 0
    collect: int = 0
    launch: int = 2
    work: int = 12
    transfer: int = 3
    end: int = 0


@dataclass
class Rank:
    """Events of one rank: spans in units, and the time at which each execution was requested."""

    kernels: list[tuple[int, int, int]] = field(default_factory=list)
    collectives: list[tuple[int, int, int]] = field(default_factory=list)
    recordings: list[tuple[int, int]] = field(default_factory=list)
    collections: list[tuple[int, int]] = field(default_factory=list)
    waits: list[tuple[int, int]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    host: int = 0
    streams: list[int] = field(default_factory=lambda: [0, 0])


def simulated(plans: list[list[Step]]) -> list[Rank]:
    """Return what each rank did, given its plan for each step."""
    ranks = [Rank() for _ in plans]
    for number in range(len(plans[0])):
        steps = [plan[number] for plan in plans]
        for rank, step in zip(ranks, steps, strict=True):
            _begin(rank, step)
        for half in range(2):
            asked = [_compute(rank, step) for rank, step in zip(ranks, steps, strict=True)]
            _all_reduce(ranks, asked, steps[0].transfer, after_kernels=half == 1)
        for rank, step in zip(ranks, steps, strict=True):
            _wait(rank)
            rank.host += step.end
    for rank in ranks:
        rank.steps.append(rank.host)
    return ranks


def _begin(rank: Rank, step: Step) -> None:
    rank.steps.append(rank.host)
    if step.recording:
        rank.recordings.append((rank.host, rank.host + step.recording))
    rank.host += step.recording
    if step.collect:
        rank.collections.append((rank.host, rank.host + step.collect))
    rank.host += step.collect + step.pause


def _compute(rank: Rank, step: Step) -> int:
    """Run half of a step's kernels; return when the host requests the next collective."""
    for _ in range(KERNELS // 2):
        rank.host += step.launch
        begin = max(rank.host, rank.streams[0])
        rank.streams[0] = begin + step.work
        rank.kernels.append((begin, rank.streams[0], rank.host))
    rank.host += step.launch
    return rank.host


def _all_reduce(ranks: list[Rank], asked: list[int], transfer: int, *, after_kernels: bool) -> None:
    """Reduce the first half beside later kernels, and the second half after all kernels."""
    begins = [
        max(request, *(rank.streams if after_kernels else rank.streams[1:]))
        for rank, request in zip(ranks, asked, strict=True)
    ]
    end = max(begins) + transfer
    for rank, begin, request in zip(ranks, begins, asked, strict=True):
        rank.collectives.append((begin, end, request))
        rank.streams[1] = end


def _wait(rank: Rank) -> None:
    until = max(rank.streams)
    if until > rank.host:
        rank.waits.append((rank.host, until))
    rank.host = max(until, rank.host)


def true_parts(ranks: list[Rank], index: int) -> list[dict[str, int]]:
    """Return the parts of each step of a rank, in ns, by looking at each unit of time."""
    rank = ranks[index]
    last = [max(r.collectives[k][0] for r in ranks) for k in range(len(rank.collectives))]
    spans = {
        "compute": [span[:2] for span in rank.kernels],
        "transfer": [(max(c[0], t), c[1]) for c, t in zip(rank.collectives, last, strict=True)],
        "waiting": [(c[0], t) for c, t in zip(rank.collectives, last, strict=True)],
        "recording": rank.recordings,
        "collect": rank.collections,
        "wait": rank.waits,
    }
    steps = []
    for begin, end in zip(rank.steps, rank.steps[1:], strict=False):
        kinds = [
            next((k for k, of_kind in spans.items() if any(b <= t < e for b, e in of_kind)), "")
            for t in range(begin, end)
        ]
        steps.append({name: UNIT * kinds.count(name) for name in {*spans, *kinds}})
    return steps


def write_ranks(
    out: Path,
    ranks: list[Rank],
    *,
    world: int | None = None,
    hosts: list[str] | None = None,
    shifts: list[int] | None = None,
    drifts: list[int] | None = None,
    marked: bool = True,
    whole: tuple[int, ...] = (),
) -> Selection:
    """Write a run for each rank, on one host unless `hosts` says otherwise; return all.

    `shifts` are ns by which each rank's clock is ahead, `drifts` by how much more a millisecond.
    Of ranks other than `whole`, if that is given, only collectives are recorded.
    """
    for number, rank in enumerate(ranks):
        shift, drift = shifts[number] if shifts else 0, drifts[number] if drifts else 0
        if whole and number not in whole:
            rank = replace(rank, kernels=[])
        _write(out, number, rank, (shift, drift), marked=marked).seal(
            {
                "group_id": "job", "rank": number, "world_size": world or len(ranks),
                "host": hosts[number] if hosts else "host", "pid": 100 + number,
                "started": EPOCH + shift, "settings": {"ranks": ",".join(map(str, whole))},
            }
        )  # fmt: skip
    return resolve(str(out))


def _write(
    out: Path, number: int, rank: Rank, clock: tuple[int, int], *, marked: bool
) -> RunWriter:
    shift, drift = clock

    def moment(units: int | None) -> int | None:
        if units is None:
            return None
        return EPOCH + units * UNIT + shift + units * UNIT * drift // 1_000_000

    writer = RunWriter(out, f"20260102-030405-000-0000000{number}")
    executions = [("matmul", 7, *span) for span in rank.kernels]
    executions += [(ALL_REDUCE, 9, *span) for span in rank.collectives]
    rows = [
        {"record": record, "name": name, "device": number, "stream": stream}
        | {"start": moment(begin), "end": moment(end), "requested": moment(asked)}
        for record, (name, stream, begin, end, asked) in enumerate(executions)
    ]
    writer.append_rows("gpu_kernels", rows)
    if marked:
        marks = [
            {"mark_id": mark, "name": "step", "begin": moment(begin), "end": moment(end)}
            for mark, (begin, end) in enumerate(zip(rank.steps, rank.steps[1:], strict=False))
        ]
        writer.append_rows("marks", marks)
    events = [("collect", *span) for span in rank.collections]
    events += [("collect_recording", *span) for span in rank.recordings]
    events += [("synchronize", *span) for span in rank.waits]
    writer.append_rows(
        "host_events",
        [
            {"record": record, "kind": kind, "begin": moment(begin), "end": moment(end)}
            for record, (kind, begin, end) in enumerate(events)
        ],
    )
    return writer


def planned(ranks: int, steps: int, step: Step | None = None) -> list[list[Step]]:
    """Return a plan in which all ranks do the same in all steps."""
    return [[step or Step()] * steps for _ in range(ranks)]


def changed(plans: list[list[Step]], rank: int, steps: range, **changes: int) -> list[list[Step]]:
    """Return the plan with some values of a rank's steps changed."""
    return [
        [
            replace(step, **changes) if number == rank and place in steps else step
            for place, step in enumerate(plan)
        ]
        for number, plan in enumerate(plans)
    ]
