"""Compiler texts are compared by meaning: places, value names and later numbering are none."""

import re

from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.diff.code import compare_code

TTIR = """#loc = loc("/home/user/kernels.py":10:0)
#loc1 = loc("x_ptr"(#loc))
module {
  tt.func public @scale(%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc)), %n: i32 loc("n"(#loc))) {
    %c64_i32 = arith.constant 64 : i32 loc(#loc2)
    %pid = tt.get_program_id x : i32 loc(#loc3)
    %0 = arith.muli %pid, %c64_i32 : i32 loc(#loc4)
    %1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc5)
    %2 = tt.splat %0 : i32 -> tensor<64xi32> loc(callsite("f"("k.py":3:1) at "g"("k (1).py":4:2)))
    %3 = arith.addi %2, %1 : tensor<64xi32> loc(#loc6)
    %4 = tt.splat %n : i32 -> tensor<64xi32> loc(#loc7)
    %5 = arith.cmpi slt, %3, %4 : tensor<64xi32> loc(#loc7)
    %6 = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc8)
    %7 = tt.addptr %6, %3 : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#loc8)
    %8 = tt.load %7, %5 : tensor<64x!tt.ptr<f32>> loc(#loc9)
    %9 = arith.addf %8, %8 : tensor<64xf32> loc(#loc9)
    tt.store %7, %9, %5 : tensor<64x!tt.ptr<f32>> loc(#loc10)
    tt.return loc(#loc11)
  } loc(#loc)
} loc(#loc)
#loc2 = loc(unknown)
"""

LOOPS = """module {
  tt.func @f(%a: i32, %b: i32) {
    scf.for %i = %a to %b step %a : i32 {
      %7 = arith.muli %i, %a : i32
      %8 = arith.addi %7, %b : i32
      "use"(%8) : (i32) -> ()
    }
    scf.for %i = %a to %b step %a : i32 {
      %7 = arith.subi %i, %b : i32
      "use"(%7) : (i32) -> ()
    }
    tt.return
  }
}
"""


def difference(before, after, stage="ttir", **settings):
    found = compare_code(stage, before, after, **settings)
    assert found is not None
    return found


def changed_lines(found):
    return [line for line in found.all_lines if line[0] in "+-"]


def renamed(text, names):
    """The text with every value renamed, as another numbering would have it."""
    return re.sub(r"%(\w+)", lambda m: f"%{names[m.group(1)]}", text)


def test_moved_lines_and_other_files_are_no_difference():
    moved = re.sub(r'":(\d+):', lambda m: f'":{int(m.group(1)) + 7}:', TTIR)
    moved = moved.replace("/home/user", "/elsewhere").replace("#loc3)", "#loc33)")
    assert compare_code("ttir", TTIR, moved) is None


def test_a_text_without_locations_is_no_difference():
    lines = (line for line in TTIR.splitlines() if not line.startswith("#loc"))
    bare = "\n".join(lines).replace("k (1).py", "k.py")
    bare = re.sub(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", bare)
    assert "loc(" not in bare
    assert compare_code("ttir", TTIR, bare) is None


@given(st.permutations(sorted(set(re.findall(r"%(\w+)", TTIR)))))
def test_names_of_values_are_no_difference(shuffled):
    names = dict(zip(sorted(set(re.findall(r"%(\w+)", TTIR))), shuffled, strict=True))
    assert compare_code("ttir", TTIR, renamed(TTIR, names)) is None


def test_removed_mask_is_a_change_of_one_line():
    found = difference(TTIR, TTIR.replace("tt.store %7, %9, %5 :", "tt.store %7, %9 :"))
    assert (found.removed, found.added) == (1, 1)
    assert changed_lines(found) == [
        "-    tt.store %7, %9, %5 : tensor<64x!tt.ptr<f32>>",
        "+    tt.store %7, %9 : tensor<64x!tt.ptr<f32>>",
    ]
    assert found.substitutions == ()


def test_an_added_op_differs_in_its_line_and_users_though_later_values_are_renumbered():
    lines = TTIR.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "arith.addf" in line)
    extra = "    %10 = math.exp %9 : tensor<64xf32> loc(#loc9)\n"
    text = "".join([*lines[: at + 1], extra, *lines[at + 1 :]]).replace("%7, %9, %5", "%7, %10, %5")
    numbered = {name: name for name in re.findall(r"%(\w+)", text)}
    numbered |= {str(n): str(n + 30) for n in range(11)}
    found = difference(TTIR, renamed(text, numbered))
    assert changed_lines(found) == [
        "-    tt.store %7, %9, %5 : tensor<64x!tt.ptr<f32>>",
        "+    %40 = math.exp %9 : tensor<64xf32>",
        "+    tt.store %7, %40, %5 : tensor<64x!tt.ptr<f32>>",
    ]


