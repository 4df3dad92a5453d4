"""Requirements of element-wise instructions, and of instructions that select elements."""

from typing import Final

import numpy as np

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MEMORY_SPACE, TARGET_SUPPORT
from kvtrace.addons.neuron.requirements.requirement import (
    Call,
    Requirement,
    engine_among,
    engine_in,
    from_generation,
    generation,
    has_float_type,
    has_type,
    has_type_of,
    integers_if_bitwise,
    is_arithmetic,
    is_bits,
    is_integer,
    is_of_one_type,
    is_type,
    lies_in,
    name_of,
    not_both_in_psum,
    operation_among,
    requires,
    token,
)
from kvtrace.addons.neuron.tensors import Tensor

#: Functions of the scalar engine (table of activation functions of `nki.isa`).
ACTIVATIONS: Final = frozenset(
    [
        "copy",
        "square",
        "sigmoid",
        "relu",
        "prelu",
        "gelu",
        "gelu_dx",
        "gelu_apprx_tanh",
        "gelu_apprx_sigmoid",
        "gelu_apprx_sigmoid_dx",
        "silu",
        "silu_dx",
        "tanh",
        "tanh_dx",
        "softplus",
        "mish",
        "erf",
        "erf_dx",
        "exp",
        "log",
        "sin",
        "cos",
        "arctan",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "sign",
        "abs",
    ]
)

#: Pairs of ops that `tensor_scalar` supports on the scalar engine of trn2.
_ON_SCALAR_ENGINE: Final = {("multiply", "add"), ("multiply", ""), ("add", "")}

#: Pairs of ops that `activate2` supports.
_BEFORE_ACTIVATION: Final = {
    ("multiply", "add"),
    ("multiply", "subtract"),
    ("multiply", "bypass"),
    ("add", "bypass"),
    ("subtract", "bypass"),
    ("bypass", "bypass"),
}


def _same_partitions(call: Call) -> bool:
    tiles = (tile for tile in (call.data1, call.data2) if isinstance(tile, Tensor))
    partition_counts = {tile.shape[0] for tile in tiles}
    return len(partition_counts) < 2


requires(
    "nisa.tensor_tensor",
    not_both_in_psum("data1", "data2"),
    Requirement("data1 and data2 have equally many partitions", "data1 data2", _same_partitions),
    integers_if_bitwise("op", "data1 data2 dst"),
    Requirement(
        "power runs on GpSimd, which does not reach PSUM",
        "op data1 data2 dst",
        lambda call: (
            token(call.op).name != "power"
            or all(lies_in(tile, "sbuf", "hbm") for tile in (call.data1, call.data2, call.dst))
        ),
        MEMORY_SPACE,
    ),
    engine_among("vector", "gpsimd"),
)


def _bitwise_flags(call: Call) -> set[bool]:
    return {is_bits(op) for op in (call.op0, call.op1) if op is not None and not _is_bypass(op)}


def _is_bypass(operation: object) -> bool:
    return name_of(operation) == "bypass"


def _names_of_ops(call: Call) -> tuple[str, str]:
    return token(call.op0).name, "" if call.op1 is None else token(call.op1).name


def _operands_are_float32(call: Call) -> bool:
    return True in _bitwise_flags(call) or all(
        is_type(operand, dtypes.float32) for operand in (call.operand0, call.operand1)
    )


def _bits_run_on_vector(call: Call) -> bool:
    return True not in _bitwise_flags(call) or engine_in(call, "vector")


def _bits_are_integers(call: Call) -> bool:
    return True not in _bitwise_flags(call) or is_integer(call.data, call.dst)


def _unary_ops_have_no_operand(call: Call) -> bool:
    ops_and_operands = ((call.op0, call.operand0), (call.op1, call.operand1))
    return all(
        operand is None or (not isinstance(operand, Tensor) and operand == 0)
        for op, operand in ops_and_operands
        if op is not None and token(op).arity == 1
    )


requires(
    "nisa.tensor_scalar",
    Requirement(
        "op0 and op1 are both bitwise or both arithmetic",
        "op0 op1",
        lambda call: len(_bitwise_flags(call)) < 2,
    ),
    Requirement("bitwise operations take and return integers", "op0 data dst", _bits_are_integers,
            ENGINE_DTYPE),
    Requirement("bitwise operations run on the vector engine", "op0 engine", _bits_run_on_vector),
    Requirement("operands of arithmetic are float32", "operand0 operand1", _operands_are_float32,
            ENGINE_DTYPE),
    Requirement(
        "the operand of a unary operation is None or 0",
        "op0 operand0 op1 operand1",
        _unary_ops_have_no_operand,
    ),
    Requirement(
        "op1 and operand1 are given together",
        "op1 operand1",
        lambda call: (
            call.operand1 is None if call.op1 is None
            else call.operand1 is not None or token(call.op1).arity == 1 or _is_bypass(call.op1)
        ),
    ),
    Requirement(
        "the scalar engine multiplies, adds, or multiplies and then adds",
        "op0 op1 engine",
        lambda call: (
            name_of(call.engine) != "scalar" or _names_of_ops(call) in _ON_SCALAR_ENGINE
        ),
    ),
    Requirement(
        "GpSimd computes rsqrt only",
        "op0 engine",
        lambda call: name_of(call.engine) != "gpsimd" or "rsqrt" in _names_of_ops(call),
    ),
)  # fmt: skip

