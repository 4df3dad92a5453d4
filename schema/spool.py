"""The layout of spools: what a process recorded in its last moments, before its journal had it.

Beside a run's journal, `.journal/spool=<run_id>/` has two files of frames: magic, kind, bytes and a
checksum, and a payload that is filled up to 64-bit words. A payload is JSON, `[table, row]`, or
launches: the number of the first, and rows of `ROW`. While the process lives, everything is in the
journal soon, and the files are emptied in turn; `spooled.py` reads them when the process is dead.

This imports nothing heavy: recorded programs have the layout of launches from here.
"""

from pathlib import Path
from struct import Struct
from typing import Final

#: One launch as bytes: enter, exit, call id, stream, thread, contents, device, phase. Device -1 is
#: none, contents 0 that none were copied.
ROW: Final = Struct("=qqqqqqii")
#: Launch phases, by the number that the hot path keeps.
PHASES: Final = ("run", "autotune", "warmup", "graph_capture")
#: The hot path keeps the number of the graph that a launch is captured into above the phase's bits.
GRAPH_SHIFT: Final = 8

#: What a call has of each argument, in this order.
ARGUMENT_FIELDS: Final = (
    "name", "kind", "dtype", "device", "shape", "strides", "offset_bytes", "storage_bytes",
    "alias_group", "alignment", "scalar",
)  # fmt: skip


def spool_folder(out: Path, run_id: str) -> Path:
    """The folder of a run's spool."""
    return out / ".journal" / f"spool={run_id}"
