"""Shape ops, reductions, scans, histograms and gathers against torch."""

import numpy as np
import pytest
import torch

from corpus.kernels import shapes
from kvtrace.evaluate import evaluate
from tests.kernels.launching import bind, compile_for, launch


def test_transpose_reshape_split_and_join_equal_torch():
    x, out = torch.randn(3, 8, 16), torch.empty(3, 8, 16)

    launch(shapes.rearranged, (3,), {"x": x, "out": out}, {"M": 8, "N": 16})

    halves = x.transpose(1, 2).reshape(3, 16, 4, 2)
    assert torch.equal(out.reshape(3, 16, 4, 2), halves.flip(-1))


def test_permute_of_three_axes_equals_torch():
    x, out = torch.randn(2, 4, 8), torch.empty(64)
    launch(shapes.permuted, (1,), {"x": x, "out": out}, {"A": 2, "B": 4, "C": 8})
    assert torch.equal(out, x.permute(2, 0, 1).reshape(-1))


def test_cat_concatenates_two_blocks():
    x, y, out = torch.randn(16), torch.randn(16), torch.empty(32)
    launch(shapes.joined_ends, (1,), {"x": x, "y": y, "out": out}, {"N": 16})
    assert sorted(out.tolist()) == sorted([*x.tolist(), *y.tolist()])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_reductions_equal_torch(axis, dtype):
    x = torch.randint(-50, 50, (8, 32)).to(dtype)
    x[3, 7] = x[5, 7] = 60  # a tie: the first wins
    count = 32 if axis == 0 else 8
    outs = {name: torch.empty(count, dtype=dtype) for name in ("total", "largest", "smallest")}
    places = {
        name: torch.empty(count, dtype=torch.int32)
        for name in ("where_largest", "where_smallest", "all_xor")
    }

    launch(
        shapes.reductions,
        (1,),
        {"x": x, **outs, **places, "columns": 32},
        {"M": 8, "N": 32, "AXIS": axis},
    )

    assert torch.equal(outs["total"], x.sum(axis).to(dtype))
    array = x.float().numpy()
    assert outs["largest"].float().numpy().tolist() == array.max(axis).tolist()
    assert outs["smallest"].float().numpy().tolist() == array.min(axis).tolist()
    assert places["where_largest"].tolist() == array.argmax(axis).tolist()
    assert places["where_smallest"].tolist() == array.argmin(axis).tolist()
    xor = np.bitwise_xor.reduce(array.astype(np.int32), axis=axis)
    assert places["all_xor"].tolist() == xor.tolist()


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_equal_their_definition(reverse):
    x, y = torch.rand(3, 32) + 0.5, torch.randn(3, 32)
    outs = {name: torch.empty(3, 32) for name in ("sums", "products", "peaks", "slopes", "offsets")}

    launch(shapes.scans, (3,), {"x": x, "y": y, **outs}, {"N": 32, "REVERSE": reverse})

    def scanned(function, *arrays):
        if reverse:
            arrays = [array.flip(1) for array in arrays]
        result = function(*arrays)
        return result.flip(1) if reverse else result

    def slopes(a, _):
        return a.cumprod(1)

    def offsets(a, b):
        total, columns = torch.zeros(3), []
        for i in range(32):
            total = total * a[:, i] + b[:, i]
            columns.append(total)
        return torch.stack(columns, 1)

    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(outs["sums"], scanned(lambda a: a.cumsum(1), x), **close)
    torch.testing.assert_close(outs["products"], scanned(lambda a: a.cumprod(1), x), **close)
    assert torch.equal(outs["peaks"], scanned(lambda a: a.cummax(1).values, x))
    torch.testing.assert_close(outs["slopes"], scanned(slopes, x, y), **close)
    torch.testing.assert_close(outs["offsets"], scanned(offsets, x, y), **close)


