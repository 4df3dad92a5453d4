"""First screen of the page: time by cause, advice, and the table of all device work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvtrace.converters.profile.advice_model import Advice
from kvtrace.converters.profile.gaps_text import CAUSES, slow_steps_sentence
from kvtrace.converters.profile.one_table import Rate, TableRow, rate, table_rows
from kvtrace.converters.profile.profile import Profile
from kvtrace.figures.gaps import Gaps
from kvtrace.figures.identity import KernelKey

__all__ = ["Answer", "WorkRow", "answer_of"]


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
class Answer:
    """Data of the first screen; without device times, fields are None or empty."""

    part: str | None
    """The part of the runs that the figures cover, as a sentence."""
    gaps: Gaps | None
    causes: dict[str, str]
    """Label of each cause of a gap."""
    slow_steps: str | None
    """A sentence on slow steps, and what the slowest has more of; None without such steps."""
    begin_ns: int | None
    """Begin of the part after the page's origin; None without a window."""
    advice: tuple[Advice, ...]
    ran: tuple[WorkRow, ...]


def answer_of(profile: Profile, kernels: Sequence[KernelKey], origin: int) -> Answer:
    """Return the first screen of a profile.

    `kernels` are the keys of `Report.kernels`, and `origin` the page's origin of time, in ns since
    1970.
    """
    kernel_indexes = {key: index for index, key in enumerate(kernels)}
    has_device_times = profile.device_time is not None
    return Answer(
        part=profile.window.sentence if profile.window is not None and has_device_times else None,
        gaps=profile.gaps,
        causes={str(cause): name for cause, name in CAUSES.items()},
        slow_steps=slow_steps_sentence(profile.gaps),
        begin_ns=None if profile.window is None else profile.window.begin - origin,
        advice=profile.advice,
        ran=tuple(_work_row(row, kernel_indexes) for row in table_rows(profile))
        if has_device_times
        else (),
    )


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
