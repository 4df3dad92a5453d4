"""Modules from a compiler's cache whose locations name an earlier file."""

import os

import pytest

from kvtrace.ir import parse, source_stack
from kvtrace.ir.relocation import module_defined_in

TEXT = r"""
"builtin.module"() ({
  "tt.func"() <{function_type = () -> (), sym_name = "k", sym_visibility = "public"}> ({
    %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32 loc("FIRST":7:1)
    %1 = "arith.constant"() <{value = 2 : i32}> : () -> i32
      loc(callsite("other.py":3:1 at "FIRST":8:1))
    "tt.return"() : () -> () loc("FIRST":9:1)
  }) : () -> () loc("FIRST":5:1)
}) : () -> () loc("FIRST":5:1)
"""


@pytest.mark.parametrize(
    ("first", "printed"),
    [("/a/k.py", "/a/k.py"), ('C:\\k "x".py', r"C:\\k \22x\22.py"), ("/é/k.py", r"/\C3\A9/k.py")],
)
def test_locations_have_the_kernels_current_file(first, printed):
    text = TEXT.replace("FIRST", printed)
    assert source_stack(parse(text).main.op)[0].file == first

    module = module_defined_in(text, "/b/k.py")

    one, two = (source_stack(op) for op in module.ops if op.name == "arith.constant")
    assert [(frame.file, frame.line) for frame in one] == [("/b/k.py", 7)]
    assert [(frame.file, frame.line) for frame in two] == [("other.py", 3), ("/b/k.py", 8)]


@pytest.mark.parametrize("file", [None, "/a/k.py"])
def test_correct_or_unknown_files_are_not_replaced(file):
    module = module_defined_in(TEXT.replace("FIRST", "/a/k.py"), file)
    assert source_stack(module.main.op)[0].file == "/a/k.py"


@pytest.mark.parametrize("name", [b"/b\xff/k.py", b"/\xc3/\x80.py"])
def test_files_whose_names_are_not_utf8_raise_nothing(name):
    file = os.fsdecode(name)
    module = module_defined_in(TEXT.replace("FIRST", "/a/k.py"), file)
    assert source_stack(module.main.op)[0].line == 5
    assert module_defined_in(TEXT.replace("FIRST", r"/a\FF/k.py"), file).main is not None
