"""Operands of calls: a correct call of each instruction, and a call that violates each requirement.

`S(32, 24)` is a tile in SBUF, `P(…)` a tile in PSUM and `H(…)` a tensor in device memory, of
float32 unless a type is given.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl

ENGINES, COMMANDS, DGE = nisa.engine, nisa.reduce_cmd, nisa.dge_mode
FIRST_BITS = {"op0": nl.bitwise_and, "operand0": 3}


@dataclass(frozen=True)
class Tile:
    """A tile to allocate in a kernel, filled with ones, or with zeros if its type is packed."""

    space: Any
    shape: tuple[int, ...]
    dtype: Any
    first: int = 0
    last: int | None = None

    def allocate(self) -> Any:
        number = 0 if self.dtype.kind == "V" else 1
        tensor = nl.ndarray(self.shape, self.dtype, buffer=self.space)
        tensor.array()[...] = np.zeros((), self.dtype) if number == 0 else number
        tensor.memory.states = None
        return tensor[self.first : self.last] if self.first or self.last else tensor


def S(*shape: int, dtype: Any = nl.float32, rows: tuple[int, int | None] = (0, None)) -> Tile:
    return Tile(nl.sbuf, shape, dtype, *rows)


def P(*shape: int, dtype: Any = nl.float32) -> Tile:
    return Tile(nl.psum, shape, dtype)


def H(*shape: int, dtype: Any = nl.float32) -> Tile:
    return Tile(nl.shared_hbm, shape, dtype)


TILE, COLUMN, WHOLE = S(32, 24), S(32, 1), S(32, 24, dtype=nl.int32)
BF16 = {"dtype": nl.bfloat16}

#: Instruction → operands of a correct call.
RIGHT: dict[str, dict[str, Any]] = {
    "nc_matmul": {
        "dst": P(32, 24),
        "stationary": S(64, 32, **BF16),
        "moving": S(64, 24, **BF16),
    },
    "nc_matmul_mx": {
        "target": "trn3",
        "dst": P(32, 24),
        "stationary": S(64, 32, dtype=nl.float8_e4m3fn_x4),
        "moving": S(64, 24, dtype=nl.float8_e4m3fn_x4),
        "stationary_scale": S(64, 32, dtype=nl.uint8),
        "moving_scale": S(64, 24, dtype=nl.uint8),
    },
    "nc_transpose": {"dst": P(24, 32), "data": TILE, "engine": ENGINES.tensor},
    "tensor_tensor": {"dst": TILE, "data1": TILE, "data2": TILE, "op": nl.add},
    "tensor_scalar": {"dst": TILE, "data": TILE, "op0": nl.add, "operand0": 1.0},
    "scalar_tensor_tensor": {
        "dst": TILE,
        "data": TILE,
        "op0": nl.add,
        "operand0": 1.0,
        "op1": nl.multiply,
        "operand1": TILE,
    },
    "activation": {"dst": TILE, "data": TILE, "op": nl.exp},
    "activation_reduce": {
        "dst": TILE,
        "data": TILE,
        "op": nl.exp,
        "reduce_op": nl.add,
        "reduce_res": COLUMN,
    },
    "activate2": {
        "target": "trn3",
        "dst": TILE,
        "data": TILE,
        "op": nl.gelu,
        "imm0": 2.0,
        "imm1": 0.5,
        "op0": nl.multiply,
        "op1": nl.add,
    },
    "exponential": {"target": "trn3", "dst": TILE, "src": TILE, "max_value": COLUMN},
    "select_reduce": {
        "dst": TILE,
        "predicate": S(32, 24, dtype=nl.uint8),
        "on_true": TILE,
        "on_false": 0.0,
    },
    "range_select": {
        "dst": TILE,
        "on_true_tile": TILE,
        "comp_op0": nl.greater_equal,
        "comp_op1": nl.less,
        "bound0": COLUMN,
        "bound1": COLUMN,
    },
    "tensor_copy_predicated": {
        "dst": TILE,
        "src": TILE,
        "predicate": S(32, 24, dtype=nl.uint8),
    },
    "dropout": {"dst": TILE, "data": TILE, "prob": 0.5},
    "tensor_reduce": {"dst": COLUMN, "data": TILE, "op": nl.add, "axis": 1},
    "tensor_partition_reduce": {"dst": S(1, 24), "data": TILE, "op": nl.add},
    "tensor_tensor_scan": {
        "dst": TILE,
        "data0": TILE,
        "data1": TILE,
        "initial": 0.0,
        "op0": nl.multiply,
        "op1": nl.add,
    },
    "tensor_scalar_reduce": {
        "dst": TILE,
        "data": TILE,
        "op0": nl.add,
        "operand0": 1.0,
        "reduce_op": nl.add,
        "reduce_res": COLUMN,
    },
    "tensor_scalar_cumulative": {
        "dst": TILE,
        "src": TILE,
        "op0": nl.add,
        "op1": nl.add,
        "imm0": 1.0,
    },
    "dma_copy": {"dst": TILE, "src": H(32, 24)},
    "dma_transpose": {"dst": S(24, 32), "src": H(32, 24)},
    "dma_compute": {"dst": H(32, 24), "srcs": [TILE, TILE], "reduce_op": nl.add},
    "tensor_copy": {"dst": TILE, "src": TILE},
    "memset": {"dst": TILE, "value": 1.0},
    "iota": {"dst": TILE, "pattern": [[1, 24]]},
    "affine_select": {
        "dst": TILE,
        "pattern": [[1, 24]],
        "channel_multiplier": 1,
        "on_true_tile": TILE,
        "on_false_value": 0.0,
    },
    "sendrecv": {
        "src": TILE,
        "dst": TILE,
        "pipe_id": 0,
    },
    "core_barrier": {"data": H(32, 24), "cores": (0, 1)},
    "quantize_mx": {
        "target": "trn3",
        "dst": S(32, 6, dtype=nl.float8_e4m3fn_x4),
        "src": S(32, 24, **BF16),
        "dst_scale": S(4, 6, dtype=nl.uint8),
    },
    "nc_match_replace8": {"dst": TILE, "data": TILE, "vals": S(32, 8), "imm": 0.0},
    "nc_find_index8": {"dst": S(32, 8, dtype=nl.uint32), "data": TILE, "vals": S(32, 8)},
    "nc_stream_shuffle": {"dst": TILE, "src": TILE, "shuffle_mask": list(range(32))},
    "local_gather": {"dst": S(32, 16), "src_buffer": TILE, "index": S(32, 1, dtype=nl.uint16)},
    "nc_n_gather": {"dst": S(32, 4), "data": TILE, "indices": S(32, 4, dtype=nl.uint32)},
    "nonzero_with_count": {"dst": S(32, 25, dtype=nl.int32), "src": TILE},
    "sequence_bounds": {"dst": S(1, 2, 24), "segment_ids": S(1, 24)},
    "topk": {
        "val_dst": S(32, 8, **BF16),
        "idx_dst": S(32, 8, dtype=nl.uint32),
        "src": S(32, 24, **BF16),
        "n": 300,
    },
    "rng": {"dst": WHOLE},
    "rand2": {"target": "trn3", "dst": TILE, "min": 0.0, "max": 1.0},
    "rand_set_state": {"src_seeds": S(32, 6, dtype=nl.uint32)},
    "rand_get_state": {"dst": S(32, 6, dtype=nl.uint32)},
    "set_rng_seed": {"src_seeds": S(1, 1, dtype=nl.uint32)},
}

FLOAT8 = {
    "stationary": S(64, 2, 32, dtype=nl.float8_e4m3),
    "moving": S(64, 2, 24, dtype=nl.float8_e4m3),
    "perf_mode": nisa.matmul_perf_mode.double_row,
}
PSUM_TILE, BITS = P(32, 24), S(32, 24, dtype=nl.uint32)

#: Instruction → beginning of a requirement → operands that differ from the correct call.
BROKEN: dict[str, dict[str, dict[str, Any]]] = {
    "nc_matmul": {
        "tile_position and tile_size are given together": {"tile_position": (64, 0)},
        "tile_size has rows and": {"tile_position": (0, 0), "tile_size": (96, 128)},
        "tile_position is a multiple": {"tile_position": (32, 0), "tile_size": (64, 128)},
        "the stationary tile fits": {"tile_position": (0, 0), "tile_size": (32, 128)},
        "perf_mode double_row needs NeuronCore-v3": {**FLOAT8, "target": "trn1"},
        "perf_mode double_row multiplies": {
            "stationary": S(64, 2, 32, **BF16),
            "moving": S(64, 2, 24, **BF16),
            "perf_mode": nisa.matmul_perf_mode.double_row,
        },
        "with perf_mode double_row, tile_size": {
            **FLOAT8,
            "tile_position": (0, 0),
            "tile_size": (128, 64),
        },
        "multiplication of float8_e4m3fn needs": {"moving": S(64, 24, dtype=nl.float8_e4m3fn)},
        "float8_e4m3 and float8_e4m3fn are": {
            "target": "trn3",
            "stationary": S(64, 32, dtype=nl.float8_e4m3),
            "moving": S(64, 24, dtype=nl.float8_e4m3fn),
        },
    },
    "nc_matmul_mx": {
        "tile_position and tile_size are given together": {"tile_size": (64, 128)},
        "tile_size has all 128": {"tile_position": (0, 64), "tile_size": (64, 64)},
        "the stationary tile's free size": {
            "dst": P(31, 24),
            "stationary": S(64, 31, dtype=nl.float8_e4m3fn_x4),
        },
        "scales are uint8": {"moving_scale": S(64, 24, dtype=nl.int8)},
        "scales lie in SBUF": {"moving_scale": P(64, 24, dtype=nl.uint8)},
        "needs NeuronCore-v4": {"target": "trn2"},
        "stationary and moving lie": {"moving": P(64, 24, dtype=nl.float8_e4m3fn_x4)},
    },
    "nc_transpose": {
        "the engine is": {"engine": ENGINES.scalar},
        "dst has the type": {"dst": P(24, 32, **BF16)},
        "the tensor engine reads": {"data": PSUM_TILE},
        "the tensor engine writes": {"dst": S(24, 32)},
    },
    "tensor_tensor": {
        "data1 and data2 do not both": {"data1": PSUM_TILE, "data2": PSUM_TILE},
        "data1 and data2 have": {"data2": S(24, 32)},
        "bitwise operations take and": {"op": nl.bitwise_or, "data1": WHOLE, "data2": WHOLE},
        "power runs": {"op": nl.power, "data1": PSUM_TILE},
        "the engine is": {"engine": ENGINES.scalar},
    },
    "tensor_scalar": {
        "op0 and op1 are": {
            **FIRST_BITS,
            "data": BITS,
            "dst": BITS,
            "op1": nl.add,
            "operand1": 1.0,
        },
        "bitwise operations take and": {**FIRST_BITS, "data": BITS},
        "bitwise operations run on": {
            **FIRST_BITS,
            "data": BITS,
            "dst": BITS,
            "engine": ENGINES.gpsimd,
        },
        "operands of arithmetic": {"operand0": S(32, 1, **BF16)},
        "the operand of a": {"op0": nl.abs, "operand0": 2.0},
        "op1 and operand1": {"operand1": 1.0},
        "the scalar engine multiplies,": {"op0": nl.subtract, "engine": ENGINES.scalar},
        "GpSimd computes": {"engine": ENGINES.gpsimd},
    },
    "scalar_tensor_tensor": {
        "op0 and op1 are": {
            **FIRST_BITS,
            "data": BITS,
            "op1": nl.bitwise_or,
            "operand1": BITS,
            "dst": BITS,
        },
        "data and operand1": {"data": PSUM_TILE, "operand1": PSUM_TILE},
    },
    "activation": {
        "op is a function": {"op": nl.floor},
        "scale is": {"scale": S(32, 1, **BF16)},
        "a bias that is": {"target": "trn1", "bias": 1.0},
        "bias has": {"bias": S(32, 1, dtype=nl.int32)},
        "reduce_op is": {"reduce_op": nl.maximum, "reduce_res": COLUMN},
        "reduce_cmd is": {"reduce_op": nl.add, "reduce_cmd": COMMANDS.load_reduce},
    },
    "activation_reduce": {
        "op is a function": {"op": nl.ceil},
        "scale is": {"scale": S(32, 1, **BF16)},
        "a bias that is": {"target": "trn1", "bias": 1.0},
        "bias has": {"bias": S(32, 1, dtype=nl.int32)},
        "reduce_op is add on": {"target": "trn1", "reduce_op": nl.maximum},
    },
    "activate2": {
        "needs NeuronCore-v4 or later": {"target": "trn2"},
        "op is a function": {"op": nl.trunc},
        "op0 and op1 are one": {"op0": nl.add, "op1": nl.multiply},
        "reduce_op is": {"reduce_op": nl.multiply},
        "imm0 and imm1": {"imm0": COLUMN, "imm1": S(32, 1, **BF16)},
    },
    "exponential": {
        "needs NeuronCore-v4 or later": {"target": "trn2"},
        "max_value is": {"max_value": S(32, 1, **BF16)},
        "reduce_init is": {"reduce_init": 1.0},
    },
    "select_reduce": {
        "predicate is": {"predicate": WHOLE},
        "on_true and predicate": {
            "on_true": PSUM_TILE,
            "predicate": P(32, 24, dtype=nl.uint8),
        },
        "on_true is not": {"on_true": WHOLE},
        "reduce_op is": {"reduce_op": nl.add, "reduce_res": COLUMN},
        "reduce_res has a float": {"reduce_res": S(32, 1, dtype=nl.int32)},
    },
    "range_select": {
        "needs NeuronCore-v3 or later": {"target": "trn1"},
        "comp_op0 and": {"comp_op0": nl.not_equal},
        "on_true_tile has a float": {"on_true_tile": WHOLE},
        "bounds are": {"bound0": S(32, 1, dtype=nl.int32)},
        "reduce_op is": {"reduce_op": nl.add},
        "on_false_value is": {"on_false_value": -1.0},
    },
    "tensor_copy_predicated": {
        "predicate is": {"predicate": S(32, 24, dtype=nl.int8)},
        "src and predicate": {"src": PSUM_TILE, "predicate": P(32, 24, dtype=nl.uint8)},
        "dst has the type": {"src": S(32, 24, **BF16)},
    },
    "dropout": {
        "dst has the type": {"dst": S(32, 24, **BF16)},
        "prob is float32 for": {"prob": S(32, 1, dtype=nl.int32)},
    },
    "tensor_reduce": {
        "op is a reduction": {"op": nl.power},
        "bitwise operations take and": {"op": nl.bitwise_or, "data": WHOLE},
        "negate needs an arithmetic": {
            "op": nl.bitwise_or,
            "data": WHOLE,
            "dst": S(32, 1, dtype=nl.int32),
            "negate": True,
        },
        "the axes are the": {"data": S(32, 4, 6), "dst": S(32, 6), "axis": 1},
    },
    "tensor_partition_reduce": {
        "op is": {"op": nl.multiply},
        "data lies": {"data": PSUM_TILE},
    },
    "tensor_tensor_scan": {
        "data0 and data1": {"data0": PSUM_TILE, "data1": PSUM_TILE},
    },
    "tensor_scalar_reduce": {
        "op0 is": {**FIRST_BITS, "data": BITS, "dst": BITS},
        "reduce_op is": {"reduce_op": nl.logical_and},
        "operand0 is": {"operand0": S(32, 1, **BF16)},
        "reduce_cmd is": {"reduce_cmd": COMMANDS.reset},
        "reduce_init is passed if": {"reduce_init": 1.0},
    },
    "tensor_scalar_cumulative": {
        "op0 is": {"op0": nl.bitwise_or, "src": S(32, 24, dtype=nl.int16), "imm0": 1},
        "src and dst": {"src": WHOLE},
        "imm0 and imm1": {"imm0": S(32, 1, **BF16)},
    },
    "dma_copy": {
        "dge_mode hwdge needs NeuronCore-v3": {"target": "trn1", "dge_mode": DGE.hwdge},
        "priority is 0": {"target": "trn3", "priority": 4},
        "priority needs NeuronCore-v4 or": {"priority": 1},
        "an engine is named": {"engine": ENGINES.vector, "dge_mode": DGE.hwdge},
    },
    "dma_transpose": {
        "dge_mode hwdge needs NeuronCore-v3": {
            "target": "trn1",
            "dge_mode": DGE.hwdge,
            "src": H(16, 128, **BF16),
            "dst": S(128, 16, **BF16),
        },
        "priority is 0": {"target": "trn3", "priority": -1},
        "priority needs NeuronCore-v4 or": {"priority": 1},
        "axes are": {"axes": (0, 1), "dst": TILE},
        "dge_mode hwdge takes 1,": {"dge_mode": DGE.hwdge},
        "dst lies": {"dst": H(24, 32)},
        "dst has the type": {"dst": S(24, 32, **BF16)},
    },
    "dma_compute": {
        "reduce_op is": {"reduce_op": nl.maximum},
        "scales are": {"scales": [1.0, 2.0]},
        "there are at most": {"srcs": [TILE] * 17},
        "srcs and dst": {"srcs": [TILE, PSUM_TILE]},
        "unique_indices": {"unique_indices": False},
    },
    "tensor_copy": {
        "the engine is": {"engine": ENGINES.tensor},
        "copies on the scalar": {"target": "trn1", "engine": ENGINES.scalar},
    },
    "memset": {
        "the engine is": {"engine": ENGINES.scalar},
        "packed types": {"dst": S(32, 6, dtype=nl.float8_e4m3fn_x4)},
    },
    "iota": {"dst lies": {"dst": P(32, 24)}},
    "affine_select": {"dst and on_true_tile": {"on_true_tile": PSUM_TILE}},
    "sendrecv": {
        "needs NeuronCore-v3 or later": {"target": "trn1"},
        "src and dst lie": {"src": PSUM_TILE},
        "GpSimd sends": {
            "src": S(32, 512),
            "dst": S(32, 512),
            "dma_engine": nisa.dma_engine.gpsimd_dma,
        },
    },
    "core_barrier": {
        "needs NeuronCore-v3 or later": {"target": "trn1"},
        "cores are": {"cores": (1, 0)},
        "data lies in shared_hbm,": {"data": Tile(nl.private_hbm, (32, 24), nl.float32)},
    },
    "quantize_mx": {
        "src, dst and dst_scale": {"src": P(32, 24, **BF16)},
        "dst_scale is": {"dst_scale": S(4, 6, dtype=nl.int8)},
        "needs NeuronCore-v4": {"target": "trn2"},
        "src is": {"src": TILE},
    },
    "nc_match_replace8": {"data has at least": {"data": S(32, 6), "dst": S(32, 6)}},
    "nc_find_index8": {
        "data has at least": {"data": S(32, 6)},
        "dst is": {"dst": S(32, 8, dtype=nl.int32)},
    },
    "nc_stream_shuffle": {
        "dst has the type": {"dst": S(32, 24, **BF16)},
        "tiles of up to": {"src": S(64, 24, rows=(16, 48))},
    },
    "local_gather": {
        "dst has the type": {"dst": S(32, 16, **BF16)},
        "a core gathers at": {"index": S(32, 512, dtype=nl.uint16), "dst": S(32, 8192)},
        "src_buffer and index lie": {"src_buffer": PSUM_TILE},
        "index is": {"index": S(32, 1, dtype=nl.uint32)},
    },
    "nc_n_gather": {
        "dst has the type": {"dst": S(32, 4, **BF16)},
        "dst lies": {"dst": P(32, 4)},
        "data and indices lie": {"data": PSUM_TILE},
        "indices is": {"indices": S(32, 4, dtype=nl.uint16)},
    },
    "nonzero_with_count": {
        "src is": {"src": S(32, 24, dtype=nl.int16)},
        "dst is": {"dst": S(32, 25, dtype=nl.uint32)},
        "dst lies": {"dst": P(32, 25, dtype=nl.int32)},
        "needs NeuronCore-v3": {"target": "trn1"},
        "src lies": {"src": PSUM_TILE},
    },
    "sequence_bounds": {
        "segment_ids lie": {"segment_ids": S(2, 24), "dst": S(2, 2, 24)},
        "segment_ids and dst": {"segment_ids": S(1, 24, dtype=nl.int16)},
    },
    "topk": {
        "src and val_dst": {"src": TILE},
        "tiles lie": {"src": P(32, 24, **BF16)},
        "n is": {"n": 7, "val_dst": S(32, 4, **BF16), "idx_dst": S(32, 4, dtype=nl.uint32)},
    },
    "rng": {
        "the engine is": {"engine": ENGINES.scalar},
        "GpSimd makes": {"target": "trn1", "engine": ENGINES.gpsimd},
    },
    "rand2": {"needs NeuronCore-v4 or later": {"target": "trn2"}, "min is": {"min": 1.0}},
    "rand_set_state": {
        "the engine is": {"engine": ENGINES.scalar, "src_seeds": S(32, 24, dtype=nl.uint32)},
        "needs NeuronCore-v3 or later;": {"target": "trn1"},
        "src_seeds is uint32": {"src_seeds": S(32, 6, dtype=nl.int32)},
    },
    "rand_get_state": {
        "the engine is": {"engine": ENGINES.scalar, "dst": S(32, 24, dtype=nl.uint32)},
        "needs NeuronCore-v3 or later;": {
            "engine": ENGINES.vector,
            "dst": S(32, 24, dtype=nl.uint32),
        },
        "dst is uint32": {"dst": S(32, 6, dtype=nl.int32)},
    },
    "set_rng_seed": {"src_seeds is one 32-bit": {"src_seeds": S(1, 1, dtype=nl.uint16)}},
}  # fmt: skip
