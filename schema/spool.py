"""Layout of spools: files with records of a process's last moments, not yet in the journal.

Beside a run's journal, `.journal/spool=<run_id>/` has two files of frames: magic, kind, bytes and a
checksum, and a payload that is padded to 64-bit words. A payload is JSON, `[table, row]`, or
launches: the number of the first, and rows of `ROW`. While the process lives, the journal soon has
all records, and the files are emptied in turn; `spooled.py` reads them after the process has died.

What the files do not have yet is in memory that the kernel keeps after a kill, a file of /dev/shm
(`memory_path`) that the living process has locked (`flock`): its first `NEWEST_BYTES` have the
newest launches and, at `PLACE_OFFSET`, the spool's folder; after them come two areas of
`AREA_BYTES` with frames for each file. Example: 20,000 launches were made, so `end` is 20,000, and
launch 19,999 is row 19,999 modulo `NEWEST_ROWS`.

This module imports only the standard library: recorded programs use the layout of launches, and
`setup.py` builds the C hot path with it.
"""

from pathlib import Path
from struct import Struct
from typing import Final

#: The fields of a launch as the hot path keeps it, in their order: "q" has 64 bits, "i" 32. Each is
#: the column of `launches` of that name, but for `contents` and `phase`. A new one has 64 bits, and
#: comes last; `append_row` of `capture/_hot_tables.h` fills it, and all else goes by this list.
FIELDS: Final = {
    "enter": "q",
    "exit": "q",
    "call_id": "q",
    "stream": "q",
    "thread": "q",
    "contents": "q",  # number of the launch's copied contents, 0: none
    "device": "i",  # -1: none, and no stream
    "phase": "i",  # a number of `PHASES`; above its bits the number of the graph
}
#: One launch as bytes.
ROW: Final = Struct("=" + "".join(FIELDS.values()))
#: The kind of a frame of launches: their first layout, of 56 bytes, is 2; another's is not read.
LAUNCHES_FRAME: Final = 2 + (ROW.size - 56 << 8)
#: Before the newest launches: the numbers of the first and of the next one, and `LAUNCHES_FRAME`.
NEWEST: Final = Struct("=qqq40x")
NEWEST_ROWS: Final = 16_384
NEWEST_BYTES: Final = 1 << 20
#: The mount namespace that has the spool's folder, a new line, and the folder.
PLACE_BYTES: Final = 4096
PLACE_OFFSET: Final = NEWEST_BYTES - PLACE_BYTES
AREA_BYTES: Final = 64 << 20
#: Launch phases, by the number that the hot path keeps.
PHASES: Final = ("run", "autotune", "warmup", "graph_capture")
#: The hot path keeps the number of the graph that a launch is captured into above the phase's bits.
GRAPH_SHIFT: Final = 8
PHASE_MASK: Final = (1 << GRAPH_SHIFT) - 1

#: Fields of a call's arguments, in order.
ARGUMENT_FIELDS: Final = (
    "name", "kind", "dtype", "device", "shape", "strides", "offset_bytes", "storage_bytes",
    "alias_group", "alignment", "scalar",
)  # fmt: skip


def memory_path(run_id: str) -> Path:
    """Return the file of the memory of a run's spool, on the machine that records it."""
    return Path("/dev/shm", f"kvtrace-{run_id}")  # noqa: S108 - created exclusively, for its user


def spool_folder(out: Path, run_id: str) -> Path:
    """Return the folder of a run's spool."""
    return out / ".journal" / f"spool={run_id}"
