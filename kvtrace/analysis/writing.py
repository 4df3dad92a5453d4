"""Files for other tools and report pages, written once missing passes and stages were run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from math import inf
from pathlib import Path
from time import process_time
from typing import Final

from kvtrace.analysis.completing import complete
from kvtrace.backends.triton.later_stages import complete_stages
from kvtrace.converters.registry import Conversion, load_converter
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.schema.layout import results_beside
from kvtrace.schema.trace import Selection
from kvtrace.schema.window import TraceWindow

#: A function that receives messages before the file is written.
Tell = Callable[[str], object]
#: Converters that show kernels' resources.
_WITH_RESOURCES: Final = frozenset({"perfetto", "chrome"})
#: Seconds of processor time for judging loads that the compiler removed.
_REMOVED_LOADS_SECONDS: Final = 5.0
#: Seconds longer than any run: a hundred years.
_LONGEST: Final = 100 * 366 * 86_400.0


def convert(
    selection: Selection, converter: str, output: Path | None, settings: Mapping[str, str],
    tell: Tell,
) -> tuple[Path, Conversion]:  # fmt: skip
    """Write a converter's file; return its path and the converter's result.

    `output` None is the converter's default name. Messages are passed to `tell`.

    Raises:
        BadSetting: No converter or setting has that name.

    """
    conversion_to = load_converter(converter)
    if converter in _WITH_RESOURCES:
        for line in complete_stages(selection, asked=False):
            tell(line)
    target = output or Path(conversion_to.default_output)
    return target, conversion_to.convert(selection, target, settings)


def narrowed_to_seconds(
    selection: Selection, since: float | None, until: float | None
) -> Selection:
    """Return the selection narrowed to the time between `since` and `until`; None: no bound.

    Both are seconds after the start of the first run.

    Raises:
        BadSetting: The first time is not before the second, or no run has a start time.

    """
    if since is None and until is None:
        return selection
    began = [run.started for run in selection.runs if run.started is not None]
    if not began:
        raise BadSetting("no run has a start time, so --from and --to do not work; omit them.")
    begin, end = (
        int(max(-_LONGEST, min(seconds, _LONGEST)) * 1e9) + min(began)
        for seconds in (-_LONGEST if since is None else since, _LONGEST if until is None else until)
    )
    if begin >= end:
        raise BadSetting(f"--from {since or 0} s is not before --to {until} s; swap them.")
    return Selection(TraceWindow(selection.trace, begin, end), selection.runs)


def write_report(
    selection: Selection, output: Path, tell: Tell, *, replay: bool | None = None,
    seconds: float | None = None, source: bool = True, max_mb: float = 20.0,
    part: RequestedPart = STEADY, chosen: frozenset[str] | None = None,
) -> Conversion:  # fmt: skip
    """Write the report page, after replaying and judging calls that have not been.

    Return the result of the page's converter.

    Args:
        selection: The runs to show.
        output: The file.
        tell: Called with each message on replaying and judging.
        replay: See `complete`; with False, stages after TTIR are not compiled, either.
        seconds: See `complete`. The page has results of the calls that are analyzed in this time.
        source: Include sources, IR and addresses as expressions.
        max_mb: Largest size of the page, in MiB.
        part: The part of the runs that figures are of.
        chosen: The names of the kernels to show; None: all.

    Raises:
        BadSetting: The runs have no such part.

    """
    settings = {"max-mb": str(max_mb), "source": "yes" if source else "no"}
    settings |= {name: str(value) for name, value in asdict(part).items() if value}
    settings |= {} if chosen is None else {"kernels": "\n".join(chosen)}
    with _completed(selection, tell, replay, seconds):
        # Not needed by other conversions; 30 MB that evaluations of large grids need themselves.
        from kvtrace.converters.report import CONVERTER

        return CONVERTER.convert(selection, output, settings)


@contextmanager
def _completed(
    selection: Selection, tell: Tell, replay: bool | None, seconds: float | None = None
) -> Iterator[None]:
    """Complete a trace by `complete`; while the context is open, also results of some calls.

    Loads that the compiler removed become notes of the trace, as `kvtrace sanitize` has them.
    """
    with results_beside(selection.trace.path):
        if replay is not False:
            from kvtrace.analysis.removed_loads import removed_loads  # it imports the rules

            for line in complete((selection,), replay=replay, seconds=seconds, partial=True):
                tell(line)
            end = inf if replay else process_time() + _REMOVED_LOADS_SECONDS
            for run in selection.runs:
                for sentence in removed_loads(selection.trace, run, end):
                    selection.trace.note(sentence)
        yield


def page_html(
    selection: Selection, tell: Tell, *, kernel: str | None = None, address: str = "",
    replay: bool | None = None, source: bool = True, max_mb: float = 20.0,
) -> str:  # fmt: skip
    """Return the page of `write_report` as HTML that opens at a kernel's page or an address.

    `address` is as behind `#/` in the report; `kernel` is the name of a kernel. Messages, also on
    parts that did not fit into `max_mb`, are passed to `tell`.

    Raises:
        BadSetting: The report has no such kernel, or `max_mb` is too small.

    """
    from kvtrace.converters.report import report_of, report_page

    with _completed(selection, tell, replay):
        report = report_of(selection)
        if kernel is not None:
            names = [reported.name for reported in report.kernels]
            if kernel not in names:
                raise BadSetting(f"the report has no kernel {kernel!r}{nearest(kernel, names)}.")
            address = f"kernel/{names.index(kernel)}"
        page = report_page(report, selection, max_mb, source=source, start=address)
    for left_out in page.dropped:
        tell(f"{left_out.text} {left_out.command}")
    return page.html
