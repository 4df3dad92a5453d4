"""To be run by hand on a machine with an NVIDIA GPU: what loops do whose counters wrap around.

    python tests/gpu/check_loop_wrap.py

Triton compiles `for k in range(first, end, step)` to a signed comparison before each trip and an
add after it, in the counter's width. So a counter that passes 2**31 - 1 continues at -2**31. This
lists the counters of loops as a device sees them, and compares them with the evaluator's and with
`kvtrace.ir.integers.counter_ranges`; reads where they lead, at negative offsets inside a larger
allocation; and launches, in children, kernels that leave their tensors that way. Each must be a
violation to kvtrace where the counter wraps, and none where it does not. Prints what it saw; ends
with 1 if anything is not so. Takes 5 GB of memory of the GPU.
"""

import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvtrace.evaluate import Storage, TensorArgument, evaluate  # noqa: E402
from kvtrace.ir.integers import counter_ranges, wraps_around  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402
from tests.verdicts.calls import call, tensor  # noqa: E402
from tests.verdicts.looping_kernels import copied_by_grid, summed  # noqa: E402

MOST = 2**31 - 1
ROOM = 4096
HALF = 2**31
PLACES = 251
"""What is read of a large allocation is the place modulo this prime."""

#: Bounds and steps of loops that end within `ROOM` trips.
LOOPS = (
    (0, 100, 7), (100, 0, 7), (100, 0, -7), (0, 100, -(1 << 28)), (0, 100, -(1 << 28) - 5),
    (MOST - 600, MOST - 99, (1 << 29) + 3), (-5, MOST - 100, MOST),
    (0, MOST - 5_000_000, 3 * ((1 << 28) + 1_000_000)), (MOST - 40, MOST, 40),
    (-MOST, -MOST + 9, 4),
)  # fmt: skip
#: Of 64 bits, across 2**31 and at the end of int64.
WIDE = ((MOST - 1000, MOST + 1000, 300), (2**63 - 1 - 900, 2**63 - 1 - 100, (1 << 62) + 7))

CHILD_SECONDS = 180


@triton.jit
def counted(out, first, end, step, ROOM: tl.constexpr):
    trip = 0
    for k in range(first, end, step):
        tl.store(out + trip, k.to(tl.int64), mask=trip < ROOM)
        trip += 1
    tl.store(out + ROOM, trip.to(tl.int64))


@triton.jit
def counted_by_grid(out, n, B: tl.constexpr, ROOM: tl.constexpr):
    pid = tl.program_id(0)
    trip = 0
    for k in range(pid * B, n, tl.num_programs(0) * B):
        tl.store(out + pid * (ROOM + 1) + trip, k.to(tl.int64), mask=trip < ROOM)
        trip += 1
    tl.store(out + pid * (ROOM + 1) + ROOM, trip.to(tl.int64))


@triton.jit
def read(x, out, first, end, step, ROOM: tl.constexpr):
    trip = 0
    for k in range(first, end, step):
        tl.store(out + trip, tl.load(x + k), mask=trip < ROOM)
        trip += 1  # noqa: SIM113


problems: list[str] = []


def check(what: str, right: bool) -> None:
    print(f"{'ok' if right else 'WRONG':5} {what}")
    if not right:
        problems.append(what)


def expected(first: int, end: int, step: int, bits: int) -> list[int]:
    return list(chain.from_iterable(counter_ranges(first, end, step, bits)))


def evaluated(first: int, end: int, step: int) -> list[int]:
    """Return the counters that the evaluator lists."""
    data = np.zeros(8 * (ROOM + 1), np.uint8)
    out = TensorArgument("out", Storage(data.nbytes, data), 0, "i64", (ROOM + 1,), (1,))
    wide = ("first", "end", "step") if max(abs(first), abs(end)) > MOST else ()
    one = call(counted, (1,), out=out, first=first, end=end, step=step, ROOM=ROOM, wide=wide)
    evaluate(one.module, one.arguments, one.grid)
    return listed(one.arguments[0].storage.data.view(np.int64))


def listed(numbers: np.ndarray) -> list[int]:
    return numbers[: int(numbers[ROOM])].tolist()


