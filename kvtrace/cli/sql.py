"""`kvtrace sql`: the tables of a trace, in SQL."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kvtrace.cli.options import RunOption, TracePath

Format = Literal["table", "json", "csv"]


def command(
    trace: TracePath,
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="One statement that reads, or - for standard input")
    ],
    run: RunOption = None,
    every_run: Annotated[
        bool, typer.Option("--all", help="Every run of the directory, not only the newest group")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="What the query may take at most, as 2GB"),
    ] = None,
    temporary: Annotated[
        Path | None,
        typer.Option("--temp", metavar="FOLDER", help="Where it may put what does not fit"),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", metavar="table|json|csv", help="How to print the rows")
    ] = "table",
) -> None:
    """Ask the tables of a trace in DuckDB's SQL; every table has a column run.

    The views called, launched and executed join calls, launches and executions on devices with
    their kernels, with the columns host_ns (exit - enter) and device_ns; call_sums has one row for
    each call, with launches and times. SHOW TABLES lists what there is. Macros: host_ns(enter,
    exit), device_ns(start, finish). What does not fit into memory is refused, unless --temp names
    a folder for it.

    Example:
        kvtrace sql out/ "SELECT kernel, sum(host_ns) FROM launched GROUP BY 1"
        kvtrace sql out/ "SELECT name, registers FROM kernels" --format csv

    """
    import sys

    from kvtrace.cli.options import complain_of, print_lines, select
    from kvtrace.cli.progress import query_progress
    from kvtrace.converters.query import connect, query
    from kvtrace.converters.query_output import csv_lines, json_lines, table_lines
    from kvtrace.text import terminal_width

    selection = select(trace, run)
    runs = selection.trace.runs if every_run else selection.runs
    text = sys.stdin.read() if statement == "-" else statement
    with (
        connect(selection.trace, runs, text, memory=memory, temporary=temporary) as database,
        query_progress(database.query_progress),
    ):
        names, rows = query(database, text)
    complain_of(selection.trace)
    if form == "json":
        print_lines(json_lines(names, rows))
    elif form == "csv":
        print_lines(csv_lines(names, rows), raw=not sys.stdout.isatty())
    else:
        width = terminal_width() if sys.stdout.isatty() else None
        print_lines(table_lines(names, rows, width))
