"""`kvtrace sanitize`: a verdict for every memory access of each distinct call."""

import json
import sys
from typing import Annotated

import typer

from kvtrace.cli.options import JsonOption, RunOption, TracePath, print_lines, select


def command(
    trace: TracePath,
    run: RunOption = None,
    as_json: JsonOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List proven accesses too, not only count them")
    ] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, as code review tools read it")
    ] = False,
) -> int:
    """Judge every memory access of each distinct call, without a GPU.

    Each access is proven safe over the whole grid, or a violation with a witness, or unknown with
    the reason. Fills the derived table findings. Exit code 1 on a violation.

    Example:
        kvtrace sanitize out/
        kvtrace sanitize out/ --sarif > findings.sarif

    """
    from kvtrace import __version__
    from kvtrace.cli.progress import calls_progress
    from kvtrace.clients.recorded import replay
    from kvtrace.converters.findings import finding_objects, findings_text, read_findings, sarif
    from kvtrace.converters.text import printable
    from kvtrace.schema.errors import BadSetting

    if as_json and as_sarif:
        raise BadSetting("--json and --sarif are two forms of one output; choose one.")
    selection = select(trace, run)
    for one in selection.runs:
        with calls_progress(f"sanitize {one.run_id}") as progress:
            outcome = replay(selection.trace, one, progress, ("sanitizer",))
        for error in outcome.errors:
            raise error
        for failure in outcome.failures:
            print(f"kvtrace: {printable(failure)}", file=sys.stderr)
    findings = read_findings(selection.trace, selection.runs, proven=everything)
    if as_json:
        print(json.dumps(finding_objects(findings.listed), indent=2))
    elif as_sarif:
        print(json.dumps(sarif(findings.listed, __version__), indent=2))
    else:
        print_lines(findings_text(findings))
    return 1 if findings.violations else 0
