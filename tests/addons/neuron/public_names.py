"""The public names of both generations of NKI, as Neuron's documentation lists them.

Older: the API reference of Neuron 2.26 (`neuronxcc.nki`). Newer: that of Neuron 2.29 to 2.33
(`nki`), and the names that its release notes up to 2.33 add. Signatures are in
`public_signatures.py`.
"""

from typing import Final

_CREATION = "ndarray zeros ones full zeros_like empty_like shared_identity_matrix rand random_seed"
_MATH = """abs add arctan ceil cos exp floor log maximum minimum multiply negative power reciprocal
    rsqrt sign sin sqrt square subtract tan tanh trunc"""
_ACTIVATIONS = """relu sigmoid silu silu_dx gelu gelu_dx gelu_apprx_sigmoid gelu_apprx_tanh mish
    softplus softmax erf erf_dx"""
_REDUCTIONS = "all max mean min prod sum var"
_COMPARISONS = "equal not_equal less less_equal greater greater_equal"
_LOGIC = "logical_and logical_or logical_xor logical_not"
_BITS = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"
_MEMORIES = "psum sbuf hbm private_hbm shared_hbm"
_PROGRAMS = "program_id num_programs program_ndim device_print"
_DTYPES = """bool_ int8 int16 int32 uint8 uint16 uint32 float16 float32 bfloat16 tfloat32
    float8_e4m3 float8_e5m2"""
_ISA = """nc_matmul nc_transpose activation activation_reduce tensor_reduce tensor_partition_reduce
    tensor_tensor tensor_tensor_scan scalar_tensor_tensor tensor_scalar tensor_scalar_reduce
    tensor_copy tensor_copy_dynamic_src tensor_copy_dynamic_dst tensor_copy_predicated reciprocal
    iota dropout affine_select range_select select_reduce sequence_bounds memset bn_stats bn_aggr
    local_gather dma_copy dma_transpose max8 nc_find_index8 nc_match_replace8 nc_stream_shuffle"""

#: Module or class, as users name it → part of its documentation → its names.
PUBLIC: Final[dict[str, dict[str, str]]] = {
    "neuronxcc.nki": {
        "decorators": "jit benchmark profile baremetal simulate_kernel",
    },
    "neuronxcc.nki.language": {
        "memory": "load store load_transpose2d atomic_rmw copy broadcast_to",
        "creation": f"{_CREATION} shared_constant",
        "mathematics": f"{_MATH} divide mod fmod dropout rms_norm matmul transpose static_cast",
        "activations": _ACTIVATIONS,
        "reductions": _REDUCTIONS,
        "comparisons": _COMPARISONS,
        "logic": _LOGIC,
        "bits": _BITS,
        "indices": "ds arange mgrid expand_dims where gather_flattened",
        "collectives": "all_reduce",
        "loops": "static_range affine_range sequential_range",
        "memories": f"par_dim {_MEMORIES}",
        "programs": f"{_PROGRAMS} spmd_dim nc loop_reduce",
        "types and constants": f"{_DTYPES} tile_size fp32",
    },
    "neuronxcc.nki.isa": {
        "instructions": _ISA,
        "engines and modes": """engine tensor_engine vector_engine scalar_engine gpsimd_engine
            dma_engine unknown_engine reduce_cmd dge_mode""",
        "targets": "nc_version get_nc_version",
    },
    "neuronxcc.nki.compiler": {
        "allocation": """sbuf.alloc sbuf.mod_alloc sbuf.auto_alloc psum.alloc psum.mod_alloc
            psum.auto_alloc skip_middle_end_transformations enable_stack_allocator
            force_auto_alloc""",
        "order": "no_reorder",
    },
    "tensors of neuronxcc.nki": {
        "methods": "assert_shape astype broadcast_to expand_dims reshape view",
        "attributes": "dtype itemsize ndim shape",
    },
    "nki": {
        "decorators": "jit simulate",
    },
    "nki.language": {
        "creation": f"{_CREATION} shared_constant",
        "tensors": """NkiTensor NKIObject MemoryRegion NkiGrid NkiTileGrid
            NkiBlockGrid tiles blocks alloc_tiles alloc_blocks load load_transpose2d store copy
            matmul transpose""",
        "mathematics": f"{_MATH} abs_max abs_min",
        "activations": f"{_ACTIVATIONS} gelu_apprx_sigmoid_dx",
        "normalization": "dropout rms_norm",
        "reductions": _REDUCTIONS,
        "comparisons": _COMPARISONS,
        "logic": _LOGIC,
        "bits": _BITS,
        "indices": "broadcast_to ds expand_dims where gather_flattened",
        "loops": """affine_range dynamic_range sequential_range static_range fori_loop
            while_loop""",
        "memories": f"{_MEMORIES} is_psum is_sbuf is_hbm is_on_chip",
        "programs": f"{_PROGRAMS} no_reorder",
        "types and constants": f"""{_DTYPES} float8_e4m3fn float8_e8m0fnu float8_e5m2_x4
            float8_e4m3fn_x4 float4_e2m1fn_x4""",
        "sizes": """tile_size.pmax tile_size.psum_fmax tile_size.psum_bank_fmax
            tile_size.psum_bank_fmax_bytes tile_size.psum_num_banks tile_size.sbuf_size_bytes
            tile_size.sbuf_fmax tile_size.sbuf_fmax_bytes tile_size.gemm_stationary_fmax
            tile_size.gemm_moving_fmax tile_size.bn_stats_fmax tile_size.psum_min_align
            tile_size.sbuf_min_align tile_size.total_available_sbuf_size""",
        "operators": "Op prelu bypass",
    },
    "nki.isa": {
        "instructions": f"""{_ISA} nc_matmul_mx tensor_scalar_cumulative exponential quantize_mx
            nc_n_gather dma_compute activate2 topk nonzero_with_count""",
        "registers and cores": """VirtualRegister register_alloc register_load register_move
            register_store core_barrier sendrecv""",
        "random numbers": "rng rand2 rand_set_state rand_get_state set_rng_seed",
        "engines and modes": """engine tensor_engine vector_engine scalar_engine gpsimd_engine
            unknown_engine dma_engine reduce_cmd dge_mode oob_mode matmul_perf_mode""",
        "targets": "nc_version get_nc_version NkiValidationError",
    },
    "nki.collectives": {
        "collectives": """all_reduce all_gather all_gather_v reduce_scatter all_to_all all_to_all_v
            collective_permute collective_permute_implicit collective_permute_implicit_reduce
            collective_permute_implicit_current_processing_rank_id rank_id ReplicaGroup
            ReplicaGroup.from_partition_op rg_partition_op all_to_all_v_prepare
            all_to_all_v_trigger all_gather_v_prepare all_gather_v_trigger""",
    },
    "nki.tensor": {
        "constants": "zeros ones full identity arange",
    },
    "nki.typing": {
        "annotations": "tensor",
    },
    "nki.language.NkiTensor": {
        "methods": """ap broadcast expand_dim flatten_dims get_pattern indirect is_contiguous
            is_indirect permute rearrange reshape reshape_dim select slice squeeze_dim
            vector_select view reinterpret_cast""",
        "attributes": "buffer dtype name ndim offset shape size strides",
    },
}
