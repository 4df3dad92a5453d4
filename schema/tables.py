"""Every table and column of the trace format. This is the only definition.

`docs/format.md`, `schema.json`, the writer, the reader and the validator are all made from
`TABLES`. A change here needs a new minor version in `versions.py` (new nullable columns or tables
only) and an updated golden trace; a test fails otherwise.

Conventions: points in time are `timestamp[ns, UTC]`; durations are int64 nanoseconds and end in
`_ns`; sizes are int64 bytes and end in `_bytes` (or are called `bytes`). Ids are unique inside a
run, except `stack_id` and `sha256`, which are hashes of the content and so equal across runs.
"""

from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

from kvtrace.schema.cached_property import cached_property

Origin = Literal["captured", "derived"]

TIME: Final = pa.timestamp("ns", tz="UTC")
I32: Final = pa.int32()
I64: Final = pa.int64()
BOOL: Final = pa.bool_()
TEXT: Final = pa.string()
F64: Final = pa.float64()
#: A string that repeats: dictionary-encoded, so that a column of it costs next to nothing.
NAME: Final = pa.dictionary(pa.int32(), pa.string())
#: Open-ended key/value facts; new keys are no change of format.
FACTS: Final = pa.map_(pa.string(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its Arrow type, what it means, its unit, and the version it came with."""

    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""
    since: str = "1.0"
    key: bool = False


@dataclass(frozen=True)
class Table:
    """One table: what a row is, its columns in order, and the columns that rows are sorted by."""

    name: str
    row: str
    origin: Origin
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()
    since: str = "1.0"

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema that every write of this table uses; only keys are not nullable."""
        return pa.schema([pa.field(c.name, c.type, nullable=not c.key) for c in self.columns])

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns that must be set in every row."""
        return tuple(c.name for c in self.columns if c.key)


def _struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


FRAME: Final = _struct(file=TEXT, line=I32, column=I32, function=TEXT)

ARGUMENT: Final = _struct(
    name=TEXT,
    kind=TEXT,
    dtype=TEXT,
    device=TEXT,
    shape=pa.list_(I64),
    strides=pa.list_(I64),
    offset_bytes=I64,
    storage_bytes=I64,
    alias_group=I32,
    alignment=I32,
    scalar=TEXT,
    value_artifact=TEXT,
)

PARAMETER: Final = _struct(name=TEXT, type=TEXT, constexpr=TEXT, divisibility=I32)
STAGE: Final = _struct(stage=TEXT, artifact=TEXT, duration_ns=I64)
DEVICE: Final = _struct(index=I32, name=TEXT, capability=TEXT, memory_bytes=I64)
SOURCE_FILE: Final = _struct(path=TEXT, artifact=TEXT)
SPAN: Final = _struct(offset_bytes=I64, size_bytes=I64)
OVERHEAD: Final = _struct(
    start_ns=I64,
    launches_ns=I64,
    waits_ns=I64,
    profiler_ns=I64,
    end_ns=I64,
    running_ns=I64,
    thread_ns=I64,
)
ORIGIN: Final = _struct(
    op=TEXT, node=TEXT, module=TEXT, file=TEXT, line=I32, function=TEXT, code=TEXT
)

_C = Column

_OF_LAUNCH: Final = (
    _C("seq", I64, "the launch", key=True),
    _C("call_id", I64, "the call that it launches", key=True),
)
#: Which memory is spoken of, and when: storages are named by the first argument that has them.
_STORAGE: Final = (
    _C(
        "arg",
        I32,
        "index in the call's args of the first argument with that storage",
        key=True,
    ),
    _C("when", NAME, "before or after the launch", key=True),
)

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table(
            "runs",
            "a captured process",
            "captured",
            (
                _C("run_id", TEXT, "time-ordered id of the process's recording", key=True),
                _C("group_id", TEXT, "shared by the ranks of one job"),
                _C("started", TIME, "when recording began"),
                _C("ended", TIME, "when recording ended; null if the process was killed"),
                _C("command", TEXT, "the command line, quoted for a shell"),
                _C("directory", TEXT, "the working directory at the start"),
                _C("host", TEXT, "host name"),
                _C("pid", I64, "process id"),
                _C("parent_run_id", TEXT, "the run that this process was forked from"),
                _C("rank", I32, "rank in the job, null outside one"),
                _C("world_size", I32, "ranks in the job"),
                _C("git_root", TEXT, "top folder of the program's checkout"),
                _C("git_commit", TEXT, "commit that was checked out"),
                _C("git_branch", TEXT, "branch that was checked out"),
                _C("git_dirty", BOOL, "whether tracked files differed from the commit"),
                _C("versions", FACTS, "python, kvtrace, triton, torch, driver and so on"),
                _C("devices", pa.list_(DEVICE), "accelerators that the process could see"),
                _C("mode", NAME, "launch, timeline or ops"),
                _C("settings", FACTS, "the other settings that recording ran with"),
                _C("schema_version", TEXT, "format version that the run was written with"),
                _C("ending", NAME, "exit, exception, signal, stopped, limit, disk-full or killed"),
                _C("self_overhead_ns", I64, "time that kvtrace itself took in the process", "ns"),
                _C("dropped_rows", I64, "rows that could not be kept"),
                _C(
                    "overhead",
                    OVERHEAD,
                    "how long recording kept the program's threads from going on: until kernels "
                    "were known; then by launches, by waits for kvtrace's thread, and by the "
                    "device profiler; at the end. running_ns is how long known kernels were "
                    "launched, thread_ns the processor time of kvtrace's thread",
                    "ns",
                    since="1.8",
                ),
            ),
        ),
        Table(
            "kernels",
            "a compiled variant of a kernel",
            "captured",
            (
                _C("kernel_id", I64, "dense id inside the run", key=True),
                _C("name", NAME, "the kernel function's name"),
                _C("module", NAME, "Python module that defines it"),
                _C("file", NAME, "source file that defines it"),
                _C("line", I32, "first line of its definition, decorators left out"),
                _C("source_artifact", TEXT, "artifact of the function's own source text"),
                _C("files", pa.list_(SOURCE_FILE), "source files that its locations point into"),
                _C(
                    "signature",
                    pa.list_(PARAMETER),
                    "every parameter in order, flattened; type is Triton's (*fp32, i32, constexpr)"
                    "; the parameters whose type is not constexpr are the IR function's arguments",
                ),
                _C("target", NAME, "what it was compiled for, as cuda:90"),
                _C("warp_size", I32, "threads in a warp"),
                _C("num_warps", I32, "warps in a program"),
                _C("num_ctas", I32, "blocks in a cluster"),
                _C("num_stages", I32, "software pipelining depth asked for"),
                _C("options", FACTS, "the other compile options"),
                _C("shared_bytes", I64, "shared memory of one program", "bytes"),
                _C("registers", I32, "registers of one thread"),
                _C("spills", I32, "32-bit words of local memory of one thread"),
                _C("origin", NAME, "jit, inductor, autotune, gluon, interpreter, or its backend"),
                _C("cache_hit", BOOL, "whether the compiler's cache on disk had it"),
                _C("cache_key", TEXT, "the compiler's own hash of the variant"),
                _C("compile_begin", TIME, "when its compilation began"),
                _C("compile_ns", I64, "how long getting it took, stages and all", "ns"),
                _C("thread", I64, "native id of the thread that compiled it"),
                _C(
                    "stages",
                    pa.list_(STAGE),
                    "ttir, ttir_generic, ttgir, llir, ptx, cubin … in the compiler's order; "
                    "duration null where the stage came from the cache or was not timed",
                ),
                _C("function", NAME, "the device function's name", since="1.1"),
                _C("load_begin", TIME, "when loading its binary began", since="1.2"),
                _C("load_ns", I64, "how long loading it onto the device took", "ns", since="1.2"),
                _C("load_thread", I64, "native id of the thread that loaded it", since="1.2"),
                _C(
                    "origins",
                    pa.list_(ORIGIN),
                    "nodes of the traced graph that it was generated from; null: not recorded. "
                    "op: as aten.mul; node: its name in that graph; module: path from the compiled "
                    "module; file, line, function and code: the program's line behind it",
                    since="1.5",
                ),
            ),
            sort=("kernel_id",),
        ),
        Table(
            "calls",
            "a distinct call: kernel variant, grid and argument metadata",
            "captured",
            (
                _C("call_id", I64, "dense id inside the run", key=True),
                _C("kernel_id", I64, "the variant that it launches"),
                _C("grid_x", I64, "programs along axis 0"),
                _C("grid_y", I64, "programs along axis 1"),
                _C("grid_z", I64, "programs along axis 2"),
                _C(
                    "args",
                    pa.list_(ARGUMENT),
                    "one entry per entry of the kernel's signature, in its order. kind: tensor, "
                    "scalar, constexpr, descriptor or other. shape and strides in elements; "
                    "offset_bytes from the storage's start; alias_group: index of the first "
                    "argument with the same storage; alignment: data pointer modulo 16; "
                    "scalar: a Python literal; value_artifact: its data at the first launch, where "
                    "the table contents has none of the call",
                ),
                _C("stack_id", I64, "Python call stack of its first launch"),
            ),
            sort=("call_id",),
        ),
        Table(
            "launches",
            "one launch",
            "captured",
            (
                _C("seq", I64, "order in the run, from 0; those not recorded count", key=True),
                _C("call_id", I64, "what was launched", key=True),
                _C("enter", TIME, "when the launching function was entered"),
                _C("exit", TIME, "when it returned (the device may still be at work)"),
                _C("thread", I64, "native id of the launching thread"),
                _C("device", I32, "device index"),
                _C("stream", I64, "stream handle"),
                _C("phase", NAME, "run, autotune, warmup or graph_capture"),
                _C("graph_id", I64, "graph that it was captured into", since="1.1"),
                _C(
                    "weight",
                    I32,
                    "launches of the call in this phase that the row stands for, itself and those "
                    "before it that are not recorded; null: itself alone",
                    since="1.7",
                ),
            ),
            sort=("seq",),
        ),
        Table(
            "contents",
            "what one argument's tensor held at one launch",
            "captured",
            (
                _C("seq", I64, "the launch; one without a row is not known", key=True),
                _C("call_id", I64, "the call that it launches", key=True),
                _C("arg", I32, "index of the argument in the call's args", key=True),
                _C("artifact", NAME, "sha256 of the bytes that were kept"),
                _C(
                    "offset_bytes",
                    I64,
                    "where they begin in the storage; what lies outside of them is not known",
                    "bytes",
                ),
            ),
            sort=("seq", "arg"),
            since="1.3",
        ),
        Table(
            "checked_launches",
            "a launch whose memory was kept, so that it can be computed again",
            "captured",
            (
                *_OF_LAUNCH,
                _C("why", NAME, "what chose it: first, sample, kernel or finite"),
                _C(
                    "programs",
                    pa.list_(I64),
                    "the programs whose memory was kept, by linear id, x fastest; null: the grid's",
                ),
                _C("bytes", I64, "how much was kept, before and after", "bytes"),
            ),
            sort=("seq",),
            since="1.6",
        ),
        Table(
            "checked_memory",
            "what one storage held before or after a launch that is checked",
            "captured",
            (
                *_OF_LAUNCH,
                *_STORAGE,
                _C(
                    "spans",
                    pa.list_(SPAN),
                    "the pieces of the storage that were kept, in order; between them nothing is "
                    "known",
                ),
                _C("artifact", NAME, "sha256 of the bytes of the spans, one after another"),
            ),
            sort=("seq", "arg"),
            since="1.6",
        ),
        Table(
            "digests",
            "a digest of what one storage held before or after a launch",
            "captured",
            (
                *_OF_LAUNCH,
                *_STORAGE,
                _C("digest", I64, "64 bits"),
                _C(
                    "lines",
                    I32,
                    "one in so many lines of 128 bytes was hashed; 1: every byte",
                ),
            ),
            sort=("seq", "arg"),
            since="1.6",
        ),
        Table(
            "non_finite",
            "whether one storage held a NaN or an infinity before or after a launch",
            "captured",
            (
                *_OF_LAUNCH,
                *_STORAGE,
                _C("nan", BOOL, "whether there was a NaN"),
                _C("infinity", BOOL, "whether there was an infinity"),
            ),
            sort=("seq", "arg"),
            since="1.6",
        ),
        Table(
            "gpu_kernels",
            "one execution on the device: of a kernel, or a copy or fill of memory",
            "captured",
            (
                _C("record", I64, "order of arrival in the run", key=True),
                _C("launch_seq", I64, "the launch that caused it; null where not certain"),
                _C("call_id", I64, "the call that it executes; null where not certain"),
                _C("start", TIME, "first instruction"),
                _C("end", TIME, "last instruction"),
                _C("device", I32, "device index"),
                _C("stream", I64, "stream id"),
                _C("correlation_id", I64, "the driver's id of the launch"),
                _C("graph_id", I64, "graph that it ran from"),
                _C("graph_node_id", I64, "node of that graph"),
                _C("name", NAME, "the device function's name"),
                _C("grid_x", I64, "blocks along x"),
                _C("grid_y", I64, "blocks along y"),
                _C("grid_z", I64, "blocks along z"),
                _C("registers", I32, "registers of one thread"),
                _C("shared_bytes", I64, "shared memory of one block", "bytes"),
                _C("kind", NAME, "copy or fill, of memory; null: a kernel", since="1.4"),
                _C("bytes", I64, "how much was copied or filled", "bytes", since="1.4"),
                _C(
                    "weight",
                    I32,
                    "executions of the call, or by that name, that the row stands for, itself and "
                    "those before it that are not recorded; null: itself alone",
                    since="1.7",
                ),
            ),
            sort=("start",),
        ),
        Table(
            "marks",
            "a user's range or instant",
            "captured",
            (
                _C("mark_id", I64, "dense id inside the run", key=True),
                _C("name", NAME, "what the user called it"),
                _C("begin", TIME, "when it began"),
                _C("end", TIME, "when it ended; null for an instant"),
                _C("thread", I64, "native id of the thread"),
                _C("attributes", FACTS, "what the user attached"),
            ),
            sort=("begin",),
        ),
        Table(
            "stacks",
            "a distinct Python or IR call stack",
            "captured",
            (
                _C("stack_id", I64, "63-bit hash of the frames", key=True),
                _C("frames", pa.list_(FRAME), "innermost frame first; lines and columns from 1"),
            ),
            sort=("stack_id",),
        ),
        Table(
            "artifacts",
            "content, stored once per hash",
            "captured",
            (
                _C("sha256", TEXT, "hash of the plain content, hexadecimal", key=True),
                _C(
                    "kind",
                    NAME,
                    "source, file, ttir, ttir_generic, ttgir, llir, ptx, cubin, hlo or tensor",
                ),
                _C("size_bytes", I64, "length of the plain content", "bytes"),
                _C("bytes", pa.binary(), "the content, zstd-compressed"),
            ),
            sort=("sha256",),
        ),
        Table(
            "ops",
            "one IR op of one call",
            "derived",
            (
                _C("call_id", I64, "the call", key=True),
                _C("op_index", I32, "position of the op in the module, in text order", key=True),
                _C("op", NAME, "the op's name, as tt.load"),
                _C("kind", NAME, "load, store, atomic, dot, reduce, scan, elementwise or other"),
                _C(
                    "dtype",
                    NAME,
                    "element type of its result or stored value; a dot's is that of its factors",
                ),
                _C("stack_id", I64, "source location with the stack it was inlined through"),
                _C("executions", I64, "programs times iterations that reached it"),
                _C("elements", I64, "lanes asked for over all executions"),
                _C("masked_off", I64, "lanes of those that a mask turned off"),
                _C("bytes", I64, "bytes of the active lanes", "bytes"),
                _C("unique_bytes", I64, "distinct bytes touched over the grid", "bytes"),
                _C("sectors", I64, "32-byte sectors touched per warp-sized group"),
                _C("flops", I64, "floating-point operations"),
                _C("loop", I32, "op_index of the loop around it"),
                _C("buffer", NAME, "argument that a memory op goes to"),
                _C(
                    "fresh_bytes",
                    I64,
                    "distinct bytes that no op before it reads (or writes, if it does) "
                    "in the storage",
                    "bytes",
                    since="1.3",
                ),
            ),
            sort=("call_id", "op_index"),
        ),
        Table(
            "accesses",
            "one memory op of one program (and iteration), compact",
            "derived",
            (
                _C("call_id", I64, "the call", key=True),
                _C("op_index", I32, "the op", key=True),
                _C("program", I64, "linear program id, x fastest"),
                _C("iteration", I64, "iteration of the loop around it"),
                _C("arg", NAME, "argument that is accessed"),
                _C("first", I64, "lowest byte offset from the argument's data pointer", "bytes"),
                _C("last", I64, "highest byte offset", "bytes"),
                _C("active", I64, "lanes that were not masked off"),
                _C("layout", TEXT, "base and strides, or runs, as JSON"),
            ),
            sort=("call_id", "op_index", "program"),
        ),
        Table(
            "loops",
            "one loop of one call",
            "derived",
            (
                _C("call_id", I64, "the call", key=True),
                _C("op_index", I32, "the loop op", key=True),
                _C("stack_id", I64, "its source location"),
                _C("trips_min", I64, "fewest iterations over the programs"),
                _C("trips_median", I64, "median iterations over the programs"),
                _C("trips_max", I64, "most iterations over the programs"),
            ),
            sort=("call_id", "op_index"),
        ),
        Table(
            "findings",
            "a verdict on one access, or a defect",
            "derived",
            (
                _C("finding_id", TEXT, "hash of what is found where, equal across runs", key=True),
                _C("call_id", I64, "the call"),
                _C("op_index", I32, "the op"),
                _C("rule", NAME, "out-of-bounds, out-of-view, device-assert, race, overflow …"),
                _C("verdict", NAME, "violation, proven or unknown"),
                _C("severity", NAME, "error, warning or note"),
                _C("access", NAME, "load, store or atomic"),
                _C("stack_id", I64, "source location with the stack it was inlined through"),
                _C("program_x", I64, "the witness's program, axis 0"),
                _C("program_y", I64, "axis 1"),
                _C("program_z", I64, "axis 2"),
                _C("iteration", I64, "the witness's iteration of the innermost loop"),
                _C("lane", pa.list_(I64), "the witness's index in the block"),
                _C("arg", NAME, "argument that is accessed"),
                _C("address_offset", I64, "witness's byte offset from the data pointer", "bytes"),
                _C(
                    "past_end_bytes",
                    I64,
                    "bytes from the end of what it may touch to the end of the access; "
                    "negative: bytes before its start",
                    "bytes",
                ),
                _C("lanes", I64, "lanes that break the rule, over the grid"),
                _C("expression", TEXT, "the address, in the kernel's own names"),
                _C("method", NAME, "evaluated, affine, solver …"),
                _C("reason", TEXT, "why it is unknown"),
                _C("message", TEXT, "one sentence for people"),
                _C("solver_ns", I64, "time that a solver took", "ns"),
                _C("other_program_x", I64, "a race's second program, axis 0", since="1.1"),
                _C("other_program_y", I64, "axis 1", since="1.1"),
                _C("other_program_z", I64, "axis 2", since="1.1"),
                _C("other_op_index", I32, "the op of the race's second program", since="1.1"),
                _C("other_stack_id", I64, "source location of that op", since="1.1"),
                _C("nearest", TEXT, "the tensor nearest to the witness's address", since="1.1"),
                _C("assumption", TEXT, "condition under which an unknown is safe", since="1.1"),
            ),
            sort=("call_id", "op_index"),
        ),
        Table(
            "checks",
            "what came of one storage after a checked launch, against what the kernel's IR means",
            "derived",
            (
                *_OF_LAUNCH,
                _C(
                    "arg",
                    I32,
                    "index in the call's args of the tensor; -1: the launch could not be computed",
                    key=True,
                ),
                _C("answer", NAME, "agrees, differs or undecided"),
                _C("reason", TEXT, "why it is undecided"),
                _C("name", NAME, "the tensor's name in the kernel"),
                _C("dtype", NAME, "type that its elements were compared as"),
                _C("elements", I64, "how many were compared"),
                _C("undecided", I64, "of how many the bound is wider than what they hold"),
                _C("differing", I64, "how many are beyond their bounds"),
                _C("nearest", F64, "largest part of its bound that an element used; 1: all of it"),
                _C("bound", F64, "median bound, relative to the elements' root mean square"),
                _C("worst_offset", I64, "where the farthest one is in the storage", "bytes"),
                _C("got", F64, "what the device has there"),
                _C("expected", F64, "what the IR means"),
                _C("worst_bound", F64, "how far the device's may be from that"),
                _C("op_index", I32, "the op that writes most of them"),
                _C("program_x", I64, "the program that writes the farthest one, axis 0"),
                _C("program_y", I64, "axis 1"),
                _C("program_z", I64, "axis 2"),
                _C("lane", pa.list_(I64), "its index in the block"),
                _C("pattern", TEXT, "what the places of wrong elements have in common, in words"),
                _C("map_columns", I32, "columns of the map"),
                _C(
                    "map",
                    pa.list_(F64),
                    "largest error of each part of the tensor, row by row, relative to the "
                    "elements' root mean square",
                ),
            ),
            sort=("seq", "arg"),
            since="1.6",
        ),
        Table(
            "graph_ops",
            "one op of a traced tensor graph",
            "captured",
            (
                _C("graph_id", I64, "the graph", key=True),
                _C("op_index", I32, "position in the graph", key=True),
                _C("opcode", NAME, "the op's name"),
                _C("operands", pa.list_(I32), "op_index of each operand"),
                _C("dtype", NAME, "element type of the result"),
                _C("shape", pa.list_(I64), "shape of the result"),
                _C("attributes", FACTS, "the op's attributes"),
                _C("stack_id", I64, "Python call stack that made it"),
                _C("input_name", TEXT, "name of the parameter that it is"),
                _C("output_name", TEXT, "name of the result that it is"),
                _C("aliases", TEXT, "parameter that this result is written into"),
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
                _C("event", NAME, "allocate, free or transfer"),
                _C("space", NAME, "hbm, or the memory on chip"),
                _C("bytes", I64, "size", "bytes"),
                _C("partitions", I32, "partitions that it spans"),
                _C("name", TEXT, "name of the buffer"),
                _C("stack_id", I64, "Python call stack"),
            ),
            sort=("call_id", "order"),
        ),
        Table(
            "messages",
            "what kvtrace itself has to say of a run",
            "captured",
            (
                _C("time", TIME, "when it was first said", key=True),
                _C("level", NAME, "info, warning or error"),
                _C("code", NAME, "stable name of the kind of message"),
                _C("text", TEXT, "one sentence"),
                _C("count", I64, "how often it happened"),
            ),
            sort=("time",),
        ),
    )
}
