"""What runs code of the user, in confined processes: the reference's, then the candidate's.

It is one process with torch that forks them, executed apart from the one that judges (`beside.py`),
which imports its own modules at the same time, and never torch: see `judge_file.py`. It imports
this file, too, to ask for `run_file`, so what takes long is imported where that runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Final

from kvtrace import registry
from kvtrace.addons.judge.confining import ProcessResult, run_confined
from kvtrace.addons.judge.request import (
    INPUTS,
    MISSING,
    RECORDED,
    SEED_FILE,
    CannotJudge,
    FileText,
    Folders,
    Request,
    read_file,
)
from kvtrace.verdicts.rules.added import added_rules

#: What reference and candidate import, once for both.
_LIBRARIES: Final = (
    "kvtrace.addons.judge.moves", "kvtrace.addons.judge.outputs", "torch.utils._device",
    "triton.compiler.code_generator",
    "numpy.random", "numpy.ma", "kvtrace.evaluate", "kvtrace.ir.parser",
    "kvtrace.backends.compiled_kernels.generic", "kvtrace.schema.writer",
    "kvtrace.verdicts.contents.index_arguments",
    "kvtrace.backends.triton.launches", "kvtrace.backends.triton.unfinished_kernels",
    "kvtrace.backends.triton.evaluating_launcher", "kvtrace.backends.triton.free_driver",
    "kvtrace.backends.triton.autotune_free", "kvtrace.backends.triton.absent_gpu.device",
    "kvtrace.capture.launch_rows",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileRun:
    """How the processes ended that ran the user's code, and the seconds that they took.

    `candidate` is None where the reference's process did not come to its end.
    """

    reference: ProcessResult
    candidate: ProcessResult | None
    seconds: Mapping[str, float]


class _Timed:
    """Runs functions in confined processes, and keeps how long each took."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.seconds: dict[str, float] = {}

    def __call__(
        self, name: str, folder: Path, work: Callable[[], None], reads: Sequence[Path],
        code: Sequence[Path] = (), calls: Sequence[int] = (),
    ) -> ProcessResult:  # fmt: skip
        request = self._request
        told = run_confined(
            work, folder, seconds=request.seconds, memory_mb=request.memory_mb, reads=reads,
            code=code, unconfined=request.unconfined, calls=calls,
        )  # fmt: skip
        self.seconds[name] = told.seconds
        return told


def run_file(request: Request, text: FileText, names: Sequence[str], scratch: Path) -> FileRun:
    """Make inputs, and run the candidate on them; all is left in `scratch`.

    The file `SEED_FILE` of it says what inputs, their order and number are drawn from. No process
    that the candidate is forked from reads it.

    Args:
        request: What is judged.
        text: What the candidate's file says.
        names: Parameters of what is called.
        scratch: Folder of which `inputs` and `child` are made.

    Raises:
        CannotJudge: torch cannot be imported, or nothing says what the inputs are.

    """
    begun = time.monotonic()
    import_libraries(request.target)
    from kvtrace.addons.judge.calling import fork_worker
    from kvtrace.addons.judge.child import run_candidate
    from kvtrace.addons.judge.reference import ask_for_inputs, prepare

    _take_compilers_key()
    ended = _Timed(request)
    ended.seconds["imports"] = time.monotonic() - begun
    own = [text.path]
    asked = None if request.trace is None else scratch / RECORDED
    function = _function_with_inputs(request, text)
    if function is not None:
        asked = scratch / "asked"
        work = partial(ask_for_inputs, text.path, function, asked)
        done = ended("inputs", asked, work, [], own)
        if done.how != "whole":
            raise CannotJudge(f"{function}() of {text.path} {done.in_words}: {done.last_line}")
    inputs, child = scratch / "inputs", scratch / "child"
    theirs = [] if request.reference is None else [request.reference.file]
    seed = scratch / SEED_FILE
    limits = text.limits(request.entry.name)
    work = partial(prepare, request, inputs, asked, names, text.blocks, limits, seed)
    reads = [seed] if asked is None else [asked, seed]
    reference = ended("reference", inputs, work, reads, theirs)
    if reference.how != "whole":
        return FileRun(reference, None, ended.seconds)
    told, telling = os.pipe()
    hearing, answering = os.pipe()
    caller = fork_worker(
        os.getpid(),
        partial(_hand_over, request, scratch, telling, hearing, closing=(told, answering)),
    )
    for each in (telling, hearing):
        os.close(each)
    try:
        work = partial(run_candidate, request, child)
        candidate = ended("candidate", child, work, [], own, calls=(told, answering))
    finally:
        for each in (told, answering):
            os.close(each)
        os.waitpid(caller, 0)  # it sees the end of both pipes
    return FileRun(reference, candidate, ended.seconds)


