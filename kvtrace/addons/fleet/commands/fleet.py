"""`kvtrace fleet`: the command that shows kernels over time and commits."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli.needs import OF_DEVICE_TIMES
from kvtrace.cli.options import JsonOption, RunOption
from kvtrace.cli.parsing import Argument, BadUsage, Option
from kvtrace.text import json_text

NEEDS: Final = OF_DEVICE_TIMES


def command(
    traces: Annotated[
        list[Path],
        Argument(metavar="TRACE", help="Trace directory, or DIRECTORY/@COMMIT, or DIRECTORY/RUN"),
    ],
    run: RunOption = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Write one HTML page"),
    ] = None,
    full: Annotated[
        bool, Option("--full", help="Show all rows of each table, not only 20")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show kernels over all runs of a directory: slowdowns with their jobs, and findings.

    The runs of one group are a job. The newest job, or that of --run, is compared with up to 20
    earlier jobs on the same machine; a change is reported only if it exceeds their variation.

    Example:
        kvtrace fleet out/
        kvtrace fleet out/ --run @3f2c81a -o fleet.html
    """
    from kvtrace.addons.fleet.fleet_text import fleet_text
    from kvtrace.addons.fleet.page import fleet_page
    from kvtrace.addons.fleet.reading import read_fleet
    from kvtrace.cli.options import complain_of, print_lines, select, tell
    from kvtrace.converters.output import whole_file
    from kvtrace.text import terminal_width

    if len(traces) > 1:
        folders = " ".join(shlex.quote(f"{trace}/.") for trace in traces)
        raise BadUsage(
            f"fleet compares the runs of one folder, not of {len(traces)}: mkdir all; cp -r "
            f"{folders} all/ puts them into one, and no run replaces another."
        )
    selection = select(traces[0], run, every=True)
    fleet = read_fleet(selection.trace, selection.runs)
    complain_of(selection.trace)
    if output is not None:
        with whole_file(output) as file:
            file.write(fleet_page(fleet).encode())
    if json:
        print(json_text("fleet", asdict(fleet)))
        return
    print_lines(fleet_text(fleet, full=full, width=terminal_width()))
    if output is not None:
        tell(f"wrote {output}")
