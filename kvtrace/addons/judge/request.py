"""Requests of `kvtrace judge`, and checks of a request by the files' texts, before code runs.

The text alone decides what function is called, since running code could claim anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.errors import CannotJudge as CannotJudge
from kvtrace.addons.judge.parsing import INPUTS as INPUTS
from kvtrace.addons.judge.parsing import FileText as FileText
from kvtrace.addons.judge.parsing import read_file as read_file

#: Classes of files in the style of KernelBench: the candidate's, then the reference's.
MODELS: Final = ("ModelNew", "Model")
#: The file of the seed that inputs, and number and order of calls, are drawn from.
SEED_FILE: Final = "seed"
#: The file of the constructor arguments of the reference's model.
INITIAL: Final = "initial.json"
#: The file of labels of cases that the reference works too much on.
UNTRIED: Final = "untried.json"
#: The file of the label of the case that the reference works on.
TRYING: Final = "trying"
#: Kinds of cases that are never left out.
PLAIN: Final = ("given", "values")
#: The file of problems that an examining process leaves.
EXAMINED: Final = "examined.json"
#: The message if torch or Triton cannot be imported.
MISSING: Final = "judging kernels takes torch and Triton ({}); pip install 'kvtrace[triton]'"


#: The message if neither options nor files say what the inputs are.
NO_INPUTS: Final = (
    'it is not known what the inputs are; give --shapes "x=f32[1000, 64]", or write a function '
    "inputs() in the file of the reference that returns them, or annotate the "
    'reference as def fn(x: "f32[M, N]", …)'
)
_NO_REFERENCE: Final = (
    "kvtrace judge compares results with a reference's; name a function of PyTorch that gives the "
    "right ones: --reference FILE.py:NAME. kvtrace.check_kernel judges a launch by rules alone"
)


@dataclass(frozen=True, slots=True)
class Place:
    """The name of a function or class, with its file."""

    file: Path
    name: str


@dataclass(frozen=True, slots=True)
class Request:
    """The candidate, its reference, its inputs and the limits of one judgment.

    Attributes:
        entry: the function or class that is called with the inputs.
        reference: the function or class that gives the right results for the same inputs.
        shapes: sets of inputs, each a text such as `x=f32[1000, 64], eps=1e-6`.
        target: the compilation target.
        device: the device of the roofline; None: a device that fits the target.
        at: sizes to judge by formulas alone, such as `rows=20_000_000`.
        views: also pass inputs as strided, offset and other views.
        trust_host: results of which Python or PyTorch computed a part may be right.
        seconds: time limit of each process.
        memory_mb: limit in MiB of the memory that a process may allocate after its start.
        unconfined: run the file even if this system cannot confine it.
    """

    entry: Place
    reference: Place
    shapes: tuple[str, ...] = ()
    target: str = "cuda:90"
    device: str | None = None
    at: str | None = None
    views: bool = True
    trust_host: bool = False
    seconds: float = 60.0
    memory_mb: int = 4096
    unconfined: bool = False


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders in which the processes leave their files.

    Attributes:
        inputs: Cases and their contents.
        child: The candidate's trace and log of launches.
        answers: Results of the reference.
        answered: Results that the candidate returned.
    """

    inputs: Path
    child: Path
    answers: Path
    answered: Path


def entry_of(text: FileText, named: str | None) -> Place:
    """Return the function or class of the candidate to call.

    It is `named` if given, else a class in the style of KernelBench, else the only public function
    that launches kernels.

    Raises:
        CannotJudge: no function or class qualifies, or several do.
    """
    if named is not None:
        if named not in text.names:
            raise CannotJudge(
                f"{text.path} defines no function or class {named!r}; it defines "
                f"{', '.join(sorted(text.names)) or 'none'}"
            )
        return Place(text.path, named)
    model = next((name for name in MODELS if name in text.launching), None)
    if model is not None:
        return Place(text.path, model)
    functions = text.outermost
    if len(functions) == 1:
        return Place(text.path, functions[0])
    if not functions:
        raise CannotJudge(
            f"{text.path} has no public function that launches a kernel; write one that takes "
            "tensors, launches and returns the results, or name it with --entry FILE:FUNCTION"
        )
    raise CannotJudge(
        f"{text.path} has {len(functions)} public functions that launch kernels "
        f"({', '.join(functions)}); name one with --entry {text.path.name}:{functions[0]}"
    )


def request_of(kernel: Path, reference: str | None, entry: str | None, **facts: Any) -> Request:
    """Return the request of a file, a reference such as FILE.py:NAME, and the entry's name.

    `facts` are the request's other attributes.

    Raises:
        CannotJudge: a file cannot be read, several functions qualify, or there is no reference.
    """
    place = entry_of(read_file(kernel), None if entry is None else entry.rpartition(":")[2])
    if reference is None:
        raise CannotJudge(_NO_REFERENCE)
    return Request(place, place_of(reference, ("reference", *reversed(MODELS))), **facts)


def check_request(request: Request, text: FileText) -> None:
    """Check by the files' texts that a request can be judged, before any code runs.

    Raises:
        CannotJudge: a file imports a module that is not installed, or the inputs are not known.
    """
    reference = read_file(request.reference.file)
    for file in (text, reference):
        for name, line in file.required.items():
            beside = (
                file.path.with_name(name).exists(),
                file.path.with_name(f"{name}.py").exists(),
            )
            if not any(beside) and find_spec(name) is None:
                raise CannotJudge(
                    f"{file.path}:{line} imports {name}, which is neither installed nor in the "
                    "file's folder"
                )
    annotations = reference.annotations.get(request.reference.name)
    if not (request.shapes or {*INPUTS} & reference.names or annotations):
        raise CannotJudge(NO_INPUTS)


def seed_of(text: str) -> int:
    """Return the seed that a judgment printed as up to 32 hexadecimal digits.

    Raises:
        CannotJudge: the text is not a seed.
    """
    if re.fullmatch(r"[0-9a-fA-F]{1,32}", text) is None:
        raise CannotJudge(
            f"--seed {text!r} is not a seed: up to 32 hexadecimal digits, as seed.value in the "
            "JSON of an earlier judgment"
        )
    return int(text, 16)


def place_of(text: str, otherwise: Sequence[str] = ()) -> Place:
    """Parse `file.py:name`; without a name, return the first of `otherwise` that the file has.

    If it has none of these, its only public function or class is returned.

    Raises:
        CannotJudge: the file cannot be read, does not define the name, or several names qualify.
    """
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        path, name = text, ""
    file = read_file(Path(path))
    if name:
        return entry_of(file, name)
    for candidate in otherwise:
        if candidate in file.names:
            return Place(file.path, candidate)
    public = sorted(n for n in file.names if not n.startswith("_") and n not in INPUTS)
    if len(public) == 1:
        return Place(file.path, public[0])
    raise CannotJudge(
        f"it is not known what function of {path} to call; name it, for example "
        f"{path}:{(public or ['fn'])[0]}"
    )
