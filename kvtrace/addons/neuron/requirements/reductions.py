"""Requirements of reductions and scans."""

from typing import Final

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import ENGINE_DTYPE, MEMORY_SPACE
from kvtrace.addons.neuron.requirements.requirement import (
    Call,
    Requirement,
    is_bits,
    is_integer,
    is_not_type,
    is_type,
    lies_in,
    name_of,
    not_both_in_psum,
    requires,
    token,
)

#: Reduction operators (table of operators of `nki.isa`).
REDUCING: Final = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "abs_max",
        "abs_min",
    ]
)


def _axes_are_the_last(call: Call) -> bool:
    if call.dst is None:  # the older interface has another convention, or none
        return True
    rank = len(call.data.shape)
    axes_passed = call.axis if isinstance(call.axis, tuple | list) else (call.axis,)
    axes = sorted(int(axis) % rank for axis in axes_passed)
    return axes == list(range(rank - len(axes), rank))


requires(
    "nisa.tensor_reduce",
    Requirement("op is a reduction operator", "op", lambda call: token(call.op).name in REDUCING),
    Requirement(
        "bitwise operations take and return integers",
        "op data dst",
        lambda call: not is_bits(call.op) or is_integer(call.data, call.dst),
        ENGINE_DTYPE,
    ),
    Requirement(
        "negate needs an arithmetic op",
        "negate op",
        lambda call: not call.negate or not is_bits(call.op),
    ),
    Requirement("the axes are the last ones, without gaps", "axis data", _axes_are_the_last),
)

requires(
    "nisa.tensor_partition_reduce",
    Requirement(
        "op is add, maximum, bitwise_or or bitwise_and",
        "op",
        lambda call: token(call.op).name in ("add", "maximum", "bitwise_or", "bitwise_and"),
    ),
    Requirement(
        "data lies in SBUF, which is all that GpSimd reaches",
        "data",
        lambda call: lies_in(call.data, "sbuf", "hbm"),
        MEMORY_SPACE,
    ),
)

requires(
    "nisa.tensor_tensor_scan",
    Requirement(
        "data0 and data1 do not both lie in PSUM",
        "data0 data1",
        lambda call: not_both_in_psum(call.data0, call.data1),
        MEMORY_SPACE,
    ),
)

requires(
    "nisa.tensor_scalar_reduce",
    Requirement("op0 is arithmetic", "op0", lambda call: not is_bits(call.op0)),
    Requirement(
        "reduce_op is add, subtract, multiply, maximum or minimum",
        "reduce_op",
        lambda call: (
            token(call.reduce_op).name in ("add", "subtract", "multiply", "maximum", "minimum")
        ),
    ),
    Requirement(
        "operand0 is float32",
        "operand0",
        lambda call: is_type(call.operand0, dtypes.float32),
        ENGINE_DTYPE,
    ),
    Requirement(
        "reduce_cmd is reset_reduce, reduce or load_reduce",
        "reduce_cmd",
        lambda call: name_of(call.reduce_cmd) != "reset",
    ),
    Requirement(
        "reduce_init is passed if and only if reduce_cmd is load_reduce",
        "reduce_init reduce_cmd",
        lambda call: (name_of(call.reduce_cmd) == "load_reduce") == (call.reduce_init is not None),
    ),
)

_WIDE: Final = (dtypes.int32, dtypes.uint32)

requires(
    "nisa.tensor_scalar_cumulative",
    Requirement("op0 is arithmetic", "op0", lambda call: not is_bits(call.op0)),
    Requirement(
        "src and dst are not int32 or uint32",
        "src dst",
        lambda call: is_not_type(call.src, *_WIDE) and is_not_type(call.dst, *_WIDE),
        ENGINE_DTYPE,
    ),
    Requirement(
        "imm0 and imm1 are float32",
        "imm0 imm1",
        lambda call: is_type(call.imm0, dtypes.float32) and is_type(call.imm1, dtypes.float32),
        ENGINE_DTYPE,
    ),
)
