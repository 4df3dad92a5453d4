"""Correct kernels of the corpus: equal to NumPy, and within the target's limits."""

from tests.addons.neuron.kernels import (
    additions,
    attention,
    norms,
    pooling,
    products,
    scans,
    transposes,
)

CASES = (
    *additions.CASES,
    *transposes.CASES,
    *products.CASES,
    *pooling.CASES,
    *norms.CASES,
    *attention.CASES,
    *scans.CASES,
)
