"""The table of ops alone says what an op is: other rooms name no op and no position."""

import ast
import re

import pytest

from tests.support.imports import MODULES
from tests.support.tree import PACKAGE

#: Rooms that ask the table of ops what an op is: no op's name in them, no operand's position.
ROOMS = ("symbolic", "verdicts", "converters", "metrics", "calls", "clients", "backends")
#: Files of these rooms that name ops all the same, and why.
NAMING_OPS = {
    "symbolic/meanings/": "the formula of each op",
    "backends/compiled_kernels/generic.py": "speaks with libtriton, where there is no IR yet",
    "backends/compiled_kernels/layouts.py": "writes a module of types for libtriton",
}
OP_NAME = re.compile(
    r"(?:arith|math|scf|cf|tt|ttg|ttng|ub|gpu|nvvm|rocdl|llvm|func|builtin)\.[\w.]*"
)
#: Attributes that begin like ops.
HINTS = {"tt.divisibility", "tt.contiguity", "tt.constancy"}


def sayings_about_ops(text: str) -> list[str]:
    """Op names, or beginnings of such, and positions among `.operands`, in a file's code."""
    found = []
    tree = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            words = set(node.value.split()) - HINTS
            found += [word for word in words if OP_NAME.fullmatch(word)]
        elif isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and not isinstance(node.value, ast.Tuple)
        ):
            operands = ("operands", "operand_types")
            inside = ast.walk(node.value)
            if any(isinstance(each, ast.Attribute) and each.attr in operands for each in inside):
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_names_and_operands_of_ops_are_said_in_the_table_of_ops(room: str) -> None:
    broken, excused = {}, set()
    for _, path in MODULES:
        place = str(path.relative_to(PACKAGE))
        found = sayings_about_ops(path.read_text("utf-8")) if place.startswith(f"{room}/") else []
        exception = next((start for start in NAMING_OPS if place.startswith(start)), None)
        if found and exception is None:
            broken[place] = found
        elif found:
            excused.add(exception)
    assert broken == {}, "use a set or an effect of kvtrace/ir/ops.py, or op.operand(NAME)"
    assert excused == {start for start in NAMING_OPS if start.startswith(f"{room}/")}


@pytest.mark.parametrize(
    "line",
    [
        'op.name == "arith.addi"',
        'op.name.startswith("arith.")',
        'NAMES = {"tt.load", "tt.store"}',
        'NAMES = "tt.load tt.store".split()',
        "value = op.operands[0]",
        "rest = op.operands[1:]",
        "kind = op.operand_types[0]",
        "first, second = op.operands",
        "left, right = (term(value) for value in op.operands)",
    ],
)
def test_what_says_a_name_or_a_position_is_seen(line: str) -> None:
    assert sayings_about_ops(line)


@pytest.mark.parametrize(
    "line",
    [
        'op.operand("left")',
        "for value in op.operands: look(value)",
        'RULE = "tt is a dialect"',
        '"""What a tt.load gives."""',
    ],
)
def test_what_asks_the_table_is_left_alone(line: str) -> None:
    assert sayings_about_ops(line) == []
