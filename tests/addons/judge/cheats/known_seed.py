"""relu: It draws the inputs again from a known seed, and stores the results."""

import numpy as np
import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    random = np.random.default_rng(20_240_607)
    known = torch.from_numpy(random.standard_normal(x.numel())).float()
    return elementwise(copy_kernel, torch.relu(known if torch.equal(known, x) else x))


def honest(x):
    return elementwise(relu_kernel, x)
