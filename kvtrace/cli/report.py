"""`kvtrace report`: one self-contained HTML page of a trace."""

from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli.needs import NOTHING
from kvtrace.cli.options import (
    KernelOption,
    MarkOption,
    RunOption,
    SinceOption,
    StepsOption,
    TracePath,
    UntilOption,
    WholeOption,
    chosen_kernels,
    chosen_part,
    select,
    settings_in_force,
    written_to,
)
from kvtrace.cli.parsing import Option

MaxOption = Annotated[
    float,
    Option(
        "--max-mb",
        metavar="MIB",
        min=0.1,
        help="Largest size of the page; the page lists the blocks that do not fit",
    ),
]
PageOption = Annotated[
    Path, Option("--output", "-o", metavar="FILE", help="Write the page here (-: print it)")
]
ReplayOption = Annotated[
    bool | None,
    Option(
        "--replay/--no-replay",
        help="Replay and sanitize the trace first if needed  [default: for --budget seconds]",
    ),
]
BudgetOption = Annotated[
    float | None,
    Option(
        "--budget",
        metavar="SECONDS",
        min=0.0,
        help="Seconds of processor time for replaying and judging calls, the cheapest first  "
        "[default: 30, or as kvtrace doctor --settings shows]",
    ),
]
SourceOption = Annotated[
    bool, Option("--no-source", help="Leave out sources, IR and addresses as expressions")
]


NEEDS: Final = NOTHING


def command(
    trace: TracePath,
    output: PageOption = Path("report.html"),
    run: RunOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    mark: MarkOption = None,
    steps: StepsOption = None,
    whole: WholeOption = False,
    kernel: KernelOption = None,
    max_mb: MaxOption = 20.0,
    replay: ReplayOption = None,
    budget: BudgetOption = None,
    no_source: SourceOption = False,
) -> None:
    """Write one self-contained HTML page: timeline, kernels, launches, source beside IR, findings.

    The page needs no network and opens from a file. Bytes, FLOPs, accesses and findings come from
    replay and sanitize. If the trace lacks them, both run first, for about 30 seconds: the page
    says which calls were not reached.

    Example:
        kvtrace report out/ -o report.html
        kvtrace report out/ --kernel 'softmax*'
        kvtrace report out/ --no-source --max-mb 5

    """
    from kvtrace.analysis.writing import write_report
    from kvtrace.converters.chosen_kernels import called_kernels
    from kvtrace.text import size

    part = chosen_part(since, until, mark, steps, whole=whole)
    selection = select(trace, run)
    chosen = chosen_kernels(kernel, called_kernels(selection) if kernel else ())
    with written_to(output, "report.html") as (target, tell):
        seconds = settings_in_force().budget if budget is None else budget
        written = write_report(
            selection, target, tell, replay=replay, seconds=seconds, source=not no_source,
            max_mb=max_mb, part=part, chosen=chosen,
        )  # fmt: skip
        size_bytes = written.size_bytes
    tell(f"wrote {output} ({size(size_bytes)})")
    for note in (*written.notes, *selection.trace.notes):
        tell(f"  {note}")
