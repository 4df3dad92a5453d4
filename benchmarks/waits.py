"""Processor time and memory of waits: import, conversion to Kineto, judgments in a row.

    python benchmarks/waits.py [--megabytes 65] [--launches 750000] [--judgments 3]

Each row is a process of its own with all that it starts; compare with another commit in turns, and
with `json.load` of the same file, as other work on the machine changes even processor time.
Memory is the largest peak of one process. Judgments are of the labeled kernel `softmax`: by
`kvtrace judge`, a process each, and by the tool of `kvtrace mcp`, first and then one after another.
"""

import argparse
import asyncio
import importlib
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from scale_trace import write_trace  # noqa: E402

from kvtrace.addons.judge.commands.mcp import Roots, Tools  # noqa: E402

_KERNEL: Final = str(ROOT / "tests/addons/judge/kernels/right/softmax.py")
_REFERENCE: Final = f"{ROOT / 'tests/addons/judge/references.py'}:softmax"


def cost(*arguments: str) -> str:
    """Return processor seconds and peak memory of a Python program, as text."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    program = [sys.executable, *arguments]
    process = os.posix_spawn(sys.executable, program, os.environ, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    assert status == 0, program
    return f"{used.ru_utime + used.ru_stime:6.2f} s {used.ru_maxrss / 1e3:6.0f} MB"


def seconds_of_tree(root: int) -> float:
    """Return the processor seconds of a process, and of its descendants, ended ones too."""
    parents, ticks = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has just ended
        parents[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), fields[11:15]
    tree = {root}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(int(tick) for pid in tree for tick in ticks[pid]) / os.sysconf("SC_CLK_TCK")


async def judge_in_a_row(count: int) -> list[float]:
    """Return the processor seconds of judgments by one server."""
    tools, seconds = (
        Tools(Roots([str(ROOT)]), 600, unconfined=False),
        [seconds_of_tree(os.getpid())],
    )
    for _ in range(count):
        answer = await tools.judge(_KERNEL, _REFERENCE)
        assert '"verdict": "right"' in answer, answer
        seconds.append(seconds_of_tree(os.getpid()))
    return [after - before for before, after in pairwise(seconds)]


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=65)
    parser.add_argument("--launches", type=int, default=750_000)
    parser.add_argument("--judgments", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, command = str(folder / "trace.json"), ("-m", "kvtrace")
        if options.megabytes:
            importlib.import_module("import").write(Path(file), options.megabytes)
            print("json.load     ", cost("-c", f"import json; json.load(open({file!r}))"))
            print("import        ", cost(*command, "import", file, "-o", str(folder / "in")))
        if options.launches:
            write_trace(folder / "run", options.launches, 1)
            output = str(folder / "out.json")
            converting = (*command, "convert", "kineto", str(folder / "run"), "-o", output)
            print("convert kineto", cost(*converting))
    if options.judgments:
        print("judge         ", cost(*command, "judge", _KERNEL, "--reference", _REFERENCE))
        for seconds in asyncio.run(judge_in_a_row(options.judgments)):
            print(f"judge by mcp   {seconds:6.2f} s")


if __name__ == "__main__":
    main()
