"""Imports of a first launch, counted in modules: time differs from machine to machine.

The limits are what it takes now and a little more. One that is passed asks whether the new module
is needed by every first launch; if it is, the limit is raised here.
"""

import json
import subprocess
import sys

import pytest

from corpus.kernels import basic
from tests.support.compile_ttir import compile_generic

pytestmark = pytest.mark.process

TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}

PROGRAM = """
import hashlib, json, sys, typing
import numpy as np
before = set(sys.modules)
observed, text = json.loads(sys.stdin.read())
from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, evaluate, parsed

memory = np.arange(120, dtype=np.float32)
storage = Storage(memory.nbytes, memory.view(np.uint8))
given = [TensorArgument(n, storage, 160 * i, "fp32", (40,), (1,)) for i, n in enumerate("xyo")]
given.append(ScalarArgument("n", 40))
if observed:
    from kvtrace.clients.profiler import Profiler
    from kvtrace.clients.running import ClientPass
    from kvtrace.clients.tracer import Tracer
    from kvtrace.recorded_calls.recorded import Call

    together = ClientPass([Tracer(), Profiler()])
    assert together.run(Call(0, "add", (3, 1, 1), parsed(text), tuple(given), ())) is None
    assert [member.error for member in together.members] == [None, None]
else:
    evaluate(parsed(text), given, (3,))
assert (memory[80:] == memory[:40] + memory[40:80]).all()
print(json.dumps(sorted(set(sys.modules) - before)))
"""

NEVER = (
    "numpy.ma", "numpy.random", "ml_dtypes", "threadpoolctl", "importlib.metadata", "pyarrow", "z3",
    "torch", "triton", "kvtrace.symbolic", "kvtrace.verdicts", "kvtrace.schema.layout",
    "kvtrace.recorded_calls.compiled_code",
)  # fmt: skip
"""What no launch of a kernel of plain arithmetic needs, traced and counted or not."""


@pytest.fixture(scope="module")
def text():
    return compile_generic(basic.vector_add, TYPES, {"BLOCK": 16})


def imported(text, *, observed):
    """Return the modules that a process with NumPy imports for its first launch."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([observed, text]),
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(process.stdout)


def ours(modules):
    return [name for name in modules if name.partition(".")[0] == "kvtrace"]


@pytest.mark.parametrize(("observed", "most"), [(False, 68), (True, 90)])
def test_a_first_launch_imports_only_the_modules_it_needs(text, observed, most):
    result = imported(text, observed=observed)

    assert [name for name in result if name.startswith(NEVER)] == []
    assert len(ours(result)) <= most, ours(result)


def test_meanings_of_ops_that_a_kernel_lacks_are_not_imported(text):
    modules = imported(text, observed=False)
    files = {n.rpartition(".")[2] for n in modules if n.startswith("kvtrace.evaluate.dialects.")}
    assert "tt_memory" in files
    assert not files & {"libdevice", "math", "special", "tt_inline", "tt_descriptor", "scf"}
