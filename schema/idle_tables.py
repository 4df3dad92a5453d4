"""Tables of a sealed run's parts, steps and idle times, which are found once.

A part of a run is `whole`, all of it, or `steady`, its steps without those of start-up. What is
idle time, and its causes, is defined in `figures/gap_causes.py`.
"""

from typing import Final, Literal

import pyarrow as pa

from kvtrace.schema.private import NAMED, OPEN, STACK, leaf
from kvtrace.schema.table_types import BOOL, I32, I64, NAME, TIME, Column, Table

Cause = Literal[
    "compile", "collect", "allocate", "synchronize", "launch", "host", "device", "short", "unknown"
]

_C = Column
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
