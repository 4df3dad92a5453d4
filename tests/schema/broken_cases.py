"""Traces that break a rule of docs/format.md, and the sentence with which `validate` says so."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.schema.content import stack_id
from tests.schema.conformance_rows import (
    PLAIN,
    RUN,
    START,
    Part,
    Row,
    call,
    changed,
    execution,
    kernel,
    launches,
    parts,
    run_row,
)

#: Frames of a stack, and the id that they have.
FRAMES: Final = [{"file": "a.py", "line": 3, "column": 1, "function": "f"}]
TENSOR: Final = {
    "name": "x",
    "kind": "tensor",
    "dtype": "fp32",
    "shape": [4],
    "strides": [1],
    "alias_group": 0,
}


_NEGATIVE: Final = [*FRAMES, {"file": "b.py", "line": -1, "column": 1, "function": "g"}]
_ID: Final = stack_id(_NEGATIVE)


def _scalar(text: str, dtype: str | None) -> list[Part]:
    return _args({"kind": "scalar", "scalar": text, "dtype": dtype})


def _signature(*parameters: Row) -> list[Part]:
    return parts(RUN, run_row(), {"kernels": [kernel(0, "scale", signature=parameters)]})


def _rows(table: str, **more: Any) -> list[Part]:
    """Return the parts of `PLAIN` with more columns in each row of a table."""
    rows = [{**row, **more} for row in PLAIN.get(table, ())]
    return parts(RUN, run_row(), {**PLAIN, table: rows})


def _executions(**more: Any) -> list[Part]:
    return parts(RUN, run_row(), {**PLAIN, "gpu_kernels": [execution(0, 0, 5, **more)]})


def _args(*args: Row | None, signature: int | Sequence[Row] | None = None) -> list[Part]:
    """Return a trace whose one call has these arguments, and its kernel as many parameters."""
    parameters = [{"name": "x"}] * signature if isinstance(signature, int) else signature
    tables = {
        "kernels": [kernel(0, "scale", signature=parameters)],
        "calls": [{**call(0, 0, (4, 1, 1)), "args": args}],
    }
    return parts(RUN, run_row(), tables)


def _argument(**more: Any) -> list[Part]:
    return _args({**TENSOR, **more})


def _ranges(table: str, begin: str, end: str, **keys: Any) -> list[Part]:
    return parts(RUN, run_row(), {**PLAIN, table: [{**keys, begin: START, end: START - 1}]})


def _older(version: str, **more: Any) -> list[Part]:
    """Return `PLAIN` with more columns in launches, whose file says an older version."""
    rows = [{**row, **more} for row in PLAIN["launches"]]
    return changed("launches", rows=rows, version=version)


_LAUNCH: Final = {"launch_seq": 0, "call_id": 0}
_NOT_NAMED: Final = "required_features does not name {}, which rows of {} imply"
_DIFFERS: Final = "args[0] of call 0 has the {}, and the signature of kernel 0 has the {}"
_UNREGISTERED: Final = "{0} has the word {1!r}, which is not registered; write it as producer:{1}"
#: A trace that breaks each rule, by a part of the sentence on it.
REQUIRED: Final[Mapping[str, Sequence[Part]]] = {
    _NOT_NAMED.format("weights", "launches"): _rows("launches", weight=3),
    _NOT_NAMED.format("weights", "gpu_kernels"): _executions(weight=2),
    _NOT_NAMED.format("trials", "launches"): _rows("launches", phase="autotune"),
    "does not name trials, which rows of launches imply": _rows("launches", phase="warmup"),
    _NOT_NAMED.format("graph-replays", "launches"): _rows("launches", phase="graph_capture"),
    _NOT_NAMED.format("graph-replays", "gpu_kernels"): _executions(graph_id=1),
    "required_features does not name partial, and rows were dropped": parts(
        RUN, run_row(dropped_rows=5, required_features=[]), PLAIN
    ),
    "name is empty in row 0 (kernel_id 0)": _rows("kernels", name=""),
    "device is negative in row 0 (seq 0)": _rows("launches", device=-1),
    "device is negative in row 0 (record 0)": _executions(device=-1),
    "grid_y is negative in row 0 (call_id 0)": _rows("calls", grid_y=-1),
    "column producer came with version 1.12, and the metadata says 1.3": changed(
        "runs", version="1.3"
    ),
    "column weight came with version 1.7, and the metadata says 1.3": _older("1.3", weight=None),
    "the format has no field stages.tool": changed(
        "kernels",
        rows=[{"kernel_id": 0, "name": "scale", "stages": [{"stage": "ttir", "tool": "acme"}]}],
        fields={"stages": {"stage": "string", "tool": "string"}},
    ),
    "column stages is list<element: struct<stage: int64>>, not list": changed(
        "kernels",
        rows=[{"kernel_id": 0, "name": "scale", "stages": [{"stage": 4}]}],
        fields={"stages": {"stage": "int64"}},
    ),
    "column enter is timestamp[ns], not timestamp[ns, tz=UTC]": changed(
        "launches",
        rows=[{"seq": 0, "call_id": 0, "exit": START}],
        columns={"enter": ("timestamp[ns]", [START])},
    ),
    "args of call 0 has 1 entries, and the signature of kernel 0 5": _args(TENSOR, signature=5),
    "args of call 0 has 2 entries, and the signature of kernel 0 1": _args(
        TENSOR, TENSOR, signature=1
    ),
    "args[0] of call 0 has the alias_group 7": _argument(alias_group=7),
    "args[0] of call 0 has the alias_group 0, and is a scalar, which has no storage": _args(
        {"kind": "scalar", "alias_group": 0}
    ),
    "args[2] of call 0 has the alias_group 1, and args[1] has the alias_group 0": _args(
        TENSOR, TENSOR, {**TENSOR, "alias_group": 1}
    ),
    "args[1] of call 0 has the alias_group 0, and args[0] has none": _args(
        {"kind": "scalar", "scalar": "4"}, TENSOR
    ),
    _DIFFERS.format("kind tensor", "type i32"): _args(TENSOR, signature=[{"type": "i32"}]),
    _DIFFERS.format("kind scalar", "type const"): _args(
        {"kind": "scalar", "scalar": "4"}, signature=[{"type": "constexpr"}]
    ),
    _DIFFERS.format("kind constexpr", "type *i8"): _args(
        {"kind": "constexpr"}, signature=[{"type": "*i8"}]
    ),
    _DIFFERS.format("scalar '32'", "constexpr"): _args(
        {"kind": "constexpr", "scalar": "32"}, signature=[{"constexpr": "64"}]
    ),
    "its metadata names no run": changed("launches", of_run=""),
    "it has 2 rows instead of one": changed("runs", rows=[run_row(), run_row()]),
    "1 rows repeat the record of an earlier row": parts(
        RUN, run_row(), {"gpu_kernels": [execution(3, 0, 5), execution(3, 9, 5)]}
    ),
    "its rows are not in the order of start": parts(
        RUN, run_row(), {"gpu_kernels": [{"record": 0, "start": None}, execution(1, 0, 5)]}
    ),
    "args[0].alias_group is negative in row 0 (call_id 0)": _argument(alias_group=-1),
    "args[0].shape[0] is negative in row 0": _argument(shape=[-1]),
    "args[0] of call 0 has 2 strides for a shape of 1 axes": _argument(strides=[4, 1]),
    "args[0] of call 0 has 0 strides for a shape of 1 axes": _argument(strides=[]),
    "args[1] of call 0 is null": _args(TENSOR, None),
    "args[0] of call 0 has the alignment 24": _argument(alignment=24),
    "args[0].alignment is negative in row 0": _argument(alignment=-4),
    "args[0].offset_bytes is negative in row 0": _argument(offset_bytes=-8),
    "args[0].storage_bytes is negative in row 0": _argument(storage_bytes=-1),
    "module is empty in row 0 (kernel_id 0)": _rows("kernels", module=""),
    "file is empty in row 0 (kernel_id 0)": _rows("kernels", file=""),
    "signature[1].name is empty in row 0": _signature({}, {"name": ""}),
    "devices[0].memory_bytes is negative in row 0 (run_id ": parts(
        RUN, run_row(devices=[{"index": 0, "memory_bytes": -1}]), PLAIN
    ),
    "registers is negative in row 0": _rows("kernels", registers=-1),
    "exit is negative in row 0 (seq 0)": _rows("launches", enter=None, exit=-1),
    "frames[1].line is negative in row 0": parts(
        RUN, run_row(), {**PLAIN, "stacks": [{"stack_id": _ID, "frames": _NEGATIVE}]}
    ),
    "args[0] of call 0 has the scalar 'abc', which is no literal of i32": _scalar("abc", "i32"),
    "args[0] of call 0 has the scalar '-1', which is no literal of u8": _scalar("-1", "u8"),
    "args[0] of call 0 has the scalar 'True', which is no literal of fp32": _scalar("True", "fp32"),
    "args[0] of call 0 has the scalar '0x10', which is no literal": _scalar("0x10", None),
    "args[0] of call 0 has the name 'y', and the signature of kernel 0 has 'x' there": _args(
        {**TENSOR, "name": "y"}, signature=1
    ),
    "call_id of record 0 is 1, and that of its launch 0 0": _executions(launch_seq=0, call_id=1),
    "addresses of a launch of call 0 has 1 entries, and the call 2 tensors and descriptors": parts(
        RUN, run_row(), {**PLAIN, "launches": launches(0, 0, addresses=[4096])}
    ),
}
#: The same of what producers should do: `validate` warns of it.
RECOMMENDED: Final[Mapping[str, Sequence[Part]]] = {
    _DIFFERS.format("alignment 4", "divisibility"): _args(
        {**TENSOR, "alignment": 4}, signature=[{"type": "*fp32", "divisibility": 16}]
    ),
    _DIFFERS.format("dtype fp32", "type *fp16"): _args(TENSOR, signature=[{"type": "*fp16"}]),
    "args[1] of call 0 has a storage of 32 bytes, and args[0] has the same one of 16": _args(
        {**TENSOR, "storage_bytes": 16}, {**TENSOR, "storage_bytes": 32}
    ),
    "call_id is not null in row 0 (record 0), which is a copy or fill": _executions(
        kind="copy", call_id=0
    ),
    "it has no rows, and a table without rows has no folder": [
        Part("marks", [], columns={"mark_id": ("int64", [])}),
        *_rows("launches"),
    ],
    "record 0 starts 2,000,000 ns before its launch 0": parts(
        RUN, run_row(), {**PLAIN, "gpu_kernels": [execution(0, -2_000_000, 5, **_LAUNCH)]}
    ),
    "start of an execution is 61 s before started of the run": parts(
        RUN, run_row(started=START + 61_000_000_000), {"gpu_kernels": [execution(0, 0, 5)]}
    ),
    "end of an execution is 70 s after ended of the run": parts(
        RUN, run_row(ended=START), {"gpu_kernels": [execution(0, 70_000_000_000, 5)]}
    ),
    "signature[0] of row 0 (kernel_id 0) has the type 'float*', which is none of": _signature(
        {"type": "float*"}
    ),
    "has the type '*float32', which is none of Triton's": _signature(
        {"type": "*fp32"}, {"type": "*float32"}
    ),
    _UNREGISTERED.format("kind", "memcpy"): _executions(kind="memcpy"),
    _UNREGISTERED.format("ending", "done"): parts(RUN, run_row(ending="done"), PLAIN),
    "its id is not a time in UTC and 8 digits": parts("myrun", run_row("myrun"), PLAIN),
    "the time in its id, 20260102-030405-000, is before started": parts(
        RUN, run_row(started=START + 61_000_000_000), PLAIN
    ),
    "the time in its id, 20260102-030405-000, is after ended": parts(
        RUN, run_row(started=1, ended=START - 61_000_000_000), PLAIN
    ),
    "it has no producer and no producer_version; a producer should name itself": parts(
        RUN, {"run_id": RUN}, PLAIN
    ),
    "it has no producer_version; a producer should name itself": _rows("launches"),
    "it is not compressed; producers should use zstd": changed(
        "launches", options={"compression": "none"}
    ),
    "producer came with version 1.12, and runs.schema_version is 1.3": parts(
        RUN, run_row(schema_version="1.3"), PLAIN
    ),
    "required_features is null, and since 1.13 runs name them": parts(
        RUN, run_row(), PLAIN, version="1.13"
    ),
    "exit is before enter in row 0 (seq 0)": _ranges("launches", "enter", "exit", seq=0, call_id=0),
    "end is before start in row 0 (record 0)": _ranges("gpu_kernels", "start", "end", record=0),
    "end is before begin in row 0": _ranges("marks", "begin", "end", mark_id=0),
    "ended is before started in row 0": parts(RUN, run_row(started=START, ended=1), PLAIN),
    _UNREGISTERED.format("origin", "foo"): _rows("kernels", origin="foo"),
    _UNREGISTERED.format("phase", "replayed"): _rows("launches", phase="replayed"),
    _UNREGISTERED.format("stages.stage", "sass9"): _rows("kernels", stages=[{"stage": "sass9"}]),
    _UNREGISTERED.format("args.dtype", "float32"): _argument(dtype="float32"),
    _UNREGISTERED.format("args.dtype", "float64"): _scalar("2.0", "float64"),
    _UNREGISTERED.format("args.kind", "ptr"): _argument(kind="ptr"),
    "args[0] of call 0 ends at byte 16 of a storage of 12": _argument(
        offset_bytes=0, storage_bytes=12
    ),
    "acme_power: it is not read": [
        Part("acme_power", [], columns={"watts": ("double", [310.5])}),
        *_rows("launches"),
    ],
    "stack_id 1 is not the hash of its frames, ": parts(
        RUN, run_row(), {**PLAIN, "stacks": [{"stack_id": 1, "frames": FRAMES}]}
    ),
    "it is compressed with SNAPPY; producers should use zstd": changed(
        "launches", options={"compression": "snappy"}
    ),
}
