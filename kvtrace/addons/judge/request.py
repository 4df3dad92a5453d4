"""What is asked of `kvtrace judge`, and what of a file can be read without running it.

The file's text alone decides what is called: code that runs could say anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.errors import CannotJudge as CannotJudge
from kvtrace.addons.judge.parsing import INPUTS as INPUTS
from kvtrace.addons.judge.parsing import FileText as FileText
from kvtrace.addons.judge.parsing import read_file as read_file

#: Classes of files in the style of KernelBench: the candidate's, then the reference's.
MODELS: Final = ("ModelNew", "Model")
#: The file of what inputs, and number and order of calls, are drawn from.
SEED_FILE: Final = "seed"
#: The folder of inputs that a recording has.
RECORDED: Final = "recorded"
#: The file that a process leaves which examines.
EXAMINED: Final = "examined.json"
#: The message if torch or Triton cannot be imported.
MISSING: Final = "judging kernels takes torch and Triton ({}); pip install 'kvtrace[triton]'"


#: The message if nothing says what the inputs are.
NO_INPUTS: Final = (
    'nothing says what the inputs are; give --shapes "x=f32[1000, 64]", or write a function '
    "inputs() beside the reference or the kernel that returns them, or annotate the reference as "
    'def fn(x: "f32[M, N]", …)'
)


@dataclass(frozen=True, slots=True)
class Place:
    """A function or class of a file."""

    file: Path
    name: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be judged, and how.

    Attributes:
        entry: what is called with the inputs.
        reference: what gives the right results for the same inputs; None: there is none.
        shapes: inputs as `x=f32[1000, 64], eps=1e-6`, a text each set of inputs.
        target: what to compile for.
        device: whose limits the roofline takes; None: of a device that the target fits.
        at: sizes to judge by formulas alone, as `rows=20_000_000`.
        views: whether inputs are handed over as strided and as offset views, too.
        trust_host: whether results are compared that PyTorch computed after the last launch.
        seconds: how long a process may take.
        memory_mb: how much memory a process may take, with all that it starts, besides what it
            begins with.
        unconfined: whether the file is run also where this system cannot keep it from the host.
        trace: a recording that inputs are taken from.

    """

    entry: Place
    reference: Place | None = None
    shapes: tuple[str, ...] = ()
    target: str = "cuda:90"
    device: str | None = None
    at: str | None = None
    views: bool = True
    trust_host: bool = False
    seconds: float = 60.0
    memory_mb: int = 4096
    unconfined: bool = False
    trace: Path | None = None


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the processes left what they made.

    Attributes:
        inputs: Cases.
        child: The candidate's launches.
        answers: Results of the reference.
        answered: What the candidate returned.

    """

    inputs: Path
    child: Path
    answers: Path
    answered: Path


def entry_of(text: FileText, named: str | None) -> Place:
    """Return what is called: what is named, a model, or the only public function that launches.

    Raises:
        CannotJudge: there is none, or more than one.

    """
    if named is not None:
        if named not in text.names:
            raise CannotJudge(
                f"{text.path} defines no {named!r} at its top; there are "
                f"{', '.join(sorted(text.names)) or 'no functions'}"
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


def check(request: Request, text: FileText) -> None:
    """Refuse what cannot be judged, as far as the files' texts show it: before anything runs.

    Raises:
        CannotJudge: a file imports what is not installed, or nothing says what the inputs are.

    """
    reference = None if request.reference is None else read_file(request.reference.file)
    for each in (text, *(() if reference is None else (reference,))):
        for name, line in each.required.items():
            beside = (
                each.path.with_name(name).exists(),
                each.path.with_name(f"{name}.py").exists(),
            )
            if not any(beside) and find_spec(name) is None:
                raise CannotJudge(
                    f"{each.path}:{line} imports {name}, which is not installed here, and does not "
                    "lie beside it"
                )
    made = {*INPUTS} & {*text.names, *(() if reference is None else reference.names)}
    name = "" if request.reference is None else request.reference.name
    if request.shapes and request.trace is not None:
        raise CannotJudge("--shapes and --trace both say what the inputs are; give one")
    if (
        request.shapes
        or request.trace is not None
        or made
        or (reference is not None and name in reference.annotated)
    ):
        return
    raise CannotJudge(NO_INPUTS)


def seed_of(text: str) -> int:
    """Read a seed as a judgment writes it: up to 32 hexadecimal digits.

    Raises:
        CannotJudge: it is none.

    """
    if re.fullmatch(r"[0-9a-fA-F]{1,32}", text) is None:
        raise CannotJudge(
            f"--seed {text!r} is not a seed; give the 32 hexadecimal digits of seed.value in the "
            "output of an earlier judgment"
        )
    return int(text, 16)


def place_of(text: str, otherwise: Sequence[str] = ()) -> Place:
    """Read `file.py:name`; without a name, the first of `otherwise` that the file defines.

    Raises:
        CannotJudge: the file cannot be read, or has no such name.

    """
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        path, name = text, ""
    read = read_file(Path(path))
    if name:
        return entry_of(read, name)
    for each in otherwise:
        if each in read.names:
            return Place(read.path, each)
    public = sorted(n for n in read.names if not n.startswith("_") and n not in INPUTS)
    if len(public) == 1:
        return Place(read.path, public[0])
    raise CannotJudge(f"which function of {path}? Name it, as {path}:{(public or ['fn'])[0]}")
