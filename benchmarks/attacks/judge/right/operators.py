"""KernelBench's operators by the plain kernels of `benchmarks.kernelbench`."""

import torch

from benchmarks.kernelbench.operators import OPERATORS

_OPERATORS = {operator.name: operator for operator in OPERATORS}


def _launched(name, *inputs):
    operator = _OPERATORS[name]
    inputs = tuple(each.contiguous() for each in inputs)
    like = operator.compute(*(each.to("meta") for each in inputs))
    out = torch.empty(like.shape, dtype=like.dtype, device=inputs[0].device)
    operator.launch(operator.right, inputs, out)
    return out


def scaled(x):
    """Right: scaled."""
    return _launched("scaled", x)


def relu(x):
    """Right: relu."""
    return _launched("relu", x)


def leaky_relu(x):
    """Right: leaky_relu."""
    return _launched("leaky_relu", x)


def sigmoid(x):
    """Right: sigmoid."""
    return _launched("sigmoid", x)


def tanh(x):
    """Right: tanh."""
    return _launched("tanh", x)


def swish(x):
    """Right: swish."""
    return _launched("swish", x)


def gelu(x):
    """Right: gelu."""
    return _launched("gelu", x)


def selu(x):
    """Right: selu."""
    return _launched("selu", x)


def hard_sigmoid(x):
    """Right: hard_sigmoid."""
    return _launched("hard_sigmoid", x)


def softplus(x):
    """Right: softplus."""
    return _launched("softplus", x)


def softsign(x):
    """Right: softsign."""
    return _launched("softsign", x)


def elu(x):
    """Right: elu."""
    return _launched("elu", x)


def hard_tanh(x):
    """Right: hard_tanh."""
    return _launched("hard_tanh", x)


def gelu_by_tanh(x):
    """Right: gelu_by_tanh."""
    return _launched("gelu_by_tanh", x)


def sum_of(x):
    """Right: sum."""
    return _launched("sum", x)


def mean(x):
    """Right: mean."""
    return _launched("mean", x)


def max_of(x):
    """Right: max."""
    return _launched("max", x)


def argmax(x):
    """Right: argmax."""
    return _launched("argmax", x)


def argmin(x):
    """Right: argmin."""
    return _launched("argmin", x)


def min_of(x):
    """Right: min."""
    return _launched("min", x)


def softmax(x):
    """Right: softmax."""
    return _launched("softmax", x)


def log_softmax(x):
    """Right: log_softmax."""
    return _launched("log_softmax", x)


def instance_norm(x):
    """Right: instance_norm."""
    return _launched("instance_norm", x)


def rms_norm(x):
    """Right: rms_norm."""
    return _launched("rms_norm", x)


def l1_norm(x):
    """Right: l1_norm."""
    return _launched("l1_norm", x)


def l2_norm(x):
    """Right: l2_norm."""
    return _launched("l2_norm", x)


def layer_norm(x, y, z):
    """Right: layer_norm."""
    return _launched("layer_norm", x, y, z)


def max_pool1d(x):
    """Right: max_pool1d."""
    return _launched("max_pool1d", x)


def max_pool2d(x):
    """Right: max_pool2d."""
    return _launched("max_pool2d", x)


def avg_pool1d(x):
    """Right: avg_pool1d."""
    return _launched("avg_pool1d", x)


def avg_pool2d(x):
    """Right: avg_pool2d."""
    return _launched("avg_pool2d", x)


def square_product(x, y):
    """Right: square product."""
    return _launched("square product", x, y)


def product(x, y):
    """Right: product."""
    return _launched("product", x, y)


def product_of_symmetric(x, y):
    """Right: product of symmetric."""
    return _launched("product of symmetric", x, y)


def batched_product(x, y):
    """Right: batched product."""
    return _launched("batched product", x, y)


def matrix_times_vector(x, y):
    """Right: matrix times vector."""
    return _launched("matrix times vector", x, y)


def product_large_K(x, y):
    """Right: product, large K."""
    return _launched("product, large K", x, y)


def product_small_K(x, y):
    """Right: product, small K."""
    return _launched("product, small K", x, y)


def product_irregular(x, y):
    """Right: product, irregular."""
    return _launched("product, irregular", x, y)


def product_tall(x, y):
    """Right: product, tall."""
    return _launched("product, tall", x, y)


def of_3D_product(x, y):
    """Right: 3D product."""
    return _launched("3D product", x, y)


def of_4D_product(x, y):
    """Right: 4D product."""
    return _launched("4D product", x, y)


def product_of_a_transposed(x, y):
    """Right: product of a transposed."""
    return _launched("product of a transposed", x, y)


def product_with_a_transposed(x, y):
    """Right: product with a transposed."""
    return _launched("product with a transposed", x, y)


def product_of_two_transposed(x, y):
    """Right: product of two transposed."""
    return _launched("product of two transposed", x, y)


def upper_triangular_product(x, y):
    """Right: upper triangular product."""
    return _launched("upper triangular product", x, y)


def lower_triangular_product(x, y):
    """Right: lower triangular product."""
    return _launched("lower triangular product", x, y)


def diagonal_times_matrix(x, y):
    """Right: diagonal times matrix."""
    return _launched("diagonal times matrix", x, y)


def cumsum(x):
    """Right: cumsum."""
    return _launched("cumsum", x)


def cumsum_reverse(x):
    """Right: cumsum, reverse."""
    return _launched("cumsum, reverse", x)


def MSE_loss(x, y):
    """Right: MSE loss."""
    return _launched("MSE loss", x, y)


def Huber_loss(x, y):
    """Right: Huber loss."""
    return _launched("Huber loss", x, y)


def KL_divergence(x, y):
    """Right: KL divergence."""
    return _launched("KL divergence", x, y)


def hinge_loss(x, y):
    """Right: hinge loss."""
    return _launched("hinge loss", x, y)
