"""Table of what another tool's file holds besides executions."""

from typing import Final

from kvtrace.schema.private import OPEN, PRIVATE, leaf
from kvtrace.schema.table_types import I64, NAME, TEXT, TIME, Column, Table

_C = Column

TOOL: Final = (
    Table(
        "tool_events",
        "an event of an imported file that is not an execution: an operator, a Python function, a "
        "call of the device's API, a flow; so that a converter can give back what came",
        "captured",
        (
            _C(
                "record",
                I64,
                "order in the file, counted together with gpu_kernels.record where the file has "
                "one list of events",
                key=True,
            ),
            _C(
                "phase",
                NAME,
                "X: a range; i: an instant; s, t, f: begin, step and end of a flow; M: metadata; "
                "others as in Chrome's trace format; null: no event but a member of the file "
                "itself, such as torch.profiler's deviceProperties",
                private=OPEN,
            ),
            _C(
                "category",
                NAME,
                "the tool's word, such as cpu_op, python_function or cuda_runtime",
                private=OPEN,
            ),
            _C(
                "name",
                NAME,
                "name of the operator, function or range",
                private=leaf("paths names marks", "name"),
            ),
            _C("begin", TIME, "when it began; null: it has no time"),
            _C("end", TIME, "when it ended; null: it is not a range"),
            _C("process", I64, "id of the process, or the number that the tool gives instead"),
            _C("thread", I64, "native id of the thread, or the number that the tool gives instead"),
            _C(
                "correlation_id",
                I64,
                "the driver's id of the request, as in gpu_kernels",
            ),
            _C(
                "external_id",
                I64,
                "the tool's id of the operator around it, as in gpu_kernels; an operator's own",
            ),
            _C(
                "members",
                TEXT,
                "the other members of the event, as a JSON object, in which args is complete; of a "
                "member of the file, its value as JSON",
                private=leaf(" ".join(PRIVATE)),
            ),
        ),
        sort=("record",),
        since="1.12",
    ),
)
