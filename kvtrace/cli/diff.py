"""`kvtrace diff`: the changes between two traces, runs or commits."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli.needs import OF_DEVICE_TIMES
from kvtrace.cli.options import (
    JsonFile,
    JsonOnceFile,
    JunitFile,
    KernelOption,
    MarkdownFile,
    MarkOption,
    MeaningOption,
    SinceOption,
    StepsOption,
    StrictOption,
    UntilOption,
    tell,
)
from kvtrace.cli.parsing import Argument, Option

NEEDS: Final = OF_DEVICE_TIMES

_SIDE = (
    "Trace directory, DIRECTORY/@COMMIT (or tag, or branch), or DIRECTORY/RUN; with --in also "
    "@COMMIT or RUN"
)


def command(
    before: Annotated[str, Argument(metavar="BEFORE", help=_SIDE)],
    after: Annotated[
        str | None, Argument(metavar="AFTER", help="The same for the other side")
    ] = None,
    against: Annotated[
        str | None,
        Option(
            "--against",
            metavar="NAME",
            help="The baseline to use as BEFORE (kvtrace gate save); give only AFTER",
        ),
    ] = None,
    base: Annotated[
        Path | None,
        Option("--in", metavar="DIR", help="Trace that has @COMMIT and RUN"),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    mark: MarkOption = None,
    steps: StepsOption = None,
    kernel: KernelOption = None,
    json: JsonOnceFile = False,
    json_file: JsonFile = None,
    markdown: MarkdownFile = None,
    html: Annotated[
        str | None,
        Option(
            "--html",
            metavar="FILE",
            help="Write a page: source and IR side by side, figures as pairs, the report of AFTER",
        ),
    ] = None,
    junit: JunitFile = None,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="Also print the details behind the headline")
    ] = False,
    full: Annotated[
        bool, Option("--full", help="Print the details with every line of every difference")
    ] = False,
    replay: Annotated[
        bool | None,
        Option(
            "--replay/--no-replay",
            help="Replay and sanitize a side first if needed  [default: if that takes seconds]",
        ),
    ] = None,
    generic: Annotated[
        bool,
        Option("--generic", help="Also compare for which sizes kernels are proven"),
    ] = False,
    meaning: MeaningOption = None,
    strict: StrictOption = False,
    exit_code: Annotated[
        bool, Option("--exit-code", help="Exit with 1 if there is a difference")
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        Option(
            "--fail-on",
            metavar="RULES",
            help="Exit with 1 if AFTER violates a rule, as 'findings.new, spills>0, "
            "registers>+10%, time>+5%?'; ? ignores unmeasured figures  [default: fail-on of "
            "[tool.kvtrace.diff] in pyproject.toml]",
        ),
    ] = None,
    time_threshold: Annotated[
        str | None,
        Option(
            "--time-threshold",
            metavar="PERCENT",
            help="Report changes of median times beyond this, and count them as a difference  "
            "[default: report beyond 5 %, count none]",
        ),
    ] = None,
) -> int:
    """Compare two traces: source, IR, resources, calls, launches, work, findings, times.

    Begins with four answers: faster, same results, safe, and so whether AFTER may be merged; then a
    table of changes, worst first. Exits with 1 if it must not be merged, with --strict also
    if that is unknown. IR is compared without locations and value names.
    Times, ids, addresses, recorded values and the folders of files are not differences. A change of
    time is reported only if its 99 % interval excludes "no change". Both sides are replayed and
    sanitized first if that takes only seconds; otherwise their findings are "not judged". A FILE
    of `-` is standard output. Launches and times are of the whole runs, unless --since, --until,
    --mark or --steps choose a part of both.
    Each output of a changed kernel that both sides called with the same tensors is the same bit for
    bit by TTIR, the same except for the order of sums, different with two values of an element, or
    unknown with the reason. For out/@A and out/@B, first record the program at both commits.

    Example:
        kvtrace diff old/ new/ -v
        kvtrace diff out/@v1.2 out/@9be1042 --exit-code
        kvtrace diff @3f2c81a @9be1042 --in out/ --time-threshold 10% --markdown -
        kvtrace diff old/ new/ --kernel 'softmax*'
        kvtrace diff old/ new/ --html d.html --junit d.xml --markdown d.md
        kvtrace diff old/ new/ --fail-on 'findings.new, spills>0, bytes>+1%'

    """
    from kvtrace.analysis.completing import complete
    from kvtrace.analysis.sides import narrowed_selection, resolve_side
    from kvtrace.cli import note
    from kvtrace.cli.options import (
        chosen_kernels,
        chosen_part,
        conditions_of,
        leave_pandas,
        print_lines,
    )
    from kvtrace.converters.chosen_kernels import called_kernels
    from kvtrace.converters.diff import compare
    from kvtrace.converters.diff.gate import Gate, project_rules, read_rules
    from kvtrace.converters.diff.outputs import Outputs, write_outputs
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.layout import results_beside
    from kvtrace.text import terminal_width

    leave_pandas()
    outputs = Outputs(markdown=markdown, html=html, json="-" if json else json_file, junit=junit)
    before, after = _two_sides(before, after, against)
    gate = Gate(read_rules(project_rules() if fail_on is None else fail_on))
    threshold = None if time_threshold is None else _share(time_threshold)
    part = chosen_part(since, until, mark, steps, whole=False)
    sides = resolve_side(before, base), resolve_side(after, base)
    names = [name for side in sides for name in called_kernels(side)] if kernel else ()
    chosen = chosen_kernels(kernel, names)
    with ExitStack() as until_written:
        for side in sides:
            until_written.enter_context(results_beside(side.trace.path))
        for line in complete(sides, replay=replay):
            note(line)
        difference = compare(
            narrowed_selection(sides[0], part),
            narrowed_selection(sides[1], part),
            labels=(before, after),
            time_threshold=threshold,
            gate=gate,
            conditions=conditions_of(sides, chosen) if generic or gate.wants_bounds else None,
            meaning=meaning,
            chosen=chosen,
        )
        lines = write_outputs(
            difference, outputs, sides, gate=gate, verbose=verbose, full=full,
            width=terminal_width(), tell=note if outputs.printed else tell,
        )  # fmt: skip
    print_lines(lines, raw=outputs.printed not in (None, "markdown"))
    if complaint := gate.complaint():
        raise BadSetting(complaint)
    stops_merge = difference.stops_merge(strict=strict)
    return int(stops_merge or (exit_code and not difference.empty))


def _two_sides(side: str, second_side: str | None, against: str | None) -> tuple[str, str]:
    """Return BEFORE and AFTER; with `against`, BEFORE is the trace of that baseline."""
    from kvtrace.analysis.sides import runs_under_name
    from kvtrace.schema.errors import BadSetting

    if against is not None and second_side is None:
        return str(runs_under_name(against).trace.path), side
    if against is not None or second_side is None:
        raise BadSetting("give two sides, BEFORE and AFTER, or --against NAME and AFTER alone.")
    return side, second_side


def _share(text: str) -> float:
    """Return the share, as 0.1, that a percentage such as `10%`, `10` or `2.5 %` means."""
    from kvtrace.schema.errors import BadSetting

    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf"):
        raise BadSetting(f"--time-threshold {text} is not a percentage; give one such as 10%.")
    return share
