"""Writing of the page: the built page, a title, blocks that fit into the size budget, and notes."""

import functools
import html
import importlib.resources
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from operator import is_not
from typing import Final

import numpy as np

from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.report.detail import MOST_ROWS, Range, detailed
from kvtrace.converters.report.findings import MOST_FINDINGS
from kvtrace.converters.report.model import Limits, Report, Track, Variant
from kvtrace.converters.report.pack import columns_block, json_text, text_block
from kvtrace.converters.report.slices import (
    NO_CALL,
    Executions,
    Integers,
    Slices,
    SlicesType,
    bin_slices,
)
from kvtrace.converters.report.sources import Block, BlockSource, Context, block_sources
from kvtrace.schema.errors import BadSetting, DamagedFile
from kvtrace.schema.trace import Run, Selection, Trace
from kvtrace.text import plural

#: Fields of `Report` in the block "report"; the others are in other blocks, or not on the page.
REPORT_FIELDS: Final = tuple(
    field.name
    for field in fields(Report)
    if field.name
    not in {
        "launches",
        "device",
        "rows",
        "bins",
        "plans",
        "texts",
        "stack_places",
        "stage_artifacts",
        "kernel_keys",
        "call_sums",
    }
)
#: Share of the free bytes that is reserved for launches.
_LAUNCH_SHARE: Final = 0.5
_FEWEST_ROWS: Final = 20
#: Name of the block with the rows of a table, and the noun for them.
BLOCKS: Final = {"launches": "launches", "gpu_kernels": "device"}
_NOUNS: Final = {"launches": "launches", "gpu_kernels": "executions on the device"}
#: Most bins of a table, and factors by which they are widened until they fit.
_MOST_BINS: Final = 200_000
_COARSER: Final = (1, 2, 4, 10, 20, 100)
#: After this many blocks of a source that are too large, its further blocks are skipped.
_MOST_REFUSED: Final = 20
#: Above this number of launches, their whole share is reserved without packing them first.
_PACKED_EARLY: Final = 100_000
#: Bytes reserved for the notes on omitted parts, which are known last.
_RESERVE: Final = 16_384


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part that did not fit: its kind (`what`), a sentence, and the command that shows it."""

    what: str
    text: str
    command: str


@dataclass(slots=True)
class Budget:
    """A page as it is filled: its blocks by name, omitted parts, and the size limit in bytes."""

    report: Report
    max_bytes: int
    blocks: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    bin_ns: dict[str, int] = field(default_factory=dict)
    """By table, the width of the timeline's bins; missing if all rows are on the page."""
    detail: dict[str, tuple[Range, ...]] = field(default_factory=dict)
    """By table, the ranges of which all rows are on the page, in order; missing likewise."""
    texts: dict[str, str] = field(default_factory=dict)
    """JSON of the report's fields by name, encoded once."""
    shown: list[Variant] = field(default_factory=list)
    """The variants whose JSON is in `texts`."""

    def room(self) -> int:
        """Return the number of free bytes; negative if the limit is exceeded."""
        return self.max_bytes - sum(map(_block_size, self.blocks.values()))

    def drop(self, what: str, text: str, command: str) -> None:
        """Record an omitted part."""
        self.dropped.append(Dropped(what, text, command))


def fitted_blocks(
    budget: Budget, trace: Trace, runs: tuple[Run, ...], *, source: bool = True
) -> None:
    """Add blocks to `budget` while they fit: the report, then the views' data, then launches.

    `budget.report` is replaced by the limited report. If `budget.room()` is negative afterwards,
    not even the block "report" fits. Without `source`, no code of the program is included.
    """
    budget.report = _with_limited_findings(budget)
    if not source:
        budget.report = without_code(budget.report)
    budget.blocks["report"] = _report_block(budget) + " " * _RESERVE
    if budget.room() < 0:
        return
    _add_sources(budget, Context(budget.report, trace, runs, source))
    _add_slices(budget)
    budget.blocks["report"] = _report_block(budget)


