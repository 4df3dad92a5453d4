"""Redaction of IR text: equal ops, and no name that was removed."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.ir.locations import location_frames
from kvtrace.ir.parser import parse
from kvtrace.ir.redacted import redacted_ir
from kvtrace.schema.redaction import Pseudonyms
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
    return [
        trace.artifact(entry["artifact"]).decode() for entry in stages if entry["stage"] == stage
    ]


def ops_of(text: str) -> list[object]:
    """Each op's name, types, operands, attribute names, and lines and columns, but no files."""
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


def fully_redacted(kind: str, text: str) -> str:
    redacted = redacted_ir(kind, text, Pseudonyms("file", suffixes=True), Pseudonyms("name"))
    assert redacted is not None
    return redacted


def test_redacted_generic_ir_has_equal_ops_and_no_names():
    for text in texts("ttir_generic"):
        redacted = fully_redacted("ttir_generic", text)
        assert ops_of(redacted) == ops_of(text)
        strings = set(re.findall(r'"([^"]*)"', redacted))
        assert {string for string in strings if not re.fullmatch(
            r"(file|name)\d+(\.py)?|[a-z]+\.[a-z_.]+|public|private|cuda:90|__nv_\w+|ttg?\.[\w-]+|",
            string)} == set()  # fmt: skip
        assert set(re.findall(r"[%@](?!\d)([\w.]+)", redacted)) <= {
            f"name{number}" for number in range(10_000)
        }


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
def test_redacted_pretty_text_keeps_words_but_no_names(stage):
    for text in texts(stage):
        redacted = fully_redacted(stage, text)
        assert "train_kernels" not in redacted
        assert len(redacted.splitlines()) == len(text.splitlines())
        assert not {"layer_norm_forward", "%inside", "%columns"} & set(
            re.findall(r"%?\w+", redacted)
        )


def test_redaction_keeps_strings_of_the_compiler():
    redacted = fully_redacted("ttir_generic", TEXT)

    assert ops_of(redacted) == ops_of(TEXT)
    kept = ('asm_string = "mov $0, $1; // x"', '"=r,r"', 'symbol = "__nv_abs"',
            '"ttg.num-warps" = 4', 'ttg.target = "cuda:90"')  # fmt: skip
    assert [string for string in kept if string not in redacted] == []
    removed = ("/home/me", "secret", "mine", "told", "inner", "file only", "one")
    assert [string for string in removed if string in redacted] == []


def test_redaction_of_files_keeps_names():
    redacted = redacted_ir("ttir_generic", TEXT, Pseudonyms("file", suffixes=True), str)

    assert '#loc = loc("file1.py":3:1)' in redacted
    assert 'loc("secret"(#loc))' in redacted
    assert 'sym_name = "mine.kernel"' in redacted
    assert "/home/me" not in redacted


def test_redaction_without_changes_returns_the_same_text():
    for text in texts("ttir_generic"):
        assert redacted_ir("ttir_generic", text, str, str) == text


@pytest.mark.parametrize("text", ["hello there", 'a "string without an end', TEXT[:-200]])
def test_redaction_of_text_that_is_not_ir_returns_none(text):
    assert redacted_ir("ttir_generic", text, str, str) is None


PIECES = ('"canary"', "%canary", "@canary", '@"canary"', "// canary\n", "loc(", "callsite(", ":3:1",
          "sym_name = ", "func =", " = ", "=", " ", "(", ")", ", ", " at ", "\n", "tt.print ",
          '"tt.load"', "fused[")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
def test_redaction_keeps_no_name_at_any_position(text):
    redacted = redacted_ir("ttir", text, lambda _: "f", lambda _: "n")

    assert redacted is not None
    # a quoted string before " = " is an attribute's name, which is kept
    assert "canary" not in re.sub(r'"canary"(?=\s*=)', "", redacted)
