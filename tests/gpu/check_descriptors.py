"""To be run by hand on a machine with an NVIDIA GPU: what copies by tensor descriptor really touch.

    python tests/gpu/check_descriptors.py

Stores and atomic additions (on Blackwell, scatters too) by descriptors that are made on the device
and on the host, of four types each and eight inner extents each, multiples of 16 bytes and not,
into memory full of a sentinel. Each launch is recorded; from the recording alone, with no GPU,
`descriptor-contract` is judged and the launch evaluated. Then

- where the rule is proven, no element outside of the descriptor's extents has changed;
- where it is violated, the element of the witness has;
- memory is, bit by bit, what the evaluation says that the device's architecture leaves;
- `kvtrace check` names the rule as the cause of what differs from TTIR, and blames nothing else;
- loads pad from the extent on, element by element.

Descriptors that break the other contracts are tried in processes of their own, since some end the
CUDA context: each must be reported. What the device does with them is printed, and is no condition.
Takes about a minute. Ends with 1 if anything is not as it should be.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.support.replacing import replace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.addons.check.checking import check_run  # noqa: E402
from kvtrace.evaluate import Storage, TensorArgument, evaluate  # noqa: E402
from kvtrace.recorded_calls.reading import calls_of  # noqa: E402
from kvtrace.recorded_calls.recorded import Call  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402
from kvtrace.verdicts.verdict import Verdict  # noqa: E402

RULE = "descriptor-contract"
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
TYPES = {
    "stored": (*FLOATS, torch.int8),
    "added": (*FLOATS, torch.int32),
    "scattered": (*FLOATS, torch.int8),
    "loaded": (*FLOATS, torch.int8),
}
SENTINEL, ROWS, PITCH_BYTES, BLOCK_ROWS, BLOCK_BYTES = 7, 6, 128, 4, 32
VIEW_ROWS = 5
problems: list[str] = []
counted: Counter[str] = Counter()


@triton.jit
def _made(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    return tl.make_tensor_descriptor(out, [5, columns], [PITCH, 1], [R, C])


@triton.jit(do_not_specialize=["columns"])
def stored_by_device(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    target = _made(out, columns, PITCH, R, C)
    value = tl.full((R, C), 3, out.dtype.element_ty)
    target.store([tl.program_id(0) * R, tl.program_id(1) * C], value)


@triton.jit
def stored_by_host(target, R: tl.constexpr, C: tl.constexpr):
    value = tl.full((R, C), 3, target.dtype)
    target.store([tl.program_id(0) * R, tl.program_id(1) * C], value)


@triton.jit(do_not_specialize=["columns"])
def added_by_device(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    target = _made(out, columns, PITCH, R, C)
    value = tl.full((R, C), 3, out.dtype.element_ty)
    target.atomic_add([tl.program_id(0) * R, tl.program_id(1) * C], value)


@triton.jit
def added_by_host(target, R: tl.constexpr, C: tl.constexpr):
    value = tl.full((R, C), 3, target.dtype)
    target.atomic_add([tl.program_id(0) * R, tl.program_id(1) * C], value)


@triton.jit(do_not_specialize=["columns"])
def scattered_by_device(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [5, columns], [PITCH, 1], [1, C])
    value = tl.full((8, C), 3, out.dtype.element_ty)
    target.scatter(value, tl.arange(0, 8), tl.program_id(1) * C)


@triton.jit(do_not_specialize=["columns"])
def loaded_by_device(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """Write over what lies beyond the descriptor's rows with what a load of the tile gave."""
    source = _made(out, columns, PITCH, R, C)
    tile = source.load([0, tl.program_id(1) * C])
    row, column = tl.arange(0, R)[:, None], tl.program_id(1) * C + tl.arange(0, C)[None, :]
    tl.store(out + 6 * PITCH + row * PITCH + column, tile)


