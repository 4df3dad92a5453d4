"""To be run by hand on a machine with an NVIDIA GPU: recorded allocations against torch's history.

    python tests/gpu/check_memory.py FOLDER

A program allocates and frees memory of the caching allocator in two threads, on two streams and in
a captured graph, by tensors, by operators' workspaces and by `raw_alloc`, recorded with
KVTRACE_MEMORY=on while torch records its own memory history. Each address has to be allocated and
freed as often, in the same order, by both; a known size has to fit torch's block. Ends with 1 if
not.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

ALLOCATED, FREED = "alloc", "free_requested"


@triton.jit
def doubled(x, BLOCK: tl.constexpr):
    """Double BLOCK elements."""
    places = x + tl.arange(0, BLOCK)
    tl.store(places, 2 * tl.load(places))


def allocate_in_turn(seed: int) -> None:
    """Make tensors of many sizes, keep some of them, and let operators make and free others."""
    import torch

    kept: list[Any] = []
    with torch.cuda.stream(torch.cuda.Stream()):
        for step in range(300):
            made = torch.empty(17 * (step + 1) * (seed + 1), device="cuda")
            made.normal_()
            kept.append(made.sort().values[: step + 1])
            if len(kept) > 7:
                kept.pop(step % 7)
            (made @ made).item()


def program(history: Path) -> None:
    """Allocate, and write torch's history as a list of (what, address, bytes)."""
    import torch

    doubled[(1,)](torch.ones(16, device="cuda"), BLOCK=16)  # a run begins with its first launch
    torch.cuda.memory._record_memory_history(context=None, max_entries=10**6)
    threads = [threading.Thread(target=allocate_in_turn, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = torch.ones(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = (values * 2).cumsum(0)
    graph.replay()
    for size in (1, 513, 1 << 20):
        torch.cuda.caching_allocator_delete(torch.cuda.caching_allocator_alloc(size))
    print(result.sum().item(), torch.cuda.max_memory_allocated())
    (entries,) = torch.cuda.memory._snapshot()["device_traces"][:1]
    history.write_text(json.dumps([[e["action"], e["addr"], e["size"]] for e in entries]))


def histories(
    entries: list[list[Any]],
) -> tuple[dict[int, list[str]], dict[int, list[int]]]:
    """Return what happened at each address, and the sizes of its allocations."""
    happened, sizes = defaultdict(list), defaultdict(list)
    for action, address, size in entries:
        if action in (ALLOCATED, FREED):
            happened[address].append(action)
            if action == ALLOCATED:
                sizes[address].append(size)
    return happened, sizes


def compared(trace: Path, history: Path) -> list[str]:
    """Return what differs."""
    from kvtrace.schema.trace import open_trace

    table = open_trace(trace).table("allocations")
    rows = [row for row in table.to_pylist() if row["device"] is not None]
    events = sorted(
        [(row["begin"], ALLOCATED, row["address"], row["bytes"]) for row in rows]
        + [(row["end"], FREED, row["address"], None) for row in rows if row["end"] is not None],
        key=lambda event: event[0],
    )
    ours, our_sizes = histories([list(event[1:]) for event in events])
    theirs, their_sizes = histories(json.loads(history.read_text()))
    known = sum(row["bytes"] is not None for row in rows)
    print(
        f"{len(rows)} allocations, {known} with a size, {sum(map(len, ours.values()))} events at "
        f"{len(ours)} addresses; torch: {sum(map(len, theirs.values()))} at {len(theirs)}"
    )
    said = [
        f"{address:#x}: {len(ours.get(address, []))} events, torch has {len(happened)}"
        for address, happened in theirs.items()
        if ours.get(address, [])[: len(happened)] != happened
    ]
    said += [
        f"{address:#x}: {size} bytes in a block of {block}"
        for address, sizes in our_sizes.items()
        for size, block in zip(sizes, their_sizes.get(address, []), strict=False)
        if size is not None and size > block
    ]
    return said


def main() -> int:
    """Record the program, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", action="store_true")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if options.program:
        program(folder / "history.json")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "kvtrace", "run", "-o", str(folder / "out")]
    subprocess.run(
        [*command, __file__, str(folder), "--program"],
        env=os.environ | {"KVTRACE_MEMORY": "on"}, check=True,
    )  # fmt: skip
    said = compared(folder / "out", folder / "history.json")
    print(*said[:20] or ["all allocations and frees are recorded"], sep="\n")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
