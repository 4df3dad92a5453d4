"""Import of the libraries that cases use, as in tests/public, with additional names."""

import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

#: Packages that are imported as they are, from the folder that a variable names if they are not
#: installed.
PLAIN = {
    "torchao": "KVTRACE_PUBLIC_TORCHAO",
    "bitsandbytes": "KVTRACE_PUBLIC_BITSANDBYTES",
}

#: Modules without kernels that choose tiles, which are loaded as they are.
CHOOSING = {"vllm": ("vllm.model_executor.determinism.batch_invariant_configs",)}

#: Operators of compiled extensions that files name when they are imported.
NAMED = ("dequant_mxfp4", "quant_dequant_mxfp4")

_loaded: set[str] = set()


def load_library(library: str) -> None:
    """Make a library's kernel files importable in this process."""
    if library in _loaded:
        return
    _loaded.add(library)
    for name in (library,) if library in PLAIN else ():
        if importlib.util.find_spec(name) is None:
            sys.path.insert(0, os.environ[PLAIN[name]])
    from tests.public import packages

    if library not in packages.PACKAGES:
        return
    package = packages.PACKAGES[library]
    if library == "vllm":
        for operator in NAMED:
            torch.library.define(f"vllm::{operator}", "(Tensor x) -> Tensor")
        package = replace(package, values=_vllm_values)
    packages.load(replace(package, real=(*package.real, *CHOOSING.get(library, ()))))


def _vllm_values() -> Mapping[str, Mapping[str, Any]]:
    """Return the replaced values of tests/public, and names that newer releases import."""
    from enum import IntEnum

    from tests.public.values import KVQuantMode, vllm_values

    values = {module: dict(held) for module, held in vllm_values().items()}
    more = {"INT4_PER_TOKEN_HEAD": 101, "TURBOQUANT": 102, "ULTRAQUANT_4BIT": 111}
    modes = IntEnum("KVQuantMode", {mode.name: mode.value for mode in KVQuantMode} | more)
    values["vllm.v1.kv_cache_interface"]["KVQuantMode"] = modes
    values["vllm.v1.kv_cache_interface"]["is_quantized_kv_cache"] = lambda name: name[:3] == "fp8"
    values["vllm.triton_utils"]["use_tensor_descriptor"] = bool
    return values
