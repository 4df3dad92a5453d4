"""`kvtrace suite judge`: a candidate judged on the calls of a suite, without a GPU."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from kvtrace.cli.parsing import Argument, Option


def command(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="Folder of a suite")],
    candidate: Annotated[
        str, Option(metavar="FILE:FUNCTION", help="Function or kernel to judge")
    ] = "",
    calls: Annotated[
        list[str] | None,
        Option(
            "--calls",
            metavar="NAME",
            help="Calls that the candidate is for, as 003-* [default: those of the kernel with "
            "its name]; may be repeated",
        ),
    ] = None,
    seconds: Annotated[
        float, Option(metavar="S", min=1, help="Time limit of each process")
    ] = 120.0,
    unconfined: Annotated[
        bool, Option("--unconfined", help="Run the file even if this system cannot confine it")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON")] = False,
) -> int:
    """Judge a function or kernel on the calls of a suite, without a GPU.

    The candidate takes arguments of the recorded kernel by their names, and stores into the same
    tensors. Its launches are compared with the kernel's recorded IR in exact arithmetic, within
    derived bounds, as by kvtrace judge, and the file runs confined. Exit code 0: right on all
    calls, 1: wrong on one, 2: cannot be judged on one.

    Example:
        kvtrace suite judge suite/ --candidate new.py:rms_norm_forward
        kvtrace suite judge suite/ --candidate new.py:norm --calls "003-*" --json
    """
    from kvtrace.addons.suite.errors import CannotJudgeCall
    from kvtrace.addons.suite.judging import (
        JudgeOptions,
        exit_code,
        judge_suite,
        judgment_lines,
    )
    from kvtrace.cli.options import print_lines

    if not candidate:
        raise CannotJudgeCall("name the candidate: --candidate FILE:FUNCTION")
    judgments = []
    options = JudgeOptions(seconds, unconfined)
    for judgment in judge_suite(folder, candidate, calls or (), options):
        judgments.append(judgment)
        if not as_json:
            print_lines(judgment_lines(judgment))
    if as_json:
        print(json.dumps([asdict(judgment) for judgment in judgments], indent=1))
    return exit_code(judgments)
