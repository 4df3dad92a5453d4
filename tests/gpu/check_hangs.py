"""To be run by hand on a machine with an NVIDIA GPU: planted hangs, found by `kvtrace fault --now`.

    python tests/gpu/check_hangs.py FOLDER

A spin, a deadlock of two programs and a barrier that not all threads reach: first each alone; then
together, as three ranks of one job on one GPU, which are asked at once. All are launched eagerly,
and their processes wait in `torch.cuda.synchronize()`. Each has to be named with kernel, line, what
it waits for and the Python frame; the seconds until each dump begins and ends are printed. Takes
two minutes; ends with 1 if something is not as it should be.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from planted_faults import PLANTED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: What each hang waits for, in the words of `kvtrace fault`.
WAITS = {
    "spin": "a value of flag, which it reads",
    "deadlock": "a value of locks, which it reads by an atomic",
    "barrier": "other threads of its program, at a barrier",
}
#: Of three processes that hang on one GPU, driver 580.159 leaves one without a dump: in two tries
#: the barrier, in a third the spin.
ALONE_ONLY = 1
#: Seconds until a program has launched its kernel, and that it then hangs before it is asked.
STARTS, HANGS = 60, 3


def started(name: str, rank: int, ranks: int, out: Path) -> subprocess.Popen[str]:
    """Start a program that hangs as one rank; its main thread goes on to `synchronize` at once."""
    command = [
        sys.executable,
        "-m",
        "kvtrace",
        "run",
        "-o",
        str(out),
        str(HERE / "planted_faults.py"),
    ]
    path = f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
    variables = {"PYTHONPATH": path, "KVTRACE_FAULTS": "on"}
    variables |= {"RANK": str(rank), "WORLD_SIZE": str(ranks)} if ranks > 1 else {}
    return subprocess.Popen(
        [*command, name, "eager", "0"],
        env=os.environ | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def await_launch(program: subprocess.Popen[str], output: list[str]) -> None:
    """Read a program's output until it says that it has launched its kernel."""
    assert program.stdout is not None
    for line in program.stdout:
        output.append(line)
        if line.startswith("waiting"):
            return


def watch(faults: Path, begin: float, seen: dict[str, list[float]], end: threading.Event) -> None:
    """Note for each dump when it was there first, when it last grew, and its size."""
    while not end.wait(0.02):
        for dump in faults.glob("*.nvcudmp"):
            size, now = dump.stat().st_size, round(time.monotonic() - begin, 2)
            times = seen.setdefault(dump.name, [now, now, 0])
            if size > times[2]:
                times[1:] = [now, size]


def asked(names: list[str], out: Path) -> list[str]:
    """Let programs hang together, ask them, and return what is not as it should be."""
    programs = [started(name, rank, len(names), out) for rank, name in enumerate(names)]
    outputs: list[list[str]] = [[] for _ in names]
    readers = [
        threading.Thread(target=await_launch, args=pair, daemon=True)
        for pair in zip(programs, outputs, strict=True)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(STARTS)
    time.sleep(HANGS)
    seen: dict[str, list[float]] = {}
    end, begin = threading.Event(), time.monotonic()
    watcher = threading.Thread(target=watch, args=(out / "faults", begin, seen, end))
    watcher.start()
    command = [sys.executable, "-m", "kvtrace", "fault", str(out)]
    done = subprocess.run(
        [*command, "--now"], capture_output=True, text=True, cwd=ROOT, check=False
    )  # fmt: skip
    seconds = time.monotonic() - begin
    end.set()
    watcher.join()
    print(f"\n--- {', '.join(names)}: --now took {seconds:.1f} s, exit code {done.returncode}")
    print(done.stdout, done.stderr, sep="")
    for dump, (first, last, size) in sorted(seen.items()):
        print(f"{dump}: began after {first} s, last grew after {last} s, {size:,.0f} bytes at most")
    later = subprocess.run(
        [*command, "--json"], capture_output=True, text=True, cwd=ROOT, check=False
    )  # fmt: skip
    for program in programs:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # ended by the driver's abort
    for program, output in zip(programs, outputs, strict=True):
        print(*output[-1:], program.communicate()[0][-600:], sep="")
    if done.returncode != 0 or later.returncode != 0:
        return [f"exit codes {done.returncode} and {later.returncode}: {later.stderr[-300:]}"]
    found = json.loads(later.stdout)["faults"]
    return [problem for name in names for problem in problems(name, found)]


def problems(name: str, found: list[dict[str, object]]) -> list[str]:
    """Return what is wrong of one hang in the objects of `kvtrace fault --json`."""
    expected = PLANTED[name][1]
    mine = [one for one in found if one.get("kernel") and expected.kernel in str(one["kernel"])]
    if not mine:
        return [f"{name}: no kernel {expected.kernel}"]
    (fault, *_) = mine
    said = []
    if other_line := expected.missing_from(str(fault["file"]), int(str(fault["line"]))):
        said.append(f"{name}: line {other_line!r}, not {expected.line!r}")
    if WAITS[name] not in str(fault["waits_for"]):
        said.append(f"{name}: waits for {fault['waits_for']!r}, not {WAITS[name]!r}")
    threads = fault["python"]
    assert isinstance(threads, list)
    functions = [frame["function"] for frame in threads[0]["frames"]] if threads else []
    if functions[:1] != ["synchronize"] or "main" not in functions:
        said.append(f"{name}: Python is in {functions}, not in synchronize of main")
    return said


def main() -> int:
    """Run both parts, and print what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    said = [problem for name in WAITS for problem in asked([name], folder / name)]
    together = asked(list(WAITS), folder / "together")
    unnamed = {one.partition(":")[0] for one in together}
    if len(unnamed) > ALONE_ONLY or not unnamed <= set(WAITS):
        said += together
    print(*said or ["all hangs are named"], sep="\n")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
