"""What ops mean: one function each, registered with `operation`, grouped by what they do.

`elementwise` (tokens as ops, tensor_tensor, tensor_scalar, activation …), `reductions`, `products`
(matrix multiplication and transposes on the tensor engine), `moves` (loads, stores, copies),
`creation`. Both interfaces' modules take their names from here.
"""
