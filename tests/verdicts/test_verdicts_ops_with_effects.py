"""Each pass over each op that has an effect on memory: what it does not follow is unknown."""

import re

import numpy as np
import pytest

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.order import contested_storages, written_storages
from kvtrace.ir import parse
from kvtrace.ir.asynchronous import ACTS, GPU_DIALECTS, WITHOUT_ACT, follows, may_be_asynchronous
from kvtrace.ir.data_dependence import depending_on_data, leading_integers
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.ops import KINDS, MEMORY, Kind, OpKind, effect_of
from kvtrace.metrics.of_ops import facts_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.taint import tainted
from kvtrace.symbolic.undefined.flow import sinks_of
from kvtrace.symbolic.walk import NotFollowed, summarize
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.pipeline.rule import judge_order
from kvtrace.verdicts.rules.table import RULES

_TENSOR = "tensor<8x8xi32>"
_POINTERS = "tensor<8x8x!tt.ptr<i32>>"
_VIEW = "!ttg.memdesc<8x8xi32, #shared, #smem, mutable>"
_BARRIER = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
_BLOCK = "!tt.tensordesc<tensor<8x8xi32>>"
_ROW = "!tt.tensordesc<tensor<1x8xi32>>"
_ROWS = "tensor<8xi32>"

#: Operands' values and types, results' types and attributes, of each op with an effect.
_FORMS = {
    "tt.load": (f"p:{_POINTERS}", _TENSOR, "operandSegmentSizes = array<i32: 1, 0, 0>"),
    "tt.store": (f"p:{_POINTERS} x:{_TENSOR}", "", ""),
    "tt.atomic_load": (f"p:{_POINTERS}", _TENSOR, "sem = 1 : i32, scope = 1 : i32"),
    "tt.atomic_poll": (
        "q:!tt.ptr<i32> zero:i32", "i32",
        "sem = 2 : i32, scope = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>",
    ),
    "tt.atomic_store": (f"p:{_POINTERS} x:{_TENSOR}", "", "sem = 1 : i32, scope = 1 : i32"),
    "tt.atomic_rmw": (
        f"p:{_POINTERS} x:{_TENSOR}", _TENSOR,
        "atomic_rmw_op = 4 : i32, sem = 1 : i32, scope = 1 : i32",
    ),
    "tt.atomic_cas": (
        f"p:{_POINTERS} x:{_TENSOR} x:{_TENSOR}", _TENSOR, "sem = 1 : i32, scope = 1 : i32",
    ),
    "tt.descriptor_load": (f"d:{_BLOCK} zero:i32 zero:i32", _TENSOR, ""),
    "tt.descriptor_gather": (f"r:{_ROW} rows:{_ROWS} zero:i32", _TENSOR, ""),
    "tt.descriptor_store": (f"d:{_BLOCK} x:{_TENSOR} zero:i32 zero:i32", "", ""),
    "tt.descriptor_scatter": (f"r:{_ROW} rows:{_ROWS} zero:i32 x:{_TENSOR}", "", ""),
    "tt.descriptor_reduce": (f"d:{_BLOCK} x:{_TENSOR} zero:i32 zero:i32", "", "kind = 1 : i32"),
    "ttg.async_copy_global_to_local": (
        f"p:{_POINTERS} v:{_VIEW}", "!ttg.async.token",
        "operandSegmentSizes = array<i32: 1, 1, 0, 0>",
    ),
    "ttng.async_tma_copy_global_to_local": (
        f"d:{_BLOCK} zero:i32 zero:i32 b:{_BARRIER} v:{_VIEW} true:i1", "",
        "operandSegmentSizes = array<i32: 1, 2, 0, 1, 1, 1>",
    ),
    "ttng.async_tma_gather": (
        f"r:{_ROW} rows:{_ROWS} zero:i32 b:{_BARRIER} v:{_VIEW} true:i1", "", "",
    ),
    "ttng.async_tma_copy_local_to_global": (f"d:{_BLOCK} zero:i32 zero:i32 v:{_VIEW}", "", ""),
    "ttng.async_tma_scatter": (f"r:{_ROW} rows:{_ROWS} zero:i32 v:{_VIEW}", "", ""),
    "ttng.async_tma_reduce": (f"d:{_BLOCK} zero:i32 zero:i32 v:{_VIEW}", "", "kind = 1 : i32"),
    "amdg.async_tdm_copy_global_to_local": (f"d:{_BLOCK} v:{_VIEW}", "!ttg.async.token", ""),
    "amdg.async_tdm_gather": (f"r:{_ROW} rows:{_ROWS} v:{_VIEW}", "", ""),
    "amdg.async_tdm_copy_local_to_global": (f"d:{_BLOCK} v:{_VIEW}", "", ""),
    "amdg.async_tdm_scatter": (f"r:{_ROW} rows:{_ROWS} v:{_VIEW}", "", ""),
}  # fmt: skip

_MODULE = f"""\
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#smem = #ttg.shared_memory
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<i32>, {_BLOCK}, {_ROW}) -> (), sym_name = "k",
    sym_visibility = "public"}}> ({{
  ^bb0(%q: !tt.ptr<i32>, %d: {_BLOCK}, %r: {_ROW}):
    %zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %true = "arith.constant"() <{{value = true}}> : () -> i1
    %x = "arith.constant"() <{{value = dense<1> : {_TENSOR}}}> : () -> {_TENSOR}
    %rows = "tt.make_range"() <{{start = 0 : i32, end = 8 : i32}}> : () -> {_ROWS}
    %p = "tt.splat"(%q) : (!tt.ptr<i32>) -> {_POINTERS}
    %v = "ttg.local_alloc"() : () -> {_VIEW}
    %b = "ttg.local_alloc"() : () -> {_BARRIER}
    OP
    "tt.return"() : () -> ()
  }}) {{noinline = false}} : () -> ()
}}) {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} : () -> ()
"""


