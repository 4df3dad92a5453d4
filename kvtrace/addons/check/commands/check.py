"""`kvtrace check`: comparison of device results with the meaning of the kernels' IR."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import (
    JsonOption,
    RunOption,
    TracePath,
    complain_of,
    print_lines,
    say,
    select,
)
from kvtrace.cli.parsing import Option

if TYPE_CHECKING:
    from kvtrace.addons.check.checked_runs import Checked
    from kvtrace.schema.trace import Selection


def command(
    trace: TracePath,
    run: RunOption = None,
    as_json: JsonOption = False,
    as_sarif: Annotated[
        bool, Option("--sarif", help="Print SARIF 2.1.0, as code review tools read it")
    ] = False,
    cases: Annotated[
        Path | None,
        Option(
            "--cases",
            metavar="DIR",
            help="Write each launch that differs into DIR: its IR and memory, and a script that "
            "repeats the launch and the comparison on a GPU",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool,
        Option(
            "--rerun",
            help="Repeat the launches that differ on this machine's GPU, with other num_warps and "
            "num_stages",
        ),
    ] = False,
) -> int:
    """Compare recorded results of launches with the values that the kernels' IR means.

    Record the program with KVTRACE_CHECK; the comparison needs no GPU. Each element has an error
    bound: how far off a device that follows the IR may be, by rounding, the order of sums, the
    precision of products and the accuracy of functions. A launch agrees, differs (with the farthest
    element, the program that wrote it, and a pattern of the wrong elements) or cannot be decided
    (with the reason). For launches kept by KVTRACE_CHECK=finite, the operation that made the NaN or
    infinity is named. Fills the derived tables checks and findings. Exit code 1 if a launch differs
    or made a NaN or infinity.

    Example:
        KVTRACE=out/ KVTRACE_CHECK=first python train.py
        kvtrace check out/
        kvtrace check out/ --rerun
    """
    from kvtrace.addons.check.checked_runs import check_objects, check_runs, check_text
    from kvtrace.schema.errors import BadSetting

    if as_json and as_sarif:
        raise BadSetting("--json and --sarif cannot be combined: choose one.")
    selection = select(trace, run)
    checked = check_runs(selection)
    if as_json:
        print(json.dumps(check_objects(checked), indent=2))
    elif as_sarif:
        from kvtrace.addons.check.findings import RULES
        from kvtrace.converters.findings import read_findings, sarif
        from kvtrace.version import __version__

        findings = read_findings(selection.trace, selection.runs, rules=RULES, unjudged=False)
        root = selection.runs[0].git_root if selection.runs else None
        print(json.dumps(sarif(findings, __version__, root=root), indent=2))
    else:
        print_lines(check_text(checked))
    if cases is not None or again:
        _write_and_run_cases(selection, checked, cases, again)
    complain_of(selection.trace)
    return int(checked.failed)


def _write_and_run_cases(
    selection: "Selection", checked: "Checked", folder: Path | None, again: bool
) -> None:
    """Write a script for each launch that differs into `folder`, or into a temporary folder.

    With `again`, runs the scripts. Prints a line for each script and each result.
    """
    from kvtrace.addons.check.checked_runs import rerun_text, write_cases

    with tempfile.TemporaryDirectory(prefix="kvtrace-") as temporary:
        for case in write_cases(selection, checked, folder or Path(temporary)):
            if folder is not None:
                say(f"launch {case.seq} of {case.name}: {case.script or case.problem}")
            if again:
                print_lines(rerun_text(case))
