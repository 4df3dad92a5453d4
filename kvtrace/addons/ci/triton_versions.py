"""Comparison of one program's kernels under several versions of Triton.

A program uses a version if its folder precedes the installed packages (in `PYTHONPATH`); the
interpreter, torch and all other packages stay the same. Triton needs no other package. The folders
may be deleted at any time.
"""

import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kvtrace.addons.ci.comparing import Analyses, Comparison, Tell, compare_runs
from kvtrace.addons.ci.recording import record_program
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.output_folders import renew_output_folder
from kvtrace.schema.trace import Selection
from kvtrace.text import wrapped


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a program under one version of Triton.

    `problem`: the reason why nothing was recorded. `change`: the comparison with the first version
    that could be run; None for that version itself.
    """

    version: str
    problem: str | None = None
    exit_code: int | None = None
    change: Comparison | None = None

    @property
    def is_judged(self) -> bool:
        """The program launched kernels, and every rule could be judged."""
        return self.problem is None and not (self.change and self.change.gate.missing())


def run_versions(
    versions: Sequence[str],
    command: str,
    rules: Sequence[str],
    out: Path,
    analyses: Analyses,
    tell: Tell,
) -> list[Outcome]:
    """Run and record a command under each version of Triton, and return the results in order.

    Args:
        versions: Versions of the package; others are compared with the first.
        command: The shell command that runs the program.
        rules: Rules as `--fail-on` takes them, or none.
        out: The folder for traces and the program's output, replaced if it is an earlier one.
        analyses: Analyses of runs.
        tell: Receives a sentence about each problem.

    Raises:
        BadSetting: no version is given, or a version twice; a text is not a rule; or the folder
            `out` has other files.
    """
    if not versions or len(set(versions)) < len(versions):
        raise BadSetting("--triton needs versions of Triton without repetition: 3.5.1,3.6.0.")
    renew_output_folder(out, rf"{_VERSION.pattern}(\.log)?")
    outcomes = []
    reference: tuple[str, Selection] | None = None
    for version in versions:
        try:
            folder = installed_triton(version)
        except NotInstallable as error:
            tell(str(error))
            outcomes.append(Outcome(version, problem="not installed"))
            continue
        code, selection = _run_version(version, folder, command, out, tell)
        if selection is None:
            outcomes.append(Outcome(version, "no kernel", code))
            continue
        with (out / f"{version}.log").open("a", encoding="utf-8") as log:
            log.writelines(f"kvtrace: {line}\n" for line in analyses.complete(selection))
        change = None
        if reference is not None:
            change = compare_runs(reference[1], selection, (reference[0], version), rules, analyses)
        reference = reference or (version, selection)
        outcomes.append(Outcome(version, None, code, change))
    return outcomes


def _run_version(
    version: str, folder: Path, command: str, out: Path, tell: Tell
) -> tuple[int, Selection | None]:
    log = out / f"{version}.log"
    with log.open("wb") as output, TemporaryDirectory(prefix="kvtrace-cache-") as cache:
        # An empty cache makes compile times comparable. Compilation is completed in the program,
        # since later it would use the Triton that is installed here.
        variables = {"TRITON_CACHE_DIR": cache, "KVTRACE_COMPILE": "full"}
        variables |= with_triton(folder, os.environ)
        program_run = record_program(
            ["sh", "-c", command], out / version, variables=variables, output=output, apart=True
        )
    if code := program_run.exit_code:
        tell(f"under Triton {version} the program ended with exit code {code}, see {log}")
    selection = program_run.selection
    if selection is None:
        tell(f"under Triton {version} no recorded kernel was launched, see {log}")
        return program_run.exit_code, None
    other_versions = {run.versions.get("triton") for run in selection.runs} - {version}
    if other_versions:
        names = ", ".join(map(str, other_versions))
        tell(f"the program should run under Triton {version}, but imported Triton {names}")
    return program_run.exit_code, selection


def versions_table(outcomes: Sequence[Outcome], width: int = 80) -> list[str]:
    """Return a table with the verdicts on the program and the rules under each version."""
    rows = [("Triton", "program", "rules")]
    rows += [(o.version, _program_result(o), _rules_result(o)) for o in outcomes]
    version_width, program_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [
        line
        for version, program, rules in rows
        for line in wrapped(
            f"{version:<{version_width}}  {program:<{program_width}}  {rules}", width
        )
    ]


def _program_result(outcome: Outcome) -> str:
    if outcome.exit_code is None:
        return outcome.problem or "-"
    if outcome.exit_code:
        return f"wrong: exit code {outcome.exit_code}"
    return outcome.problem or "right"


def _rules_result(outcome: Outcome) -> str:
    if outcome.change is None or not outcome.change.gate.rules:
        return "-"
    if missing := outcome.change.gate.missing():
        return f"{', '.join(missing)} cannot be judged"
    return outcome.change.headline


# -- installation of versions ----------------------------------------------------------------------


_VERSION: Final = re.compile(r"\d[\w.+!-]*")
_NO_VERSION: Final = re.compile(r"no matching distribution|no version of|not find a version", re.I)


class NotInstallable(KvtraceError):
    """A version of Triton cannot be installed."""

    slug = "not-installable"


def installed_triton(version: str) -> Path:
    """Return a folder with a version of Triton for this Python, installed if necessary.

    Raises:
        NotInstallable: no such version for this Python, no installer, or no network.
    """
    if _VERSION.fullmatch(version) is None:
        raise NotInstallable(f"{version!r} is not a version of Triton; an example is 3.6.0.")
    folder = cache_folder(os.environ) / f"{version}-{tag()}"
    if (folder / "triton").is_dir():
        return folder
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        work.mkdir(parents=True)
        _install(version, work)
        if not folder.exists():  # otherwise another process was quicker
            work.rename(folder)
    except OSError as error:
        raise NotInstallable(
            f"Triton {version} cannot be stored in {folder.parent} ({error.strerror or error})."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which `installed_triton` makes a subfolder for each version."""
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace" / "triton"


def with_triton(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return PYTHONPATH with a folder of `installed_triton` in front, to add to an environment."""
    existing = environment.get("PYTHONPATH")
    paths = [str(folder), *([existing] if existing else [])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _install(version: str, folder: Path) -> None:
    command = [*_installer(), "--no-deps", "--target", str(folder), f"triton=={version}"]
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode == 0:
        return
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    if _NO_VERSION.search(result.stderr):
        raise NotInstallable(
            f"there is no Triton {version} for Python {platform.python_version()} on this system."
        )
    errors = [line for line in lines if line.lower().startswith("error")] or lines[-1:]
    reason = errors[-1] if errors else f"exit code {result.returncode}"
    raise NotInstallable(f"Triton {version} cannot be installed: {reason.rstrip('.')}.")


def _installer() -> list[str]:
    """Return the start of a command that installs packages for this Python, by uv or else pip.

    Raises:
        NotInstallable: neither uv nor pip is installed.
    """
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if _has_pip():
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    raise NotInstallable(
        "installing a version of Triton needs uv or pip, and neither is installed."
    )


def _has_pip() -> bool:
    """Return whether pip is installed; asked past setuptools' finder, which changes distutils."""
    return PathFinder.find_spec("pip") is not None


def tag() -> str:
    """Return the Python version, operating system and machine type as part of a folder's name."""
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"
