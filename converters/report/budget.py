"""Selection of the report's blocks within the page's size, and a record of omitted parts."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import asdict, dataclass, field, fields, replace
from operator import is_not
from typing import TYPE_CHECKING, Final

from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.report.findings import MOST_FINDINGS
from kvtrace.converters.report.model import Limits, Report, Variant
from kvtrace.converters.report.pack import columns_block, json_text, text_block
from kvtrace.converters.report.slices import (
    BIN_COUNTS,
    Bins,
    Slices,
    bin_slices,
    coarser,
    thin,
)
from kvtrace.converters.report.sources import Block, BlockSource, Context, block_sources
from kvtrace.schema.errors import DamagedFile

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

__all__ = ["Budget", "Dropped", "fitted_blocks"]

#: Fields of a report in the block "report"; others are columns, or lead to other blocks.
REPORT_FIELDS: Final = tuple(
    field.name
    for field in fields(Report)
    if field.name
    not in {
        "launches",
        "device",
        "rows",
        "bins",
        "texts",
        "stack_places",
        "stage_artifacts",
        "kernel_keys",
    }
)
#: Share of the room reserved for launches.
_LAUNCH_SHARE: Final = 0.5
_FEWEST_LAUNCHES: Final = 20
#: Most launches that a browser opens within a second or two.
_MOST_LAUNCHES: Final = 1_000_000
#: Factors by which existing bins are widened until they fit.
_COARSER: Final = (1, 4, 20, 100)
#: Number of blocks of a source that may be too large before the rest is skipped.
_MOST_REFUSED: Final = 20
#: Above this number, launches take their whole share without measuring their size first.
_PACKED_EARLY: Final = 100_000
#: Room for the notes on omitted parts, which are known last.
_RESERVE: Final = 16_384


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part that did not fit: a sentence, and the command that shows the part."""

    what: str
    text: str
    command: str


@dataclass(slots=True)
class Budget:
    """The page in progress: blocks by name, omitted parts, and the size limit in bytes."""

    report: Report
    max_bytes: int
    blocks: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    bin_ns: int | None = None
    """Width of the timeline's bins; None if all launches are on the page."""
    texts: dict[str, str] = field(default_factory=dict)
    """JSON of the report's current fields, by name."""
    shown: list[Variant] = field(default_factory=list)
    """The variants whose JSON is in `texts`."""

    def room(self) -> int:
        """Return the number of free bytes; negative if the limit is exceeded."""
        return self.max_bytes - sum(map(_block_size, self.blocks.values()))

    def drop(self, what: str, text: str, command: str) -> None:
        """Record an omitted part."""
        self.dropped.append(Dropped(what, text, command))


def fitted_blocks(
    budget: Budget, trace: "Trace", runs: "tuple[Run, ...]", *, source: bool = True
) -> None:
    """Fill the budget's blocks: figures and rows first, then the views' data, then launches.

    If `budget.room()` is negative afterwards, not even the figures fit. Without `source`, no code
    of the program is included.
    """
    budget.report = _bounded(budget)
    if not source:
        budget.report = without_code(budget.report)
    budget.blocks["report"] = _report_block(budget) + " " * _RESERVE
    if budget.room() < 0:
        return
    _add_sources(budget, Context(budget.report, trace, runs, source))
    _add_slices(budget)
    budget.blocks["report"] = _report_block(budget)


def _bounded(budget: Budget) -> Report:
    """Return the report with at most `MOST_FINDINGS` findings, and record omitted ones."""
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
            _sql(report, "FROM calls"),
        )
    return report


def _sql(report: Report, query: str) -> str:
    """Return the command that shows omitted rows in a terminal."""
    return f'kvtrace sql {report.trace} "{query}"'


def without_code(report: Report) -> Report:
    """Return the report without lines of source, expressions, and texts."""
    return replace(
        report,
        findings=tuple(
            replace(finding, found=replace(finding.found, source=None, expression=None))
            for finding in report.findings
        ),
    )


