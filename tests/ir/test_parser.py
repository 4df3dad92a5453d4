"""The parser on small texts: scoping, blocks, attributes and errors."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.ir import IRSyntaxError, NoKernel, Op, parse, source_stack
from kvtrace.ir.attributes import (
    ArrayAttribute,
    DenseArrayAttribute,
    DenseAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    OpaqueAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from kvtrace.ir.types import (
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    OpaqueType,
    PointerType,
    SharedType,
    TensorDescriptorType,
    TensorType,
    Type,
)
from tests.support.thorough import usually

F32, I32, I1 = FloatType("f32"), IntegerType(32), IntegerType(1)


def attribute(text: str) -> object:
    module = parse(f'"t.op"() <{{a = {text}}}> : () -> ()')
    return module.op.attributes["a"]


def type_of(text: str) -> Type:
    return parse(f'%0 = "t.op"() : () -> {text}').op.result_types[0]


LOOP = """
#loc = loc("kernel.py":3:1)
"builtin.module"() ({
  "tt.func"() <{sym_name = "kernel", sym_visibility = "public",
      function_type = (i32) -> ()}> ({
  ^bb0(%n: i32 loc("n"(#loc))):
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc1)
    %1 = "scf.for"(%0, %n, %n, %0) ({
    ^bb0(%i: i32, %carried: i32):
      %2 = "arith.addi"(%carried, %i) : (i32, i32) -> i32 loc(#loc2)
      "scf.yield"(%2) : (i32) -> ()
    }) : (i32, i32, i32, i32) -> i32
    %3:2 = "scf.if"(%n) ({
      %2 = "t.other"() : () -> f32 // the same name in a sibling region
      "scf.yield"(%2, %1) : (f32, i32) -> ()
    }, {
      %2 = "t.third"() : () -> f32
      "scf.yield"(%2, %0) : (f32, i32) -> ()
    }) : (i32) -> (f32, i32)
    "t.use"(%3#1, %3#0, %3) : (i32, f32, f32) -> ()
    "tt.return"() : () -> ()
  }) {noinline = false} : () -> ()
}) : () -> ()
#loc1 = loc("kernel.py":4:9)
#loc3 = loc("helper.py":9:2)
#loc2 = loc(callsite(#loc3 at fused<{}>["first"("kernel.py":5:7), #loc1]))
"""


def test_names_are_resolved_in_their_region() -> None:
    module = parse(LOOP)
    named = {op.name: op for op in module.ops}

    loop, add, use = named["scf.for"], named["arith.addi"], named["t.use"]
    assert [op.index for op in module.ops] == list(range(len(module.ops)))
    assert add.operands[1] is loop.regions[0].blocks[0].arguments[0]
    assert add.results[0] is not named["t.other"].results[0]
    assert use.operands == (
        named["scf.if"].results[1],
        named["scf.if"].results[0],
        named["scf.if"].results[0],
    )
    assert loop.operands[1] is loop.operands[2] is module.main.arguments[0]
    assert add.parent is loop
    assert loop.parent is module.main.op
    assert module.main.name == "kernel"
    ids = [value.id for op in module.ops for value in op.results]
    assert len(set(ids)) == len(ids)
    assert max(ids) < module.value_count


def test_source_stack_goes_from_the_inlined_op_outwards() -> None:
    module = parse(LOOP)
    add = next(op for op in module.ops if op.name == "arith.addi")

    inner, outer = source_stack(add)

    assert (inner.file, inner.line, inner.column, inner.function) == ("helper.py", 9, 2, None)
    assert (outer.file, outer.line, outer.column, outer.function) == ("kernel.py", 5, 7, "kernel")
    yielded = next(op for op in module.ops if op.name == "scf.yield")
    assert source_stack(yielded) == ()


def test_blocks_may_be_used_before_their_definition() -> None:
    module = parse(
        """"tt.func"() ({
          "cf.br"()[^last] : () -> ()
        ^middle(%x: i32):
          "t.use"(%x, %later) : (i32, f32) -> ()
          "cf.cond_br"(%x, %x)[^last, ^middle] : (i32, i32) -> ()
        ^last:
          %later = "t.make"() : () -> f32
          "cf.br"(%later)[^middle] : (f32) -> ()
        }) : () -> ()"""
    )
    entry, middle, last = module.op.regions[0].blocks
    assert entry.ops[0].successors == (last,)
    assert middle.ops[1].successors == (last, middle)
    assert middle.ops[0].operands[1] is last.ops[0].results[0]
    assert middle.ops[0].operands[1].type == F32
    assert last.ops[0].results[0].owner is last.ops[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", IntegerAttribute(1, I1)),
        ("-7 : i32", IntegerAttribute(-7, I32)),
        ("7", IntegerAttribute(7, IntegerType(64))),
        ("7 : index", IntegerAttribute(7, IndexType())),
        ("0x7F800000 : f32", FloatAttribute(0x7F800000, F32)),
        ("1.500000e+00 : f16", FloatAttribute(0x3E00, FloatType("f16"))),
        ("0.1 : bf16", FloatAttribute(0x3DCD, FloatType("bf16"))),
        ("2.0", FloatAttribute(0x4000000000000000, FloatType("f64"))),
        (r'"a\22b\\\C3\AF\0A"', StringAttribute('a"b\\ï\n')),
        ("@f", SymbolAttribute("f")),
        ('@"a b"::@g', SymbolAttribute("a b::g")),
        ("#arith.overflow<nsw, nuw>", EnumAttribute("arith.overflow", "nsw, nuw")),
        ("#t.thing<[1, 2], {x = <3>}>", OpaqueAttribute("#t.thing<[1, 2], {x = <3>}>")),
        ("array<i32: 1, -2>", DenseArrayAttribute(I32, (1, -2))),
        ("array<i32>", DenseArrayAttribute(I32, ())),
        ("array<i1: true, false>", DenseArrayAttribute(I1, (1, 0))),
        ("array<f32: 5.0e-01>", DenseArrayAttribute(F32, (0.5,))),
        ("unit", UnitAttribute()),
        ("(i32) -> ()", TypeAttribute(FunctionType((I32,), ()))),
        ('[1 : i32, "a"]', ArrayAttribute((IntegerAttribute(1, I32), StringAttribute("a")))),
        ("{b, c = i32}", DictionaryAttribute({"b": UnitAttribute(), "c": TypeAttribute(I32)})),
        ("affine_map<(d0) -> (d0 + 1)>", OpaqueAttribute("affine_map<(d0) -> (d0 + 1)>")),
        (
            "dense_resource<blob> : tensor<4xf32>",
            OpaqueAttribute("dense_resource<blob> : tensor<4xf32>"),
        ),
    ],
)
def test_attributes(text: str, expected: object) -> None:
    assert attribute(text) == expected


@pytest.mark.parametrize(
    ("text", "is_splat", "values"),
    [
        ("dense<5> : tensor<128xi32>", True, (5,)),
        ("dense<-1> : tensor<4xi8>", True, (-1,)),
        ("dense<true> : tensor<4xi1>", True, (1,)),
        ("dense<[true, false]> : tensor<2xi1>", False, (1, 0)),
        ("dense<0xFF800000> : tensor<4xf32>", True, (float("-inf"),)),
        ("dense<[[1, 2], [3, -4]]> : tensor<2x2xi64>", False, (1, 2, 3, -4)),
        ("dense<[1.0, 2.5]> : tensor<2xf16>", False, (1.0, 2.5)),
        ('dense<"0x01000000FEFFFFFF"> : tensor<2xi32>', False, (1, -2)),
        ('dense<"0x3F800000"> : tensor<8xf32>', True, (4.600602988224807e-41,)),
        ('dense<"0x0D"> : tensor<4xi1>', False, (1, 0, 1, 1)),
        ('dense<"0xFF"> : tensor<64xi1>', True, (1,)),
        ('dense<"0x01000101"> : tensor<4xi1>', False, (1, 0, 1, 1)),
        ("dense<> : tensor<0xf32>", False, ()),
        ("dense<200> : tensor<2xui8>", True, (200,)),
    ],
)
def test_dense_attributes(text: str, is_splat: bool, values: tuple[float, ...]) -> None:
    parsed = attribute(text)
    assert isinstance(parsed, DenseAttribute)
    assert (parsed.is_splat, parsed.values) == (is_splat, values)


@pytest.mark.parametrize(
    "text",
    [
        "dense<[1, 2]> : tensor<3xi32>",
        "dense<[[1], [2, 3]]> : tensor<2x2xi32>",
        "dense<1.5> : tensor<2xi32>",
        "dense<true> : tensor<2xf32>",
        'dense<"0x0102"> : tensor<4xi32>',
        "dense<> : tensor<3xf32>",
        "array<i32: 1.5>",
        "1.5 : i32",
        "#undefined",
        "{a = 1, a = 2}",
        "[1, 2",
        '"never ends',
        "i0",
        "word",
    ],
)
def test_impossible_attributes_are_refused(text: str) -> None:
    with pytest.raises(IRSyntaxError):
        attribute(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensor<128x64xf16>", TensorType((128, 64), FloatType("f16"))),
        ("tensor<f32>", TensorType((), F32)),
        ("tensor<4x!tt.ptr<f32>>", TensorType((4,), PointerType(F32))),
        ("tensor<4xf32, #blocked>", TensorType((4,), F32, "#blocked")),
        (
            "tensor<4xf32, #ttg.slice<{dim = 1, parent = #b}>>",
            TensorType((4,), F32, "#ttg.slice<{dim = 1, parent = #b}>"),
        ),
        ("!tt.ptr<i8, 3>", PointerType(IntegerType(8), 3)),
        ("!tt.ptr<tensor<4x4xf16>>", PointerType(TensorType((4, 4), FloatType("f16")))),
        (
            "!tt.tensordesc<tensor<8x8xbf16>>",
            TensorDescriptorType(TensorType((8, 8), FloatType("bf16"))),
        ),
        (
            "!tt.tensordesc<8x8xbf16, #shared>",
            TensorDescriptorType(TensorType((8, 8), FloatType("bf16"), "#shared")),
        ),
        (
            "!ttg.memdesc<2x8xf16, #s, #ttg.shared_memory, mutable>",
            SharedType((2, 8), FloatType("f16"), "#s, #ttg.shared_memory, mutable"),
        ),
        ("!ttg.async.token", None),
        ("vector<4xf32>", None),
        ("ui8", IntegerType(8, "u")),
        ("index", IndexType()),
        ("f8E4M3FN", FloatType("f8E4M3FN")),
        ("tensor<?x4xi32>", TensorType((-1, 4), I32)),
    ],
)
def test_types(text: str, expected: Type | None) -> None:
    assert type_of(text) == (OpaqueType(text) if expected is None else expected)


@given(st.text().filter(lambda text: "\x00" not in text))
def test_any_string_round_trips(text: str) -> None:
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogatepass")
    )
    parsed = attribute(f'"{escaped}"')
    assert isinstance(parsed, StringAttribute)
    assert parsed.value.encode("utf-8", "surrogateescape") == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", (1, 1), "expected a module"),
        ('"t.op"() : () -> ()\n\n oops', (3, 2), "expected the end of the text"),
        ('"t.op"(%a) : (i32) -> ()', (1, 1), "%a is used but never defined"),
        ('%a = "t.op"() : () -> ()', (1, 1), "1 names for 0 results"),
        ('"t.op"() ({\n  "t.in"()[^x] : () -> ()\n}) : () -> ()', (2, 12), "never defined"),
        ('"t.op"() ({\n  "t.in"() : () -> ()', (2, 22), "never closed"),
        ("module {\n}", (1, 1), "expected an operation in generic form"),
    ],
)
def test_errors_name_the_line_and_column(
    text: str, position: tuple[int, int], message: str
) -> None:
    with pytest.raises(IRSyntaxError, match=message) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == position
    assert f"line {position[0]}, column {position[1]}" in str(caught.value)


def test_second_type_or_definition_of_a_value_is_an_error() -> None:
    twice = '"m"() ({ %0 = "a"() : () -> i32 %0 = "b"() : () -> i32 }) : () -> ()'
    with pytest.raises(IRSyntaxError, match="defined twice"):
        parse(twice)
    other = '"m"() ({ %0 = "a"() : () -> i32 "b"(%0) : (f32) -> () }) : () -> ()'
    with pytest.raises(IRSyntaxError, match="is of type i32 but is used as f32"):
        parse(other)
    early = '"m"() ({ "b"(%0) : (f32) -> () %0 = "a"() : () -> i32 }) : () -> ()'
    with pytest.raises(IRSyntaxError, match="is of type i32 but was used as f32"):
        parse(early)


def test_deep_nesting_is_a_syntax_error() -> None:
    with pytest.raises(IRSyntaxError, match="nested too deeply"):
        parse('"t.op"() <{a = ' + "[" * 100_000)


def test_a_module_without_a_function_has_no_main() -> None:
    with pytest.raises(NoKernel):
        _ = parse('"builtin.module"() ({}) : () -> ()').main


@settings(max_examples=usually(50, thorough=200))
@given(st.data())
def test_truncated_or_corrupted_text_is_an_error_or_a_module(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LOOP)))
    length = data.draw(st.integers(0, 8))
    inserted = data.draw(st.sampled_from(["", "<", ")", '"', "%", "#", "\\", "^x", "0x", "-"]))
    text = LOOP[:at] + inserted + (LOOP[at + length :] if data.draw(st.booleans()) else "")
    begin = time.process_time()
    with contextlib.suppress(IRSyntaxError):
        assert isinstance(parse(text).op, Op)
    assert time.process_time() - begin < 1.0


@given(st.text(alphabet='"%^#!<>{}()[]:=,\n abt01.x-', max_size=200))
def test_arbitrary_text_is_only_a_syntax_error(text: str) -> None:
    with contextlib.suppress(IRSyntaxError):
        parse(text)


@pytest.mark.parametrize(
    "op",
    [
        '"arith.addi"(%0, %0) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4x4xi32>',
        '"arith.addi"(%0, %1) : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>',
        '"arith.cmpi"(%0, %0) : (tensor<4xi32>, tensor<4xi32>) -> i1',
        '"tt.expand_dims"(%0) <{axis = 1 : i32}> : (tensor<4xi32>) -> tensor<4xi32>',
        '"tt.expand_dims"(%0) <{axis = 2 : i32}> : (tensor<4xi32>) -> tensor<4x1xi32>',
        '"tt.reduce"(%1) <{axis = 0 : i32}> ({}) : (tensor<4x4xi32>) -> i32',
        '"tt.reduce"(%0) <{axis = 1 : i32}> ({}) : (tensor<4xi32>) -> i32',
        '"tt.scan"(%1) <{axis = 2 : i32}> ({}) : (tensor<4x4xi32>) -> tensor<4x4xi32>',
    ],
)
def test_ranks_that_do_not_fit_together_are_an_error(op):
    values = '%0 = "t.a"() : () -> tensor<4xi32>\n %1 = "t.b"() : () -> tensor<4x4xi32>\n'
    with pytest.raises(IRSyntaxError, match="the ranks of the tensors of"):
        parse(f'"builtin.module"() ({{\n {values} %2 = {op}\n}}) : () -> ()')
