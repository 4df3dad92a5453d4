"""`kvtrace sanitize`: a verdict for every memory access of each distinct call."""

import json
import sys
from typing import Annotated

import typer

from kvtrace.cli.options import JsonOption, RunOption, TracePath, select


def command(
    trace: TracePath,
    run: RunOption = None,
    as_json: JsonOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List proven accesses too, not only count them")
    ] = False,
) -> int:
    """Judge every memory access of each distinct call, without a GPU.

    Each access is proven safe over the whole grid, or a violation with a witness, or unknown with
    the reason. Fills the derived table findings. Exit code 1 on a violation.

    Example:
        kvtrace sanitize out/

    """
    from kvtrace.cli.progress import calls_progress
    from kvtrace.converters.findings import finding_objects, findings_text, read_findings
    from kvtrace.passes.sanitize import sanitize

    selection = select(trace, run)
    for one in selection.runs:
        with calls_progress(f"sanitize {one.run_id}") as progress:
            outcome = sanitize(selection.trace, one, progress)
        for failure in outcome.failures:
            print(f"kvtrace: {failure}", file=sys.stderr)
    findings = read_findings(selection.trace, selection.runs, proven=everything)
    if as_json:
        print(json.dumps(finding_objects(findings.listed), indent=2))
    else:
        print("\n".join(findings_text(findings)))
    return 1 if findings.violations else 0
