"""`kvtrace invariance`: is a row's result the same in every batch, and in every run?"""

from typing import Annotated, Final

from kvtrace.cli import complain
from kvtrace.cli.needs import OF_EVALUATED_CALLS
from kvtrace.cli.options import JsonOption, KernelOption, RunOption, TracePath, complain_of
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text

NEEDS: Final = OF_EVALUATED_CALLS


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: KernelOption = None,
    over: Annotated[
        str | None,
        Option(
            "--over",
            metavar="WHAT",
            help="Quantity that must not change a row's result: rows, grid or an argument  "
            "[default: the quantities in the source's contracts]",
        ),
    ] = None,
    seconds: Annotated[
        float,
        Option(
            "--seconds",
            metavar="N",
            min=0,
            help="CPU seconds to judge one kernel; results that need more time are unknown",
        ),
    ] = 60,
    as_json: JsonOption = False,
    strict: Annotated[
        bool,
        Option(
            "--strict", help="Exit with 1 unless every output is proven invariant and deterministic"
        ),
    ] = False,
) -> int:
    """Prove from the IR whether a row's result depends on the batch that it is in.

    For each output of each kernel it shows whether a row's value changes with the size of the
    batch, the grid or the row's position; whether launches at several batch sizes compute a row the
    same way; and whether the kernel writes the same bits when it runs again. Exit code 1 with
    --strict where an output is not proven invariant and deterministic, 2 if there is no output.

    With --over M, or a comment `# kvtrace: invariant over M` in the source: whether the argument M
    may have any value. --over grid asks about the grid and the row's program.

    Example:
        kvtrace invariance out/
        kvtrace invariance out/ --kernel matmul_kernel --strict
        kvtrace invariance out/ --over M

    """
    from kvtrace.addons.invariance.contracts import contracts_of
    from kvtrace.addons.invariance.over import answer_lines, answer_objects, output_answers
    from kvtrace.addons.invariance.results import invariance_of
    from kvtrace.addons.invariance.text import invariance_lines, invariance_objects
    from kvtrace.addons.invariance.variants import arithmetic_lines, other_arithmetic
    from kvtrace.cli.options import chosen_kernels, print_lines, select
    from kvtrace.converters.chosen_kernels import called_kernels
    from kvtrace.text import by_reason, terminal_width

    selection = select(trace, run)
    chosen = chosen_kernels(kernel, called_kernels(selection) if kernel else ())
    invariance = invariance_of(selection, chosen or (), seconds=seconds)
    contracts = contracts_of(selection.trace, selection.runs) if over is None else {}
    answers = output_answers(invariance, contracts, over)
    arithmetic = other_arithmetic(selection, invariance.outputs)
    if as_json:
        form = {**invariance_objects(invariance), "over": answer_objects(answers)}
        form["variants"] = [
            {"kernel": kernel, "output": output, "other_arithmetic": lines}
            for (kernel, output), lines in arithmetic.items()
        ]
        print(json_text("invariance", form))
    else:
        width = terminal_width()
        more = [*arithmetic_lines(arithmetic, width), *answer_lines(answers, width)]
        print_lines([*invariance_lines(invariance, width), *more])
    for failure in by_reason(invariance.failures):
        complain(failure)
    complain_of(selection.trace)
    failed = any(
        result.verdict != "proven" or result.determinism.answer != "proven"
        for result in invariance.outputs
    )
    if over is not None:
        failed = any(result.answer.verdict != "proven" for result in answers)
    if not invariance.outputs and not invariance.failures:
        return 2
    return int(strict and (failed or bool(invariance.failures)))
