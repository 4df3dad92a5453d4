"""`kvtrace suite run`: the command that times a suite, and candidates for its kernels."""

from pathlib import Path
from typing import Annotated, Literal

from kvtrace.cli.options import JsonFile, JsonOnceFile, JunitFile
from kvtrace.cli.parsing import Argument, Option


def command(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="A suite's folder")],
    calls: Annotated[
        list[str] | None,
        Option("--calls", metavar="GLOB", help="Only calls with such names; may be repeated"),
    ] = None,
    candidate: Annotated[
        str | None,
        Option(
            "--candidate",
            metavar="FILE:FUNCTION",
            help="Compare and time a function, all of a file, or of a folder's files",
        ),
    ] = None,
    rounds: Annotated[
        int, Option("--rounds", metavar="N", min=1, help="Rounds over all calls")
    ] = 5,
    warm: Annotated[
        bool, Option("--warm", help="Also time without clearing the L2 cache before each launch")
    ] = False,
    cache: Annotated[
        Literal["recorded", "cleared"],
        Option(
            "--cache", help="The L2 cache before each launch: as recorded, if known, or cleared"
        ),
    ] = "recorded",
    clock: Annotated[
        Literal["device", "events"],
        Option("--clock", help="Timestamps of the device, or CUDA events around each launch"),
    ] = "device",
    seed: Annotated[
        int, Option("--seed", metavar="N", help="Of random contents and of the order of calls")
    ] = 0,
    against: Annotated[
        Path | None,
        Option(
            "--against",
            metavar="RESULT.JSON",
            help="Compare with an earlier result: another GPU, Triton or commit",
        ),
    ] = None,
    threshold: Annotated[
        float,
        Option(
            "--threshold",
            metavar="SHARE",
            min=0,
            help="Exit with 1 if a call is slower than --against by more than this",
        ),
    ] = 0.05,
    json: JsonOnceFile = False,
    json_file: JsonFile = None,
    junit: JunitFile = None,
    html: Annotated[Path | None, Option("--html", metavar="FILE", help="Write a page")] = None,
) -> int:
    """Time a suite's calls on a GPU, and compare them with recorded times and candidates.

    The calls are run by the suite's run.py, in another order in each round. Before each launch the
    L2 cache is made as the recorded launch found it (KVTRACE_MEMORY=on), or else cleared, as
    triton.testing.do_bench does. Without a GPU, kvtrace's evaluator launches each call
    once, and no time is taken. A suite is code: run only those that you trust.

    Exit code: 1 if a candidate is wrong, a call cannot be launched, or one is slower than --against
    beyond the noise and the threshold; 2 for bad input; otherwise 0.

    Example:
        kvtrace suite run suite/ --html suite.html
        kvtrace suite run suite/ --candidate mine.py:rms_norm_forward
        kvtrace suite run suite/ --json -o after.json --against before.json
    """
    from contextlib import ExitStack
    from dataclasses import asdict
    from json import dumps

    from kvtrace.addons.suite.comparing import compare, comparison_lines
    from kvtrace.addons.suite.page import result_junit, result_page
    from kvtrace.addons.suite.results import lines_of
    from kvtrace.addons.suite.running import RunOptions, read_result, run_suite
    from kvtrace.cli.options import print_lines
    from kvtrace.converters.output import whole_file

    before = None if against is None else read_result(against)
    label = "" if against is None else str(against)
    options = RunOptions(tuple(calls or ()), candidate, rounds, seed, warm, cache, clock)
    with ExitStack() as opened:  # before minutes of timing: a bad path is reported at once
        json_target, junit_file, html_file = (
            None if path in (None, "-") else opened.enter_context(whole_file(Path(path)))
            for path in (json_file, junit, html)
        )
        result = run_suite(folder, options)
        comparisons = [] if before is None else compare(before, result)
        if json_target is not None:
            json_target.write(f"{dumps(asdict(result), indent=1)}\n".encode())
        if junit_file is not None:
            junit_file.write(result_junit(result, comparisons, threshold).encode())
        if html_file is not None:
            html_file.write(result_page(result, comparisons, label).encode())
    if json or json_file == "-":
        print(dumps(asdict(result), indent=1))
    else:
        print_lines(lines_of(result))
    if before is not None and not json:
        print_lines(comparison_lines(comparisons, label))
    slower = any(one.is_regression(threshold) for one in comparisons)
    return int(slower or not result.is_good)