def _with_limited_findings(budget: Budget) -> Report:
    """Return the report with at most `MOST_FINDINGS` findings; omitted rows are recorded."""
    report = budget.report
    if len(report.findings) > MOST_FINDINGS:
        budget.drop(
            "findings",
            f"The first {MOST_FINDINGS:,} of {len(report.findings):,} distinct findings are "
            "on this page. All:",
            f"kvtrace sanitize {report.trace}",
        )
        report = replace(report, findings=report.findings[:MOST_FINDINGS])
    if len(report.calls) < report.totals.calls:
        budget.drop(
            "calls",
            f"The {len(report.calls):,} unique calls with most host time of "
            f"{report.totals.calls:,} are on this page. All:",
            _sql_command(report, "FROM calls"),
        )
    if len(report.variants) < report.totals.variants:
        budget.drop(
            "variants",
            f"{len(report.variants):,} of {report.totals.variants:,} compiled variants are on this "
            "page: the first of each kernel, those of the calls, and those compiled the longest. "
            "All:",
            _sql_command(report, "FROM kernels"),
        )
    return report


def _sql_command(report: Report, query: str) -> str:
    return f'kvtrace sql {report.trace} "{query}"'


def without_code(report: Report) -> Report:
    """Return the report without source lines, and with findings that have no expression."""
    lines = report.costly_lines
    return replace(
        report,
        costly_lines=None if lines is None else lines.without_code(),
        findings=tuple(
            replace(finding, found=replace(finding.found, source=None, expression=None))
            for finding in report.findings
        ),
    )


def _report_block(budget: Budget) -> str:
    """Return the block "report"; fields that cannot change keep their JSON from the first call."""
    report, texts = budget.report, budget.texts
    for name in REPORT_FIELDS:
        if name not in texts and name not in ("variants", "limits"):
            texts[name] = json_text(getattr(report, name))
    present = {int(name[6:]) for name in budget.blocks if name.startswith("texts/")}
    variants_on_page = [_with_texts(variant, present) for variant in report.variants]
    if "variants" not in texts or any(map(is_not, variants_on_page, budget.shown)):
        budget.shown, texts["variants"] = variants_on_page, json_text(variants_on_page)
    texts["limits"] = json_text(_limits(report.limits))
    changing_fields = {
        "bin_ns": budget.bin_ns,
        "detail": budget.detail,
        "dropped": [asdict(entry) for entry in budget.dropped],
    }
    json_by_field = texts | {name: json_text(value) for name, value in changing_fields.items()}
    fields = (
        f"{json_text(name)}:{json_by_field[name]}" for name in (*REPORT_FIELDS, *changing_fields)
    )
    return text_block("{" + ",".join(fields) + "}")


def _limits(device: ChosenDevice | None) -> Limits | None:
    if device is None:
        return None
    limits = device.limits
    return Limits(
        name=limits.name,
        how=device.how,
        reported=device.reported,
        source=limits.source,
        bandwidth=limits.bandwidth,
        matrix=dict(limits.matrix),
        vector=dict(limits.vector),
    )


def _with_texts(variant: Variant, present: Set[int]) -> Variant:
    """Return a variant without references to texts that are not `present` on the page."""
    texts = {stage.text for stage in variant.stages} | {file.text for file in variant.files}
    if texts - {None} <= present:
        return variant
    return replace(
        variant,
        stages=tuple(s if s.text in present else replace(s, text=None) for s in variant.stages),
        files=tuple(f if f.text in present else replace(f, text=None) for f in variant.files),
    )


# --- blocks that views read later ----------------------------------------------------------------


def _add_sources(budget: Budget, context: Context) -> None:
    """Add the blocks of every source that fit, with bytes reserved for launches."""
    launches = budget.report.launches
    launches_block = _slices_block(launches) if len(launches) <= _PACKED_EARLY else None
    needed_bytes = budget.room() if launches_block is None else _block_size(launches_block)
    reserved_bytes = min(needed_bytes, int(budget.room() * _LAUNCH_SHARE))
    for source in block_sources():
        room = int((budget.room() - reserved_bytes) * source.share)
        _add_blocks(budget, source, source.blocks(context), room)


