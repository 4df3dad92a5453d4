"""`kvtrace profile`: where time, bytes and FLOPs go."""

from typing import TYPE_CHECKING, Annotated, Final

from kvtrace.cli import complain, note
from kvtrace.cli.needs import OF_DEVICE_TIMES
from kvtrace.cli.options import (
    EngineOption,
    JsonOption,
    KernelOption,
    MarkOption,
    MasterOption,
    RunOption,
    SinceOption,
    StepsOption,
    TracePath,
    UntilOption,
    WholeOption,
    chosen_engine,
    chosen_kernels,
    chosen_part,
    complain_of,
    print_lines,
    select,
    settings_in_force,
)
from kvtrace.cli.parsing import Option
from kvtrace.converters.profile.call_paths import Grouping
from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.converters.profile.profile_model import Profile
    from kvtrace.figures.part_figures import PartFigures

NEEDS: Final = OF_DEVICE_TIMES
#: Seconds of processor time for evaluating calls that the user did not ask to evaluate.
_MOST_SECONDS: Final = 10.0


def command(
    trace: TracePath,
    run: RunOption = None,
    kernel: KernelOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    mark: MarkOption = None,
    steps: StepsOption = None,
    whole: WholeOption = False,
    calls: Annotated[
        bool, Option("--calls", help="Also each kernel's unique calls (grid and shapes)")
    ] = False,
    lines: Annotated[bool, Option("--lines", help="Also source lines")] = False,
    by: Annotated[
        Grouping | None,
        Option("--by", help="A tree of where kernels are called from, instead of kernels"),
    ] = None,
    device: Annotated[
        str | None,
        Option(
            "--device", metavar="NAME", help="The device whose limits to use, such as 'H100 PCIe'"
        ),
    ] = None,
    full: Annotated[bool, Option("--full", help="Every row, not only the first")] = False,
    replay: Annotated[
        bool | None,
        Option(
            "--replay/--no-replay",
            help="Evaluate all calls first whose bytes and FLOPs are missing, or none  "
            "[default: for about 10 seconds of processor time]",
        ),
    ] = None,
    engine_name: EngineOption = "here",
    master: MasterOption = None,
    json: JsonOption = False,
) -> int:
    """Show where the time went, what to try, and time, rates and roofline of each kernel.

    Figures are of the steady part of the runs, if that is known: steps that a mark or the launches
    repeat. The time before the steady part is one line.
    Times are measured. Bytes, FLOPs and rooflines are derived from the IR: each unique call is
    evaluated over its whole grid, without a GPU, once for a trace. A note says which calls were
    not reached. Rooflines use the limits of the recorded device or of --device. With --engine
    another engine counts launches and executions; idle times of devices are then left out, and no
    call is evaluated. Exit code 2 if nothing was launched.

    Example:
        kvtrace profile out/
        kvtrace profile out/ --replay --calls --lines
        kvtrace profile out/ --by module
        kvtrace profile out/ --device H100
        kvtrace profile out/ --steps 10:20
        kvtrace profile out/ --since 50% --until 12s

    """
    from kvtrace.analysis.missing_passes import completed_figures
    from kvtrace.converters.chosen_kernels import of_kernels, shown_kernels
    from kvtrace.converters.profile.autotune import untried_text
    from kvtrace.converters.profile.profile import profile_of
    from kvtrace.converters.profile.profile_text import profile_text
    from kvtrace.figures.part_figures import PartFigures, open_figures
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import terminal_width

    engine = chosen_engine(engine_name, master)
    if by is not None and engine is not None:
        raise BadSetting(f"--by does not work with --engine {engine_name}; leave one out.")
    if by is not None and kernel:
        raise BadSetting("--by and --kernel cannot be combined; leave one out.")
    part = chosen_part(since, until, mark, steps, whole=whole)
    selection = select(trace, run)
    if replay is None and engine is not None:
        replay = False
    seconds = min(settings_in_force().budget, _MOST_SECONDS)
    with completed_figures(selection, note, replay=replay, seconds=seconds):
        if engine is None:
            figures = open_figures(selection.trace, selection.runs, part)
        else:
            from kvtrace.figures.times import times_of_engine

            times = times_of_engine(engine.tables(selection.trace, selection.runs, master).table)
            figures = PartFigures(selection.trace, selection.runs, summed=times)
        if by is not None and not json:
            return _print_call_tree(figures, by, full=full)
        profile = profile_of(figures, calls=calls, lines=lines, device=device)
        chosen = chosen_kernels(kernel, shown_kernels(profile.launched, profile.device_time))
        profile = of_kernels(
            profile, chosen, "kernels", "device_time", "launch_costs", "advice", "lines"
        )
        complain_of(selection.trace)
        if json:
            _print_object(profile, figures, by)
        else:
            width = terminal_width()
            text = profile_text(profile, full=full, width=width)
            untried = [] if kernel else untried_text(selection.trace, selection.runs, width)
            print_lines([*text, *untried])
    return 2 if profile.is_empty else 0


def _print_call_tree(figures: "PartFigures", by: Grouping, *, full: bool) -> int:
    from kvtrace.converters.profile.call_tree import call_sums
    from kvtrace.converters.profile.call_tree_text import call_tree_text
    from kvtrace.text import terminal_width

    sums = call_sums(figures)
    complain_of(figures.trace)
    print_lines(call_tree_text(sums, by, full=full, width=terminal_width()))
    return 0 if sums.rows else 2


def _print_object(profile: "Profile", figures: "PartFigures", by: Grouping | None) -> None:
    from kvtrace.converters.profile.profile_model import profile_object
    from kvtrace.figures.window import nothing_sentence

    output = profile_object(profile)
    if by is not None:
        from kvtrace.converters.profile.call_tree import call_sums, call_tree_object

        output["by"] = call_tree_object(call_sums(figures), by)
    print(json_text("profile", output))
    if profile.is_empty:
        complain(nothing_sentence(profile.window, imported=profile.imported))
