"""Extensions of the core profile that a recording or an importer writes."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.core_tables import ORIGIN_LEAVES
from kvtrace.schema.private import (
    ADDRESSES,
    ANYTHING,
    ARTIFACT,
    ATTRIBUTES,
    FILE,
    NAMED,
    OPEN,
    PARAMETER_NAMED,
    PRIVATE,
    STACK,
    leaf,
)
from kvtrace.schema.table_types import (
    FACTS,
    FRAME,
    I32,
    I64,
    NAME,
    OPERAND,
    ORIGIN,
    SOURCE_FILE,
    TEXT,
    TIME,
    Column,
    Table,
)

_C = Column

CAPTURED: Final = (
    Table(
        "contents",
        "what one argument's tensor held at one launch",
        "captured",
        (
            _C(
                "seq", I64, "the launch; contents at a launch without a row are not known", key=True
            ),
            _C("call_id", I64, "the call that it launches", key=True),
            _C("arg", I32, "index of the argument in the call's args", key=True),
            _C("artifact", NAME, "sha256 of the bytes that were kept", private=ARTIFACT),
            _C(
                "offset_bytes",
                I64,
                "where they begin in the storage; what lies outside of them is not known",
                "bytes",
            ),
            _C(
                "view_offset_bytes",
                I64,
                "where the argument's data pointer lay in the storage at this launch, as "
                "offset_bytes of the call's args at its first launch; null: not recorded",
                "bytes",
                since="1.12",
            ),
        ),
        sort=("seq", "arg"),
        since="1.3",
    ),
    Table(
        "host_events",
        "what the host did while the device may have waited",
        "captured",
        (
            _C("record", I64, "order of arrival in the run", key=True),
            _C(
                "kind",
                NAME,
                "synchronize: it waited for the device; allocate, free: memory of the device, by "
                "the driver; allocate_host: page-locked memory; collect: Python's garbage; "
                "collect_recording: the same, in a thread of the recording",
                private=OPEN,
            ),
            _C("begin", TIME, "when it began"),
            _C("end", TIME, "when it ended"),
            _C("thread", I64, "native id of the thread"),
            _C("bytes", I64, "how much was allocated", "bytes"),
            _C("stack_id", I64, "Python stack that it came from", private=STACK),
        ),
        sort=("begin",),
        since="1.9",
    ),
    Table(
        "collectives",
        "a collective operation, or a send or receive, that the host requested",
        "captured",
        (
            _C("record", I64, "order of the requests in the run", key=True),
            _C("requested", TIME, "when the host requested it"),
            _C(
                "returned",
                TIME,
                "when that call ended; the executions that were requested until then are the "
                "operation's; null: those until the next request are",
            ),
            _C(
                "communicator",
                NAME,
                "id of the communicator or process group, the same on all of its ranks",
                private=OPEN,
            ),
            _C("group", NAME, "what the program calls that group", private=NAMED),
            _C("ranks", pa.list_(I32), "ranks of the group in the job, in their order in it"),
            _C(
                "sequence",
                I64,
                "number of the operation in its group, the same on all ranks; sends and receives "
                "count apart",
            ),
            _C("peer", I32, "rank in the job that is sent to or received from"),
            _C(
                "operation",
                NAME,
                "AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, Gather, "
                "Scatter, Send, Recv, Barrier; others as the tool calls them",
                private=OPEN,
            ),
            _C("reduction", NAME, "sum, max …, of one that reduces", private=OPEN),
            _C("type", NAME, "type of the elements, as the tool calls it", private=OPEN),
            _C("elements", I64, "elements that this rank gives"),
            _C("bytes", I64, "their size", "bytes"),
            _C("root", I32, "rank in the job that has or gets the data"),
        ),
        sort=("record",),
        since="1.13",
    ),
    Table(
        "marks",
        "a user's range or instant",
        "captured",
        (
            _C("mark_id", I64, "dense id inside the run", key=True),
            _C("name", NAME, "the name that the user gave it", private=leaf("marks", "mark")),
            _C("begin", TIME, "when it began"),
            _C("end", TIME, "when it ended; null for an instant"),
            _C("thread", I64, "native id of the thread"),
            _C("attributes", FACTS, "what the user attached", private=leaf("marks")),
        ),
        sort=("begin",),
    ),
    Table(
        "stacks",
        "a distinct Python or IR call stack",
        "captured",
        (
            _C("stack_id", I64, "63-bit hash of the frames", key=True, private=STACK),
            _C(
                "frames",
                pa.list_(FRAME),
                "innermost frame first; lines and columns from 1",
                required=True,
                private={"file": FILE, "function": NAMED},
            ),
            _C(
                "origins",
                pa.list_(ORIGIN),
                "what a compiler generated the innermost generated line from, as in kernels; "
                "null: no line is, or nothing is known of it",
                since="1.9",
                private=ORIGIN_LEAVES,
            ),
            _C(
                "files",
                pa.list_(SOURCE_FILE),
                "of the innermost frames that lead to a launch, in their order: the text of the "
                "function, with what it uses of its file, compared with the code that ran",
                since="1.13",
                private={"path": FILE, "artifact": leaf(" ".join(PRIVATE), "artifact")},
            ),
        ),
        sort=("stack_id",),
    ),
    Table(
        "artifacts",
        "content, stored once per hash",
        "captured",
        (
            _C(
                "sha256",
                TEXT,
                "hash of the plain content, hexadecimal",
                key=True,
                private=ARTIFACT,
            ),
            _C(
                "kind",
                NAME,
                "source, file, tensor or trees, or the stage whose product it is: ttir, ptx …",
                private=OPEN,
            ),
            _C("size_bytes", I64, "length of the plain content", "bytes", required=True),
            _C(
                "bytes",
                pa.binary(),
                "the content, zstd-compressed",
                required=True,
                private=leaf("source paths names tensors"),
            ),
            _C(
                "dialect",
                NAME,
                "the language of an IR: triton, triton-gpu, llvm, ptx …",
                since="1.12",
                private=OPEN,
            ),
            _C(
                "producer",
                NAME,
                "what made the IR, as triton; of equal contents, what made the first",
                since="1.12",
                private=OPEN,
            ),
            _C("producer_version", TEXT, "version of that producer", since="1.12", private=OPEN),
        ),
        sort=("sha256",),
    ),
    Table(
        "graph_ops",
        "one op of a traced tensor graph",
        "captured",
        (
            _C("graph_id", I64, "the graph", key=True),
            _C("op_index", I32, "position in the graph", key=True),
            _C("opcode", NAME, "the op's name", private=OPEN),
            _C("operands", pa.list_(I32), "op_index of each operand"),
            _C("dtype", NAME, "element type of the result", private=OPEN),
            _C("shape", pa.list_(I64), "shape of the result"),
            _C("attributes", FACTS, "the op's attributes", private=ATTRIBUTES),
            _C("stack_id", I64, "Python call stack that made it", private=STACK),
            _C("input_name", TEXT, "name of the parameter that it is", private=PARAMETER_NAMED),
            _C("output_name", TEXT, "name of the result that it is", private=PARAMETER_NAMED),
            _C(
                "aliases",
                TEXT,
                "parameter that this result is written into",
                private=PARAMETER_NAMED,
            ),
        ),
        sort=("graph_id", "op_index"),
    ),
    Table(
        "buffers",
        "an on-chip buffer event",
        "captured",
        (
            _C("call_id", I64, "the call", key=True),
            _C("order", I64, "order in the call", key=True),
            _C("event", NAME, "allocate, free or transfer", private=OPEN),
            _C("space", NAME, "hbm, or the memory on chip", private=OPEN),
            _C("bytes", I64, "size", "bytes"),
            _C("partitions", I32, "partitions that it spans"),
            _C("name", TEXT, "name of the buffer", private=NAMED),
            _C("stack_id", I64, "Python call stack", private=STACK),
        ),
        sort=("call_id", "order"),
    ),
    Table(
        "messages",
        "a message of kvtrace about a run",
        "captured",
        (
            _C("time", TIME, "when it was first reported", key=True),
            _C("level", NAME, "info, warning or error", private=OPEN),
            _C("code", NAME, "stable name of the kind of message", private=OPEN),
            _C("text", TEXT, "one sentence", private=ANYTHING),
            _C("count", I64, "how often it happened"),
        ),
        sort=("time",),
    ),
    # What happens to memory between launches, which is recorded on request.
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
    # What another tool's file holds besides executions.
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
