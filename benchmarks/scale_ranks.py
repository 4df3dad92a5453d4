"""A simulated job of many ranks, and the time of its first screen: built, then read again.

    python benchmarks/scale_ranks.py FOLDER [--ranks 1000] [--steps 1000] [--collectives 14]
    python benchmarks/scale_ranks.py FOLDER --read

In each step a rank runs a kernel before each AllReduce; it begins the AllReduce when its kernel has
ended, and all end it together. The host requests half a millisecond ahead, and waits for the device
at the end of a step. One rank's kernels take 30 % longer: it is the one to be named. With `--read`
nothing is written: `kvtrace info` is run in a process of its own, twice without what is kept.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kvtrace.schema.layout import KEPT_TIMES
from kvtrace.schema.writer import RunWriter

EPOCH: Final = 1_767_323_045_000_000_000
NAMES: Final = ("matmul_kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
WORK_NS: Final = 1_000_000
TRANSFER_NS: Final = 200_000
AHEAD_NS: Final = 500_000
SLOWER: Final = 1.3


def main() -> None:
    """Write a job, or read one, and print seconds by the clock and of processors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--collectives", type=int, default=14, help="in a step")
    parser.add_argument("--read", action="store_true", help="read what is there")
    parser.add_argument("--alone", action="store_true", help="collectives alone, but of rank 0")
    options = parser.parse_args()
    if options.read:
        read(options.folder)
        return
    began = time.perf_counter()
    write_ranks(
        options.folder, options.ranks, options.steps, options.collectives, alone=options.alone
    )
    print(f"{options.ranks:,} ranks written in {time.perf_counter() - began:.1f} s")


def read(folder: Path) -> None:
    """Print what the first screen takes: built, and read again from what is kept."""
    for number in range(2):
        shutil.rmtree(folder / KEPT_TIMES, ignore_errors=True)
        for title in ("build", "again"):
            _run(f"{number + 1}. {title}", [sys.executable, "-m", "kvtrace", "info", str(folder)])


def _run(title: str, command: list[str]) -> None:
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    processors = sum(after[2:4]) - sum(before[2:4])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    seconds = time.perf_counter() - began
    print(f"{title}: {seconds:.2f} s, {processors:.2f} s of processors, peak so far {peak:.2f} GB")


def write_ranks(
    folder: Path, ranks: int, steps: int, collectives: int = 14, *, alone: bool = False
) -> None:
    """Write a run of each rank; if `alone`, rank 0 has a timeline and all others collectives."""
    number = steps * collectives
    factor = np.where(np.arange(ranks) == ranks // 2, SLOWER, 1.0)

    def work(rank: int) -> np.ndarray:
        random = np.random.default_rng((7, rank))
        drawn: np.ndarray = WORK_NS * factor[rank] * random.normal(1, 0.02, number)
        return drawn.astype(np.int64)

    slowest = np.zeros(number, np.int64)
    for rank in range(ranks):
        slowest = np.maximum(slowest, work(rank))
    ends = np.cumsum(slowest + TRANSFER_NS)
    begins = np.append(0, ends[:-1])
    for rank in range(ranks):
        ended = begins + work(rank)
        is_whole = not alone or rank == 0
        _write_rank(folder, rank, ranks, (begins, ended, ends), collectives, alone, is_whole)


def _write_rank(
    folder: Path,
    rank: int,
    ranks: int,
    times: tuple[np.ndarray, np.ndarray, np.ndarray],
    collectives: int,
    alone: bool,
    is_whole: bool,
) -> None:
    begins, ended, ends = (EPOCH + moment for moment in times)
    writer = RunWriter(folder, f"20260102-030405-{rank:03d}-{rank:08x}")
    number = begins.size
    code, start, end = np.ones(number, np.int32), ended, ends
    if is_whole:
        code = np.tile(np.array([0, 1], np.int32), number)
        start, end = np.stack([begins, ended], 1).ravel(), np.stack([ended, ends], 1).ravel()
    columns: dict[str, Any] = {
        "record": np.arange(start.size),
        "name": pa.DictionaryArray.from_arrays(pa.array(code), pa.array(NAMES)),
        "device": np.full(start.size, rank % 8, np.int32),
        "stream": np.where(code, 9, 7),
        "start": start,
        "end": end,
        "requested": start - AHEAD_NS,
    }
    writer.append("gpu_kernels", columns)
    first = begins[::collectives] - 2 * AHEAD_NS
    last = ends[collectives - 1 :: collectives] - 2 * AHEAD_NS
    name = pa.DictionaryArray.from_arrays(np.zeros(first.size, np.int32), pa.array(["step"]))
    marks: dict[str, Any] = {"mark_id": np.arange(first.size), "name": name}
    writer.append("marks", marks | {"begin": first, "end": last})
    kind = pa.DictionaryArray.from_arrays(np.zeros(first.size, np.int32), pa.array(["synchronize"]))
    events: dict[str, Any] = {"record": np.arange(first.size), "kind": kind}
    writer.append("host_events", events | {"begin": last - AHEAD_NS, "end": last})
    writer.seal(
        {
            "group_id": "job", "rank": rank, "world_size": ranks, "host": "host", "pid": 100 + rank,
            "started": EPOCH, "settings": {"ranks": "0"} if alone else {},
        }
    )  # fmt: skip


if __name__ == "__main__":
    main()
