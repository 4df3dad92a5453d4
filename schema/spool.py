"""The layout of spools: what a process recorded in its last moments, before its journal had it.

Beside a run's journal, `.journal/spool=<run_id>/` has two files of frames: magic, kind, bytes and a
checksum, and a payload that is filled up to 64-bit words. A payload is JSON, `[table, row]`, or
launches: the number of the first, and rows of `ROW`. While the process lives, everything is in the
journal soon, and the files are emptied in turn; `spooled.py` reads them when the process is dead.

This imports the standard library alone: recorded programs have the layout of launches from here,
and `setup.py` builds the C hot path with it.
"""

from pathlib import Path
from struct import Struct
from typing import Final

#: The fields of a launch as the hot path keeps it, in their order: "q" has 64 bits, "i" 32. Each is
#: the column of `launches` of that name, but for `contents` and `phase`. A new one has 64 bits, and
#: comes last; `capture/hot.py` and `capture/_hot_tables.h` fill it, and all else goes by this list.
FIELDS: Final = {
    "enter": "q",
    "exit": "q",
    "call_id": "q",
    "stream": "q",
    "thread": "q",
    "contents": "q",  # number of what was copied for the launch, 0: nothing
    "device": "i",  # -1: none, and no stream
    "phase": "i",  # a number of `PHASES`; above its bits the number of the graph
}
#: One launch as bytes.
ROW: Final = Struct("=" + "".join(FIELDS.values()))
#: The kind of a frame of launches: their first layout, of 56 bytes, is 2; another's is not read.
LAUNCHES_FRAME: Final = 2 + (ROW.size - 56 << 8)
#: Launch phases, by the number that the hot path keeps.
PHASES: Final = ("run", "autotune", "warmup", "graph_capture")
#: The hot path keeps the number of the graph that a launch is captured into above the phase's bits.
GRAPH_SHIFT: Final = 8
PHASE_MASK: Final = (1 << GRAPH_SHIFT) - 1

#: What a call has of each argument, in this order.
ARGUMENT_FIELDS: Final = (
    "name", "kind", "dtype", "device", "shape", "strides", "offset_bytes", "storage_bytes",
    "alias_group", "alignment", "scalar",
)  # fmt: skip


def spool_folder(out: Path, run_id: str) -> Path:
    """The folder of a run's spool."""
    return out / ".journal" / f"spool={run_id}"
