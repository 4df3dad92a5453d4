"""The Triton kernels of examples/train.py, each behind a torch.autograd.Function.

One file per operation: matmul, layer_norm, attention, cross_entropy. Nothing here knows of kvtrace.
"""
