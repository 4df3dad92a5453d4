"""Sides of `kvtrace diff`: selected by directory, run, commit, tag or branch."""

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.schema.errors import BadSetting, UnknownRun

if TYPE_CHECKING:
    from kvtrace.figures.requested_part import RequestedPart
    from kvtrace.schema.trace import Selection

_SECONDS = 10


def side(text: str, base: Path | None) -> "Selection":
    """Return the selected runs, as `kvtrace.schema.trace.resolve` does; also by names of git.

    If no recorded commit begins with the NAME of `@NAME`, it is a tag or branch of the present
    checkout, whose commit is selected; otherwise a branch on which runs were recorded.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: See `resolve`.

    """
    from kvtrace.schema.trace import Selection, open_trace, resolve

    try:
        return resolve(text, base=base)
    except UnknownRun as unknown:
        folder, separator, name = text.rpartition("@")
        if not separator:
            raise
        commit = _commit_of(name)
        if commit is not None:
            try:
                return resolve(f"{folder}@{commit}", base=base)
            except UnknownRun:
                pass  # the branch may have moved since the recording
        trace = open_trace(folder or base or "")
        recorded = [run for run in trace.runs if run.git_branch == name]
        if not recorded:
            raise UnknownRun(
                f"{str(unknown).rstrip('.')}; nor is it a tag or branch whose commit was recorded."
            ) from None
        newest = recorded[-1]
        group = [run for run in recorded if run.group_id and run.group_id == newest.group_id]
        return Selection(trace, tuple(group or [newest]))


def within(selection: "Selection", part: "RequestedPart") -> "Selection":
    """Return a part of the runs; the same selection for the default part.

    Raises:
        BadSetting: The runs have no such part.

    """
    from kvtrace.figures.requested_part import STEADY
    from kvtrace.figures.window import windowed
    from kvtrace.schema.trace import Selection

    if part == STEADY:
        return selection
    return Selection(windowed(selection.trace, selection.runs, part)[0], selection.runs)


def runs_under_name(name: str) -> "Selection":
    """Return the runs that an add-on keeps under a name, such as a baseline.

    Raises:
        BadSetting: No runs have that name, or no installed add-on keeps runs under names.

    """
    for _, runs_of_name in registry.loaded("kept_runs"):
        selection: Selection = runs_of_name(name)
        return selection
    raise BadSetting("no add-on that names runs is installed; give two sides, BEFORE AFTER.")


def _commit_of(name: str) -> str | None:
    """Return the commit of a tag or branch of the present checkout, else None."""
    if not re.fullmatch(r"[\w][\w./+-]*", name):
        return None
    try:
        process = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # git is missing or hangs
    return process.stdout.strip() or None
