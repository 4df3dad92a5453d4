"""Baselines: runs stored under a name, `.kvtrace/baselines/NAME/`, to compare later runs with.

A baseline is an excerpt of a trace (`schema/excerpts.py`): small enough to be committed, or to be
stored in a cache of continuous integration. Baselines are looked up in the working directory, which
is the project's.
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
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.weights import number_of

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: kvtrace's folder in a project.
PROJECT: Final = Path(".kvtrace")
BASELINES: Final = PROJECT / "baselines"
#: Folders that `kvtrace gate` and `kvtrace bisect` record into.
RECORDED: Final = PROJECT / "gate"
BISECTED: Final = PROJECT / "bisect"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_NOT_COMMITTED: Final = f"/{RECORDED.name}/\n/{BISECTED.name}/\n/report/\n"  # of the action


@dataclass(frozen=True, slots=True)
class Baseline:
    """Facts on a baseline, as `kvtrace baseline list` shows them.

    `judged`: its launches were checked for findings. `started`: the earliest run's start, in ns.
    """

    name: str
    commit: str | None
    started: int | None
    runs: int
    kernels: int
    launches: int
    judged: bool
    size_bytes: int


def baseline_folder(name: str) -> Path:
    """Return the folder for a baseline's name; raise BadSetting if the name is not allowed."""
    if _NAME.fullmatch(name) is None:
        raise BadSetting(
            f"{name!r} cannot name a baseline; use letters, digits, '_', '-' and '.', such as main."
        )
    return BASELINES / name


def save_baseline(name: str, selection: Selection) -> Baseline:
    """Store runs as the baseline `name`, replacing an earlier one, and return its facts.

    Raises:
        BadSetting: the name is not allowed.
        DamagedFile, NewerFormat: a file of the trace cannot be read.
        TraceWriteError: writing fails, for example on a full disk; an earlier baseline stays.
    """
    folder = baseline_folder(name)
    prepare_project()
    work = folder.with_name(f".{name}.{secrets.token_hex(4)}.tmp")
    previous = folder.with_name(f"{work.name}.before")
    try:
        write_excerpt(selection, work)
        if folder.exists():
            folder.rename(previous)
        work.rename(folder)
    except OSError as error:
        if previous.exists() and not folder.exists():
            previous.rename(folder)
        raise TraceWriteError(
            f"{folder} cannot be written ({error.strerror or error}); an earlier baseline stays"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)
    return _baseline_facts(folder)


def open_baseline(name: str) -> Selection:
    """Return the runs of a baseline.

    Raises:
        BadSetting: no baseline has that name; the text says how to make one.
    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(no_baseline(name))
    return _all_runs(open_trace(folder))


def no_baseline(name: str) -> str:
    """Return a message that the baseline `name` is missing, with the commands that save one."""
    existing_names = ", ".join(_baseline_names())
    existing = f" (there are {existing_names})" if existing_names else ""
    return (
        f"there is no baseline {name!r} in {BASELINES}{existing}; save one with kvtrace baseline "
        f"save {name} TRACE, or with kvtrace gate --save --against {name}."
    )


def has_baseline(name: str) -> bool:
    """Return whether a baseline exists; raise BadSetting if the name is not allowed."""
    return baseline_folder(name).is_dir()


def list_baselines() -> list[Baseline]:
    """Return all baselines, sorted by name; raise DamagedFile if a baseline cannot be read."""
    return [_baseline_facts(BASELINES / name) for name in _baseline_names()]


def remove_baseline(name: str) -> None:
    """Delete a baseline.

    Raises:
        BadSetting: no baseline has that name, or the baseline is a link.
    """
    folder = baseline_folder(name)
    if not folder.is_dir():
        raise BadSetting(no_baseline(name))
    if folder.is_symlink():
        raise BadSetting(f"{folder} is a link to a folder elsewhere; remove it yourself.")
    shutil.rmtree(folder)


def prepare_project() -> None:
    """Create `.kvtrace/baselines`, and a .gitignore for the other folders of `.kvtrace`."""
    try:
        BASELINES.mkdir(parents=True, exist_ok=True)
        ignored = PROJECT / ".gitignore"
        if not ignored.exists():
            ignored.write_text(_NOT_COMMITTED, encoding="utf-8")
    except OSError as error:
        raise TraceWriteError(
            f"{BASELINES} cannot be created ({error.strerror or error}); nothing is stored there"
        ) from error


def _baseline_names() -> list[str]:
    if not BASELINES.is_dir():
        return []
    return sorted(path.name for path in BASELINES.iterdir() if _NAME.fullmatch(path.name))


def _baseline_facts(folder: Path) -> Baseline:
    selection = _all_runs(open_trace(folder))
    commits = {run.git_commit for run in selection.runs}
    launches = number_of(selection.trace.pieces("launches", columns=["weight"]))
    return Baseline(
        name=folder.name,
        commit=commits.pop() if len(commits) == 1 else None,
        started=_earliest_start(selection.runs),
        runs=len(selection.runs),
        kernels=len(set(selection.table("kernels", ["name"])["name"].to_pylist())),
        launches=launches,
        judged=read_findings(selection.trace, selection.runs).analyzed,
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


def _earliest_start(runs: "tuple[Run, ...]") -> int | None:
    return min((run.started for run in runs if run.started is not None), default=None)


def _all_runs(trace: "Trace") -> Selection:
    return Selection(trace, trace.runs)
