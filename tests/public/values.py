"""What kernel files of vLLM and SGLang need of modules that are stood in for."""

import logging
from collections.abc import Mapping
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

Values = Mapping[str, Mapping[str, Any]]


class KVQuantMode(IntEnum):
    """vLLM's ways to quantise a cache, which kernels take as constants."""

    NONE = 0
    FP8_PER_TENSOR = 1
    INT8_PER_TOKEN_HEAD = 2
    FP8_PER_TOKEN_HEAD = 3
    NVFP4 = 4


class Logger(logging.Logger):
    """A logger with vLLM's methods besides."""

    def warning_once(self, message: str, *given: Any, **_: Any) -> None:
        self.warning(message, *given)

    def info_once(self, message: str, *given: Any, **_: Any) -> None:
        self.info(message, *given)

    debug_once = info_once


def vllm_values() -> Values:
    """Return what modules of vLLM hold, under CUDA."""
    import torch
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    platform = SimpleNamespace(
        is_cuda=lambda: True, is_rocm=lambda: False, is_cuda_alike=lambda: True,
        is_xpu=lambda: False, is_cpu=lambda: False, is_tpu=lambda: False,
        is_fp8_fnuz=lambda: False, fp8_dtype=lambda: torch.float8_e4m3fn, device_type="cuda",
        is_arch_support_pdl=lambda: False, is_device_capability=lambda *_: False,
        is_device_capability_family=lambda *_: False,
        has_device_capability=lambda *_: True, get_device_name=torch.cuda.get_device_name,
        get_device_capability=lambda *_: SimpleNamespace(major=9, minor=0, to_int=lambda: 90),
        num_compute_units=lambda *_: (
            torch.cuda.get_device_properties(0).multi_processor_count),
        fp8_min_max=lambda: (-448.0, 448.0), opaque_attention_op=lambda: True,
        import_kernels=lambda: None, simple_compile_backend="eager",
    )  # fmt: skip
    return {
        "vllm": {"__version__": "?"},
        "vllm.logger": {"init_logger": Logger},
        "vllm.platforms": {"current_platform": platform},
        "vllm.triton_utils": {
            "HAS_TRITON": True, "triton": triton, "tl": tl, "tldevice": libdevice,
            "LOG2E": 1.4426950408889634, "LOGE2": 0.6931471805599453,
        },
        "vllm.triton_utils.allocation": {"set_triton_allocator": lambda *_: None},
        "vllm.utils.math_utils": {
            "next_power_of_2": triton.next_power_of_2, "cdiv": triton.cdiv,
            "RCP_LN2": 1.4426950216,
            "round_up": lambda x, y: -(-x // y) * y,
        },
        "vllm.utils.platform_utils": {"num_compute_units": platform.num_compute_units},
        "vllm.utils.mem_utils": {"get_max_shared_memory_bytes": lambda *_: 232_448},
        "vllm.utils.torch_utils": {
            "is_quantized_kv_cache": lambda name: name.startswith("fp8"),
            "is_torch_equal_or_newer": lambda _version: True,
            "direct_register_custom_op": lambda *_, **__: None,
            "async_tensor_h2d": lambda data, dtype=None, device=None, **_: torch.tensor(
                data, dtype=dtype
            ),
        },
        "vllm.model_executor.layers.quantization.utils.quant_utils": {
            "FP8_DTYPE": torch.float8_e4m3fn, "get_fp8_min_max": platform.fp8_min_max,
        },
        "vllm.v1.attention.backends.utils": {
            "PAD_SLOT_ID": -1, "NULL_BLOCK_ID": 0, "CommonAttentionMetadata": object,
        },
        "vllm.v1.kv_cache_interface": {"KVQuantMode": KVQuantMode},
        "vllm.v1.sample.ops.topk_topp_sampler": {
            "apply_top_k_top_p": lambda logits, _k, _p: logits,
        },
    }  # fmt: skip


def sglang_values() -> Values:
    """Return what modules of SGLang hold, under CUDA."""
    import torch

    def is_true(*_: Any) -> bool:
        return True

    def is_false(*_: Any) -> bool:
        return False

    utils = {
        "is_cuda": is_true, "is_hip": is_false, "is_npu": is_false, "is_cpu": is_false,
        "is_xpu": is_false, "is_musa": is_false, "is_hpu": is_false, "is_cuda_alike": is_true,
        "is_gfx95_supported": is_false, "cpu_has_amx_support": is_false,
        "is_sm90_supported": is_true, "is_sm100_supported": is_false,
        "is_blackwell": is_false, "is_blackwell_supported": is_false,
        "get_device_core_count": lambda *_: (
            torch.cuda.get_device_properties(0).multi_processor_count),
        "get_device_capability": lambda *_: (9, 0), "get_device_sm": lambda *_: 90,
        "get_cuda_version": lambda *_: (12, 9), "get_bool_env_var": is_false,
        "get_int_env_var": lambda _name, default=0: default,
        "next_power_of_2": lambda n: 1 << (n - 1).bit_length() if n > 0 else 1,
        "ceil_div": lambda a, b: -(-a // b), "ceil_align": lambda a, b: -(-a // b) * b,
        "align": lambda a, b: -(-a // b) * b, "log_info_on_rank0": lambda *_: None,
        "direct_register_custom_op": lambda *_, **__: None,
        "get_device": lambda *_: "cuda", "support_triton": is_true, "device_context": None,
    }  # fmt: skip
    utils["torch_release"] = tuple(int(part) for part in torch.__version__.split(".")[:2])
    utils["cached_triton_kernel"] = lambda *_, **__: lambda kernel: kernel
    utils["device_context"] = torch.cuda.device
    return {
        "sglang.srt.utils": utils,
        "sglang.srt.utils.common": utils,
    }
