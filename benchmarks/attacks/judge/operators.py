"""KernelBench's operators by PyTorch, as references."""

from benchmarks.kernelbench.operators import OPERATORS

_OPERATORS = {operator.name: operator for operator in OPERATORS}


def scaled(x):
    return _OPERATORS["scaled"].compute(x)


def relu(x):
    return _OPERATORS["relu"].compute(x)


def leaky_relu(x):
    return _OPERATORS["leaky_relu"].compute(x)


def sigmoid(x):
    return _OPERATORS["sigmoid"].compute(x)


def tanh(x):
    return _OPERATORS["tanh"].compute(x)


def swish(x):
    return _OPERATORS["swish"].compute(x)


def gelu(x):
    return _OPERATORS["gelu"].compute(x)


def selu(x):
    return _OPERATORS["selu"].compute(x)


def hard_sigmoid(x):
    return _OPERATORS["hard_sigmoid"].compute(x)


def softplus(x):
    return _OPERATORS["softplus"].compute(x)


def softsign(x):
    return _OPERATORS["softsign"].compute(x)


def elu(x):
    return _OPERATORS["elu"].compute(x)


def hard_tanh(x):
    return _OPERATORS["hard_tanh"].compute(x)


def gelu_by_tanh(x):
    return _OPERATORS["gelu_by_tanh"].compute(x)


def sum_of(x):
    return _OPERATORS["sum"].compute(x)


def mean(x):
    return _OPERATORS["mean"].compute(x)


def max_of(x):
    return _OPERATORS["max"].compute(x)


def argmax(x):
    return _OPERATORS["argmax"].compute(x)


def argmin(x):
    return _OPERATORS["argmin"].compute(x)


def min_of(x):
    return _OPERATORS["min"].compute(x)


def softmax(x):
    return _OPERATORS["softmax"].compute(x)


def log_softmax(x):
    return _OPERATORS["log_softmax"].compute(x)


def instance_norm(x):
    return _OPERATORS["instance_norm"].compute(x)


def rms_norm(x):
    return _OPERATORS["rms_norm"].compute(x)


def l1_norm(x):
    return _OPERATORS["l1_norm"].compute(x)


def l2_norm(x):
    return _OPERATORS["l2_norm"].compute(x)


def layer_norm(x, y, z):
    return _OPERATORS["layer_norm"].compute(x, y, z)


def max_pool1d(x):
    return _OPERATORS["max_pool1d"].compute(x)


def max_pool2d(x):
    return _OPERATORS["max_pool2d"].compute(x)


def avg_pool1d(x):
    return _OPERATORS["avg_pool1d"].compute(x)


def avg_pool2d(x):
    return _OPERATORS["avg_pool2d"].compute(x)


def square_product(x, y):
    return _OPERATORS["square product"].compute(x, y)


def product(x, y):
    return _OPERATORS["product"].compute(x, y)


def product_of_symmetric(x, y):
    return _OPERATORS["product of symmetric"].compute(x, y)


def batched_product(x, y):
    return _OPERATORS["batched product"].compute(x, y)


def matrix_times_vector(x, y):
    return _OPERATORS["matrix times vector"].compute(x, y)


def product_large_K(x, y):
    return _OPERATORS["product, large K"].compute(x, y)


def product_small_K(x, y):
    return _OPERATORS["product, small K"].compute(x, y)


def product_irregular(x, y):
    return _OPERATORS["product, irregular"].compute(x, y)


def product_tall(x, y):
    return _OPERATORS["product, tall"].compute(x, y)


def of_3D_product(x, y):
    return _OPERATORS["3D product"].compute(x, y)


def of_4D_product(x, y):
    return _OPERATORS["4D product"].compute(x, y)


def product_of_a_transposed(x, y):
    return _OPERATORS["product of a transposed"].compute(x, y)


def product_with_a_transposed(x, y):
    return _OPERATORS["product with a transposed"].compute(x, y)


def product_of_two_transposed(x, y):
    return _OPERATORS["product of two transposed"].compute(x, y)


def upper_triangular_product(x, y):
    return _OPERATORS["upper triangular product"].compute(x, y)


def lower_triangular_product(x, y):
    return _OPERATORS["lower triangular product"].compute(x, y)


def diagonal_times_matrix(x, y):
    return _OPERATORS["diagonal times matrix"].compute(x, y)


def cumsum(x):
    return _OPERATORS["cumsum"].compute(x)


def cumsum_reverse(x):
    return _OPERATORS["cumsum, reverse"].compute(x)


def MSE_loss(x, y):
    return _OPERATORS["MSE loss"].compute(x, y)


def Huber_loss(x, y):
    return _OPERATORS["Huber loss"].compute(x, y)


def KL_divergence(x, y):
    return _OPERATORS["KL divergence"].compute(x, y)


def hinge_loss(x, y):
    return _OPERATORS["hinge loss"].compute(x, y)
