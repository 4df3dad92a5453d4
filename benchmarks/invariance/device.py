"""Cases run on a GPU at random pairs of batches: is the observed row the same, bit for bit?

Each process runs the cases of one library, since replacements of compiled extensions for one
library affect other libraries. After a case that fails a new process is started, as the CUDA
context may be broken. Autotuners choose the first configuration, as they do when recording without
a GPU.
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

#: A case without a result this many seconds after its time limit has failed.
_PATIENCE = 60


def on_device(cases: dict[str, Case], run: Run, pairs: int, limit: float,
              workers: int) -> Iterator[tuple[str, Row]]:  # fmt: skip
    """Yield (name, row) of each case as it completes.

    All cases together take about `limit` seconds.
    """
    pending: SimpleQueue[str] = SimpleQueue()
    for name in cases:
        pending.put(name)
    rows: SimpleQueue[tuple[str, Row]] = SimpleQueue()
    begin = time.monotonic()

    def seconds_for_next_case() -> float:
        """Return the time limit of the next case: an equal share of the remaining time."""
        remaining = limit - (time.monotonic() - begin)
        return max(1.0, remaining * workers / (pending.qsize() + workers))

    def work() -> None:
        process = pipe = library = None
        while True:
            try:
                name = pending.get_nowait()
            except Empty:
                break
            if process is not None and cases[name].library != library:
                process.kill()
                process = None
            library = cases[name].library
            if process is None:
                process, pipe = _start_process(cases, run, pairs)
            row = _run_case(pipe, name, seconds_for_next_case())
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


def _start_process(cases: dict[str, Case], run: Run, pairs: int) -> tuple[Any, Connection]:
    parent_end, child_end = multiprocessing.Pipe()
    # Forked, as cases are functions of modules that this process has imported.
    process = multiprocessing.get_context("fork").Process(
        target=_serve, args=(cases, run, pairs, child_end), daemon=True
    )
    process.start()
    child_end.close()
    return process, parent_end


def _run_case(pipe: Connection, name: str, seconds: float) -> Row:
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
            row = compare_case(cases[name], run, pairs, seconds)
        except Exception as error:  # noqa: BLE001 - a case that fails is a result
            text = (str(error).strip().splitlines() or [""])[0][:300]
            row = {"failed": f"{type(error).__name__}: {text}"}
        pipe.send(row)


def first_configuration() -> None:
    """Make Triton's autotuners choose the first configuration without measuring."""
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda *_, **__: [0.0] * 3
    Autotuner.check_disk_cache = lambda *given, **named: bool(
        named.get("bench_fn", given[-1])() and False
    )


def compare_case(case: Case, run: Run, pairs: int, seconds: float) -> Row:
    """Compare the observed row in pairs of batches, then at the sizes that were recorded.

    Args:
        case: The case.
        run: Runs it at a size.
        pairs: The number of random pairs of batches.
        seconds: The time after which no further pair is run.

    """
    begin = time.monotonic()
    draw = random.Random(case.title)
    largest = max(rows for rows, _ in case.sizes)
    recorded = [run(case, size) for size in case.sizes]
    row: Row = {
        "library": case.library, "kernel": case.name, "invariant": case.invariant,
        "why": case.why, "sizes": case.sizes,
        "sizes_equal": not any(_difference(recorded[0], each) for each in recorded[1:]),
        "sizes_first": next((found for each in recorded[1:]
                             if (found := _difference(recorded[0], each))), None),
        "again_equal": not _difference(recorded[-1], run(case, case.sizes[-1])),
        "pairs": 0, "equal": 0, "first": None,
    }  # fmt: skip
    while row["pairs"] < pairs and time.monotonic() - begin < seconds:
        pair = [(rows, draw.randrange(rows)) for rows in draw.choices(range(1, largest + 1), k=2)]
        found = _difference(*(run(case, size) for size in pair))
        row["pairs"] += 1
        row["equal"] += not found
        if found and row["first"] is None:
            row["first"] = {"batches": pair} | found
    row["seconds"] = round(time.monotonic() - begin, 2)
    return row


def _difference(first: Results, second: Results) -> Row | None:
    """Return the first output and element whose bits differ, as a row.

    None if all bits are equal.
    """
    for key, first_result in first.items():
        second_result = second[key]
        if first_result.shape != second_result.shape:
            return {"output": key, "shapes": [list(first_result.shape), list(second_result.shape)]}
        size = first_result.element_size()
        bits = [each.contiguous().reshape(-1).view(torch.uint8).reshape(-1, size)
                for each in (first_result, second_result)]  # fmt: skip
        differing = (bits[0] != bits[1]).any(dim=1).nonzero()
        if len(differing):
            element = int(differing[0])
            values = [each.contiguous().reshape(-1)[element].double().item()
                      for each in (first_result, second_result)]  # fmt: skip
            return {
                "output": key,
                "element": element,
                "differing": len(differing),
                "values": values,
            }
    return None


def summary(rows: dict[str, Row]) -> list[str]:
    """Return lines with totals: the table's verdicts, and cases with equal bits on the device."""
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
