"""A trace as a real run leaves it: real compiled kernels, calls, launches, ops and findings.

The kernels are compiled by Triton without a GPU, so the stages with all their locations are the
compiler's own. The derived tables are written as the passes write them, with known figures.
"""

import functools
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kvtrace.converters.report import report_data
from kvtrace.converters.report.model import Report
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace, stack_id
from kvtrace.schema.writer import RunWriter
from tests.support.imported_file import imported_file

KERNELS = '''\
"""Kernels of the test trace. </script><script>document.title = "taken over"</script>"""

import triton
import triton.language as tl


@triton.jit
def leaky(value, slope):
    return tl.where(value > 0, value, value * slope)


@triton.jit
def softmax(
    result_ptr,
    source_ptr,
    stride,
    columns,
    BLOCK: tl.constexpr,
):
    """One row a program. <img src=x onerror=alert(1)>"""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(source_ptr + row * stride + offsets)  # the defect: no mask
    values = leaky(values, 0.1)
    values = values - tl.max(values, axis=0)
    numerator = tl.exp(values)
    result = numerator / tl.sum(numerator, axis=0)
    tl.store(result_ptr + row * stride + offsets, result, mask=offsets < columns)


@triton.jit
def accumulate(result_ptr, source_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(0, count):
        if step % 2 == 0:
            total += tl.load(source_ptr + step * BLOCK + offsets)
        else:
            total -= tl.load(source_ptr + step * BLOCK + offsets)
    tl.store(result_ptr + offsets, total)
'''

#: Line of the load without a mask in `KERNELS`.
DEFECT_LINE = 1 + KERNELS.split("\n").index(
    "    values = tl.load(source_ptr + row * stride + offsets)  # the defect: no mask"
)
HOSTILE_NAME = "</script><img src=x onerror=alert(2)> ${name} 'quoted' 漢字"
START = 1_767_323_045_000_000_000
#: Holds the kernels' source and their cache; gone when the process ends.
_FOLDER = tempfile.TemporaryDirectory(prefix="kvtrace-report-kernels-")
STAGES = ("ttir", "ttgir", "llir", "ptx")


@dataclass(frozen=True, slots=True)
class ReportTrace:
    """Where the trace and the kernels' source file lie."""

    path: Path
    run_id: str
    source: Path


def build_report_trace(
    folder: Path,
    *,
    launches: int = 300,
    derived: bool = True,
    stages: tuple[str, ...] = STAGES,
    calls_per_kernel: int = 3,
    files: bool = True,
    moved_to: str | None = None,
) -> ReportTrace:
    """Write a sealed run: two variants of `softmax`, one of `accumulate`, one hostile kernel.

    moved_to: where the source file is said to be, while the compiler's cache still has its old
        place. files: whether whole source files were recorded, besides each function's own source.
    """
    source, compiled_kernels = _compiled()
    run_id = "20260102T030405-report"
    writer = RunWriter(folder / "out", run_id)
    artifacts: dict[str, dict[str, Any]] = {}
    kernels = [
        _kernel_row(artifacts, number, compiled, stages)
        for number, compiled in enumerate(compiled_kernels)
    ]
    if moved_to is not None:
        kernels = [_moved(kernel, moved_to) for kernel in kernels]
    if not files:
        kernels = [{**kernel, "files": None} for kernel in kernels]
    kernels.append({"kernel_id": len(kernels), "name": HOSTILE_NAME, "origin": "interpreter"})
    stacks = [_stack_row([(str(source), 90, "main"), (str(source), 99, "<module>")])]
    calls = [
        _call_row(
            max(4, calls_per_kernel) * index + number,
            kernel["kernel_id"],
            number,
            stacks[0]["stack_id"],
        )
        for index, kernel in enumerate(kernels)
        for number in range(calls_per_kernel)
    ]
    writer.append_rows("kernels", kernels)
    writer.append_rows("artifacts", artifacts.values())
    writer.append_rows("stacks", stacks)
    writer.append_rows("calls", calls)
    writer.append("launches", launch_columns(launches, [call["call_id"] for call in calls]))
    writer.append_rows("marks", _mark_rows())
    writer.append_rows("messages", [_message_row()])
    writer.seal(_run_row(launches))
    if derived:
        _derive(folder / "out", run_id, source, [call["call_id"] for call in calls])
    return ReportTrace(folder / "out", run_id, source)


