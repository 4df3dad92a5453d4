import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from tests.addons.graphs.hlo.agreement import agree

RANDOM = np.random.default_rng(17)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def plain(x, kernel, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A convolution by its definition, one output element at a time."""
    rank = x.ndim - 2
    strides, pads, apart = (
        (value,) * rank if isinstance(value, int) else value
        for value in (stride, padding, dilation)
    )
    pads = [(p, p) if isinstance(p, int) else p for p in pads]
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
    sizes = kernel.shape[2:]
    out = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], sizes, apart, strides, strict=True)
    ]
    result = np.zeros((x.shape[0], kernel.shape[0], *out))
    inner, group_outputs = kernel.shape[1], kernel.shape[0] // groups
    for place in np.ndindex(*out):
        window = tuple(
            slice(p * s, p * s + (k - 1) * d + 1, d)
            for p, s, k, d in zip(place, strides, sizes, apart, strict=True)
        )
        for channel in range(kernel.shape[0]):
            first = channel // group_outputs * inner
            patch = x[(slice(None), slice(first, first + inner), *window)]
            summed = (patch * kernel[channel].astype(np.float64)).reshape(len(x), -1).sum(1)
            result[(slice(None), channel, *place)] = summed
    return result if bias is None else result + bias.reshape(-1, *(1,) * rank)


@pytest.mark.parametrize(
    ("operation", "shape", "kernel", "settings"),
    [
        (ops.conv1d, (2, 3, 9), (4, 3, 3), {}),
        (ops.conv1d, (2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
        (ops.conv2d, (2, 3, 7, 6), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
        (ops.conv2d, (1, 4, 7, 7), (4, 1, 3, 3), {"groups": 4, "dilation": 2}),
        (ops.conv2d, (1, 2, 5, 5), (3, 2, 1, 1), {"stride": 2}),
        (ops.conv2d, (1, 2, 5, 5), (3, 2, 3, 3), {"padding": ((1, 0), (2, 1))}),
        (ops.conv3d, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), {"padding": 1, "stride": 2}),
    ],
)
def test_convolutions_equal_a_reference_in_numpy(operation, shape, kernel, settings):
    x, weight, bias = floats(*shape), floats(*kernel), floats(kernel[0])

    graph = agree(
        lambda x, w, b: (operation(x, w, b, **settings), operation(x, w, **settings)),
        x,
        weight,
        bias,
        numpy=lambda x, w, b: (plain(x, w, b, **settings), plain(x, w, **settings)),
    )

    figures = graph.figures().ops
    done = [figures[i].flops for i, op in enumerate(graph.ops) if op.opcode == "convolution"]
    out = graph.outputs[0].shape
    assert done[0] == 2 * int(np.prod(out)) * int(np.prod(kernel[1:]))


def test_convolutions_accept_other_types():
    x, weight = floats(1, 2, 6, 6), floats(3, 2, 3, 3)
    agree(ops.conv2d, x.astype(ml_dtypes.bfloat16), weight.astype(ml_dtypes.bfloat16), numpy=plain)


def test_convolutions_of_shapes_that_do_not_fit_are_refused():
    x, weight = floats(1, 2, 6, 6), floats(3, 2, 3, 3)
    for program, error, match in (
        (lambda x, w: ops.conv1d(x, w), ShapeMismatch, "needs an input and a kernel of 3 axes"),
        (
            lambda x, w: ops.conv2d(x, w, groups=2),
            ShapeMismatch,
            "do not fit each other with groups=2",
        ),
        (lambda x, w: ops.conv2d(x[:, :, :2], w), ShapeMismatch, "larger than the padded input"),
        (lambda x, w: ops.conv2d(x, w, stride=(1, 2, 3)), BadArgument, "stride is one integer"),
        (lambda x, w: ops.conv2d(x, w, padding="full"), BadArgument, "no padding 'full'"),
        (lambda x, w: ops.conv2d(x, w, padding=-1), BadArgument, "is negative"),
    ):
        with pytest.raises(error, match=match):
            trace(program).specialize(x, weight)
