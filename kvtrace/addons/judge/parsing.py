"""The text of a judged file: its functions, those that launch kernels, and its sizes.

The text alone decides which function is called: code that runs could say anything. The text is
parsed in a confined process, since a parser takes 200 bytes of memory per byte of source, and
recurses as deep as the source nests.
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

#: Names of functions that make inputs.
INPUTS: Final = ("inputs", "get_inputs")
#: Decorators of kernels.
_KERNELS: Final = frozenset({"jit", "autotune", "heuristics"})
_SMALLEST_BLOCK: Final = 8
_LARGEST_BLOCK: Final = 2048
_SMALLEST_LIMIT: Final = 100
_LARGEST_LIMIT: Final = 1 << 21
_MOST_BITS: Final = 21
#: Numbers of a file, and products of its launches, that sizes are taken from, at most each.
_MOST_OF_A_KIND: Final = 2
_SMALLEST_CAPACITY: Final = 1 << 17
#: Arguments of a launch that are not sizes.
_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_SECONDS: Final = 8.0
_MEMORY_MB: Final = 768


@dataclass(frozen=True, slots=True)
class FileText:
    """Facts from the text of a file.

    Attributes:
        launching: public functions and classes that launch kernels, directly or through others.
        outermost: launching functions and classes that no other launching one calls.
        names: all functions and classes at the file's top.
        parameters: parameters of each function, or of a class's `forward`.
        defaults: number of parameters with defaults, by function or class.
        blocks: powers of two in the text, which may be block sizes.
        numbers: other integers in the text, which may be limits.
        capacities: numbers of elements that the launches of a function may be limited to.
        reads: reads of surroundings by function or class; `""`: the rest of the file.
        used: names that each function or class mentions.
        imported: imported modules.
        required: modules imported unconditionally, with their lines.
        annotated: functions with a parameter whose annotation describes a tensor.
        largest: the text of `LARGEST = "rows=…"`, the largest sizes that the file is for.

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
        reached, pending = set[str](), [entry]
        while pending:
            reached.add(name := pending.pop())
            pending += self.used.get(name, frozenset()) & self.used.keys() - reached
        return reached

    def limits(self, entry: str) -> tuple[int, ...]:
        """Return possible limits: integers of the file and of functions that an entry reaches."""
        reached = sorted(self.reached(entry))
        products = (number for name in reached for number in self.capacities.get(name, ()))
        return (*self.numbers[:_MOST_OF_A_KIND], *[*dict.fromkeys(products)][:_MOST_OF_A_KIND])


