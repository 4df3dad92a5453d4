"""`kvtrace doctor`: the parts of kvtrace that work on this machine, and how to fix the others."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from kvtrace import registry
from kvtrace.analysis.machine import Part
from kvtrace.capture.hot_choice import why_unavailable
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import PACKAGES
from kvtrace.text import json_text


def machine_parts(environment: Mapping[str, str]) -> list[Part]:
    """Return the rows of `kvtrace doctor`; imports torch and Triton if they are installed."""
    return [
        _python(), _autostart(), _hot_path(), *_triton(), _timeline(), _judging(),
        _rendering(), _folder(environment), *_left_in_memory(), _settings(environment),
        *(part(environment) for _, part in registry.loaded("machine_parts")),
    ]  # fmt: skip


def _python() -> Part:
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if platform.system() == "Linux":
        return Part("system", "ok", system)
    return Part("system", "missing", system, "traces are read here; record them on Linux")


def _autostart() -> Part:
    """Return whether kvtrace.pth is installed, by which Python starts recording with KVTRACE."""
    files = [Path(path) / "kvtrace.pth" for path in sys.path if path.endswith("-packages")]
    installed = next((file for file in files if file.is_file()), None)
    if installed is not None:
        return Part("autostart", "ok", f"{installed} starts recording if KVTRACE is set")
    return Part(
        "autostart", "broken", "kvtrace.pth is missing beside the installed packages",
        "install with pip; or record with kvtrace run, or kvtrace.capture in the program",
    )  # fmt: skip


def _hot_path() -> Part:
    reason, advice = why_unavailable()
    if reason:
        return Part("hot path", "broken", reason, advice)
    return Part("hot path", "ok", "the C extension records a launch in about half a microsecond")


def _triton() -> Iterator[Part]:
    if find_spec("triton") is None or find_spec("torch") is None:
        yield Part(
            "Triton", "missing", "torch or Triton is not installed",
            "to record, pip install 'kvtrace[triton]'; reading traces needs neither",
        )  # fmt: skip
        return
    from kvtrace.backends.compiled_kernels.versions import (
        OLDEST,
        OLDEST_TORCH,
        untested,
        version_of,
    )

    triton: Any = import_module("triton")
    torch: Any = import_module("torch")
    versions = f"Triton {triton.__version__}, torch {torch.__version__}"
    if version_of(triton) < OLDEST:
        yield Part("Triton", "broken", versions, f"install Triton {_text(OLDEST)} or newer")
    elif version_of(torch) < OLDEST_TORCH:
        yield Part(
            "Triton", "broken", versions,
            f"install torch {_text(OLDEST_TORCH)} or newer: with this one a launch costs ten times "
            "as much, and KVTRACE_DEVICE=cpu does nothing",
        )  # fmt: skip
    else:
        yield Part("Triton", "ok", versions, untested(triton))
        yield from _dispatcher_part()
    if torch.cuda.is_available():
        yield Part("GPU", "ok", f"{torch.cuda.get_device_name(0)}: kernels run on it")
    else:
        yield Part(
            "GPU", "missing", "no GPU: kernels on CPU tensors run in kvtrace's evaluator",
            'KVTRACE_DEVICE=cpu makes tensors for "cuda" on the CPU',
        )  # fmt: skip


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _dispatcher_part() -> Iterator[Part]:
    """Yield a row if kernel[grid] launches from C, as in a fork of Triton; recording slows it."""
    from kvtrace.backends.triton.dispatchers import bypasses_run

    if bypasses_run(import_module("triton.runtime.jit").JITFunction.__getitem__):
        yield Part(
            "dispatcher", "ok",
            "this Triton's kernel[grid] launches from C, without run; a recording makes it call "
            "run, and each launch takes the time of run's part in Python",
        )  # fmt: skip


def _timeline() -> Part:
    from kvtrace.settings import missing

    package = missing(("numpy",))
    if package is not None:
        return Part("timeline", "missing", f"KVTRACE_MODE=timeline needs {package}")
    from kvtrace.backends.cupti.library import Cupti, CuptiUnavailable

    try:
        return Part("timeline", "ok", f"{Cupti().path} times kernels (KVTRACE_MODE=timeline)")
    except CuptiUnavailable as error:
        return Part("timeline", "missing", str(error))


def _judging() -> Part:
    packages = [name for name in PACKAGES if find_spec(name) is None]
    if packages:
        return Part(
            "analysis", "missing", f"{', '.join(packages)} not installed; recording needs none",
            "pip install kvtrace, here or where traces are analyzed",
        )  # fmt: skip
    return Part("analysis", "ok", f"Z3 {version('z3-solver')}, DuckDB {version('duckdb')}")


def _rendering() -> Part:
    browser = next(filter(None, map(shutil.which, ("xdg-open", "open", "chromium"))), None)
    if browser is None:
        return Part(
            "browser", "missing", "no browser found",
            "kvtrace report -o report.html writes a page to open elsewhere",
        )  # fmt: skip
    return Part("browser", "ok", f"kvtrace view opens pages with {browser}")


def _folder(environment: Mapping[str, str]) -> Part:
    """Return whether the trace's folder can be written to and has at least 1 GiB free."""
    folder = Path(environment.get("KVTRACE") or ".")
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free / (1 << 30)
    except OSError as error:
        return Part(
            "folder", "broken", f"{folder} cannot be written to: {error.strerror}",
            "set KVTRACE to another folder",
        )  # fmt: skip
    if free < 1:
        return Part("folder", "broken", f"{folder} has {free:.1f} GiB free", "free some space")
    return Part("folder", "ok", f"{folder.resolve()} can be written to, {free:.0f} GiB are free")


