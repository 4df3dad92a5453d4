"""`kvtrace repro`: scripts that launch recorded calls again."""

from typing import Annotated

from kvtrace.cli.options import (
    KernelOption,
    OutputOption,
    RunOption,
    TracePath,
    chosen_kernels,
    select,
    written_to,
)
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
    top: Annotated[
        int | None,
        Option(metavar="N", help="The N calls that took most time on the device, or else the host"),
    ] = None,
    kernel: KernelOption = None,
    bench: Annotated[
        bool, Option("--bench", help="Have scripts time the launch by triton.testing.do_bench")
    ] = False,
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
    """Write a Python script that launches a recorded call again; with --top N, N of them.

    The script has the kernel and its recorded arguments; contents that were not recorded are
    random. It compares what it leaves with the result that KVTRACE_CHECK recorded. It needs torch
    and triton, and a GPU, or kvtrace run on a machine without one. --top writes to a new folder.
    --kernel alone takes the call of these kernels that took most time.

    The script runs recorded code, with --source as Python: if the trace is not yours, read the
    script before you run it.

    Example:
        kvtrace repro out/ --launch 17 -o repro.py
        kvtrace repro out/ --finding 3fa9 --source
        kvtrace repro out/ --top 10 --bench -o folder/
        kvtrace repro out/ --kernel 'softmax*'

    """
    from kvtrace.converters.chosen_kernels import called_kernels
    from kvtrace.converters.registry import load_converter
    from kvtrace.text import size

    converter = load_converter("repro")
    named = {"launch": launch, "call": call, "finding": finding, "contents": contents, "top": top}
    settings = {name: str(value) for name, value in named.items() if value is not None}
    settings |= {name: "1" for name, is_set in (("source", source), ("bench", bench)) if is_set}
    selection = select(trace, run)
    chosen = chosen_kernels(kernel, called_kernels(selection) if kernel else ())
    settings |= {} if chosen is None else {"kernels": "\n".join(chosen)}
    with written_to(output, converter.default_output if top is None else "repro") as (target, tell):
        conversion = converter.convert(selection, target, settings)
        size_bytes = conversion.size_bytes
    tell(f"wrote {output or target} ({size(size_bytes)})")
    for note in (*conversion.notes, *selection.trace.notes):
        tell(f"  {note}")