@triton.jit(do_not_specialize=["columns"])
def stored_in_one_row(out, columns, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [columns], [1], [C])
    target.store([tl.program_id(0) * C], tl.full((C,), 3, out.dtype.element_ty))


@triton.jit
def peeked(source, out, at, C: tl.constexpr, WRITE: tl.constexpr):
    """Read (or fill) what lies behind a tensor, in memory that the allocator gave with it."""
    lanes = at + tl.arange(0, C)
    if WRITE:
        tl.store(source + lanes, tl.full((C,), 7, source.dtype.element_ty))
    else:
        tl.store(out + tl.arange(0, C), tl.load(source + lanes))


def expect(holds: bool, what: str) -> None:
    counted["expectations"] += 1
    if not holds:
        print(f"WRONG {what}", flush=True)
        problems.append(what)


def extents(size: int) -> tuple[int, ...]:
    """Eight inner extents in elements: half of them whole chunks of 16 bytes."""
    chunk = 16 // size
    return (1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk - 1, 3 * chunk, 4 * chunk)


def memory(dtype: torch.dtype, rows: int = ROWS) -> torch.Tensor:
    columns = PITCH_BYTES // dtype.itemsize
    return torch.full((rows, columns), SENTINEL, device="cuda", dtype=dtype)


def launch(kind: str, maker: str, dtype: torch.dtype, columns: int) -> torch.Tensor:
    """Launch on memory of its own, and return that."""
    kernel = globals()[f"{kind}_by_{maker}"]
    pitch, block = PITCH_BYTES // dtype.itemsize, BLOCK_BYTES // dtype.itemsize
    out = memory(dtype, 12 if kind == "loaded" else ROWS)
    grid = (1 if kind in ("scattered", "loaded") else 2, 3)
    if maker == "device":
        kernel[grid](out, columns, PITCH=pitch, R=BLOCK_ROWS, C=block)
    else:
        view = out[:VIEW_ROWS, :columns]
        target = TensorDescriptor(view, [VIEW_ROWS, columns], [pitch, 1], [BLOCK_ROWS, block])
        kernel[grid](target, R=BLOCK_ROWS, C=block)
    return out


def cases() -> list[tuple[str, str, torch.dtype, int]]:
    kinds = [("stored", "device"), ("stored", "host"), ("added", "device"), ("added", "host")]
    kinds.append(("loaded", "device"))
    if torch.cuda.get_device_capability()[0] >= 10:
        kinds.append(("scattered", "device"))
    return [
        (kind, maker, dtype, columns)
        for kind, maker in kinds
        for dtype in TYPES[kind]
        for columns in extents(dtype.itemsize)
    ]


