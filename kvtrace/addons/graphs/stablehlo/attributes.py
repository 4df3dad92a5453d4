"""Attributes and regions of each opcode in MLIR's generic form.

Most attributes are lists or numbers of a fixed kind: a line in `KINDS`. Others have a function in
`REGIONS` (a body given by the name of a reducer) or `COMPOUND` (an attribute of StableHLO that
combines several attributes of the row).
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kvtrace.addons.graphs.rows import GraphOp
from kvtrace.addons.graphs.stablehlo.types import tensor_type

if TYPE_CHECKING:
    from kvtrace.addons.graphs.stablehlo.module_text import FunctionText


def _array(text: str) -> str:
    inner = text.strip("[]()")
    return f"array<i64: {inner}>" if inner else "array<i64>"


def _integer(text: str) -> str:
    return f"{text} : i64"


def _boolean(text: str) -> str:
    return text


def _direction(text: str) -> str:
    return f"#stablehlo<comparison_direction {text}>"


def _comparison(text: str) -> str:
    return f"#stablehlo<comparison_type {text}>"


def _pairs(text: str) -> str:
    rows = json.loads(text)
    if not rows:
        return "dense<> : tensor<0x2xi64>"
    return f"dense<{text}> : tensor<{len(rows)}x{len(rows[0])}xi64>"


def _string(text: str) -> str:
    return json.dumps(text)


#: Attribute → function from the row's text to MLIR's.
KINDS: Final[dict[str, Callable[[str], str]]] = {
    "all_gather_dim": _integer,
    "batch_group_count": _integer,
    "broadcast_dimensions": _array,
    "call_target_name": _string,
    "comparison_direction": _direction,
    "compare_type": _comparison,
    "concat_dimension": _integer,
    "dimension": _integer,
    "dimensions": _array,
    "edge_padding_high": _array,
    "edge_padding_low": _array,
    "feature_group_count": _integer,
    "interior_padding": _array,
    "iota_dimension": _integer,
    "is_stable": _boolean,
    "lhs_dilation": _array,
    "limit_indices": _array,
    "padding": _pairs,
    "permutation": _array,
    "replica_groups": _pairs,
    "rhs_dilation": _array,
    "scatter_dimension": _integer,
    "slice_sizes": _array,
    "source_target_pairs": _pairs,
    "split_count": _integer,
    "split_dimension": _integer,
    "start_indices": _array,
    "strides": _array,
    "window_dimensions": _array,
    "window_strides": _array,
}


def _dot(op: GraphOp) -> dict[str, str]:
    names = ("batching", "contracting")
    parts = ", ".join(
        f"{side}_{name}_dimensions = {op.attributes[f'{side}_{name}_dimensions']}"
        for name in names
        for side in ("lhs", "rhs")
    )
    return {"dot_dimension_numbers": f"#stablehlo.dot<{parts}>"}


def _gather(op: GraphOp) -> dict[str, str]:
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map")
    return {"dimension_numbers": f"#stablehlo.gather<{_lists(op, names)}>"}


def _scatter(op: GraphOp) -> dict[str, str]:
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    return {"scatter_dimension_numbers": f"#stablehlo.scatter<{_lists(op, names)}>"}


def _lists(op: GraphOp, names: tuple[str, ...]) -> str:
    """Return attributes of positions, with the indices' last axis as the index vector."""
    lists = ", ".join(f"{name} = {op.attributes[name]}" for name in names)
    return f"{lists}, index_vector_dim = {op.attributes['index_vector_dim']}"


def _convolution(op: GraphOp) -> dict[str, str]:
    """Return the dimension numbers: batch and channels first; in the kernel, output and input."""
    axes = "".join(f", {axis}" for axis in range(len(op.shape) - 2))
    numbers = f"[b, f{axes}]x[o, i{axes}]->[b, f{axes}]"
    return {"dimension_numbers": f"#stablehlo.conv<{numbers}>"}


#: Opcode → function of the attributes that combine several attributes of the row.
COMPOUND: Final[dict[str, Callable[[GraphOp], dict[str, str]]]] = {
    "convolution": _convolution,
    "dot_general": _dot,
    "gather": _gather,
    "scatter": _scatter,
}


