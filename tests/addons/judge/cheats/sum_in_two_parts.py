"""total: PyTorch sums two halves, a kernel adds two numbers."""

from simple import add_kernel, elementwise, row_sums, total_of


def cheat(x):
    half = x.numel() // 2
    return elementwise(add_kernel, x[:half].sum().reshape(1), x[half:].sum().reshape(1))


def honest(x):
    half = x.numel() // 2
    if not half:
        return total_of(x)
    first, second = (row_sums(part.reshape(1, -1)) for part in (x[:half], x[half:]))
    return elementwise(add_kernel, first, second)
