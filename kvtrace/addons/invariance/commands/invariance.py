"""`kvtrace invariance`: is a row's result the same in every batch, and in every run?"""

import json
from typing import Annotated

import typer

from kvtrace.cli import complain
from kvtrace.cli.options import JsonOption, RunOption, TracePath, complain_of, print_lines, select


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            metavar="NAME",
            help="Judge this kernel only; may be repeated",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail unless every output is proven invariant")
    ] = False,
) -> int:
    """Prove from the IR whether a row's result depends on the batch that it is in.

    For each output of each kernel: which data a row's value is made of, by which operations in
    which order, and whether any of it changes with the size of the batch, the grid or the row's
    position; whether launches at several sizes of the batch compute a row the same way; and whether
    the kernel leaves the same bits when it runs again. Exit code 1 with --strict where an output is
    not proven invariant and deterministic.

    Example:
        kvtrace invariance out/
        kvtrace invariance out/ --kernel matmul_kernel --strict

    """
    from kvtrace.addons.invariance.results import invariance_of
    from kvtrace.addons.invariance.text import invariance_lines, invariance_objects
    from kvtrace.cli.progress import calls_progress
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import terminal_width

    selection = select(trace, run)
    found = invariance_of(selection, kernel or (), calls_progress)
    if kernel and not found.outputs and not found.failures:
        raise BadSetting(f"No kernel of this trace is called {' or '.join(kernel)}.")
    if as_json:
        print(json.dumps(invariance_objects(found), indent=2))
    else:
        print_lines(invariance_lines(found, terminal_width()))
    for failure in found.failures:
        complain(failure)
    complain_of(selection.trace)
    failed = any(
        each.standing != "proven" or each.determinism.answer != "proven" for each in found.outputs
    )
    return int(strict and failed)
