"""Every kernel of the corpus that is right: equal to NumPy, inside the machine's limits."""

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
