"""`kvtrace sizes`: for which sizes each kernel is proven, and whether its calls fit them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli import complain
from kvtrace.cli.needs import OF_EVALUATED_CALLS
from kvtrace.cli.options import (
    JsonOption,
    KernelOption,
    RunOption,
    TracePath,
    chosen_kernels,
    complain_of,
    print_lines,
    select,
    settings_in_force,
)
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text

NEEDS: Final = OF_EVALUATED_CALLS


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: KernelOption = None,
    as_json: JsonOption = False,
    strict: Annotated[
        bool, Option("--strict", help="Also fail on warnings and unknown verdicts")
    ] = False,
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="SIZES",
            help='Also judge kernels at other sizes, as "batch=64, seq=131072"',
        ),
    ] = None,
    assume: Annotated[
        Path | None,
        Option(
            "--assume",
            metavar="FILE",
            help="File of contracts of index tensors, as 0 <= page < cache.shape[0]",
        ),
    ] = None,
    tie: Annotated[
        list[str] | None,
        Option(
            "--tie",
            metavar="FORMULA",
            help='How a number follows from others, as "part.shape[0] = n // 32"; repeatable',
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        Option(
            "--seconds",
            metavar="S",
            help="Most seconds of work on the ranges of each kernel  [default: 6]",
        ),
    ] = None,
    full: Annotated[
        bool, Option("--full", help="Show conditions, assumptions and all kernel variants, too")
    ] = False,
) -> int:
    """Show for which shapes and grids each kernel is proven, and check its calls against them.

    Conditions on sizes are derived from the kernel's IR; the output lists their assumptions. Exit
    code 1 on a call that breaks a condition, with --strict also on an unknown verdict or a call
    that cannot be evaluated; 2 if no call could be judged, or no kernel at the sizes of --at.

    Example:
        kvtrace sizes out/
        kvtrace sizes out/ --at "batch=64, seq=131072"
        kvtrace sizes out/ --tie "part.shape[0] = n // 32"

    """
    from kvtrace.analysis.conditions import SECONDS, kernel_conditions, parse_sizes, read_contracts
    from kvtrace.converters.chosen_kernels import called_kernels
    from kvtrace.converters.findings.conditions import (
        condition_failures,
        conditions_text,
        unjudged_at_sizes,
    )
    from kvtrace.text import by_reason, terminal_width

    selection, is_strict = select(trace, run), strict or settings_in_force().strict
    called = called_kernels(selection) if kernel else ()
    kernels, failures = kernel_conditions(
        selection,
        parse_sizes(at),
        read_contracts(assume),
        ties=tie or (),
        seconds=SECONDS if seconds is None else seconds,
        chosen=chosen_kernels(kernel, called),
    )
    complain_of(selection.trace)
    for failure in by_reason(failures):
        complain(failure)
    if as_json:
        print(json_text("sizes", {"kernels": [asdict(kernel) for kernel in kernels]}))
    else:
        width = min(terminal_width(), 120)
        print_lines(
            conditions_text(
                kernels, full=full, width=width, base=str(Path.cwd()), left_out=len(failures)
            )
        )
    unjudged = unjudged_at_sizes(kernels)
    is_undecided = is_strict and kernels and (failures or unjudged)
    if is_undecided or condition_failures(kernels, strict=is_strict):
        return 1
    asked = {kernel.kernel for kernel in kernels if kernel.at}
    return 2 if not kernels or (asked and asked == unjudged.keys()) else 0
