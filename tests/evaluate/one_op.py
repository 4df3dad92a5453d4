"""Evaluation of a single op on arrays, in a kernel of generic IR."""

import ml_dtypes
import numpy as np

from kvtrace.evaluate import Storage, TensorArgument, evaluate, parsed

MEMORY = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
SHORT = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
}


def run_op(
    name,
    operands,
    result_types,
    attributes="",
    result_shapes=None,
    region="",
    target="",
):
    """Load every operand (a pair of element type and array), run the op, store its results.

    Arrays have at most one axis of extent 2**n; results have the operands' shape unless given.
    """
    shape = operands[0][1].shape
    result_shapes = result_shapes or [shape] * len(result_types)
    lines, names, parameters = [], [], []
    for position, (element, array) in enumerate(operands):
        parameters.append(f"%p{position}: !tt.ptr<{element}>")
        lines += _addresses(f"a{position}", f"p{position}", element, array.shape)
        pointers = _tensor(array.shape, f"!tt.ptr<{element}>")
        lines.append(
            f'%v{position} = "tt.load"(%a{position}) '
            f"<{{operandSegmentSizes = array<i32: 1, 0, 0>}}>"
            f" : ({pointers}) -> {_tensor(array.shape, element)}"
        )
        names.append(f"%v{position}")
    types = [_tensor(array.shape, element) for element, array in operands]
    outs = [_tensor(s, e) for e, s in zip(result_types, result_shapes, strict=True)]
    left = "%r" if len(outs) == 1 else f"%r:{len(outs)}"
    properties = f" <{{{attributes}}}>" if attributes else ""
    lines.append(
        f'{left} = "{name}"({", ".join(names)}){properties}{region}'
        f" : ({', '.join(types)}) -> ({', '.join(outs)})"
    )
    for position, (element, out_shape) in enumerate(zip(result_types, result_shapes, strict=True)):
        parameters.append(f"%o{position}: !tt.ptr<{element}>")
        lines += _addresses(f"b{position}", f"o{position}", element, out_shape)
        value = "%r" if len(outs) == 1 else f"%r#{position}"
        pointers = _tensor(out_shape, f"!tt.ptr<{element}>")
        lines.append(f'"tt.store"(%b{position}, {value}) : ({pointers}, {outs[position]}) -> ()')
    body = "\n    ".join(lines)
    text = f"""
"builtin.module"() ({{
  "tt.func"() <{{sym_name = "one_op", sym_visibility = "public"}}> ({{
  ^bb0({", ".join(parameters)}):
    {body}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    results = [np.zeros(s, MEMORY[e]) for e, s in zip(result_types, result_shapes, strict=True)]
    held = [np.ascontiguousarray(array, MEMORY[element]) for element, array in operands]
    elements = [element for element, _ in operands] + list(result_types)
    arguments = [
        TensorArgument(
            f"t{position}",
            Storage(array.nbytes, array.reshape(-1).view(np.uint8)),
            0,
            SHORT[element],
            array.shape,
            tuple(int(stride) // array.itemsize for stride in array.strides),
        )
        for position, (element, array) in enumerate(zip(elements, [*held, *results], strict=True))
    ]
    evaluate(parsed(text, target), arguments, (1,))
    return results


def _tensor(shape, element):
    return (
        "tensor<" + "".join(f"{extent}x" for extent in shape) + f"{element}>" if shape else element
    )


def _addresses(name, pointer, element, shape):
    """Return generic IR that computes the row-major addresses of a tensor's elements."""
    kind = f"!tt.ptr<{element}>"
    if not shape:
        return [f'%{name} = "tt.bitcast"(%{pointer}) : ({kind}) -> {kind}']
    count = int(np.prod(shape))
    lines = [
        f'%{name}i = "tt.make_range"() <{{end = {count} : i32, start = 0 : i32}}>'
        f" : () -> tensor<{count}xi32>",
        f'%{name}s = "tt.splat"(%{pointer}) : ({kind}) -> tensor<{count}x{kind}>',
        f'%{name}p = "tt.addptr"(%{name}s, %{name}i)'
        f" : (tensor<{count}x{kind}>, tensor<{count}xi32>) -> tensor<{count}x{kind}>",
    ]
    lines.append(
        f'%{name} = "tt.reshape"(%{name}p) : (tensor<{count}x{kind}>) -> {_tensor(shape, kind)}'
    )
    return lines
