"""HTML of outputs: overviews, profiles, findings with source and witness, differences, pages.

Measured and derived columns of a profile are apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.diff.model import Difference, HeadlineRow
from kvtrace.converters.diff.render import headline_text
from kvtrace.converters.diff.words import side_line, summary
from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.findings_text import Printer, message_of
from kvtrace.converters.findings.model import Finding, Findings
from kvtrace.converters.info.info import KernelOverview, Overview, RunOverview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.one_table import TableRow, table_rows
from kvtrace.converters.profile.profile_model import KernelProfile, Profile, advice_lines
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.text import amount, count, distinct, duration, percent, plural, shorten, size

_MOST_KERNELS: Final = 15
_WIDTH: Final = 60
_COMMAND: Final = 34
_SECOND_NS: Final = 1_000_000_000
_SHOWN: Final = 25
_NAME: Final = 60

_LAUNCHES: Final[Column[TableRow]] = Column(
    "launches", lambda row: count(row.executions), source="measured", kind="number",
    meaning="without those of autotuners and warm-ups",
)  # fmt: skip
_MEASURED: Final[tuple[Column[KernelProfile], ...]] = (
    Column(
        "host", lambda k: duration(k.measured.host_ns), source="measured", kind="number",
        meaning="time in launching functions, without compiling",
    ),
    Column(
        "median", lambda k: duration(k.measured.host_median_ns), source="measured", kind="number",
        meaning="median host time of a launch",
    ),
    Column(
        "compile", lambda k: duration(k.compile_ns), source="measured", kind="number",
        meaning="time to compile all its variants",
    ),
)  # fmt: skip
_DEVICE: Final[Column[TableRow]] = Column(
    "device", lambda row: duration(_device_ns(row)), source="measured", kind="number",
    meaning="time of its executions on the device",
)  # fmt: skip
_DERIVED: Final[tuple[Column[KernelProfile], ...]] = (
    Column(
        "bytes", lambda k: _bound_mark(k) + size(k.derived.bytes_per_launch), "a launch", "derived",
        "requested by active lanes; >: some masks depend on data that was not recorded", "number",
    ),
    Column(
        "distinct bytes", lambda k: size(_per_launch(k, k.derived.unique_bytes)), "a launch",
        "derived", "read and written, each counted once", "number",
    ),
    Column(
        "FLOP", lambda k: amount(k.derived.flops_per_launch), "a launch", "derived", "", "number"
    ),
    Column(
        "intensity", lambda k: _intensity(k), "FLOP per byte", "derived", "", "number",
    ),
    Column(
        "lanes on", lambda k: percent(k.derived.mask_efficiency), "of all", "derived",
        "share of the lanes of memory accesses that no mask turns off", "number",
    ),
    Column(
        "bound by", lambda k: k.roofline.bound if k.roofline else "-", "", "derived",
        "memory, compute, or data that caches serve again",
    ),
    Column(
        "at best", lambda k: duration(_per_launch(k, k.roofline.best_ns if k.roofline else None)),
        "a launch", "derived", "least time by the device's limits; not a measurement", "number",
    ),
)  # fmt: skip


def profile_html(profile: Profile) -> str:
    """Return HTML with a table of the kernels, advice, and the command's whole text."""
    rows = table_rows(profile)
    limit_note = f", the first {_SHOWN} of them" if len(rows) > _SHOWN else ""
    size_note = plural(len(rows), "kernel" if profile.device_time is None else "row")
    caption = f"profile <small>{markup.words(profile.path)}: {size_note}{limit_note}</small>"
    names = distinct((row.name for row in rows), _NAME)
    name: Column[TableRow] = Column("kernel", lambda row: names[row.name], kind="code")
    parts = [markup.table([name, *_figures(profile)], rows[:_SHOWN], caption)]
    if not profile.replayed:
        replay_hint = " yet: call .replay()" if profile.replay_helps else ""
        parts.append(markup.paragraph(f"bytes and FLOPs are not known{replay_hint}"))
    elif profile.device is not None:
        limits = profile.device.limits
        limits_note = f"at best and bound: by the limits of {limits.name} ({limits.source})"
        parts.append(markup.paragraph(limits_note))
    parts += [markup.paragraph(line) for line in advice_lines(profile.advice)]
    command_output = markup.code(profile_text(profile, full=True, width=120))
    return markup.shown(
        *parts, markup.folded("as kvtrace profile --full prints it", command_output)
    )


def row_html(profile: Profile, row: TableRow) -> str:
    """Return an HTML table with a line for each figure of one row."""
    facts = [(_heading(c), c.cell(row), c.source, c.meaning) for c in _figures(profile)]
    columns: list[Column[tuple[str, object, str, str]]] = [
        Column("figure", lambda fact: fact[0]),
        Column("value", lambda fact: fact[1], kind="number"),
        Column("source", lambda fact: fact[2]),
        Column("meaning", lambda fact: fact[3], kind="sentence"),
    ]
    known_facts = [fact for fact in facts if fact[1] is not None]
    caption = f"<code>{markup.words(row.name)}</code> <small>{markup.words(_place(row))}</small>"
    return markup.shown(markup.table(columns, known_facts, caption))


