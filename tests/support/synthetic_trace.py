"""A deterministic trace written with the real `RunWriter`, full of what real traces hold rarely.

Every run has two threads, kernels with compile stages, nested, equal, zero-length and overlapping
launches, marks, device executions, messages, and (unless told otherwise) hostile names.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from kvtrace.schema.tables import TABLES
from kvtrace.schema.writer import RunWriter

#: 2026-01-02 03:04:05 UTC in nanoseconds: the first run's start.
EPOCH = 1_767_323_045_000_000_000
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

HOSTILE_NAMES = (
    "quote\"s and 'apostrophes'",
    "two\nlines\tand a tab\r\n",
    "nul\x00byte",
    "emoji 🚀 and ünïcode 漢字",
    "</script><script>alert(1)</script>",
    "back\\slash %s {0} <b>&amp;</b>",
    "--help",
    "long " + "x" * 10_000,
)

SOURCE = """@triton.jit
def {name}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, values * {factor}, mask=offsets < n)
"""

TTIR = """#loc = loc("{file}":{line}:0)
module {{
  tt.func public @kernel(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{
    %pid = tt.get_program_id x : i32 loc(#loc1)
    %factor = arith.constant {factor}.0 : f32 loc(#loc2)
    tt.return loc(#loc)
  }} loc(#loc)
}} loc(#loc)
#loc1 = loc("{file}":{third}:14)
#loc2 = loc("{file}":{fifth}:36)
"""

PHASES = ("warmup", "autotune", "run")

#: Launches that are made at once; traces of more repeat them, later, and have no device executions
#: for these.
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class SyntheticTrace:
    """Where the trace lies and what was put into it."""

    path: Path
    run_ids: tuple[str, ...]
    launches: int


@dataclass(slots=True)
class _Rows:
    """Rows of one table, as columns that grow."""

    table: str
    columns: dict[str, list[object]] = field(default_factory=dict)

    def add(self, **values: object) -> None:
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    def arrays(self) -> dict[str, pa.Array]:
        schema = TABLES[self.table].schema
        return {n: pa.array(v, type=schema.field(n).type) for n, v in self.columns.items()}

    def write(self, writer: RunWriter) -> None:
        if self.columns:
            writer.append(self.table, self.arrays())


def build_synthetic_trace(
    out: Path,
    *,
    runs: int = 2,
    launches: int = 200,
    kernels: int = 12,
    hostile: bool = True,
    device: bool = True,
    commits: Sequence[str] = ("1" * 40,),
    factor: int = 2,
    seed: int = 7,
) -> SyntheticTrace:
    """Write `runs` sealed runs of `launches` random launches each, besides the crafted ones.

    The runs are ranks of one group for each commit; all have the same process id on different
    hosts. `factor` goes into kernel 0's source, so two traces that differ in it differ in code.
    """
    run_ids = []
    total = 0
    for number in range(runs * len(commits)):
        commit = commits[number // runs]
        run_id, written = _write_run(
            out, number, number % runs, runs, commit, launches, kernels, hostile, device, factor,
            np.random.default_rng((seed, number)),
        )  # fmt: skip
        run_ids.append(run_id)
        total += written
    return SyntheticTrace(out, tuple(run_ids), total)


def _write_run(
    out: Path,
    number: int,
    rank: int,
    world: int,
    commit: str,
    launches: int,
    kernels: int,
    hostile: bool,
    device: bool,
    factor: int,
    random: np.random.Generator,
) -> tuple[str, int]:
    start = EPOCH + number * 100 * MILLISECOND
    run_id = f"20260102T030405-{number:04d}-{4242}"
    writer = RunWriter(out, run_id)
    names = _kernel_names(kernels, hostile)
    stack = stack_row(number=1, file="/home/user/train.py")
    writer_rows = [_Rows(t) for t in ("stacks", "artifacts", "kernels", "calls", "messages")]
    stacks, artifacts, kernel_rows, calls, messages = writer_rows
    stacks.add(**stack)
    for kernel_id, name in enumerate(names):
        _add_kernel(kernel_rows, artifacts, kernel_id, name, start, factor, hostile)
        for variant in range(2):
            _add_call(
                calls, kernel_id * 2 + variant, kernel_id, variant, stack["stack_id"], hostile
            )
    messages.add(
        time=start + SECOND // 10, level="warning", code="launcher-not-seen",
        text="One launch bypassed Python; it is not in the trace.", count=3,
    )  # fmt: skip
    messages.add(time=start, level="info", code="native", text="The native path is used.", count=1)
    for rows in writer_rows:
        rows.write(writer)
    columns, executions = _launch_columns(start, min(launches, PIECE), kernels * 2, random)
    writer.append("launches", columns)
    written = len(columns["seq"])
    while written < launches + len(CRAFTED):
        columns = _later_launches(columns, min(launches + len(CRAFTED) - written, PIECE))
        writer.append("launches", columns)
        written += len(columns["seq"])
    _marks(start, hostile).write(writer)
    if device:
        _gpu_kernels(columns, executions, names).write(writer)
    writer.flush()
    writer.seal(_runs_row(run_id, number, rank, world, commit, start, device))
    return run_id, written


def _kernel_names(kernels: int, hostile: bool) -> list[str]:
    plain = ["scale_kernel", "softmax_kernel", "matmul_kernel", "layer_norm_kernel"]
    names = [plain[i] if i < len(plain) else f"kernel_{i}" for i in range(kernels)]
    return [*names[:1], *HOSTILE_NAMES, *names[1:]][:kernels] if hostile else names


def artifact_row(content: bytes, kind: str) -> dict[str, object]:
    """A row of `artifacts` for some content."""
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "kind": kind,
        "size_bytes": len(content),
        "bytes": pa.Codec("zstd").compress(content, asbytes=True),
    }


def stack_row(number: int, file: str) -> dict[str, object]:
    """A row of `stacks`: a call of `train_step` in `file`, called from its last line."""
    frames = [
        {"file": file, "line": 40 + number, "column": 9, "function": "train_step"},
        {"file": file, "line": 90, "column": 1, "function": "<module>"},
    ]
    return {"stack_id": 1_000 + number, "frames": frames}


def _block(kernel_id: int, hostile: bool) -> str:
    """The value of BLOCK, as Python prints it."""
    return repr(HOSTILE_NAMES[4]) if hostile and kernel_id % 2 else "128"


def _add_kernel(
    kernels: _Rows,
    artifacts: _Rows,
    kernel_id: int,
    name: str,
    start: int,
    factor: int,
    hostile: bool,
) -> None:
    file = "/home/user/kernels.py"
    line = 10 * (kernel_id + 1)
    texts: Mapping[str, str] = {
        "source": SOURCE.format(name=f"kernel_{kernel_id}", factor=factor + kernel_id),
        "ttir": TTIR.format(
            file=file, line=line, third=line + 2, fifth=line + 4, factor=factor + kernel_id
        ),
        "ptx": f"// kernel {kernel_id}\n.target sm_90a\nmul.f32 %f1, %f2, {factor};\n",
    }
    row_of = {kind: artifact_row(text.encode(), kind) for kind, text in texts.items()}
    for row in row_of.values():
        artifacts.add(**row)
    cached = kernel_id % 3 == 2
    stages = [
        {
            "stage": stage,
            "artifact": row_of[stage]["sha256"] if stage in row_of else None,
            "duration_ns": None if cached else duration * MICROSECOND,
        }
        for stage, duration in (("ttir", 200), ("ttgir", 300), ("llir", 400), ("ptx", 100))
    ]
    kernels.add(
        kernel_id=kernel_id, name=name, module="kernels", file=file, line=line,
        source_artifact=row_of["source"]["sha256"],
        signature=[
            {"name": "x_ptr", "type": "*fp32", "constexpr": None, "divisibility": 16},
            {"name": "y_ptr", "type": "*fp32", "constexpr": None, "divisibility": 16},
            {"name": "n", "type": "i32", "constexpr": None, "divisibility": None},
            {"name": "BLOCK", "type": "constexpr", "constexpr": _block(kernel_id, hostile),
             "divisibility": None},
        ],
        target="cuda:90", warp_size=32, num_warps=4, num_ctas=1, num_stages=3,
        shared_bytes=1024 * kernel_id, registers=32 + kernel_id, spills=0, origin="jit",
        cache_hit=cached, cache_key=f"key{kernel_id}",
        compile_begin=start + (10 + 2 * kernel_id) * MILLISECOND,
        compile_ns=50 * MICROSECOND if cached else 1_200 * MICROSECOND,
        thread=4242, stages=stages,
    )  # fmt: skip


def _add_call(
    calls: _Rows, call_id: int, kernel_id: int, variant: int, stack: object, hostile: bool
) -> None:
    elements = 1_000 * (variant + 1)

    def tensor(name: str, group: int) -> dict[str, object]:
        return {
            "name": name, "kind": "tensor", "dtype": "fp32", "device": "cuda:0",
            "shape": [elements, 2], "strides": [2, 1], "offset_bytes": 0,
            "storage_bytes": elements * 8, "alias_group": group, "alignment": 0,
        }  # fmt: skip

    calls.add(
        call_id=call_id, kernel_id=kernel_id, grid_x=(elements + 127) // 128, grid_y=1, grid_z=1,
        stack_id=stack,
        args=[
            tensor("x_ptr", 0),
            tensor("y_ptr", 1),
            {"name": "n", "kind": "scalar", "scalar": str(elements)},
            {"name": "BLOCK", "kind": "constexpr", "scalar": _block(kernel_id, hostile)},
        ],
    )  # fmt: skip


#: (begin, length) in microseconds of the crafted launches of the main thread.
CRAFTED = (
    (100, 100),  # holds the next two
    (110, 20),
    (110, 20),  # equal to the one before
    (150, 0),  # zero length, inside the first
    (200, 0),  # zero length, at the first's end
    (200, 50),
    (200, 0),  # zero length, at the begin of the one before
    (300, 100),  # overlaps the next without holding it
    (350, 100),
    (450, 10),  # begins where the one before ends
)


def _launch_columns(
    start: int, launches: int, calls: int, random: np.random.Generator
) -> tuple[dict[str, pa.Array], np.ndarray]:
    """Columns of `launches`, and which rows have an execution on the device."""
    crafted = np.array(CRAFTED, dtype=np.int64) * MICROSECOND
    lengths = random.integers(500, 20_000, launches)
    gaps = random.integers(0, 5_000, launches)
    second = random.random(launches) < 0.25
    begins = start + 60 * MILLISECOND + np.cumsum(lengths + gaps) - lengths
    begin = np.concatenate([start + crafted[:, 0], begins])
    length = np.concatenate([crafted[:, 1], lengths])
    thread = np.concatenate([np.full(len(crafted), 4242), np.where(second, 4243, 4242)])
    rows = len(begin)
    phase = np.where(np.arange(rows) < len(crafted), 0, random.integers(0, 3, rows))
    schema = TABLES["launches"].schema
    columns = {
        "seq": pa.array(np.arange(rows)),
        "call_id": pa.array(random.integers(0, calls, rows)),
        "enter": pa.array(begin).cast(schema.field("enter").type),
        "exit": pa.array(begin + length).cast(schema.field("exit").type),
        "thread": pa.array(thread),
        "device": pa.array(np.zeros(rows, np.int32)),
        "stream": pa.array(np.where(second_stream(rows), 7, 13)),
        "phase": pa.DictionaryArray.from_arrays(
            pa.array(phase.astype(np.int32)), pa.array(PHASES, pa.string())
        ),
    }
    return columns, np.flatnonzero((phase == 2) & (thread == 4242))


def _later_launches(before: Mapping[str, pa.Array], rows: int) -> dict[str, pa.Array]:
    """Return launches like those before, crafted ones left out, and later than all of them."""
    random = slice(-min(rows, PIECE), None)
    columns = {name: array[random] for name, array in before.items()}
    begin, end = (columns[name].cast(pa.int64()).to_numpy() for name in ("enter", "exit"))
    later = int(end[-1]) - int(begin[0]) + MICROSECOND
    seq = int(before["seq"][-1].as_py()) + 1
    for name, times in (("enter", begin), ("exit", end)):
        columns[name] = pa.array(times + later).cast(columns[name].type)
    return columns | {"seq": pa.array(np.arange(seq, seq + rows))}


def second_stream(rows: int) -> np.ndarray:
    """Which launches go to stream 7; the others go to 13."""
    return np.arange(rows) % 5 == 0


def _marks(start: int, hostile: bool) -> _Rows:
    marks = _Rows("marks")
    ranges: list[tuple[str, int, int | None, int]] = [
        ("epoch 0", 0, 90_000, 4242),
        ("step 0", 50, 500, 4242),
        ("step 1", 600, 80_000, 4242),
        ("overlaps step 1", 70_000, 95_000, 4242),
        ("checkpoint", 700, None, 4242),
        ("loader", 10, 40_000, 4243),
    ]
    if hostile:
        ranges += [
            (name, 1_000 + 10 * i, 1_005 + 10 * i, 4243) for i, name in enumerate(HOSTILE_NAMES)
        ]
    for mark_id, (name, begin, end, thread) in enumerate(ranges):
        marks.add(
            mark_id=mark_id, name=name, begin=start + begin * MICROSECOND,
            end=None if end is None else start + end * MICROSECOND, thread=thread,
            attributes=[("index", str(mark_id)), ("note", name)],
        )  # fmt: skip
    return marks


def _gpu_kernels(
    launches: Mapping[str, pa.Array], executions: np.ndarray, names: Sequence[str]
) -> _Rows:
    rows = _Rows("gpu_kernels")
    exits = launches["exit"].cast(pa.int64()).to_numpy()
    calls = launches["call_id"].to_numpy()
    streams = launches["stream"].to_numpy()
    for record, seq in enumerate(executions):
        begin = int(exits[seq]) + 3 * MICROSECOND
        rows.add(
            record=record, launch_seq=int(seq), call_id=int(calls[seq]), start=begin,
            end=begin + 4 * MICROSECOND, device=0, stream=int(streams[seq]), correlation_id=record,
            graph_id=None, name=names[int(calls[seq]) // 2], grid_x=8, grid_y=1, grid_z=1,
            registers=32, shared_bytes=0,
        )  # fmt: skip
    begin = int(exits[-1]) + MILLISECOND
    for extra in range(2):  # replayed from a graph, launch not known, overlapping each other
        rows.add(
            record=len(executions) + extra, launch_seq=None, call_id=None,
            start=begin + extra * 5 * MICROSECOND, end=begin + (extra + 2) * 5 * MICROSECOND,
            device=0, stream=7, correlation_id=None, graph_id=3, name="graph_kernel",
            grid_x=1, grid_y=1, grid_z=1, registers=16, shared_bytes=0,
        )  # fmt: skip
    return rows


def _runs_row(
    run_id: str, number: int, rank: int, world: int, commit: str, start: int, device: bool
) -> dict[str, object]:
    devices = [{"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 150 << 30}]
    return {
        "run_id": run_id, "group_id": f"group-{number - rank}", "started": start,
        "ended": start + 200 * MILLISECOND, "command": "python train.py --steps 10",
        "directory": "/home/user", "host": f"host{rank}", "pid": 4242, "rank": rank,
        "world_size": world, "git_root": "/home/user", "git_commit": commit, "git_branch": "main",
        "git_dirty": False, "versions": {"python": "3.11.9", "kvtrace": "0.1.0", "triton": "3.6.0"},
        "devices": devices if device else [], "mode": "timeline" if device else "launch",
        "settings": {"tensors": "none"}, "ending": "exit", "self_overhead_ns": 1_000_000,
        "dropped_rows": 0,
    }  # fmt: skip
