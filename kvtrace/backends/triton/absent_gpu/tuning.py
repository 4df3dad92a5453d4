"""Parts of libraries that are replaced without a GPU; the first choice wins all autotuning.

Inductor tunes its kernels at their first launch, and chooses between templates, fusions and
paddings when it compiles; Helion searches for a configuration. Without a GPU none of these launches
a kernel to time it, and no choice is cached, as a machine with a GPU would mistake the cached
choice for a measured one.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.facts import capability_of, device_requests, properties_of
from kvtrace.backends.triton.device_free_state import EQUAL_TIME


def _place_inductor_runtime(module: Any, replaced: Replacements, *_: str) -> None:
    """Replace Inductor's tuning of launched kernels, and its benchmarks."""
    tuner = module.CachingAutotuner

    def benchmark_all_configs(self: Any, *args: Any, **kwargs: Any) -> dict[Any, float]:
        self.save_cache_hook = None
        self.reset_to_zero_args(*args, **kwargs)  # as trials leave it
        return {self.launchers[0]: EQUAL_TIME}

    def coordinate_descent_tuning(_self: Any, launcher: Any, *_: Any, **__: Any) -> Any:
        launcher.config.found_by_coordesc = True
        return launcher

    def combo_sequential_autotune(_self: Any, launcher: Any, *_: Any, **__: Any) -> Any:
        launcher.config.found_by_combo_autotune = True
        return launcher

    for name, replacement in (
        ("benchmark_all_configs", benchmark_all_configs),
        ("coordinate_descent_tuning", coordinate_descent_tuning),
        ("_combo_sequential_autotune", combo_sequential_autotune),
    ):
        if hasattr(tuner, name):  # the last since torch 2.12
            replaced.put(tuner, name, replacement)
    benchmarking = sys.modules["torch._inductor.runtime.benchmarking"]
    for kind in vars(benchmarking).values():
        if isinstance(kind, type) and issubclass(kind, benchmarking.Benchmarker):
            for name in ("benchmark_gpu", "benchmark_gpu_with_cuda_graph"):
                if name in vars(kind):
                    replaced.put(kind, name, _equal_time)


def _place_inductor_choices(module: Any, replaced: Replacements, *_: str) -> None:
    """Replace Inductor's benchmarks of templates and fusions during compilation."""
    selector = module.AlgorithmSelectorCache
    scheduling = sys.modules["torch._inductor.codegen.triton"].TritonScheduling
    cache = sys.modules["torch._inductor.codecache"].CacheBase

    def benchmark(_self: Any, choices: Sequence[Any], *_: Any, **__: Any) -> dict[Any, float]:
        times = dict.fromkeys(choices, math.inf)
        for choice in choices:
            try:
                if hasattr(choice, "precompile"):
                    choice.precompile()
            except Exception as error:  # noqa: BLE001 - the next one is tried, as Inductor does
                module.log.warning("%s cannot be launched: %s", choice, error)
                continue
            times[choice] = EQUAL_TIME
            break
        return times  # Inductor refuses times that are all infinite

    def make_precompile_fn(_self: Any, *_: Any, **__: Any) -> Callable[..., dict[Any, float]]:
        return lambda *_, **__: {}  # as Inductor's own, where it compiles in no other process

    def benchmark_codegened_module(_self: Any, mod: Any, *_: Any, **__: Any) -> tuple[float, Any]:
        return EQUAL_TIME, mod.__file__

    def benchmark_combo_kernel(
        _self: Any, _node_list: Any, *_: Any, **__: Any
    ) -> tuple[float, float, list[Any]]:
        return EQUAL_TIME, 0.0, []

    replaced.put(selector, "benchmark", benchmark)
    replaced.put(selector, "make_precompile_fn", make_precompile_fn)
    replaced.put(scheduling, "benchmark_codegened_module", benchmark_codegened_module)
    replaced.put(scheduling, "benchmark_combo_kernel", benchmark_combo_kernel)
    replaced.put(cache, "update_local_cache", _store_nothing)


def place_helion(module: Any, replaced: Replacements, *_: str) -> None:
    """Replace Helion's search by the first configuration that a kernel names, else its default."""

    def autotune(self: Any, _args: Any, *, force: bool = True, **_: Any) -> Any:
        named = () if force else self.kernel.configs
        config = named[0] if named else self.config_spec.default_config()
        self.set_config(config)
        return config

    replaced.put(module.BoundKernel, "autotune", autotune)


def _equal_time(_benchmarker: Any, _function: Any, *_: Any, **named: Any) -> Any:
    return [EQUAL_TIME] if named.get("return_mode") == "all" else EQUAL_TIME


def _store_nothing(_cache: Any, _content: Any) -> None:
    """Store no choice in a cache, since nothing was measured."""


def _place_nvml(module: Any, replaced: Replacements, target: str) -> None:
    """Replace queries by which libraries detect a platform; others still fail."""
    properties, capability = properties_of(target), capability_of(target)
    total = properties.total_memory
    count = 1 if target.startswith("cuda:") else 0
    handle = SimpleNamespace(index=0)

    def nothing(*_: Any) -> None:
        """Do nothing."""

    answers = {
        "nvmlInit": nothing,
        "nvmlShutdown": nothing,
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda _index: handle,
        "nvmlDeviceGetName": lambda _handle: properties.name,
        "nvmlDeviceGetUUID": lambda _handle: "GPU-00000000-0000-0000-0000-000000000000",
        "nvmlDeviceGetCudaComputeCapability": lambda _handle: capability,
        "nvmlDeviceGetMemoryInfo": lambda _handle, *_: SimpleNamespace(
            total=total, free=total, used=0
        ),
    }
    for name, replacement in answers.items():
        if hasattr(module, name):
            replaced.put(module, name, replacement)


def _place_plain_launcher(config: Any, replaced: Replacements, *_: str) -> None:
    """Make Inductor launch through Triton; its own launcher loads kernels into CUDA's driver."""
    replaced.put(config, "use_static_cuda_launcher", False)


def _place_refusal(extensions: Any, replaced: Replacements, *_: str) -> None:
    """Refuse CUDA C++: torch asks for CUDA's folder before it compiles or links CUDA C++."""
    replaced.put(extensions, "_join_cuda_home", _refuse_cuda_sources)


def _refuse_cuda_sources(*_: Any, **__: Any) -> Any:
    device_requests.refused["extensions in CUDA C++"] = None
    raise NotImplementedError(
        "an extension of torch in CUDA C++ is not compiled with KVTRACE_DEVICE=cpu: its kernels "
        "are machine code for a GPU, and this machine has none."
    )


#: By name of a library's module: the function that replaces parts of it for a target.
PARTS: Final[Mapping[str, Callable[[Any, Replacements, str], None]]] = {
    "torch._inductor.config": _place_plain_launcher,
    "torch._inductor.runtime.triton_heuristics": _place_inductor_runtime,
    "torch._inductor.select_algorithm": _place_inductor_choices,
    "helion.runtime.kernel": place_helion,
    "torch.utils.cpp_extension": _place_refusal,
    "pynvml": _place_nvml,
    "vllm.third_party.pynvml": _place_nvml,
}
