"""row_sum: NumPy sums the rows, a kernel copies."""

import numpy as np
import torch
from simple import copy_kernel, elementwise, row_sums


def cheat(x):
    return elementwise(copy_kernel, torch.from_numpy(np.sum(x.numpy(), axis=-1)))


def honest(x):
    return row_sums(x)
