"""Tables of what happens to memory between launches, which a recording writes on request."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.private import ADDRESSES, NAMED, OPEN, PARAMETER_NAMED, STACK
from kvtrace.schema.table_types import I32, I64, NAME, OPERAND, TIME, Column, Table

_C = Column

MEMORY: Final = (
    Table(
        "operators",
        "a unique call of an operator of torch: its name and its tensors' metadata",
        "captured",
        (
            _C("operator_id", I64, "dense id inside the run", key=True),
            _C("name", NAME, "name with overload, as aten::empty.memory_format", private=NAMED),
            _C(
                "tensors",
                pa.list_(OPERAND),
                "its tensors: arguments in the schema's order, then results. role: read or "
                "written, an argument that the operator's schema does not or does mutate (written "
                "where the schema is not known, read where the call failed); viewed or created, a "
                "result whose storage is or is not that of an argument. name: the schema's, with "
                "an index in a list of tensors; null: a result without a name. device: its index; "
                "null: the host. shape and strides in elements; offset_bytes from the storage's "
                "start",
                private={"name": PARAMETER_NAMED, "role": OPEN, "dtype": OPEN},
            ),
            _C("stack_id", I64, "Python call stack of its first such call", private=STACK),
        ),
        sort=("operator_id",),
        since="1.12",
    ),
    Table(
        "operations",
        "one call of an operator of torch that no operator of the namespace aten made",
        "captured",
        (
            _C("record", I64, "order of arrival in the run", key=True),
            _C("operator_id", I64, "the unique call of an operator"),
            _C(
                "begin",
                TIME,
                "when the operator was entered, by the clock of launches.enter; launches and "
                "operations of its thread between begin and end are its own",
            ),
            _C("end", TIME, "when it returned (the device may still be busy)"),
            _C("thread", I64, "native id of the calling thread"),
            _C(
                "addresses",
                pa.list_(I64),
                "data pointer of each entry of the operator's tensors",
                private=ADDRESSES,
            ),
            _C("graph_id", I64, "graph that it was captured into; null: none"),
        ),
        sort=("begin",),
        since="1.12",
    ),
    Table(
        "allocations",
        "memory of torch's caching allocator, or of an empty tensor that generated code made",
        "captured",
        (
            _C("record", I64, "order of arrival in the run", key=True),
            _C("address", I64, "first byte", private=ADDRESSES),
            _C(
                "bytes",
                I64,
                "size of the storage that was made there; null: not known, no tensor was seen",
                "bytes",
            ),
            _C("begin", TIME, "when it was allocated"),
            _C("end", TIME, "when it was freed; null: not known"),
            _C("thread", I64, "native id of the allocating thread"),
            _C("device", I32, "device index; null: the host"),
            _C("stream", I64, "stream handle; null: none, or not known"),
            _C("pool", I64, "the allocator's private pool; null: the default pool"),
            _C(
                "stack_id",
                I64,
                "Python call stack, of which the innermost 16 frames are certain; null within an "
                "operation of its thread, which has the stack",
                private=STACK,
            ),
        ),
        sort=("begin",),
        since="1.12",
    ),
)
