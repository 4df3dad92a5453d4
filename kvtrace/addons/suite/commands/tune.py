"""`kvtrace suite tune`: other configurations of a suite's calls, tried on a GPU."""

from pathlib import Path
from typing import Annotated

from kvtrace.cli import note
from kvtrace.cli.options import JsonFile, JsonOnceFile, say
from kvtrace.cli.parsing import Argument, Option


def command(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="Folder of a suite")],
    trials: Annotated[
        Path | None,
        Option(
            "--trials",
            metavar="TRACE",
            help="Try what autotuners tried in the trace that the suite was made from",
        ),
    ] = None,
    configs: Annotated[
        Path | None, Option("--configs", metavar="FILE", help="Try the configurations of a file")
    ] = None,
    calls: Annotated[
        str, Option("--calls", metavar="GLOB", help="Only calls, or kernels, with such a name")
    ] = "*",
    write: Annotated[
        Path | None,
        Option("--write", metavar="FOLDER", help="Write vLLM's files of configurations here"),
    ] = None,
    json: JsonOnceFile = False,
    json_file: JsonFile = None,
) -> int:
    """Try other configurations of a suite's calls on a GPU, and say what each gains.

    Configurations are what autotuners tried in the recorded run (--trials), those of a file, or
    else numbers of warps and stages. One counts only if it stores what the recorded configuration
    stores. Constants can be changed only in a suite that was made with --source. Without a GPU, the
    files for python FOLDER/tune.py are written, which needs torch and Triton only.

    This runs the suite's recorded code: if it is not yours, read it first.

    Example:
        kvtrace suite out/ -o suite/ --source
        kvtrace suite tune suite/ --trials out/
        kvtrace suite tune suite/ --calls fused_moe_kernel --write configs/
    """
    from kvtrace.addons.suite.tuning import TuneOptions, prepare, tune

    tried = prepare(folder, trials)
    if tried is not None:
        note(f"{folder}: configurations of autotuners for {tried} calls")
    file = None if json_file is None else Path(json_file)
    return tune(folder, TuneOptions(configs, calls, write, file), say, as_json=json)
