"""Walks of commands: rooms that a reader opens, and how often he returns to one that he left.

    python benchmarks/walks.py [WALK ...] [--list]

A walk runs a command on a small trace, and takes each function of kvtrace when it is called first.
A room is a top folder of kvtrace, `schema` or `converters`, or an add-on's folder. Three counts, as
rooms/returns:

- calls: each change to a room that was opened before, also where a caller goes on after a call.
- reading: a reader keeps his place in the caller, so that going on there is no return. Words are
  not opened: the lowest floor of the house (schema, text, progress, forks, registry), the settings
  and the command line.
- language: as `reading`, with the language (`ir`) among the words.

Of the last count's returns, `methods` are to a method of a value that the reader holds already
(`ranges.size()`), whose docstring says what it returns. With --list the returns of `reading` are
printed, each with its caller.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FIXTURE: Final = ROOT / "tests/fixtures/h200/planted/good"
BROKEN: Final = ROOT / "tests/fixtures/missing_mask"
PROGRAM: Final = ROOT / "benchmarks/programs/half_written.py"
#: The command and trace of each walk; of no trace, the program's recording is taken.
WALKS: Final = {
    "profile": (["profile"], FIXTURE),
    "bounds, proven": (["sanitize", "--rule", "out-of-bounds"], FIXTURE),
    "bounds, violated": (["sanitize", "--rule", "out-of-bounds"], BROKEN),
    "race": (["sanitize", "--rule", "race"], FIXTURE),
    "memory": (["sanitize", "--rule", "uninitialized-read"], None),
}
WORDS: Final = frozenset(
    {"schema", "text", "progress", "forks", "registry", "settings", "project", "version", "cli"}
)
_FUNCTION: Final = 0x3  # flags of the code of functions, which bodies of classes lack


class Opened(NamedTuple):
    """A function at its first call: room, file and name, and those of its caller."""

    room: str
    name: str
    caller_room: str | None
    caller: str


class Walk:
    """The functions of kvtrace in the order of their first calls."""

    def __init__(self) -> None:
        self.opened: list[Opened] = []
        self._seen: set[CodeType] = set()
        self._paths: dict[str, Path | None] = {}

    def follow(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a function that is called for the first time, unless a module is being imported."""
        del argument
        code = frame.f_code
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        path = self._path(code)
        if path is None or "<" in code.co_qualname or code.co_flags & _FUNCTION != _FUNCTION:
            return
        callers = []
        caller = frame.f_back
        while caller is not None:
            if (caller_path := self._path(caller.f_code)) is not None:
                if caller.f_code.co_name == "<module>":
                    return
                callers.append((caller_path, caller.f_code.co_qualname))
            caller = caller.f_back
        caller_path, caller_name = callers[0] if callers else (None, "")
        self.opened.append(
            Opened(
                _room(path), f"{path}:{code.co_qualname}",
                None if caller_path is None else _room(caller_path), f"{caller_path}:{caller_name}",
            )
        )  # fmt: skip

    def _path(self, code: CodeType) -> Path | None:
        """Return the path of a function's file below the top of the repository, None elsewhere."""
        name = code.co_filename
        if name not in self._paths:
            path = Path(os.path.realpath(name))
            is_own = path.is_relative_to(ROOT) and not {".venv", "benchmarks"} & set(path.parts)
            self._paths[name] = path.relative_to(ROOT).with_suffix("") if is_own else None
        return self._paths[name]


def _room(path: Path) -> str:
    parts = path.parts[1:] if path.parts[0] == "kvtrace" else path.parts
    return "/".join(parts[:2]) if parts[0] == "addons" else parts[0]


def returns(
    opened: list[Opened], words: frozenset[str] = frozenset(), *, keeps_place: bool = True
) -> tuple[set[str], list[Opened]]:
    """Return the rooms of a walk, and the functions at which it returns to one of them."""
    rooms: set[str] = set()
    returned = []
    last = None
    for function in opened:
        if function.room in words:
            continue
        is_new_place = function.room != function.caller_room or not keeps_place
        if function.room != last and function.room in rooms and is_new_place:
            returned.append(function)
        rooms.add(function.room)
        last = function.room
    return rooms, returned


def _is_method(function: Opened) -> bool:
    return "." in function.name.rpartition(":")[2]


def _report(name: str, opened: list[Opened], *, listed: bool) -> None:
    calls = returns(opened, keeps_place=False)
    reading = returns(opened, WORDS)
    language = returns(opened, WORDS | {"ir"})
    counts = [f"{len(rooms)}/{len(back)}" for rooms, back in (calls, reading, language)]
    methods = sum(map(_is_method, language[1]))
    print(f"{name:18}" + "".join(f"{count:>10}" for count in counts) + f"{methods:>10}", flush=True)
    for function in reading[1] if listed else ():
        print(f"    {function.name}, from {function.caller}")


def walk(name: str, trace: Path, *, listed: bool) -> None:
    """Run a walk's command on a trace in this process, and print the walk."""
    from kvtrace.cli import main

    followed = Walk()
    sys.setprofile(followed.follow)
    threading.setprofile(followed.follow)
    with redirect_stdout(StringIO()):
        status = main([*WALKS[name][0], str(trace), "-q"])
    sys.setprofile(None)
    if status not in (0, 1):  # 1: the command found a violation
        sys.exit(f"not measured: kvtrace {WALKS[name][0][0]} ended with {status}")
    _report(name, followed.opened, listed=listed)


def main() -> None:
    """Take each walk in a process of its own, on a copy of its trace."""
    parser = argparse.ArgumentParser()
    parser.add_argument("walks", nargs="*", default=list(WALKS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--trace", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trace is not None:
        walk(options.walks[0], options.trace, listed=options.list)
        return
    print(
        f"{'walk':18}"
        + "".join(f"{title:>10}" for title in ("calls", "reading", "language", "methods"))
    )
    for name in options.walks:
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "trace"
            source = WALKS[name][1]
            if source is None:
                environment = os.environ | {"KVTRACE_DEVICE": "cpu", "KVTRACE_MEMORY": "on"}
                command = [
                    sys.executable,
                    "-m",
                    "kvtrace",
                    "run",
                    "-q",
                    "-o",
                    str(trace),
                    str(PROGRAM),
                ]
                subprocess.run(command, env=environment, check=True, cwd=folder)
            else:
                shutil.copytree(source, trace)
            command = [sys.executable, __file__, name, "--trace", str(trace)]
            subprocess.run([*command, *["--list"] * options.list], check=True, cwd=folder)


if __name__ == "__main__":
    main()
