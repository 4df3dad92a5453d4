"""Runs kept under a name, to compare later ones with: `.kvtrace/baselines/NAME/`, each a trace.

A baseline is an excerpt (`schema/excerpts.py`): small enough to be committed, or kept by a cache of
continuous integration. It is looked up in the working directory, which is that of the project.
"""

import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.converters.findings import read_findings
from kvtrace.schema.errors import BadSetting, TraceWriteError
from kvtrace.schema.excerpts import write_excerpt
from kvtrace.schema.kept import number_of
from kvtrace.schema.trace import Selection, open_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: What kvtrace keeps in a project.
PROJECT: Final = Path(".kvtrace")
BASELINES: Final = PROJECT / "baselines"
#: Where `kvtrace gate` and `kvtrace bisect` record.
RECORDED: Final = PROJECT / "gate"
BISECTED: Final = PROJECT / "bisect"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_NOT_COMMITTED: Final = f"/{RECORDED.name}/\n/{BISECTED.name}/\n/report/\n"  # of the action


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline as it is listed; `judged` tells whether its findings are known."""

    name: str
    commit: str | None
    started: int | None
    runs: int
    kernels: int
    launches: int
    judged: bool
    size_bytes: int


def baseline_folder(name: str) -> Path:
    """Return where a baseline is, or would be; BadSetting if that is not a name for one."""
    if _NAME.fullmatch(name) is None:
        raise BadSetting(
            f"{name!r} cannot name a baseline; use letters, digits, '_', '-' and '.', as main."
        )
    return BASELINES / name


def save_baseline(name: str, selection: Selection) -> Baseline:
    """Keep runs under a name, in place of what it named before.

    Raises:
        BadSetting: that is not a name.
        DamagedFile, NewerFormat: a file of the trace cannot be read.
        TraceWriteError: the disk is full, or the like; what was there before stays.

    """
    folder = baseline_folder(name)
    prepare_project()
    work = folder.with_name(f".{name}.{secrets.token_hex(4)}.tmp")
    before = folder.with_name(f"{work.name}.before")
    try:
        write_excerpt(selection, work)
        if folder.exists():
            folder.rename(before)
        work.rename(folder)
    except OSError as error:
        if before.exists() and not folder.exists():
            before.rename(folder)
        raise TraceWriteError(
            f"{folder} cannot be written ({error.strerror or error}); what was there stays"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)
    return _listed(folder)


def open_baseline(name: str) -> Selection:
    """Return the runs of a baseline.

    Raises:
        BadSetting: there is none of that name; it says how to make one.

    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(no_baseline(name))
    return _all_runs(open_trace(folder))


def no_baseline(name: str) -> str:
    """Say that there is no baseline of a name, and how to make one."""
    known = ", ".join(_names())
    others = f" (there are {known})" if known else ""
    return (
        f"there is no baseline {name!r} in {BASELINES}{others}; save one with kvtrace baseline "
        f"save {name} TRACE, or with kvtrace gate --save --against {name}."
    )


def has_baseline(name: str) -> bool:
    """Tell whether there is a baseline of that name; BadSetting if that is not a name for one."""
    return baseline_folder(name).is_dir()


def list_baselines() -> list[Baseline]:
    """Return all baselines by name; DamagedFile if one cannot be read."""
    return [_listed(BASELINES / name) for name in _names()]


def remove_baseline(name: str) -> None:
    """Remove a baseline.

    Raises:
        BadSetting: there is none of that name, or it is a link.

    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(no_baseline(name))
    if folder.is_symlink():
        raise BadSetting(f"{folder} is a link to a folder elsewhere; remove it yourself.")
    shutil.rmtree(folder)


def prepare_project() -> None:
    """Make the project's folder, of which git is to see the baselines alone."""
    try:
        BASELINES.mkdir(parents=True, exist_ok=True)
        ignored = PROJECT / ".gitignore"
        if not ignored.exists():
            ignored.write_text(_NOT_COMMITTED, encoding="utf-8")
    except OSError as error:
        raise TraceWriteError(
            f"{BASELINES} cannot be made ({error.strerror or error}); nothing is kept there"
        ) from error


def _names() -> list[str]:
    if not BASELINES.is_dir():
        return []
    return sorted(path.name for path in BASELINES.iterdir() if _NAME.fullmatch(path.name))


def _listed(folder: Path) -> Baseline:
    selection = _all_runs(open_trace(folder))
    commits = {run.git_commit for run in selection.runs}
    launches = number_of(selection.trace.pieces("launches", columns=["weight"]))
    return Baseline(
        name=folder.name,
        commit=commits.pop() if len(commits) == 1 else None,
        started=_started(selection.runs),
        runs=len(selection.runs),
        kernels=len(set(selection.table("kernels", ["name"])["name"].to_pylist())),
        launches=launches,
        judged=read_findings(selection.trace, selection.runs).analysed,
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


def _started(runs: "tuple[Run, ...]") -> int | None:
    return min((run.started for run in runs if run.started is not None), default=None)


def _all_runs(trace: "Trace") -> Selection:
    return Selection(trace, trace.runs)
