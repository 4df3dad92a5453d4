"""Facts from the text of a judged file: its functions, those that launch kernels, and sizes.

The text alone decides what function is called, since running code could claim anything. The text is
parsed in a confined process, since a parser needs 200 bytes of memory per byte of source, and
recurses as deep as the source nests.
"""

from __future__ import annotations

import ast
import copy
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
_LARGEST_BLOCK: Final = 1 << 15
#: Powers of two beyond this may be limits as well as blocks.
_LARGEST_USUAL_BLOCK: Final = 2048
_SMALLEST_LIMIT: Final = 100
_LARGEST_LIMIT: Final = 1 << 21
_MOST_BITS: Final = 21
#: Numbers of a file, and products of its launches, that sizes are taken from, at most each.
_MOST_OF_A_KIND: Final = 2
_SMALLEST_CAPACITY: Final = 1 << 17
#: Calls whose constant arguments limit what is reached, and limits of such numbers.
_LIMITING: Final = ("min", "minimum", "range", "static_range")
_SMALLEST_COMPARED: Final = 3
_MOST_TRIPS: Final = 64
#: Larger numbers that launches pass to kernels are blocks.
_MOST_PASSED: Final = 31
_MOST_OF_KINDS: Final = (4, 2, 4)
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
        parameters: parameters of each function at the file's top, or of a class's `forward`.
        defaults: number of parameters with defaults, by function or class.
        blocks: powers of two in the text, which may be block sizes.
        numbers: other integers in the text, which may be limits, and products with blocks.
        capacities: numbers of elements that the launches of a function may be limited to.
        reads: reads of surroundings by function or class; `""`: the rest of the file.
        used: names that each function or class mentions.
        imported: imported modules.
        required: modules imported unconditionally, with their lines.
        annotations: texts that annotate parameters, as of tensors, by function and parameter.
        largest: the text of `LARGEST = "rows=…"`, the largest sizes that the file is for.
    """

    path: Path
    launching: Sequence[str]
    outermost: Sequence[str]
    parameters: Mapping[str, Sequence[str]]
    defaults: Mapping[str, int]
    blocks: Sequence[int]
    numbers: Sequence[int]
    capacities: Mapping[str, Sequence[int]]
    reads: Mapping[str, Sequence[str]]
    used: Mapping[str, Sequence[str]]
    imported: Sequence[str]
    required: Mapping[str, int]
    annotations: Mapping[str, Mapping[str, str]]
    largest: str | None

    @property
    def names(self) -> frozenset[str]:
        """All functions and classes at the file's top."""
        return frozenset(self.parameters)

    def reached(self, entry: str) -> set[str]:
        """Return the names of `entry` and of all functions and classes that it uses."""
        reached, pending = set[str](), [entry]
        while pending:
            reached.add(name := pending.pop())
            pending += {*self.used.get(name, ())} & self.used.keys() - reached
        return reached

    def limits(self, entry: str) -> tuple[int, ...]:
        """Return sizes at which the entry may behave differently.

        These are integers of the file, and two products of constants in launches that the entry
        reaches.
        """
        reached = sorted(self.reached(entry))
        products = (number for name in reached for number in self.capacities.get(name, ()))
        products = (n for n in products if n not in self.numbers)
        return (*self.numbers, *[*dict.fromkeys(products)][:_MOST_OF_A_KIND])


