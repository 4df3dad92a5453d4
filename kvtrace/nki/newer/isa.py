"""`nki.isa`: the names of the newer instructions, each from where it is written."""

from kvtrace.nki.constants import (
    dge_mode,
    engine,
    get_nc_version,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from kvtrace.nki.errors import NkiError as NkiValidationError
from kvtrace.nki.missing import says_missing
from kvtrace.nki.ops import elementwise, moves, products, reductions

__all__ = [
    "NkiValidationError",
    "dge_mode",
    "engine",
    "get_nc_version",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
]

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

activation = elementwise.activation.newer
activation_reduce = elementwise.activation_reduce.newer
dma_copy = moves.dma_copy.older
exponential = elementwise.exponential.newer
memset = moves.memset_into.newer
nc_matmul = products.nc_matmul.newer
nc_transpose = products.nc_transpose.newer
reciprocal = elementwise.reciprocal.newer
scalar_tensor_tensor = elementwise.scalar_tensor_tensor.newer
tensor_copy = moves.tensor_copy.newer
tensor_partition_reduce = reductions.tensor_partition_reduce.newer
tensor_reduce = reductions.tensor_reduce.newer
tensor_scalar = elementwise.tensor_scalar.newer
tensor_tensor = elementwise.tensor_tensor.newer

__getattr__ = says_missing("nki.isa")
