"""TTGIR that Triton makes of the oracle's kernels, and small modules written out, with calls."""

import re
from typing import Any

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument
from kvtrace.ir import Module, parse
from kvtrace.ir.types import FloatType, PointerType, TensorDescriptorType
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.pipeline.rule import judge_order

_ELEMENTS, _EXTENT = 1 << 20, 512


def call_of(module: Module) -> Call:
    """A call of a kernel, of tensors of which nothing is known and integers that fit many loops."""
    arguments: list[Any] = []
    for value in module.main.arguments:
        name = value.name.strip("%")
        if isinstance(value.type, PointerType | TensorDescriptorType):
            storage = Storage(_ELEMENTS)
            shape, strides = (_EXTENT, _EXTENT), (_EXTENT, 1)
            arguments.append(TensorArgument(name, storage, 0, "fp16", shape, strides))
        else:
            number = 1.0 if isinstance(value.type, FloatType) else _EXTENT
            arguments.append(ScalarArgument(name, number))
    return Call(0, module.main.name, (4, 4, 4), module, tuple(arguments), ())


_PART = "!ttg.memdesc<32xf16, #shared, #smem, mutable>"
_BUFFER = "!ttg.memdesc<3x32xf16, #shared, #smem, mutable>"
_BLOCK = "!tt.tensordesc<tensor<32xf16>>"

_SMALL = f"""\
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<f16>, i32, i1) -> (), sym_name = "small",
    sym_visibility = "public"}}> ({{
  ^bb0(%source: !tt.ptr<f16>, %n: i32, %way: i1):
    %zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %one = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    %two = "arith.constant"() <{{value = 2 : i32}}> : () -> i32
    %three = "arith.constant"() <{{value = 3 : i32}}> : () -> i32
    %x = "arith.constant"() <{{value = dense<0.0> : tensor<32xf16>}}> : () -> tensor<32xf16>
    %p = "tt.splat"(%source) : (!tt.ptr<f16>) -> tensor<32x!tt.ptr<f16>>
    %block = "ttng.reinterpret_tensor_descriptor"(%source) : (!tt.ptr<f16>) -> {_BLOCK}
    %mask = "tt.splat"(%way) : (i1) -> tensor<32xi1>
    %buffer = "ttg.local_alloc"() : () -> {_BUFFER}
BODY
    "tt.return"() : () -> ()
  }}) {{noinline = false}} : () -> ()
}}) {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} : () -> ()
"""

_FORMS = {
    "part": f'%A = "ttg.memdesc_index"(%buffer, %B) : ({_BUFFER}, i32) -> {_PART}',
    "copy": '%tA = "ttg.async_copy_global_to_local"(%p, %A) '
    "<{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : "
    f"(tensor<32x!tt.ptr<f16>>, {_PART}) -> !ttg.async.token\n"
    '%gA = "ttg.async_commit_group"(%tA) : (!ttg.async.token) -> !ttg.async.token',
    "masked": '%tA = "ttg.async_copy_global_to_local"(%p, %A, %mask) '
    "<{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : "
    f"(tensor<32x!tt.ptr<f16>>, {_PART}, tensor<32xi1>) -> !ttg.async.token\n"
    '%gA = "ttg.async_commit_group"(%tA) : (!ttg.async.token) -> !ttg.async.token',
    "wait": '%wNUMBER = "ttg.async_wait"() <{num = A : i32}> : () -> !ttg.async.token',
    "read": f'%rNUMBER = "ttg.local_load"(%A) : ({_PART}) -> tensor<32xf16>',
    "write": f'"ttg.local_store"(%x, %A) : (tensor<32xf16>, {_PART}) -> ()',
    "store": f'"ttng.async_tma_copy_local_to_global"(%block, %zero, %A) : ({_BLOCK}, i32, {_PART}) '
    "-> ()",
}  # fmt: skip


def small(body: str, **others: str) -> Module:
    """Parse a kernel whose lines are MLIR's, or short forms such as `part a zero` and `copy a`."""
    lines = [_line(line, number) for number, line in enumerate(body.strip().splitlines())]
    text = _SMALL.replace("BODY", "\n".join(lines))
    for before, after in others.items():
        text = text.replace(before, after)
    return parse(text)


def _line(line: str, number: int) -> str:
    word, *rest = line.split() or [""]
    form = _FORMS.get(word)
    if form is None:
        return line
    named = dict(zip("AB", rest, strict=False)) | {"NUMBER": str(number)}
    places = r"(?<=%)A\b|(?<=%[tg])A\b|(?<=%)B\b|(?<== )A\b|NUMBER"
    return re.sub(places, lambda found: named[found[0]], form)


def verdict(text):
    module = parse(text)
    return judge_order(module, module.main.name, [call_of(module)])
