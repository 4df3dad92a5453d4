"""The settings in force, with their defaults: `kvtrace doctor --settings`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.project import Project


def print_settings(*, as_json: bool) -> int:
    """Print the settings that a recording started here would have, and where they come from.

    An unknown variable or an invalid value is reported, with the nearest known name; the exit code
    is then 1.
    """
    from kvtrace.cli import complain
    from kvtrace.cli.options import say
    from kvtrace.project import read_project
    from kvtrace.settings import DEFAULT, settings_in_force

    project = read_project()
    settings, problems = settings_in_force(os.environ)
    values, defaults = settings.as_environment(), DEFAULT.as_environment()
    sources = {name: _source(name, project, problems) for name in values}
    out = os.environ.get("KVTRACE")
    gate = project.table.get("diff", {})
    if as_json:
        variables = {"KVTRACE": out, **values}
        content = {"variables": variables, "sources": sources, "diff": gate, "problems": problems}
        print(json_text("settings", content))
    else:
        say(
            f"KVTRACE={out}"
            if out
            else "KVTRACE is not set: programs started here are not recorded"
        )
        for name, value in values.items():
            notes = [] if sources[name] == "default" else [sources[name]]
            notes += [] if value == defaults[name] else [f"default {defaults[name]}"]
            say(f"{name}={value}" + (f"  ({'; '.join(notes)})" if notes else ""))
        for key, value in gate.items() if isinstance(gate, dict) else ():
            say(f"{key} of kvtrace diff and gate: {value}  ({project.file})")
        for problem in problems:
            complain(problem)
    return 1 if problems else 0


def _source(variable: str, project: "Project", problems: Sequence[str]) -> str:
    """Return where the value of a setting is from: "environment", a file, or "default"."""
    if os.environ.get(variable) and not any(one.startswith(f"{variable}:") for one in problems):
        return "environment"
    for key in project.table:
        is_refused = any(one.startswith(f"{key} in {project.file}:") for one in problems)
        if f"KVTRACE_{key.replace('-', '_').upper()}" == variable and not is_refused:
            return project.file
    return "default"
