"""Types, and attributes and regions of each opcode, in MLIR's generic form.

Most attributes are lists or numbers of a fixed kind: a line in `WRITERS`. Others have a
function in `REGIONS` (a body given by the name of a reducer) or `COMPOUND` (an attribute of
StableHLO that combines several attributes of the row).
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kvtrace.addons.graphs.rows import GraphOp

if TYPE_CHECKING:
    from kvtrace.addons.graphs.stablehlo.module_text import FunctionText


#: NumPy's name → MLIR's.
ELEMENTS: Final[dict[str, str]] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3": "f8E4M3",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}


def tensor_type(dtype: str, shape: tuple[int, ...]) -> str:
    """Return a tensor's type in MLIR, as `tensor<2x3xf32>`."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{ELEMENTS[dtype]}>"


def _array_text(text: str) -> str:
    items = text.strip("[]()")
    return f"array<i64: {items}>" if items else "array<i64>"


def _direction_text(text: str) -> str:
    return f"#stablehlo<comparison_direction {text}>"


def _compare_type(text: str) -> str:
    return f"#stablehlo<comparison_type {text}>"


def _matrix_text(text: str) -> str:
    rows = json.loads(text)
    if not rows:
        return "dense<> : tensor<0x2xi64>"
    return f"dense<{text}> : tensor<{len(rows)}x{len(rows[0])}xi64>"


#: Attribute → function from the row's text to MLIR's.
WRITERS: Final[dict[str, Callable[[str], str]]] = {
    "call_target_name": json.dumps,
    "comparison_direction": _direction_text,
    "compare_type": _compare_type,
    "is_stable": str,
    **dict.fromkeys(
        (
            "all_gather_dim", "batch_group_count", "concat_dimension", "dimension",
            "feature_group_count", "iota_dimension", "scatter_dimension", "split_count",
            "split_dimension",
        ),
        "{} : i64".format,
    ),
    **dict.fromkeys(
        (
            "broadcast_dimensions", "dimensions", "edge_padding_high", "edge_padding_low",
            "interior_padding", "lhs_dilation", "limit_indices", "permutation", "rhs_dilation",
            "slice_sizes", "start_indices", "strides", "window_dimensions", "window_strides",
        ),
        _array_text,
    ),
    **dict.fromkeys(("padding", "replica_groups", "source_target_pairs"), _matrix_text),
}  # fmt: skip


def _dot(op: GraphOp) -> dict[str, str]:
    names = ("batching", "contracting")
    dimension_numbers = ", ".join(
        f"{side}_{name}_dimensions = {op.attributes[f'{side}_{name}_dimensions']}"
        for name in names
        for side in ("lhs", "rhs")
    )
    return {"dot_dimension_numbers": f"#stablehlo.dot<{dimension_numbers}>"}


def _gather(op: GraphOp) -> dict[str, str]:
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map")
    return {"dimension_numbers": f"#stablehlo.gather<{_dimension_numbers(op, names)}>"}


def _scatter(op: GraphOp) -> dict[str, str]:
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    return {"scatter_dimension_numbers": f"#stablehlo.scatter<{_dimension_numbers(op, names)}>"}


def _dimension_numbers(op: GraphOp, names: tuple[str, ...]) -> str:
    """Return `name = positions` for each name, and the axis of the index vector."""
    lists = ", ".join(f"{name} = {op.attributes[name]}" for name in names)
    return f"{lists}, index_vector_dim = {op.attributes['index_vector_dim']}"


def _convolution(op: GraphOp) -> dict[str, str]:
    """Return the axes' roles: batch, channels, space; in the kernel output, input, space."""
    axes = "".join(f", {axis}" for axis in range(len(op.shape) - 2))
    dimension_numbers = f"[b, f{axes}]x[o, i{axes}]->[b, f{axes}]"
    return {"dimension_numbers": f"#stablehlo.conv<{dimension_numbers}>"}


