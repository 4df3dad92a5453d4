"""`tt.dot`: matrix products, accumulated in float32 (int32 for int8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.compiler import Compiler, computed, slot_of, slots_of
from kvtrace.evaluate.fixed_order import is_order_fixed, product_by_terms
from kvtrace.evaluate.registry import Step, semantics
from kvtrace.evaluate.rounding import (
    from_memory,
    nearest_tf32,
    rounded_to_bf16,
    rounding_to,
    truncated_to_tf32,
    widened_e5m2,
)
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, element_of, value_type
from kvtrace.evaluate.values import (
    Array,
    SharedView,
    Unknown,
    full_array,
    merge_programs,
    program_flags,
    select_programs,
    to_array,
    unknown_of,
)
from kvtrace.ir import Module, Op
from kvtrace.ir.asynchronous import is_asynchronous
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import KINDS

_PRECISIONS: Final = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
"""Triton's InputPrecision, by number."""

_SPLIT_PRODUCTS: Final = {
    "tf32x3": ((1, 0), (0, 1)),
    "bf16x3": ((1, 0), (0, 1)),
    "bf16x6": ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1)),
}
"""Products of the parts of factors, largest part 0, that are summed before that of the largest."""


class DotForm(Struct, frozen=True):
    """The arithmetic of a dot.

    `working` is the dtype of products and sums, `precision` the input precision of float32 factors
    ("ieee" for others). `integers` are multiplied as float64, which is exact for 8 bits, and
    converted back.
    """

    working: np.dtype[Any]
    precision: str
    integers: bool

    @property
    def tf32(self) -> bool:
        """Float32 factors are cut to tf32."""
        return self.precision == "tf32"

    @property
    def is_split(self) -> bool:
        """Float32 factors are split into parts."""
        return self.precision in _SPLIT_PRODUCTS


_SATURATING_DEPTH: Final = 32
"""Factors along K that one `mma` of int8 multiplies, and adds with saturation."""


def saturates(op: Op, module: Module) -> bool:
    """Return whether sums of int8 products saturate: Triton's `mma` on NVIDIA GPUs, not `wgmma`.

    From sm_90 to before sm_120 blocks whose rows are multiples of 64 go to larger units, if a
    program has whole groups of four warps, which is assumed where it is unknown.
    """
    backend, _, architecture = module.target.partition(":")
    sum_type = value_type(op.operand("added").type)
    if backend != "cuda" or sum_type.element.kind != "i" or op.name != "tt.dot":
        return False
    in_groups = architecture.isdigit() and 90 <= int(architecture) < 120
    in_groups = in_groups and (module.options.warps or 4) % 4 == 0
    return not (in_groups and len(sum_type.shape) == 2 and sum_type.shape[0] % 64 == 0)


def saturated_product(left: Array, right: Array, start: Array) -> Array:
    """Return the product of int8 factors plus an int32 addend, cut off after each instruction."""
    limits = np.iinfo(np.int32)
    total = start.astype(np.int64)
    for first in range(0, left.shape[-1], _SATURATING_DEPTH):
        part = slice(first, first + _SATURATING_DEPTH)
        added = product(left[..., part], right[..., part, :], np.dtype(np.float64), tf32=False)
        total = np.clip(total + added.astype(np.int64), limits.min, limits.max)
    return total


def dot_form(op: Op) -> DotForm:
    """Return the arithmetic of a `tt.dot`."""
    left, total = (value_type(op.operand(name).type).element for name in ("left", "added"))
    integers = total.kind == "i"
    working = np.dtype(np.float64 if integers or total.bits == 64 else np.float32)
    number = attribute(op, "inputPrecision", _PRECISIONS.index("ieee"))
    precision = number if isinstance(number, str) else _PRECISIONS[number]
    if left.name != "f32":
        precision = "ieee"
    return DotForm(working, precision, integers)


def product(left: Array, right: Array, working: np.dtype[Any], *, tf32: bool) -> Array:
    """Return the matrix product in a working dtype, of factors cut to tf32 if `tf32`."""
    if tf32:
        left, right = truncated_to_tf32(left), truncated_to_tf32(right)
    left, right = left.astype(working, copy=False), right.astype(working, copy=False)
    if is_order_fixed():
        return product_by_terms(left, right)
    result: Array = np.matmul(left, right)
    return result


def _parts(array: Array, precision: str) -> list[Array]:
    """Return float32 numbers as parts that add up to them, largest first, as Triton splits them."""
    if precision == "tf32x3":
        largest = nearest_tf32(array)
        return [largest, truncated_to_tf32(array - largest)]
    parts = []
    for _ in range(3):
        parts.append(rounded_to_bf16(array))
        array = array - parts[-1]
    return parts


