"""Small traces written with the real writer, from a few words on each kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from kvtrace.schema.content import artifact_row, stack_row
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000
MICROSECOND = 1_000

SOURCE = """def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, values * 2, mask=offsets < n)
"""


@dataclass(frozen=True)
class Launches:
    """Launches of one unique call."""

    shape: tuple[int, ...] = (1000,)
    grid: tuple[int, int, int] = (8, 1, 1)
    number: int = 1
    host_us: int = 10
    device_us: int | None = None
    scalar: str = "1000"
    phase: str = "run"
    offset_bytes: int = 0
    stated: dict[str, Any] | None = None
    line: int | None = None


@dataclass(frozen=True)
class Kernel:
    """A compiled variant and its calls."""

    name: str = "scale"
    module: str = "kernels"
    file: str = "/home/user/kernels.py"
    source: str = SOURCE
    ttir: str = "module {\n}\n"
    later: dict[str, str] = field(default_factory=dict)
    file_text: str | None = None
    origin: str = "jit"
    block: int = 128
    line: int = 10
    registers: int | None = 32
    spills: int | None = None
    num_warps: int = 4
    shared_bytes: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    compile_ns: int | None = 2_000_000
    calls: tuple[Launches, ...] = (Launches(),)


@dataclass(frozen=True)
class Op:
    """A row of `ops` for the call of that number."""

    call_id: int
    op_index: int
    kind: str
    line: int
    values: dict[str, Any]


def write_trace(
    out: Path,
    kernels: Sequence[Kernel],
    *,
    run_id: str = "20260102T030405-0001",
    start: int = EPOCH,
    seal: bool = True,
    first_kernel_id: int = 0,
    alignment: int = 0,
    marks: Sequence[tuple[str, int, int]] = (),
    contents: Sequence[tuple[int, str]] = (),
    program: Sequence[tuple[str, str, int, str]] | None = None,
    **run: Any,
) -> Selection:
    """Write one run; kernel and call ids count up in the order of `kernels`.

    `marks` have a name, and begin and end in nanoseconds from `start`. `contents` are the argument
    and its contents at the first launch. `program` has path, function, line and text of
    the frames that launch, then of modules, without function; without it a call may name a `line`
    that launches.
    """
    writer = RunWriter(out, run_id)
    rows: dict[str, list[dict[str, Any]]] = {"kernels": [], "calls": [], "launches": []}
    artifacts: dict[str, dict[str, Any]] = {}
    executions, stacks = [], []
    for number, kernel in enumerate(kernels):
        kernel_id = first_kernel_id + number
        rows["kernels"].append(_kernel_row(kernel, kernel_id, artifacts, start))
        for call in kernel.calls:
            call_id = len(rows["calls"])
            rows["calls"].append(_call_row(call, call_id, kernel_id, kernel.block, alignment))
            if call.line is not None:
                stacks.append(stack_row([("/home/user/run.py", call.line, 1, "main")]))
                rows["calls"][-1]["stack_id"] = stacks[-1]["stack_id"]
            for _ in range(call.number):
                seq = len(rows["launches"])
                enter = start + seq * 100 * MICROSECOND
                rows["launches"].append(
                    {
                        "seq": seq,
                        "call_id": call_id,
                        "enter": enter,
                        "exit": enter + call.host_us * MICROSECOND,
                        "thread": 1,
                        "device": 0,
                        "stream": 7,
                        "phase": call.phase,
                    }
                )
                if call.device_us is not None:
                    executions.append(
                        {
                            "record": seq,
                            "launch_seq": seq,
                            "start": enter,
                            "end": enter + call.device_us * MICROSECOND,
                            "name": kernel.name,
                        }
                    )
    if program is not None:
        rows["stacks"] = [_program_stack(program, artifacts)]
        for row in rows["calls"]:
            row["stack_id"] = rows["stacks"][0]["stack_id"]
    rows["artifacts"] = list(artifacts.values())
    rows.setdefault("stacks", stacks)
    rows["gpu_kernels"] = executions
    rows["contents"] = [
        {"seq": 0, "call_id": 0, "arg": arg, "artifact": sha256(text.encode()).hexdigest()}
        for arg, text in contents
    ]
    rows["marks"] = [
        {"mark_id": n, "name": name, "begin": start + begin, "end": start + end, "thread": 1}
        for n, (name, begin, end) in enumerate(marks)
    ]
    for table, listed in rows.items():
        if listed:
            names = dict.fromkeys(name for row in listed for name in row)
            writer.append(table, {name: [row.get(name) for row in listed] for name in names})
    writer.flush()
    runs_row = {
        "run_id": run_id,
        "started": start,
        "ended": start + 10**9,
        "command": "python x.py",
    }
    if seal:
        writer.seal(runs_row | run)
    trace = open_trace(out)
    return Selection(trace, trace.select(run_id))


def add_ops(side: Selection, ops: Sequence[Op], file: str = "/home/user/kernels.py") -> None:
    """Fill `ops` as `replay` does."""
    frames = {op.line: [(file, op.line, 5, "scale")] for op in ops}
    stacks = {line: stack_row(stack) for line, stack in frames.items()}
    rows = [
        {
            "call_id": op.call_id,
            "op_index": op.op_index,
            "op": f"tt.{op.kind}",
            "kind": op.kind,
            "stack_id": stacks[op.line]["stack_id"],
            **op.values,
        }
        for op in ops
    ]
    _derive(side, "replay", {"ops": rows, "stacks": list(stacks.values())})


def add_findings(
    side: Selection,
    rows: Sequence[dict[str, Any]],
    stacks: Sequence[Any] = (),
    rules: Sequence[str] = (),
) -> None:
    """Fill `findings` as `sanitize` does; `stacks` are lists of frames, `rules` what is judged."""
    tables = {"findings": list(rows), "stacks": [stack_row(frames) for frames in stacks]}
    _derive(side, "sanitizer", tables, {"rules": {rule: {} for rule in rules}})


def _derive(
    side: Selection,
    name: str,
    tables: dict[str, list[dict[str, Any]]],
    settings: dict[str, Any] | None = None,
) -> None:
    import pyarrow as pa

    from kvtrace.schema.tables import TABLES

    for run in side.runs:
        side.trace.add_derived(
            run.run_id,
            name,
            {t: pa.Table.from_pylist(rows, schema=TABLES[t].schema) for t, rows in tables.items()},
            settings=settings,
        )


def _program_stack(
    program: Sequence[tuple[str, str, int, str]], artifacts: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    texts = [artifact_row("program", text.encode()) for *_, text in program]
    artifacts.update((text["sha256"], text) for text in texts)
    files = zip((path for path, *_ in program), (text["sha256"] for text in texts), strict=True)
    stack = stack_row([(path, line, 1, name) for path, name, line, _ in program if name])
    return {**stack, "files": [{"path": path, "artifact": text} for path, text in files]}


def _kernel_row(
    kernel: Kernel, kernel_id: int, artifacts: dict[str, dict[str, Any]], start: int
) -> dict[str, Any]:
    from kvtrace.schema.without_ir import TRITON_ORIGINS

    stages = []
    own = {"ttir": kernel.ttir} if kernel.origin in TRITON_ORIGINS else {}
    for stage, text in {**own, **kernel.later}.items():
        row = artifact_row(stage, text.encode())
        artifacts[row["sha256"]] = row
        stages.append({"stage": stage, "artifact": row["sha256"], "duration_ns": 1_000_000})
    source = artifact_row("source", kernel.source.encode())
    artifacts[source["sha256"]] = source
    files = None
    if kernel.file_text is not None:
        text = artifact_row("source", kernel.file_text.encode())
        artifacts[text["sha256"]] = text
        files = [{"path": kernel.file, "artifact": text["sha256"]}]
    pointer = {"type": "*fp32", "constexpr": None, "divisibility": 16}
    return {
        "kernel_id": kernel_id,
        "name": kernel.name,
        "module": kernel.module or None,
        "file": kernel.file,
        "line": kernel.line,
        "source_artifact": source["sha256"],
        "files": files,
        "signature": [
            {"name": "x_ptr", **pointer},
            {"name": "y_ptr", **pointer},
            {"name": "n", "type": "i32", "constexpr": None, "divisibility": None},
            {"name": "BLOCK", "type": "constexpr", "constexpr": str(kernel.block),
             "divisibility": None},
        ],
        "target": "cuda:90",
        "num_warps": kernel.num_warps,
        "registers": kernel.registers,
        "spills": kernel.spills,
        "shared_bytes": kernel.shared_bytes,
        "options": list(kernel.options),
        "origin": kernel.origin,
        "compile_begin": start,
        "compile_ns": kernel.compile_ns,
        "cache_hit": False if kernel.compile_ns is None else None,
        "stages": stages,
    }  # fmt: skip


def _call_row(
    call: Launches, call_id: int, kernel_id: int, block: int, alignment: int
) -> dict[str, Any]:
    size = 4
    for extent in call.shape:
        size *= extent
    tensor = {
        "kind": "tensor", "dtype": "fp32", "device": "cuda:0", "shape": list(call.shape),
        "strides": [1] * len(call.shape), "offset_bytes": call.offset_bytes, "storage_bytes": size,
        "alignment": alignment,
    }  # fmt: skip
    return {
        "call_id": call_id,
        "kernel_id": kernel_id,
        "grid_x": call.grid[0],
        "grid_y": call.grid[1],
        "grid_z": call.grid[2],
        "args": [
            {"name": "x_ptr", "alias_group": 0, **tensor},
            {"name": "y_ptr", "alias_group": 1, **tensor},
            {"name": "n", "kind": "scalar", "scalar": call.scalar},
            {"name": "BLOCK", "kind": "constexpr", "scalar": str(block)},
        ],
        "stated": call.stated,
    }


#: One kernel, launched with two scalars.
SCALE = Kernel(calls=(Launches(number=3, host_us=10), Launches(scalar="2", host_us=20)))