#: Opcode → function of the attributes that combine several attributes of the row.
COMPOUND: Final[dict[str, Callable[[GraphOp], dict[str, str]]]] = {
    "convolution": _convolution,
    "dot_general": _dot,
    "gather": _gather,
    "scatter": _scatter,
}


def reducer_region(dtype: str, reducer: str, location: str) -> str:
    """Return a region that combines two scalars by an op, or returns the second (assign)."""
    scalar_type = tensor_type(dtype, ())
    if reducer == "assign":
        return (
            f"{{\n^bb0(%left: {scalar_type}, %right: {scalar_type}):\n"
            f'  "stablehlo.return"(%right) : ({scalar_type}) -> (){location}\n}}'
        )
    return (
        f"{{\n^bb0(%left: {scalar_type}, %right: {scalar_type}):\n"
        f'  %joined = "stablehlo.{reducer}"(%left, %right) : '
        f"({scalar_type}, {scalar_type}) -> {scalar_type}{location}\n"
        f'  "stablehlo.return"(%joined) : ({scalar_type}) -> (){location}\n}}'
    )


def _reducer_of_op(op: GraphOp, text: "FunctionText") -> str:
    return reducer_region(op.dtype, op.attributes["reducer"], text.location(op))


def _sort_comparator(op: GraphOp, text: "FunctionText") -> str:
    """Return a region that orders two elements of the first operand for a sort; NaN is last."""
    location = text.location(op)
    types = text.operand_element_types(op)
    names = [f"%x{number}, %y{number}".split(", ") for number in range(len(types))]
    header = ", ".join(
        f"{name}: {kind}" for pair, kind in zip(names, types, strict=True) for name in pair
    )
    direction = "GT" if op.attribute("descending") else "LT"
    dtype = text.operand_dtype(op)
    lines = [
        f"^bb0({header}):",
        _compare_line("%before", direction, "%x0", "%y0", types[0], dtype),
    ]
    result_name = "%before"
    if "float" in dtype:
        lines += [
            _compare_line("%number", "EQ", "%x0", "%x0", types[0], dtype),
            _compare_line("%nan", "NE", "%y0", "%y0", types[0], dtype),
            '%apart = "stablehlo.and"(%number, %nan) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
            '%first = "stablehlo.or"(%before, %apart) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
        ]
        result_name = "%first"
    lines.append(f'"stablehlo.return"({result_name}) : (tensor<i1>) -> ()')
    return "{\n" + "\n".join([lines[0], *(f"  {line}{location}" for line in lines[1:])]) + "\n}"


def _compare_line(name: str, direction: str, x: str, y: str, kind: str, dtype: str) -> str:
    compare_type = "FLOAT" if "float" in dtype else "SIGNED"
    if dtype == "bool" or dtype.startswith("uint"):
        compare_type = "UNSIGNED"
    attributes = (
        f"comparison_direction = {_direction_text(direction)}, "
        f"compare_type = {_compare_type(compare_type)}"
    )
    return (
        f'{name} = "stablehlo.compare"({x}, {y}) {{{attributes}}} : ({kind}, {kind}) -> tensor<i1>'
    )


#: Opcode → function of its regions, without parentheses.
REGIONS: Final[dict[str, "Callable[[GraphOp, FunctionText], str]"]] = {
    "all_reduce": _reducer_of_op,
    "reduce": _reducer_of_op,
    "reduce_scatter": _reducer_of_op,
    "reduce_window": _reducer_of_op,
    "scatter": _reducer_of_op,
    "sort": _sort_comparator,
}


def attributes_text(op: GraphOp) -> str:
    """Return the op's attributes as ` {name = value, …}`, or "" if it has none in MLIR."""
    texts = {name: WRITERS[name](text) for name, text in op.attributes.items() if name in WRITERS}
    compound = COMPOUND.get(op.opcode)
    if compound is not None:
        texts |= compound(op)
    if not texts:
        return ""
    return f" {{{', '.join(f'{name} = {value}' for name, value in sorted(texts.items()))}}}"
