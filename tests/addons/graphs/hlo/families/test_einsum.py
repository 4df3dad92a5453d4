import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from tests.addons.graphs.hlo.agreement import agree

RANDOM = np.random.default_rng(9)
SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "i": 3, "j": 4, "k": 5}


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk->ik",
        "ij,jk",
        "ij,kj->ki",
        "i,i->",
        "i,j->ji",
        "ij->ji",
        "ij->",
        "abij,abjk->abik",
        "aij,ajk->ik",
        "aib,bj->ija",
        "ij,ij->ij",
        "ab,bc,cd->ad",
        "ab,ab,b->a",
        "i,,j->ij",
        "b i j, b j k -> b i k",
    ],
)
def test_einsum_equals_numpys(subscripts):
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    operands = [floats(*(SIZES[label] for label in term)) for term in terms]
    agree(lambda *operands: np.einsum(subscripts, *operands), *operands)


def test_einsum_equals_numpys_with_ellipses_and_integers():
    x, y = floats(2, 3, 4), floats(5, 2, 4, 3)
    agree(lambda x, y: np.einsum("...ij,...jk->...ik", x, y), x, y)
    agree(lambda x: (np.einsum("...i->i...", x), np.einsum("...ij->...", x)), x)
    n = RANDOM.integers(-3, 4, size=(3, 4)).astype(np.int32)
    agree(lambda n: np.einsum("ij,kj->ik", n, n), n)


def test_einsum_with_bad_axes_is_refused():
    x = floats(2, 3)
    for program, error, match in (
        (lambda x: np.einsum("ij,jk->ik", x), BadArgument, "2 terms, but 1 operands"),
        (lambda x: np.einsum(x, [0, 1], [1, 0]), BadArgument, "takes its subscripts as text"),
        (lambda x: np.einsum("ij->ik", x), BadArgument, "one that no operand has"),
        (lambda x: np.einsum("ijk->i", x), ShapeMismatch, "does not fit a tensor of 2 axes"),
        (lambda x: np.einsum("ij,ij->", x, x.T), ShapeMismatch, "axes of both 2 and 3 elements"),
        (lambda x: np.einsum("ii->i", x), BadArgument, "'ii' has a label twice"),
    ):
        with pytest.raises(error, match=match):
            trace(program).specialize(x)
