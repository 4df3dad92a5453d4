"""Tables of a run's time line in equal stretches of time (tiles), for overviews of many rows.

The pass "sums" writes them once for a sealed run. All tiles of a table of a run are `tile_ns` long,
a power of two, and begin at multiples of that since 1970, so that tiles of several runs add up to
coarser ones. Of each tile, the few kernels with most time have rows of their own.
"""

from typing import Final

from kvtrace.schema.private import NAMED, OPEN
from kvtrace.schema.table_types import BOOL, I32, I64, NAME, TIME, Column, Table

_C = Column
_TILE: Final = (
    _C("begin", TIME, "begin of the tile; null: of rows without begin or end"),
    _C("kernel_id", I64, "the kernel of their calls; null: not known, or others"),
    _C("others", BOOL, "whether they are of all kernels that have no row of their own in the tile"),
)
_SUMS: Final = (
    _C("rows", I64, "number of rows that begin in the tile"),
    _C("weight", I64, "how many these stand for: the sum of their weights"),
    _C("busy_ns", I64, "time of rows within the tile, also of those that began before it", "ns"),
    _C("tile_ns", I64, "length of each tile of the run", "ns"),
    _C("first_begin", TIME, "when the first of the run's rows began"),
    _C("last_end", TIME, "when the last of the run's rows ended"),
)

TILES: Final = (
    Table(
        "launch_tiles",
        "the launches of a kernel by a thread in a stretch of time",
        "derived",
        (
            *_TILE,
            _C("thread", I64, "the thread"),
            _C("phase", NAME, "phase of the launches", private=OPEN),
            *_SUMS,
        ),
        sort=("begin", "kernel_id"),
        since="1.12",
    ),
    Table(
        "execution_tiles",
        "the executions of a kernel in a stream in a stretch of time",
        "derived",
        (
            *_TILE,
            _C("device", I32, "the device"),
            _C("stream", I64, "the stream"),
            _C("name", NAME, "the device function; null: others", private=NAMED),
            _C("kind", NAME, "copy or fill", private=OPEN),
            *_SUMS,
        ),
        sort=("begin", "kernel_id"),
        since="1.12",
    ),
)
