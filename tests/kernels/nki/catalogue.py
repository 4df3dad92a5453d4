"""Every kernel of the corpus that is right: equal to NumPy, inside the machine's limits."""

from tests.kernels.nki import additions, products, transposes

CASES = (*additions.CASES, *transposes.CASES, *products.CASES)