def module_with(name: str):
    """A kernel with one op that has an effect."""
    operands, result, attributes = _FORMS[name]
    pairs = re.findall(r"(\w+):(\S+?(?:, #\w+, #\w+, mutable>|(?= |$)))", operands)
    values, types = ", ".join(f"%{v}" for v, _ in pairs), ", ".join(t for _, t in pairs)
    made = "%made = " if result else ""
    op = f'{made}"{name}"({values}) <{{{attributes}}}> : ({types}) -> {result or "()"}'
    return parse(_MODULE.replace("OP", op), "cuda:90")


def call_of(module) -> Call:
    def tensor(name, shape):
        return TensorArgument(name, Storage(256, np.zeros(256, np.uint8)), 0, "i32", shape, (8, 1))

    arguments = (tensor("q", (8, 8)), tensor("d", (8, 8)), tensor("r", (8, 8)))
    return Call(0, "k", (1, 1, 1), module, arguments, ("q", "d", "r"))


def test_each_op_with_an_effect_is_here():
    assert set(_FORMS) == MEMORY


@pytest.mark.parametrize("name", _FORMS)
def test_passes_without_verdicts_take_each_op_with_an_effect(name):
    module = module_with(name)
    (op,) = (op for op in module.ops if effect_of(op))
    (site,) = memory_sites(module)
    assert (site.op, site.kind) == (op, KINDS[name].effect)
    assert site.parameters is not None
    assert len(site.parameters) == 1
    assert facts_of(module).of(op)[1] == "i32"
    tainted(module), sinks_of(module), depending_on_data(module), leading_integers(module)
    contested_storages(module, call_of(module).arguments)
    written = written_storages(module, call_of(module).arguments)
    assert bool(written) is (KINDS[name].effect != "load")
    used = index_arguments(module)
    assert used.written == (frozenset() if KINDS[name].effect == "load" else site.parameters)
    assert [access.op for access in summarize(module).accesses] == [op]


@pytest.mark.parametrize("name", _FORMS)
def test_each_rule_judges_or_does_not_know_each_op_with_an_effect(name):
    module = module_with(name)
    verdicts = judge(call_of(module), RULES)
    (bounds,) = (v for v in verdicts if v.rule == "out-of-bounds")
    assert bounds.verdict in ("proven", "unknown")
    if bounds.verdict == "unknown":
        assert name in bounds.reason
    if name.startswith(tuple(f"{dialect}." for dialect in GPU_DIALECTS)):
        (floats,) = (v for v in verdicts if v.rule == "non-finite")
        assert floats.verdict == "unknown"


@pytest.mark.parametrize("name", _FORMS)
def test_order_in_ttgir_is_judged_with_each_op_with_an_effect(name):
    module = module_with(name)
    found = judge_order(module, "k", [call_of(module)])
    if "ttng.async_tma_copy_g" in name or ("gather" in name and name.startswith("ttng")):
        assert "barrier that was not initialized" in found.reason
    elif "async" in name:
        assert found.reason == f"nothing waits for {name} before the program ends"
    else:
        assert found.verdict == "proven"


# -- rows that a pass does not list ---------------------------------------------------------------

_NEW = "ttng.of_a_newer_triton"


@pytest.fixture
def a_new_row(monkeypatch):
    """A row for an op of shared memory that only the evaluator knows."""
    row = OpKind(_NEW, "ttng", Kind.SHARED, ("shared",))
    monkeypatch.setitem(KINDS, _NEW, row)
    return row


def with_the_new_op():
    op = f'"{_NEW}"(%v) : ({_VIEW}) -> ()'
    return parse(_MODULE.replace("OP", op), "cuda:90")


@pytest.mark.usefixtures("a_new_row")
def test_a_row_promises_nothing_to_the_rule_on_order():
    module = with_the_new_op()
    assert not follows(_NEW)
    assert may_be_asynchronous(f'  "{_NEW}"(%v)')
    found = judge_order(module, "k", [call_of(module)])
    assert found.verdict == "unknown"
    assert _NEW in found.reason


@pytest.mark.usefixtures("a_new_row")
@pytest.mark.parametrize("rule", RULES)
def test_a_row_promises_nothing_to_the_rules_on_calls(rule):
    verdicts = judge(call_of(with_the_new_op()), [rule])
    assert [(v.rule, v.verdict) for v in verdicts] == [(rule, "unknown")]
    first = "ttg.local_alloc" if rule == "non-finite" else _NEW
    assert f"does not follow {first}" in verdicts[0].reason


@pytest.mark.usefixtures("a_new_row")
def test_a_row_promises_nothing_to_a_summary():
    with pytest.raises(NotFollowed, match=_NEW):
        summarize(with_the_new_op())


def test_what_the_rule_on_order_follows_has_rows():
    assert set(ACTS) | WITHOUT_ACT <= set(KINDS)
    assert not set(ACTS) & WITHOUT_ACT
