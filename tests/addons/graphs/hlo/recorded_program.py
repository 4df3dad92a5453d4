"""A program with traced functions, as a user writes it: what KVTRACE records of it is tested."""

import numpy as np

from kvtrace.addons.graphs.hlo import trace

WEIGHT = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)


def activated(x):
    return np.maximum(x, 0)


@trace
def layer(x, state):
    hidden = activated(x @ WEIGHT)
    state += hidden.sum(axis=0)
    return hidden


@trace
def flags(x):
    return np.isnan(x), np.array([True, False, True]) | (x[0, :3] > 0)


def main():
    x = np.ones((4, 64), np.float32)
    state = np.zeros(64, np.float32)
    for _ in range(3):
        layer(x, state)
    layer(x[:2], state)
    flags(x)


if __name__ == "__main__":
    main()
