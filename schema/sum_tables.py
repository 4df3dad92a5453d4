"""Tables of what a sealed run adds up to, once: launches, executions, parts, steps, idle times.

The rows of a run are divided into stretches of time at the bounds of its steady part. Times that
are sorted by length are kept as bins (`figures/medians.py`).

A recording that drops its oldest rows (`KVTRACE_LIMIT=sums:2GB`) writes what those add up to as the
same sums, of parts that are no longer there instead of a stretch (`older_sums.py`).

Tiles are equal stretches of time, for overviews of many rows. All tiles of a table of a run are
`tile_ns` long, a power of two, and begin at multiples of that since 1970, so that tiles of several
runs add up to coarser ones. Of each tile, the few kernels with most time have rows of their own.
"""

from typing import Final, Literal

import pyarrow as pa

from kvtrace.schema.private import NAMED, OPEN, STACK, leaf
from kvtrace.schema.table_types import BOOL, I32, I64, NAME, TIME, Column, Table

_C = Column
#: Columns of a stretch, and of what it has of one call.
_STRETCH: Final = (
    _C("stretch", I32, "number of the stretch in the run; -1: rows without a time", key=True),
    _C("begin", TIME, "begin of the stretch; null: it has what came before all others"),
    _C("end", TIME, "end of the stretch, excluded; null: it has what came after all others"),
)
_TIMES: Final = (
    _C("weight", I64, "how many they are: the sum of the rows' weights"),
    _C("taken_ns", I64, "time of all of them; null: none has a time", "ns"),
    _C("shortest_ns", I64, "least time of one of them", "ns"),
    _C("longest_ns", I64, "most time of one of them", "ns"),
    _C("last_end", TIME, "when the last of them ended"),
    _C(
        "bins",
        pa.list_(I32),
        "bins of times that occur, ascending: below 128 ns the bin is the time, in ns; a time t "
        "from 2**(e + 6) to 2**(e + 7) ns is in the bin 64 * e + t // 2**e. null: not steady",
    ),
    _C("counts", pa.list_(I64), "how many of `weight` are in each of the bins"),
)

_OF_LAUNCHES: Final = (
    _C("call_id", I64, "the call", key=True),
    _C("phase", NAME, "phase of the launches; null: run", private=OPEN),
    _C("compiling", BOOL, "whether their kernel was compiled, loaded or tuned in them"),
    _C("steady", BOOL, "whether they count in times: timed, not compiling, no trials"),
    *_TIMES,
)
_OF_EXECUTIONS: Final = (
    _C("call_id", I64, "the call, of the execution or of its launch; null: none is known"),
    _C("name", NAME, "the device function, where no call is known", private=NAMED),
    _C("kind", NAME, "copy or fill, where no call is known", private=OPEN),
    _C("stack_id", I64, "stack that asked for them, where no call is known", private=STACK),
    _C("forward_stack_id", I64, "stack of the forward, of a backward", private=STACK),
    _C("asked", BOOL, "whether it was recorded when the host asked for one of them"),
    _C("tuning", BOOL, "whether they are of trials, or ran between two trials"),
    _C("replayed", BOOL, "whether a graph replayed them"),
    _C("timed", BOOL, "whether start and end are known"),
    *_TIMES,
    _C("bytes", I64, "bytes copied or filled by all of them", "bytes"),
)


#: Columns of which parts the rows were in that sums are of.
_OLDER: Final = (
    _C("first_part", I32, "number of the first part that their rows were in", key=True),
    _C("last_part", I32, "number of the last part that their rows were in", key=True),
    _C("begin", TIME, "when the first of the rows began"),
    _C("end", TIME, "when the last of the rows began"),
)

SUMS: Final = (
    Table(
        "launch_sums",
        "what the launches of a call add up to in a stretch, of equal phase and flags",
        "derived",
        (*_STRETCH, *_OF_LAUNCHES),
        sort=("stretch", "call_id"),
        since="1.12",
    ),
    Table(
        "execution_sums",
        "what the executions of a call, or by a name, add up to in a stretch",
        "derived",
        (*_STRETCH, *_OF_EXECUTIONS),
        sort=("stretch", "call_id"),
        since="1.12",
    ),
    Table(
        "older_launch_sums",
        "what older launches of a call add up to, which are no longer in `launches`, of equal "
        "phase and flags",
        "captured",
        (*_OLDER, *_OF_LAUNCHES),
        sort=("first_part", "call_id"),
        since="1.12",
    ),
    Table(
        "older_execution_sums",
        "what older executions of a call, or by a name, add up to, which are no longer in "
        "`gpu_kernels`",
        "captured",
        (*_OLDER, *_OF_EXECUTIONS),
        sort=("first_part", "call_id"),
        since="1.12",
    ),
)

_TILE: Final = (
    _C("begin", TIME, "begin of the tile; null: of rows without begin or end"),
    _C("kernel_id", I64, "the kernel of their calls; null: not known, or others"),
    _C("others", BOOL, "whether they are of all kernels that have no row of their own in the tile"),
)
_OF_TILE: Final = (
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
            *_OF_TILE,
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
            *_OF_TILE,
        ),
        sort=("begin", "kernel_id"),
        since="1.12",
    ),
)


