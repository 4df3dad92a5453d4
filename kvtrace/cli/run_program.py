"""Execution of a Python program as `python` would run it, with recording started inside."""

import os
import re
import site
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from kvtrace.schema.errors import BadSetting

AUTOSTART = "kvtrace.pth"

_INTERPRETER = re.compile(r"python[\d.]*(?:\.exe)?")


def run_program(program: Sequence[str], as_module: bool, variables: Mapping[str, str]) -> NoReturn:
    """Run a script or module with additional environment variables, and exit as the program does.

    If the autostart line is installed, this process becomes the program. If not (a checkout that
    was never installed), the program runs inside this process.

    Raises:
        BadSetting: the script does not exist, or is Python itself.
    """
    name = program[0]
    if _INTERPRETER.fullmatch(Path(name).name):
        raise BadSetting(
            f"{name} is Python itself, which runs the program anyway; name the script, or with -m "
            "the module: kvtrace run -m pytest tests/"
        )
    if not as_module and not Path(name).exists():
        raise BadSetting(f"there is no script {name!r} to run")
    os.environ.update(variables)
    if _autostarts():
        _become([sys.executable, *(("-m",) if as_module else ()), *program])
    _run_inside(program, as_module)
    raise SystemExit(0)


def _autostarts() -> bool:
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return any(Path(folder, AUTOSTART).exists() for folder in folders)


def _become(command: list[str]) -> NoReturn:
    if sys.platform == "win32":  # exec there returns to the shell at once
        raise SystemExit(subprocess.call(command))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell, and the arguments are the user's own


def _run_inside(program: Sequence[str], as_module: bool) -> None:
    """Run the program in a new `__main__` module, as `python -m cProfile` does."""
    from kvtrace import _boot

    _boot.boot()
    sys.argv = list(program)
    if as_module:
        import runpy

        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as python -m does
        _execute(lambda: runpy.run_module(program[0], run_name="__main__", alter_sys=True))
        return
    script = Path(program[0])
    if script.is_dir() or script.suffix in (".zip", ".pyz"):
        import runpy

        _execute(lambda: runpy.run_path(str(script), run_name="__main__"))
        return
    script = script.absolute()
    sys.path.insert(0, str(script.parent))
    main = ModuleType("__main__")
    main.__file__ = str(script)
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    code = compile(script.read_bytes(), str(script), "exec", dont_inherit=True)
    _execute(lambda: exec(code, main.__dict__))  # noqa: S102 - the user's script is the purpose


def _execute(program: Callable[[], object]) -> None:
    """Run a program; an exception ends the process as under `python`."""
    try:
        program()
    except Exception as error:
        own_frames = 2  # this function's, and the lambda's
        trace = error.__traceback__
        for _ in range(own_frames):
            trace = trace.tb_next if trace is not None and trace.tb_next is not None else trace
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        raise SystemExit(1) from error
