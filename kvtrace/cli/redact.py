"""`kvtrace trace redact`: a copy of a trace without private data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, TracePath, leave_pandas, say
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtrace.schema.redaction import Redaction


def command(
    trace: TracePath,
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help="Write the copy to this new folder"),
    ],
    source: Annotated[
        bool, Option("--source", help="Source, and all compiled code but TTIR and TTGIR")
    ] = False,
    paths: Annotated[
        bool,
        Option(
            "--paths", help="Paths of files and folders, the command line; files become file1.py …"
        ),
    ] = False,
    names: Annotated[
        bool,
        Option("--names", help="Names of kernels, modules, parameters, variables; source"),
    ] = False,
    scalars: Annotated[bool, Option("--scalars", help="Values of scalar arguments")] = False,
    tensors: Annotated[bool, Option("--tensors", help="Contents of tensors")] = False,
    command_line: Annotated[bool, Option("--command", help="The command line")] = False,
    host: Annotated[
        bool, Option("--host", help="Host name, build of its system, the job's address")
    ] = False,
    git: Annotated[bool, Option("--git", help="Commit, branch, top folder")] = False,
    marks: Annotated[bool, Option("--marks", help="Names and values of kvtrace.mark")] = False,
    everything: Annotated[bool, Option("--all", help="All of these")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a copy of a trace without what you do not want to pass on; the trace stays as it is.

    No file of the copy contains what you leave out. Derived tables are left out, too; sanitize,
    replay and the others compute them again from the copy. See docs/privacy.md.

    Example:
        kvtrace trace redact out/ -o shared/ --source --paths --host --command
        kvtrace trace redact out/ -o shared/ --all

    """
    from kvtrace.ir.redacted import redacted_ir
    from kvtrace.schema.private import PRIVATE
    from kvtrace.schema.redaction import redact

    leave_pandas()
    choices = {
        "source": source, "paths": paths, "names": names, "scalars": scalars, "tensors": tensors,
        "command": command_line, "host": host, "git": git, "marks": marks,
    }  # fmt: skip
    left_out = [name for name in PRIVATE if everything or choices[name]]
    redaction = redact(trace, output, left_out, redacted_ir)
    if as_json:
        print(json_text("redact", asdict(redaction)))
    else:
        for line in _lines(redaction, output):
            say(line)


def _lines(redaction: Redaction, output: Path) -> Iterator[str]:
    from kvtrace.figures.stored import PASS
    from kvtrace.text import plural

    yield f"{output}: {plural(len(redaction.runs), 'run')} without {', '.join(redaction.left_out)}"
    passes = [name for name in redaction.passes if name != PASS]  # sums come back by themselves
    if passes:
        yield f"derived tables are left out: run the passes again ({', '.join(passes)})"
    if redaction.unreadable_ir:
        yield f"{plural(redaction.unreadable_ir, 'text')} of IR could not be read, and was left out"
