"""Modules as plain data and back: nothing is lost, whatever the parser reads."""

import marshal
import time

import pytest

from kvtrace.ir import parse, source_stack
from kvtrace.ir.attributes import DictionaryAttribute
from kvtrace.ir.stored import module_of, plain_module
from tests.kernels import basic
from tests.support.compile_ttir import compile_generic

EVERYTHING = r"""
#alias = loc("k.py":1:1)
"builtin.module"() ({
  "tt.func"() <{function_type = (i32, !tt.ptr<f32>) -> (), sym_name = "k\C3\A9\FF"}> ({
  ^bb0(%x: i32 loc("x"(#alias)), %p: !tt.ptr<f32>):
    %0:2 = "a.two"(%x) <{v = 1 : i8, u, f = 0x7FC00001 : f32, s = "t", e = #a.b<c>, n = @m::@o}>
      {d = {k = [1, "a", unit], l = loc("k.py":3:4)}, a = array<f32: 1.0, 2.5>, t = index}
      : (i32) -> (i32, tensor<4x?xf16, #ttg.x<{a = 1}>>) loc(callsite("n"(#alias) at "k.py":9:2))
    %1 = "arith.constant"() <{value = dense<[1, -2]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %2 = "a.odd"() {z = !x.y<1>, q = affine_map<(d0) -> (d0)>} : () -> !tt.tensordesc<2x2xf8E5M2>
      loc(fused["k.py":5:6, #alias])
    "cf.br"(%0#1)[^end] : (tensor<4x?xf16, #ttg.x<{a = 1}>>) -> () loc(unknown)
  ^end(%later: tensor<4x?xf16, #ttg.x<{a = 1}>>):
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def matmul_text() -> str:
    types = dict.fromkeys(("a", "b", "c"), "*fp32") | dict.fromkeys(
        ("m", "n", "k", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm",
         "stride_cn"), "i32",
    )  # fmt: skip
    constants = {"BM": 32, "BN": 32, "BK": 16, "GROUP": 4, "ACTIVATION": "", "PRECISION": "ieee"}
    return compile_generic(basic.matmul, types | dict.fromkeys(constants, "constexpr"), constants)


@pytest.fixture(params=["everything", "matmul"])
def text(request):
    return EVERYTHING if request.param == "everything" else matmul_text()


def facts(op):
    return (
        op.index, op.name, op.location, source_stack(op), repr(op.attributes),
        [(v.id, v.name, v.type) for v in op.operands],
        [(v.id, v.name, v.type, v.position, v.owner.index) for v in op.results],
        op.parent and op.parent.index,
        [block.label for block in op.successors],
        [
            [
                (b.label, [(v.id, v.type, v.position, v.owner is b) for v in b.arguments],
                 [inner.index for inner in b.ops], b.region is region, region.owner is op)
                for b in region.blocks
            ]
            for region in op.regions
        ],
    )  # fmt: skip


def test_a_module_comes_back_as_it_was(text):
    module = parse(text)

    back = module_of(marshal.loads(marshal.dumps(plain_module(module))))

    assert [facts(op) for op in back.ops] == [facts(op) for op in module.ops]
    assert back.op is back.ops[0]
    assert back.value_count == module.value_count
    assert back.main.name == module.main.name
    assert all(op.block is None or op in op.block.ops for op in back.ops)


def test_values_are_shared_by_what_defines_and_what_uses_them(text):
    back = module_of(plain_module(parse(text)))
    defined = {id(v) for op in back.ops for v in op.results}
    defined |= {
        id(v) for op in back.ops for region in op.regions for b in region.blocks
        for v in b.arguments
    }  # fmt: skip
    assert {id(v) for op in back.ops for v in op.operands} <= defined


def test_dictionaries_inside_attributes_come_back():
    back = module_of(plain_module(parse(EVERYTHING)))
    given = next(op for op in back.ops if op.name == "a.two").attributes["d"]
    assert isinstance(given, DictionaryAttribute)
    assert len(given.entries["k"].items) == 3


def test_it_is_several_times_faster_than_parsing():
    text = matmul_text()
    data = marshal.dumps(plain_module(parse(text)))

    def fastest(action):
        times = []
        for _ in range(15):
            began = time.process_time()
            action()
            times.append(time.process_time() - began)
        return min(times)

    assert fastest(lambda: parse(text)) > 3 * fastest(lambda: module_of(marshal.loads(data)))
