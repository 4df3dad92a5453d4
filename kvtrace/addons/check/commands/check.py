"""`kvtrace check`: comparison of device results with the meaning of the kernels' IR."""

import json
from typing import Annotated

from kvtrace.cli.options import (
    JsonOption,
    RunOption,
    TracePath,
    complain_of,
    print_lines,
    select,
)
from kvtrace.cli.parsing import Option
from kvtrace.text import json_text


def command(
    trace: TracePath,
    run: RunOption = None,
    as_json: JsonOption = False,
    as_sarif: Annotated[
        bool, Option("--sarif", help="Print SARIF 2.1.0, as code review tools read it")
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
    """
    from kvtrace.addons.check.checked_runs import check_objects, check_runs, check_text
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.layout import results_beside

    if as_json and as_sarif:
        raise BadSetting("--json and --sarif cannot be combined: choose one.")
    selection = select(trace, run)
    with results_beside(selection.trace.path):
        checked = check_runs(selection)
        if as_json:
            print(json_text("check", check_objects(checked)))
        elif as_sarif:
            from kvtrace.addons.check.findings import RULES
            from kvtrace.converters.findings import read_findings, sarif
            from kvtrace.version import __version__

            findings = read_findings(selection.trace, selection.runs, rules=RULES, unjudged=False)
            root = selection.runs[0].git_root if selection.runs else None
            print(json.dumps(sarif(findings, __version__, root=root), indent=2))
        else:
            print_lines(check_text(checked))
    complain_of(selection.trace)
    return int(checked.failed)
