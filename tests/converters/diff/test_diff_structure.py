"""What differs of a module as a structure."""

import pytest

from kvtrace.converters.diff import compare
from kvtrace.converters.diff.model import CountChange
from kvtrace.converters.diff.stages import structural_difference
from tests.converters.written_trace import Kernel, write_trace

LOOP = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> loc(#loc1)
    scf.for %i = %c0 to %n step %c1  : i32 {
      %s = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
      %p = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
      %v = tt.load %p : tensor<128x!tt.ptr<f32>>
      tt.store %p, %v : tensor<128x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""
SPLAT = "      %s = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>\n"
LAYOUT = "#blocked = #ttg.blocked<{sizePerThread = [1], order = [0]}>\n"


def test_changed_names_and_locations_are_no_difference():
    other = LOOP.replace("%s", "%other").replace("#loc1", "#loc9")
    found = structural_difference("ttir", LOOP, other)
    assert (found.counts, found.moved, found.altered) == ((), (), ())


def test_op_hoisted_out_of_a_loop_is_reported_as_moved():
    hoisted = LOOP.replace(SPLAT, "").replace("    scf.for", SPLAT.strip() + "\n    scf.for")
    hoisted = hoisted.replace("%s = tt.splat", "    %s = tt.splat", 1)
    found = structural_difference("ttir", LOOP, hoisted)
    assert (found.counts, found.moved, found.altered) == ((), (("tt.splat", 1),), ())


def test_added_and_removed_ops_are_counted_by_name():
    more = LOOP.replace(
        "tt.store %p, %v", "%w = math.exp %v : tensor<128xf32>\n      tt.store %p, %w"
    )
    found = structural_difference("ttir", LOOP, more)
    assert found.counts == (CountChange("math.exp", 0, 1),)
    assert (found.moved, found.altered) == ((), ())
    assert structural_difference("ttir", more, LOOP).counts == (CountChange("math.exp", 1, 0),)


def test_op_with_a_changed_type_is_reported_as_altered():
    wide = LOOP.replace("tt.make_range {end = 128 : i32", "tt.make_range {end = 129 : i32")
    assert structural_difference("ttir", LOOP, wide).altered == (("tt.make_range", 1),)


def test_known_replacements_of_numbers_alter_no_op():
    smaller = LOOP.replace("128", "64")
    assert structural_difference("ttir", LOOP, smaller).altered
    known = structural_difference("ttir", LOOP, smaller, numbers={"128": "64"})
    assert (known.counts, known.moved, known.altered) == ((), (), ())


def test_another_layout_alters_the_ops_that_have_it():
    before = LAYOUT + LOOP.replace("tensor<128xi32> loc", "tensor<128xi32, #blocked> loc")
    after = before.replace("sizePerThread = [1]", "sizePerThread = [4]")
    assert structural_difference("ttgir", before, after).altered == (("tt.make_range", 1),)


def test_the_generic_form_is_read_where_it_is_recorded():
    constant = '%0 = "arith.constant"() {value = 1 : i32} : () -> i32'
    generic = f'"builtin.module"() ({{\n  {constant}\n}}) : () -> ()\n'
    other = generic.replace("value = 1", "value = 2")
    found = structural_difference("ttir", LOOP, LOOP, (generic, other))
    assert found.altered == (("arith.constant", 1),)
    unread = structural_difference("ttir", LOOP, LOOP, ("no module", other))
    assert unread.altered == ()


@pytest.mark.parametrize(
    ("options", "later", "is_change"),
    [
        ((("global_scratch_size", "0"),), {"ttgir": "module {\n}\n"}, False),  # compiled later
        ((("global_scratch_size", "0"),), {}, True),
        ((("num_stages", "4"),), {"ttgir": "module {\n}\n"}, True),
    ],
)
def test_options_that_later_stages_add_to_one_side_are_no_change(
    tmp_path, options, later, is_change
):
    given = {"num_stages": "3"}
    after = Kernel(options=tuple((given | dict(options)).items()), later=later)
    kernels = Kernel(options=tuple(given.items())), after
    sides = (
        write_trace(tmp_path / str(n), [kernel], run_id=f"20260102T030405-000{n}")
        for n, kernel in enumerate(kernels)
    )

    assert bool(compare(*sides).kernels) == is_change
