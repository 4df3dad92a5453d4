"""`kvtrace suite export`: a suite in the format of another tool."""

from pathlib import Path
from typing import Annotated, Final

from kvtrace.cli.options import tell
from kvtrace.cli.parsing import Argument, Option
from kvtrace.registry import own_entries

_FORMATS: Final = [entry.name for entry in own_entries("suite_exports")]


def command(
    suite: Annotated[Path, Argument(metavar="SUITE", help="A suite's folder")],
    to: Annotated[str, Option("--to", metavar="|".join(_FORMATS), help="The format")],
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the files here, a new or empty folder  [default: SUITE-FORMAT]",
        ),
    ] = None,
) -> None:
    """Write a suite in the format of another tool, which needs torch and Triton to run it.

    Each format's README.md says what it could not hold. Recorded IR and contents are in the files:
    read them before you publish them.

    Example:
        kvtrace suite export suite/ --to kernelbench -o problems/
        kvtrace suite export suite/ --to kernelbench
    """
    from kvtrace.addons.suite.exports import export_suite

    done = export_suite(suite, to, output or suite.with_name(f"{suite.resolve().name}-{to}"))
    for note in done.notes:
        tell(note)
    place = output or suite.with_name(f"{suite.resolve().name}-{to}")
    tell(f"wrote {place}: {len(done.files)} files")
