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
    from kvtrace.converters.report import CONVERTER

    selection = select(trace, run)
    written = CONVERTER.convert(selection, output, {"max-mb": str(max_mb)})
    typer.echo(f"wrote {output} ({written.size_bytes / 1e6:,.1f} MB)")
    for note in (*written.notes, *selection.trace.notes):
        typer.echo(f"  {note}")