def _report_block(budget: Budget) -> str:
    """Return the report's block; unchanged fields keep their JSON from the first call."""
    report, texts = budget.report, budget.texts
    for name in REPORT_FIELDS:
        if name not in texts and name not in ("variants", "limits"):
            texts[name] = json_text(getattr(report, name))
    present = {int(name[6:]) for name in budget.blocks if name.startswith("texts/")}
    shown = [_with_texts(variant, present) for variant in report.variants]
    if "variants" not in texts or any(map(is_not, shown, budget.shown)):
        budget.shown, texts["variants"] = shown, json_text(shown)
    changing = {
        "limits": _limits(report.limits),
        "bin_ns": budget.bin_ns,
        "dropped": [asdict(entry) for entry in budget.dropped],
    }
    written = texts | {name: json_text(value) for name, value in changing.items()}
    fields = (
        f"{json_text(name)}:{written[name]}" for name in (*REPORT_FIELDS, "bin_ns", "dropped")
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
    """Return a variant whose stages and files refer only to texts on the page."""
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
    """Add the blocks of every source while there is room, with a share reserved for launches."""
    launches = budget.report.launches
    packed = _slices_block(launches) if len(launches) <= _PACKED_EARLY else None
    needed = budget.room() if packed is None else _block_size(packed)
    reserved = min(needed, int(budget.room() * _LAUNCH_SHARE))
    for source in block_sources():
        room = int((budget.room() - reserved) * source.share)
        _add_blocks(budget, source, source.blocks(context), room)


def _add_blocks(budget: Budget, source: BlockSource, blocks: Iterable[Block], room: int) -> None:
    omitted = total = refused = 0
    for block in blocks:
        total += 1
        try:
            packed = block.pack() if refused < _MOST_REFUSED and room > 0 else None
        except DamagedFile as damage:
            if str(damage) not in (entry.text for entry in budget.dropped):
                budget.drop(source.name, str(damage), _sql(budget.report, source.query))
            continue
        if packed is None or _block_size(packed) > room:
            omitted += 1
            refused += 1
            continue
        budget.blocks[block.name] = packed
        room -= _block_size(packed)
    if omitted:
        budget.drop(
            source.name,
            f"{omitted:,} of {total:,} {source.noun} did not fit into this page. All:",
            _sql(budget.report, source.query),
        )


# --- launches -----------------------------------------------------------------------------------


def _add_slices(budget: Budget) -> None:
    """Add launches and device executions; if launches are omitted, also bins that count all."""
    device, launches, rows = (
        getattr(budget.report, name) for name in ("device", "launches", "rows")
    )
    share = rows["gpu_kernels"] / max(sum(rows.values()), 1)
    budget.blocks["device"] = _fitted(
        budget, device, share, "executions on the device", "gpu_kernels"
    )
    if len(launches) <= _MOST_LAUNCHES:
        block = _slices_block(launches)
        if _block_size(block) <= budget.room():
            budget.blocks["launches"] = block
            return
    _add_bins(budget)
    budget.blocks["launches"] = _fitted(budget, launches, 1.0, "launches", "launches")


def _add_bins(budget: Budget) -> None:
    """Add bins that count every launch, as fine as half of the room allows."""
    room = budget.room() // 2
    for bins in _ever_coarser(budget.report):
        columns = {
            "track": bins.track,
            "bin": bins.bin,
            "kernel": bins.kernel,
            "count": bins.count,
            "busy": bins.busy_ns,
        }
        budget.blocks["bins"] = block = columns_block(columns)
        budget.bin_ns = bins.width_ns
        if _block_size(block) <= room:
            return


def _ever_coarser(report: Report) -> Iterator[Bins]:
    if report.bins is None:
        yield from (bin_slices(report.launches, report.span_ns, count) for count in BIN_COUNTS)
    else:
        yield from (coarser(report.bins, times) for times in _COARSER)


def _fitted(budget: Budget, slices: Slices, share: float, noun: str, table: str) -> str:
    """Return a block with as many rows as fit into a share of the room."""
    room = int(budget.room() * share) - 200
    selection = thin(slices, _MOST_LAUNCHES)
    block = _slices_block(selection)
    while len(block) > room and len(selection) > _FEWEST_LAUNCHES:
        size = int(len(selection) * min(room / len(block), 1.0) * 0.97)
        selection = thin(slices, max(size, _FEWEST_LAUNCHES))
        block = _slices_block(selection)
    if len(block) > max(room, 0) and len(slices):
        selection = type(slices).empty()
        block = _slices_block(selection)
    number = budget.report.rows[table]
    if len(selection) < number:
        budget.drop(
            noun,
            f"{len(selection):,} of {number:,} {noun} are on this page one by one: an even "
            "selection, with the first and the longest of each call if there is room. The figures "
            "count all of them. All:",
            _sql(budget.report, f"FROM {table}"),
        )
    return block


def _slices_block(slices: Slices) -> str:
    return columns_block({column.name: getattr(slices, column.name) for column in fields(slices)})


def _block_size(block: str) -> int:
    """Return the size of a block in the page, including its HTML element."""
    return len(block) + 80
