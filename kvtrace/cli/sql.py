"""`kvtrace sql`: the tables of a trace, in SQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from kvtrace.cli.needs import NOTHING
from kvtrace.cli.options import EngineOption, JsonOption, MasterOption, RunOption, TracePath
from kvtrace.cli.parsing import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.schema.trace import Run, Trace

Format = Literal["table", "json", "csv"]


NEEDS: Final = NOTHING


def command(
    trace: TracePath,
    statement: Annotated[
        str, Argument(metavar="SQL", help="One statement that reads, or - for standard input")
    ],
    run: RunOption = None,
    every_run: Annotated[
        bool, Option("--all", help="Every run of the directory, not only the newest group")
    ] = False,
    memory: Annotated[
        str | None,
        Option(
            "--memory",
            metavar="SIZE",
            help="The most memory that the query may use, such as 20GB  [default: 4GB]",
        ),
    ] = None,
    temporary: Annotated[
        Path | None,
        Option("--temp", metavar="FOLDER", help="Folder for data that does not fit in memory"),
    ] = None,
    form: Annotated[
        Format, Option("--format", metavar="table|json|csv", help="How to print the rows")
    ] = "table",
    json: JsonOption = False,
    engine_name: EngineOption = "here",
    master: MasterOption = None,
) -> None:
    """Query the tables of a trace in DuckDB's SQL; every table has a column run.

    SHOW TABLES lists all tables and views. The views called, launched and executed join calls,
    launches and executions with their kernels; call_sums and kernel_sums have one row for each
    call or kernel, with launches and times; marked has the marks. Views have times in ns: host_ns
    (exit - enter), device_ns, and the points enter_ns, exit_ns, start_ns and end_ns. A row stands
    for weight launches or executions; trial: an autotuner's. Macros:
    host_ns(enter, exit), device_ns(start, finish). A query that needs more memory than available
    fails, unless --temp names a folder. With --engine another engine runs the SQL; points in time
    are then nanoseconds since 1970.

    Example:
        kvtrace sql out/ "SELECT kernel, sum(host_ns) FROM launched GROUP BY 1"
        kvtrace sql out/ "SELECT name, registers FROM kernels" --format csv

    """
    import sys

    from kvtrace.cli.options import chosen_engine, complain_of, print_lines, select
    from kvtrace.converters.query.query_output import csv_lines, json_lines, table_lines
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import terminal_width

    if json and form == "csv":
        raise BadSetting("--json and --format csv cannot be combined; pass one of them.")
    engine = chosen_engine(engine_name, master)
    if engine is not None and (memory is not None or temporary is not None):
        title = engine_name.capitalize()
        raise BadSetting(f"--memory and --temp are for DuckDB only; leave them out with {title}.")
    selection = select(trace, run, every=every_run)
    runs = selection.trace.runs if every_run else selection.runs
    text = sys.stdin.read() if statement == "-" else statement
    if engine is None:
        names, rows = _here(selection.trace, runs, text, memory, temporary)
    else:
        names, rows = engine.tables(selection.trace, runs, master).rows(text)
    complain_of(selection.trace)
    if json or form == "json":
        print_lines(json_lines(names, rows))
    elif form == "csv":
        print_lines(csv_lines(names, rows))
    else:
        width = terminal_width() if sys.stdout.isatty() else None
        print_lines(table_lines(names, rows, width))


def _here(
    trace: "Trace", runs: "Sequence[Run]", text: str, memory: str | None, temporary: Path | None
) -> "tuple[tuple[str, ...], list[tuple[Any, ...]]]":
    from kvtrace.converters.query.query import connect, query
    from kvtrace.progress import progress

    with (
        _private_folder(temporary) as folder,
        connect(trace, runs, text, memory=memory, temporary=folder) as database,
        progress("query", database.query_progress),
    ):
        return query(database, text)


@contextmanager
def _private_folder(folder: Path | None) -> Iterator[Path | None]:
    """Yield a new folder in `folder` for DuckDB's temporary files; None if `folder` is None.

    A query may read and write files there, so it has nothing else; it is deleted at the end.

    Raises:
        BadSetting: No folder can be created there.

    """
    from tempfile import TemporaryDirectory

    from kvtrace.schema.errors import BadSetting

    if folder is None:
        yield None
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = TemporaryDirectory(prefix=".kvtrace-sql-", dir=folder)
    except OSError as error:
        reason = error.strerror or error
        raise BadSetting(f"--temp: no folder can be created in {folder}: {reason}") from error
    with temporary:
        yield Path(temporary.name)
