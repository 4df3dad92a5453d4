"""The public packages: where their files are, and what their kernel files need of the rest."""

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.public.stand_ins import Finder, install
from tests.public.values import sglang_values, vllm_values


@dataclass(frozen=True)
class Package:
    """A public package.

    Attributes:
        name: what it is imported as.
        distribution: what it is installed as.
        variable: environment variable that names the folder which holds its folder.
        real: modules that are loaded as they are, though they define no kernel.
        values: makes what stood-in modules hold; None: the whole package is imported as it is.
        foreign: packages that it imports and that are stood in for where they are missing.
        target: the GPU that it is told of, and compiled for.
    """

    name: str
    distribution: str
    variable: str
    real: tuple[str, ...] = ()
    values: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None
    foreign: tuple[str, ...] = field(default=())
    target: str = "cuda:90"


PACKAGES = {
    package.name: package
    for package in (
        Package("fla", "fla-core", "KVTRACE_PUBLIC_FLA", target="cuda:80"),
        Package(
            "vllm",
            "vllm",
            "KVTRACE_PUBLIC_VLLM",
            real=("vllm.envs", "vllm.scalar_type", "vllm.model_executor.layers.fla.ops.index",
                  "vllm.model_executor.layers.fla.ops.utils",
                  "vllm.model_executor.layers.fla.ops.chunk",
                  "vllm.lora.ops.triton_ops.utils",
                  "vllm.model_executor.layers.fused_moe.moe_align_block_size",
                  "vllm.model_executor.layers.mamba.ops.ssd_combined",
                  "vllm.model_executor.warmup.jit_warmup",
                  "vllm.model_executor.warmup.jit_warmup_triton_helper"),
            values=vllm_values,
            foreign=("transformers", "msgspec", "zmq", "cachetools", "cloudpickle", "regex",
                     "compressed_tensors"),
        ),
        Package(
            "sglang",
            "sglang",
            "KVTRACE_PUBLIC_SGLANG",
            real=("sglang.srt.layers.attention.fla.index", "sglang.srt.layers.attention.fla.utils",
                  "sglang.srt.layers.attention.mamba.ops.ssd_combined"),
            values=sglang_values,
            foreign=("transformers", "sgl_kernel", "zmq", "huggingface_hub", "pybase64", "orjson",
                     "msgspec", "psutil", "torchvision", "torchao", "compressed_tensors",
                     "xgrammar", "fastapi", "uvicorn", "pydantic", "PIL", "requests", "IPython",
                     "aiohttp"),
        ),
    )
}  # fmt: skip


def folder_of(package: Package) -> Path | None:
    """Find the package's folder: where the environment says, or where it is installed."""
    named = os.environ.get(package.variable)
    if named:
        folder = Path(named) / package.name
        return folder if folder.is_dir() else None
    spec = importlib.util.find_spec(package.name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def version_of(package: Package, folder: Path) -> str:
    """Read the version from the metadata beside the package's folder."""
    stem = package.distribution.replace("-", "_")
    found = sorted(folder.parent.glob(f"{stem}-*.dist-info"))
    if found:
        return found[-1].name.removeprefix(f"{stem}-").removesuffix(".dist-info")
    file = folder / "_version.py"
    written = re.search(r"version = .*'(.+)'", file.read_text()) if file.is_file() else None
    return written[1] if written else "of no known version"


def load(package: Package) -> None:
    """Make the package's kernel files importable in this process."""
    _allow_missing_operators()
    folder = folder_of(package)
    if folder is None:
        raise ModuleNotFoundError(f"{package.name} is not there")
    if package.values is None:
        sys.path.insert(0, str(folder.parent))
        return
    finder = Finder(
        package.name,
        folder,
        real=package.real,
        values=package.values(),
        foreign=package.foreign,
    )
    install(finder)


def _allow_missing_operators() -> None:
    """Let shapes be registered for operators of compiled extensions that are not there."""
    registered = torch.library.register_fake

    def register(name: Any, function: Any = None, /, **named: Any) -> Any:
        if function is None:
            return lambda function: register(name, function, **named)
        try:
            return registered(name, function, **named)
        except RuntimeError:
            return function

    vars(torch.library)["register_fake"] = register
