"""Tests are self-contained: none imports another, and what several need is written once."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.support.tree import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))
#: Programs that are copied to a machine with a GPU, each as the one file that it is.
PROGRAMS = ("gpu",)
#: A body of so many lines is a helper; a shorter one is a name for an expression.
LEAST_LINES = 2


#: In programs that are strings, too.
IMPORT = re.compile(r"\bfrom (tests[\w.]*) import ([^\n]*)|\bimport (tests\.[\w.]+)")


def test_no_module_imports_a_test_module() -> None:
    broken = []
    others = (path for folder in ("benchmarks", "corpus") for path in (ROOT / folder).rglob("*.py"))
    for path in [*TESTS, *sorted(others)]:
        for package, names, module in IMPORT.findall(path.read_text(encoding="utf-8")):
            if re.search(r"\.test_\w+$", package or module) or re.search(r"\btest_", names):
                broken.append(f"{path.relative_to(ROOT)} imports {package or module}")
    assert broken == []


def helpers_of(text: str) -> Iterator[tuple[str, str]]:
    """Name, and arguments with body, of each helper of a module: no test, and no kernel."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("test_"):
            continue
        if any("jit" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if body and body[-1].end_lineno - body[0].lineno + 1 >= LEAST_LINES:
            yield node.name, "\n".join(map(ast.unparse, [node.args, *body]))


@pytest.mark.costly("parses every file of tests")
def test_no_helper_is_written_twice() -> None:
    places = defaultdict(list)
    for path in TESTS:
        name = path.relative_to(ROOT / "tests").as_posix()
        if not name.startswith(PROGRAMS):
            for helper, text in helpers_of(path.read_text(encoding="utf-8")):
                places[text].append(f"{name}: {helper}")
    assert [found for found in places.values() if len(found) > 1] == []


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('def b(x):\n    """Another."""\n    y = x + 1  # a reason\n    return y', True),
        ("@pytest.fixture\ndef b(x):\n    y = x + 1\n    return y", True),
        ("def b(x=1):\n    y = x + 1\n    return y", False),
        ("def b(x):\n    y = x + 2\n    return y", False),
        ("def b(x): return x + 1", False),
        ("@triton.jit\ndef b(x):\n    y = x + 1\n    return y", False),
        ("def test_b(x):\n    y = x + 1\n    return y", False),
    ],
)
def test_what_is_written_twice_is_seen(other: str, same: bool) -> None:
    ((_, one),) = helpers_of("def a(x):\n    y = x + 1\n    return y")
    found = [text for _, text in helpers_of(other)]
    assert (one in found) is same
