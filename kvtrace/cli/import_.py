"""`kvtrace import`: another tool's files as runs of a trace."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import say
from kvtrace.cli.parsing import Argument, Option
from kvtrace.registry import own_entries

if TYPE_CHECKING:
    from kvtrace.converters.importers.rows import ToGeneric

_SOURCES = [entry.name for entry in own_entries("importers")]


def command(
    files: Annotated[
        list[Path],
        Argument(
            metavar="[SOURCE] FILE…",
            help=f"Files of one job; SOURCE is {', '.join(_SOURCES)}, or a plugin's name, and "
            "without it recognized by each file's content",
        ),
    ],
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="FOLDER", help="The trace to add the runs to"),
    ] = Path("imported"),
) -> None:
    """Read traces of torch.profiler, Nsight Systems, rocprofv3, Proton or tritonparse.

    What a tool does not record is null, and reported as missing. All files of one command are one
    group of runs, as ranks of a job are.

    Example:
        kvtrace import rank0.pt.trace.json.gz rank1.pt.trace.json.gz -o imported/

        kvtrace import nsys profile.sqlite -o imported/

    """
    from kvtrace.converters.importers.importing import import_files
    from kvtrace.converters.importers.registry import importer_names
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import plural

    source = None
    if str(files[0]) in importer_names() and (len(files) > 1 or not files[0].exists()):
        source, files = str(files[0]), files[1:]
    if not files:
        raise BadSetting(f"no file of {source} is named; kvtrace import {source} FILE -o FOLDER")
    runs = import_files(files, output, source, to_generic=_to_generic())
    say(f"{output}: {plural(len(runs), 'run')} of {plural(len(files), 'file')}")
    for run in runs:
        say(f"{run.run_id}  {run.source}: {run.file}")
    for text in dict.fromkeys(text for run in runs for text in run.lacks):
        say(f"missing: {text}")
    say(f"kvtrace profile {output} shows what took the time")


def _to_generic() -> "ToGeneric | None":
    """Return what reads Triton's IR; None where Triton is not installed."""
    if find_spec("triton") is None:
        return None

    def generic(ttir: str, version: str | None) -> str:
        from kvtrace.backends.compiled_kernels.generic import generic_once

        return generic_once(ttir, version)

    return generic
