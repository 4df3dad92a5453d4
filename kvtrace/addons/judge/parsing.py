"""What the text of a judged file says: its functions, which of them launch kernels, its sizes.

The text alone decides what is called: code that runs could say anything. It is parsed in a confined
process: a parser takes 200 bytes of memory for one of source, and nests as deep as the source does.
"""

from __future__ import annotations

import ast
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.confining import EVENTS, EVENTS_FILE, run_confined
from kvtrace.addons.judge.errors import CannotJudge
from kvtrace.addons.judge.surroundings import reads_of
from kvtrace.addons.judge.walls import leftovers, neighbors

#: Functions that make inputs, by what files call them.
INPUTS: Final = ("inputs", "get_inputs")
#: Decorators that make kernels of functions.
_KERNELS: Final = frozenset({"jit", "autotune", "heuristics"})
_SMALLEST_BLOCK: Final = 8
_LARGEST_BLOCK: Final = 2048
_SMALLEST_LIMIT: Final = 100
_LARGEST_LIMIT: Final = 1 << 21
_MOST_BITS: Final = 21
#: Numbers of a file that sizes are taken from, and products of its launches, at most each.
_MOST_OF_A_KIND: Final = 2
_SMALLEST_CAPACITY: Final = 1 << 17
#: Arguments of a launch that are not sizes.
_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_SECONDS: Final = 8.0
_MEMORY_MB: Final = 768


@dataclass(frozen=True, slots=True)
class FileText:
    """What the text of a file says.

    Attributes:
        launching: public functions and classes that launch kernels, directly or through others.
        outermost: those of them that no other one calls.
        names: all functions and classes at the file's top.
        parameters: of each of these, of a class those of its `forward`.
        defaults: how many of the last parameters may be left out.
        blocks: powers of two in it, which may be the sizes of blocks.
        numbers: other whole numbers in it, of which it may make a difference.
        capacities: elements that launches of each function may be limited to.
        reads: what its functions and classes read of their surroundings, and `""`: the rest.
        used: names that each of them mentions.
        imported: modules that it imports.
        required: those that it imports whatever happens, and in which line.
        annotated: functions of which a parameter says what tensor it takes.
        largest: the text of `LARGEST = "rows=…"`, sizes that the file says it is for.

    """

    path: Path
    launching: tuple[str, ...]
    outermost: tuple[str, ...]
    names: frozenset[str]
    parameters: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, int]
    blocks: tuple[int, ...]
    numbers: tuple[int, ...]
    capacities: Mapping[str, tuple[int, ...]]
    reads: Mapping[str, tuple[str, ...]]
    used: Mapping[str, frozenset[str]]
    imported: tuple[str, ...]
    required: Mapping[str, int]
    annotated: frozenset[str]
    largest: str | None

    def reached(self, entry: str) -> set[str]:
        """Return the functions and classes that an entry mentions, directly or through others."""
        found, waiting = set[str](), [entry]
        while waiting:
            found.add(name := waiting.pop())
            waiting += self.used.get(name, frozenset()) & self.used.keys() - found
        return found

    def limits(self, entry: str) -> tuple[int, ...]:
        """Return whole numbers of the file, and of what an entry reaches, that may be limits."""
        reached = sorted(self.reached(entry))
        products = (each for name in reached for each in self.capacities.get(name, ()))
        return (*self.numbers[:_MOST_OF_A_KIND], *[*dict.fromkeys(products)][:_MOST_OF_A_KIND])


