"""The table of asynchronous ops, against the table of ops and texts of both forms."""

import pytest

from kvtrace.evaluate.dialects import load_dialects
from kvtrace.evaluate.registry import LOWERINGS
from kvtrace.ir.asynchronous import (
    ACTS,
    Act,
    allowed_in_flight,
    is_asynchronous,
    may_be_asynchronous,
)
from kvtrace.ir.ops import KINDS, SILENT
from kvtrace.ir.parser import parse
from tests.kernels.summed_product import product
from tests.support.compile_ttir import compile_generic, compile_ttir


def test_each_asynchronous_op_has_a_row_and_an_effect():
    load_dialects(ACTS)
    assert set(ACTS) <= set(KINDS)
    assert set(ACTS) <= set(LOWERINGS) | SILENT
    assert set(ACTS.values()) == set(Act)


@pytest.mark.parametrize("compile_", [compile_ttir, compile_generic])
def test_asynchronous_ops_are_found_in_both_forms_of_a_text(compile_):
    assert may_be_asynchronous(product(compile_, num_stages=3))
    assert not may_be_asynchronous(product(compile_, architecture=80, num_stages=1))


def test_an_unknown_op_may_be_asynchronous():
    text = product(compile_ttir, architecture=80, num_stages=1)
    assert may_be_asynchronous(text.replace("ttg.local_load", "ttg.local_newer"))


def test_products_are_asynchronous_if_their_attribute_says_so():
    module = parse(product(compile_generic, num_stages=3))
    named = {act: [op for op in module.ops if ACTS.get(op.name) is act] for act in Act}
    assert [is_asynchronous(op) for op in named[Act.PRODUCT]] == [True]
    assert {allowed_in_flight(op) for op in named[Act.WAIT_PRODUCTS]} == {0, 1}
    assert {allowed_in_flight(op) for op in named[Act.WAIT_COPIES]} == {0, 2}
    assert not any(is_asynchronous(op) for op in named[Act.READ])


@pytest.mark.parametrize(
    ("name", "goes"),
    [
        ("amdg.buffer_load", False),
        ("amdgpu.buffer_atomic_rmw", False),
        ("rocdl.sched.barrier", False),
        ("tt.of_a_newer_triton", False),
        ("amdgpu.buffer_load_to_local", True),
        ("amdg.async_copy_local_to_global", True),
        ("ttg.warp_specialize", True),
        ("ttng.tc_gen5_mma", True),
    ],
)
def test_ops_without_a_row_may_be_asynchronous_except_known_synchronous_ones(name, goes):
    assert may_be_asynchronous(f"  %1 = {name} %0 : tensor<1xf32>\n") is goes
