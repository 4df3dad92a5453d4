"""Redaction of IR text: equal ops, and no name that was removed."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.ir.locations import location_frames
from kvtrace.ir.parser import parse
from kvtrace.ir.redacted import redacted_ir
from kvtrace.schema.pseudonyms import Pseudonyms
from kvtrace.schema.trace import open_trace

TEXT = r"""#loc = loc("/home/me/a\22b.py":3:1) // of mine
"builtin.module"() ({
  "tt.func"() <{function_type = (i32) -> (), sym_name = "mine.kernel",
      sym_visibility = "public"}> ({
  ^bb0(%secret: i32 loc("secret"(#loc))):
    %0 = "tt.elementwise_inline_asm"(%secret) <{asm_string = "mov $0, $1; // x",
      constraints = "=r,r", packed_element = 1 : i32, pure = true}> : (i32) -> i32 loc(#loc)
    %1 = "tt.extern_elementwise"(%0) <{libname = "", libpath = "/home/me/lib.bc", pure = true,
      symbol = "__nv_abs"}> : (i32) -> i32 loc(callsite("inner"(#loc) at "/home/me/b.py":4:1))
    %2 = "arith.cmpi"(%1, %0) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc("file only")
    "tt.assert"(%2) <{message = "told of /home/me"}> : (i1) -> () loc(fused["one"(#loc), #loc])
    "tt.print"(%1) <{hex = false, isSigned = array<i32: 1>, prefix = " secret: "}> : (i32) -> ()
    "tt.return"() : () -> () loc(#loc)
  }) : () -> () loc(#loc)
}) {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} : () -> () loc(#loc)
"""

TRAIN = Path("tests/fixtures/h200/train")


def texts(stage: str) -> list[str]:
    trace = open_trace(TRAIN)
    stages = [entry for row in trace.table("kernels", None, ["stages"]).to_pylist()
              for entry in row["stages"]]  # fmt: skip
    return [trace.artifact(each["artifact"]).decode() for each in stages if each["stage"] == stage]


def said(text: str) -> list[object]:
    """What a module's ops are and refer to, and their places but for the files."""
    return [
        (
            op.name,
            op.operand_types,
            op.result_types,
            [value.id for value in op.operands],
            [name for name in op.attributes if name != "sym_name"],
            [(frame.line, frame.column) for frame in location_frames(op.location)],
        )
        for op in parse(text).ops
    ]


def without_anything(kind: str, text: str) -> str:
    fresh = redacted_ir(kind, text, Pseudonyms("file", suffixes=True), Pseudonyms("name"))
    assert fresh is not None
    return fresh


def test_redacted_generic_ir_has_equal_ops_and_no_names():
    for text in texts("ttir_generic"):
        fresh = without_anything("ttir_generic", text)
        assert said(fresh) == said(text)
        strings = set(re.findall(r'"([^"]*)"', fresh))
        assert {each for each in strings if not re.fullmatch(
            r"(file|name)\d+(\.py)?|[a-z]+\.[a-z_.]+|public|private|cuda:90|__nv_\w+|ttg?\.[\w-]+|",
            each)} == set()  # fmt: skip
        assert set(re.findall(r"[%@](?!\d)([\w.]+)", fresh)) <= {
            f"name{number}" for number in range(10_000)
        }


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
def test_pretty_text_keeps_its_words_and_no_name(stage):
    for text in texts(stage):
        fresh = without_anything(stage, text)
        assert "train_kernels" not in fresh
        assert len(fresh.splitlines()) == len(text.splitlines())
        assert not {"layer_norm_forward", "%inside", "%columns"} & set(re.findall(r"%?\w+", fresh))


def test_the_compilers_own_strings_are_kept():
    fresh = without_anything("ttir_generic", TEXT)

    assert said(fresh) == said(TEXT)
    kept = ('asm_string = "mov $0, $1; // x"', '"=r,r"', 'symbol = "__nv_abs"',
            '"ttg.num-warps" = 4', 'ttg.target = "cuda:90"')  # fmt: skip
    assert [each for each in kept if each not in fresh] == []
    gone = ("/home/me", "secret", "mine", "told", "inner", "file only", "one")
    assert [each for each in gone if each in fresh] == []


def test_files_can_be_redacted_alone():
    fresh = redacted_ir("ttir_generic", TEXT, Pseudonyms("file", suffixes=True), str)

    assert '#loc = loc("file1.py":3:1)' in fresh
    assert 'loc("secret"(#loc))' in fresh
    assert 'sym_name = "mine.kernel"' in fresh
    assert "/home/me" not in fresh


def test_redaction_without_changes_returns_the_same_text():
    for text in texts("ttir_generic"):
        assert redacted_ir("ttir_generic", text, str, str) == text


@pytest.mark.parametrize("text", ["hello there", 'a "string without an end', TEXT[:-200]])
def test_text_that_is_not_ir_is_not_returned(text):
    assert redacted_ir("ttir_generic", text, str, str) is None


PIECES = ('"canary"', "%canary", "@canary", '@"canary"', "// canary\n", "loc(", "callsite(", ":3:1",
          "sym_name = ", "func =", " = ", "=", " ", "(", ")", ", ", " at ", "\n", "tt.print ",
          '"tt.load"', "fused[")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
def test_no_name_is_kept_at_any_position(text):
    fresh = redacted_ir("ttir", text, lambda _: "f", lambda _: "n")

    assert fresh is not None
    # what stands before " = " in quotes is an attribute's own name
    assert "canary" not in re.sub(r'"canary"(?=\s*=)', "", fresh)
