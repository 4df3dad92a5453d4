"""`kvtrace invariance`: is a row's result the same in every batch, and in every run?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kvtrace.cli import complain
from kvtrace.cli.options import JsonOption, RunOption, TracePath, complain_of, print_lines, select

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


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
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="TRACE",
            help="Compare what each kernel means with the same kernel in this trace",
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

    With --against, for each output of each kernel that both traces called with the same tensors:
    whether it is the same expression, so the same bits by TTIR; the same up to the order of sums;
    or another. Exit code 1 where two versions are seen to differ.

    Example:
        kvtrace invariance out/
        kvtrace invariance out/ --kernel matmul_kernel --strict
        kvtrace invariance out/ --against before/

    """
    from kvtrace.addons.invariance.results import invariance_of
    from kvtrace.addons.invariance.text import invariance_lines, invariance_objects
    from kvtrace.cli.progress import calls_progress
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import terminal_width

    selection = select(trace, run)
    if against is not None:
        return _compare(select(Path(against), None), selection, as_json)
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
        each.verdict != "proven" or each.determinism.answer != "proven" for each in found.outputs
    )
    return int(strict and failed)


def _compare(before: "Selection", after: "Selection", as_json: bool) -> int:
    """Print how the kernels of two traces compare."""
    from kvtrace.addons.invariance.text import meaning_lines, meaning_objects
    from kvtrace.addons.invariance.versions import meanings_of
    from kvtrace.text import terminal_width

    found = meanings_of(before, after)
    if as_json:
        print(json.dumps(meaning_objects(found), indent=2))
    else:
        print_lines(meaning_lines(found, terminal_width()))
    for selection in (before, after):
        complain_of(selection.trace)
    return int(any(each.meaning == "violation" for each in found))
