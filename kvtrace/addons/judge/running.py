"""Start of the confined processes that run the user's code: the reference, then the candidate.

The functions here run in the helper process with torch (`beside.py`), which forks these processes.
The judging process also imports this module, but never torch, so slow imports are inside of
functions.
"""

from __future__ import annotations

import os
import shutil
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
from kvtrace.addons.judge.confining import ProcessResult, start_confined
from kvtrace.addons.judge.request import (
    MISSING,
    SEED_FILE,
    TRYING,
    CannotJudge,
    FileText,
    Folders,
    Request,
)
from kvtrace.addons.judge.walls import leftovers

#: Cases that a reference may be killed for, before no further ones are tried.
_MOST_KILLED: Final = 2
#: Modules that reference and candidate need, imported once before both are forked.
_LIBRARIES: Final = (
    "kvtrace.addons.judge.moves", "kvtrace.addons.judge.comparing_cases", "torch.utils._device",
    "triton.compiler.code_generator",
    "numpy.random", "numpy.ma", "kvtrace.evaluate", "kvtrace.ir.parser",
    "kvtrace.backends.compiled_kernels.generic", "kvtrace.schema.writer",
    "kvtrace.backends.triton.launches", "kvtrace.backends.triton.unfinished_kernels",
    "kvtrace.backends.triton.evaluating_launcher", "kvtrace.backends.triton.free_driver",
    "kvtrace.backends.triton.autotune_free", "kvtrace.backends.triton.absent_gpu.device",
    "kvtrace.schema.hot_rows",
)  # fmt: skip
#: Modules and packages that the examiner needs besides.
_EXAMINER: Final = (
    "kvtrace.addons.judge.examining", "kvtrace.clients.profiler", "kvtrace.symbolic.meanings",
    "kvtrace.verdicts", "kvtrace.metrics", "kvtrace.recorded_calls",
    "kvtrace.converters.findings", "pyarrow.acero",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileRun:
    """The results of the processes that ran the user's code, and durations in seconds by name.

    `candidate` is None if the reference's process did not complete. `killed` has a sentence on each
    case that the reference was killed for. `outgrown` is the label of a case that is so much larger
    than those before that the candidate may need more than its time for it, and was killed there.
    """

    reference: ProcessResult
    candidate: ProcessResult | None
    seconds: Mapping[str, float]
    killed: tuple[str, ...] = ()
    outgrown: str = ""


class _TimedRunner:
    """Runs functions in confined processes; `seconds` has the durations by name."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.seconds: dict[str, float] = {}

    def __call__(
        self, name: str, folder: Path, work: Callable[[], None], reads: Sequence[Path],
        code: Sequence[Path] = (),
    ) -> ProcessResult:  # fmt: skip
        """Run a function to its end."""
        return self.start(name, folder, work, reads, code)()

    def start(
        self, name: str, folder: Path, work: Callable[[], None], reads: Sequence[Path],
        code: Sequence[Path] = (), calls: Sequence[int] = (),
    ) -> Callable[[], ProcessResult]:  # fmt: skip
        """Start a function; return a function that waits for its end."""
        request = self._request
        finish = start_confined(
            work, folder, seconds=request.seconds, memory_mb=request.memory_mb, reads=reads,
            code=code, unconfined=request.unconfined, calls=calls,
        )  # fmt: skip

        def wait() -> ProcessResult:
            result = finish()
            self.seconds[name] = result.seconds
            return result

        return wait


def run_file(request: Request, text: FileText, names: Sequence[str], scratch: Path) -> FileRun:
    """Make inputs, and run the candidate on them.

    The file `SEED_FILE` of `scratch` has the seed of inputs and calls. The process that forks the
    candidate does not read the seed.

    Args:
        request: The judgment's request.
        text: The text of the candidate's file.
        names: Parameters of the entry.
        scratch: The folder for the folders `inputs`, `child` and `answered`.

    Raises:
        CannotJudge: torch cannot be imported.
    """
    begun = time.monotonic()
    import_libraries(request.target)
    from kvtrace.addons.judge.calling import fork_worker, read_call_results
    from kvtrace.addons.judge.child import run_candidate
    from kvtrace.addons.judge.preparing import prepare

    _cache_compilers_key()
    run_timed = _TimedRunner(request)
    run_timed.seconds["imports"] = time.monotonic() - begun
    candidate_files = [text.path]
    inputs, child = scratch / "inputs", scratch / "child"
    reference_files = [request.reference.file]
    seed = scratch / SEED_FILE
    limits = text.limits(request.entry.name)
    killed: dict[str, str] = {}
    for _ in range(_MOST_KILLED + 1):
        work = partial(prepare, request, inputs, names, text.blocks, limits, seed, [*killed])
        reference = run_timed("reference", inputs, work, [seed], reference_files)
        if reference.how == "whole" or not (inputs / TRYING).exists():
            break
        label = (inputs / TRYING).read_text(encoding="utf-8")
        killed[label] = f"{_killed_text(reference)}: {label}"
        leftovers.remove(inputs)
    sentences = tuple(killed.values())
    if reference.how != "whole":
        return FileRun(reference, None, run_timed.seconds, sentences)
    calls, calls_end = os.pipe()
    answers_end, answers = os.pipe()
    caller = fork_worker(
        os.getpid(),
        partial(
            _call_candidate, request, scratch, calls_end, answers_end, closing=(calls, answers)
        ),
    )
    for descriptor in (calls_end, answers_end):
        os.close(descriptor)
    try:
        work = partial(run_candidate, request, child)
        finish = run_timed.start("candidate", child, work, [], candidate_files, (calls, answers))
        import_all(_EXAMINER)  # on another core, while the file runs
        candidate = finish()
    finally:
        for descriptor in (calls, answers):
            os.close(descriptor)
        os.waitpid(caller, 0)  # the caller sees the end of both pipes
    late = candidate.how == "late"
    outgrown = read_call_results(scratch / "answered").outgrown if late else ""
    return FileRun(reference, candidate, run_timed.seconds, sentences, outgrown)


def _killed_text(process: ProcessResult) -> str:
    """Return the beginning of a sentence on a reference's process that did not complete."""
    return f"the reference's process {process.in_words} on a case"


def _call_candidate(
    request: Request, scratch: Path, calls_end: int, answers_end: int, *, closing: Sequence[int]
) -> None:
    from kvtrace.addons.judge.calling import call_candidate

    for descriptor in closing:
        os.close(descriptor)
    call_candidate(
        scratch / "inputs", scratch / SEED_FILE, scratch / "answered", calls_end, answers_end,
        seconds=request.seconds, most_bytes=request.memory_mb << 20,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Examination:
    """The results of the processes that compared and judged by rules, by name; and durations.

    `killed` has a sentence on each case that the reference's process did not complete.
    """

    processes: Mapping[str, ProcessResult]
    seconds: Mapping[str, float]
    killed: tuple[str, ...] = ()


def compare_results(
    request: Request, text: FileText, annotations: Mapping[str, str], seed: int, folders: Folders
) -> Examination:
    """Compute the right results after the candidate's end, and compare; also judge by rules.

    Before, right results existed nowhere, and this process had no seed. Writes into the folders
    `results` and `examiner` beside the others.

    Args:
        request: The judgment's request.
        text: The text of the candidate's file.
        annotations: Those of the reference's parameters.
        seed: The seed of values that the candidate did not have.
        folders: The folders of the other processes.
    """
    from kvtrace.addons.judge.answers import answer, read_answers
    from kvtrace.addons.judge.comparing_cases import examine_results
    from kvtrace.inputs.cases import read_cases

    run_timed = _TimedRunner(request)
    examiner, results = (folders.inputs.with_name(name) for name in ("examiner", "results"))
    recorded = (folders.inputs, folders.child, folders.answered)
    finish_examiner = run_timed.start(
        "examiner", examiner, partial(_examine, request, text, annotations, folders, examiner),
        [path for path in recorded if path.exists()],
    )  # fmt: skip
    killed: list[str] = []
    prepared = folders.inputs.parent / SEED_FILE
    reads, code = [folders.inputs, folders.child, prepared], [request.reference.file]
    cases = read_cases(folders.inputs)
    missing, folder_of_try = [*range(len(cases))], folders.answers.with_name("answering")
    folders.answers.mkdir()
    while missing:
        work = partial(
            answer, request.reference, folders.inputs, folders.child, folder_of_try, prepared,
            seed, frozenset(range(len(cases))).difference(missing),
        )  # fmt: skip
        process = run_timed("answers", folder_of_try, work, reads, code)
        for file in folder_of_try.iterdir():
            if file.is_file():
                file.replace(folders.answers / file.name)
        leftovers.remove(folder_of_try)
        if process.how == "whole":
            break
        answers = read_answers(folders.answers, len(cases))
        missing = [number for number in missing if answers[number] is None]
        killed += [f"{_killed_text(process)}: {cases[missing[0]].label}"] if missing else []
        if len(killed) > _MOST_KILLED:
            killed += [f"no case was tried after it: {len(missing) - 1} are left"]
            break
        missing = missing[1:]
    reads = [path for path in (*recorded, folders.answers) if path.exists()]
    compared = run_timed(
        "results", results, partial(examine_results, request, folders, results), reads
    )
    processes = {"results": compared, "examiner": finish_examiner()}
    return Examination(processes, run_timed.seconds, tuple(killed))


def _examine(
    request: Request, text: FileText, annotations: Mapping[str, str], folders: Folders, folder: Path
) -> None:
    from kvtrace.addons.judge.examining import examine

    with suppress(FileNotFoundError):  # without a trace, `examine` reports the reason
        shutil.copytree(folders.child / "trace", folder / "trace")
    beside = any(text.path.with_name(f"{name}.py").is_file() for name in text.imported)
    tuned = beside or any("autotune" in names for names in text.used.values())
    examine(request, text.largest, annotations, folders, folder, tuned=tuned)


def import_libraries(target: str) -> None:
    """Import the modules that reference and candidate need, and fill Triton's caches.

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

    backend_name, _, architecture = target.partition(":")
    with suppress(Exception):  # an unknown target is reported by the candidate's process
        architecture_number = int(architecture) if architecture.isdigit() else architecture
        backend = triton.compiler.make_backend(GPUTarget(backend_name, architecture_number, 32))
        backend.hash()
        backend.parse_options({})


def import_rooms(names: Iterable[str]) -> None:
    """Import modules; of packages of kvtrace, import all modules too."""
    for name in names:
        module = import_module(name)
        if name.startswith("kvtrace.") and hasattr(module, "__path__"):
            for info in walk_packages(module.__path__, f"{name}."):
                import_module(info.name)


def import_all(names: Sequence[str]) -> None:
    """Import modules, packages, and contributions of add-ons that the examiner needs."""
    import_rooms(names)
    # Add-ons' contributions are read from files that a confined process does not have.
    for group in ("rules", "devices", "profile_sections"):
        for _ in registry.loaded(group):
            pass


def _cache_compilers_key() -> None:
    """Compute Triton's cache key here, since confined processes do not have its cache file."""
    from triton.runtime import cache

    from kvtrace.backends.triton import compiler_key

    compiler_key.install()
    cache.triton_key()
