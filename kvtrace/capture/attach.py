"""Recording of this process for `kvtrace run --pid` (`cli/run_program.py`), asked for at a socket.

Afterwards nothing of the recording is in the program but imported modules.
"""

import select
import socket
from collections.abc import Mapping
from typing import Any, Final

from kvtrace import _boot
from kvtrace.capture.threads import running
from kvtrace.schema.errors import RecordingUnavailable
from kvtrace.surroundings import get_ident

#: What the command reads once the recording has begun.
BEGAN: Final = "began\n"


def record(
    connection: socket.socket, out: str, seconds: float | None, settings: Mapping[str, Any]
) -> None:
    """Record this process until `seconds` have passed, or the other side closes the connection.

    Raises:
        RecordingUnavailable: it is being recorded already.
        OSError: the other side has closed the connection, and hears of no run.

    """
    from kvtrace.capture import api

    current = api.current()
    if current is not None or _boot.out is not None:
        folder = _boot.out if current is None else current.out
        raise RecordingUnavailable(f"it is being recorded already, into {folder}")
    running.add(get_ident())
    try:
        session = api.visit(out, settings)
        connection.sendall(BEGAN.encode())
        select.select([connection], [], [], seconds)
    finally:
        api.leave()
        running.discard(get_ident())
    connection.sendall(f"{session.run_id or ''}\n".encode())