# -- parts, steps and idle times -------------------------------------------------------------------
# A part of a run is `whole`, all of it, or `steady`, its steps without those of start-up. What is
# idle time, and its causes, is defined in `figures/gap_causes.py`.


Cause = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "host", "device", "short", "unknown"
]

_MEANINGS: Final[dict[Cause, str]] = {
    "compile": "kernels were compiled or loaded",
    "collect": "Python collected garbage",
    "allocate": "device memory was allocated",
    "synchronize": "the host waited for the device",
    "launch": "the host launched",
    "host": "Python and other code of the host ran",
    "device": "devices waited for each other, or for a graph to begin",
    "short": "an execution followed at once",
    "unknown": "of a cause that was not recorded",
}
#: Causes of idle time; those up to `host` are also what the host did in it.
CAUSES: Final[tuple[Cause, ...]] = tuple(_MEANINGS)
ACTIVITIES: Final = CAUSES[: CAUSES.index("host") + 1]
#: Kinds of events that are counted in gaps.
EVENTS: Final[tuple[Cause, ...]] = ("collect", "allocate", "synchronize", "launch")
#: Causes of the time between two short executions.
AROUND_SHORT: Final[tuple[Cause, ...]] = ("host", "launch", "short", "unknown")

_PART: Final = _C("part", NAME, "whole or steady", key=True, private=OPEN)
_IDLE: Final = tuple(
    _C(f"{cause}_ns", I64, f"idle time by its cause: {meaning}", "ns")
    for cause, meaning in _MEANINGS.items()
)

IDLE: Final = (
    Table(
        "run_parts",
        "a part of a run, and how long devices were busy and idle in it",
        "derived",
        (
            _PART,
            _C("begin", TIME, "its begin on the host; of the whole: first `enter` of a launch"),
            _C("end", TIME, "its end on the host; of the whole: last `exit` of a launch"),
            _C("device_begin", TIME, "its begin on devices; of the whole: first `start`"),
            _C("device_end", TIME, "its end on devices; of the whole: last `end`"),
            _C("devices", I32, "devices that ran something; null: gaps are not recorded"),
            _C("span_ns", I64, "its length on each of them, added up", "ns"),
            _C("busy_ns", I64, "when each ran at least one execution, added up", "ns"),
            _C("overlapped_ns", I64, "time of executions at once with another of the device", "ns"),
            _C("idle_ns", I64, "when each ran nothing, added up", "ns"),
            *_IDLE,
            *(
                _C(f"small_{cause}_ns", I64, f"part of {cause}_ns between two short kernels", "ns")
                for cause in AROUND_SHORT
            ),
            _C("paused_ns", I64, "part of host_ns in long gaps, pauses of the program", "ns"),
            _C("pauses", I64, "number of these gaps"),
            _C("paused_between_steps_ns", I64, "part of paused_ns up to a step's begin", "ns"),
        ),
        since="1.12",
    ),
    Table(
        "run_steps",
        "a step of the program",
        "derived",
        (
            _C("step", I32, "number of the step in the run", key=True),
            _C(
                "name",
                NAME,
                "the mark that separates steps; null: they are the period of the launches",
                private=leaf("marks", "mark"),
            ),
            _C("begin", TIME, "its begin on the host"),
            _C("end", TIME, "its end on the host: the begin of the next step"),
            _C("device_begin", TIME, "its begin on devices"),
            _C("device_end", TIME, "its end on devices"),
            _C("known", BOOL, "whether it is known which executions steps of the run asked for"),
            _C("steady", BOOL, "whether it belongs to the steady part"),
            *_IDLE,
        ),
        sort=("step",),
        since="1.12",
    ),
    Table(
        "idle_gaps",
        "gaps between executions, of equal cause, line and executions around them, without short",
        "derived",
        (
            _PART,
            _C("group", I32, "number of the group in the run, by its part and first gap", key=True),
            _C("cause", NAME, "the cause of the gaps", private=OPEN),
            _C("before", NAME, "device function before them; null: the begin", private=NAMED),
            _C("after", NAME, "device function after them; null: the end", private=NAMED),
            _C("stack_id", I64, "stack of the cause", private=STACK),
            _C("before_stack_id", I64, "stack that asked for what ran before", private=STACK),
            _C("after_stack_id", I64, "stack that asked for what ran after", private=STACK),
            _C("number", I64, "number of gaps"),
            _C("total_ns", I64, "their time", "ns"),
            _C("longest_ns", I64, "time of the longest", "ns"),
            *(
                _C(f"{name}_ns", I64, f"time of the gaps when {_MEANINGS[name]}", "ns")
                for name in ACTIVITIES
            ),
            *(_C(f"{name}_events", I64, f"events that began in them: {name}") for name in EVENTS),
            _C("kernels", pa.list_(I64), "ids of kernels that were compiled or loaded in them"),
        ),
        sort=("group",),
        since="1.12",
    ),
    Table(
        "short_executions",
        "executions of one device function in a part, and how many of them were short",
        "derived",
        (
            _PART,
            _C("name", NAME, "the device function; ?: it has no name", private=NAMED),
            _C("number", I64, "number of its short executions, without copies and fills"),
            _C("total_ns", I64, "time of its short executions", "ns"),
        ),
        since="1.12",
    ),
)