def read_file(path: Path) -> FileText:
    """Return the facts from the text of a file, without running the file.

    Raises:
        CannotJudge: the file is not a regular file of at most 1 MiB, or not Python.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links are not resolved
    try:
        content = neighbors.read_regular(path)
    except neighbors.UnsuitableFile as problem:
        raise CannotJudge(
            f"{path} cannot be judged, since it is {problem}; it must be a regular file of at most "
            "1 MiB"
        ) from problem
    except (OSError, ValueError) as error:
        raise CannotJudge(f"{path} cannot be read: {error}") from error
    facts = _parse_confined(path, content)
    if "refused" in facts:
        raise CannotJudge(f"{path} cannot be compiled as Python: {facts['refused']}")
    return FileText(path, **facts)


@lru_cache(maxsize=8)
def _parse_confined(path: Path, content: bytes) -> dict[str, Any]:
    """Parse a file in a confined process, and return the facts as JSON; cached.

    If the system cannot confine it, the process only has limits, since no code of the file runs.
    """
    scratch = Path(tempfile.mkdtemp())
    folder = scratch / "parsed"
    try:
        result = run_confined(
            partial(_write_facts, content, str(path)), folder, seconds=_SECONDS,
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


def _write_facts(content: bytes, name: str) -> None:
    try:
        facts = _facts_of(content.decode("utf-8"), name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        facts = {"refused": str(error) or type(error).__name__}
    line = json.dumps(facts).encode()
    while line:
        line = line[os.write(EVENTS, line) :]


def _facts_of(text: str, name: str) -> dict[str, Any]:
    tree = ast.parse(text, name)
    definitions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    functions = {name: node for name, node in definitions.items() if not _is_kernel(node)}
    used_names = {name: frozenset(_names_used(node)) for name, node in functions.items()}
    launching = {name for name, node in functions.items() if _launches(node)}
    while callers := {
        name for name in functions if name not in launching and launching & used_names[name]
    }:  # fmt: skip
        launching |= callers
    public = [n for n in functions if n in launching and not n.startswith("_") and n not in INPUTS]
    called_by_others = {
        name
        for name in public
        for caller in public
        if caller != name and name in used_names[caller]
    }
    blocks = _possible_blocks(tree)
    return {
        "launching": public,
        "outermost": [name for name in public if name not in called_by_others],
        "parameters": {name: _parameters(node) for name, node in definitions.items()},
        "defaults": {name: _count_defaults(node) for name, node in definitions.items()},
        "blocks": blocks,
        "numbers": _possible_limits(tree, blocks),
        "capacities": {name: _capacities(node) for name, node in functions.items()},
        "reads": reads_of(tree),
        "used": {name: sorted(set(_names_used(node))) for name, node in definitions.items()},
        "imported": sorted(_imported_modules(tree)),
        "required": {
            name: node.lineno
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
            for name in _imported_modules(node)
        },
        "annotations": {name: _annotations(node) for name, node in definitions.items()},
        "largest": _largest_sizes(tree),
    }


def _parameters(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "forward":
            return [argument.arg for argument in member.args.args[1:]]
    return []


def _count_defaults(node: ast.FunctionDef | ast.ClassDef) -> int:
    if isinstance(node, ast.FunctionDef):
        return len(node.args.defaults)
    methods = (member for member in node.body if isinstance(member, ast.FunctionDef))
    return next((len(m.args.defaults) for m in methods if m.name == "forward"), 0)


def _annotations(node: ast.FunctionDef | ast.ClassDef) -> dict[str, str]:
    if not isinstance(node, ast.FunctionDef):
        return {}
    notes = {a.arg: a.annotation for a in (*node.args.posonlyargs, *node.args.args)}
    return {
        name: note.value
        for name, note in notes.items()
        if isinstance(note, ast.Constant) and isinstance(note.value, str)
    }


def _is_kernel(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(_KERNELS & set(_names_used(decorator)) for decorator in node.decorator_list)


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


def _names_used(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _possible_blocks(tree: ast.AST) -> tuple[int, ...]:
    numbers = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) is int
        and _SMALLEST_BLOCK <= node.value <= _LARGEST_BLOCK
        and node.value & (node.value - 1) == 0
    }
    return tuple(sorted(numbers))


def _imported_modules(tree: ast.AST) -> set[str]:
    """Return the names of imported modules up to the first dot."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            modules |= {name.partition(".")[0] for name in names}
    return modules