def reducer_region(dtype: str, reducer: str, location: str) -> str:
    """Return a body that combines two scalars by one op, or returns the second (assign)."""
    kind = tensor_type(dtype, ())
    if reducer == "assign":
        return (
            f"{{\n^bb0(%left: {kind}, %right: {kind}):\n"
            f'  "stablehlo.return"(%right) : ({kind}) -> (){location}\n}}'
        )
    return (
        f"{{\n^bb0(%left: {kind}, %right: {kind}):\n"
        f'  %joined = "stablehlo.{reducer}"(%left, %right) : ({kind}, {kind}) -> {kind}{location}\n'
        f'  "stablehlo.return"(%joined) : ({kind}) -> (){location}\n}}'
    )


def _reducer(op: GraphOp, text: "FunctionText") -> str:
    return reducer_region(op.dtype, op.attributes["reducer"], text.location(op))


def _order(op: GraphOp, text: "FunctionText") -> str:
    """Return a body that compares two elements for sorting: NaN comes last."""
    location = text.location(op)
    kinds = text.operand_element_types(op)
    names = [f"%x{number}, %y{number}".split(", ") for number in range(len(kinds))]
    header = ", ".join(
        f"{name}: {kind}" for pair, kind in zip(names, kinds, strict=True) for name in pair
    )
    direction = "GT" if op.attribute("descending") else "LT"
    dtype = text.operand_dtype(op)
    lines = [f"^bb0({header}):", _compared("%before", direction, "%x0", "%y0", kinds[0], dtype)]
    last = "%before"
    if "float" in dtype:
        lines += [
            _compared("%number", "EQ", "%x0", "%x0", kinds[0], dtype),
            _compared("%nan", "NE", "%y0", "%y0", kinds[0], dtype),
            '%apart = "stablehlo.and"(%number, %nan) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
            '%first = "stablehlo.or"(%before, %apart) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
        ]
        last = "%first"
    lines.append(f'"stablehlo.return"({last}) : (tensor<i1>) -> ()')
    return "{\n" + "\n".join([lines[0], *(f"  {line}{location}" for line in lines[1:])]) + "\n}"


def _compared(name: str, direction: str, x: str, y: str, kind: str, dtype: str) -> str:
    """Return a line that compares two scalars."""
    compare_type = "FLOAT" if "float" in dtype else "SIGNED"
    if dtype == "bool" or dtype.startswith("uint"):
        compare_type = "UNSIGNED"
    attributes = (
        f"comparison_direction = {_direction(direction)}, "
        f"compare_type = {_comparison(compare_type)}"
    )
    return (
        f'{name} = "stablehlo.compare"({x}, {y}) {{{attributes}}} : ({kind}, {kind}) -> tensor<i1>'
    )


def _loop(op: GraphOp, text: "FunctionText") -> str:
    carried = int(op.attributes["carried"])
    return ", ".join(text.body(op, role, carried) for role in ("condition", "body"))


def _branches(op: GraphOp, text: "FunctionText") -> str:
    return ", ".join(text.body(op, role) for role in ("true", "false"))


#: Opcode → function of its regions, without parentheses.
REGIONS: Final[dict[str, "Callable[[GraphOp, FunctionText], str]"]] = {
    "all_reduce": _reducer,
    "if": _branches,
    "reduce": _reducer,
    "reduce_scatter": _reducer,
    "reduce_window": _reducer,
    "scatter": _reducer,
    "sort": _order,
    "while": _loop,
}

#: Opcode → number of operands that are written; regions use the others.
OPERANDS: Final[dict[str, Callable[[GraphOp], int]]] = {
    "if": lambda _: 1,
    "while": lambda op: int(op.attributes["carried"]),
}


def attributes_text(op: GraphOp) -> str:
    """Return the op's attributes as ` {name = value, …}`, or an empty text."""
    written = {name: KINDS[name](text) for name, text in op.attributes.items() if name in KINDS}
    compound = COMPOUND.get(op.opcode)
    if compound is not None:
        written |= compound(op)
    if not written:
        return ""
    return f" {{{', '.join(f'{name} = {value}' for name, value in sorted(written.items()))}}}"
