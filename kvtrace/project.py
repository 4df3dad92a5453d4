"""The table `[tool.kvtrace]` of a project's pyproject.toml.

It is that of the nearest pyproject.toml which has one, from the current folder upwards. Recorded
programs read it: a file that cannot be read is a sentence, never an exception.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_NAME: Final = "pyproject.toml"
_MARK: Final = b"tool.kvtrace"


@dataclass(frozen=True, slots=True)
class Project:
    """The table of a project.

    Attributes:
        file: the path of the file; empty if no file has the table.
        table: the table's values by key.
        problem: why the file cannot be read; empty if it can.

    """

    file: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


def read_project() -> Project:
    """Return the table of the project that the current folder is in."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - pathlib takes longer to import
    except OSError:  # the folder was deleted
        return Project()
    while True:
        file = os.path.join(folder, _NAME)  # noqa: PTH118
        project = _read(file)
        parent = os.path.dirname(folder)  # noqa: PTH120
        if project is not None or parent == folder:
            return project or Project()
        folder = parent


def _read(file: str) -> Project | None:
    """Return the table in a file; None if there is none."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            content = opened.read()
    except OSError as error:
        is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError))
        return None if is_missing else Project(file, problem=f"{file} cannot be read: {error}")
    if _MARK not in content:
        return None
    import tomllib

    try:
        table = tomllib.loads(content.decode()).get("tool", {}).get("kvtrace")
    except (ValueError, AttributeError, RecursionError) as error:
        return Project(file, problem=f"{file} cannot be read: {error}")
    return Project(file, table) if isinstance(table, dict) else None
