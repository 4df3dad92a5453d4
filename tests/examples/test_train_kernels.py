"""Each kernel of examples/train.py against torch: values, and gradients for a random upstream."""

import pytest
import torch
from train_kernels.attention import CausalAttention
from train_kernels.cross_entropy import CrossEntropy
from train_kernels.layer_norm import LayerNorm
from train_kernels.matmul import Linear, matmul


def random(*shape, seed, device):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(device)


def assert_same_with_gradients(ours, theirs, inputs):
    """Same value, and same gradients of every input for one random upstream gradient."""
    mine = [x.clone().requires_grad_() for x in inputs]
    reference = [x.clone().requires_grad_() for x in inputs]
    out, expected = ours(*mine), theirs(*reference)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)
    upstream = random(*expected.shape, seed=99, device=expected.device)
    out.backward(upstream)
    expected.backward(upstream)
    for ours_input, their_input in zip(mine, reference, strict=True):
        torch.testing.assert_close(ours_input.grad, their_input.grad, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(1, 1, 1), (33, 60, 45), (64, 32, 32), (35, 70, 3)]
)
def test_linear_equals_torch(rows, inner, columns, device):
    inputs = [
        random(rows, inner, seed=1, device=device),
        random(inner, columns, seed=2, device=device),
        random(columns, seed=3, device=device),
    ]
    assert_same_with_gradients(Linear.apply, lambda x, w, b: x @ w + b, inputs)


def test_matmul_of_transposed_and_sliced_views_equals_torch(device):
    left = random(50, 37, seed=1, device=device).t()[1:]
    right = random(50, 90, seed=2, device=device)[:, 5:40]
    torch.testing.assert_close(matmul(left, right), left @ right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 60), (70, 33), (3, 64)])
def test_layer_norm_equals_torch(rows, columns, device):
    inputs = [
        random(rows, columns, seed=1, device=device) * 3 + 1,
        random(columns, seed=2, device=device),
        random(columns, seed=3, device=device),
    ]

    def reference(x, weight, bias):
        return torch.nn.functional.layer_norm(x, (columns,), weight, bias)

    assert_same_with_gradients(LayerNorm.apply, reference, inputs)


@pytest.mark.parametrize(
    ("batch", "length", "heads", "width"), [(1, 1, 1, 16), (2, 33, 3, 20), (1, 32, 2, 32)]
)
def test_causal_attention_equals_torch(batch, length, heads, width, device):
    packed = random(batch, length, 3, heads, width, seed=1, device=device)

    def reference(packed):
        query, key, value = (part.transpose(1, 2) for part in packed.unbind(2))
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return out.transpose(1, 2)

    assert_same_with_gradients(CausalAttention.apply, reference, [packed])


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (9, 45), (5, 64)])
def test_cross_entropy_equals_torch(rows, classes, device):
    logits = random(rows, classes, seed=1, device=device) * 4
    target = torch.arange(rows, device=device) * 7 % classes

    def reference(logits):
        return torch.nn.functional.cross_entropy(logits, target, reduction="none")

    assert_same_with_gradients(lambda x: CrossEntropy.apply(x, target), reference, [logits])