def split_product(left: Array, right: Array, precision: str) -> Array:
    """Return the product of split factors: small products first, their NaN as 0."""
    lefts, rights = _parts(left, precision), _parts(right, precision)
    small = np.zeros((), np.float32)
    for i, j in _SPLIT_PRODUCTS[precision]:
        small = np.asarray(product(lefts[i], rights[j], left.dtype, tf32=False) + small)
    largest = product(lefts[0], rights[0], left.dtype, tf32=False)
    return np.asarray(largest + np.where(np.isnan(small), np.float32(0), small))


def dot_operands(op: Op) -> Callable[[list[Any], Scope], list[Any]]:
    """Return a function that returns a dot's left and right factor and addend.

    Factors in shared memory are read. If the dot has a flag for adding, the addend is zero in
    programs where the flag is false. Views of shared memory stay in use until the wait for an
    asynchronous dot.
    """
    slots = slots_of(op.operand(name) for name in ("left", "right", "added"))
    adds = slot_of(op, "adds") if KINDS[op.name].has("adds") else None
    type_ = value_type(op.operand("added").type)
    asynchronous = is_asynchronous(op)

    def operands(values: list[Any], scope: Scope) -> list[Any]:
        operand_values = [values[slot] for slot in slots]
        views = [value for value in operand_values if isinstance(value, SharedView)]
        shared = scope.launch.shared
        operand_values = [
            shared.read(op, value) if isinstance(value, SharedView) else value
            for value in operand_values
        ]
        if asynchronous and (views or unknown_of(operand_values) is not None):
            scope.launch.shared.begin_reads(op, scope, views)
        if adds is not None:
            operand_values[2] = _zero_unless(values[adds], operand_values[2], scope.programs, type_)
        return operand_values

    return operands


def _zero_unless(flags: Any, value: Any, programs: int, type_: ValueType) -> Any:
    """Return a value with zero in the programs whose flag is false."""
    if isinstance(flags, Unknown):
        return flags
    program_is_set = program_flags(flags, programs)
    if program_is_set.all():
        return value
    zero = np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
    rows = np.flatnonzero(program_is_set)
    parts = [(rows, select_programs(value, rows)), (np.flatnonzero(~program_is_set), zero)]
    return merge_programs(parts, programs, type_) if len(rows) else zero


@semantics("tt.dot")
def dot(op: Op, compiler: Compiler) -> Step:
    """Return the step of a matrix product plus addend; tf32 factors are truncated (rounding.py)."""
    left_type, right_type, sum_type = (
        value_type(op.operand(name).type) for name in ("left", "right", "added")
    )
    operands = dot_operands(op)
    result = op.results[0].id
    element = sum_type.element
    form = dot_form(op)
    rounded = rounding_to(element)
    flops = 2 * sum_type.size * left_type.shape[-1]
    is_saturating = saturates(op, compiler.module)
    largest = left_type.shape[-1] * 2**14  # of int8 products

    def step(values: list[Any], scope: Scope) -> None:
        left, right, addend = operands(values, scope)
        unknown = unknown_of((left, right, addend))
        if unknown is not None:
            values[result] = unknown
            return
        factors = full_array(left, left_type), full_array(right, right_type)
        start = to_array(addend, sum_type)
        if is_saturating and largest + max(int(start.max()), -int(start.min())) >= 2**31:
            values[result] = saturated_product(*factors, start).astype(element.value)
            return
        if form.is_split:
            total = split_product(*factors, form.precision)
        else:
            total = product(*factors, form.working, tf32=form.tf32)
        if start.size != 1 or start.flat[0] != 0:
            fits = start.shape[0] <= total.shape[0] and start.dtype == total.dtype
            total = np.add(total, start, out=total) if fits else total + start
        if total.dtype != element.value:
            total = total.astype(np.int64) if form.integers else total
            total = total.astype(element.value)
        values[result] = total if rounded is None else rounded(total)

    return compiler.counting_step(op, step, sum_type.size, flops)


PACKED = frozenset({4, "e2m1"})
"""Triton's ScaleDotElemType 4: two 4-bit floats in a byte, the lower half first."""

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)

_BYTE_FORMATS = {0: "f8E4M3FN", "e4m3": "f8E4M3FN", 1: "f8E5M2", "e5m2": "f8E5M2"}