def _possible_limits(tree: ast.AST, blocks: Sequence[int]) -> list[int]:
    """Return integers at which code may behave otherwise, of three kinds at most 4, 2 and 4.

    These are operands of comparisons and minima, and trips of loops; other integers from 100, of
    which powers of two up to 2048 are blocks; and products of trips with blocks, those with the
    largest and the smallest block first: `range(6)` in steps of 32 reaches 192 elements. `3 * 1000`
    counts as 3000, and names of constants count as their numbers.
    """
    tree = _NamedConstants(tree).visit(copy.deepcopy(tree))
    nodes = [*ast.walk(tree)]
    operands = {
        operand
        for node in nodes
        if _constant_value(node) is not None and isinstance(node, ast.BinOp)
        for operand in (node.left, node.right)
    }
    integers = [n for node in nodes if node not in operands and (n := _constant_value(node))]
    compared = [n for node in nodes for n in map(_constant_value, _limiting(node)) if n]
    passed = [n for node in nodes for n in map(_constant_value, _passed_to_kernel(node)) if n]
    products = [
        trips * block
        for block in (*blocks[-1:], *blocks[:1], *blocks[1:-1])
        for trips in dict.fromkeys((*compared, *(n for n in passed if n <= _MOST_PASSED)))
        if 1 < trips <= _MOST_TRIPS and trips != block and trips * block <= _LARGEST_BLOCK
    ]
    kinds = [
        [n for n in compared if _SMALLEST_COMPARED <= n <= _LARGEST_LIMIT],
        [n for n in integers if _SMALLEST_LIMIT <= n <= _LARGEST_LIMIT
         and (n & (n - 1) or n > _LARGEST_USUAL_BLOCK)],
        products,
    ]  # fmt: skip
    limits: dict[int, None] = {}
    for numbers, most in zip(kinds, _MOST_OF_KINDS, strict=True):
        new = dict.fromkeys(n for n in numbers if n not in limits and n not in blocks)
        limits |= dict.fromkeys([*new][:most])
    return [*limits]


def _limiting(node: ast.AST) -> Sequence[ast.AST]:
    """Return the operands of a comparison, and the arguments of a minimum or of a loop's range."""
    if isinstance(node, ast.Compare):
        return node.left, *node.comparators
    if not isinstance(node, ast.Call):
        return ()
    name = getattr(node.func, "attr", getattr(node.func, "id", None))
    return node.args if name in _LIMITING else ()


def _passed_to_kernel(node: ast.AST) -> Sequence[ast.AST]:
    """Return the values that a launch such as `kernel[grid](…, TRIPS=4)` passes by keyword."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
        return ()
    return [k.value for k in node.keywords if k.arg not in _OPTIONS]


class _NamedConstants(ast.NodeTransformer):
    """Replaces names that a file assigns once, to an integer, by this integer: `2 * sms`."""

    def __init__(self, tree: ast.AST) -> None:
        assigned: dict[str, list[int | None]] = {}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                for name in (inner for inner in ast.walk(target) if isinstance(inner, ast.Name)):
                    value = _constant_value(node.value) if name is target else None
                    assigned.setdefault(name.id, []).append(value)
        self._numbers = {name: values[0] for name, values in assigned.items() if len(values) == 1}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        number = self._numbers.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if number is None else ast.copy_location(ast.Constant(number), node)


def _capacities(function: ast.AST) -> list[int]:
    """Return the numbers of elements that a function's launches may be limited to, at most two.

    `kernel[(min(cdiv(n, 256), 1024),)](…, BLOCK=256)` handles at most 1,024 times 256 elements. Two
    launches may work in succession, as in partial sums, so products of two launches are included.
    """
    capacities = []
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
            continue
        constants = [*_constants(node.func.slice)]
        constants += [n for value in _passed_to_kernel(node) for n in _constants(value)]
        capacities.append(math.prod(n for n in constants if n > 0))
    products = {*capacities, *(left * right for left, right in combinations(capacities, 2))}
    large = sorted(n for n in products if _SMALLEST_CAPACITY < n < _LARGEST_LIMIT)
    return large[:_MOST_OF_A_KIND]


def _constants(node: ast.AST) -> Iterator[int]:
    """Yield the integer constants of an expression, except those in arguments of `cdiv`."""
    called = node.func if isinstance(node, ast.Call) else None
    if "cdiv" in (getattr(called, "attr", None), getattr(called, "id", None)):
        return
    if (number := _constant_value(node)) is not None:
        yield number
        return
    for child in ast.iter_child_nodes(node):
        yield from _constants(child)


def _constant_value(node: ast.AST) -> int | None:
    """Return the value of an integer expression of constants, else None."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _constant_value(node.left), _constant_value(node.right)
    if left is None or right is None or not 0 <= right <= _LARGEST_LIMIT:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    is_small = abs(left) <= _LARGEST_LIMIT and right <= _MOST_BITS
    if is_small and isinstance(node.op, ast.LShift):
        return left << right
    return left**right if is_small and isinstance(node.op, ast.Pow) else None


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