def row_text(profile: Profile, row: TableRow) -> list[str]:
    """Return one row's name, and a line of text for each of its figures."""
    columns = _figures(profile)
    width = max(len(_heading(column)) for column in columns)
    lines = [
        f"  {_heading(c):<{width}}  {c.cell(row)} ({c.source})"
        for c in columns
        if c.cell(row) is not None
    ]
    place = _place(row)
    return [f"{row.name} at {place}" if place else row.name, *lines]


def _place(row: TableRow) -> str:
    kernel = row.kernel
    return f"{kernel.file}:{kernel.line}" if kernel is not None and kernel.file else row.place


def _figures(profile: Profile) -> list[Column[TableRow]]:
    """Return the columns of figures; those of kernels are empty in rows of other work."""
    timed = any(row.share is not None for row in table_rows(profile))
    kernel_columns = [*_MEASURED, *(_DERIVED if profile.replayed else ())]
    return [_LAUNCHES, *([_DEVICE] if timed else []), *map(_of_row, kernel_columns)]


def _of_row(column: Column[KernelProfile]) -> Column[TableRow]:
    return Column(
        column.head,
        lambda row: None if row.kernel is None else column.cell(row.kernel),
        column.unit,
        column.source,
        column.meaning,
        column.kind,
    )


def _device_ns(row: TableRow) -> int | None:
    return None if row.share is None else row.taken_ns


def _heading(column: Column[TableRow]) -> str:
    return f"{column.head}, {column.unit}" if column.unit else column.head


def _bound_mark(kernel: KernelProfile) -> str:
    return ">" if kernel.derived.unknown_accesses else ""


def _intensity(kernel: KernelProfile) -> str:
    intensity = kernel.derived.intensity
    return "-" if intensity is None else f"{intensity:.2f}"


def _per_launch(kernel: KernelProfile, total: float | None) -> float | None:
    return None if total is None or not kernel.runs else total / kernel.runs


def overview_html(overview: Overview) -> str:
    """Return HTML with tables of runs and kernels, warnings, and the command's whole text."""
    others = f"; {plural(overview.other_runs, 'more run')} there" if overview.other_runs else ""
    runs = f"trace <small>{markup.words(overview.path)}{others}</small>"
    more_kernels = len(overview.kernels) - _MOST_KERNELS
    limit_note = f", the first {_MOST_KERNELS} by time" if more_kernels > 0 else ""
    kernels = f"{plural(len(overview.kernels), 'kernel')}{limit_note}"
    parts = [
        markup.table(_runs(overview), overview.runs[:_MOST_KERNELS], runs),
        markup.table(_kernels(overview), overview.kernels[:_MOST_KERNELS], kernels),
        *(
            markup.paragraph(message.text, message.level)
            for message in overview.messages
            if message.level != "info"
        ),
        *(markup.paragraph(note, "note") for note in overview.notes),
    ]
    command_output = markup.code(overview_text(overview, full=True, width=120))
    return markup.shown(*parts, markup.folded("as kvtrace info --all prints it", command_output))


def _runs(overview: Overview) -> list[Column[RunOverview]]:
    ranks: list[Column[RunOverview]] = [Column("rank", lambda run: run.rank, kind="number")]
    commits: list[Column[RunOverview]] = [
        Column("commit", lambda run: run.git_commit and run.git_commit[:12], kind="code")
    ]
    return [
        Column("run", lambda run: run.run_id, kind="code"),
        Column("command", lambda run: _command(run.command), kind="code"),
        Column("started", lambda run: _moment(run.started), "UTC"),
        *(ranks if any(run.rank is not None for run in overview.runs) else ()),
        *(commits if any(run.git_commit for run in overview.runs) else ()),
        Column("kernels", lambda run: count(run.kernels), "variants", kind="number"),
        Column("calls", lambda run: count(run.calls), "distinct", kind="number"),
        Column("launches", lambda run: count(run.launches), kind="number"),
        Column("passes", lambda run: ", ".join(run.passes) or "none"),
    ]


def _kernels(overview: Overview) -> list[Column[KernelOverview]]:
    timed = any(kernel.device_ns is not None for kernel in overview.kernels)
    device: list[Column[KernelOverview]] = [
        Column("device", lambda k: duration(k.device_ns), "", "measured", "", "number")
    ]
    names = distinct((kernel.name for kernel in overview.kernels), _WIDTH)
    return [
        Column("kernel", lambda k: names[k.name], kind="code"),
        Column("defined at", lambda k: k.file and f"{k.file}:{k.line}", kind="code"),
        Column("variants", lambda k: count(k.variants), kind="number"),
        Column("calls", lambda k: count(k.calls), "distinct", kind="number"),
        Column("launches", lambda k: count(k.launches), kind="number"),
        *(device if timed else ()),
        Column(
            "host", lambda k: duration(k.host_ns), "", "measured",
            "time in launching functions, without compiling", "number",
        ),
        Column("compiling", lambda k: duration(k.compiling_ns), "", "measured", "", "number"),
    ]  # fmt: skip


