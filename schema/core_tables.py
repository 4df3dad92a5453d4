"""Tables of the core profile: what every producer and reader of the format can rely on."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.private import (
    ADDRESSES,
    ARTIFACT,
    FILE,
    NAMED,
    OPEN,
    PARAMETER_NAMED,
    PRIVATE,
    STACK,
    leaf,
)
from kvtrace.schema.table_types import (
    ARGUMENT,
    BOOL,
    DEVICE,
    FACTS,
    I32,
    I64,
    NAME,
    ORIGIN,
    OVERHEAD,
    PARAMETER,
    SOURCE_FILE,
    STAGE,
    TEXT,
    TIME,
    Column,
    Table,
)

_C = Column
#: Private contents of an origin's fields.
ORIGIN_LEAVES: Final = {
    "op": NAMED,
    "node": NAMED,
    "module": NAMED,
    "file": FILE,
    "function": NAMED,
    "code": leaf("source names"),
}

CORE: Final = (
    Table(
        "runs",
        "a captured process",
        "captured",
        (
            _C(
                "run_id",
                TEXT,
                "time-ordered id of the process's recording",
                key=True,
                private=OPEN,
            ),
            _C("group_id", TEXT, "shared by the ranks of one job", private=leaf("host", "job")),
            _C("started", TIME, "when recording began"),
            _C("ended", TIME, "when recording ended; null if the process was killed"),
            _C("command", TEXT, "the command line, quoted for a shell", private=leaf("command")),
            _C("directory", TEXT, "the working directory at the start", private=leaf("paths")),
            _C("host", TEXT, "host name", private=leaf("host")),
            _C("pid", I64, "process id"),
            _C("parent_run_id", TEXT, "the run that this process was forked from", private=OPEN),
            _C("rank", I32, "rank in the job, null outside one"),
            _C("world_size", I32, "ranks in the job"),
            _C(
                "git_root",
                TEXT,
                "top folder of the program's checkout",
                private=leaf("paths git"),
            ),
            _C("git_commit", TEXT, "commit that was checked out", private=leaf("git")),
            _C("git_branch", TEXT, "branch that was checked out", private=leaf("git")),
            _C(
                "git_dirty",
                BOOL,
                "whether tracked files differed from the commit",
                private=leaf("git"),
            ),
            _C(
                "versions",
                FACTS,
                "python, kvtrace, triton, torch, driver and so on",
                private=leaf("paths host", "facts"),
            ),
            _C(
                "devices",
                pa.list_(DEVICE),
                "accelerators that the process could see",
                private={"name": OPEN, "capability": OPEN},
            ),
            _C("mode", NAME, "launch, timeline or ops", private=OPEN, extension=True),
            _C(
                "settings",
                FACTS,
                "the other settings that recording ran with",
                private=leaf(" ".join(PRIVATE), "settings"),
                extension=True,
            ),
            _C(
                "schema_version",
                TEXT,
                "format version that the run was written with",
                private=OPEN,
            ),
            _C(
                "ending",
                NAME,
                "exit, exception, signal, stopped, limit, disk-full or killed",
                private=OPEN,
            ),
            _C(
                "self_overhead_ns",
                I64,
                "time that kvtrace itself took in the process (kvtrace overhead)",
                "ns",
                extension=True,
            ),
            _C("dropped_rows", I64, "rows that could not be kept"),
            _C(
                "overhead",
                OVERHEAD,
                "how long recording delayed the program's threads: until kernels were known; "
                "then by launches, by waits for kvtrace's thread, and by the device profiler; "
                "at the end. running_ns is how long known kernels were launched, thread_ns the "
                "processor time of kvtrace's thread",
                "ns",
                since="1.8",
                extension=True,
            ),
            _C(
                "source",
                NAME,
                "the tool whose files it was imported from, by the name of its importer (`kvtrace "
                "import --help` lists them); null: its producer recorded it",
                since="1.10",
                private=OPEN,
            ),
            _C(
                "producer",
                NAME,
                "the program that wrote the run; null in a run of kvtrace before 1.12",
                since="1.12",
                private=OPEN,
            ),
            _C(
                "producer_version",
                TEXT,
                "version of that program",
                since="1.12",
                private=OPEN,
            ),
            _C(
                "required_features",
                pa.list_(TEXT),
                "features that a reader has to know, or it miscounts; it refuses a run with one "
                "that it does not know; null: a version before 1.12, which names none",
                since="1.12",
                private=OPEN,
            ),
        ),
        profile="core",
    ),
    Table(
        "kernels",
        "a compiled variant of a kernel",
        "captured",
        (
            _C("kernel_id", I64, "dense id inside the run", key=True),
            _C(
                "name",
                NAME,
                "the kernel function's name",
                private=leaf("names", "kernel"),
                required=True,
            ),
            _C("module", NAME, "Python module that defines it", private=NAMED),
            _C("file", NAME, "source file that defines it", private=FILE),
            _C("line", I32, "first line of its definition, without decorators"),
            _C(
                "source_artifact",
                TEXT,
                "artifact of the function's source text",
                private=ARTIFACT,
                extension=True,
            ),
            _C(
                "files",
                pa.list_(SOURCE_FILE),
                "source files that its locations point into",
                private={"path": FILE, "artifact": ARTIFACT},
                extension=True,
            ),
            _C(
                "signature",
                pa.list_(PARAMETER),
                "every parameter in order, flattened; type is Triton's (*fp32, i32, constexpr)"
                "; the parameters whose type is not constexpr are the IR function's arguments",
                private={
                    "name": PARAMETER_NAMED,
                    "type": OPEN,
                    "constexpr": leaf("source paths names", "literal"),
                },
            ),
            _C("target", NAME, "what it was compiled for, such as cuda:90", private=OPEN),
            _C("warp_size", I32, "threads in a warp"),
            _C("num_warps", I32, "warps in a program"),
            _C("num_ctas", I32, "blocks in a cluster"),
            _C("num_stages", I32, "requested depth of software pipelining"),
            _C(
                "options",
                FACTS,
                "the other compile options",
                private=leaf("paths names", "facts"),
            ),
            _C("shared_bytes", I64, "shared memory of one program", "bytes"),
            _C("registers", I32, "registers of one thread"),
            _C("spills", I32, "32-bit words of local memory of one thread"),
            _C(
                "origin",
                NAME,
                "how it was made: jit, inductor, autotune, gluon, interpreter, imported …",
                private=OPEN,
            ),
            _C(
                "cache_hit",
                BOOL,
                "whether it came from the compiler's cache on disk",
                extension=True,
            ),
            _C(
                "cache_key",
                TEXT,
                "the compiler's hash of the variant",
                private=leaf("source paths names"),
                extension=True,
            ),
            _C("compile_begin", TIME, "when its compilation began", extension=True),
            _C(
                "compile_ns",
                I64,
                "first-launch time: obtaining the variant, all stages included",
                "ns",
                extension=True,
            ),
            _C("thread", I64, "native id of the thread that compiled it", extension=True),
            _C(
                "stages",
                pa.list_(STAGE),
                "ttir, ttir_generic, ttgir, llir, ptx, cubin … in the compiler's order; a kernel "
                "written in Gluon has glir, the IR of its source, in place of ttir; duration null "
                "where the stage came from the cache or was not timed",
                private={"stage": OPEN, "artifact": ARTIFACT},
                extension=True,
            ),
            _C("function", NAME, "the device function's name", since="1.1", private=NAMED),
            _C("load_begin", TIME, "when loading its binary began", since="1.2", extension=True),
            _C(
                "load_ns",
                I64,
                "how long loading it onto the device took",
                "ns",
                since="1.2",
                extension=True,
            ),
            _C(
                "load_thread",
                I64,
                "native id of the thread that loaded it",
                since="1.2",
                extension=True,
            ),
            _C(
                "origins",
                pa.list_(ORIGIN),
                "nodes of the traced graph that it was generated from; null: not recorded. "
                "op: as aten.mul; node: its name in that graph; module: path from the compiled "
                "module; file, line, function and code: the program's line behind it",
                since="1.5",
                private=ORIGIN_LEAVES,
                extension=True,
            ),
        ),
        sort=("kernel_id",),
        profile="core",
    ),
    Table(
        "calls",
        "a unique call: kernel variant, grid and argument metadata",
        "captured",
        (
            _C("call_id", I64, "dense id inside the run", key=True),
            _C("kernel_id", I64, "the variant that it launches", required=True),
            _C("grid_x", I64, "programs along axis 0"),
            _C("grid_y", I64, "programs along axis 1"),
            _C("grid_z", I64, "programs along axis 2"),
            _C(
                "args",
                pa.list_(ARGUMENT),
                "one entry per entry of the kernel's signature, in its order. kind: tensor, "
                "scalar, constexpr, descriptor or other. shape and strides in elements; "
                "offset_bytes from the storage's start, at the call's first launch: tensors that "
                "overlap have the same distances at each, others may move; alias_group: index of "
                "the first argument with the same storage; alignment: data pointer modulo 16; "
                "storage_bytes: null where a tool does not record it; scalar: a Python literal; "
                "value_artifact: its data at the first launch, where the table contents has none "
                "of the call",
                private={
                    "name": PARAMETER_NAMED,
                    "kind": OPEN,
                    "dtype": OPEN,
                    "device": OPEN,
                    "scalar": leaf("source paths names scalars", "literal"),
                    "value_artifact": ARTIFACT,
                },
            ),
            _C(
                "stack_id",
                I64,
                "Python call stack of its first launch",
                private=STACK,
                extension=True,
            ),
        ),
        sort=("call_id",),
        profile="core",
    ),
    Table(
        "launches",
        "one launch",
        "captured",
        (
            _C("seq", I64, "order in the run, from 0; those not recorded count", key=True),
            _C("call_id", I64, "what was launched", key=True),
            _C("enter", TIME, "when the launching function was entered"),
            _C("exit", TIME, "when it returned (the device may still be busy)"),
            _C("thread", I64, "native id of the launching thread"),
            _C("device", I32, "device index"),
            _C("stream", I64, "stream handle"),
            _C("phase", NAME, "run, autotune, warmup or graph_capture", private=OPEN),
            _C("graph_id", I64, "graph that it was captured into", since="1.1"),
            _C(
                "weight",
                I32,
                "launches of the call in this phase that the row represents: itself, and those "
                "before it that are not recorded; null: only itself",
                since="1.7",
            ),
            _C(
                "addresses",
                pa.list_(I64),
                "data pointer of each argument of the call whose kind is tensor or descriptor, in "
                "their order; at a call's first launch, a storage begins at the data pointer minus "
                "the argument's offset_bytes; null: not recorded (KVTRACE_MEMORY)",
                since="1.12",
                private=ADDRESSES,
                extension=True,
            ),
        ),
        sort=("seq",),
        profile="core",
    ),
    Table(
        "gpu_kernels",
        "one execution on the device: of a kernel, or a copy or fill of memory",
        "captured",
        (
            _C("record", I64, "order of arrival in the run", key=True),
            _C("launch_seq", I64, "the launch that caused it; null where not certain"),
            _C("call_id", I64, "the call that it executes; null where not certain"),
            _C("start", TIME, "first instruction", required=True),
            _C("end", TIME, "last instruction", required=True),
            _C("device", I32, "device index"),
            _C("stream", I64, "stream id"),
            _C("correlation_id", I64, "the driver's id of the launch"),
            _C("graph_id", I64, "graph that it was replayed from"),
            _C("graph_node_id", I64, "node of that graph"),
            _C("name", NAME, "the device function's name", private=NAMED),
            _C("grid_x", I64, "blocks along x"),
            _C("grid_y", I64, "blocks along y"),
            _C("grid_z", I64, "blocks along z"),
            _C("registers", I32, "registers of one thread"),
            _C("shared_bytes", I64, "shared memory of one block", "bytes"),
            _C(
                "kind",
                NAME,
                "copy or fill, of memory; null: a kernel",
                since="1.4",
                private=OPEN,
            ),
            _C("bytes", I64, "bytes copied or filled", "bytes", since="1.4"),
            _C(
                "weight",
                I32,
                "executions of the call, or by that name, that the row represents: itself, and "
                "those before it that are not recorded; null: only itself",
                since="1.7",
            ),
            _C(
                "requested",
                TIME,
                "when the host asked the driver for it, or for the graph that it was replayed "
                "from; null where its launch is known",
                since="1.9",
                extension=True,
            ),
            _C(
                "stack_id",
                I64,
                "Python stack that asked for it, or for the graph; null where its launch is known, "
                "or none was",
                since="1.9",
                private=STACK,
                extension=True,
            ),
            _C("block_x", I32, "threads of one block along x", since="1.10"),
            _C("block_y", I32, "threads of one block along y", since="1.10"),
            _C("block_z", I32, "threads of one block along z", since="1.10"),
            _C(
                "request_thread",
                I64,
                "native id of the thread that asked for it, or for the graph",
                since="1.10",
                extension=True,
            ),
            _C(
                "forward_stack_id",
                I64,
                "Python stack of the forward, where autograd made the node of which it is the "
                "backward: the frames that are certain; null where no node ran, or it is not known",
                since="1.11",
                private=STACK,
                extension=True,
            ),
            _C(
                "grade",
                NAME,
                "how certain its launch or call is, where another tool took its time and "
                "kvtrace join found them: exact, by host times; ordered, by order; inferred; null "
                "elsewhere",
                since="1.10",
                private=OPEN,
                extension=True,
            ),
            _C(
                "external_id",
                I64,
                "another tool's id of the operator that asked for it",
                since="1.12",
                extension=True,
            ),
            _C(
                "members",
                NAME,
                "what else another tool's file says of it, as a JSON object",
                since="1.12",
                private=leaf(" ".join(PRIVATE)),
                extension=True,
            ),
            _C(
                "impossible",
                NAME,
                "why the times that another tool's file claims cannot be, so that `end` is null "
                "and no sum counts it; null: they can",
                since="1.12",
                private=OPEN,
                extension=True,
            ),
            _C(
                "stated_end",
                TIME,
                "the end that the file claims, if `impossible`",
                since="1.12",
                extension=True,
            ),
        ),
        sort=("start",),
        profile="core",
    ),
)
