"""What a trace keeps of a source file: functions, what they use, and nothing else."""

import ast
import inspect
import sys
import threading
from pathlib import Path

import pytest

from kvtrace.capture import python_source
from kvtrace.capture.python_source import used_part

FILE = '''\
"""A program."""
import os
import triton
import triton.language as tl

TOKEN = "s3cret"
SIZE: tl.constexpr = 16
HALF = SIZE // 2


def configs():
    return [triton.Config({"BLOCK": HALF})]


# not about the helper

# about the helper,
# in two lines
@triton.jit
def helper(x):
    return x * 2


@triton.autotune(configs=configs(), key=[])
@triton.jit
def kernel(out, BLOCK: tl.constexpr):
    TOKEN = helper(1)
    tl.store(out + tl.arange(0, BLOCK), TOKEN)


class Trainer:
    password = "hidden"

    def build(self):
        secret = "hidden too"

        @triton.jit
        def inner(out):
            tl.store(out, SIZE)

        return inner


def main():
    print(os.environ["HOME"], TOKEN)
'''


def line_of(text):
    return FILE.splitlines().index(text) + 1


def kept(*texts):
    return used_part(FILE, {line_of(text) for text in texts}).splitlines()


def test_used_part_keeps_a_function_and_statements_it_uses():
    # given a line in a kernel that reads a helper, constants and a function in its decorators
    lines = kept("    tl.store(out + tl.arange(0, BLOCK), TOKEN)")
    # then they stand where they stood, and all else is blank
    every = FILE.splitlines()
    assert all(line in ("", every[number]) for number, line in enumerate(lines))
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "import triton",
        "import triton.language as tl",
        "SIZE: tl.constexpr = 16",
        "HALF = SIZE // 2",
        "def configs():",
        "# about the helper,",
        "# in two lines",
        "@triton.jit",
        "def helper(x):",
        "@triton.autotune(configs=configs(), key=[])",
        "@triton.jit",
        "def kernel(out, BLOCK: tl.constexpr):",
    ]
    assert not any("s3cret" in line or "hidden" in line for line in lines)


def test_used_part_keeps_a_nested_function_without_its_neighbors():
    lines = kept("            tl.store(out, SIZE)")
    assert "class Trainer:" in lines
    assert "    def build(self):" in lines
    assert "        def inner(out):" in lines
    assert not any("hidden" in line for line in lines)
    ast.parse("\n".join(lines))


def test_used_part_keeps_names_of_annotations_within_a_function():
    text = "import a.b as tl\nimport c\ndef f(x):\n    SIZE: tl.constexpr = c.size\n    return x\n"
    assert used_part(text, {5}) == text


def test_used_part_keeps_the_statement_of_a_module_line():
    assert kept("HALF = SIZE // 2")[-1] == "HALF = SIZE // 2"


@pytest.mark.parametrize(
    "text", ["", "\n", "x = 1", "# a", "x = 1\n# a", "def f(:\n  secret\n  line three\n"]
)
def test_used_part_of_a_file_that_is_not_python_has_only_the_lines(text):
    assert used_part(text, set()) == ""
    assert used_part(text, {99}) in ("", "\n")
    if "three" in text:
        assert used_part(text, {3}) == "\n\n  line three\n"


def test_used_part_of_every_function_of_this_project_compiles():
    root = Path(__file__).resolve().parents[2]
    for path in sorted((root / "examples").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                part = used_part(text, {node.lineno})
                assert f"def {node.name}(" in part
                ast.parse(part)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import a.b", "a"),
        ("import a.b as c", "c"),
        ("from a import (\n    b,\n    c as d,\n)", "d"),
        ("x, (y, z) = 1, (2, 3)", "x"),
        ("try:\n    import fast\nexcept ImportError:\n    fast = None", "fast"),
        ("with open('f') as file:\n    pass", "file"),
        ("for each in (1, 2):\n    pass", "each"),
        ("total = 0\ntotal += 1", "total"),
        ("@decorated\nclass Thing:\n    x = 1", "Thing"),
        ("print(value := 3)", "value"),
    ],
)
def test_used_part_keeps_every_kind_of_statement_that_binds_a_used_name(statement, name):
    text = f"{statement}\nother = 'hidden'\ndef kernel(p):\n    return p + {name}\n"
    part = used_part(text, {text.count("\n")})
    assert part.startswith(statement)
    assert "hidden" not in part


def test_used_part_works_in_threads_while_others_compile():
    """Syntax trees made in two threads at once end in a SystemError, in whichever of them."""
    text, ended, errors = FILE * 20, threading.Event(), []

    def compiling():
        try:
            while not ended.is_set():
                ast.parse(text)
        except SystemError as error:
            errors.append(error)

    thread = threading.Thread(target=compiling)
    thread.start()
    for _ in range(20):
        used_part(text, {22})
    ended.set()
    thread.join()
    assert errors == []


def test_file_is_parsed_once_for_all_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"def kernel_{number}():\n    return {number}\n" for number in range(5))
    reads = []
    read = python_source._logical_lines
    monkeypatch.setattr(python_source, "_logical_lines", lambda text: reads.append(1) or read(text))

    for number in range(5):
        kept = used_part(text, [2 * number + 2])
        assert kept.strip() == f"def kernel_{number}():\n    return {number}"

    assert len(reads) == 1


def test_the_part_of_a_long_file_is_found_in_slices(monkeypatch):
    path = inspect.__file__
    lines, most = 0, 0

    def counted(_frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return counted

    def rested():
        nonlocal lines, most
        most = max(most, lines)
        lines = 0

    monkeypatch.setattr(python_source, "rest", rested)
    used_part("pass\n", [1])  # the tokenizer's patterns are compiled once in a process
    before = sys.gettrace()
    sys.settrace(counted)
    try:
        content = python_source.recorded_file_content(path, [1500, 2900], "used")
    finally:
        sys.settrace(before)
    rested()
    assert content is not None
    assert content.count(b"\n") >= 2900
    assert most < 10_000  # lines of Python: most in a statement of 290 lines
