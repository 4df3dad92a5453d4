"""`kvtrace repro`: a script that launches one recorded call again."""

from typing import Annotated

from kvtrace.cli.options import OutputOption, RunOption, TracePath, select, written_to
from kvtrace.cli.parsing import Option


def command(
    trace: TracePath,
    launch: Annotated[
        int | None, Option("--launch", metavar="N", help="Number of the launch (seq)")
    ] = None,
    call: Annotated[
        int | None, Option("--call", metavar="ID", help="Number of the unique call")
    ] = None,
    finding: Annotated[
        str | None,
        Option("--finding", metavar="ID", help="Id of a finding of sanitize, or its start"),
    ] = None,
    source: Annotated[
        bool, Option("--source", help="Use the kernel's Python source instead of its IR")
    ] = False,
    contents: Annotated[
        int,
        Option(metavar="MB", help="Recorded contents of larger storages are left out"),
    ] = 64,
    output: OutputOption = None,
    run: RunOption = None,
) -> None:
    """Write one Python script that launches a recorded call again, and times it.

    The script has the kernel and its recorded arguments; contents that were not recorded are
    random. It needs torch and triton, and a GPU, or kvtrace run on a machine without one.

    The script runs recorded code, with --source as Python: if the trace is not yours, read the
    script before you run it.

    Example:
        kvtrace repro out/ --launch 17 -o repro.py
        kvtrace repro out/ --finding 3fa9 --source

    """
    from kvtrace.converters.registry import load_converter
    from kvtrace.text import size

    converter = load_converter("repro")
    named = {"launch": launch, "call": call, "finding": finding, "contents": contents}
    settings = {name: str(value) for name, value in named.items() if value is not None}
    if source:
        settings["source"] = "1"
    selection = select(trace, run)
    with written_to(output, converter.default_output) as (target, tell):
        conversion = converter.convert(selection, target, settings)
        size_bytes = conversion.size_bytes
    tell(f"wrote {output or target} ({size(size_bytes)})")
    for note in (*conversion.notes, *selection.trace.notes):
        tell(f"  {note}")
