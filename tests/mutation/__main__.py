"""Change the engine in small ways, one at a time, and see whether its tests notice.

    python -m tests.mutation [--rooms verdicts,evaluate,schema,figures] [--count 40] [--seed N]

takes a sample of mutants, as many of each room, the same for one seed (the day by default), or
with `--chosen` those that `chosen.tsv` lists. Each is put into a copy of the checkout, where the
tests of its file are run, then those of its folder, until one fails; with `--day` only those of
`make test`. What survives is listed: a line that no test needs, or a change that changes nothing.
What takes longer than `--seconds` is undecided.
"""

import argparse
import datetime
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant, listed_mutants, mutants_of
from tests.support.tree import ROOT, copy_tracked

ROOMS = ("verdicts", "evaluate", "schema", "figures")
_BUILT = ("capture", "backends/cupti")
CHOSEN = Path(__file__).with_name("chosen.tsv")
#: pytest's exit code where no test has the markers.
_NO_TESTS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutant; `by` is the test that noticed it."""

    path: str
    mutant: Mutant
    answer: str
    by: str
    seconds: float

    def __str__(self) -> str:
        noticed = f" by {self.by}" if self.by else ""
        place = f"{self.path}:{self.mutant.line}"
        return f"{self.answer}: {place}: {self.mutant}{noticed} ({self.seconds:.0f} s)"


def sample(rooms: list[str], count: int, seed: int) -> list[tuple[str, Mutant]]:
    """Choose mutants, as many of each room, all lines of a room alike."""
    chance = random.Random(seed)
    chosen = []
    for place, room in enumerate(rooms):
        folder = ROOT / "kvtrace" / room
        every = [
            (str(path.relative_to(ROOT)), mutant)
            for path in sorted(folder.rglob("*.py"))
            for mutant in mutants_of(path.read_bytes())
        ]
        share = count // len(rooms) + (place < count % len(rooms))
        chosen += chance.sample(every, min(share, len(every)))
    return chosen


def tests_of(path: str) -> list[list[str]]:
    """Return the tests of a file, then all of its folder (of the nearest that has any)."""
    module = Path(path).relative_to("kvtrace")
    folder = ROOT / "tests" / module.parent
    while not list(folder.glob("test_*.py")):
        folder = folder.parent
    room = str(folder.relative_to(ROOT))
    own = sorted(str(each.relative_to(ROOT)) for each in folder.glob(f"test_{module.stem}*.py"))
    return [own, [room]] if own else [[room]]


def failed_test(copy: Path, tests: list[str], seconds: float, markers: str = "") -> str:
    """Return the first test that fails in the copy, or ""; raises TimeoutExpired."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=no"]
    options += ["-m", markers] if markers else []
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=copy,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as pytest:
        try:
            said = pytest.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(pytest.pid, signal.SIGKILL)  # and what its tests have started
            raise
    if pytest.returncode in (0, _NO_TESTS):
        return ""
    lines = said.splitlines()
    named = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return named[0] if named else f"exit code {pytest.returncode}"


def day_markers() -> str:
    """Return the expression of markers that `make test` takes, as the Makefile has it."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return re.findall(r"^FIRST_TIER := (.+)$", text, re.MULTILINE)[0]


def tried(copy: Path, path: str, mutant: Mutant, seconds: float, markers: str = "") -> Outcome:
    """Put a mutant into the copy, run its tests, and take it out again."""
    begin = time.monotonic()
    whole = (ROOT / path).read_bytes()
    (copy / path).write_bytes(mutant.of(whole))
    by, answer = "", "survived"
    try:
        for tests in tests_of(path):
            by = by or failed_test(copy, tests, seconds - (time.monotonic() - begin), markers)
        answer = "killed" if by else "survived"
    except subprocess.TimeoutExpired:
        answer = "undecided"
    finally:
        (copy / path).write_bytes(whole)
    return Outcome(path, mutant, answer, by, time.monotonic() - begin)


def main() -> int:
    """Run as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal())
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chosen", action="store_true", help="try those of chosen.tsv")
    parser.add_argument("--day", action="store_true", help="with the tests of `make test` alone")
    options = parser.parse_args()
    if options.chosen:
        chosen = listed_mutants(CHOSEN)
    else:
        chosen = sample(options.rooms.split(","), options.count, options.seed)
    markers = day_markers() if options.day else ""
    print(f"{len(chosen)} mutants, seed {options.seed}", flush=True)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_tracked(Path(folder))
        for room in _BUILT:
            for built in (ROOT / "kvtrace" / room).glob("*.so"):
                shutil.copy2(built, copy / "kvtrace" / room)
        for path, mutant in chosen:
            outcomes.append(tried(copy, path, mutant, options.seconds, markers))
            print(outcomes[-1], flush=True)
    counts = {
        answer: sum(each.answer == answer for each in outcomes)
        for answer in ("killed", "survived", "undecided")
    }
    print(", ".join(f"{number} {answer}" for answer, number in counts.items()))
    if options.json is not None:
        listed = [
            {"path": e.path, "line": e.mutant.line, "change": str(e.mutant), "answer": e.answer}
            | {"by": e.by, "seconds": round(e.seconds, 1)}
            for e in outcomes
        ]
        options.json.write_text(json.dumps(listed, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
