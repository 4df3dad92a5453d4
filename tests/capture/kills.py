"""Kill recording programs at random moments, recover what they left, and count what is lost.

    python -m tests.capture.kills --count 200 --seed 14

Half of the kills come within a second of the first launch, by SIGKILL, SIGABRT, SIGSEGV and SIGHUP
in turn. It ends with 1 unless every directory is fine after `recover` and the median loss is below
0.2 s: so long before the kill the first launch was made that is lost. With `--rows 300` segments
are sealed all the time, so that programs are killed while they do.
"""

import argparse
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import SEGMENT_ROWS

ROOT = Path(__file__).parents[2]
KINDS = ("launches", "calls", "kernels", "busy")
SIGNALS = (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGHUP)

#: Seconds between the first launch and the kill, at most.
_SOON, _LONGEST = 1.0, 2.5
#: Seconds that half of the kills may lose.
MEDIAN_LOSS = 0.2


@dataclass(frozen=True, slots=True)
class Kill:
    """What a killed program left: launches made and kept, and seconds before the kill lost."""

    kind: str
    by: signal.Signals
    after: float
    made: int
    kept: int
    loss: float
    problems: tuple[str, ...]


def kill_one(
    kind: str, after: float, rows: int, folder: Path, by: signal.Signals = signal.SIGKILL
) -> Kill:
    """Run a program, kill it some seconds after its first launch, and recover what it left.

    It seals segments of so many rows: few, so that it is killed while it does, or as in earnest.
    """
    out, progress = folder / "out", folder / "progress"
    progress.write_bytes(bytes(8))
    command = [sys.executable, "-m", "tests.capture.killed_program", kind, out, progress, str(rows)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        while not _launches(progress):
            assert process.poll() is None, "the program ended by itself"
            time.sleep(0.001)
        first = time.monotonic()
        moments, counts = [first], [0]
        while (moment := time.monotonic()) < first + after:
            moments.append(moment)
            counts.append(_launches(progress))
            time.sleep(min(0.01, max(0.0, first + after - time.monotonic())))
    finally:
        killed = time.monotonic()
        process.send_signal(by)
        process.wait()
    made = _launches(progress)
    kept, problems = _recovered(out)
    since = moments[bisect_right(counts, kept) - 1]  # the first lost launch came after that
    loss = killed - since if kept < made else 0.0
    return Kill(kind, by, after, made, kept, loss, problems)


def _recovered(out: Path) -> tuple[int, tuple[str, ...]]:
    """Return how many launches there are after recovery, and what is inconsistent."""
    if not out.exists() or not any(out.joinpath(".journal").iterdir()):
        return 0, ()
    recover(out, force=True)
    texts = tuple(problem.text for problem in validate(out))
    numbers = open_trace(out).table("launches", columns=["seq"]).column("seq").to_pylist()
    if numbers != list(range(len(numbers))):
        texts += ("launches are missing, or there twice",)
    return len(numbers), texts


def _launches(progress: Path) -> int:
    return int.from_bytes(progress.read_bytes(), "little")


def kill_many(count: int, seed: int, rows: int = SEGMENT_ROWS) -> list[Kill]:
    """Kill programs of each kind in turn, at moments that the seed gives; `rows` as `kill_one`."""
    chance = random.Random(seed)
    kills = []
    for number in range(count):
        folder = Path(tempfile.mkdtemp(prefix="kvtrace-kills-"))
        after = chance.uniform(0.0, _SOON) if number % 2 else chance.uniform(_SOON, _LONGEST)
        turn, place = divmod(number // 2, len(KINDS))
        kill = kill_one(KINDS[place], after, rows, folder, SIGNALS[turn % len(SIGNALS)])
        kills.append(kill)
        if kill.problems:
            print(f"{number}: {kill}; kept in {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    return kills


def main() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--rows", type=int, default=SEGMENT_ROWS, help="rows of a full segment")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end the program that runs
    kills = kill_many(options.count, options.seed, options.rows)
    wrong = sum(bool(kill.problems) for kill in kills)
    median = statistics.median(kill.loss for kill in kills)
    nothing = sum(not kill.kept for kill in kills)
    print(
        f"{len(kills)} kills: {wrong} with problems, {nothing} left nothing; median loss "
        f"{median:.3f} s, most {max(kill.loss for kill in kills):.3f} s"
    )
    for kind in KINDS:
        of_kind = [kill for kill in kills if kill.kind == kind]
        made, kept = sum(kill.made for kill in of_kind), sum(kill.kept for kill in of_kind)
        losses = [kill.loss for kill in of_kind] or [0.0]
        print(
            f"{kind}: {len(of_kind)} kills, {made:,} launches made, {kept:,} kept; median loss "
            f"{statistics.median(losses):.3f} s, most {max(losses):.3f} s"
        )
    return 1 if wrong or median >= MEDIAN_LOSS else 0


if __name__ == "__main__":
    sys.exit(main())