@functools.cache
def _compiled() -> tuple[Path, list[tuple[str, int, Any]]]:
    """Return the source file and (name, BLOCK, compiled kernel) of each kernel.

    Compiled once a process for a Hopper GPU that need not be here, into a cache of its own: a
    kernel from the user's cache would have the locations of wherever it was compiled first.
    """
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    folder = Path(_FOLDER.name)
    source = folder / "kernels_of_the_test.py"
    source.write_text(KERNELS, encoding="utf-8")
    module = imported_file(source)
    signature = {"result_ptr": "*fp32", "source_ptr": "*fp32"}
    softmax = {**signature, "stride": "i32", "columns": "i32", "BLOCK": "constexpr"}
    accumulate = {**signature, "count": "i32", "BLOCK": "constexpr"}
    wanted = [("softmax", softmax, 256), ("softmax", softmax, 512), ("accumulate", accumulate, 128)]
    found = []
    with knobs.cache.scope():
        knobs.cache.dir = str(folder / "cache")
        for name, parameters, block in wanted:
            constant = {(list(parameters).index("BLOCK"),): block}
            text = ASTSource(getattr(module, name), signature=parameters, constexprs=constant)
            compiled = triton.compile(text, target=GPUTarget("cuda", 90, 32))
            found.append((name, block, compiled))
    return source, found


def _moved(kernel: dict[str, Any], path: str) -> dict[str, Any]:
    files = [{**file, "path": path} for file in kernel.get("files") or ()]
    return {**kernel, "file": path, "files": files}


def _artifact(artifacts: dict[str, dict[str, Any]], kind: str, text: str | bytes) -> str:
    content = text if isinstance(text, bytes) else text.encode()
    sha256 = hashlib.sha256(content).hexdigest()
    artifacts[sha256] = {
        "sha256": sha256,
        "kind": kind,
        "size_bytes": len(content),
        "bytes": pa.Codec("zstd").compress(content, asbytes=True),
    }
    return sha256


def _kernel_row(
    artifacts: dict[str, dict[str, Any]],
    kernel_id: int,
    compiled: tuple[str, int, Any],
    stages: tuple[str, ...],
) -> dict[str, Any]:
    name, block, kernel = compiled
    function = kernel.src.fn
    path = function.fn.__code__.co_filename
    whole = Path(path).read_text(encoding="utf-8")
    line = 1 + whole.split("\n").index(
        f"def {name}("
        if name == "softmax"
        else "def accumulate(result_ptr, source_ptr, count, BLOCK: tl.constexpr):"
    )
    return {
        "kernel_id": kernel_id,
        "name": name,
        "module": "kernels_of_the_test",
        "file": path,
        "line": line,
        "source_artifact": _artifact(artifacts, "source", function.src),
        "files": [{"path": path, "artifact": _artifact(artifacts, "file", whole)}],
        "signature": [
            {"name": key, "type": kind, "constexpr": str(block) if kind == "constexpr" else None,
             "divisibility": 16 if kind.startswith("*") else None}
            for key, kind in kernel.src.signature.items()
        ],
        "target": "cuda:90",
        "warp_size": 32,
        "num_warps": 4,
        "num_ctas": 1,
        "num_stages": 3,
        "options": {"enable_fp_fusion": "True"},
        "shared_bytes": kernel.metadata.shared,
        "registers": 32 + kernel_id,
        "spills": 0,
        "origin": "jit",
        "cache_hit": False,
        "cache_key": kernel.hash,
        "compile_begin": START + (1 + 40 * kernel_id) * 1_000_000,
        "compile_ns": 30_000_000,
        "load_ns": 700_000 + kernel_id,
        "thread": 7001,
        "stages": [
            {"stage": stage, "artifact": _artifact(artifacts, stage, kernel.asm[stage]),
             "duration_ns": 5_000_000}
            for stage in stages
        ],
    }  # fmt: skip


def _call_row(call_id: int, kernel_id: int, number: int, stack: int) -> dict[str, Any]:
    rows, columns = 4 + number, 1000
    tensor = {
        "kind": "tensor", "dtype": "fp32", "device": "cpu", "shape": [rows, columns],
        "strides": [columns, 1], "offset_bytes": 0, "storage_bytes": rows * columns * 4,
        "alignment": 0,
    }  # fmt: skip
    return {
        "call_id": call_id,
        "kernel_id": kernel_id,
        "grid_x": rows,
        "grid_y": 1,
        "grid_z": 1,
        "args": [
            {"name": "result_ptr", "alias_group": 0, **tensor},
            {"name": "source_ptr", "alias_group": 0 if number == 1 else 1, **tensor},
            {"name": "stride", "kind": "scalar", "dtype": "i32", "scalar": str(columns)},
            {"name": "label", "kind": "constexpr", "scalar": repr(HOSTILE_NAME)},
        ],
        "stack_id": stack,
    }


