"""`kvtrace gate save`: the command that stores runs under a name for later comparisons."""

from pathlib import Path
from typing import Annotated

from kvtrace.addons.ci.commands.list_ import print_baselines, replaced_text
from kvtrace.cli.options import JsonOption, RunOption, select
from kvtrace.cli.parsing import Argument, Option


def command(
    name: Annotated[str, Argument(metavar="NAME", help="The baseline's name, such as main")],
    trace: Annotated[
        Path | None,
        Argument(
            metavar="[TRACE]",
            help="The trace to save  [default: the last recording of kvtrace gate]",
        ),
    ] = None,
    run: RunOption = None,
    replay: Annotated[
        bool,
        Option("--replay/--no-replay", help="Replay and sanitize the run first if needed"),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Store runs as a baseline, in .kvtrace/baselines/NAME/, to compare later runs with.

    A baseline is a small trace: kernels, calls, code, bytes and FLOPs, findings, and a row for each
    launch, with its times if there was a device. Baselines can be committed or cached. Missing
    passes run first, since a baseline lacks the data that they need.

    Example:
        kvtrace gate save main out/
        kvtrace diff --against main out/
    """
    from kvtrace.addons.ci.baselines import (
        RECORDED,
        baseline_facts,
        baseline_folder,
        save_baseline,
    )
    from kvtrace.analysis.completing import complete
    from kvtrace.cli import note

    selection = select(trace or RECORDED, run)
    baseline_folder(name)  # refuses a bad name before anything is replayed
    if replay:
        for line in complete((selection,), replay=True):
            note(line)
    earlier = baseline_facts(name)
    saved = save_baseline(name, selection)
    if earlier is not None:
        note(f"the baseline {name} {replaced_text(earlier)}")
    print_baselines([saved], as_json=as_json)
