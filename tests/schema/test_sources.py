"""What a trace keeps of a source file: functions, what they use, and nothing else."""

import ast
from pathlib import Path

import pytest

from kvtrace.schema.sources import used_part

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


def test_a_function_and_what_it_uses_keep_their_lines():
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
        "@triton.jit",
        "def helper(x):",
        "@triton.autotune(configs=configs(), key=[])",
        "@triton.jit",
        "def kernel(out, BLOCK: tl.constexpr):",
    ]
    assert not any("s3cret" in line or "hidden" in line for line in lines)


def test_a_function_inside_others_is_kept_without_them():
    lines = kept("            tl.store(out, SIZE)")
    assert "class Trainer:" in lines
    assert "    def build(self):" in lines
    assert "        def inner(out):" in lines
    assert not any("hidden" in line for line in lines)
    ast.parse("\n".join(lines))


def test_a_line_outside_functions_keeps_its_statement():
    assert kept("HALF = SIZE // 2")[-1] == "HALF = SIZE // 2"


@pytest.mark.parametrize("text", ["", "\n", "x = 1", "def f(:\n  secret\n  line three\n"])
def test_what_is_no_python_keeps_the_lines_alone(text):
    assert used_part(text, set()) == ""
    assert used_part(text, {99}) in ("", "\n")
    if "three" in text:
        assert used_part(text, {3}) == "\n\n  line three\n"


def test_every_function_of_this_project_can_be_cut_out():
    root = Path(__file__).resolve().parents[2]
    for path in sorted((root / "examples").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                part = used_part(text, {node.lineno})
                assert f"def {node.name}(" in part
                ast.parse(part)
