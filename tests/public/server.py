"""A process that has imported torch and Triton, and forks one for each case.

Reads jobs from standard input, one JSON object a line, and answers each with a line: the exit code
of the process that did it, negative for the signal that ended it. A job's result is written to the
file that it names. Started by `runner.py`; TRITON_INTERPRET decides at its start what it can do.
"""

import gc
import json
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

#: What every process needs; imported once.
IMPORTED = ("triton.language", "kvtrace.clients.sanitizer", "kvtrace.converters.findings")


def serve() -> None:
    """Do jobs until standard input ends."""
    import torch

    from tests.public import work

    for module in IMPORTED:
        import_module(module)
    torch.set_num_threads(1)
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _do(json.loads(line), work)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _do(job: dict[str, Any], work: Any) -> None:
    """Do one job and end this process; the clock ends it where it takes too long."""
    signal.alarm(job["limit"])
    folder = Path(job["folder"])
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 1
    try:
        function = getattr(work, job["what"])
        result = function(job["package"], job["case"], folder, *job["more"])
        Path(job["result"]).write_text(json.dumps(result))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
