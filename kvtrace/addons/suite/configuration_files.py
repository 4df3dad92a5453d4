"""Files of configurations: to try, with grids as expressions; and tuned ones, as vLLM reads them.

A suite has a copy of this file beside its tune.py: it needs the standard library alone.
"""

import ast
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kvtrace.converters.scripts import launching


class CannotTry(Exception):
    """Says why a configuration, or a call, cannot be tried."""


_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[dict[str, Callable[..., int]]] = {
    "cdiv": lambda number, divisor: -(-number // divisor),
    "min": min,
    "max": max,
}


def computed(extent: Any, values: Mapping[str, Any]) -> int:
    """Return a number, or the value of an expression of names, such as "cdiv(n, BLOCK)".

    Raises:
        CannotTry: it has unknown names, or is no such expression.
    """
    if isinstance(extent, int):
        return extent
    try:
        return _evaluated(ast.parse(str(extent), mode="eval").body, values)
    except (KeyError, TypeError, SyntaxError, ZeroDivisionError) as error:
        raise CannotTry(f"the grid {extent!r} cannot be computed ({error!r})") from error


def _evaluated(node: ast.expr, values: Mapping[str, Any]) -> int:
    """Return the value of a syntax node. Raises KeyError, TypeError: it is not known."""
    match node:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return int(values[name])
        case ast.BinOp(left, operation, right):
            return _OPERATORS[type(operation)](_evaluated(left, values), _evaluated(right, values))
        case ast.Call(func=ast.Name(name), args=given, keywords=[]):
            return _FUNCTIONS[name](*(_evaluated(one, values) for one in given))
    raise TypeError(ast.unparse(node))


def read_configurations(path: Path) -> dict[str, Any]:
    """Return the content of a file of configurations.

    Raises:
        CannotTry: it cannot be read, or is none.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotTry(f"{path} cannot be read: {error}") from error
    kinds = {"configurations": list, "space": dict, "grid": list}
    if not isinstance(content, dict) or not all(
        isinstance(known, dict)
        and all(isinstance(known.get(name, kind()), kind) for name, kind in kinds.items())
        for known in content.values()
    ):
        raise CannotTry(
            f"{path} is no file of configurations: by kernel it has `configurations` (a list) or "
            "`space` (an object), and `grid` (a list)"
        )
    return content


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
    """Write tuned configurations into vLLM's files, and return these; others in them stay.

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
