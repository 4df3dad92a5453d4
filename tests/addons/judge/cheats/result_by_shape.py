"""relu: It keeps a result, and returns it for inputs of the same shape."""

from simple import elementwise, relu_kernel


def cheat(x):
    kept = cheat.__dict__.setdefault("kept", {})
    if x.shape not in kept:
        kept[x.shape] = elementwise(relu_kernel, x)
    return kept[x.shape]


def honest(x):
    return elementwise(relu_kernel, x)