def read_file(path: Path) -> FileText:
    """Read the text of a file that is to be judged, without running the file.

    Raises:
        CannotJudge: the file is not a regular file of at most 1 MiB, or not Python.

    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links are not resolved
    try:
        content = neighbors.read_regular(path)
    except neighbors.UnsuitableFile as problem:
        raise CannotJudge(
            f"{path} cannot be read: it is {problem}; give a regular file of at most 1 MiB, by its "
            "own path"
        ) from problem
    except (OSError, ValueError) as error:
        raise CannotJudge(f"{path} cannot be read: {error}") from error
    facts = _parsed_elsewhere(path, content)
    if "refused" in facts:
        raise CannotJudge(f"{path} is not Python that can be compiled: {facts['refused']}")
    return FileText(
        path, tuple(facts["launching"]), tuple(facts["outermost"]), frozenset(facts["parameters"]),
        {name: tuple(listed) for name, listed in facts["parameters"].items()}, facts["defaults"],
        tuple(facts["blocks"]), tuple(facts["numbers"]),
        {name: tuple(listed) for name, listed in facts["capacities"].items()},
        {name: tuple(listed) for name, listed in facts["reads"].items()},
        {name: frozenset(listed) for name, listed in facts["used"].items()},
        tuple(facts["imported"]), facts["required"], frozenset(facts["annotated"]),
        facts["largest"],
    )  # fmt: skip


@lru_cache(maxsize=8)
def _parsed_elsewhere(path: Path, content: bytes) -> dict[str, Any]:
    """Parse a file in a confined process; an unconfined one with limits will do: no code runs."""
    scratch = Path(tempfile.mkdtemp())
    folder = scratch / "parsed"
    try:
        result = run_confined(
            partial(_write_parsed, content, str(path)), folder, seconds=_SECONDS,
            memory_mb=_MEMORY_MB, unconfined=True,
        )  # fmt: skip
        if result.how != "whole":
            raise CannotJudge(
                f"{path} cannot be parsed: the parser's process {result.in_words}; "
                "give a smaller file"
            )
        facts: dict[str, Any] = json.loads((folder / EVENTS_FILE).read_bytes())
    finally:
        leftovers.remove(scratch)
    return facts


def _write_parsed(content: bytes, name: str) -> None:
    try:
        facts = _parsed(content.decode("utf-8"), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        facts = {"refused": str(error) or type(error).__name__}
    line = json.dumps(facts).encode()
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
    while callers := {
        name for name in calling if name not in launching and launching & used[name]
    }:  # fmt: skip
        launching |= callers
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
        "largest": _largest_sizes(tree),
    }


def _parameters(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "forward":
            return [argument.arg for argument in member.args.args[1:]]
    return []


def _defaults(node: ast.FunctionDef | ast.ClassDef) -> int:
    if isinstance(node, ast.FunctionDef):
        return len(node.args.defaults)
    methods = (member for member in node.body if isinstance(member, ast.FunctionDef))
    return next((len(m.args.defaults) for m in methods if m.name == "forward"), 0)


def _is_annotated(node: ast.FunctionDef | ast.ClassDef) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    notes = (argument.annotation for argument in (*node.args.posonlyargs, *node.args.args))
    return any(isinstance(note, ast.Constant) and isinstance(note.value, str) for note in notes)


def _is_kernel(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(_KERNELS & set(_names(decorator)) for decorator in node.decorator_list)


def _launches(node: ast.AST) -> bool:
    """Return whether code contains a launch such as `kernel[grid](…)`."""
    return any(
        isinstance(inner, ast.Call)
        and (
            isinstance(inner.func, ast.Subscript)
            or (isinstance(inner.func, ast.Attribute) and inner.func.attr == "run")
        )
        for inner in ast.walk(node)
    )


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


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
    """Return the top-level names of imported modules."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            modules |= {name.partition(".")[0] for name in names}
    return modules


def _numbers(tree: ast.AST) -> tuple[int, ...]:
    """Return integers that may be limits, in order; a product such as `3 * 1000` is one number."""
    operands = {
        operand
        for node in ast.walk(tree)
        if _folded(node) is not None and isinstance(node, ast.BinOp)
        for operand in (node.left, node.right)
    }
    values = (_folded(node) for node in ast.walk(tree) if node not in operands)
    numbers = (n for n in values if n is not None and _SMALLEST_LIMIT <= n <= _LARGEST_LIMIT)
    return tuple(dict.fromkeys(n for n in numbers if n & (n - 1) or n > _LARGEST_BLOCK))


def _capacities(function: ast.AST) -> list[int]:
    """Return the numbers of elements that a function's launches may be limited to.

    `kernel[(min(cdiv(n, 256), 1024),)](…, BLOCK=256)` handles at most 1,024 times 256 elements. Two
    launches may follow each other, as partial sums do, so products of two are included.
    """
    capacities = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
            continue
        constants = [*_constants(node.func.slice)]
        constants += [
            n for k in node.keywords if k.arg not in _OPTIONS for n in _constants(k.value)
        ]
        capacities.append(math.prod(n for n in constants if n > 0))
    products = {*capacities, *(one * other for one, other in combinations(capacities, 2))}
    large = sorted(n for n in products if _SMALLEST_CAPACITY < n < _LARGEST_LIMIT)
    return large[:_MOST_OF_A_KIND]


def _constants(node: ast.AST) -> Iterator[int]:
    """Yield the integers of an expression, except for divisors in `cdiv`."""
    called = node.func if isinstance(node, ast.Call) else None
    if "cdiv" in (getattr(called, "attr", None), getattr(called, "id", None)):
        return
    if (number := _folded(node)) is not None:
        yield number
        return
    for child in ast.iter_child_nodes(node):
        yield from _constants(child)


def _folded(node: ast.AST) -> int | None:
    """Return the value of an integer expression of constants, else None."""
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
    is_small = abs(one) <= _LARGEST_LIMIT and other <= _MOST_BITS
    if is_small and isinstance(node.op, ast.LShift):
        return one << other
    return one**other if is_small and isinstance(node.op, ast.Pow) else None


def _largest_sizes(tree: ast.Module) -> str | None:
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
