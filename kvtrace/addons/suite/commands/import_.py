"""`kvtrace suite import`: a suite of another tool's traces."""

from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import tell
from kvtrace.cli.parsing import Argument, Option
from kvtrace.schema.errors import BadSetting


def command(
    tool: Annotated[str, Argument(metavar="flashinfer", help="The tool that wrote the traces")],
    source: Annotated[Path, Argument(metavar="FOLDER", help="Folder with its traces")],
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help="Write the suite here"),
    ] = Path("suite"),
    axis: Annotated[
        list[str] | None,
        Option(
            "--axis",
            metavar="NAME=SIZE",
            help="Size of an axis that varies, where none was recorded; may be repeated",
        ),
    ] = None,
) -> None:
    """Make a suite of another tool's traces: of flashinfer-bench, or FlashInfer's fi_trace.

    An entry is a workload, and runs the definition's reference in PyTorch; there is no kernel in
    these traces. What fi_trace writes has no sizes of axes that vary: --axis says them.

    Example:
        kvtrace suite import flashinfer flashinfer-trace/ -o suite/
        kvtrace suite import flashinfer fi_trace_out/ --axis batch_size=32
    """
    from kvtrace.addons.suite.flashinfer_traces import import_flashinfer
    from kvtrace.addons.suite.text import made_lines

    if tool != "flashinfer":
        raise BadSetting(f"there is no import of {tool!r}: only flashinfer")
    suite = import_flashinfer(source, output, dict(map(_axis, axis or ())))
    first, *_ = made_lines(suite, output)
    tell(first)
    names: dict[str, list[str]] = {}
    for left_out in suite.left_out:
        names.setdefault(left_out.why, []).append(left_out.name)
    for why, named in names.items():
        others = f" and {len(named) - 1} more" if len(named) > 1 else ""
        tell(f"  left out: {named[0]}{others}: {why}")


def _axis(text: str) -> tuple[str, int]:
    name, equals, size = text.partition("=")
    if not name or not equals or not size.isascii() or not size.isdigit():
        raise BadSetting(f"--axis {text}: write a name and a size, as batch_size=32")
    return name, int(size)
