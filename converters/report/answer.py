"""First screen of the page: time by cause, advice, and the table of all device work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvtrace.converters.profile.device_text import (
    CAUSES,
    NAMES,
    busy_phrase,
    excluded_sentence,
    library_sentence,
    ranks_sentences,
    step_sentence,
)
from kvtrace.converters.profile.one_table import Rate, TableRow, rate, table_rows
from kvtrace.converters.profile.profile_model import Advice, Profile
from kvtrace.converters.profile.profile_text import notable_sentences
from kvtrace.figures.gaps import Gaps
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.ranks import LateMap, RanksFigures


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A row of the table of device work: a Triton kernel, a library's kernel, a copy or a fill."""

    name: str
    kind: str
    """Triton, a library's name, copy, fill or other."""
    place: str
    """File and line of the kernel as text; "" if not known."""
    kernel: int | None
    """Index into `Report.kernels`; None if Triton did not compile it."""
    executions: int
    device_ns: int | None
    rate: Rate | None
    """Bytes per second, or FLOPs if arithmetic is the bound."""
    achieved: float | None
    """Roofline time divided by the measured time."""


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank of a job: how late it was in a step, and its time in all steps."""

    rank: int
    late_ns: float
    """Median of how much less than the others it waited in a step; negative: more."""
    waited_least: int
    """Number of steps in which it waited least."""
    waited_for_ns: int
    """Time that the other ranks waited for it."""
    parts: dict[str, int]
    """Its time by part of a step."""


@dataclass(frozen=True, slots=True)
class RanksShown:
    """The ranks of a job on the first screen."""

    sentences: tuple[str, ...]
    """Sentences on the limit, the late rank and its cause, and what is not known."""
    parts: dict[str, str]
    """Label of each part of a step."""
    rows: tuple[RankRow, ...]
    map: LateMap | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Data of the first screen; without device times, fields are None or empty."""

    part: str | None
    """The part of the runs that the figures cover, as a sentence."""
    gaps: Gaps | None
    causes: dict[str, str]
    """Label of each cause of a gap."""
    within: str
    """The part as "in 10 steps" or "in the chosen part"; "" for whole runs."""
    summary: tuple[str, ...]
    """Sentences on the time of a step and how long devices were busy."""
    notable: tuple[str, ...]
    """Sentences on graph replays, on steps that are slow, and on launches that stand out."""
    work_notes: tuple[str, ...]
    """Sentences on the rows of `ran`: the share of libraries, and what is left out."""
    begin_ns: int | None
    """Begin of the part after the page's origin; None without a window."""
    advice: tuple[Advice, ...]
    ran: tuple[WorkRow, ...]
    ranks: RanksShown | None
    """None without several ranks of one job."""


def answer_of(profile: Profile, kernels: Sequence[KernelKey], origin: int) -> Answer:
    """Return the first screen of a profile.

    `kernels` are the keys of `Report.kernels`, and `origin` the page's origin of time, in ns since
    1970.
    """
    kernel_indexes = {key: index for index, key in enumerate(kernels)}
    time, window = profile.device_time, profile.window
    has_device_times = time is not None
    steps = 1 if time is None or time.steps is None else time.steps.number
    ranks = profile.ranks
    summary = [] if time is None else [step_sentence(time)]
    if time is not None and (ranks is None or not ranks.matched):
        summary.append(busy_phrase(time.busy, time.devices, steps))
    work_notes = [] if time is None else [library_sentence(time), excluded_sentence(time)]
    return Answer(
        part=window.sentence if window is not None and has_device_times else None,
        gaps=profile.gaps,
        causes={str(cause): name for cause, name in CAUSES.items()},
        within="" if window is None else window.within,
        summary=tuple(text for text in summary if text is not None),
        notable=tuple(notable_sentences(profile)),
        work_notes=tuple(text for text in work_notes if text is not None),
        begin_ns=None if window is None else window.begin - origin,
        advice=profile.advice,
        ran=tuple(_work_row(row, kernel_indexes) for row in table_rows(profile))
        if has_device_times
        else (),
        ranks=None if ranks is None else _ranks_shown(ranks),
    )


def _ranks_shown(ranks: RanksFigures) -> RanksShown:
    rows = (
        RankRow(
            rank.rank,
            rank.late_ns,
            rank.waited_least,
            rank.waited_for_ns,
            {str(part): ns for part, ns in rank.parts.items()},
        )
        for rank in ranks.ranks
    )
    labels = {str(part): label for part, label in NAMES.items()}
    return RanksShown(tuple(ranks_sentences(ranks)), labels, tuple(rows), ranks.late_map)


def _work_row(row: TableRow, indexes: Mapping[KernelKey, int]) -> WorkRow:
    kernel = row.kernel
    return WorkRow(
        name=row.name,
        kind=row.kind,
        place=row.place if row.place != row.kind else "",
        kernel=None if kernel is None else indexes.get(kernel.key),
        executions=row.executions,
        device_ns=row.taken_ns if row.share is not None else None,
        rate=rate(row),
        achieved=None if kernel is None or kernel.roofline is None else kernel.roofline.achieved,
    )
