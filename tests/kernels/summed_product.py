"""TTGIR of a matrix product plus addend, as Triton compiles it."""

from triton.backends.compiler import GPUTarget

from corpus.kernels import oracle_kernels as kernels

SIGNATURE = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "k": "i32"}
SIZES = {"BM": 64, "BN": 64, "BK": 64}
ALIGNED = ("a", "b", "out", "k")


def product(compile_, architecture=90, **options):
    types = SIGNATURE | dict.fromkeys(SIZES, "constexpr")
    target = GPUTarget("cuda", architecture, 32)
    return compile_(
        kernels.summed_product, types, SIZES, divisible_by_16=ALIGNED, target=target,
        stage="ttgir", **options,
    )  # fmt: skip
