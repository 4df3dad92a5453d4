"""Memory of compiled code and known values is freed with their module."""

import gc
import weakref

import torch

from corpus.kernels import basic
from kvtrace.evaluate import evaluate
from kvtrace.ir import parse
from tests.kernels.launching import bind
from tests.support.compile_ttir import compile_generic

TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def test_compiled_code_and_known_values_are_freed_with_their_module():
    module = parse(compile_generic(basic.vector_add, TYPES, {"BLOCK": 16}))
    x, y, out = torch.randn(40), torch.randn(40), torch.empty(40)
    arguments = bind(basic.vector_add, {"x": x, "y": y, "out": out, "n": 40})
    evaluate(module, arguments, (3,))
    assert torch.equal(out, x + y)
    seen = weakref.ref(module)

    del module
    gc.collect()

    assert seen() is None
