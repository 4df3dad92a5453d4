"""Versions of Triton, installed when they are asked for and kept: each a folder with that alone.

A folder precedes what is installed (`PYTHONPATH`), so that a program runs with that
Triton and everything else as it is: torch, its own packages, and the same interpreter. Triton needs
no other package. The folders are in the user's cache, and may be removed at any time.
"""

import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import KvtraceError

_VERSION: Final = re.compile(r"\d[\w.+!-]*")
_NO_VERSION: Final = re.compile(r"no matching distribution|no version of|not find a version", re.I)


class NotInstallable(KvtraceError):
    """A version of Triton cannot be installed here."""

    slug = "not-installable"


def installed_triton(version: str) -> Path:
    """Return a folder with that version of Triton for this Python, installed if necessary.

    Raises:
        NotInstallable: there is no such version for this Python, no installer, or no network.

    """
    if _VERSION.fullmatch(version) is None:
        raise NotInstallable(f"{version!r} is not a version of Triton; give one as 3.6.0.")
    folder = cache_folder(os.environ) / f"{version}-{tag()}"
    if (folder / "triton").is_dir():
        return folder
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        work.mkdir(parents=True)
        _install(version, work)
        if not folder.exists():  # else another process was quicker
            work.rename(folder)
    except OSError as error:
        raise NotInstallable(
            f"Triton {version} cannot be kept in {folder.parent} ({error.strerror or error})."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return where versions are kept."""
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace" / "triton"


def with_triton(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that put a version of Triton in front of the installed one."""
    before = environment.get("PYTHONPATH")
    paths = [str(folder), *([before] if before else [])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _install(version: str, folder: Path) -> None:
    command = [*_installer(), "--no-deps", "--target", str(folder), f"triton=={version}"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if _NO_VERSION.search(done.stderr):
        raise NotInstallable(f"there is no Triton {version} for {_python()} on this system.")
    errors = [line for line in said if line.lower().startswith("error")] or said[-1:]
    why = errors[-1] if errors else f"exit code {done.returncode}"
    raise NotInstallable(f"Triton {version} cannot be installed: {why.rstrip('.')}.")


def _installer() -> list[str]:
    """Return the command that installs packages for this Python: uv's where it is there."""
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    raise NotInstallable(
        "neither uv nor pip is here, and one of them is needed to install a version of Triton."
    )


def tag() -> str:
    """Return what tells folders of several Pythons and machines apart."""
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"


def _python() -> str:
    return f"Python {platform.python_version()}"
