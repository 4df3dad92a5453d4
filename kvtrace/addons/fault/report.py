"""Block `faults`: what `kvtrace fault` says of the runs on a page, for the first screen.

Dumps are read and their calls judged when the block is packed; a trace without dumps has no block.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.addons.fault.starting import FOLDER, SUFFIX
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

if TYPE_CHECKING:
    from kvtrace.addons.fault.texts import ShownFault

__all__ = ["SOURCE", "Faults", "PageFault"]

_MOST: Final = 8
"""Most faults on a page: each has a dump to read and a call to judge."""


@dataclass(frozen=True, slots=True)
class PageFault:
    """A fault or a hang."""

    process: str
    """The process that was asked where it hangs, on its first fault; empty: none was."""
    headline: str
    excerpt: tuple[str, ...]
    """Lines of the source, with a caret below the place."""
    facts: tuple[tuple[str, str], ...]
    """Labels and sentences."""
    commands: tuple[str, ...]
    call: int | None
    """Index into `Report.calls`."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The newest faults of the page's runs."""

    faults: tuple[PageFault, ...]
    problems: tuple[str, ...]
    """Sentences on dumps that cannot be read."""
    more: int
    """Number of further dumps."""
    command: str
    """The command that shows all."""


def _blocks(context: Context) -> Iterable[Block]:
    if any((context.trace.path / FOLDER).glob(f"*{SUFFIX}")):
        yield Block("faults", lambda: json_block(_faults(context)))


def _faults(context: Context) -> Faults:
    from kvtrace.addons.fault.dumps import dumps_of, explained_runs

    files = dumps_of(context.trace, context.runs)
    found, problems = explained_runs(context.trace, context.runs, files[:_MOST])
    return Faults(
        faults=tuple(_page_faults(context, found.shown(source=context.source))),
        problems=problems,
        more=max(len(files) - _MOST, 0),
        command=f"kvtrace fault {shlex.quote(str(context.trace.path))}",
    )


def _page_faults(context: Context, shown: "Iterable[ShownFault]") -> Iterator[PageFault]:
    runs = {run.run_id: place for place, run in enumerate(context.runs)}
    calls = {(call.run, call.call_id): place for place, call in enumerate(context.report.calls)}
    for fault in shown:
        run = None if fault.run is None else runs.get(fault.run)
        yield PageFault(
            process=fault.process,
            headline=fault.headline,
            excerpt=fault.excerpt,
            facts=fault.facts,
            commands=fault.commands,
            call=None if run is None or fault.call is None else calls.get((run, fault.call)),
        )


SOURCE: Final = BlockSource(
    name="faults",
    order=0,
    share=0.2,
    noun="GPU faults",
    query="FROM runs",
    blocks=_blocks,
    types=(Faults, PageFault),
)
