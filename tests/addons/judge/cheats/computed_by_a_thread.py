"""relu: A thread computes while the kernel copies."""

import threading

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.relu(x)))
    thread.start()
    thread.join()
    return elementwise(copy_kernel, made[0])


def honest(x):
    return elementwise(relu_kernel, x)