def _left_in_memory() -> Iterator[Part]:
    """Yield a row if killed runs have left launches in memory, for `kvtrace trace recover`."""
    from kvtrace.capture.spool import dead_memories
    from kvtrace.text import plural, size

    memories = [memory for memory, _ in dead_memories()]
    if memories:
        size_bytes = sum(memory.stat().st_size for memory in memories if memory.exists())
        yield Part(
            "memory", "ok",
            f"{plural(len(memories), 'killed run')} left {size(size_bytes)} of newest launches in "
            f"{memories[0].parent}, for a week, or a day if the trace was moved or deleted",
            "kvtrace trace recover TRACE seals a killed run, also of a trace that was moved",
        )  # fmt: skip


def _settings(environment: Mapping[str, str]) -> Part:
    from kvtrace.settings import settings_in_force

    settings, problems = settings_in_force(environment)
    if problems:
        return Part(
            "settings", "broken", "; ".join(problems), "kvtrace doctor --settings shows them"
        )
    where = environment.get("KVTRACE")
    return Part("settings", "ok", f"mode {settings.mode}" + (f", into {where}" if where else ""))


def command(
    settings: Annotated[
        bool,
        Option("--settings", help="Print the settings of a recording started here, instead"),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of text")] = False,
) -> int:
    """Show what works on this machine: recording, the device timeline, judging, rendering.

    Each line is ok, missing (no error, but a feature is unavailable) or broken, with what to do.
    The exit code is 1 if something is broken.

    A setting comes from a variable, else from [tool.kvtrace] of the nearest pyproject.toml, as
    strict = true, else it has its default. With --settings, an unknown variable or an invalid value
    is reported, with the nearest known name; the exit code is then 1.

    Example:
        kvtrace doctor
        KVTRACE_TENSORS=int kvtrace doctor --settings

    """
    from kvtrace.cli.options import say
    from kvtrace.cli.settings import print_settings

    if settings:
        return print_settings(as_json=as_json)
    parts = machine_parts(os.environ)
    if as_json:
        print(json_text("doctor", {"parts": [asdict(part) for part in parts]}))
    else:
        width = max(len(part.name) for part in parts)
        for part in parts:
            say(f"{part.state:<8} {part.name:<{width}}  {part.text}")
            if part.advice:
                say(f"{'':<8} {'':<{width}}  → {part.advice}")
    return int(any(part.state == "broken" for part in parts))