def _hand_over(
    request: Request, scratch: Path, telling: int, hearing: int, *, closing: Sequence[int]
) -> None:
    from kvtrace.addons.judge.calling import hand_over

    for each in closing:
        os.close(each)
    hand_over(
        scratch / "inputs", scratch / SEED_FILE, scratch / "answered", telling, hearing,
        seconds=request.seconds, most_bytes=request.memory_mb << 20,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Examination:
    """How the processes ended that made right results, and compared; and their seconds."""

    answers: ProcessResult | None
    results: ProcessResult | None
    seconds: Mapping[str, float]


def compare_results(request: Request, seed: int, folders: Folders, folder: Path) -> Examination:
    """Make right results now that the candidate has ended, and compare; `folder` has the result.

    Until now what is right existed nowhere, and no process that forked the candidate had the seed.
    """
    from kvtrace.addons.judge.answers import answer
    from kvtrace.addons.judge.outputs import examine_results

    ended = _Timed(request)
    answers = None
    if request.reference is not None:
        seeds = (folders.inputs.parent / SEED_FILE, seed)
        places = (folders.inputs, folders.child, folders.answers)
        work = partial(answer, request.reference, *places, *seeds)
        reads, code = [folders.inputs, folders.child, seeds[0]], [request.reference.file]
        answers = ended("answers", folders.answers, work, reads, code)
        if answers.how != "whole":
            return Examination(answers, None, ended.seconds)
    left = (folders.inputs, folders.child, folders.answers, folders.answered)
    reads = [each for each in left if each.exists()]
    results = ended("results", folder, partial(examine_results, request, folders, folder), reads)
    return Examination(answers, results, ended.seconds)


def _function_with_inputs(request: Request, text: FileText) -> str | None:
    """Return which function of the candidate's file makes inputs, if nothing else has any."""
    reference = request.reference
    if (
        request.shapes
        or request.trace
        or (reference is not None and set(INPUTS) & read_file(reference.file).names)
    ):
        return None
    return next((name for name in INPUTS if name in text.names), None)


def import_libraries(target: str) -> None:
    """Import and work out what both processes need.

    Raises:
        CannotJudge: torch or Triton cannot be imported.

    """
    try:
        import torch
        import triton
    except ImportError as error:
        raise CannotJudge(MISSING.format(error)) from error
    del torch
    import_rooms(_LIBRARIES)
    from triton.backends.compiler import GPUTarget

    kind, _, architecture = target.partition(":")
    with suppress(Exception):  # an unknown target is reported by the candidate's process
        number = int(architecture) if architecture.isdigit() else architecture
        backend = triton.compiler.make_backend(GPUTarget(kind, number, 32))
        backend.hash()
        backend.parse_options({})


def import_rooms(names: Iterable[str]) -> None:
    """Import modules, and all that is in kvtrace's rooms among them: once, before forks."""
    for name in names:
        module = import_module(name)
        if name.startswith("kvtrace.") and hasattr(module, "__path__"):
            for each in walk_packages(module.__path__, f"{name}."):
                import_module(each.name)


def import_all(names: Sequence[str]) -> None:
    """Import modules and rooms, and what add-ons add, which takes longer."""
    # Judges of whole runs import their rooms when they judge.
    judges = (each.findings.__module__ for _, each in added_rules() if each.findings is not None)
    import_rooms((*names, *(module.rpartition(".")[0] for module in judges)))
    # What add-ons add is read from files that a confined process does not have.
    for group in ("devices", "profile_sections"):
        for _ in registry.loaded(group):
            pass


def _take_compilers_key() -> None:
    """Read Triton's key, which is remembered in a home that a confined process does not have."""
    from triton.runtime import cache

    from kvtrace.backends.triton import compiler_key

    compiler_key.install()
    cache.triton_key()