requires(
    "nisa.scalar_tensor_tensor",
    is_arithmetic("op0 op1"),
    not_both_in_psum("data", "operand1"),
)

_ADDS: Final = operation_among("reduce_op", "add")
_IS_ACTIVATION: Final = Requirement(
    "op is a function of the scalar engine", "op", lambda call: token(call.op).name in ACTIVATIONS
)
_SCALE: Final = has_type("scale", dtypes.float32)
_BIAS: Final = Requirement(
    "a bias that is a number needs NeuronCore-v3 or later",
    "bias target",
    lambda call: generation(call) >= 3 or call.bias is None or isinstance(call.bias, Tensor),
    TARGET_SUPPORT,
)

requires(
    "nisa.activation",
    _IS_ACTIVATION,
    _SCALE,
    _BIAS,
    has_float_type("bias"),
    _ADDS,
    Requirement(
        "reduce_cmd is idle, reset, reduce or reset_reduce",
        "reduce_cmd",
        lambda call: name_of(call.reduce_cmd) != "load_reduce",
    ),
)
requires(
    "nisa.activation_reduce",
    _IS_ACTIVATION,
    _SCALE,
    _BIAS,
    has_float_type("bias"),
    _ADDS._replace(
        sentence="reduce_op is add on NeuronCore-v2",
        holds=lambda call: generation(call) > 2 or token(call.reduce_op).name == "add",
    ),
)
requires(
    "nisa.activate2",
    from_generation(4),
    _IS_ACTIVATION,
    Requirement(
        "op0 and op1 are one of six pairs: multiply with add, subtract or bypass, or add, subtract "
        "or bypass with bypass",
        "op0 op1",
        lambda call: _names_of_ops(call) in _BEFORE_ACTIVATION,
    ),
    operation_among("reduce_op", "add", "maximum", "minimum", "abs_max", "abs_min"),
    Requirement(
        "imm0 and imm1 are of one type",
        "imm0 imm1",
        lambda call: is_of_one_type(call.imm0, call.imm1),
        ENGINE_DTYPE,
    ),
)
requires(
    "nisa.exponential",
    from_generation(4),
    has_type("max_value", dtypes.float32),
    Requirement(
        "reduce_init is 0 except for load_reduce",
        "reduce_init reduce_cmd",
        lambda call: (
            name_of(call.reduce_cmd) == "load_reduce"
            or (not isinstance(call.reduce_init, Tensor) and not call.reduce_init)
        ),
    ),
)

requires(
    "nisa.select_reduce",
    has_type("predicate", dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16),
    not_both_in_psum("on_true", "predicate"),
    has_type("on_true", dtypes.int32, dtypes.uint32, negated=True),
    operation_among("reduce_op", "maximum"),
    has_float_type("reduce_res"),
)

_COMPARISONS: Final = ("equal", "less", "less_equal", "greater", "greater_equal")

requires(
    "nisa.range_select",
    from_generation(3),
    Requirement(
        "comp_op0 and comp_op1 are equal, less, less_equal, greater or greater_equal",
        "comp_op0 comp_op1",
        lambda call: {token(call.comp_op0).name, token(call.comp_op1).name} <= {*_COMPARISONS},
    ),
    has_float_type("on_true_tile"),
    has_type("bound0 bound1", dtypes.float32, subject="bounds"),
    operation_among("reduce_op", "maximum"),
    Requirement(
        "on_false_value is the least float32",
        "on_false_value",
        lambda call: np.float32(call.on_false_value) == np.finfo(np.float32).min,
    ),
)

requires(
    "nisa.tensor_copy_predicated",
    has_type("predicate", dtypes.uint8, dtypes.uint16, dtypes.uint32),
    not_both_in_psum("src", "predicate"),
    has_type_of("dst", "src"),
)

requires(
    "nisa.dropout",
    has_type_of("dst", "data"),
    Requirement(
        "prob is float32 for integer data, else any float type",
        "prob data",
        lambda call: (
            is_type(call.prob, dtypes.float32)
            if is_integer(call.data)
            else is_type(call.prob, *dtypes.FLOATS)
        ),
        ENGINE_DTYPE,
    ),
)