def _add_blocks(budget: Budget, source: BlockSource, blocks: Iterable[Block], room: int) -> None:
    omitted_count = block_count = refused_count = 0
    for block in blocks:
        block_count += 1
        try:
            packed = block.pack() if refused_count < _MOST_REFUSED and room > 0 else None
        except DamagedFile as damage:
            if str(damage) not in (entry.text for entry in budget.dropped):
                budget.drop(source.name, str(damage), _sql_command(budget.report, source.query))
            continue
        if packed is None or _block_size(packed) > room:
            omitted_count += 1
            refused_count += 1
            continue
        budget.blocks[block.name] = packed
        room -= _block_size(packed)
    if omitted_count:
        budget.drop(
            source.name,
            f"{omitted_count:,} of {block_count:,} {source.noun} did not fit into this page. All:",
            _sql_command(budget.report, source.query),
        )


# --- launches -----------------------------------------------------------------------------------


def _add_slices(budget: Budget) -> None:
    """Add launches and device executions; if some do not fit, also bins of all of them."""
    report = budget.report
    left = sum(report.rows.values())
    executions = report.device
    for table, slices in (("gpu_kernels", report.device), ("launches", report.launches)):
        room = int(budget.room() * report.rows[table] / max(left, 1))
        left -= report.rows[table]
        if len(slices) == report.rows[table]:
            block = _slices_block(slices)
            if _block_size(block) <= room or not len(slices):
                budget.blocks[BLOCKS[table]] = block
                continue
        _add_bins(budget, table, slices, room // 2)
        room -= _block_size(budget.blocks[f"bins/{table}"])
        if isinstance(slices, Executions):
            executions = _add_detail(budget, table, slices, room)
        else:
            causes = _causes(slices, executions, report.tracks)
            _add_detail(budget, table, slices, room, causes)


def _causes(launches: Slices, executions: Executions, tracks: Sequence[Track]) -> Integers:
    """Return the positions of the launches that caused executions of their run."""
    runs = np.array([track.run for track in tracks], np.int64)
    numbered = executions.take(np.flatnonzero(executions.launch != NO_CALL))
    seq_of_both = launches.seq.astype(np.int64), numbered.launch.astype(np.int64)
    most = 1 + max((int(seq.max()) for seq in seq_of_both if len(seq)), default=0)
    launch, cause = (
        runs[slices.track] * most + seq
        for slices, seq in zip((launches, numbered), seq_of_both, strict=True)
    )
    return np.flatnonzero(np.isin(launch, cause))


def _add_bins(budget: Budget, table: str, slices: Slices, room: int) -> None:
    """Add the block with bins that count every row of a table: the narrowest in `room` bytes."""
    report = budget.report
    all_bins = report.bins.get(table) or bin_slices(slices, report.span_ns, len(report.kernels))
    for times in _COARSER:
        bins = all_bins.coarser(times)
        columns = {
            "track": bins.track,
            "bin": bins.bin,
            "key": bins.key,
            "count": bins.count,
            "busy": bins.busy_ns,
        }
        if len(bins) > _MOST_BINS and times != _COARSER[-1]:
            continue
        budget.blocks[f"bins/{table}"] = block = columns_block(columns)
        budget.bin_ns[table] = bins.width_ns
        if _block_size(block) <= room:
            return


def _add_detail(
    budget: Budget, table: str, slices: SlicesType, room: int, causes: Integers | None = None
) -> SlicesType:
    """Add the block with the rows of as many ranges of the plan as fit, and return these rows.

    It has `room` bytes. `causes` are the positions of the launches that caused executions on the
    page. A note on the other rows is recorded.
    """
    report, keep = budget.report, min(len(slices), MOST_ROWS)
    plan, all_read = report.plans[table], table not in report.bins
    chosen = partial(detailed, slices, plan, all_read=all_read, causes=causes)
    ranges, selection = chosen(keep=keep)
    block = _slices_block(selection)
    while _block_size(block) > room and keep > _FEWEST_ROWS:
        keep = max(int(keep * min(room / len(block), 1.0) * 0.97), _FEWEST_ROWS)
        ranges, selection = chosen(keep=keep)
        block = _slices_block(selection)
    if _block_size(block) > room:
        ranges, selection = (), type(slices).empty()
        block = _slices_block(selection)
    budget.blocks[BLOCKS[table]] = block
    budget.detail[table] = ranges
    noun = _NOUNS[table]
    others = ", and the first and the longest of each call if there is room" if all_read else ""
    if causes is not None and not all_read:
        others = ", and those of the executions that are listed"
    budget.drop(
        noun,
        f"{len(selection):,} of {report.rows[table]:,} {noun} are listed on this page: all of "
        f"{plural(len(ranges), 'part')} of the timeline{others}. The figures count all of them. "
        "All:",
        _sql_command(report, f"FROM {table}"),
    )
    return selection


def _slices_block(slices: Slices) -> str:
    return columns_block({column.name: getattr(slices, column.name) for column in fields(slices)})


def _block_size(block: str) -> int:
    return len(block) + 80


MEBIBYTE: Final = 1 << 20
#: The built page (`make frontend`): style, script, and a security policy with their hashes.
_APP: Final = "app.html"
_TITLE: Final = "<!--kvtrace:title-->"
_BLOCKS: Final = "<!--kvtrace:blocks-->"


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The HTML of a page, and the parts that did not fit."""

    html: str
    dropped: tuple[Dropped, ...]


def report_page(
    report: Report,
    selection: Selection,
    max_mb: float = 20.0,
    *,
    source: bool = True,
    blocks: Mapping[str, str] | None = None,
    start: str = "",
    here: bool = False,
) -> ReportPage:
    """Return the report of a selection's runs as one page of at most `max_mb` MiB.

    Parts that do not fit are omitted, the least needed first: ops and accesses of the least
    launched calls, recorded tensors, compiled code of the kernels with least time, then launches
    outside of the most interesting parts of the timeline (`detail.py`). The page lists omitted
    parts, with commands that show them.

    Args:
        report: The report's data.
        selection: The runs, from whose tables further data is read.
        max_mb: Largest size of the page, in MiB.
        source: Include code of the program.
        blocks: Text of additional blocks by name, which are always included.
        start: Address of the view that the page opens at, as behind `#/`.
        here: The page is shown where the program's files are: places link to the editor.

    Raises:
        BadSetting: the budget is too small for the page without launches and texts.
    """
    room = int(max_mb * MEBIBYTE) - len(page_text(report.title, {}).encode())
    budget = Budget(report, room, dict(blocks or {}))
    fitted_blocks(budget, selection.trace, selection.runs, source=source)
    if budget.room() < 0:
        raise BadSetting(
            f"a report of this trace needs at least {max_mb - budget.room() / MEBIBYTE:.2f} MiB, "
            f"more than --max-mb {max_mb:g}"
        )
    html = page_text(report.title, budget.blocks, start, here=here)
    return ReportPage(html, tuple(budget.dropped))


def page_text(title: str, blocks: Mapping[str, str], start: str = "", *, here: bool = False) -> str:
    """Return the HTML of a page with a title and packed blocks, which opens at the view `start`."""
    before, between, after = _page_parts()
    if here:
        before = before.replace("<html ", "<html data-here ", 1)
    if start:
        before = before.replace("<html ", f'<html data-start="/{html.escape(start)}" ', 1)
    elements = "\n".join(_block_element(name, block) for name, block in blocks.items())
    return "".join((before, html.escape(title), between, elements, after))


def _block_element(name: str, block: str) -> str:
    return f'<script type="application/gzip+base64" id="{html.escape(name)}">{block}</script>'


@functools.cache
def _page_parts() -> tuple[str, str, str]:
    """Return the built page's text before the title, between title and blocks, and after them."""
    page = importlib.resources.files(__package__).joinpath(_APP).read_text(encoding="utf-8")
    before, _, rest = page.partition(_TITLE)
    between, _, after = rest.partition(_BLOCKS)
    return before, between, after
