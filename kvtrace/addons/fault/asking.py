"""Dumps of processes that still run, written because somebody asks for them: where a hang is."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from kvtrace.addons.fault.starting import FOLDER, PIPE, SUFFIX
from kvtrace.schema.errors import KvtraceError

#: Seconds until a dump has to be there, and from one look to the next.
_PATIENCE: Final = 60.0
_STEP: Final = 0.1


class NothingToAsk(KvtraceError):
    """Raised if no process that could write a dump is recorded into a trace."""

    slug: ClassVar[str] = "nothing-to-ask"


def ask_now(folder: Path) -> Sequence[Path]:
    """Have the driver write a dump of each process that is recorded into a trace; return them.

    The driver of a process listens at a named pipe in the folder `faults`.

    Raises:
        NothingToAsk: no process listens, or no dump came.
    """
    asked = [pipe for pipe in sorted((folder / FOLDER).glob(f"*{PIPE}")) if _ask(pipe)]
    if not asked:
        raise NothingToAsk(
            f"No process that is recorded into {folder} listens for requests: start the program "
            "with KVTRACE_FAULTS=on, and ask while it runs and has used the GPU."
        )
    dumps = [pipe.with_name(pipe.name.removesuffix(PIPE) + SUFFIX) for pipe in asked]
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if all(_is_whole(dump) for dump in dumps):
            return dumps
        time.sleep(_STEP)
    found = [dump for dump in dumps if dump.exists()]
    if not found:
        raise NothingToAsk(
            f"The driver wrote no dump of {asked[0].name.removesuffix(PIPE)} within "
            f"{_PATIENCE:.0f} s; its GPU may have no kernel to stop."
        )
    return found


def _ask(pipe: Path) -> bool:
    """Write to a pipe; return whether somebody reads it."""
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads: the process has ended
        return False
    try:
        os.write(descriptor, b"1")
    finally:
        os.close(descriptor)
    return True


def _is_whole(dump: Path) -> bool:
    """Return whether a dump is there and has its last part, the table of sections."""
    from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump

    try:
        read_dump(dump)
    except UnreadableDump:
        return False
    return True