def bits(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().contiguous().view(torch.uint8).numpy().reshape(-1)


def contract(call: Call) -> list[Verdict]:
    return [verdict for verdict in judge(call, [RULE]) if verdict.rule == RULE]


def look_at(name: str, dtype: torch.dtype, columns: int, out: torch.Tensor, call: Call) -> None:
    """Compare what a launch left with what is said of its recording."""
    size, left = dtype.itemsize, bits(out)
    before = bits(torch.full_like(out, SENTINEL))
    changed = (left != before).reshape(-1, size).any(axis=1)
    inside = np.zeros(out.shape, bool)
    inside[:VIEW_ROWS, :columns] = True
    outside = changed & ~inside.reshape(-1)
    (verdict,) = contract(call)
    counted[verdict.verdict] += 1
    counted["elements written past an extent"] += int(outside.sum())
    expect(verdict.verdict != "unknown", f"{name}: {verdict.message}")
    expect(
        (verdict.verdict == "proven") == (not outside.any()),
        f"{name}: {verdict.verdict}, and {int(outside.sum())} elements outside are written",
    )
    if verdict.verdict == "violation":
        at = verdict.address_offset or 0
        expect(bool(outside[at // size]), f"{name}: the witness at byte {at} is not written")
    meant = before.copy()
    storage = Storage(meant.nbytes, meant)
    arguments = [
        replace(each, storage=storage) if isinstance(each, TensorArgument) else each
        for each in call.arguments
    ]
    evaluate(call.module, arguments, call.grid)
    differing = np.flatnonzero(meant != left)
    expect(
        not differing.size, f"{name}: evaluated otherwise at bytes {differing[:8]} of {len(left)}"
    )


def look_at_load(name: str, dtype: torch.dtype, columns: int, out: torch.Tensor) -> None:
    """A load gives what is inside of the extents, and zeros from there on."""
    block = BLOCK_BYTES // dtype.itemsize
    given = out[6 : 6 + BLOCK_ROWS, : 3 * block].float().cpu()
    wanted = torch.zeros_like(given)
    wanted[:, :columns] = SENTINEL
    expect(bool((given == wanted).all()), f"{name}: a load is not padded from {columns} on")


def all_extents(folder: Path) -> None:
    chosen = cases()
    for case in chosen:
        launch(*case)  # compiled where nothing is recorded
    began = time.perf_counter()
    with kvtrace.capture(folder, check="kernel:*"):
        left = [launch(*case) for case in chosen]
        torch.cuda.synchronize()
    trace = open_trace(folder)
    (run,) = trace.runs
    calls = list(calls_of(trace, run))
    by_seq = trace.table("launches", (run,), columns=["seq", "call_id"]).to_pylist()
    by_id = {call.call_id: call for call in calls}
    expect(len(by_seq) == len(chosen), f"{len(by_seq)} launches of {len(chosen)} were recorded")
    past: set[int] = set()
    for (kind, maker, dtype, columns), out, row in zip(chosen, left, by_seq, strict=True):
        name = f"{kind} by {maker}, {dtype}, extent {columns}"
        call = by_id[row["call_id"]]
        if not isinstance(call, Call):
            expect(False, f"{name}: {call.reason}")
        elif kind == "loaded":
            look_at_load(name, dtype, columns, out)
        else:
            look_at(name, dtype, columns, out, call)
            if columns * dtype.itemsize % 16:
                past.add(row["seq"])
    look_at_check(trace, run, past)
    print(f"looked at {len(chosen)} launches in {time.perf_counter() - began:.1f} s", flush=True)


def look_at_check(trace: Any, run: Any, past: set[int]) -> None:
    """`kvtrace check` finds the launches that wrote past an extent, and says why."""
    from kvtrace.addons.check.checked_runs import recorded_ttgir

    found = check_run(trace, run, lambda *_: None, recorded_ttgir(trace, run))
    differing = {row["seq"] for row in found.rows if row["answer"] == "differs"}
    undecided = {row["seq"]: row["reason"] for row in found.rows if row["answer"] == "undecided"}
    expect(not undecided and not found.failures, f"check: {undecided} {found.failures}")
    expect(differing == past, f"check: launches {sorted(differing ^ past)} are taken for others")
    stages = Counter(fault.stage for fault in found.faults.values())
    expect(set(stages) <= {"descriptor stores"}, f"check blames {dict(stages)}")
    named = sum(RULE in row["message"] for row in found.findings)
    expect(named == len(past), f"check names the rule {named} times of {len(past)}")
    print(f"check: {len(differing)} launches differ, blamed on {dict(stages)}", flush=True)


def behind_the_storage(folder: Path) -> None:
    """One row that ends with its storage: what is written behind it is out of bounds."""
    for dtype in TYPES["stored"]:
        chunk = 16 // dtype.itemsize
        for columns in (chunk + 1, 2 * chunk):
            name = f"one row of {columns}, {dtype}"
            out, seen = (torch.empty(n, device="cuda", dtype=dtype) for n in (columns, 2 * chunk))
            out.fill_(SENTINEL)
            peeked[(1,)](out, seen, columns, C=2 * chunk, WRITE=True)
            where = folder / f"{dtype}-{columns}"
            with kvtrace.capture(where):
                stored_in_one_row[(1,)](out, columns, C=4 * chunk)
                torch.cuda.synchronize()
            peeked[(1,)](out, seen, columns, C=2 * chunk, WRITE=False)
            written = int((seen != SENTINEL).sum())
            trace = open_trace(where)
            (call,) = calls_of(trace, trace.runs[0])
            said = {v.rule for v in judge(call) if v.verdict == "violation"}
            past = bool(columns % chunk)
            expect(written == -columns % chunk, f"{name}: {written} elements behind are written")
            expect(past == (RULE in said), f"{name}: {said}")
            expect(past == ("out-of-bounds" in said), f"{name}: {said}")


# -- the other contracts, each in a process of its own ---------------------------------------------

BROKEN: dict[str, tuple[int, int, int, int]] = {
    # what is broken: base (elements), pitch, extent, column of the block's start; of float32
    "nothing": (0, 32, 16, 0),
    "the base": (1, 32, 16, 0),
    "a stride": (0, 30, 16, 0),
    "an extent": (0, 32, 0, 0),
    "the block's start": (0, 32, 16, 1),
}


@triton.jit(do_not_specialize=["pitch", "columns", "at"], do_not_specialize_on_alignment=["out"])
def broken(out, pitch, columns, at, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [5, columns], [pitch, 1], [R, C])
    target.store([0, at], tl.full((R, C), 3, tl.float32))


def child(what: str, folder: str) -> int:
    base, pitch, columns, at = BROKEN[what]
    out = torch.full((8 * 32,), SENTINEL, device="cuda", dtype=torch.float32)
    with kvtrace.capture(folder):
        broken[(1,)](out[base:], pitch, columns, at, R=4, C=8)
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            print(f"the device: {str(error).splitlines()[0]}", flush=True)
            return 0
    row = np.arange(4)[:, None] * pitch + np.arange(8)[None, :] + at + base
    meant = {int(each) for each in row[:, : max(0, columns - at)].reshape(-1)}
    written = set(np.flatnonzero(out.cpu().numpy() != SENTINEL).tolist())
    where = "where the IR means" if written == meant else f"at {sorted(written)}"
    print(f"the device: writes {len(written)} elements {where}", flush=True)
    return 0


def begin_contracts(folder: Path) -> dict[str, tuple[Path, Any]]:
    environment = {**os.environ, "KVTRACE": ""}
    made = {}
    for number, what in enumerate(BROKEN):
        where = folder / f"broken-{number}"
        command = [sys.executable, __file__, "--child", what, str(where)]
        made[what] = (
            where,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=environment,
            ),
        )
    return made


def end_contracts(children: dict[str, tuple[Path, Any]]) -> None:
    for what, (where, process) in children.items():
        try:
            text, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            text += "the device: did not end in 60 s"
        said = [line for line in text.splitlines() if line.startswith("the device")]
        print(f"{what} broken: {said[0] if said else text[-300:]}", flush=True)
        trace = open_trace(where)
        (call,) = calls_of(trace, trace.runs[0])
        (verdict,) = contract(call)
        print(f"    {verdict.verdict}: {verdict.message}", flush=True)
        wanted = "proven" if what == "nothing" else "violation"
        expect(verdict.verdict == wanted, f"{what} broken: {verdict.verdict}")


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        triton.set_allocator(
            lambda size, _a, _s: torch.empty(size, device="cuda", dtype=torch.int8)
        )
        return child(*sys.argv[2:])
    major, minor = torch.cuda.get_device_capability()
    print(f"{torch.cuda.get_device_name()}, sm_{major}{minor}, triton {triton.__version__}")
    triton.set_allocator(lambda size, _a, _s: torch.empty(size, device="cuda", dtype=torch.int8))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        children = begin_contracts(folder)
        all_extents(folder / "extents")
        behind_the_storage(folder)
        end_contracts(children)
    print(f"{dict(counted)} in {time.perf_counter() - began:.1f} s")
    print("all as it should be" if not problems else f"{len(problems)} WRONG")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
