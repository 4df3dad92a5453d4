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


def resolve_side(text: str, base: Path | None) -> "Selection":
    """Return the runs that one argument of `kvtrace diff` names.

    The text is DIRECTORY, DIRECTORY/RUN or DIRECTORY/@NAME; DIRECTORY may be missing if `base` is
    given. NAME is the begin of a recorded commit; else a tag or branch of the Git checkout in the
    current directory, whose commit was recorded; else a branch on which runs were recorded, the
    newest of which are returned.

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
        runs_of_job = [run for run in recorded if run.group_id and run.group_id == newest.group_id]
        return Selection(trace, tuple(runs_of_job or [newest]))


def narrowed_selection(selection: "Selection", part: "RequestedPart") -> "Selection":
    """Return the selection narrowed to a part of its runs; unchanged for the default part.

    Raises:
        BadSetting: The runs have no such part.

    """
    from kvtrace.figures.part_figures import open_figures
    from kvtrace.figures.requested_part import STEADY
    from kvtrace.schema.trace import Selection

    if part == STEADY:
        return selection
    figures = open_figures(selection.trace, selection.runs, part)
    return Selection(figures.trace, selection.runs)


def runs_under_name(name: str) -> "Selection":
    """Return the runs that an add-on keeps under a name, such as a baseline.

    Raises:
        BadSetting: No runs have that name, or no installed add-on keeps runs under names.

    """
    for _, runs_of_name in registry.loaded("kept_runs"):
        selection: Selection = runs_of_name(name)
        return selection
    raise BadSetting(
        "--against needs an add-on that names runs, and none is installed; give BEFORE and AFTER."
    )


def _commit_of(name: str) -> str | None:
    """Return the commit hash of a tag or branch in the current directory's checkout, or None."""
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