def read_file(path: Path) -> FileText:
    """Read a file that is to be judged, without running it.

    Raises:
        CannotJudge: it is not a regular file of at most 1 MiB, or not Python.

    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links stay as they are named
    try:
        content = neighbors.read_regular(path)
    except neighbors.UnsuitableFile as problem:
        raise CannotJudge(
            f"{path} cannot be read: it is {problem}; give a regular file of at most 1 MiB, by its "
            "own path"
        ) from problem
    except (OSError, ValueError) as error:
        raise CannotJudge(f"{path} cannot be read: {error}") from error
    told = _parsed_elsewhere(path, content)
    if "refused" in told:
        raise CannotJudge(f"{path} is not Python that can be compiled: {told['refused']}")
    return FileText(
        path, tuple(told["launching"]), tuple(told["outermost"]), frozenset(told["parameters"]),
        {name: tuple(listed) for name, listed in told["parameters"].items()}, told["defaults"],
        tuple(told["blocks"]), tuple(told["numbers"]),
        {name: tuple(listed) for name, listed in told["capacities"].items()},
        {name: tuple(listed) for name, listed in told["reads"].items()},
        {name: frozenset(listed) for name, listed in told["used"].items()},
        tuple(told["imported"]), told["required"], frozenset(told["annotated"]), told["largest"],
    )  # fmt: skip


@lru_cache(maxsize=8)
def _parsed_elsewhere(path: Path, content: bytes) -> dict[str, Any]:
    """Parse a file in a confined process, or in one with limits alone: it runs nothing of it."""
    scratch = Path(tempfile.mkdtemp())
    folder = scratch / "parsed"
    try:
        ended = run_confined(
            partial(_tell, content, str(path)), folder, seconds=_SECONDS, memory_mb=_MEMORY_MB,
            unconfined=True,
        )  # fmt: skip
        if ended.how != "whole":
            raise CannotJudge(
                f"{path} cannot be parsed: the process that does {ended.in_words}; "
                "give a smaller file"
            )
        told: dict[str, Any] = json.loads((folder / EVENTS_FILE).read_bytes())
    finally:
        leftovers.remove(scratch)
    return told


def _tell(content: bytes, name: str) -> None:
    try:
        told = _parsed(content.decode("utf-8"), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        told = {"refused": str(error) or type(error).__name__}
    line = json.dumps(told).encode()
    while line:
        line = line[os.write(EVENTS, line) :]


def _parsed(text: str, name: str) -> dict[str, Any]:
    tree = ast.parse(text, name)
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    calling = {name: node for name, node in defined.items() if not _is_kernel(node)}
    used = {name: frozenset(_names(node)) for name, node in calling.items()}
    launching = {name for name, node in calling.items() if _launches(node)}
    while more := {
        name for name in calling if name not in launching and launching & used[name]
    }:  # fmt: skip
        launching |= more
    public = [n for n in calling if n in launching and not n.startswith("_") and n not in INPUTS]
    inner = {name for name in public for other in public if other != name and name in used[other]}
    return {
        "launching": public,
        "outermost": [name for name in public if name not in inner],
        "parameters": {name: _parameters(node) for name, node in defined.items()},
        "defaults": {name: _defaults(node) for name, node in defined.items()},
        "blocks": _blocks(tree),
        "numbers": _numbers(tree),
        "capacities": {name: _capacities(node) for name, node in calling.items()},
        "reads": reads_of(tree),
        "used": {name: sorted(set(_names(node))) for name, node in defined.items()},
        "imported": sorted(_imported(tree)),
        "required": {
            name: node.lineno
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
            for name in _imported(node)
        },
        "annotated": [name for name, node in defined.items() if _is_annotated(node)],
        "largest": _largest(tree),
    }


def _parameters(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "forward":
            return [argument.arg for argument in each.args.args[1:]]
    return []


def _defaults(node: ast.FunctionDef | ast.ClassDef) -> int:
    if isinstance(node, ast.FunctionDef):
        return len(node.args.defaults)
    functions = (each for each in node.body if isinstance(each, ast.FunctionDef))
    return next((len(e.args.defaults) for e in functions if e.name == "forward"), 0)


def _is_annotated(node: ast.FunctionDef | ast.ClassDef) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    notes = (each.annotation for each in (*node.args.posonlyargs, *node.args.args))
    return any(isinstance(note, ast.Constant) and isinstance(note.value, str) for note in notes)


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


def _imported(tree: ast.AST) -> set[str]:
    """Return the modules that a file imports, by their first names."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [each.name for each in node.names]
            found |= {name.partition(".")[0] for name in names}
    return found


def _numbers(tree: ast.AST) -> tuple[int, ...]:
    """Return what may be limits of sizes, in order; a product such as `3 * 1000` is one number."""
    inner = {
        operand
        for node in ast.walk(tree)
        if _folded(node) is not None and isinstance(node, ast.BinOp)
        for operand in (node.left, node.right)
    }
    found = (_folded(node) for node in ast.walk(tree) if node not in inner)
    numbers = (n for n in found if n is not None and _SMALLEST_LIMIT <= n <= _LARGEST_LIMIT)
    return tuple(dict.fromkeys(n for n in numbers if n & (n - 1) or n > _LARGEST_BLOCK))


def _capacities(function: ast.AST) -> list[int]:
    """Return how many elements a function's launches may be limited to, by their constants.

    `kernel[(min(cdiv(n, 256), 1024),)](…, BLOCK=256)` is for 1,024 times 256 at most. Two launches
    may follow each other, as partial sums do, so products of two are tried, too.
    """
    found = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
            continue
        inner = [*_constants(node.func.slice)]
        inner += [n for e in node.keywords if e.arg not in _OPTIONS for n in _constants(e.value)]
        found.append(math.prod(n for n in inner if n > 0))
    products = {*found, *(one * other for one, other in combinations(found, 2))}
    large = sorted(n for n in products if _SMALLEST_CAPACITY < n < _LARGEST_LIMIT)
    return large[:_MOST_OF_A_KIND]


def _constants(node: ast.AST) -> Iterator[int]:
    """Give the whole numbers of an expression that divide nothing."""
    called = node.func if isinstance(node, ast.Call) else None
    if "cdiv" in (getattr(called, "attr", None), getattr(called, "id", None)):
        return
    if (number := _folded(node)) is not None:
        yield number
        return
    for each in ast.iter_child_nodes(node):
        yield from _constants(each)


def _folded(node: ast.AST) -> int | None:
    """Return the whole number that an expression of numbers is."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    one, other = _folded(node.left), _folded(node.right)
    if one is None or other is None or not 0 <= other <= _LARGEST_LIMIT:
        return None
    if isinstance(node.op, ast.Mult):
        return one * other
    if isinstance(node.op, ast.Add):
        return one + other
    if isinstance(node.op, ast.Sub):
        return one - other
    short = abs(one) <= _LARGEST_LIMIT and other <= _MOST_BITS
    if short and isinstance(node.op, ast.LShift):
        return one << other
    return one**other if short and isinstance(node.op, ast.Pow) else None


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
