"""Targets that copy by tensor maps, and the chunks that their stores write."""

import pytest

from kvtrace.ir import parse
from kvtrace.ir.relocation import module_defined_in
from kvtrace.ir.tensor_maps import (
    elements_stored_at_once,
    has_tensor_maps,
    stores_whole_chunks,
    within_extents,
)

STORE = """
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<tensor<8x16xf32>>, i32) -> (), sym_name = "k"}> ({
  ^bb0(%out: !tt.tensordesc<tensor<8x16xf32>>, %n: i32):
    %tile = "arith.constant"() <{value = dense<0.0> : tensor<8x16xf32>}> : () -> tensor<8x16xf32>
    "tt.descriptor_store"(%out, %tile, %n, %n)
      : (!tt.tensordesc<tensor<8x16xf32>>, tensor<8x16xf32>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
LOAD = """
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.tensordesc<tensor<8x16xf32>>, i32) -> (), sym_name = "k"}> ({
  ^bb0(%in: !tt.tensordesc<tensor<8x16xf32>>, %n: i32):
    %tile = "tt.descriptor_load"(%in, %n, %n)
      : (!tt.tensordesc<tensor<8x16xf32>>, i32, i32) -> tensor<8x16xf32>
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(
    ("target", "has"),
    [
        ("cuda:90", True), ("cuda:100", True), ("cuda:120", True), ("cuda:89", False),
        ("cuda:80", False), ("hip:gfx950", False), ("", False),
    ],
)  # fmt: skip
def test_targets_from_hopper_on_have_tensor_maps(target, has):
    module = parse(STORE, target)

    assert has_tensor_maps(module) == stores_whole_chunks(module) == has
    assert [elements_stored_at_once(module, size) for size in (1, 2, 4, 8)] == (
        [16, 8, 4, 2] if has else [1, 1, 1, 1]
    )


def test_module_of_loads_stores_no_whole_chunks():
    module = parse(LOAD, "cuda:90")

    assert not stores_whole_chunks(module)
    assert within_extents(module) is module


def test_ttgir_names_its_target():
    end = "}) : () -> ()\n"
    text = STORE.removesuffix(end) + '}) {ttg.target = "cuda:100"} : () -> ()\n'

    assert parse(text).target == parse(text, "cuda:80").target == "cuda:100"


def test_a_relocated_module_keeps_its_target():
    assert module_defined_in(STORE, "/elsewhere.py", "cuda:90").target == "cuda:90"


def test_within_extents_returns_the_same_module_without_chunks():
    module = parse(STORE, "cuda:90")
    plain = within_extents(module)

    assert plain.ops is module.ops
    assert not has_tensor_maps(plain)
    assert within_extents(module) is plain
