"""gather_rows: PyTorch fetches the rows, a kernel copies them."""

from simple import copy_kernel, elementwise, gathered


def cheat(table, index):
    return elementwise(copy_kernel, table[index])


def honest(table, index):
    return gathered(table, index)
