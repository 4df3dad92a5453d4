"""Which processes belong to one job: its ranks, and the processes that a process starts.

`KVTRACE_GROUP` is handed from a process to those that it starts, and so covers one host. Ranks on
several hosts share the number that their launcher gave the job. Where nothing was handed on, ranks
that one process started share what is theirs alone: that process.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "KVTRACE_GROUP"


def group_id(environment: Mapping[str, str]) -> str | None:
    """The id that the processes of one job share; None for a run without a group."""
    inherited = environment.get(VARIABLE)
    ranks = number(environment, "WORLD_SIZE") or 1
    local = number(environment, "LOCAL_WORLD_SIZE") or ranks
    if ranks > local:
        return _job(environment) or inherited
    if inherited is not None:
        return inherited
    if "LOCAL_WORLD_SIZE" in environment or _was_started_by_python():
        return _started_by()
    return _job(environment) if ranks > 1 else None


def hand_on(environment: Any) -> bool:
    """Return the processes that are started from now on the group of this one.

    Returns whether there was none before; who called takes the variable out again in the end.
    """
    if VARIABLE in environment:
        return False
    environment[VARIABLE] = group_id(environment) or f"{os.getpid():x}-{os.urandom(6).hex()}"
    return True


def rank_facts(environment: Mapping[str, str]) -> dict[str, int]:
    """Rank and world size, as torch.distributed has them, or else the launcher's variables."""
    found = {"rank": number(environment, "RANK"), "world_size": number(environment, "WORLD_SIZE")}
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            found = {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    except (AttributeError, RuntimeError, ValueError):
        pass  # the program is ending its process group, or making it, in this moment
    return {name: value for name, value in found.items() if value is not None}


def number(environment: Mapping[str, str], name: str) -> int | None:
    """A variable that is a whole number; None where it is not."""
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _job(environment: Mapping[str, str]) -> str | None:
    """What tells a job of several hosts apart, the same on all of them."""
    job = environment.get("TORCHELASTIC_RUN_ID", "none")
    if job != "none":
        return f"job-{job}"
    if environment.get("SLURM_JOB_ID"):
        return f"job-{environment['SLURM_JOB_ID']}.{environment.get('SLURM_STEP_ID', '')}"
    address, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    return f"job-{address}-{port}" if address and port else None


def _was_started_by_python() -> bool:
    """Whether multiprocessing started this process."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _started_by() -> str:
    """The parent process, by its number and the moment of its start, which no other one shares."""
    parent = os.getppid()
    try:
        fields = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
        begun = int(fields[19])  # ticks since the machine's start (proc_pid_stat(5), field 22)
    except (OSError, ValueError, IndexError):
        begun = 0  # not Linux: the number alone has to do
    return f"{parent:x}-{begun:x}"
