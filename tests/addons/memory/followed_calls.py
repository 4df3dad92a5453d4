"""Kernels and operators on small tensors, whose storages tests follow."""

from kvtrace.addons.memory.given_storages import CallStorage
from kvtrace.addons.memory.operator_effects import Operator, OperatorTensor, operator_effects
from kvtrace.addons.memory.states import Effect
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges

HALF, REST, ALL = ByteRanges.of(0, 32), ByteRanges.of(32, 64), ByteRanges.of(0, 64)
#: Kernels of one tensor of 64 bytes.
WRITES_HALF, WRITES_REST, WRITES_ALL, READS_ALL, READS_HALF, PERHAPS, IN_PLACE = range(7)
EFFECTS = {
    WRITES_HALF: Effect(NOTHING, NOTHING, HALF, HALF),
    WRITES_REST: Effect(NOTHING, NOTHING, REST, REST),
    WRITES_ALL: Effect(NOTHING, NOTHING, ALL, ALL),
    READS_ALL: Effect(ALL, ALL),
    READS_HALF: Effect(HALF, HALF),
    PERHAPS: Effect(NOTHING, NOTHING, NOTHING, ALL, "its mask depends on data"),
    IN_PLACE: Effect(ALL, ALL, ALL, ALL),
}
CALLS = {call: (CallStorage(0, 0, 0, 64, effect),) for call, effect in EFFECTS.items()}


def tensor(role, shape=(16,), strides=(1,), offset=0, storage=64, host=False):
    return OperatorTensor(role, "fp32", host, shape, strides, offset, storage)


def operator(name, *tensors):
    return Operator(name, tensors, operator_effects(name, tensors))


OPERATORS = {
    number: operator(name, *tensors)
    for number, (name, *tensors) in enumerate(
        (
            ("aten::empty.memory_format", tensor("created")),
            ("aten::zeros", tensor("created")),
            ("aten::add.Tensor", tensor("read"), tensor("created")),
            ("aten::add_.Tensor", tensor("written"), tensor("viewed")),
            ("aten::copy_", tensor("written", (8,), offset=32), tensor("read", (8,))),
            ("aten::clone", tensor("read"), tensor("created")),
            ("aten::view", tensor("read"), tensor("viewed")),
            ("aten::empty_like", tensor("read"), tensor("created")),
            ("aten::index_put_", tensor("written"), tensor("viewed")),
            ("mine::op", tensor("read"), tensor("created")),
            ("aten::sum", tensor("read"), tensor("created", (), (), storage=4)),
            ("aten::empty", tensor("created", host=True)),
            ("aten::to", tensor("read", host=True), tensor("created")),
            ("aten::lift_fresh", tensor("read"), tensor("viewed")),
            ("aten::cat", tensor("read"), tensor("read"), tensor("created", (32,), storage=128)),
            (
                "aten::slice",
                tensor("read", (32,), storage=128),
                tensor("viewed", offset=64, storage=128),
            ),
            (
                "aten::mul.Tensor",
                tensor("read", (8,)),
                tensor("read", (), (), storage=4, host=True),
                tensor("created"),
            ),
        )
    )
}
EMPTY, ZEROS, ADD, ADD_, COPY_, CLONE, VIEW, EMPTY_LIKE, INDEX_PUT_, MINE, SUM, *_MORE = OPERATORS
HOST_EMPTY, HOST_TO, LIFT, CAT, _, SCALED = _MORE
A, B, C = 0x1000, 0x2000, 0x3000