def test_swapped_operands_are_a_difference():
    found = difference(TTIR, TTIR.replace("arith.cmpi slt, %3, %4", "arith.cmpi slt, %4, %3"))
    assert (found.removed, found.added) == (1, 1)


def test_one_value_used_for_another_is_a_difference_though_the_line_looks_the_same():
    found = difference(TTIR, TTIR.replace("tt.load %7, %5", "tt.load %6, %5"))
    assert (found.removed, found.added) == (1, 1)


def test_sibling_regions_may_number_their_values_alike():
    """One op fewer in the first loop renumbers it, and not the second."""
    shorter = LOOPS.replace("      %8 = arith.addi %7, %b : i32\n", "").replace("(%8)", "(%7)")
    found = difference(LOOPS, shorter)
    assert changed_lines(found) == [
        "-      %8 = arith.addi %7, %b : i32",
        '-      "use"(%8) : (i32) -> ()',
        '+      "use"(%7) : (i32) -> ()',
    ]


def test_changed_block_size_is_one_change():
    found = difference(TTIR, TTIR.replace("64", "256"))
    assert found.substitutions == (("64", "256"),)
    assert found.substituted_lines == 11
    assert found.lines == ()
    assert (found.removed, found.added) == (0, 0)
    assert len(changed_lines(found)) == 22


def test_a_change_beside_another_block_size_stands_out_where_the_size_is_known():
    after = TTIR.replace("arith.addf %8, %8", "arith.mulf %8, %8").replace("64", "256")
    found = difference(TTIR, after, expected={"64": "256"})
    assert found.substitutions == (("64", "256"),)
    assert (found.removed, found.added) == (1, 1)
    assert [line for line in found.lines if line[0] in "+-"] == [
        "-    %9 = arith.addf %8, %8 : tensor<64xf32>",
        "+    %9 = arith.mulf %8, %8 : tensor<256xf32>",
    ]


def test_reversed_replacement_of_a_known_number_is_a_difference():
    after = TTIR.replace("start = 0", "start = 256").replace("64", "256")
    back = difference(TTIR.replace("start = 0", "start = 256"), after, expected={"64": "256"})
    assert back.substituted_lines == 11
    swapped = TTIR.replace("end = 64 : i32, start = 0", "end = 0 : i32, start = 64")
    assert difference(TTIR, swapped, expected={"64": "256"}).substituted_lines == 0


def test_aliases_of_layouts_may_be_numbered_otherwise():
    text = """#blocked = #ttg.blocked<{sizePerThread = [1]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4]}>
module {
  %0 = "a"() : () -> tensor<64xf32, #blocked1>
  %1 = ttg.convert_layout %0 : tensor<64xf32, #blocked1> -> tensor<64xf32, #blocked>
}
"""
    other = text.replace("#blocked1", "#other").replace("#blocked", "#blocked7")
    assert compare_code("ttgir", text, other) is None
    wrong = text.replace("-> tensor<64xf32, #blocked>", "-> tensor<64xf32, #blocked1>")
    assert compare_code("ttgir", text, wrong) is not None


def test_ptx_registers_places_and_debug_data_are_no_difference():
    text = """.version 8.7
.target sm_90a
\t.file\t1 "/home/user/kernels.py"
$L__func_begin0:
\t.loc\t1 10 0
\tmov.u32 \t%r1, %ctaid.x;
\tadd.s32 \t%r3, %r1, %r2; // comment
\tst.global.b32 \t[ %rd1 + 0 ], { %r3 };
\tret;
\t.section\t.debug_abbrev
{
.b8 1
}
"""
    other = text.replace("%r1", "%r11").replace("10 0", "99 3").replace(".b8 1", ".b8 2")
    assert compare_code("ptx", text, other.replace("// comment", "")) is None
    assert compare_code("ptx", text, text.replace(".version 8.7", ".version 9.0")) is None
    assert compare_code("ptx", text, text.replace("add.s32", "sub.s32")) is not None
    assert compare_code("ptx", text, text.replace("{ %r3 }", "{ %r1 }")) is not None


def test_llvm_metadata_is_no_difference():
    text = """; ModuleID = 'x'
source_filename = "x"
define void @f(i32 %0) !dbg !5 {
  %2 = add i32 %0, 1, !dbg !8
  ret void, !dbg !9
}
!5 = distinct !DISubprogram(name: "f", line: 1)
"""
    other = text.replace("!8", "!18").replace("line: 1", "line: 7").replace("%2", "%x")
    assert compare_code("llir", text, other) is None
    assert compare_code("llir", text, text.replace("i32 %0, 1", "i32 %0, 2")) is not None


def test_false_attribute_equals_a_missing_one():
    module = 'module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {\n}\n'
    other = module.replace('"cuda:90"}', '"cuda:90", "ttng.two-ctas" = false}')
    assert compare_code("ttgir", module, other) is None
    assert compare_code("ttgir", module, other.replace("false", "true")) is not None
