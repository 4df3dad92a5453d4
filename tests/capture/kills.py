"""Kill recording programs at random moments, recover what they left, and count what is lost.

    python -m tests.capture.kills --count 500 --seed 14

ends with 1 unless every directory is fine after `recover`, and no more than one kill in a hundred
lost launches that were older than a second. With `--rows 300` segments are sealed all the time, so
that programs are killed while they do.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import SEGMENT_ROWS

ROOT = Path(__file__).parents[2]
KINDS = ("launches", "calls", "kernels")

#: Seconds between the first launch and the kill, at most; an interval of the journal is 0.5.
_LONGEST = 2.5
_SECOND = 1.0


@dataclass(frozen=True, slots=True)
class Kill:
    """What a killed program left: launches made, made a second before the kill, and kept."""

    kind: str
    after: float
    made: int
    made_before: int
    kept: int
    problems: tuple[str, ...]

    @property
    def lost_too_much(self) -> bool:
        """Whether a launch is lost that was older than a second."""
        return self.kept < self.made_before


def kill_one(kind: str, after: float, rows: int, folder: Path) -> Kill:
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
        samples = [(time.monotonic(), 0)]
        end = samples[0][0] + after
        while time.monotonic() < end:
            samples.append((time.monotonic(), _launches(progress)))
            time.sleep(min(0.01, max(0.0, end - time.monotonic())))
    finally:
        process.kill()
        killed = time.monotonic()
        process.wait()
    before = max(count for moment, count in samples if moment <= max(killed - _SECOND, end - after))
    made = _launches(progress)
    if not (out / ".journal").exists():
        return Kill(kind, after, made, before, 0, ())
    recover(out, force=True)
    texts = tuple(problem.text for problem in validate(out))
    kept = open_trace(out).table("launches", columns=["seq"]).num_rows
    return Kill(kind, after, made, before, kept, texts)


def _launches(progress: Path) -> int:
    return int.from_bytes(progress.read_bytes(), "little")


def kill_many(count: int, seed: int, rows: int = SEGMENT_ROWS) -> list[Kill]:
    """Kill programs of each kind in turn, at moments that the seed gives; `rows` as `kill_one`."""
    chance = random.Random(seed)
    kills = []
    for number in range(count):
        folder = Path(tempfile.mkdtemp(prefix="kvtrace-kills-"))
        kind = KINDS[number % len(KINDS)]
        kill = kill_one(kind, chance.uniform(0.0, _LONGEST), rows, folder)
        kills.append(kill)
        if kill.problems or kill.lost_too_much:
            print(f"{number}: {kill}; kept in {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    return kills


def main() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--rows", type=int, default=SEGMENT_ROWS, help="rows of a full segment")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end the program that runs
    kills = kill_many(options.count, options.seed, options.rows)
    wrong = sum(bool(kill.problems) for kill in kills)
    late = sum(kill.lost_too_much for kill in kills)
    print(f"{len(kills)} kills: {wrong} with problems, {late} lost more than a second's launches")
    for kind in KINDS:
        of_kind = [kill for kill in kills if kill.kind == kind]
        made, kept = sum(kill.made for kill in of_kind), sum(kill.kept for kill in of_kind)
        print(f"{kind}: {len(of_kind)} kills, {made:,} launches made, {kept:,} kept")
    return 1 if wrong or late * 100 > len(kills) else 0


if __name__ == "__main__":
    sys.exit(main())
