"""Additional tables of NKI calls, beside those of the format: `client_nki_…`."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.client_tables import client_table
from kvtrace.schema.table_types import BOOL, I32, I64, NAME, TEXT, Column

_C = Column

#: Executed ops, in program order.
EXECUTIONS: Final = client_table(
    "nki_executions",
    "one executed op of the first launch of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("order", I64, "index among the executed ops of the call", key=True),
        _C("op_index", I32, "the op"),
        _C("engine", NAME, "tensor, vector, scalar, gpsimd or dma"),
        _C("program", I64, "linear program id, x fastest"),
        _C("elements", I64, "elements of its result"),
        _C("device_bytes", I64, "bytes from or to device memory", "bytes"),
        _C("chip_bytes", I64, "bytes from or to SBUF and PSUM", "bytes"),
        _C("flops", I64, "floating-point operations"),
        _C("written", I32, "buffer that it wrote"),
        _C("written_bytes", I64, "bytes that it wrote to that buffer", "bytes"),
        _C("read", pa.list_(I32), "buffers that it read"),
    ),
    ("call_id", "order"),
)

#: Buffers: sizes, and the first and last op that used each.
BUFFERS: Final = client_table(
    "nki_buffers",
    "one buffer of the first launch of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("buffer", I32, "its number", key=True),
        _C("space", NAME, "hbm, sbuf or psum"),
        _C("name", TEXT, "name in the program"),
        _C("argument", BOOL, "whether it is an argument of the kernel"),
        _C("bytes", I64, "size", "bytes"),
        _C("partitions", I32, "partitions that it spans"),
        _C("partition_bytes", I64, "bytes of one partition", "bytes"),
        _C("banks", I32, "banks of PSUM that it needs in each partition"),
        _C("first", I64, "order of the first op that uses it; null if none does"),
        _C("last", I64, "order of the last op that uses it"),
        _C("stack_id", I64, "where it was allocated"),
    ),
    ("call_id", "buffer"),
)

#: Figures of ops that the table `ops` has no columns for.
OPS: Final = client_table(
    "nki_ops",
    "one op of an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("op_index", I32, "the op", key=True),
        _C("engine", NAME, "tensor, vector, scalar, gpsimd or dma"),
        _C("device_bytes", I64, "bytes from or to device memory", "bytes"),
        _C("chip_bytes", I64, "bytes from or to SBUF and PSUM", "bytes"),
    ),
    ("call_id", "op_index"),
)

#: Calls: the target, and the most on-chip memory in use at once.
CALLS: Final = client_table(
    "nki_calls",
    "an NKI call",
    (
        _C("call_id", I64, "the call", key=True),
        _C("target", NAME, "trn1, trn2 or trn3"),
        _C("executed", I64, "executed ops, including those without a row"),
        _C("partitions", I32, "partitions of SBUF and PSUM"),
        _C("sbuf_bytes", I64, "bytes of a partition of SBUF that kernels may use", "bytes"),
        _C("sbuf_peak_bytes", I64, "most bytes of a partition in use at once", "bytes"),
        _C("psum_banks", I32, "banks of a partition of PSUM"),
        _C("psum_bank_bytes", I64, "bytes of a bank of one partition", "bytes"),
        _C("psum_peak_banks", I32, "most banks in use at once"),
    ),
    ("call_id",),
)

DEFINITIONS: Final = (EXECUTIONS, BUFFERS, OPS, CALLS)
