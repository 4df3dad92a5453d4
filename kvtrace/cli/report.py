"""`kvtrace report`: one self-contained HTML page of a trace."""

from pathlib import Path
from typing import Annotated

import typer

from kvtrace.cli.options import RunOption, TracePath, select

MaxOption = Annotated[
    float,
    typer.Option(
        "--max-mb",
        metavar="MIB",
        min=0.1,
        help="Largest size of the page; what does not fit is left out, and the page says so",
    ),
]
PageOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Write the page here")
]


def command(
    trace: TracePath,
    output: PageOption = Path("report.html"),
    run: RunOption = None,
    max_mb: MaxOption = 20.0,
) -> None:
    """Write one self-contained HTML page: timeline, kernels, launches, source beside IR, findings.

    The page needs no network and opens from a file. Run replay and sanitize before, so that it
    shows bytes, FLOPs and findings too.

    Example:
        kvtrace report out/ -o report.html

    """
    from kvtrace.converters.report import report_data, write_report

    selection = select(trace, run)
    title = (trace.resolve().name if trace.is_dir() else str(trace)) or str(trace)
    report = report_data(selection.trace, selection.runs, title, _as_argument(trace))
    written = write_report(report, selection.trace.artifact, output, max_mb)
    print(
        f"{written.path}: {written.size_bytes / (1 << 20):.2f} MiB, "
        f"{report.totals.launches:,} launches of {report.totals.kernels:,} kernels"
    )
    for entry in written.dropped:
        print(f"  {entry.text} {entry.command}")


def _as_argument(trace: Path) -> str:
    """Return the trace as it stands in a command that the page tells its reader to run."""
    import shlex

    text = str(trace)
    return shlex.quote(f"{text}/" if trace.is_dir() and not text.endswith("/") else text)
