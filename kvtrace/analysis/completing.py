"""What traces lack, made before they are shown or compared: passes, and stages behind TTIR."""

from collections.abc import Iterator, Sequence

from kvtrace import registry
from kvtrace.analysis.missing_passes import run_missing_passes
from kvtrace.analysis.progress import Shown, unshown
from kvtrace.backends.triton.later_stages import complete_stages
from kvtrace.schema.trace import Selection


def complete(
    selections: Sequence[Selection], *, replay: bool | None, shown: Shown = unshown
) -> Iterator[str]:
    """Replay, judge and check what has not been, then make missing stages; give what to say.

    Args:
        selections: The runs.
        replay: However long it takes (True), where that takes seconds (None), or not (False).
        shown: Where progress is shown.

    """
    if replay is not False:
        for each in selections:
            yield from run_missing_passes(each, asked=bool(replay), shown=shown)
            for _, run_missing in registry.loaded("missing_passes"):
                yield from run_missing(each, asked=bool(replay), shown=shown)
    for each in selections:
        yield from complete_stages(each, asked=bool(replay))
