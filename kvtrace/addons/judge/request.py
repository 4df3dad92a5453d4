"""What is asked of `kvtrace judge`, and what of a file can be read without running it.

The file's text alone decides what is called: code that runs could say anything.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import KvtraceError

#: Functions that make inputs, by what files call them.
INPUTS: Final = ("inputs", "get_inputs")
#: Classes of files in the style of KernelBench: the candidate's, then the reference's.
MODELS: Final = ("ModelNew", "Model")
#: Decorators that make kernels of functions.
_KERNELS: Final = frozenset({"jit", "autotune", "heuristics"})
#: The file of what inputs, and number and order of calls, are drawn from.
SEED_FILE: Final = "seed"
#: The file that a process leaves which examines.
EXAMINED: Final = "examined.json"
#: The message if torch or Triton cannot be imported.
MISSING: Final = "judging kernels takes torch and Triton ({}); pip install 'kvtrace[triton]'"
_SMALLEST_BLOCK: Final = 8
_LARGEST_BLOCK: Final = 2048


class CannotJudge(KvtraceError):
    """A file cannot be judged."""

    slug = "cannot-judge"


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


@dataclass(frozen=True)
class FileText:
    """What the text of a file says.

    Attributes:
        launching: public functions and classes that launch kernels, directly or through others.
        names: all functions and classes at the file's top.
        blocks: powers of two in it, which may be the sizes of blocks.
        largest: the text of `LARGEST = "rows=…"`, sizes that the file says it is for.

    """

    path: Path
    launching: tuple[str, ...]
    names: frozenset[str]
    blocks: tuple[int, ...]
    largest: str | None = field(default=None)


def read_file(path: Path) -> FileText:
    """Read a file that is to be judged, without running it.

    Raises:
        CannotJudge: it cannot be read, or is not a Python.

    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as they are named
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CannotJudge(f"{path} cannot be read: {error}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotJudge(f"{path} is not Python that can be compiled: {error}") from error
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    calling = {name: node for name, node in defined.items() if not _is_kernel(node)}
    launching = {name for name, node in calling.items() if _launches(node)}
    while more := {
        name
        for name, node in calling.items()
        if name not in launching and launching & set(_names(node))
    }:
        launching |= more
    public = [n for n in calling if n in launching and not n.startswith("_") and n not in INPUTS]
    return FileText(path, tuple(public), frozenset(defined), _blocks(tree), _largest(tree))


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
    others = set(text.launching)
    functions = [name for name in text.launching if _is_outermost(name, others, text)]
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


def _is_outermost(name: str, launching: set[str], text: FileText) -> bool:
    """Whether no other public function that launches calls this one."""
    tree = ast.parse(text.path.read_text(encoding="utf-8"))
    return not any(
        isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.name in launching
        and node.name != name
        and name in set(_names(node))
        for node in tree.body
    )


def _is_kernel(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(_KERNELS & set(_names(decorator)) for decorator in node.decorator_list)


def _launches(node: ast.AST) -> bool:
    """Whether something is subscripted and then called: `kernel[grid](…)`."""
    return any(
        isinstance(each, ast.Call)
        and (
            isinstance(each.func, ast.Subscript)
            or (isinstance(each.func, ast.Attribute) and each.func.attr == "run")
        )
        for each in ast.walk(node)
    )


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def _blocks(tree: ast.AST) -> tuple[int, ...]:
    numbers = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) is int
        and _SMALLEST_BLOCK <= node.value <= _LARGEST_BLOCK
        and node.value & (node.value - 1) == 0
    }
    return tuple(sorted(numbers))


def _largest(tree: ast.Module) -> str | None:
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "LARGEST"
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            return node.value.value
    return None