def unpacked(array: Array, kind: int | str, axis: int) -> Array:
    """Return an operand of a scaled dot as float32; 4-bit values are unpacked along `axis`."""
    if kind in PACKED:
        bits = array.view(np.uint8)
        pair = np.stack([_E2M1[bits & 15], _E2M1[bits >> 4]], axis=axis)
        shape = list(array.shape)
        shape[axis] *= 2
        return pair.reshape(shape)
    if array.dtype == np.int8:
        element = element_of(_BYTE_FORMATS[kind])
        return from_memory(np.ascontiguousarray(array).view(element.memory), element)
    return array.astype(np.float32)


def scale_factors(bits: Array) -> Array:
    """Return e8m0 bytes as powers of two in float32; 255 is NaN."""
    exponent = bits.view(np.uint8).astype(np.int32) - 127
    return np.where(exponent == 128, np.float32(np.nan), np.ldexp(np.float32(1), exponent))


def _spread_scales(bits: Array, depth: int, position: int) -> Array:
    """Return the scale of each element of a factor (0: left, 1: right) of some depth."""
    factors = scale_factors(bits)
    spread = np.repeat(factors, depth // factors.shape[-1], axis=-1)
    return spread if position == 0 else np.swapaxes(spread, -1, -2)


def scaled_factor(array: Array, bits: Array, position: int) -> Array:
    """Return a factor (0: left, 1: right) times its e8m0 scales, of which each is a block's."""
    return np.asarray(array * _spread_scales(bits, array.shape[-1 - position], position))


def _multiplies_scaled(target: str, *, are_both_scaled: bool) -> bool:
    """Return whether a target's tensor cores take the scales; else Triton scales the factors."""
    backend, _, architecture = target.partition(":")
    if backend == "cuda" and architecture.isdigit():
        return int(architecture) >= _FIRST_WITH_SCALES and are_both_scaled
    return architecture == "gfx950"


_FIRST_WITH_SCALES = 100


def scaled_in_16_bits(array: Array, factors: Array | None, narrow: str, *, is_e5m2: bool) -> Array:
    """Return factors of a dot as Triton scales them for older targets: in bf16, or fp16.

    The byte 0 is the scale 0, and scales that fp16 cannot hold become 0 or infinite.
    """
    if narrow == "bf16" and is_e5m2:
        array = widened_e5m2(array)
    if factors is None:
        return array
    scales = np.where(factors == np.float32(2.0**-127), np.float32(0), factors)
    with np.errstate(all="ignore"):
        if narrow == "bf16":
            return rounded_to_bf16(array * scales)
        halves = array.astype(np.float16) * scales.astype(np.float16)
        return halves.astype(np.float32)


@semantics("tt.dot_scaled")
def dot_scaled(op: Op, compiler: Compiler) -> Step:
    """Return the step of a matrix product whose factors have a scale per block along K."""
    along_depth = [bool(attribute(op, f"{side}_k_pack", default=True)) for side in ("lhs", "rhs")]
    kinds = (attribute(op, "a_elem_type"), attribute(op, "b_elem_type"))
    types = [value_type(value.type) for value in (op.operand("left"), op.operand("right"))]
    scales = [op.optional("left_scale"), op.optional("right_scale")]
    sum_type = value_type(op.operand("added").type)
    native = _multiplies_scaled(compiler.module.target, are_both_scaled=None not in scales)
    narrow = "f16" if any(type_.element.name == "f16" for type_ in types) else "bf16"

    def scaled(value: Any, scale_value: Any, position: int) -> Array:
        axis = -1 - position
        raw = full_array(value, types[position])
        packed_axis = axis if along_depth[position] else -3 - axis
        array = unpacked(raw, kinds[position], packed_axis)
        scale = scales[position]
        is_e5m2 = kinds[position] in (1, "e5m2")
        if scale is None:
            return array if native else scaled_in_16_bits(array, None, narrow, is_e5m2=is_e5m2)
        bits = full_array(scale_value, value_type(scale.type))
        if native:
            return scaled_factor(array, bits, position)
        spread = _spread_scales(bits, array.shape[axis], position)
        return scaled_in_16_bits(array, spread, narrow, is_e5m2=is_e5m2)

    def total(left: Any, right: Any, added: Any, *further: Any) -> Array:
        remaining = iter(further)
        of_scales = (None if scale is None else next(remaining) for scale in scales)
        first, second = map(scaled, (left, right), of_scales, (0, 1))
        products = product(first, second, sum_type.element.value, tf32=False)
        return (products + to_array(added, sum_type)).astype(sum_type.element.value, copy=False)

    depth = types[0].shape[-1] * (2 if kinds[0] in PACKED and along_depth[0] else 1)
    step = computed(op, total)
    return compiler.counting_step(op, step, sum_type.size, 2 * sum_type.size * depth)
