"""`kvtrace confirm`: does what a program prints depend on memory that nobody wrote?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import (
    JsonOption,
    RunOption,
    complain_of,
    print_lines,
    select,
)
from kvtrace.cli.parsing import Argument, Option
from kvtrace.text import json_text


def command(
    program: Annotated[
        list[str], Argument(metavar="COMMAND [ARGS…]", help="The program, as python train.py")
    ],
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="FILE:LINE",
            help="Ask for what this line allocates, as a finding names it (model.py:12)",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        Option(
            "--trace",
            metavar="TRACE",
            help="Ask for each line that the findings of this trace name, and keep the answers: "
            "what is confirmed becomes an error",
        ),
    ] = None,
    run: RunOption = None,
    most: Annotated[
        int,
        Option("--most", metavar="N", help="With --trace: the most lines, most reads first", min=1),
    ] = 10,
    as_json: JsonOption = False,
) -> int:
    """Say whether a program's output depends on memory that nobody wrote.

    Runs the program with fresh memory of torch.empty filled with zeros, the same again, and with
    NaN (integers: their largest number); again with NaN if that differs. Standard output and exit
    code are compared. If one line's memory is asked for, all other fresh memory is zeros in each
    run. Works with a GPU or without one. Exit code 1 if they differ between fillings, 2 if that is
    not known: the program fails whatever memory has, or does not make such memory.

    Example:
        kvtrace confirm -- python serve.py
        kvtrace confirm --at model.py:12 -- python serve.py
        kvtrace confirm --trace out/ -- python serve.py
    """
    from kvtrace.addons.memory.confirming import confirm, confirmed_text
    from kvtrace.schema.errors import BadSetting

    if trace is not None:
        if at is not None:
            raise BadSetting("--at and --trace cannot be combined: choose one.")
        return _of_trace(program, trace, run, most, as_json)
    if run is not None:
        raise BadSetting("--run needs --trace.")
    confirmation = confirm(program, at)
    if as_json:
        print(json_text("confirm", asdict(confirmation)))
    else:
        print_lines([confirmed_text(confirmation, at)])
    return {"changes": 1, "same": 0}.get(confirmation.answer, 2)


def _of_trace(program: list[str], trace: Path, run: str | None, most: int, as_json: bool) -> int:
    from kvtrace.addons.memory.confirming_findings import (
        UnwrittenLine,
        confirm_findings,
        count_text,
        exit_code,
        line_text,
    )

    def tell(line: UnwrittenLine) -> None:
        if not as_json:
            print_lines([line_text(line)])

    selection = select(trace, run)
    lines = confirm_findings(selection, program, most, tell)
    if as_json:
        objects = [
            {
                "line": line.line,
                "runs": sorted(line.runs),
                "findings": [
                    {"rule": rule, "kernel": kernel} for rule, kernel in line.findings
                ],
                "reads": line.reads,
                "confirmation": None if line.confirmation is None else asdict(line.confirmation),
            }
            for line in lines
        ]  # fmt: skip
        print(json_text("confirmed", {"lines": objects}))
    else:
        print_lines([count_text(lines)])
    complain_of(selection.trace)
    return exit_code(lines)
