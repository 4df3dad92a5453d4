"""`kvtrace env`: the settings in force, with their defaults."""

import json
import os
from typing import Annotated

from kvtrace.cli.parsing import Option


def command(
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of text")] = False,
) -> int:
    """Print the settings that a recording started here would have.

    An unknown variable or an invalid value is reported, with the nearest known name; the exit code
    is then 1.

    Example:
        kvtrace env
        KVTRACE_TENSORS=int kvtrace env --json

    """
    from kvtrace.cli import complain
    from kvtrace.cli.options import say
    from kvtrace.settings import DEFAULT, settings_from_environment

    settings, problems = settings_from_environment(os.environ)
    values, defaults = settings.as_environment(), DEFAULT.as_environment()
    out = os.environ.get("KVTRACE")
    if as_json:
        variables = {"KVTRACE": out, **values}
        print(json.dumps({"variables": variables, "problems": problems}, indent=2))
    else:
        say(
            f"KVTRACE={out}"
            if out
            else "KVTRACE is not set: programs started here are not recorded"
        )
        for name, value in values.items():
            changed = "" if value == defaults[name] else f"  (default {defaults[name]})"
            say(f"{name}={value}{changed}")
        for problem in problems:
            complain(problem)
    return 1 if problems else 0
