"""Rows of results as text, and pages of the report in notebooks."""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Final

from msgspec import Struct

from kvtrace.converters.findings.findings_text import Printer
from kvtrace.converters.findings.model import Finding, Findings
from kvtrace.converters.profile.one_table import TableRow, table_rows
from kvtrace.converters.profile.profile_model import KernelProfile, Profile
from kvtrace.text import amount, count, duration, percent, plural, size

#: Figures of kernels: name, text, and whether it is derived.
_FIGURES: Final[tuple[tuple[str, Callable[[KernelProfile], str], bool], ...]] = (
    ("host", lambda k: duration(k.measured.host_ns), False),
    ("median", lambda k: duration(k.measured.host_median_ns), False),
    ("compile", lambda k: duration(k.compile_ns), False),
    ("bytes, a launch", lambda k: _bytes_text(k), True),
    ("distinct bytes, a launch", lambda k: size(_per_launch(k, k.derived.unique_bytes)), True),
    ("FLOP, a launch", lambda k: amount(k.derived.flops_per_launch), True),
    ("intensity, FLOP per byte", lambda k: _intensity(k), True),
    ("lanes on, of all", lambda k: percent(k.derived.mask_efficiency), True),
    ("bound by", lambda k: k.roofline.bound if k.roofline else "-", True),
    (
        "at best, a launch",
        lambda k: duration(_per_launch(k, k.roofline.best_ns if k.roofline else None)),
        True,
    ),
)


def row_text(profile: Profile, row: TableRow) -> list[str]:
    """Return one row's name, and a line of text for each of its figures."""
    kernel = row.kernel
    place = f"{kernel.file}:{kernel.line}" if kernel is not None and kernel.file else row.place
    figures = [*_figures(profile, row)]
    width = max(len(name) for name, _, _ in figures)
    lines = [f"  {name:<{width}}  {text} ({source})" for name, text, source in figures]
    return [f"{row.name} at {place}" if place else row.name, *lines]


def _figures(profile: Profile, row: TableRow) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and source of the figures of a row."""
    yield row.counted, count(row.executions), "measured"
    if any(other.share is not None for other in table_rows(profile)):
        device_ns = None if row.share is None else row.taken_ns
        yield "device", duration(device_ns), "measured"
    if row.kernel is not None:
        for name, text, is_derived in _FIGURES:
            if profile.replayed or not is_derived:
                yield name, text(row.kernel), "derived" if is_derived else "measured"


def _bytes_text(kernel: KernelProfile) -> str:
    derived = kernel.derived
    return (">" if derived.unknown_accesses else "") + size(derived.bytes_per_launch)


def _intensity(kernel: KernelProfile) -> str:
    intensity = kernel.derived.intensity
    return "-" if intensity is None else f"{intensity:.2f}"


def _per_launch(kernel: KernelProfile, total: float | None) -> float | None:
    return None if total is None or not kernel.runs else total / kernel.runs


def finding_text(findings: Findings, finding: Finding) -> list[str]:
    """Return one finding as lines of text, as the command prints it."""
    return Printer(findings.lines, base=str(Path.cwd())).defect([finding])


class ShownPage(Struct, frozen=True):
    """A page of the report, which a notebook shows if the object is the last value of a cell.

    The page's code can reach neither the notebook nor the network: its frame has a separate origin,
    and its policy forbids requests.

    Attributes:
        title: The page's title.
        html: The whole page.
        height: The frame's height, in CSS pixels.
        notes: Messages on passes that were run, and on parts that were left out.

    """

    title: str
    html: str
    height: int
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Size of the page, which is added to a notebook that is saved."""
        return len(self.html.encode())

    def __repr__(self) -> str:
        text = f"{self.title}: a page of {size(self.size_bytes)}, shown in notebooks"
        return text + (f" ({plural(len(self.notes), 'note')})" if self.notes else "")

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height:d}px;border:1px solid '
            'color-mix(in srgb,currentColor 25%,transparent)" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )
