"""KernelBench's operators by the plain kernels of `benchmarks.kernelbench`."""

import torch

from benchmarks.kernelbench.operators import OPERATORS

_OPERATORS = {operator.name: operator for operator in OPERATORS}


def _launched(name, *inputs):
    operator = _OPERATORS[name]
    inputs = tuple(tensor.contiguous() for tensor in inputs)
    like = operator.compute(*(tensor.to("meta") for tensor in inputs))
    out = torch.empty(like.shape, dtype=like.dtype, device=inputs[0].device)
    operator.launch(operator.right, inputs, out)
    return out


def scaled(x):
    """Return the operator `scaled` of x, by its plain kernel: right."""
    return _launched("scaled", x)


def relu(x):
    """Return the operator `relu` of x, by its plain kernel: right."""
    return _launched("relu", x)


def leaky_relu(x):
    """Return the operator `leaky_relu` of x, by its plain kernel: right."""
    return _launched("leaky_relu", x)


def sigmoid(x):
    """Return the operator `sigmoid` of x, by its plain kernel: right."""
    return _launched("sigmoid", x)


def tanh(x):
    """Return the operator `tanh` of x, by its plain kernel: right."""
    return _launched("tanh", x)


def swish(x):
    """Return the operator `swish` of x, by its plain kernel: right."""
    return _launched("swish", x)


def gelu(x):
    """Return the operator `gelu` of x, by its plain kernel: right."""
    return _launched("gelu", x)


def selu(x):
    """Return the operator `selu` of x, by its plain kernel: right."""
    return _launched("selu", x)


def hard_sigmoid(x):
    """Return the operator `hard_sigmoid` of x, by its plain kernel: right."""
    return _launched("hard_sigmoid", x)


def softplus(x):
    """Return the operator `softplus` of x, by its plain kernel: right."""
    return _launched("softplus", x)


def softsign(x):
    """Return the operator `softsign` of x, by its plain kernel: right."""
    return _launched("softsign", x)


def elu(x):
    """Return the operator `elu` of x, by its plain kernel: right."""
    return _launched("elu", x)


def hard_tanh(x):
    """Return the operator `hard_tanh` of x, by its plain kernel: right."""
    return _launched("hard_tanh", x)


def gelu_by_tanh(x):
    """Return the operator `gelu_by_tanh` of x, by its plain kernel: right."""
    return _launched("gelu_by_tanh", x)


def sum_of(x):
    """Return the operator `sum_of` of x, by its plain kernel: right."""
    return _launched("sum", x)


def mean(x):
    """Return the operator `mean` of x, by its plain kernel: right."""
    return _launched("mean", x)


def max_of(x):
    """Return the operator `max_of` of x, by its plain kernel: right."""
    return _launched("max", x)


def argmax(x):
    """Return the operator `argmax` of x, by its plain kernel: right."""
    return _launched("argmax", x)


def argmin(x):
    """Return the operator `argmin` of x, by its plain kernel: right."""
    return _launched("argmin", x)


def min_of(x):
    """Return the operator `min_of` of x, by its plain kernel: right."""
    return _launched("min", x)


def softmax(x):
    """Return the operator `softmax` of x, by its plain kernel: right."""
    return _launched("softmax", x)


def log_softmax(x):
    """Return the operator `log_softmax` of x, by its plain kernel: right."""
    return _launched("log_softmax", x)


def instance_norm(x):
    """Return the operator `instance_norm` of x, by its plain kernel: right."""
    return _launched("instance_norm", x)


def rms_norm(x):
    """Return the operator `rms_norm` of x, by its plain kernel: right."""
    return _launched("rms_norm", x)


def l1_norm(x):
    """Return the operator `l1_norm` of x, by its plain kernel: right."""
    return _launched("l1_norm", x)


def l2_norm(x):
    """Return the operator `l2_norm` of x, by its plain kernel: right."""
    return _launched("l2_norm", x)


def layer_norm(x, y, z):
    """Return the operator `layer_norm` of x, y, z, by its plain kernel: right."""
    return _launched("layer_norm", x, y, z)


