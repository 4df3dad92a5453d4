"""Output of a difference in several forms, to files and standard output.

In comments of reviews, absolute paths are replaced by paths relative to the project.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from kvtrace.converters.diff.gate import Gate
from kvtrace.converters.diff.junit import difference_junit
from kvtrace.converters.diff.markdown import difference_markdown
from kvtrace.converters.diff.model import Difference
from kvtrace.converters.diff.render import (
    difference_object,
    difference_text,
    gate_object,
    gate_text,
    headline_text,
)
from kvtrace.converters.output import whole_file
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection
from kvtrace.text import json_text, size

_Data = TypeVar("_Data")

#: An absolute path with two or more parts.
_PATH: Final = re.compile(r"(?<![\w.:/~-])/(?:[\w.+@=~-]+/)+[\w.+@=~-]*")
#: Folders of installed packages; paths below them are the same on every machine.
_SAME_ELSEWHERE: Final = ("/site-packages/", "/dist-packages/")
#: Number of last parts shown of a path outside the project.
_PARTS: Final = 2
#: Fields that no comment shows.
_NOT_SHOWN: Final = frozenset({"whole", "all_lines", "artifacts"})


def path_roots(sides: Sequence[Selection]) -> tuple[str, ...]:
    """Return the folders that paths are made relative to: the current one, then runs' checkouts."""
    roots = {run.git_root for side in sides for run in side.runs if run.git_root}
    return tuple(dict.fromkeys((os.getcwd(), *sorted(roots))))  # noqa: PTH109 - text is wanted


def with_shown_paths(data: _Data, folders: Sequence[str]) -> _Data:
    """Return a copy of `data` (frozen dataclasses, tuples, texts) with relative paths in its texts.

    Fields that no comment shows are left unchanged.
    """
    shown: Any = data
    if isinstance(data, str):
        shown = _PATH.sub(lambda match: _relative_path(match[0], folders), data)
    elif isinstance(data, tuple):
        shown = tuple(with_shown_paths(item, folders) for item in data)
    elif is_dataclass(data) and not isinstance(data, type):
        shown = replace(data, **{
            field.name: with_shown_paths(getattr(data, field.name), folders)
            for field in fields(data)
            if field.name not in _NOT_SHOWN
        })  # fmt: skip
    return shown  # type: ignore[no-any-return]


def _relative_path(path: str, folders: Sequence[str]) -> str:
    for folder in folders:
        if path.startswith(f"{folder.rstrip('/')}/"):
            return path[len(folder.rstrip("/")) + 1 :] or "."
    for folder in _SAME_ELSEWHERE:
        if folder in path:
            return path.rpartition(folder)[2]
    parts = path.strip("/").split("/")
    return "/".join(("…", *parts[-_PARTS:])) if len(parts) > _PARTS else "/".join(("…", parts[-1]))


STANDARD_OUTPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The requested forms: a file's path each, `-` for standard output, None if not requested.

    The text for terminals goes to standard output unless another form does.
    """

    markdown: str | None = None
    html: str | None = None
    json: str | None = None
    junit: str | None = None

    def __post_init__(self) -> None:
        """Raise BadSetting if several forms go to standard output."""
        chosen = [f"--{form.name}" for form in fields(self) if getattr(self, form.name) == "-"]
        if len(chosen) > 1:
            raise BadSetting(
                f"{' and '.join(chosen)} cannot both go to standard output: name a file for one"
            )

    @property
    def printed(self) -> str | None:
        """The form that goes to standard output instead of the text for terminals."""
        names = (form.name for form in fields(self) if getattr(self, form.name) == "-")
        return next(names, None)


def write_outputs(
    difference: Difference,
    outputs: Outputs,
    sides: tuple[Selection, Selection],
    *,
    gate: Gate | None = None,
    verbose: bool = False,
    full: bool = False,
    width: int = 80,
    tell: Callable[[str], object],
) -> list[str]:
    """Write the requested files, and return the lines for standard output.

    Args:
        difference: The difference that `compare` returned.
        outputs: The destination of each form.
        sides: The compared runs; the page has texts of both sides.
        gate: Judged rules, which every form reports.
        verbose: The text includes the details behind the headline.
        full: The text leaves out nothing.
        width: Columns of the terminal.
        tell: Called with a line of text for each written file.

    Raises:
        BadSetting: a file cannot be written.
    """
    gate = gate or Gate([])
    forms: dict[str, Callable[[], str]] = {
        "markdown": lambda: "\n".join((*_markdown(difference, gate, sides), "")),
        "json": lambda: _json(difference, gate),
        "junit": lambda: difference_junit(difference, gate),
        "html": lambda: _page(difference, sides, gate, omitted),
    }
    omitted: list[str] = []
    printed_lines: list[str] | None = None
    for name, form in forms.items():
        destination = getattr(outputs, name)
        if destination == STANDARD_OUTPUT:
            printed_lines = form().rstrip("\n").split("\n")
        elif destination is not None:
            content = form().encode("utf-8", "replace")
            with whole_file(Path(destination)) as file:
                file.write(content)
            tell(f"wrote {destination}" + (f" ({size(len(content))})" if name == "html" else ""))
            for line in omitted:
                tell(line)
    if printed_lines is not None:
        return printed_lines
    has_details = verbose or full
    text = (
        difference_text(difference, full=full, width=width)
        if has_details
        else headline_text(difference, width=width)
    )
    return [*text, *gate_text(gate)]


def _markdown(difference: Difference, gate: Gate, sides: tuple[Selection, Selection]) -> list[str]:
    folders = path_roots(sides)
    failures = list(with_shown_paths(tuple(gate.failures), folders))
    shown = with_shown_paths(difference, folders)
    return difference_markdown(shown, replace(gate, failures=failures))


def _json(difference: Difference, gate: Gate) -> str:
    content = difference_object(difference) | {"gate": gate_object(gate)}
    return json_text("diff", content) + "\n"


def _page(
    difference: Difference, sides: tuple[Selection, Selection], gate: Gate, omitted: list[str]
) -> str:
    """Return the HTML page; `omitted` gets a line for each part that does not fit."""
    from kvtrace.converters.diff.page import comparison_page

    page = comparison_page(difference, sides, gate)
    omitted += [f"  {entry.text} {entry.command}" for entry in page.dropped]
    return page.html
