"""What of a report fits into a page, and what is left out, which the page reports."""

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

#: What of a report goes into its block; the rest is columns, or only leads to other blocks.
REPORT_FIELDS: Final = tuple(
    each.name
    for each in fields(Report)
    if each.name
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
#: Launches may always have this share of the room, however much else there is.
_LAUNCH_SHARE: Final = 0.5
_FEWEST_LAUNCHES: Final = 20
#: More than this a browser can hold, but not open in a second or two.
_MOST_LAUNCHES: Final = 1_000_000
#: How much wider bins are made that were counted before, until they fit.
_COARSER: Final = (1, 4, 20, 100)
#: As many blocks of a source may be too large before the rest is skipped.
_MOST_REFUSED: Final = 20
#: More launches than this take their whole share; what they need is not worked out first.
_PACKED_EARLY: Final = 100_000
#: Room for the sentences about what was left out, which are known last.
_RESERVE: Final = 16_384


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that did not fit: in one sentence, and the command that shows it."""

    what: str
    text: str
    command: str


@dataclass(slots=True)
class Budget:
    """The page so far: its blocks by name, what was left out, and how many bytes it may have."""

    report: Report
    max_bytes: int
    blocks: dict[str, str] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    bin_ns: int | None = None
    """Width of the timeline's bins, where launches were left out."""
    texts: dict[str, str] = field(default_factory=dict)
    """JSON of the report's fields as they are so far."""
    shown: list[Variant] = field(default_factory=list)
    """The variants of which `texts` has the JSON."""

    def room(self) -> int:
        """Return how many bytes are left; negative when too many are used."""
        return self.max_bytes - sum(map(_block_size, self.blocks.values()))

    def drop(self, what: str, text: str, command: str) -> None:
        """Say that something was left out."""
        self.dropped.append(Dropped(what, text, command))


def fitted_blocks(
    budget: Budget, trace: "Trace", runs: "tuple[Run, ...]", *, source: bool = True
) -> None:
    """Fill the budget's blocks: figures and rows first, then what views need, then launches.

    When `budget.room()` is negative afterwards, not even the figures fit. Without `source`, no
    code of the program goes in.
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
    """Leave out findings beyond what a page can hold, and say which calls are left out."""
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
    """Return the command that shows in a terminal what the page leaves out."""
    return f'kvtrace sql {report.trace} "{query}"'


def without_code(report: Report) -> Report:
    """Return the report without lines of source, expressions, and texts."""
    return replace(
        report,
        findings=tuple(
            replace(each, found=replace(each.found, source=None, expression=None))
            for each in report.findings
        ),
    )


def _report_block(budget: Budget) -> str:
    """Return the report's block; what is worked out of the trace is written once for both."""
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
    """Return a variant whose stages and files refer only to texts that are on the page."""
    texts = {each.text for each in variant.stages} | {each.text for each in variant.files}
    if texts - {None} <= present:
        return variant
    return replace(
        variant,
        stages=tuple(s if s.text in present else replace(s, text=None) for s in variant.stages),
        files=tuple(f if f.text in present else replace(f, text=None) for f in variant.files),
    )


# --- blocks that views read later ----------------------------------------------------------------


def _add_sources(budget: Budget, context: Context) -> None:
    """Add the blocks of every source while there is room; launches keep their share of it."""
    launches = budget.report.launches
    packed = _slices_block(launches) if len(launches) <= _PACKED_EARLY else None
    wanted = budget.room() if packed is None else _block_size(packed)
    reserved = min(wanted, int(budget.room() * _LAUNCH_SHARE))
    for source in block_sources():
        room = int((budget.room() - reserved) * source.share)
        _add_blocks(budget, source, source.blocks(context), room)


def _add_blocks(budget: Budget, source: BlockSource, blocks: Iterable[Block], room: int) -> None:
    left_out = many = refused = 0
    for block in blocks:
        many += 1
        try:
            packed = block.pack() if refused < _MOST_REFUSED and room > 0 else None
        except DamagedFile as damage:
            if str(damage) not in (entry.text for entry in budget.dropped):
                budget.drop(source.name, str(damage), _sql(budget.report, source.query))
            continue
        if packed is None or _block_size(packed) > room:
            left_out += 1
            refused += 1
            continue
        budget.blocks[block.name] = packed
        room -= _block_size(packed)
    if left_out:
        budget.drop(
            source.name,
            f"{left_out:,} of {many:,} {source.noun} did not fit into this page. All:",
            _sql(budget.report, source.query),
        )


# --- launches -----------------------------------------------------------------------------------


def _add_slices(budget: Budget) -> None:
    """Add launches and device executions; where launches are left out, bins that count all."""
    device, launches, rows = (
        getattr(budget.report, each) for each in ("device", "launches", "rows")
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
    kept = thin(slices, _MOST_LAUNCHES)
    block = _slices_block(kept)
    while len(block) > room and len(kept) > _FEWEST_LAUNCHES:
        keep = int(len(kept) * min(room / len(block), 1.0) * 0.97)
        kept = thin(slices, max(keep, _FEWEST_LAUNCHES))
        block = _slices_block(kept)
    if len(block) > max(room, 0) and len(slices):
        kept = type(slices).empty()
        block = _slices_block(kept)
    number = budget.report.rows[table]
    if len(kept) < number:
        budget.drop(
            noun,
            f"{len(kept):,} of {number:,} {noun} are on this page one by one: an even choice, "
            "with the first and the longest of each call where there is room. The figures count "
            "every one. All:",
            _sql(budget.report, f"FROM {table}"),
        )
    return block


def _slices_block(slices: Slices) -> str:
    return columns_block({each.name: getattr(slices, each.name) for each in fields(slices)})


def _block_size(block: str) -> int:
    """Return what a block takes in the page, with its element around it."""
    return len(block) + 80
