"""Traces whose files git tracks, as published ones: they are read, and not added to."""

import os
from functools import cache
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.remote import remote_folder

_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-C")
#: Seconds that git may take.
_TIMEOUT: Final = 10.0


def is_committed(out: Path) -> bool:
    """Return whether git tracks a run of the trace; not so where git does not answer."""
    return remote_folder(out) is None and _has_tracked_run(os.path.realpath(out))


@cache
def _has_tracked_run(folder: str) -> bool:
    """Ask git once for each folder, whose path depends on no working directory and no link."""
    if not any((parent / ".git").exists() for parent in (Path(folder), *Path(folder).parents)):
        return False
    import subprocess  # not in recorded programs

    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    command = [*_GIT, folder, "ls-files", "runs"]
    try:
        git = subprocess.run(
            command, capture_output=True, check=False, env=environment, timeout=_TIMEOUT
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return bool(git.stdout)


def refuse_committed(out: Path) -> None:
    """Raise TraceWriteError if git tracks the trace."""
    if is_committed(out):
        raise TraceWriteError(f"{out} is committed to git and stays as it is")
