"""Ops: one function each, registered with `operation`, in one file per group.

`elementwise` (tokens as ops, tensor_tensor, tensor_scalar …), `activations`, `reductions`,
`products` (matrix multiplication and transposes on the tensor engine), `moves` (loads, stores,
copies), `creation` and others. The modules of both interfaces name functions of these files.
"""
