"""Cases run on a GPU at random pairs of batches: is the observed row the same, bit for bit?

Each process runs the cases of one library after the other: the names that one library is given in
place of compiled extensions are seen by the next. After a case that fails there is a new process,
since what a kernel leaves of a CUDA context then is anyone's guess. Autotuners take the first
configuration that they are left with, which is what recording without a GPU does.
"""

import multiprocessing
import random
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

import torch

from benchmarks.invariance.batch import Case, Results, Size

Row = dict[str, Any]
Run = Callable[[Case, Size], Results]

#: A case that is silent for so many seconds longer than it may take is given up.
_PATIENCE = 60


def on_device(cases: dict[str, Case], run: Run, pairs: int, limit: float,
              workers: int) -> Iterator[tuple[str, Row]]:  # fmt: skip
    """Yield each case's row as it is there; together they take about `limit` seconds."""
    waiting: SimpleQueue[str] = SimpleQueue()
    for name in cases:
        waiting.put(name)
    rows: SimpleQueue[tuple[str, Row]] = SimpleQueue()
    begin = time.monotonic()

    def own() -> float:
        """Return how long the next case may take, so that all have their share."""
        left = limit - (time.monotonic() - begin)
        return max(1.0, left * workers / (waiting.qsize() + workers))

    def work() -> None:
        process = pipe = library = None
        while True:
            try:
                name = waiting.get_nowait()
            except Empty:
                break
            if process is not None and cases[name].library != library:
                process.kill()
                process = None
            library = cases[name].library
            if process is None:
                process, pipe = _started(cases, run, pairs)
            row = _asked(pipe, name, own())
            if "failed" in row:
                process.kill()
                process = None
            rows.put((name, row))
        if process is not None:
            process.kill()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for _ in cases:
        yield rows.get()


def _started(cases: dict[str, Case], run: Run, pairs: int) -> tuple[Any, Connection]:
    ours, theirs = multiprocessing.Pipe()
    # Forked, as cases are functions of modules that this process has imported.
    process = multiprocessing.get_context("fork").Process(
        target=_serve, args=(cases, run, pairs, theirs), daemon=True
    )
    process.start()
    theirs.close()
    return process, ours


def _asked(pipe: Connection, name: str, seconds: float) -> Row:
    try:
        pipe.send((name, seconds))
        if not pipe.poll(seconds + _PATIENCE):
            return {"failed": f"silent for {seconds + _PATIENCE:.0f} s"}
        row: Row = pipe.recv()
    except (EOFError, OSError):
        row = {"failed": "the process ended"}
    return row


def _serve(cases: dict[str, Case], run: Run, pairs: int, pipe: Connection) -> None:
    torch.set_num_threads(1)
    first_configuration()
    while True:
        name, seconds = pipe.recv()
        try:
            row = compared(cases[name], run, pairs, seconds)
        except Exception as error:  # noqa: BLE001 - a case that fails is a result
            text = (str(error).strip().splitlines() or [""])[0][:300]
            row = {"failed": f"{type(error).__name__}: {text}"}
        pipe.send(row)


def first_configuration() -> None:
    """Make Triton's autotuners take the first configuration, without timing any."""
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda *_, **__: [0.0] * 3
    Autotuner.check_disk_cache = lambda *given, **named: bool(
        named.get("bench_fn", given[-1])() and False
    )


def compared(one: Case, run: Run, pairs: int, seconds: float) -> Row:
    """Compare the observed row in pairs of batches, then at the sizes that were recorded.

    Args:
        one: The case.
        run: Runs it at a size.
        pairs: How many random pairs of batches.
        seconds: After so long no further pair is run.

    """
    begin = time.monotonic()
    draw = random.Random(one.title)
    largest = max(rows for rows, _ in one.sizes)
    recorded = [run(one, size) for size in one.sizes]
    row: Row = {
        "library": one.library, "kernel": one.name, "invariant": one.invariant,
        "why": one.why, "sizes": one.sizes,
        "sizes_equal": not any(_difference(recorded[0], each) for each in recorded[1:]),
        "sizes_first": next((found for each in recorded[1:]
                             if (found := _difference(recorded[0], each))), None),
        "again_equal": not _difference(recorded[-1], run(one, one.sizes[-1])),
        "pairs": 0, "equal": 0, "first": None,
    }  # fmt: skip
    while row["pairs"] < pairs and time.monotonic() - begin < seconds:
        pair = [(rows, draw.randrange(rows)) for rows in draw.choices(range(1, largest + 1), k=2)]
        found = _difference(*(run(one, size) for size in pair))
        row["pairs"] += 1
        row["equal"] += not found
        if found and row["first"] is None:
            row["first"] = {"batches": pair} | found
    row["seconds"] = round(time.monotonic() - begin, 2)
    return row


def _difference(one: Results, other: Results) -> Row | None:
    """Return the first output and element whose bits differ; None: none does."""
    for key, mine in one.items():
        theirs = other[key]
        if mine.shape != theirs.shape:
            return {"output": key, "shapes": [list(mine.shape), list(theirs.shape)]}
        size = mine.element_size()
        bits = [each.contiguous().reshape(-1).view(torch.uint8).reshape(-1, size)
                for each in (mine, theirs)]  # fmt: skip
        unlike = (bits[0] != bits[1]).any(dim=1).nonzero()
        if len(unlike):
            element = int(unlike[0])
            values = [each.contiguous().reshape(-1)[element].double().item()
                      for each in (mine, theirs)]  # fmt: skip
            return {"output": key, "element": element, "differing": len(unlike), "values": values}
    return None


def summary(rows: dict[str, Row]) -> list[str]:
    """Return totals: what is invariant by the table's verdict, and equal on the device."""
    ran = {name: row for name, row in rows.items() if "failed" not in row}
    equal = {
        name for name, row in ran.items() if row["equal"] == row["pairs"] and row["sizes_equal"]
    }
    lines = [
        f"{len(rows)} cases, {len(ran)} ran, {sum(row['pairs'] for row in ran.values())} pairs; "
        f"{len(equal)} cases bitwise equal in all"
    ]
    for verdict in sorted({row["verdict"] for row in rows.values()}):
        names = [name for name, row in ran.items() if row["verdict"] == verdict]
        lines.append(f"{verdict}: {len(names)} ran, {len(equal.intersection(names))} equal, "
                     f"{len(names) - len(equal.intersection(names))} differ")  # fmt: skip
    return lines
