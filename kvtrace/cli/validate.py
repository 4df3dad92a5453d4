"""`kvtrace trace validate`: check every file of a trace."""

from dataclasses import asdict
from typing import Annotated, Final, Literal

from kvtrace.cli.needs import NOTHING
from kvtrace.cli.options import JsonOption, TracePath, leave_pandas, say
from kvtrace.cli.parsing import Option

NEEDS: Final = NOTHING


def command(
    trace: TracePath,
    profile: Annotated[
        Literal["core"] | None,
        Option(
            "--profile",
            help="Check only the format's core profile, ignoring extensions: docs/format.md",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check that every file of a trace is undamaged, valid and complete.

    A breach of what the format says a producer should do is a warning. Exits with 1 if anything
    else is wrong, with 2 if a file cannot be read: damaged, or of a newer
    version of the format.

    Example:
        kvtrace trace validate out/ --profile core

    """
    from kvtrace.schema.validation import validate

    leave_pandas()
    problems = validate(trace, profile, warnings=True)
    if as_json:
        from kvtrace.text import json_text

        print(json_text("validate", {"problems": [asdict(problem) for problem in problems]}))
    elif problems:
        for problem in problems:
            has_path = problem.text.startswith(problem.where)
            text = problem.text if has_path else f"{problem.where}: {problem.text}"
            say(f"warning: {text}" if problem.warning else text)
    errors = sum(not problem.warning for problem in problems)
    if errors and not as_json:
        say(f"{errors} problem{'' if errors == 1 else 's'} in {trace}")
    elif not as_json:
        say(f"{trace} is fine" + (" by the core profile" if profile else ""))
    if any(problem.unreadable for problem in problems):
        return 2
    return 1 if errors else 0
