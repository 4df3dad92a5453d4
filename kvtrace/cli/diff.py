"""`kvtrace diff`: what changed between two traces, runs or commits."""

import json as json_format
from collections.abc import Callable
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
    after: Annotated[
        str | None, typer.Argument(metavar="AFTER", help="The same for the other side")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAME",
            help="The baseline that stands for BEFORE (kvtrace baseline); AFTER is given alone",
            show_default=False,
        ),
    ] = None,
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
    replay: Annotated[
        bool | None,
        typer.Option(
            "--replay/--no-replay",
            help="Replay and sanitize first what has not been  [default: where that takes seconds]",
            show_default=False,
        ),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 if there is a difference")
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="RULES",
            help="Exit with 1 where AFTER breaks one, as 'findings.new, spills>0, registers>+10%, "
            "time>+5%?'; ? leaves out what was not measured  [default: fail-on of "
            "[tool.kvtrace.diff] in pyproject.toml]",
            show_default=False,
        ),
    ] = None,
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
    are no difference; times are shown, and count from --time-threshold on. A side that has not been
    replayed and sanitized is, where that takes seconds; else its findings are "not judged".

    Example:
        kvtrace diff old/ new/
        kvtrace diff out/@3f2c81a out/@9be1042 --exit-code
        kvtrace diff @3f2c81a @9be1042 --in out/ --time-threshold 10% --markdown
        kvtrace diff old/ new/ --html difference.html
        kvtrace diff old/ new/ --fail-on 'findings.new, spills>0, bytes>+1%'

    """
    from kvtrace.backends.triton.later_stages import complete_stages
    from kvtrace.cli import complain
    from kvtrace.cli.missing_passes import run_missing_passes
    from kvtrace.cli.options import print_lines
    from kvtrace.converters.diff import (
        compare,
        difference_markdown,
        difference_object,
        difference_text,
    )
    from kvtrace.converters.diff.gate import Gate, project_rules, read_rules
    from kvtrace.converters.diff.render import gate_markdown, gate_object, gate_text
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.trace import resolve
    from kvtrace.text import terminal_width

    if json and markdown:
        raise BadSetting("--json and --markdown are forms of one output; choose one.")
    before, after = _two_sides(before, after, against)
    gate = Gate(read_rules(project_rules() if fail_on is None else fail_on))
    sides = resolve(before, base=base), resolve(after, base=base)
    if replay is not False:
        for side in sides:
            for line in run_missing_passes(side, asked=bool(replay)):
                complain(line)
    for side in sides:
        for line in complete_stages(side, asked=bool(replay)):
            complain(line)
    difference = compare(
        *sides,
        labels=(before, after),
        time_threshold=None if time_threshold is None else _share(time_threshold),
        gate=gate,
    )
    if html is not None:
        _write_page(difference, sides[1], html, tell=complain if json or markdown else say)
    if json:
        form = difference_object(difference) | {"gate": gate_object(gate)}
        print(json_format.dumps(form, indent=2))
    elif markdown:
        print_lines([*difference_markdown(difference), *gate_markdown(gate)])
    elif html is None:
        lines = difference_text(difference, full=full, width=terminal_width())
        print_lines([*lines, *gate_text(gate)])
    if missing := gate.missing():
        raise BadSetting(
            f"--fail-on {', '.join(missing)} cannot be judged: no kernel has the figure, or a side "
            "was not judged; end a rule in ? to leave it out then."
        )
    return int(bool(gate.failures) or (exit_code and not difference.empty))


def _write_page(
    difference: "Difference", after: "Selection", path: Path, tell: Callable[[str], object]
) -> None:
    from kvtrace.converters.diff.page import write_comparison

    written = write_comparison(difference, after, path)
    tell(f"wrote {path} ({written.size_bytes / 1e6:,.1f} MB)")
    for entry in written.dropped:
        tell(f"  {entry.text} {entry.command}")


def _two_sides(first: str, second: str | None, against: str | None) -> tuple[str, str]:
    """Return both sides; a baseline that is named takes the place of the first."""
    from kvtrace.regressions.baselines import open_baseline
    from kvtrace.schema.errors import BadSetting

    if against is not None and second is None:
        return str(open_baseline(against).trace.path), first
    if against is not None or second is None:
        raise BadSetting("give two sides, BEFORE and AFTER, or --against NAME and AFTER alone.")
    return first, second


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
