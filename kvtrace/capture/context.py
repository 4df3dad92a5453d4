"""Context of a run: command, directory, versions, devices, ranks, and the checked-out commit.

The background thread reads the context, and only from modules that the program has loaded already:
nothing here imports torch, starts a GPU or waits for the program.
"""

import os
import platform
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.groups import group_id, rank_facts
from kvtrace.capture.host_devices import lies_in_host_memory
from kvtrace.capture.secrets import masked
from kvtrace.capture.threads import RecordingThread

#: Seconds that one `git` command may take, and that the end of a run waits for all commands.
GIT_TIMEOUT: Final = 10.0
GIT_PATIENCE: Final = 3.0


def process_facts() -> dict[str, Any]:
    """Return columns of `runs` for this process: command, folder, pid, group id, rank."""
    environment = os.environ
    return {
        "command": shlex.join(masked(getattr(sys, "orig_argv", sys.argv))),
        "directory": _directory(),
        "pid": os.getpid(),
        "group_id": group_id(environment),
        **rank_facts(environment),
    }


def library_versions() -> dict[str, str]:
    """Return versions, by name, of Python, kvtrace, the driver and imported libraries."""
    from kvtrace.version import __version__

    versions = {
        "python": platform.python_version(),
        "kvtrace": __version__,
        "platform": platform.platform(),
    }
    for name in ("triton", "torch", "numpy", "jax"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            versions[name] = version
    torch = sys.modules.get("torch")
    for name in ("cuda", "hip", "xpu"):
        version = getattr(getattr(torch, "version", None), name, None)
        if isinstance(version, str):
            versions[name] = version
    driver = _driver_version()
    if driver is not None:
        versions["driver"] = driver
    return versions


def devices() -> list[dict[str, Any]]:
    """Return properties of each accelerator; [] before torch has started them."""
    torch = sys.modules.get("torch")
    for kind in ("cuda", "xpu"):  # AMD's devices are "cuda" as well
        interface = getattr(torch, kind, None)
        if interface is None or lies_in_host_memory(kind):
            continue  # a reported one may not exist
        if interface.is_initialized():
            return [_device(interface, index) for index in range(interface.device_count())]
    return []


def _device(interface: Any, index: int) -> dict[str, Any]:
    properties = interface.get_device_properties(index)
    return {
        "index": index,
        "name": properties.name,
        "capability": _capability(properties),
        "memory_bytes": properties.total_memory,
    }


def _capability(properties: Any) -> str | None:
    """Return the compute capability ("9.0"), or AMD's architecture ("gfx942"), else None."""
    if getattr(getattr(sys.modules.get("torch"), "version", None), "hip", None) is not None:
        return str(properties.gcnArchName).partition(":")[0]
    if hasattr(properties, "major"):
        return f"{properties.major}.{properties.minor}"
    return None


class GitFacts:
    """Commit, branch and changes of the program's Git checkout, read in a separate thread."""

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}
        self._thread = RecordingThread(self._read)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is ending and starts no threads
            self._read()

    def facts(self, wait: bool = False) -> dict[str, Any]:
        """Return the `git_…` columns of `runs` that git has reported so far.

        With `wait`, waits up to `GIT_PATIENCE` seconds for git to finish.
        """
        if wait:
            self._thread.join(GIT_PATIENCE)
        return dict(self._facts)

    def _read(self) -> None:
        for folder in _program_folders():
            output = _git(folder, "rev-parse", "--show-toplevel", "HEAD")
            if output is None:  # no checkout, or one without a commit
                continue
            root, _, commit = output.rpartition("\n")
            self._facts |= {"git_root": root, "git_commit": commit}
            self._read_status(root)
            return

    def _read_status(self, root: str) -> None:
        """Store branch and changes as `git status` prints them (git-status(1), version 2)."""
        status = _git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
        if status is None:
            return
        lines = status.splitlines()
        branch = next((line for line in lines if line.startswith("# branch.head ")), "")
        name = branch.removeprefix("# branch.head ")
        self._facts["git_branch"] = None if name in ("", "(detached)") else name
        self._facts["git_dirty"] = any(not line.startswith("#") for line in lines)


def _program_folders() -> list[str]:
    """Return folders that may lie in the program's checkout: the script's, the working directory.

    The folder of a script that is installed in a virtual environment, as pytest's, is left out:
    the environment may lie in an unrelated checkout.
    """
    folders = []
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if isinstance(script, str):
        folder = Path(script).resolve().parent
        environment = Path(sys.prefix).resolve() if sys.prefix != sys.base_prefix else None
        if environment is None or not folder.is_relative_to(environment):
            folders.append(str(folder))
    directory = _directory()
    if directory is not None and directory not in folders:
        folders.append(directory)
    return folders


def _git(folder: str, *arguments: str) -> str | None:
    environment = {key: value for key, value in os.environ.items() if key != "KVTRACE"}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        process = subprocess.run(
            ["git", "-C", folder, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None  # no git, or it hangs: the run is recorded without its commit
    if process.returncode != 0:
        return None
    return process.stdout.decode("utf-8", "replace").strip()


def _directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None  # the working directory was removed


@lru_cache(maxsize=1)
def _driver_version() -> str | None:
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.split()
    return next((word for word in words if word[:1].isdigit() and "." in word), None)
