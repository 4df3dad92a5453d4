"""Libraries that read configurations of kernels from JSON files, and take a default without one.

vLLM and SGLang have files such as `E=8,N=14336,device_name=NVIDIA_H100.json`, made by their
benchmarks, with a configuration for each of some batch sizes. One function of a library reads a
file, or returns None. A recording notes what it returned (`recording.py`), as a message:

    "vllm…fused_moe.get_moe_configs(4, 128, None): no file"

Sources: `get_moe_configs` and `get_w8a8_block_fp8_configs` of vLLM 0.11 and SGLang 0.5.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: The code of messages that note what a library's function returned.
CODE: Final = "configuration-file"

#: Module of Liger's kernels, whose settings are given by a formula.
_LIGER: Final = "liger_kernel."
#: Least block size, and warps for it.
_LIGER_WARPS: Final = ((32768, 32), (8192, 16), (2048, 8))
_NO_FILE: Final = "no file"
_TEXT: Final = re.compile(
    r"(?P<module>[\w.]+)\.(?P<function>\w+)\((?P<args>.*)\): (?P<outcome>.*)", re.DOTALL
)

Arguments = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LibraryFiles:
    """The function of a library that reads files of configurations, and the kernels they are for.

    Attributes:
        library: the library's name.
        modules: modules that define the function, newer versions first.
        function: its name.
        kernels: names of the kernels that take a configuration from it.
        is_for: whether a call with these arguments, by name, is one that the function's first two
            arguments select.
    """

    library: str
    modules: tuple[str, ...]
    function: str
    kernels: tuple[str, ...]
    is_for: Callable[[Arguments, int, int], bool]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a library's function returned when it was asked for a file.

    `batches` are the batch sizes that the file has configurations for; none: there was no file.
    """

    module: str
    function: str
    arguments: str
    batches: tuple[int, ...]


def _is_for_experts(arguments: Arguments, experts: int, size: int) -> bool:
    """Return whether the weights are those of `experts` with intermediate size `size`.

    One kernel multiplies by w1[E, 2 N, K] and by w2[E, K, N]; where two 4-bit values share a byte,
    the last axis of w2 has N / 2 elements.
    """
    shape = list(arguments.get("b_ptr", {}).get("shape") or ())
    return (
        len(shape) == 3 and shape[0] == experts and size in (shape[1] / 2, shape[2], shape[2] * 2)
    )


def _is_for_product(arguments: Arguments, columns: int, reduced: int) -> bool:
    """Return whether the product has `columns` columns and a reduced axis of length `reduced`."""
    scalars = [str(arguments.get(name, {}).get("scalar")) for name in ("N", "K")]
    return scalars == [str(columns), str(reduced)]


VLLM_EXPERTS: Final = LibraryFiles(
    "vLLM",
    ("vllm.model_executor.layers.fused_moe.fused_moe",),
    "get_moe_configs",
    ("fused_moe_kernel", "fused_moe_kernel_gptq_awq"),
    _is_for_experts,
)
VLLM_PRODUCTS: Final = LibraryFiles(
    "vLLM",
    ("vllm.model_executor.layers.quantization.utils.fp8_utils",),
    "get_w8a8_block_fp8_configs",
    ("_w8a8_triton_block_scaled_mm", "_w8a8_block_fp8_matmul"),
    _is_for_product,
)
SGLANG_EXPERTS: Final = LibraryFiles(
    "SGLang",
    (
        "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config",
        "sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_config",
        "sglang.srt.layers.moe.fused_moe_triton.fused_moe",
    ),
    "get_moe_configs",
    ("fused_moe_kernel", "fused_moe_kernel_gptq_awq"),
    _is_for_experts,
)
SGLANG_PRODUCTS: Final = LibraryFiles(
    "SGLang",
    (
        "sglang.kernels.ops.gemm.fp8_kernel",
        "sglang.srt.layers.quantization.fp8_kernel",
    ),
    "get_w8a8_block_fp8_configs",
    (
        "_w8a8_block_fp8_matmul",
        "_w8a8_block_fp8_matmul_hopper",
        "_w8a8_block_fp8_matmul_unrolledx4",
    ),
    _is_for_product,
)
FILES: Final = (VLLM_EXPERTS, VLLM_PRODUCTS, SGLANG_EXPERTS, SGLANG_PRODUCTS)


def files_of(kernel: str, module: str | None) -> LibraryFiles | None:
    """Return the files of configurations that a library has for a kernel; None without any."""
    package = (module or "").partition(".")[0]
    return next(
        (
            files
            for files in FILES
            if kernel in files.kernels and files.modules[0].partition(".")[0] == package
        ),
        None,
    )


def chosen_by_library(kernel: str, module: str | None) -> bool:
    """Return whether a library may choose a kernel's configuration by its call's arguments."""
    return files_of(kernel, module) is not None or (module or "").startswith(_LIGER)


def formula_of(
    module: str | None, integers: Mapping[str, int], num_warps: int | None
) -> str | None:
    """Return a sentence that says which library's formula gives a configuration; None: none.

    Liger's `calculate_settings` (`liger_kernel/ops/utils.py`, 0.3 to 0.6, not for AMD) takes the
    next power of two of the columns, and warps by it.

    Args:
        module: the kernel's module.
        integers: a call's integers and constants by name.
        num_warps: warps of a program.
    """
    block, columns = integers.get("BLOCK_SIZE"), integers.get("n_cols")
    if not (module or "").startswith(_LIGER) or not block or not columns:
        return None
    warps = next((warps for size, warps in _LIGER_WARPS if block >= size), 4)
    if block != 1 << (columns - 1).bit_length() or num_warps != warps:
        return None
    return f"Liger's calculate_settings({columns}) gives it by formula; nothing is measured"


def noted(module: str, function: str, args: Iterable[object], result: object) -> str:
    """Return the text of the message that notes what a library's function returned."""
    batches = sorted(result) if isinstance(result, dict) else []
    outcome = f"batch sizes {' '.join(map(str, batches))}" if batches else _NO_FILE
    return f"{module}.{function}({', '.join(map(repr, args))}): {outcome}"


def lookups(messages: Iterable[Mapping[str, Any]]) -> list[Lookup]:
    """Return the lookups that messages of a run note; other messages are left out."""
    found = []
    for message in messages:
        match = _TEXT.fullmatch(message["text"] or "") if message["code"] == CODE else None
        if match is not None:
            batches = re.findall(r"\d+", match["outcome"]) if match["outcome"] != _NO_FILE else ()
            found.append(
                Lookup(match["module"], match["function"], match["args"], tuple(map(int, batches)))
            )
    return found


def lookups_for(
    files: LibraryFiles, arguments: Arguments, noted_lookups: Sequence[Lookup]
) -> list[Lookup]:
    """Return the lookups whose configurations a call with these arguments may have used."""
    return [
        lookup
        for lookup in noted_lookups
        if lookup.module in files.modules
        and lookup.function == files.function
        and len(sizes := re.findall(r"(?<![\w.])\d+(?![\w.])", lookup.arguments)[:2]) == 2
        and files.is_for(arguments, int(sizes[0]), int(sizes[1]))
    ]