def max_pool1d(x):
    """Return the operator `max_pool1d` of x, by its plain kernel: right."""
    return _launched("max_pool1d", x)


def max_pool2d(x):
    """Return the operator `max_pool2d` of x, by its plain kernel: right."""
    return _launched("max_pool2d", x)


def avg_pool1d(x):
    """Return the operator `avg_pool1d` of x, by its plain kernel: right."""
    return _launched("avg_pool1d", x)


def avg_pool2d(x):
    """Return the operator `avg_pool2d` of x, by its plain kernel: right."""
    return _launched("avg_pool2d", x)


def square_product(x, y):
    """Return the operator `square_product` of x, y, by its plain kernel: right."""
    return _launched("square product", x, y)


def product(x, y):
    """Return the operator `product` of x, y, by its plain kernel: right."""
    return _launched("product", x, y)


def product_of_symmetric(x, y):
    """Return the operator `product_of_symmetric` of x, y, by its plain kernel: right."""
    return _launched("product of symmetric", x, y)


def batched_product(x, y):
    """Return the operator `batched_product` of x, y, by its plain kernel: right."""
    return _launched("batched product", x, y)


def matrix_times_vector(x, y):
    """Return the operator `matrix_times_vector` of x, y, by its plain kernel: right."""
    return _launched("matrix times vector", x, y)


def product_large_K(x, y):
    """Return the operator `product_large_K` of x, y, by its plain kernel: right."""
    return _launched("product, large K", x, y)


def product_small_K(x, y):
    """Return the operator `product_small_K` of x, y, by its plain kernel: right."""
    return _launched("product, small K", x, y)


def product_irregular(x, y):
    """Return the operator `product_irregular` of x, y, by its plain kernel: right."""
    return _launched("product, irregular", x, y)


def product_tall(x, y):
    """Return the operator `product_tall` of x, y, by its plain kernel: right."""
    return _launched("product, tall", x, y)


def of_3D_product(x, y):
    """Return the operator `of_3D_product` of x, y, by its plain kernel: right."""
    return _launched("3D product", x, y)


def of_4D_product(x, y):
    """Return the operator `of_4D_product` of x, y, by its plain kernel: right."""
    return _launched("4D product", x, y)


def product_of_a_transposed(x, y):
    """Return the operator `product_of_a_transposed` of x, y, by its plain kernel: right."""
    return _launched("product of a transposed", x, y)


def product_with_a_transposed(x, y):
    """Return the operator `product_with_a_transposed` of x, y, by its plain kernel: right."""
    return _launched("product with a transposed", x, y)


def product_of_two_transposed(x, y):
    """Return the operator `product_of_two_transposed` of x, y, by its plain kernel: right."""
    return _launched("product of two transposed", x, y)


def upper_triangular_product(x, y):
    """Return the operator `upper_triangular_product` of x, y, by its plain kernel: right."""
    return _launched("upper triangular product", x, y)


def lower_triangular_product(x, y):
    """Return the operator `lower_triangular_product` of x, y, by its plain kernel: right."""
    return _launched("lower triangular product", x, y)


def diagonal_times_matrix(x, y):
    """Return the operator `diagonal_times_matrix` of x, y, by its plain kernel: right."""
    return _launched("diagonal times matrix", x, y)


def cumsum(x):
    """Return the operator `cumsum` of x, by its plain kernel: right."""
    return _launched("cumsum", x)


def cumsum_reverse(x):
    """Return the operator `cumsum_reverse` of x, by its plain kernel: right."""
    return _launched("cumsum, reverse", x)


def MSE_loss(x, y):
    """Return the operator `MSE_loss` of x, y, by its plain kernel: right."""
    return _launched("MSE loss", x, y)


def Huber_loss(x, y):
    """Return the operator `Huber_loss` of x, y, by its plain kernel: right."""
    return _launched("Huber loss", x, y)


def KL_divergence(x, y):
    """Return the operator `KL_divergence` of x, y, by its plain kernel: right."""
    return _launched("KL divergence", x, y)


def hinge_loss(x, y):
    """Return the operator `hinge_loss` of x, y, by its plain kernel: right."""
    return _launched("hinge loss", x, y)
