"""Traces of any size, written by kvtrace's own writer: a thousand kernels, ranks, device times.

    python benchmarks/scale_trace.py FOLDER [--launches 100000000] [--ranks 64] [--jobs 1]

Every rank is a run of 1,000 kernels with two calls each, compiled in its first launches; the first
8 kernels are tuned, 20 trials each. After that a step launches 500 calls in the same order, the
popular ones more often, in host times of about 6 µs and device times that differ by call. Ranks
of one job share a group; half of the ranks have run ids that begin with `a`, half with `b`, and
times that are a tenth longer in every seventh kernel of `b`. Jobs are one rank each where there are
more than one.
"""

import argparse
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.schema.writer import RunWriter

KERNELS: Final = 1_000
CALLS: Final = 2 * KERNELS
STEP: Final = 500
TUNED: Final = 8
TRIALS: Final = 20
PIECE: Final = 1 << 18
EPOCH: Final = 1_767_323_045_000_000_000
THREAD: Final = 4242


def main() -> None:
    """Write a trace into a folder, and print the duration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--launches", type=int, default=100_000_000)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-device", action="store_true", help="no executions on devices")
    options = parser.parse_args()
    began, processor_start = time.perf_counter(), time.process_time()
    write_trace(
        options.folder, options.launches, options.ranks, options.jobs, device=not options.no_device
    )
    print(
        f"{options.launches:,} launches in {time.perf_counter() - began:.1f} s "
        f"({time.process_time() - processor_start:.1f} s of processors)"
    )


def write_trace(
    folder: Path, launches: int, ranks: int = 64, jobs: int = 1, *, device: bool = True
) -> None:
    """Write `jobs` jobs of `ranks` runs each, with `launches` in all."""
    runs = ranks * jobs
    order = _calls_of_step(np.random.default_rng(7))
    for number in range(runs):
        mine = launches // runs + (number < launches % runs)
        _write_run(folder, number, runs, f"job-{number // ranks:04d}", mine, order, device)


def run_id(number: int, runs: int) -> str:
    """Return the id of a run: the first half begin with a, the others with b."""
    return f"{'a' if 2 * number < runs else 'b'}20260102-030405-{number:04d}"


def _calls_of_step(random: np.random.Generator) -> np.ndarray:
    """Return the call ids of one step's launches in order; few calls are most of the launches."""
    return np.minimum(random.zipf(1.3, STEP) - 1, CALLS - 1).astype(np.int64)


