"""`kvtrace confirm`: does what a program prints depend on memory that nobody wrote?"""

import json
from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.options import JsonOption, print_lines
from kvtrace.cli.parsing import Argument, Option


def command(
    program: Annotated[
        list[str], Argument(metavar="COMMAND [ARGS…]", help="The program, as python train.py")
    ],
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="FILE:LINE",
            help="Fill only what this line allocates, as a finding names it (model.py:12)",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Say whether a program's output depends on memory that nobody wrote.

    Runs the program three times: with fresh memory of torch.empty filled with NaN (integers: their
    largest number), the same again, and with zeros. Standard output and exit code are compared.
    Works with a GPU or without one. Exit code 1 if they differ between fillings.

    Example:
        kvtrace confirm -- python serve.py
        kvtrace confirm --at model.py:12 -- python serve.py
    """
    from kvtrace.addons.memory.confirming import confirm, confirmed_text

    confirmation = confirm(program, at)
    if as_json:
        print(json.dumps(asdict(confirmation), indent=2))
    else:
        print_lines([confirmed_text(confirmation, at)])
    return int(confirmation.answer == "changes")