def launch_columns(count: int, calls: list[int], seed: int = 5) -> dict[str, Any]:
    """Columns of `launches`: two threads, launches one after the other with gaps."""
    random = np.random.default_rng(seed)
    duration = random.integers(2_000, 60_000, count)
    begin = (
        START + 150_000_000 + np.cumsum(duration + random.integers(100, 40_000, count)) - duration
    )
    phases = pa.array(["warmup", "run"])
    return {
        "seq": np.arange(count),
        "call_id": np.asarray(calls)[random.integers(0, len(calls), count)],
        "enter": begin,
        "exit": begin + duration,
        "thread": np.where(random.random(count) < 0.2, 7002, 7001),
        "device": np.zeros(count, np.int32),
        "stream": np.zeros(count, np.int64),
        "phase": pa.DictionaryArray.from_arrays(
            pa.array((np.arange(count) >= count // 10).astype(np.int32)), phases
        ),
    }


def _mark_rows() -> list[dict[str, Any]]:
    step = 4_000_000
    ranges = [
        {"mark_id": index, "name": f"step {index}", "begin": START + 150_000_000 + index * step,
         "end": START + 150_000_000 + (index + 1) * step, "thread": 7001,
         "attributes": {"loss": "1.5"}}
        for index in range(3)
    ]  # fmt: skip
    instant = {"mark_id": 3, "name": HOSTILE_NAME, "begin": START + 152_000_000, "thread": 7001}
    return [*ranges, instant]


def _message_row() -> dict[str, Any]:
    return {
        "time": START, "level": "warning", "code": "not-seen",
        "text": f"A launcher was not seen: {HOSTILE_NAME}", "count": 2,
    }  # fmt: skip


def _run_row(launches: int) -> dict[str, Any]:
    return {
        "started": START, "ended": START + 1_000_000_000 + launches * 60_000,
        "command": f"python train.py --name {HOSTILE_NAME}", "directory": "/home/user",
        "host": "testhost", "pid": 7001, "git_commit": "ab" * 20, "git_branch": "main",
        "git_dirty": True, "versions": {"python": "3.11.9", "triton": "3.6.0", "kvtrace": "0.1.0"},
        "mode": "launch", "settings": {"tensors": "none"}, "ending": "exit",
        "self_overhead_ns": 250_000, "dropped_rows": 0,
    }  # fmt: skip


def _stack_row(frames: list[tuple[str, int, str]]) -> dict[str, Any]:
    full = [(file, line, 1, function) for file, line, function in frames]
    return {
        "stack_id": stack_id(full),
        "frames": [
            {"file": file, "line": line, "column": column, "function": function}
            for file, line, column, function in full
        ],
    }


def _derive(out: Path, run_id: str, source: Path, calls: list[int]) -> None:
    trace = open_trace(out)
    stack = _stack_row([(str(source), DEFECT_LINE, "softmax")])
    stacks = _table("stacks", [stack])
    ops = [
        {"call_id": call, "op_index": index, "op": op, "kind": kind, "stack_id": stack["stack_id"],
         "executions": 4, "elements": 1024, "masked_off": 0, "bytes": moved, "flops": flops}
        for call in calls[:6]
        for index, (op, kind, moved, flops) in enumerate(
            (("tt.load", "load", 4096, 0), ("math.exp", "elementwise", 0, 1024),
             ("tt.store", "store", 4000, 0))
        )
    ]  # fmt: skip
    trace.add_derived(run_id, "replay", {"ops": _table("ops", ops), "stacks": stacks})
    findings = [_finding(call, stack["stack_id"]) for call in calls[:3]]
    findings += [
        {"finding_id": f"proven-{call}", "call_id": call, "op_index": 30, "rule": "out-of-bounds",
         "verdict": "proven", "severity": "note", "access": "store"}
        for call in calls[:6]
    ]  # fmt: skip
    findings.append(
        {"finding_id": "unknown-1", "call_id": calls[6], "op_index": 12, "rule": "out-of-bounds",
         "verdict": "unknown", "severity": "warning", "access": "load", "arg": "source_ptr",
         "stack_id": stack["stack_id"],
         "reason": "the address depends on data that was not recorded",
         "message": "tl.load of source_ptr could not be judged."}
    )  # fmt: skip
    trace.add_derived(
        run_id, "sanitize", {"findings": _table("findings", findings), "stacks": stacks}
    )


def _finding(call: int, stack: int) -> dict[str, Any]:
    return {
        "finding_id": "oob-1", "call_id": call, "op_index": 11, "rule": "out-of-bounds",
        "verdict": "violation", "severity": "error", "access": "load", "stack_id": stack,
        "program_x": 3, "program_y": 0, "program_z": 0, "lane": [232], "arg": "source_ptr",
        "address_offset": 12_928, "past_end_bytes": 96, "lanes": 24,
        "expression": "source_ptr + row * stride + offsets", "method": "evaluated",
        "message": "tl.load reads 96 bytes past the end of source_ptr. <b>not bold</b>",
    }  # fmt: skip


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = TABLES[name].schema
    columns = {key: [row.get(key) for row in rows] for key in schema.names}
    return pa.table(
        {key: pa.array(v, schema.field(key).type) for key, v in columns.items()}, schema
    )


def report_of(path: Path) -> Report:
    """Return the report of a trace's newest runs, as data."""
    trace = open_trace(path)
    return report_data(trace, trace.select(), "title", "out/")
