"""`kvtrace join`: device times of another profiler, added to a recording."""

import json
from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import JsonOption, RunOption, TracePath, complain_of, print_lines, select
from kvtrace.cli.parsing import Option


def command(
    trace: TracePath,
    times: Annotated[
        list[Path],
        Option(
            "--times",
            metavar="TIMES",
            help="A trace made by kvtrace import, or files that kvtrace import reads; repeat the "
            "option for several ranks",
        ),
    ],
    run: RunOption = None,
    by_order: Annotated[
        bool,
        Option("--by-order", help="Match launches by their order even if both clocks agree"),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show the matches without writing them")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add device times of another profiler to a recording of the same program.

    The recording has each launch's arguments and IR, the other trace the times of kernels.
    Executions are matched with launches by host times if both traces are of one process, else by
    the order on their streams; replays of CUDA graphs by the kernels that were captured. Each match
    has a grade of certainty; executions without a match are counted by reason. Afterwards profile,
    report, diff and convert show the times like kvtrace's own. A second join replaces the first.

    Example:
        kvtrace join out/ --times rank0.pt.trace.json
        kvtrace join out/ --times imported/ --dry-run --json
    """
    from kvtrace.addons.join.results import join, lines, opened_times, write

    recording = select(trace, run)
    source = ", ".join(path.name for path in times)
    with opened_times(times) as selected_times:
        joined_runs = join(recording, selected_times, by_order=by_order)
        if not dry_run:
            write(recording, selected_times, joined_runs, source)
    if as_json:
        objects = [
            {"run": joined.run.run_id, "written": not dry_run, **joined.settings(source)}
            for joined in joined_runs
        ]
        print(json.dumps(objects, indent=2))
    else:
        print_lines(
            line for joined in joined_runs for line in lines(joined.counts, joined.run.run_id)
        )
    complain_of(recording.trace)
    complain_of(selected_times.trace)
