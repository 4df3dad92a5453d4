"""matmul: PyTorch multiplies one half of the factors, kernels do the other and add."""

from simple import add_kernel, elementwise, product


def cheat(a, b):
    half = a.shape[1] // 2
    if not half:
        return product(a, b)
    return elementwise(add_kernel, product(a[:, :half], b[:half]), a[:, half:] @ b[half:])


def honest(a, b):
    half = a.shape[1] // 2
    if not half:
        return product(a, b)
    first, second = product(a[:, :half], b[:half]), product(a[:, half:], b[half:])
    return elementwise(add_kernel, first, second)
