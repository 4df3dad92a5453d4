"""Names of ops are in the op table and in files that implement ops, and nowhere else here."""

import ast
from pathlib import Path

import kvtrace.evaluate
from kvtrace.ir.ops import KINDS

ROOM = Path(kvtrace.evaluate.__file__).parent
MEANINGS = ROOM / "dialects"


def named_ops(path: Path) -> list[str]:
    """Return the string literals of a file that are names of ops."""
    nodes = ast.walk(ast.parse(path.read_text()))
    words = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [word for word in words if isinstance(word, str) and word in KINDS]


def test_only_files_that_implement_ops_contain_op_names():
    files = [p for p in ROOM.rglob("*.py") if MEANINGS not in p.parents]

    assert len(files) > 50
    assert {str(path.relative_to(ROOM)): named_ops(path) for path in files if named_ops(path)} == {}