def verdicts(one, rule: str) -> set[str]:
    return {each.verdict for each in judge(one, [rule])}


def counters() -> None:
    for first, end, step in (*LOOPS, *WIDE):
        bits = 64 if max(abs(first), abs(end)) > MOST else 32
        out = torch.zeros(ROOM + 1, dtype=torch.int64, device="cuda")
        counted[(1,)](out, first, end, step, ROOM=ROOM)
        seen = listed(out.cpu().numpy())
        name = f"range({first}, {end}, {step}) of {bits} bits: {len(seen)} trips"
        check(f"{name}, as counted", seen == expected(first, end, step, bits))
        check(f"{name}, as evaluated", seen == evaluated(first, end, step))
        wide = ("first", "end", "step") if bits == 64 else ()
        one = call(
            counted, (1,), out=tensor(ROOM + 1, dtype="i64"), first=first, end=end, step=step,
            ROOM=ROOM, wide=wide,
        )  # fmt: skip
        wraps = wraps_around(first, end, step, bits)
        said = "violation" in verdicts(one, "overflow")
        check(f"{name}, {'a' if wraps else 'no'} violation of overflow", said == wraps)


def counters_by_grid() -> None:
    block, n, programs = (1 << 28) + 1_000_000, MOST - 5_000_000, 3
    out = torch.zeros(programs, ROOM + 1, dtype=torch.int64, device="cuda")
    counted_by_grid[(programs,)](out, n, B=block, ROOM=ROOM)
    for program, row in enumerate(out.cpu().numpy()):
        wanted = expected(program * block, n, programs * block, 32)
        check(f"program {program} of {programs}: {len(wanted)} trips", listed(row) == wanted)


def negative_offsets() -> None:
    """Read where a counter leads that has wrapped around: the allocation has it all."""
    places = torch.arange(PLACES, dtype=torch.uint8, device="cuda")
    whole = places.repeat(2 * HALF // PLACES + 1)[: 2 * HALF]
    middle = whole[HALF:]
    for first, end, step in LOOPS:
        wanted = expected(first, end, step, 32)
        out = torch.zeros(ROOM, dtype=torch.uint8, device="cuda")
        read[(1,)](middle, out, first, end, step, ROOM=ROOM)
        found = out.cpu().numpy()[: len(wanted)].tolist()
        below = sum(number < 0 for number in wanted)
        name = f"range({first}, {end}, {step}): {below} of {len(wanted)} reads before the tensor"
        check(name, found == [(HALF + number) % PLACES for number in wanted])


def child(name: str) -> None:
    """Launch a kernel that leaves its tensor after its counter has wrapped around."""
    if name == "summed":
        n = MOST - 99
        summed[(1,)](torch.zeros(n, device="cuda"), torch.zeros(128, device="cuda"), n, B=128)
    else:
        x, y = (torch.zeros(100_000, device="cuda") for _ in range(2))
        copied_by_grid[(8_388_600,)](x, y, 100_000, B=256)
    torch.cuda.synchronize()
    print("no error")


def illegal_accesses() -> None:
    n = MOST - 99
    calls = {
        "summed": call(summed, (1,), x=tensor(n), y=tensor(128), n=n, B=128),
        "copied_by_grid": call(
            copied_by_grid, (8_388_600,), x=tensor(100_000), y=tensor(100_000), n=100_000, B=256
        ),
    }
    for name, one in calls.items():
        command = [sys.executable, __file__, name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=CHILD_SECONDS, check=False
            )
            ended = "illegal memory access" in done.stderr
            how = "an illegal memory access" if ended else (done.stdout + done.stderr)[-300:]
        except subprocess.TimeoutExpired:
            ended, how = True, f"no end in {CHILD_SECONDS} s"
        check(f"{name}: {how}", ended)
        check(f"{name}: a violation of overflow", "violation" in verdicts(one, "overflow"))


def main() -> int:
    counters()
    counters_by_grid()
    negative_offsets()
    illegal_accesses()
    print(
        f"{len(problems)} problems on {torch.cuda.get_device_name()}, Triton {triton.__version__}"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1])
    else:
        sys.exit(main())
