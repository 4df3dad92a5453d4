"""To be run by hand on a machine with a GPU: what orders the threads of a program, and what not.

    python tests/gpu/check_threads.py [--launches N]

Three patterns, each with a twin that is right: a row that one of two programs leaves the other,
with and without a barrier before their counter; a block handed to other lanes behind a barrier, by
programs of one CTA and of two; a loop whose trips load what the one before stored, pipelined and
not. The device's wrong elements are counted beside kvtrace's verdicts on those launches, recorded
with TTGIR and PTX.

Ends with 1 if a launch that is proven is wrong on the device, or one that was right is a violation.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import kvtrace  # noqa: E402
from kvtrace.recorded_calls.reading import calls_of  # noqa: E402
from kvtrace.recorded_calls.recorded import Call  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402

RULES = ["race", "race-within-program"]
#: Programs of a launch that is compared, and of one that is judged.
PROGRAMS, JUDGED = 1024, 8


@triton.jit
def second_of_pair(table, index, partial, counters, out, BLOCK: tl.constexpr, HOLD: tl.constexpr):
    """Of two programs the one that counts second takes the row that the first one has left."""
    program, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    row = program * BLOCK + lanes
    tl.store(partial + row, tl.load(table + tl.load(index + row)))
    if HOLD:
        tl.debug_barrier()
    if tl.atomic_add(counters + program // 2, 1, sem="acq_rel") == 1:
        first = program + 1 - program % 2 * 2
        tl.store(out + program // 2 * BLOCK + lanes, tl.load(partial + first * BLOCK + lanes))


@triton.jit
def handed_over(scratch, out, BLOCK: tl.constexpr):
    base, lanes = tl.program_id(0) * BLOCK, tl.arange(0, BLOCK)
    tl.store(scratch + base + lanes, lanes)
    tl.debug_barrier()
    tl.store(out + base + lanes, tl.load(scratch + base + BLOCK - 1 - lanes))


@triton.jit
def from_trip_to_trip(x, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for trip in tl.range(0, n, num_stages=STAGES):
        tl.store(x + (trip + 1) * BLOCK + lanes, tl.load(x + trip * BLOCK + lanes) + 1)


@dataclass(frozen=True)
class Case:
    """A launch, which returns how many elements are wrong, and whether it is meant to be right."""

    name: str
    launch: Callable[[int], int]
    is_right: bool


def pairs(warps: int, hold: bool) -> Callable[[int], int]:
    block = warps * 32 * 4
    table = torch.ones(1 << 26, dtype=torch.int32, device="cuda")  # larger than the cache
    rows = torch.randint(0, len(table), (PROGRAMS, block), dtype=torch.int32, device="cuda")

    def launch(programs: int) -> int:
        partial = torch.zeros(programs, block, dtype=torch.int32, device="cuda")
        out, counters = torch.zeros_like(partial[::2]), torch.zeros_like(partial[::2, 0])
        index = rows[:programs].contiguous()
        second_of_pair[(programs,)](
            table, index, partial, counters, out, block, hold, num_warps=warps
        )
        return int((out != 1).sum())

    return launch


def blocks(ctas: int) -> Callable[[int], int]:
    block = 4096
    right = torch.arange(block - 1, -1, -1, dtype=torch.int32, device="cuda")

    def launch(programs: int) -> int:
        scratch = torch.full((programs, block), -1, dtype=torch.int32, device="cuda")
        out = torch.zeros_like(scratch)
        handed_over[(programs,)](scratch, out, block, num_warps=4, num_ctas=ctas)
        return int((out != right).sum())

    return launch


def trips(stages: int) -> Callable[[int], int]:
    def launch(_programs: int) -> int:
        x = torch.zeros(9, 256, dtype=torch.int32, device="cuda")
        from_trip_to_trip[(1,)](x, 8, stages, 256)
        return int((x != torch.arange(9, dtype=torch.int32, device="cuda")[:, None]).sum())

    return launch


def cases() -> list[Case]:
    return [
        *(Case(f"a row taken by the second of two, {w} warps, {'a' if hold else 'no'} barrier",
               pairs(w, hold), hold) for w in (4, 16, 32) for hold in (True, False)),
        *(Case(f"a block behind a barrier, {n} CTA", blocks(n), n == 1) for n in (1, 2)),
        *(Case(f"from trip to trip, {s} stages", trips(s), s == 1) for s in (1, 2, 3, 4)),
    ]  # fmt: skip


def recorded(launch: Callable[[int], int]) -> Call:
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, tensors="int"):
            launch(JUDGED)
            torch.cuda.synchronize()
        trace = open_trace(folder)
        calls = [each for run in trace.runs for each in calls_of(trace, run)]
    (call,) = (each for each in calls if isinstance(each, Call))
    return call


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=300)
    launches = parser.parse_args().launches
    print(f"{torch.cuda.get_device_name()}, triton {triton.__version__}, torch {torch.__version__}")
    failures = 0
    for case in cases():
        wrong = sum(case.launch(PROGRAMS) for _ in range(launches))
        verdicts = list(judge(recorded(case.launch), RULES))
        found = {verdict.verdict for verdict in verdicts}
        answer = next((a for a in ("violation", "unknown") if a in found), "proven")
        reasons = {verdict.reason for verdict in verdicts if verdict.reason}
        bad = (answer == "proven" and wrong > 0) or (answer == "violation" and case.is_right)
        failures += bad
        print(f"{case.name:60} {wrong:>12,} wrong  {answer}{'  FALSE' if bad else ''}")
        for reason in sorted(reasons) if answer == "unknown" else ():
            print(f"    {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
