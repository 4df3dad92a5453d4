"""Texts of device times, idle times and ranks of a job: tables for a terminal, and sentences."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Final

from kvtrace.figures.executions import Busy
from kvtrace.figures.gap_parts import SHORT
from kvtrace.figures.gaps import Ends, GapGroup, Gaps, StepTimes
from kvtrace.figures.host_events import Cause
from kvtrace.figures.identity import is_own, names_apart
from kvtrace.figures.lines import Place
from kvtrace.figures.rank_steps import IDLE, Part
from kvtrace.figures.ranks import Limit, RanksFigures, SlowStep
from kvtrace.figures.window import steps_text
from kvtrace.text import (
    columns,
    count,
    duration,
    percent,
    plural,
    printable,
    shorten,
    size,
    wrapped,
)

if TYPE_CHECKING:
    from kvtrace.figures.device_time import DeviceTime

#: Kinds of rows that are no kernels.
MEMORY_KINDS: Final = frozenset({"copy", "fill"})


def device_text(time: "DeviceTime", most: int | None, option: str, width: int) -> list[str]:
    """Return lines for a terminal: the first `most` rows, excluded executions, and a step's time.

    `option` is the command's option that shows all rows, for the line on the hidden ones.
    """
    shown_rows = time.rows[:most]
    names = names_apart(time.rows)
    header = ["on the device (measured)", "of", "executions", "time", "share", "median"]
    if time.steps is not None:
        header.append("a step")
    rows = [
        [
            name,
            row.kind,
            count(row.executions),
            duration(row.device_ns),
            percent(row.share),
            duration(row.median_ns),
            duration(row.step_ns),
        ][: len(header)]
        for row, name in zip(shown_rows, names, strict=False)
    ]
    lines = columns(header, rows, width)
    hidden_rows = time.rows[len(shown_rows) :]
    if hidden_rows:
        hidden_time = duration(sum(row.device_ns for row in hidden_rows))
        lines.append(
            f"… {plural(len(hidden_rows), 'more row')}, {hidden_time} ({option} shows them)"
        )
    for sentence in filter(None, (excluded_sentence(time), step_sentence(time))):
        lines += wrapped(sentence, width)
    return lines


def excluded_sentence(time: "DeviceTime") -> str | None:
    """Return which executions device times exclude; None if none."""
    if not time.tuning_executions:
        return None
    return (
        f"excluded: {plural(time.tuning_executions, 'execution')} of autotuners and "
        f"warm-ups, {duration(time.tuning_ns)}"
    )


def step_sentence(time: "DeviceTime") -> str | None:
    """Return how long a step takes, and its device time; None without steps."""
    steps = time.steps
    if steps is None:
        return None
    mark = f" marked {printable(steps.name)}" if steps.name else ""
    return (
        f"a step (mean of {steps_text(steps.number, steps.runs)}{mark}) takes "
        f"{duration(steps.span_ns / steps.number)}, {duration(time.step_ns)} of it device time"
    )


def library_sentence(time: "DeviceTime") -> str | None:
    """Return the share of libraries' kernels in the device time; None if none ran.

    None, too, if only chosen kernels have rows.
    """
    if sum(row.device_ns for row in time.rows) != time.device_ns:
        return None
    ns_by_library: dict[str, int] = {}
    for row in time.rows:
        if not is_own(row.kind) and row.kind not in MEMORY_KINDS:
            ns_by_library[row.kind] = ns_by_library.get(row.kind, 0) + row.device_ns
    if not ns_by_library:
        return None
    names = ", ".join(sorted(ns_by_library, key=lambda kind: -ns_by_library[kind]))
    total_ns = sum(ns_by_library.values())
    share = total_ns / time.device_ns if time.device_ns else 0.0
    return f"library kernels ({names}): {percent(share)} of GPU time, {duration(total_ns)}"


# -- idle time -------------------------------------------------------------------------------------


#: The label of each cause.
CAUSES: Final[dict[Cause, str]] = {
    "compile": "compiling",
    "collect": "garbage collection",
    "allocate": "device memory allocation",
    "synchronize": "host waited for the device",
    "launch": "launching",
    "host": "host code, not recorded",
    "device": "device waited for other device work",
    "short": f"launch gaps below {SHORT // 1000} µs",
    "unknown": "cause not recorded",
}
#: Causes of idle time in which what went on is not recorded.
_NOT_RECORDED: Final[tuple[Cause, Cause]] = ("unknown", "host")
#: Smaller shares of a group of gaps are not shown.
_LEAST_PART: Final = 0.05
#: Least difference of the busiest device's share of busy time from all devices' that is told.
_UNEQUAL: Final = 0.05
#: Most causes in a sentence.
_NAMED: Final = 4
#: Steps that take so many times the median are slow, where there are enough steps for a median.
_SLOW_STEP: Final = 1.5
_LEAST_STEPS: Final = 5
#: Up to this width of the terminal, names of executions are cut to `_SHORT` characters.
_WIDE: Final = 100
_SHORT: Final = 36


def busy_sentence(busy: Busy, gaps: Gaps | None, devices: int) -> str:
    """Return a sentence on the devices' busy and idle time, with the main causes of idle time.

    Without `gaps` the sentence refers to the command that shows the causes.
    """
    text = busy_phrase(busy, devices)
    if gaps is None and busy.span_ns:
        return f"{text}; idle {duration(busy.idle_ns)} (kvtrace profile has the causes)"
    if gaps is None or not gaps.idle_ns:
        return text
    causes = [(CAUSES[cause], ns) for cause, ns in gaps.by_cause.items() if ns]
    named, others = causes[:_NAMED], causes[_NAMED:]
    named += [("other causes", sum(ns for _, ns in others))] if others else []
    cause_texts = [f"{name} {duration(ns)}" for name, ns in named]
    return f"{text}; idle {duration(gaps.idle_ns)}: {', '.join(cause_texts)}"


def busy_phrase(busy: Busy, devices: int, steps: int = 1) -> str:
    """Return how long devices were busy, of which time, and how long with two kernels at once.

    The times are those of one step on average. Of devices that differ, the busiest has its share.
    """
    if not busy.span_ns:
        return "when the GPU was busy is not known: the times are sums"
    subject = "GPU busy" if devices == 1 else f"{devices} GPUs busy"
    share = percent(busy.busy_ns / busy.span_ns)
    text = (
        f"{subject} {duration(busy.busy_ns / steps)} of {duration(busy.span_ns / steps)} ({share})"
    )
    busiest = 1 - busy.spare_ns / busy.span_ns
    if busiest - busy.busy_ns / busy.span_ns >= _UNEQUAL:
        text += f", the busiest {percent(busiest)}"
    if busy.overlapped_ns:
        text += f", {duration(busy.overlapped_ns / steps)} with two kernels at once"
    return text


def step_sentences(gaps: Gaps | None) -> list[str]:
    """Return how many steps are slow, and what the slowest has more of; [] without such steps.

    A step is slow from `_SLOW_STEP` times the median of its run on.
    """
    all_steps = () if gaps is None else gaps.steps
    medians = [(steps, median(steps.duration_ns)) for steps in all_steps if steps.duration_ns]
    slow = [
        (ns - usual, steps, number)
        for steps, usual in medians
        if len(steps.duration_ns) >= _LEAST_STEPS
        for number, ns in enumerate(steps.duration_ns)
        if ns > _SLOW_STEP * usual
    ]
    if not slow:
        return []
    longer_ns, steps, number = max(slow, key=lambda entry: (entry[0], entry[2]))
    more = {name: ns[number] - median(ns) for name, ns in _parts(steps).items()}
    name = max(more, key=lambda name: more[name])
    total_steps = sum(len(steps.duration_ns) for steps in all_steps)
    shown = steps.first + number
    slow_count = f"{count(len(slow))} of {plural(total_steps, 'step')}"
    return [
        f"{slow_count} took more than {_SLOW_STEP} times the "
        f"median: step {shown} took {duration(steps.duration_ns[number])}, {duration(longer_ns)} "
        f"more than the median, by {duration(more[name])} more of: {name} "
        f"(--steps {shown})"
    ]


def _parts(steps: StepTimes) -> dict[str, Sequence[int]]:
    """Return the nanoseconds of each step by what they went to: idle time by cause, executions."""
    parts: dict[str, Sequence[int]] = {CAUSES[cause]: ns for cause, ns in steps.idle_ns.items()}
    idle_ns = [sum(ns) for ns in zip(*steps.idle_ns.values(), strict=True)]
    busy = zip(steps.duration_ns, idle_ns or [0] * len(steps.duration_ns), strict=True)
    parts["executions on the device"] = [ns - idle for ns, idle in busy]
    return parts


def gaps_text(gaps: Gaps, most: int | None, width: int) -> list[str]:
    """Return the lines of a table of the first `most` groups of gaps (None: all).

    Each row has its causes, and the executions before and after. A sentence follows on the share
    of idle time in which it is recorded what went on.
    """
    shown_groups = gaps.groups[:most]
    name_width = width if width > _WIDE else _SHORT
    rows = [
        [
            _causes_text(group) + _at_line(group.place),
            _execution_text(group.ends, name_width, after=False),
            _execution_text(group.ends, name_width, after=True),
            count(group.number),
            duration(group.total_ns),
            duration(group.longest_ns),
        ]
        for group in shown_groups
    ]
    header = ["idle (measured)", "after", "before", "gaps", "total", "longest"]
    lines = columns(header, rows, width, texts=(0, 1, 2), optional=(5,)) if rows else []
    if gaps.idle_ns:
        recorded = 1 - sum(gaps.by_cause.get(c, 0) for c in _NOT_RECORDED) / gaps.idle_ns
        lines += wrapped(f"what went on is recorded of {percent(recorded)} of idle time", width)
    return lines


def _causes_text(group: GapGroup) -> str:
    """Return the causes of a group of gaps, with their shares if there are several."""
    parts = [(CAUSES[cause], ns / group.total_ns) for cause, ns in group.parts_ns.items()]
    shown = [(name, share) for name, share in parts if share >= _LEAST_PART]
    if len(shown) == 1:
        return shown[0][0]
    return ", ".join(f"{name} {percent(share)}" for name, share in shown)


def _at_line(place: Place | None) -> str:
    return f" at {place.short}" if place else ""


def _execution_text(ends: Ends, room: int, *, after: bool) -> str:
    name = shorten(ends.after if after else ends.before, room)
    return name + _at_line(ends.after_place if after else ends.before_place)


# -- ranks of a job --------------------------------------------------------------------------------


#: Parts of a step as they are called in sentences.
NAMES: Final[dict[Part, str]] = {
    "compute": "compute",
    "transfer": "exposed transfer",
    "waiting": "waiting for a later rank",
    "unmatched": "collectives that are not matched",
    "recording": "garbage collection in kvtrace's thread",
    "collect": "garbage collection",
    "wait": "host waited for the device",
    "unknown": "cause not recorded",
    "pause": "pauses of the host",
    "launch": "launching",
}
_CAUSES: Final[dict[Part, str]] = {**NAMES, "compute": "device work"}
_SHOWN_STEPS: Final = 4
_SHOWN_RANKS: Final = 16
#: Shares of the ranks' time below which transfers are not the limit, and that are not shown.
_SMALL: Final = 0.05
#: Share of a step that a change has to save.
_LEAST_SAVING: Final = 0.01
_SHOWN: Final = 0.0005


def ranks_text(ranks: RanksFigures, width: int) -> list[str]:
    """Return `ranks_sentences` as lines of a terminal."""
    return [line for text in ranks_sentences(ranks) for line in wrapped(text, width)]


def ranks_sentences(ranks: RanksFigures) -> list[str]:
    """Return what limits the job, the late rank, the shares of time, slow steps, and no limits.

    Where no collective is matched, only missing ranks and the reason are said.
    """
    lines = [*_missing(ranks), *ranks.problems]
    if not ranks.matched:
        return lines
    lines += [_limit(ranks), _late(ranks), _shares(ranks)]
    if ranks.transfers and ranks.shares["transfer"] >= _SMALL:
        lines.append(_transfers(ranks))
    lines += _parallelism(ranks)
    if ranks.slow_steps:
        lines.append(_slow_steps(ranks.slow_steps, ranks.step_ns))
    return [*lines, *_savings(ranks), *_no_limits(ranks)]


def _missing(ranks: RanksFigures) -> list[str]:
    if not ranks.missing:
        return []
    numbers = ", ".join(map(str, ranks.missing[:_SHOWN_RANKS]))
    more = len(ranks.missing) - _SHOWN_RANKS
    further = f" and {more:,} more" if more > 0 else ""
    noun, verb, them = ("rank", "is", "it") if len(ranks.missing) == 1 else ("ranks", "are", "them")
    return [
        f"{noun} {numbers}{further} of {ranks.world:,} {verb} not among these runs: who waited "
        f"for {them} is not known"
    ]


def _limit(ranks: RanksFigures) -> str:
    path = ranks.path
    shares = {
        "the host": sum(path[name] for name in IDLE),
        "compute": path["compute"],
        "transfer": path["transfer"],
    }
    parts = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    steps = (
        f"{plural(ranks.steps, 'step')} of {duration(ranks.step_ns)}" if ranks.steps else "the run"
    )
    what: dict[Limit, str] = {
        "rank": f"rank {ranks.late.rank}" if ranks.late else "",
        "imbalance": "imbalance: the rank with most device work changes from step to step",
        "host": "the host",
        "compute": "compute",
        "transfer": "transfer",
    }
    limit = what[ranks.limit] if ranks.limit else "not known"
    return f"{ranks.world:,} ranks, {steps}; limit: {limit} (path over the ranks: {parts})"


def _late(ranks: RanksFigures) -> str:
    late = ranks.late
    if late is None:
        return "slowest rank: none; no rank is late in most steps by a cause of its own"
    in_a_step = " in a step" if ranks.steps else ""
    if late.cause == "unknown":
        return (
            f"slowest rank: {late.rank}, {duration(late.late_ns)} late{in_a_step}; why is not "
            f"recorded: KVTRACE_RANKS={late.rank} and another one record it"
        )
    factor = "" if late.factor is None else f", {late.factor:.2f} times the others'"
    alone = ""
    if late.alone_ns is not None and late.alone_ns > (1 + _LEAST_SAVING) * late.more_ns:
        alone = (
            f"; {duration(late.alone_ns)} without what waiting collectives slow the others' "
            "kernels down (derived)"
        )
    return (
        f"slowest rank: {late.rank}, {duration(late.late_ns)} late{in_a_step}, by "
        f"{duration(late.more_ns)} more {_CAUSES[late.cause]}{factor}{alone}"
    )


def _shares(ranks: RanksFigures) -> str:
    shares = [
        f"{NAMES[name]} {percent(ranks.shares[name])}"
        for name in ("compute", "transfer", "waiting", "unmatched")
        if ranks.shares[name] >= _SHOWN or name == "compute"
    ]
    idle = sum(ranks.shares[name] for name in IDLE)
    causes = [
        f"{NAMES[name]} {percent(ranks.shares[name])}"
        for name in sorted(IDLE, key=lambda name: -ranks.shares[name])
        if ranks.shares[name] >= _SHOWN
    ]
    whole = [rank.rank for rank in ranks.ranks if rank.rank not in ranks.collectives_alone]
    of_ranks = f" of ranks {', '.join(map(str, whole))}" if ranks.collectives_alone else ""
    if not whole:
        return "GPUs: collectives alone are recorded (KVTRACE_RANKS)"
    return (
        f"GPUs{of_ranks}: {', '.join(shares)}, idle {percent(idle)} ({', '.join(causes) or 'none'})"
    )


def _transfers(ranks: RanksFigures) -> str:
    """Return number, size and bus bandwidth of the transfers of a step, by operation."""
    texts = [
        f"{moved.in_a_step:.3g} {moved.operation} of {size(moved.bytes)} (mean) at "
        f"{moved.bytes_per_second / 1e9:.3g} GB/s"
        for moved in ranks.transfers
    ]
    of_what = "a step" if ranks.steps else "the run"
    return f"transfers of {of_what}, with their bus bandwidth: {'; '.join(texts)}"


def _parallelism(ranks: RanksFigures) -> list[str]:
    """Return sentences on the pipeline and on experts."""
    lines = []
    if ranks.pipeline is not None:
        bubbles = ranks.pipeline.bubbles
        low, high = min(bubbles.values()), max(bubbles.values())
        by_rank = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
        lines.append(
            f"pipeline: {ranks.pipeline.stages} stages, "
            f"{plural(ranks.pipeline.micro_batches, 'micro-batch')} a step; bubble "
            f"{by_rank} of a stage's time, {percent(ranks.pipeline.expected)} if all take as long"
        )
    if ranks.experts is not None:
        lines.append(
            f"experts: compute between dispatch and combine, max/mean {ranks.experts.imbalance:.2f}"
            f" (most often rank {ranks.experts.rank})"
        )
    return lines


def _slow_steps(steps: Sequence[SlowStep], step_ns: float) -> str:
    """Return one sentence on the slow steps, those of one rank and cause together."""
    groups: dict[tuple[int | None, Part | None], list[SlowStep]] = {}
    for step in steps:
        groups.setdefault((step.rank, step.cause), []).append(step)
    ordered = sorted(groups.values(), key=lambda group: -sum(step.more_ns for step in group))
    texts = [_group(group) for group in ordered[:_SHOWN_STEPS]]
    more = sum(len(group) for group in ordered[_SHOWN_STEPS:])
    further = [f"{plural(more, 'more step')}"] if more else []
    return (
        f"slow steps, {len(steps):,} above {duration(1.5 * step_ns)}: "
        f"{'; '.join([*texts, *further])}"
    )


def _group(steps: Sequence[SlowStep]) -> str:
    shown = sorted(steps, key=lambda step: step.step)[:_SHOWN_STEPS]
    numbers = ", ".join(str(step.step) for step in shown)
    numbers += f" and {len(steps) - len(shown):,} more" if len(steps) > len(shown) else ""
    noun = "step" if len(steps) == 1 else "steps"
    costs = f"{noun} {numbers} took {_range(step.more_ns for step in steps)} more"
    first = steps[0]
    if first.rank is None or first.cause is None:
        return f"{costs}, on all ranks"
    causes = _range(step.cause_ns for step in steps)
    return f"{costs}: rank {first.rank}, {causes} more {_CAUSES[first.cause]}"


def _range(times: Iterable[int]) -> str:
    ordered = sorted(times)
    low, high = duration(ordered[0]), duration(ordered[-1])
    return low if low == high else f"{low} to {high}"


def _savings(ranks: RanksFigures) -> list[str]:
    """Return a sentence on what changes would save, of those that would save anything."""
    critical = "the critical rank" if ranks.late is None else f"rank {ranks.late.rank}"
    savings = {
        f"{critical} as early as the next": ranks.savings.critical,
        "no exposed transfer": ranks.savings.transfer,
        "no gaps by launching (CUDA graphs)": ranks.savings.launch,
    }
    texts = [
        f"{what} {duration(ns)}"
        for what, ns in sorted(savings.items(), key=lambda item: -item[1])
        if ns >= _LEAST_SAVING * ranks.step_ns
    ]
    of_what = " of a step" if ranks.steps else ""
    return [f"what if (derived, at most{of_what}): {', '.join(texts)}"] if texts else []


def _no_limits(ranks: RanksFigures) -> list[str]:
    """Return a sentence on what is not the limit, if anything could be taken for it."""
    texts = []
    work = {
        rank.rank: rank.parts["compute"]
        for rank in ranks.ranks
        if rank.rank not in ranks.collectives_alone
    }
    most = max(work, key=lambda rank: work[rank], default=None)
    if most is None:
        return []
    others = (sum(work.values()) - work[most]) / max(len(work) - 1, 1)
    is_late = ranks.late is not None and ranks.late.rank == most
    if ranks.limit not in (None, "imbalance") and not is_late and work[most] > 1.1 * others > 0:
        texts.append(f"rank {most}'s device work, {work[most] / others:.2f} times the others'")
    exposed = ranks.shares["transfer"]
    if ranks.limit != "transfer" and exposed < _SMALL:
        texts.append(f"transfer, {percent(exposed)} exposed of {count(ranks.matched)} collectives")
    return [f"not the limit: {'; '.join(texts)}"] if texts else []
