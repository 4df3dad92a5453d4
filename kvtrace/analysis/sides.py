"""The sides that `kvtrace diff` compares, by directory, run, commit, tag or branch."""

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.schema.errors import BadSetting, UnknownRun

if TYPE_CHECKING:
    from kvtrace.figures.asked import Asked
    from kvtrace.schema.trace import Selection

_SECONDS = 10


def side(text: str, base: Path | None) -> "Selection":
    """Return the selected runs, as `kvtrace.schema.trace.resolve` does; also by names of git.

    `@NAME` that begins no recorded commit is a tag or branch of the checkout here, whose commit is
    looked for; otherwise, the branch that runs were recorded on.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: as `resolve`.

    """
    from kvtrace.schema.trace import Selection, open_trace, resolve

    try:
        return resolve(text, base=base)
    except UnknownRun as unknown:
        folder, at, name = text.rpartition("@")
        if not at:
            raise
        commit = _commit_of(name)
        if commit is not None:
            try:
                return resolve(f"{folder}@{commit}", base=base)
            except UnknownRun:
                pass  # the branch may have moved on since it was recorded
        trace = open_trace(folder or base or "")
        recorded = [run for run in trace.runs if run.git_branch == name]
        if not recorded:
            raise UnknownRun(
                f"{str(unknown).rstrip('.')}; nor is it a tag or branch whose commit was recorded."
            ) from None
        newest = recorded[-1]
        group = [run for run in recorded if run.group_id and run.group_id == newest.group_id]
        return Selection(trace, tuple(group or [newest]))


def within(selection: "Selection", part: "Asked") -> "Selection":
    """Return a part of runs; the same runs where none is asked for.

    Raises:
        BadSetting: there is no such part.

    """
    from kvtrace.figures.asked import STEADY
    from kvtrace.figures.window import windowed
    from kvtrace.schema.trace import Selection

    if part == STEADY:
        return selection
    return Selection(windowed(selection.trace, selection.runs, part)[0], selection.runs)


def kept_runs(name: str) -> "Selection":
    """Return the runs that are kept under a name.

    Raises:
        BadSetting: there are none of that name, or nothing that is installed keeps runs.

    """
    for _, kept in registry.loaded("kept_runs"):
        selection: Selection = kept(name)
        return selection
    raise BadSetting("no add-on that keeps runs under names is here; give two sides, BEFORE AFTER.")


def _commit_of(name: str) -> str | None:
    """Return the commit of a tag or branch of the checkout here; None where there is none."""
    if not re.fullmatch(r"[\w][\w./+-]*", name):
        return None
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # without git, a name of git means nothing
    return done.stdout.strip() or None
