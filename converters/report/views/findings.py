"""Block `findings/verdicts`: number of accesses by kernel, rule and what they count as.

It includes proven accesses, which the page does not list. Comments that suppress findings are not
applied: an access counts as what it would be without them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import pyarrow as pa

from kvtrace.converters.findings.model import counted_as
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.slices import NO_CALL
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import Run

_COLUMNS: Final = ("call_id", "rule", "verdict", "severity")


def _blocks(context: Context) -> Iterable[Block]:
    if context.report.finding_counts is not None:
        yield Block("findings/verdicts", partial(_verdicts_block, context))


def _verdicts_block(context: Context) -> str:
    """Return the block: sorted rows of kernel index (-1: unknown), rule, name and count."""
    report = context.report
    kernels: dict[tuple[int, int | None], int] = {
        (call.run, call.call_id): report.variants[call.variant].kernel
        for call in report.calls
        if call.variant != NO_CALL
    }
    counts: Counter[tuple[int, str, str]] = Counter()
    for index, run in enumerate(context.runs):
        for call, rule, verdict, severity, count in _verdict_counts(context, run):
            kernel = kernels.get((index, call), -1)
            name = counted_as(verdict or "unknown", severity, suppressed=False)
            counts[kernel, rule or "unnamed", name] += count
    return json_block(
        {"measured": False, "rows": [[*names, count] for names, count in sorted(counts.items())]}
    )


def _verdict_counts(
    context: Context, run: Run
) -> Iterator[tuple[int | None, str | None, str | None, str | None, int]]:
    """Yield call id, rule, verdict, severity and their number of accesses in a run."""
    table = context.trace.table("findings", (run,), _COLUMNS)
    findings = pa.table({name: without_dictionary(table[name]) for name in _COLUMNS})
    counted = findings.group_by(list(_COLUMNS)).aggregate([([], "count_all")])
    columns = [counted[name].to_pylist() for name in (*_COLUMNS, "count_all")]
    yield from zip(*columns, strict=True)


SOURCE: Final = BlockSource(
    name="findings",
    order=5,
    share=0.1,
    noun="verdicts by kernel",
    query="SELECT rule, verdict, count(*) FROM findings GROUP BY ALL",
    blocks=_blocks,
)
