"""The first tutorials' kernels against torch."""

import pytest
import torch

from corpus.kernels.basic import matmul, softmax
from tests.kernels.launching import launch

TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DTYPES = list(TOLERANCES)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "columns", "programs"), [(1, 1, 1), (183, 781, 183), (50, 129, 8)]
)
def test_softmax_equals_torch(dtype, rows, columns, programs):
    x = torch.randn(rows, columns).to(dtype)
    out = torch.empty_like(x)
    block = 1 << (columns - 1).bit_length()

    launch(
        softmax,
        (programs,),
        {
            "out": out,
            "x": x,
            "x_stride": columns,
            "out_stride": columns,
            "rows": rows,
            "columns": columns,
        },
        {"BLOCK": block},
    )

    torch.testing.assert_close(out, torch.softmax(x, 1), atol=TOLERANCES[dtype], rtol=1e-2)


def run_matmul(a, b, out, group=4, activation="", precision="ieee", tile=(32, 32, 16)):
    (m, k), n = a.shape, b.shape[1]
    bm, bn, bk = tile
    strides = zip(
        ["stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn"],
        [*a.stride(), *b.stride(), *out.stride()],
        strict=True,
    )
    launch(
        matmul,
        (-(-m // bm) * -(-n // bn),),
        {"a": a, "b": b, "c": out, "m": m, "n": n, "k": k, **dict(strides)},
        {
            "BM": bm,
            "BN": bn,
            "BK": bk,
            "GROUP": group,
            "ACTIVATION": activation,
            "PRECISION": precision,
        },
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (200, 170, 150), (33, 65, 17)])
def test_matmul_equals_torch(dtype, m, n, k):
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    out = torch.empty(m, n, dtype=dtype)

    run_matmul(a, b, out)

    torch.testing.assert_close(out, a @ b, atol=TOLERANCES[dtype] * k, rtol=TOLERANCES[dtype])


def test_matmul_of_transposed_views_with_activation_equals_torch():
    a, b = torch.randn(50, 70).T, torch.randn(90, 50).T
    out = torch.empty(70, 90)

    run_matmul(a, b, out, activation="leaky_relu")

    torch.testing.assert_close(out, torch.nn.functional.leaky_relu(a @ b), atol=1e-4, rtol=1e-4)
