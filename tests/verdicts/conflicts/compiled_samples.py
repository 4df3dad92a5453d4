"""Calls of samples with the code that Triton compiles for Hopper."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from corpus.defects import within
from kvtrace.backends.compiled_kernels import generic
from kvtrace.evaluate import parsed
from kvtrace.recorded_calls.compiled_code import compiled_code
from kvtrace.verdicts.judge import judge
from tests.support.replacing import replace

WITHIN = "race-within-program"
SAMPLES = {sample.name: sample for sample in within.CASES}


def answers(judged):
    """Verdicts on the ops of a call."""
    return [verdict.verdict for verdict in judge(judged, [WITHIN])]


def worst(judged):
    """The most severe verdict on a call."""
    found = answers(judged)
    return next(a for a in ("violation", "unknown", "proven") if a in found)


def version(package):
    """The major and minor version of a package."""
    return tuple(map(int, package.__version__.split(".")[:2]))


def assembled(sample, warps, ctas=1):
    """Stages that Triton makes of a sample for Hopper."""
    names = list(sample.kernel.arg_names)
    types = dict.fromkeys(sample.constexprs, "constexpr")
    types |= {name: sample._type(name) for name in sample.arguments}
    aligned = [n for n, v in sample.arguments.items() if hasattr(v, "shape") and not v.offset]
    source = ASTSource(
        fn=sample.kernel,
        signature={name: types[name] for name in names},
        constexprs={(names.index(name),): value for name, value in sample.constexprs.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    target = GPUTarget("cuda", 90, 32)
    options = {"num_warps": warps, "num_ctas": ctas}
    return triton.compile(source, target=target, options=options)


def compiled(sample, warps, ctas=1):
    """The call of a sample with the code that Triton makes of it for Hopper."""
    made = assembled(sample, warps, ctas)
    module = parsed(generic.generic_ttir(made.asm["ttir"]))
    code = compiled_code(
        module, made.asm["ttgir"], made.asm["ptx"], ctas, triton=triton.__version__
    )
    return replace(
        sample.call(), module=module, warps=warps, ctas=ctas, compiled=code,
        triton=triton.__version__,
    )  # fmt: skip