def _write_run(
    folder: Path, number: int, runs: int, group: str, launches: int, order: np.ndarray, device: bool
) -> None:
    random = np.random.default_rng((11, number))
    start = EPOCH + number * 1_000_000
    name = run_id(number, runs)
    writer = RunWriter(folder, name)
    slower = np.where((np.arange(CALLS) // 2 % 7 == 0) & name.startswith("b"), 1.1, 1.0)
    device_ns = np.random.default_rng(13).lognormal(8.8, 0.8, CALLS) * slower
    clock, device_clock = start + 1_000_000, start + 1_000_000
    for first_seq in range(0, launches, PIECE):
        seq = np.arange(first_seq, min(first_seq + PIECE, launches))
        call, phase = _calls(seq, order)
        launch_ns = np.exp(random.normal(8.7, 0.25, seq.size)).astype(np.int64)
        launch_ns[(phase == 0) & (seq >= TUNED * (TRIALS + 1)) & (seq < CALLS)] += 1_000_000
        gap = random.integers(200, 2_000, seq.size)
        leave = clock + np.cumsum(launch_ns + gap)
        enter = leave - launch_ns
        holds = np.flatnonzero((seq < TUNED * (TRIALS + 1)) & (seq % (TRIALS + 1) == TRIALS))
        enter[holds] = enter[holds - TRIALS] - 50
        clock = int(leave[-1])
        if not first_seq:
            _write_kernels(writer, _first_launches(call, phase, enter, start))
        _append_launches(writer, seq, call, phase, enter, leave, number)
        ran = (device_ns[call] * random.normal(1, 0.02, seq.size)).astype(np.int64) + 500
        end = np.maximum.accumulate(np.maximum(leave + 2_000, device_clock) + 0) + np.cumsum(ran)
        device_clock = int(end[-1])
        if device:
            _append_executions(writer, seq, call, end - ran, end, number)
    facts = _runs_row(name, group, number, runs, start, max(clock, device_clock))
    writer.seal(facts)


def _calls(seq: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the call id and phase (0: run, 1: autotune) of each launch number in `seq`."""
    tuned = TUNED * (TRIALS + 1)
    step, position_in_step = np.divmod(seq, STEP)
    call = np.where(
        position_in_step % 10 == 9,
        (step * 50 + position_in_step // 10) % CALLS,
        order[position_in_step],
    )
    call = np.where(seq < CALLS, seq, call)
    call = np.where(seq < tuned, seq // (TRIALS + 1) * 2, call)
    return call, ((seq < tuned) & (seq % (TRIALS + 1) < TRIALS)).astype(np.int32)


def _first_launches(
    call: np.ndarray, phase: np.ndarray, enter: np.ndarray, start: int
) -> list[int]:
    """Return the time of each kernel's first launch, without trials; `start` if there is none."""
    run_launches = np.flatnonzero(phase == 0)
    kernels, places = np.unique(call[run_launches] // 2, return_index=True)
    first_enter = np.full(KERNELS, start)
    first_enter[kernels] = enter[run_launches][places]
    return [int(entered) for entered in first_enter]


def _append_launches(
    writer: RunWriter,
    seq: np.ndarray,
    call: np.ndarray,
    phase: np.ndarray,
    enter: np.ndarray,
    leave: np.ndarray,
    number: int,
) -> None:
    same = np.zeros(seq.size, np.int64)
    columns: dict[str, Any] = {
        "seq": seq,
        "call_id": call,
        "enter": enter,
        "exit": leave,
        "thread": same + THREAD + number,
        "device": same.astype(np.int32),
        "stream": same + 7,
        "phase": pa.DictionaryArray.from_arrays(pa.array(phase), pa.array(["run", "autotune"])),
    }
    writer.append("launches", columns)


def _append_executions(
    writer: RunWriter,
    seq: np.ndarray,
    call: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    number: int,
) -> None:
    same = np.zeros(seq.size, np.int64)
    names = pa.array([f"kernel_{index:04d}" for index in range(KERNELS)])
    columns: dict[str, Any] = {
        "record": seq,
        "launch_seq": seq,
        "call_id": call,
        "start": start,
        "end": end,
        "device": same.astype(np.int32),
        "stream": same + 7,
        "correlation_id": seq + number,
        "name": pa.DictionaryArray.from_arrays(pa.array((call // 2).astype(np.int32)), names),
        "grid_x": same + 64,
        "grid_y": same + 1,
        "grid_z": same + 1,
        "registers": same.astype(np.int32) + 32,
        "shared_bytes": same,
    }
    writer.append("gpu_kernels", columns)


def _write_kernels(writer: RunWriter, entered: list[int]) -> None:
    """Write the kernels, two calls of each, and a stack; `entered` has the kernels' times (ns)."""
    frames = [{"file": "train.py", "line": 40, "column": 9, "function": "train_step"}]
    writer.append_rows("stacks", [{"stack_id": 1_001, "frames": frames}])
    kernels, calls = [], []
    for kernel in range(KERNELS):
        kernels.append(
            {
                "kernel_id": kernel,
                "name": f"kernel_{kernel:04d}",
                "module": f"model.layers{kernel % 20}",
                "file": "kernels.py",
                "line": 10 * kernel + 1,
                "target": "cuda:90",
                "num_warps": 4,
                "origin": "jit",
                "cache_hit": False,
                "compile_begin": entered[kernel] + 5,
                "compile_ns": 4_000,
                "function": f"kernel_{kernel:04d}",
                "signature": [
                    {"name": "x_ptr", "type": "*fp32", "divisibility": 16},
                    {"name": "n", "type": "i32"},
                ],
            }
        )
        for shape in range(2):
            elements = 1_000 * (shape + 1)
            tensor = {
                "name": "x_ptr",
                "kind": "tensor",
                "dtype": "fp32",
                "device": "cuda:0",
                "shape": [elements],
                "strides": [1],
                "offset_bytes": 0,
                "storage_bytes": 4 * elements,
                "alias_group": 0,
                "alignment": 0,
            }
            count = {"name": "n", "kind": "scalar", "scalar": str(elements)}
            calls.append(
                {
                    "call_id": 2 * kernel + shape,
                    "kernel_id": kernel,
                    "grid_x": 8 * (shape + 1),
                    "grid_y": 1,
                    "grid_z": 1,
                    "stack_id": 1_001,
                    "args": [tensor, count],
                }
            )
    writer.append_rows("kernels", kernels)
    writer.append_rows("calls", calls)


def _runs_row(
    name: str, group: str, number: int, runs: int, start: int, ended: int
) -> dict[str, object]:
    return {
        "run_id": name,
        "group_id": group,
        "started": start,
        "ended": ended,
        "command": "python train.py",
        "host": f"host{number % max(1, runs // 2) // 8}",
        "pid": THREAD + number,
        "rank": number,
        "world_size": runs,
        "git_commit": f"{number:040x}",
        "versions": {"python": "3.11.7", "triton": "3.6.0"},
        "devices": [
            {"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 150 << 30}
        ],
        "mode": "timeline",
        "ending": "exit",
        "self_overhead_ns": 1_000_000,
        "dropped_rows": 0,
    }


if __name__ == "__main__":
    main()
