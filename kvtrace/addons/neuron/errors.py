"""Errors about a kernel: one sentence that ends with the file and line of the user's code."""

from collections.abc import Callable
from typing import Final, NoReturn

from kvtrace.schema.errors import KvtraceError


class NkiError(KvtraceError):
    """The kernel cannot continue: it uses something that NKI, or kvtrace's part of NKI, lacks."""

    slug = "nki-program"


#: Module → public names that kvtrace does not run, and refuses in one sentence.
REFUSED: Final = {
    "nki.isa": """
        activate2 affine_select bn_aggr bn_stats core_barrier dma_compute dma_transpose dropout
        exponential iota local_gather max8 nc_find_index8 nc_match_replace8 nc_n_gather
        nc_stream_shuffle nonzero_with_count rand2 rand_get_state rand_set_state range_select
        register_alloc register_load register_move register_store rng select_reduce sendrecv
        sequence_bounds set_rng_seed tensor_copy_dynamic_dst tensor_copy_dynamic_src
        tensor_copy_predicated tensor_partition_reduce tensor_scalar_cumulative topk""",
    "nki.language": """
        abs_max abs_min alloc_blocks alloc_tiles blocks device_print dropout dynamic_range
        empty_like erf_dx fori_loop gather_flattened gelu_apprx_sigmoid gelu_apprx_sigmoid_dx
        gelu_dx is_hbm is_on_chip is_psum is_sbuf load_transpose2d mish NKIObject prelu rand
        random_seed rms_norm silu_dx softmax softplus tiles var while_loop zeros_like""",
    "nki.collectives": """
        all_gather all_gather_v all_reduce all_to_all all_to_all_v collective_permute
        collective_permute_implicit collective_permute_implicit_reduce rank_id reduce_scatter""",
    "nki.tensor": "arange full identity ones zeros",
    "neuronxcc.nki.isa": """
        bn_aggr bn_stats dma_transpose dropout local_gather max8 nc_find_index8
        nc_match_replace8 nc_stream_shuffle range_select select_reduce sequence_bounds
        tensor_copy_dynamic_dst tensor_copy_dynamic_src tensor_copy_predicated
        tensor_partition_reduce""",
    "neuronxcc.nki.language": """
        all_reduce atomic_rmw device_print dropout empty_like erf_dx fmod gather_flattened
        gelu_apprx_sigmoid gelu_dx load_transpose2d loop_reduce mish rand random_seed rms_norm
        silu_dx softmax softplus var zeros_like""",
}


def refused(module: str) -> dict[str, Callable[..., NoReturn]]:
    """Return the module's refused names, each with a function that raises `NkiError`."""
    return {name: _refusing(f"{module}.{name}") for name in REFUSED[module].split()}


def _refusing(full_name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NkiError(f"kvtrace does not run {full_name}; use nki.simulate")

    return refuse


def missing_name_handler(module: str) -> Callable[[str], NoReturn]:
    """Return a module's `__getattr__`, which raises AttributeError for missing names."""

    def raise_error(name: str) -> NoReturn:
        raise AttributeError(f"kvtrace does not run {module}.{name}; use nki.simulate")

    return raise_error
