"""Completion of traces before they are shown or compared: missing passes, and stages after TTIR."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.analysis import missing_passes
from kvtrace.backends.triton.later_stages import complete_stages
from kvtrace.schema.trace import Selection

if TYPE_CHECKING:
    from kvtrace.clients.call_results import EqualCalls


def complete(
    selections: Sequence[Selection], *, replay: bool | None, seconds: float | None = None,
    partial: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Run the passes that runs lack, then compile missing IR stages, and yield messages.

    The passes are the tracer, profiler and sanitizer, and those of add-ons. Results are written to
    the trace.

    Args:
        selections: The runs.
        replay: Whether to run missing passes, however long they take; None: in limited time.
        seconds: That time, for each selection; None: `MOST_SECONDS`.
        partial: Whether results of only some calls are of use: they are kept beside the trace, so
            that the caller reads it while `results_beside` is open.

    """
    limit = None if replay else missing_passes.MOST_SECONDS if seconds is None else seconds
    if replay is not False:
        equal_calls: EqualCalls = {}
        for selection in selections:
            yield from missing_passes.run_missing_passes(
                selection, seconds=limit, partial=partial, equal_calls=equal_calls
            )
            for _, run_missing in registry.loaded("missing_passes"):
                yield from run_missing(selection, seconds=limit)
    for selection in selections:
        yield from complete_stages(selection, asked=bool(replay))
