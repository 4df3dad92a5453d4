"""The last lines of a recorded program that ended by an error of the GPU.

Such an error names no kernel, and the recorder is what is new: so kvtrace says what recording does,
and which recorded calls are known to be at fault. The calls are judged in another process, from the
sealed trace. A program that records with `KVTRACE_FAULTS=on` ends by SIGABRT before
(`starting.py`), except on GPUs whose driver writes no dump.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.fault import starting
from kvtrace.capture.messages import chain_of
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: Seconds until the judging process is stopped.
_PATIENCE: Final = 5.0
_MOST_KERNELS: Final = 2
_MOST_CHARACTERS: Final = 240

#: Texts of CUDA's errors 700, 710, 714 to 719, after which a context can do no more, and of HIP's:
#: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html,
#: https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html
_ERROR: Final = re.compile(
    r"an illegal memory access was encountered|misaligned address|unspecified launch failure"
    r"|device-side assert triggered|hardware stack error|an illegal instruction was encountered"
    r"|operation not supported on global/shared address space|invalid program counter"
    r"|(?:CUDA_ERROR_|cudaError|hipError)"
    r"(?i:illegal_?address|misaligned_?address|launch_?failed|launch_?failure|assert)\b"
)
#: What else is in an error of a GPU: other programs, too, have misaligned addresses.
_PLATFORM: Final = re.compile("cuda|hip", re.IGNORECASE)


def explain_failure(session: "Session", error: BaseException) -> None:
    """Print at most five lines if a recorded program was ended by an error of the GPU.

    `error` is the exception that nothing caught. Takes at most some `_PATIENCE` seconds.
    """
    text = gpu_error(error)
    if text is None or session.run_id is None:
        return
    results = _suspects(session.out, session.run_id)
    if results and not results[0]["calls"]:
        return
    lines = failure_lines(text, session.out, session.run_id, results)
    for line in lines:
        print_error(line)


def gpu_error(error: BaseException) -> str | None:
    """Return the text of the GPU's error in an exception, or in one that it came from; or None."""
    for link in chain_of(error):
        text = str(link)
        match = _ERROR.search(text)
        if match is not None and _PLATFORM.search(text) is not None:
            return match.group()
    return None


def _suspects(folder: str, run_id: str) -> list[dict[str, Any]]:
    """Return what `suspects.py` printed before its time was over."""
    command = [sys.executable, "-m", "kvtrace.addons.fault.suspects", folder, run_id]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("KVTRACE")}
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, text=True,
        ) as process:  # fmt: skip
            try:
                printed, _ = process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, _ = process.communicate()
    except OSError:  # no process can be started
        return []
    # A line that was being written when the process was stopped has no end.
    return [json.loads(line) for line in printed.splitlines(keepends=True) if line.endswith("\n")]


def failure_lines(
    error: str, folder: str, run_id: str, results: list[dict[str, Any]]
) -> Iterator[str]:
    """Yield the lines for an error of the GPU: `results` are those of `suspects`."""
    yield (
        f"{error}: recording does not cause this, as it writes to no tensor; but its own memory "
        "may move the program's, so an access outside a tensor may fail with it and not without, "
        "or the other way around"
    )
    yield from _judged_lines(results)
    named = "" if starting.is_on() else "KVTRACE_FAULTS=on, to name what died; now: "
    yield f"next: {named}kvtrace sanitize {folder} --run {run_id}"


def _judged_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the kernels at fault, and how many calls were judged with which results."""
    if len(results) < 2:
        yield f"no recorded call could be judged within {_PATIENCE:.0f} s"
        return
    total, judged = results[0]["calls"], results[1:]
    texts = {one["kernel"]: one["text"] for one in judged if one["verdict"] == "violation"}
    for text in list(texts.values())[:_MOST_KERNELS]:
        yield text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + " …"
    counts = {
        name: sum(one["verdict"] == name for one in judged)
        for name in ("violation", "proven", "unknown")
    }
    which = "" if len(judged) == total else ", the last launched first"
    more = len(texts) - _MOST_KERNELS
    others = f" (of {more} more kernel{'s' * (more > 1)})" if more > 0 else ""
    line = (
        f"{len(judged)} of {total} recorded calls judged within {_PATIENCE:.0f} s{which}: "
        f"{counts['violation']} at fault{others}, {counts['proven']} proven to stay inside their "
        f"tensors as recorded, {counts['unknown']} not decided"
    )
    if counts["proven"] == total:
        line += (
            ". So a kernel died that kvtrace does not record, as one of a library, or memory was "
            "freed before its kernel ran"
        )
    yield line
