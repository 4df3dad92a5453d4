"""`kvtrace trace conformance`: the suite of traces that checks readers of the format."""

import json
import shlex
from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.options import JsonOption, say
from kvtrace.cli.parsing import Option


def command(
    reader: Annotated[
        str | None,
        Option("--reader", metavar="CMD", help="Program that reads a trace", show_default=False),
    ] = None,
    case: Annotated[
        list[str] | None, Option("--case", metavar="NAME", help="Only this case; may be repeated")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check that a program reads traces as the format says; docs/conformance.md has the questions.

    CMD is started with the folder of each trace behind its own words. It prints its answer as JSON,
    or exits with a code other than 0 where a trace has to be rejected. Without --reader, the cases
    are listed. Exits with 1 if an answer differs.

    Example:
        kvtrace trace conformance --reader "python examples/readers/reader.py"

    """
    from kvtrace.analysis.conformance import SUITE, conformance_cases, read_cases
    from kvtrace.schema.errors import BadSetting

    cases = conformance_cases(case or ())
    if reader is None:
        if as_json:
            listed = [{"case": c.name, "about": c.about, "trace": str(c.trace)} for c in cases]
            print(json.dumps(listed, indent=2))
            return 0
        for listed_case in cases:
            say(f"{listed_case.name:<24}{listed_case.about}")
        say(f"{len(cases)} cases in {SUITE}")
        return 0
    try:
        words = shlex.split(reader)
    except ValueError as error:
        raise BadSetting(f"--reader {reader!r} cannot be read: {error}") from error
    if not words:
        raise BadSetting("--reader is empty; name a program, as --reader 'python reader.py'")
    results = []
    for result in read_cases(words, cases):
        results.append(result)
        if not as_json:
            line = f"{'wrong' if result.problem else 'right':<7}{result.case:<24}{result.problem}"
            say(line.rstrip())
    wrong = sum(bool(result.problem) for result in results)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        say(f"{len(results) - wrong} of {len(results)} cases are right")
    return 1 if wrong else 0
