"""`kvtrace suite`: the kernels that a run launched, as a folder of benchmarks and tests."""

from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import (
    MarkOption,
    RunOption,
    SinceOption,
    StepsOption,
    TracePath,
    UntilOption,
    WholeOption,
    chosen_part,
    complain_of,
    select,
    tell,
)
from kvtrace.cli.parsing import Option


def command(
    trace: TracePath,
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help="Write the suite here"),
    ] = Path("suite"),
    share: Annotated[
        float,
        Option("--share", metavar="N", help="Take the heaviest calls up to this share of the time"),
    ] = 0.95,
    source: Annotated[
        bool, Option("--source", help="Launch the kernels' Python source instead of their IR")
    ] = False,
    contents: Annotated[
        int,
        Option(metavar="MB", min=0, help="Recorded contents of larger storages are left out"),
    ] = 64,
    since: SinceOption = None,
    until: UntilOption = None,
    mark: MarkOption = None,
    steps: StepsOption = None,
    whole: WholeOption = False,
    run: RunOption = None,
) -> None:
    """Make a suite: the calls that take most of a run's time, each as a file that launches it.

    Calls are weighed by their time on the device, or by their launches where no device timeline was
    recorded; trials of autotuners do not count. The suite needs only torch and Triton, and has a
    README.md; python FOLDER/run.py times it on a GPU.

    The suite runs recorded code, with --source as Python: if the trace is not yours, read the
    suite before you run it.

    Example:
        kvtrace suite out/ -o suite/
        kvtrace suite out/ --share 0.99 --steps 10:20
    """
    from kvtrace.addons.suite.making import SuiteSettings, make_suite
    from kvtrace.addons.suite.text import made_lines

    selection = select(trace, run)
    part = chosen_part(since, until, mark, steps, whole=whole)
    suite = make_suite(selection, output, SuiteSettings(share, part, source, contents << 20))
    for line in made_lines(suite, output):
        tell(line)
    complain_of(selection.trace)
