"""Files of configurations that vLLM reads for its kernels of experts.

A suite has a copy of this file beside its tune.py: it needs the standard library alone.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvtrace.converters.scripts import launching


def file_of(call: "launching.Call", device: str) -> tuple[str, int] | None:
    """Return the name of vLLM's file for a call of its `fused_moe_kernel`, and the batch size.

    The names are those of `get_config_file_name` in vllm/model_executor/layers/fused_moe/
    fused_moe.py (vLLM 0.11). One kernel multiplies by w1[E, 2 N, K], with a row of A for each
    token, and by w2[E, K, N], with a row for each expert of a token; both take one configuration.
    `device` is the GPU's name, as torch has it. Returns None for other calls.
    """
    needed = ("a_ptr", "b_ptr", "c_ptr", "top_k", "MUL_ROUTED_WEIGHT")
    values = call.arguments
    if call.kernel != "fused_moe_kernel" or any(name not in values for name in needed):
        return None
    experts, columns, reduced = values["b_ptr"].shape
    tokens = values["c_ptr"].shape[0]
    is_second = bool(values["MUL_ROUTED_WEIGHT"]) or values["a_ptr"].shape[0] != tokens
    size = reduced if is_second else columns // 2
    kinds = ("fp8_w8a8", "int8_w8a8", "int8_w8a16")
    dtype = next((f",dtype={kind}" for kind in kinds if values.get(f"use_{kind}")), "")
    block = [int(values.get(name) or 0) for name in ("group_n", "group_k")]
    blocks = f",block_shape=[{block[0]},{block[1]}]" if all(block) else ""
    device = device.replace(" ", "_")
    device = "NVIDIA_H200" if "H200" in device.split("_") else device
    return f"E={experts},N={size},device_name={device}{dtype}{blocks}.json", tokens


def write_files(
    folder: Path, device: str, tuned: Iterable[tuple["launching.Call", Mapping[str, Any]]]
) -> list[Path]:
    """Write configurations of calls into vLLM's files, and return these; others in them stay.

    vLLM takes the configuration of the nearest batch size: so those that stay as recorded are
    written, too.
    """
    contents: dict[Path, dict[str, Any]] = {}
    for call, configuration in tuned:
        file = file_of(call, device)
        if file is None:
            continue
        path = folder / file[0]
        if path not in contents:
            contents[path] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        block = {"BLOCK_SIZE_M": call.arguments["BLOCK_SIZE_M"]}
        contents[path][str(file[1])] = block | dict(configuration)
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        path.write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")
    return list(contents)
