"""`kvtrace info`: the contents of a trace at a glance."""

from typing import Annotated, Final

from kvtrace.cli.needs import NOTHING
from kvtrace.cli.options import (
    JsonOption,
    KernelOption,
    MarkOption,
    RunOption,
    StepsOption,
    TracePath,
    UntilOption,
    WholeOption,
)
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text

NEEDS: Final = NOTHING


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: KernelOption = None,
    everything: Annotated[
        bool, Option("--all", help="Every run of the directory, and every kernel")
    ] = False,
    recompiles: Annotated[
        bool, Option("--recompiles", help="Show why each kernel was compiled again")
    ] = False,
    warmup: Annotated[
        bool,
        Option("--warmup", help="Show the launches that waited for a kernel, to warm up"),
    ] = False,
    also: Annotated[
        list[str] | None,
        Option(metavar="TRACE", help="With --warmup: all runs of a further trace; repeatable"),
    ] = None,
    stages: Annotated[
        bool, Option("--stages", help="With --warmup: times of compilations by stage")
    ] = False,
    since: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="Start of the figures: 2s or 300ms after the runs began, 50% of their duration, "
            "or a point in time; with --warmup: skip launches before so many seconds, or before a "
            "mark",
        ),
    ] = None,
    until: UntilOption = None,
    mark: MarkOption = None,
    steps: StepsOption = None,
    whole: WholeOption = False,
    autotune: Annotated[
        bool, Option("--autotune", help="Show what autotuners tried, and what they chose")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the runs of a trace, their kernels and launches, and what was lost.

    Times of kernels and devices are of the steady part of the runs, if that is known. Warnings
    that kvtrace recorded about the capture itself come first.

    Example:
        kvtrace info out/
        kvtrace info out/ --run @3f2c81a --recompiles
        kvtrace info out/ --warmup --since serve --also yesterday/ --stages
        kvtrace info out/ --autotune

    """
    from dataclasses import asdict

    from kvtrace.cli.options import chosen_kernels, chosen_part, print_lines, select
    from kvtrace.converters.chosen_kernels import of_kernels, shown_kernels
    from kvtrace.converters.info.info import overview_object, read_overview
    from kvtrace.converters.info.info_text import overview_text
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import terminal_width

    if everything and run is not None:
        raise BadSetting("--all shows every run and --run only some; give one of these options.")
    if (also or stages) and not warmup:
        raise BadSetting("--also and --stages need --warmup")
    part = chosen_part(None if warmup else since, until, mark, steps, whole=whole)
    selection = select(trace, run, every=everything)
    runs = selection.trace.runs if everything else selection.runs
    if autotune:
        from kvtrace.converters.profile.autotune import read_choices, read_tunings, tunings_text

        tunings = (*read_tunings(selection.trace, runs), *read_choices(selection.trace, runs))
        chosen = chosen_kernels(kernel, (tuning.kernel for tuning in tunings))
        tunings = tuple(t for t in tunings if chosen is None or t.kernel in chosen)
        if json:
            print(json_text("autotune", {"tunings": [asdict(tuning) for tuning in tunings]}))
        else:
            print_lines(tunings_text(tunings, terminal_width()))
        return
    overview = read_overview(
        selection.trace, runs, recompiles=recompiles, warmup=warmup, stages=stages,
        since=since if warmup else None, also=also or (), part=part,
    )  # fmt: skip
    overview = of_kernels(
        overview,
        chosen_kernels(kernel, shown_kernels(overview.kernels, overview.device_time)),
        "kernels", "device_time", "launch_costs", "recompiles", "held", "waits", "unseen", "stages",
    )  # fmt: skip
    if json:
        print(json_text("info", overview_object(overview)))
        return
    print_lines(overview_text(overview, full=everything, width=terminal_width()))