def test_histogram_counts_only_unmasked_values():
    x = torch.randint(0, 16, (150,), dtype=torch.int32)
    out = torch.empty(3, 16, dtype=torch.int32)

    launch(shapes.counted, (3,), {"x": x, "out": out, "n": 150}, {"BLOCK": 64, "BINS": 16})

    expected = [torch.bincount(part, minlength=16).tolist() for part in x.split(64)]
    assert out.tolist() == expected


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_equals_torch(axis):
    x, out = torch.randn(8, 16), torch.empty(8, 16)
    index = torch.randint(0, 8 if axis == 0 else 16, (8, 16), dtype=torch.int32)

    launch(
        shapes.gathered, (1,), {"x": x, "index": index, "out": out}, {"M": 8, "N": 16, "AXIS": axis}
    )

    assert torch.equal(out, torch.gather(x, axis, index.long()))


@pytest.mark.parametrize("beyond", [16, -1])
def test_an_index_of_gather_outside_of_its_axis_fails_no_launch_and_is_not_known(beyond):
    x, index = torch.randn(2, 16), torch.arange(32, dtype=torch.int32).reshape(2, 16) % 16
    index[1, 3] = beyond
    arguments = {"x": x, "index": index, "out": torch.zeros(2, 16)}
    constexprs = {"M": 2, "N": 16, "AXIS": 1}

    launch(shapes.gathered, (1,), arguments, constexprs)
    assert torch.equal(arguments["out"][0], x[0])
    assert arguments["out"][1, 3] in x[1]

    recorded = bind(shapes.gathered, {**arguments, "out": torch.zeros(2, 16)})
    for argument in recorded:
        argument.storage.is_live = False
    evaluate(compile_for(shapes.gathered, arguments, constexprs), recorded, (1,))
    assert not recorded[2].storage.data.any()  # what is not known is not stored


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_sort_equals_torch(dtype):
    x = torch.randint(-100, 100, (4, 32)).to(dtype)
    out = torch.empty_like(x)
    launch(shapes.sorted_rows, (1,), {"x": x, "out": out}, {"M": 4, "N": 32})
    assert torch.equal(out, x.sort(dim=1).values)


def test_batched_products_equal_torch():
    a, b, out = torch.randn(4, 16, 32), torch.randn(4, 32, 16), torch.empty(4, 16, 16)
    launch(
        shapes.batched_product,
        (1,),
        {"a": a, "b": b, "out": out},
        {"B": 4, "M": 16, "N": 16, "K": 32},
    )
    torch.testing.assert_close(out, a @ b, rtol=1e-4, atol=1e-4)


def test_tf32_products_drop_low_bits_of_inputs_but_not_of_sums():
    a, b, c = (torch.randn(32, 32) for _ in range(3))
    outs = {}
    for precision in ("tf32", "ieee", "tf32x3"):
        outs[precision] = torch.empty(32, 32)
        launch(
            shapes.product_of,
            (1,),
            {"a": a, "b": b, "c": c, "out": outs[precision]},
            {"PRECISION": precision, "N": 32},
        )

    def cut(t):
        return (t.view(torch.int32) & -0x2000).view(torch.float32)

    torch.testing.assert_close(outs["ieee"], c + a @ b, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outs["tf32x3"], c + a @ b, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outs["tf32"], c + cut(a) @ cut(b), rtol=1e-5, atol=1e-5)
    assert float((outs["tf32"] - outs["ieee"]).abs().max()) > 1e-4


def test_integer_products_are_exact():
    a, b = torch.randint(-128, 128, (2, 32, 32), dtype=torch.int8)
    c, out = torch.randint(-1000, 1000, (2, 32, 32), dtype=torch.int32)
    launch(
        shapes.product_of,
        (1,),
        {"a": a, "b": b, "c": c, "out": out},
        {"PRECISION": "integer", "N": 32},
    )
    assert torch.equal(out, c + (a.long() @ b.long()).int())
