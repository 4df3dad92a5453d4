"""`kvtrace diff`: what changed between two traces, runs or commits."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvtrace.cli.options import JsonOption, say

if TYPE_CHECKING:
    from kvtrace.converters.diff import Difference
    from kvtrace.schema.trace import Selection

_SIDE = "Trace directory, DIRECTORY/@COMMIT or DIRECTORY/RUN; with --in also @COMMIT or RUN"


def command(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help=_SIDE)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same for the other side")],
    base: Annotated[
        Path | None,
        typer.Option("--in", metavar="DIR", help="Trace that @COMMIT and RUN are looked up in"),
    ] = None,
    json: JsonOption = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as for a review comment")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print every line of every difference")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page: source and IR side by side, figures as pairs, the report of AFTER",
            show_default=False,
        ),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if there is a difference")
    ] = False,
    time_threshold: Annotated[
        str | None,
        typer.Option(
            "--time-threshold",
            metavar="PERCENT",
            help="Count a kernel variant whose median time changes by this much as changed",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Compare two traces: source, IR, resources, calls, launches, work, findings, times.

    IR is compared without locations and value names. Times, ids, addresses and recorded values
    are no difference; times are shown, and count from --time-threshold on.

    Example:
        kvtrace diff old/ new/
        kvtrace diff out/@3f2c81a out/@9be1042 --exit-code
        kvtrace diff @3f2c81a @9be1042 --in out/ --time-threshold 10% --markdown
        kvtrace diff old/ new/ --html difference.html

    """
    from kvtrace.cli.options import print_lines
    from kvtrace.converters.diff import (
        compare,
        difference_markdown,
        difference_object,
        difference_text,
    )
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.trace import resolve
    from kvtrace.text import terminal_width

    if sum((json, markdown, html is not None)) > 1:
        raise BadSetting("--json, --markdown and --html are forms of one output; choose one.")
    difference = compare(
        resolve(before, base=base),
        resolve(after, base=base),
        labels=(before, after),
        time_threshold=None if time_threshold is None else _share(time_threshold),
    )
    if html is not None:
        _write_page(difference, resolve(after, base=base), html)
    elif json:
        print(json_format.dumps(difference_object(difference), indent=2))
    elif markdown:
        print_lines(difference_markdown(difference))
    else:
        print_lines(difference_text(difference, full=full, width=terminal_width()))
    return int(exit_code and not difference.empty)


def _write_page(difference: "Difference", after: "Selection", path: Path) -> None:
    from kvtrace.converters.diff.page import write_comparison

    written = write_comparison(difference, after, path)
    say(f"wrote {path} ({written.size_bytes / 1e6:,.1f} MB)")
    for entry in written.dropped:
        say(f"  {entry.text} {entry.command}")


def _share(text: str) -> float:
    """Return the share that is meant by `10%`, `10` (percent too) or `2.5 %`."""
    from kvtrace.schema.errors import BadSetting

    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf"):
        raise BadSetting(f"--time-threshold {text} is no percentage; give one as 10%.")
    return share
