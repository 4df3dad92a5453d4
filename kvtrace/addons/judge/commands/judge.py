"""`kvtrace judge`: the command that judges a file's kernel without a GPU."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from kvtrace.cli.parsing import Argument, Option

ShapesOption = Annotated[
    list[str] | None,
    Option(
        "--shapes",
        metavar="INPUTS",
        help='Inputs, such as "x=f32[1000, 64], eps=1e-6"; may be repeated',
    ),
]


def command(
    kernel: Annotated[Path, Argument(metavar="KERNEL.PY", help="File with Triton kernels")],
    reference: Annotated[
        str | None,
        Option(metavar="REF.PY:FN", help="Reference with the right results"),
    ] = None,
    entry: Annotated[
        str | None,
        Option(metavar="FN", help="Function or class that is called"),
    ] = None,
    shapes: ShapesOption = None,
    at: Annotated[
        str | None,
        Option(
            "--at",
            metavar="SIZES",
            help='Also judge at sizes such as "rows=3_000_000", without running them',
        ),
    ] = None,
    target: Annotated[str, Option(metavar="TARGET", help="Compilation target")] = "cuda:90",
    device: Annotated[
        str | None,
        Option(metavar="NAME", help="Device of the roofline, such as H100 PCIe"),
    ] = None,
    views: Annotated[
        bool, Option("--views/--no-views", help="Also try strided, offset and other views")
    ] = True,
    trust_host: Annotated[
        bool, Option("--trust-host", help="Trust results that PyTorch computes after launches")
    ] = False,
    seconds: Annotated[float, Option(metavar="S", min=1, help="Time limit of each process")] = 60.0,
    memory: Annotated[
        int, Option(metavar="MIB", min=64, help="Memory limit of each process and all it starts")
    ] = 4096,
    unconfined: Annotated[
        bool, Option("--unconfined", help="Run the file even if this system cannot confine it")
    ] = False,
    seed: Annotated[
        str | None,
        Option(metavar="HEX", help="Seed of an earlier judgment, to repeat it"),
    ] = None,
    text: Annotated[
        bool, Option("--text", help="Print lines of text, the default on a terminal")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON, the default if the output is no terminal")
    ] = False,
    schema: Annotated[
        bool, Option("--schema", help="Print the JSON schema of the output, and exit")
    ] = False,
) -> int:
    """Judge a file with Triton kernels, without a GPU and without trusting the file.

    Runs the file's function on several sizes, values and views, in a process with limits, and
    evaluates the launches in another process. Compares results with the reference in float64, and
    judges launches by all rules, for all sizes if possible. Prints text on a terminal, otherwise
    one JSON object. Exit code 0: right, 1: wrong, 2: cannot be judged.

    Example:
        kvtrace judge softmax.py --reference ref.py:softmax
        kvtrace judge add.py --reference ref.py:add --shapes "x=f32[9], y=f32[9]"
        kvtrace judge kernel.py --reference model.py:Model --device "A100 PCIe"
    """
    from kvtrace.addons.judge.judge_file import judge_file, judgment_text
    from kvtrace.addons.judge.judge_file import schema as written_schema
    from kvtrace.addons.judge.request import request_of, seed_of
    from kvtrace.cli.options import print_lines
    from kvtrace.schema.errors import BadSetting

    if text and as_json:
        raise BadSetting("--text and --json cannot be combined: choose one.")
    if schema:
        print(json.dumps(written_schema(), indent=2))
        return 0
    request = request_of(
        kernel, reference, entry, shapes=tuple(shapes or ()), target=target, device=device, at=at,
        views=views, trust_host=trust_host, seconds=seconds, memory_mb=memory,
        unconfined=unconfined,
    )  # fmt: skip
    judgment = judge_file(request, None if seed is None else seed_of(seed))
    if text or (sys.stdout.isatty() and not as_json):
        print_lines(judgment_text(judgment))
    else:
        print(json.dumps(judgment.object, indent=2))
    return judgment.status


def printed_judgment(
    kernel: Path, reference: str | None, entry: str | None, facts: Mapping[str, Any]
) -> str:
    """Return the JSON that the command prints; arguments as of `request_of`."""
    from kvtrace.addons.judge.judge_file import judge_file
    from kvtrace.addons.judge.request import request_of

    judgment = judge_file(request_of(kernel, reference, entry, **facts))
    return json.dumps(judgment.object, indent=2)
