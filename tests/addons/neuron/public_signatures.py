"""Parameters of the newer interface's public functions, as Neuron's public stubs list them.

Names and order of those of `nki.isa`, `nki.collectives` and, where the stubs have it,
`nki.language`, of Neuron 2.29 to 2.33. A later release's parameters are added at the end.
"""

from typing import Final

_ONE = "abs gelu_apprx_sigmoid invert logical_not reciprocal"
_TWO = """add bitwise_and bitwise_or bitwise_xor divide equal greater greater_equal left_shift less
    less_equal logical_and logical_or logical_xor maximum minimum multiply not_equal power
    right_shift subtract"""
_VARIABLE = """srcs dsts replica_group metadata_tensor recv_counts_known has_rdispls priority
    name"""

#: Module → function → its parameters in order.
SIGNATURES: Final[dict[str, dict[str, str]]] = {
    "nki.isa": {
        "activate2": """dst op data imm0 imm1 op0 op1 relu_param reverse0 reverse1 reduce_op
            reduce_res reduce_cmd name""",
        "activation": "dst op data bias scale reduce_op reduce_res reduce_cmd name",
        "activation_reduce": "dst op data reduce_op reduce_res bias scale name",
        "affine_select": """dst pattern channel_multiplier on_true_tile on_false_value cmp_op
            offset name""",
        "bn_aggr": "dst data name",
        "bn_stats": "dst data name",
        "core_barrier": "data cores engine name",
        "dma_compute": "dst srcs reduce_op scales unique_indices oob_mode name",
        "dma_copy": "dst src priority oob_mode dge_mode engine name",
        "dma_transpose": "dst src axes priority dge_mode oob_mode name",
        "dropout": "dst data prob name",
        "exponential": "dst src max_value reduce_res reduce_cmd reduce_init name",
        "iota": "dst pattern offset channel_multiplier name",
        "local_gather": "dst src_buffer index num_elem_per_idx num_valid_indices name",
        "max8": "dst src name",
        "memset": "dst value engine name",
        "nc_find_index8": "dst data vals name",
        "nc_match_replace8": "dst data vals imm dst_idx name",
        "nc_matmul": """dst stationary moving is_stationary_onezero is_moving_onezero is_transpose
            accumulate tile_position tile_size perf_mode name""",
        "nc_matmul_mx": """dst stationary moving stationary_scale moving_scale tile_position
            tile_size accumulate name""",
        "nc_n_gather": "dst data indices name",
        "nc_stream_shuffle": "dst src shuffle_mask name",
        "nc_transpose": "dst data engine name",
        "nonzero_with_count": "dst src index_offset padding_val name",
        "quantize_mx": "dst src dst_scale name",
        "rand2": "dst min max name",
        "rand_get_state": "dst engine name",
        "rand_set_state": "src_seeds engine name",
        "range_select": """dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd reduce_res
            reduce_op range_start on_false_value name""",
        "reciprocal": "dst data name",
        "register_alloc": "x",
        "register_load": "dst src",
        "register_move": "dst src",
        "register_store": "dst src",
        "rng": "dst engine name",
        "scalar_tensor_tensor": "dst data op0 operand0 op1 operand1 reverse0 reverse1 name",
        "select_reduce": """dst predicate on_true on_false reduce_res reduce_cmd reduce_op
            reverse_pred name""",
        "sendrecv": "src dst send_to_rank recv_from_rank pipe_id dma_engine name",
        "sequence_bounds": "dst segment_ids name",
        "set_rng_seed": "src_seeds name",
        "tensor_copy": "dst src engine name",
        "tensor_copy_predicated": "dst src predicate reverse_pred name",
        "tensor_partition_reduce": "dst op data name",
        "tensor_reduce": "dst op data axis negate keepdims name",
        "tensor_scalar": """dst data op0 operand0 reverse0 op1 operand1 reverse1 engine name""",
        "tensor_scalar_cumulative": "dst src op0 op1 imm0 imm1 reduce_cmd name",
        "tensor_scalar_reduce": """dst data op0 operand0 reduce_op reduce_res reverse0 reduce_cmd
            reduce_init reduce_res_negate name""",
        "tensor_tensor": "dst data1 data2 op engine name",
        "tensor_tensor_scan": "dst data0 data1 initial op0 op1 reverse0 reverse1 name",
    },
    "nki.language": {
        **dict.fromkeys(_ONE.split(), "x dtype"),
        **dict.fromkeys(_TWO.split(), "x y dtype"),
        "affine_range": "start stop step",
        "alloc_blocks": "tile_shape block_shape element_shape buffer dtype address name",
        "alloc_tiles": "tile_shape element_shape buffer dtype address name",
        "dynamic_range": "start stop step",
        "ds": "start size",
        "empty_like": "x dtype buffer name",
        "gather_flattened": "data indices axis dtype",
        "ndarray": "shape dtype buffer name",
        "sequential_range": "start stop step",
        "shared_constant": "constant dtype",
        "shared_identity_matrix": "n dtype dst",
        "static_range": "start stop step",
        "zeros": "shape dtype buffer name",
        "zeros_like": "x dtype buffer name",
    },
    "nki.collectives": {
        "all_gather": "srcs dsts replica_group collective_dim priority name",
        "all_gather_v": _VARIABLE,
        "all_gather_v_prepare": _VARIABLE,
        "all_gather_v_trigger": "prepare_instr name",
        "all_to_all_v": _VARIABLE,
        "all_to_all_v_prepare": _VARIABLE,
        "all_to_all_v_trigger": "prepare_instr name",
        "ReplicaGroup.from_partition_op": "world_size op operand",
    },
}