def _command(command: str | None) -> str | None:
    """Return a command line without the folder of its program."""
    if command is None:
        return None
    program, space, rest = command.partition(" ")
    return shorten(program.rpartition("/")[2] + space + rest, _COMMAND)


def _moment(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    return f"{datetime.fromtimestamp(nanoseconds / _SECOND_NS, UTC):%Y-%m-%d %H:%M:%S}"


# HTML of what was found: findings with source and witness, differences, and the report's page.

_MESSAGE_WIDTH: Final = 60
_CERTAINTY: Final[dict[str, str]] = {
    "measured": "measured", "derived": "derived", "exact": "reading both sides",
}  # fmt: skip
#: Characters of a source line that are shown.
_LINE_WIDTH: Final = 110
#: The line below a source line, which has no number.
_CARET: Final = re.compile(r" +\| *\^")
#: Most findings that are shown one by one.
_MOST_SHOWN: Final = 20


def findings_html(findings: Findings) -> str:
    """Return HTML with the first findings, each with its source, and the number of verdicts."""
    printer = _printer(findings)
    caused = by_cause(findings)
    groups = caused.groups
    parts = [_finding(printer, group) for group in groups[:_MOST_SHOWN]]
    if len(groups) > _MOST_SHOWN:
        omitted_text = plural(len(groups) - _MOST_SHOWN, "more finding")
        parts.append(markup.paragraph(f"… and {omitted_text}, in the result's text and rows"))
    parts += map(markup.paragraph, caused.lint_lines())
    verdict_counts, *further_lines = printer.summary(findings)
    parts.append(markup.paragraph(verdict_counts))
    if further_lines:
        parts.append(markup.folded("by kernel", markup.code(further_lines)))
    return markup.shown(*parts)


def finding_html(findings: Findings, finding: Finding) -> str:
    """Return HTML with one finding and its source."""
    return markup.shown(_finding(_printer(findings), [finding]))


def finding_text(findings: Findings, finding: Finding) -> list[str]:
    """Return one finding as lines of text, as the command prints it."""
    return Printer(findings.lines, base=str(Path.cwd())).defect([finding])


def _printer(findings: Findings) -> Printer:
    return Printer(findings.lines, base=str(Path.cwd()), width=_LINE_WIDTH)


def _finding(printer: Printer, group: Sequence[Finding]) -> str:
    finding = group[0]
    location, label, kind = printer.heading_parts(group)
    heading = (
        f'<p><span class="{markup.words(kind)}">{markup.words(label)}</span> '
        f"<code>{markup.words(location)}</code> <small>derived</small></p>"
    )
    lines = "\n".join(
        f'<span class="caret">{markup.words(line)}</span>'
        if _CARET.fullmatch(line)
        else markup.words(line)
        for line in printer.excerpt(finding)
    )
    excerpt = f"<pre>{lines}</pre>" if lines else ""
    return (
        heading
        + markup.paragraph(message_of(finding))
        + excerpt
        + markup.facts(printer.labeled_facts(group))
    )


@dataclass(frozen=True)
class ShownPage:
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


_COLUMNS: Final[tuple[Column[HeadlineRow], ...]] = (
    Column("where", lambda row: row.level),
    Column("what", lambda row: row.what, kind="sentence"),
    Column("before", lambda row: row.before and shorten(row.before, _MESSAGE_WIDTH), kind="number"),
    Column("after", lambda row: row.after and shorten(row.after, _MESSAGE_WIDTH), kind="number"),
    Column(
        "change", lambda row: _share(row), "of before", kind="number",
        tone=lambda row: row.direction if row.direction != "changed" else "",
    ),
    Column("known by", lambda row: _CERTAINTY[row.certainty]),
)  # fmt: skip


def difference_html(difference: Difference) -> str:
    """Return HTML with both sides, a table of the changes, and the command's whole text."""
    command_output = markup.code(headline_text(difference, width=120, full=True))
    sides = markup.facts(
        [("before", side_line(difference.before)), ("after", side_line(difference.after))]
    )
    caption = markup.words(summary(difference))
    names = distinct((row.kernel for row in difference.headline), _MESSAGE_WIDTH)
    kernel: Column[HeadlineRow] = Column("kernel", lambda row: names[row.kernel], kind="code")
    table = (
        markup.table([kernel, *_COLUMNS], difference.headline, caption)
        if difference.headline
        else (markup.paragraph(summary(difference)))
    )
    return markup.shown(sides, table, markup.folded("as kvtrace diff prints it", command_output))


def _share(row: HeadlineRow) -> str:
    if row.share is None:
        return "" if row.direction == "changed" else row.direction
    return f"{100 * row.share:+.2g} %"
