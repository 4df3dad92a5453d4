"""Completion of traces before they are shown or compared: missing passes, and stages after TTIR."""

from collections.abc import Iterator, Sequence

from kvtrace import registry
from kvtrace.analysis.missing_passes import run_missing_passes
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.backends.triton.later_stages import complete_stages
from kvtrace.schema.trace import Selection


def complete(
    selections: Sequence[Selection], *, replay: bool | None, shown: Shown = unshown
) -> Iterator[str]:
    """Run the passes that runs lack, then compile missing IR stages, and yield messages.

    The passes are the tracer, profiler and sanitizer, and those of add-ons. Results are written to
    the trace.

    Args:
        selections: The runs.
        replay: Whether to run missing passes; None: only if they take seconds.
        shown: The progress display.

    """
    if replay is not False:
        for selection in selections:
            yield from run_missing_passes(selection, asked=bool(replay), shown=shown)
            for _, run_missing in registry.loaded("missing_passes"):
                yield from run_missing(selection, asked=bool(replay), shown=shown)
    for selection in selections:
        yield from complete_stages(selection, asked=bool(replay))
