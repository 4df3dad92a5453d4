"""Groups of processes that form one job: ranks, and the processes that a process starts.

Child processes inherit `KVTRACE_GROUP`, which covers one host. Ranks on several hosts share the
job's number from their launcher. Ranks without either are grouped by their parent process.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "KVTRACE_GROUP"


def group_id(environment: Mapping[str, str]) -> str | None:
    """Return the id that a job's processes share; None for a run without a group.

    A job of several hosts has its launcher's id; on one host, the inherited or the parent's id.
    """
    inherited = environment.get(VARIABLE)
    ranks = number(environment, "WORLD_SIZE") or 1
    ranks_on_host = number(environment, "LOCAL_WORLD_SIZE") or ranks
    if ranks > ranks_on_host:
        return _job(environment) or inherited
    if inherited is not None:
        return inherited
    if "LOCAL_WORLD_SIZE" in environment or _was_started_by_python():
        return _parent_id()
    return _job(environment) if ranks > 1 else None


def pass_group_on(environment: Any) -> bool:
    """Set `KVTRACE_GROUP`, so that child processes belong to this process's group.

    Return whether the variable was set, and so has to be removed at the end; False if it was
    inherited.
    """
    if VARIABLE in environment:
        return False
    environment[VARIABLE] = group_id(environment) or f"{os.getpid():x}-{os.urandom(6).hex()}"
    return True


def rank_facts(environment: Mapping[str, str]) -> dict[str, int]:
    """Return `rank` and `world_size` from torch.distributed, or else from RANK and WORLD_SIZE.

    Values that are not known are left out.
    """
    facts = {"rank": number(environment, "RANK"), "world_size": number(environment, "WORLD_SIZE")}
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            facts = {"rank": distributed.get_rank(), "world_size": distributed.get_world_size()}
    except (AttributeError, RuntimeError, ValueError):
        pass  # the program is ending its process group, or making it, in this moment
    return {name: value for name, value in facts.items() if value is not None}


def number(environment: Mapping[str, str], name: str) -> int | None:
    """Return the value of a variable as a whole number; None if it is missing or no number."""
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _job(environment: Mapping[str, str]) -> str | None:
    """Return the id that a job's launcher gives it on each host, or None without a launcher."""
    job = environment.get("TORCHELASTIC_RUN_ID", "none")
    if job != "none":
        return f"job-{job}"
    if environment.get("SLURM_JOB_ID"):
        return f"job-{environment['SLURM_JOB_ID']}.{environment.get('SLURM_STEP_ID', '')}"
    address, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    return f"job-{address}-{port}" if address and port else None


def _was_started_by_python() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _parent_id() -> str:
    """Return an id of the parent process, unique on the host: process number and start time."""
    parent = os.getppid()
    try:
        fields = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        start = int(fields[19])  # ticks since the machine's start (proc_pid_stat(5), field 22)
    except (OSError, ValueError, IndexError):
        start = 0  # not Linux: only the process number is known
    return f"{parent:x}-{start:x}"
