"""Kernels written to deceive derived tolerances, with the truth decided first.

    python benchmarks/tolerance_attack.py

Each case says whether its results are right: those of a good algorithm in the precision that its
test grants. Then `kvtrace.testing.against` is asked, with a reference, and `kvtrace.assert_close`
without one, where the kernel's own formula in exact arithmetic is what is expected. A case that is
wrong by what it means, not by how it computes that, cannot be found without a reference. Everything
runs in the evaluator.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import triton
import triton.language as tl

import benchmarks.tolerance_attack_kernels as kernels
import kvtrace.testing
from kvtrace.schema.errors import KvtraceError


@dataclass(frozen=True)
class Case:
    """A launch with its reference, and whether its results are right."""

    name: str
    right: bool
    kernel: Any
    given: Callable[[], tuple[Any, ...]]
    programs: int
    reference: Callable[..., Any]
    meta: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    computes_its_formula: bool | None = None

    @property
    def right_alone(self) -> bool:
        """The results are right for the kernel's own formula, in exact arithmetic."""
        return self.right if self.computes_its_formula is None else self.computes_its_formula


def rows(make: Callable[[], torch.Tensor], *more: Any, out: int = 0) -> Callable[[], Any]:
    """Return a function that returns rows, room for `out` results (0: as large), and columns."""

    def given() -> tuple[Any, ...]:
        x = make()
        target = torch.zeros(out) if out else torch.zeros_like(x)
        return (x, target, x.shape[-1], *more)

    return given


def two(make: Callable[[], tuple[torch.Tensor, torch.Tensor]], out: int = 0) -> Callable[[], Any]:
    """Return a function that returns two tensors, room for results, and the number of columns."""

    def given() -> tuple[Any, ...]:
        x, y = make()
        target = torch.zeros(out) if out else torch.zeros_like(x)
        return (x, y, target, x.shape[-1])

    return given


def close_points() -> tuple[torch.Tensor, torch.Tensor]:
    x = 1e3 + torch.randn(8, 100)
    return x, x + 0.01 * torch.randn(8, 100)


def related(mean: float) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(8, 500)
    return mean + x, mean + 0.5 * x + 0.5 * torch.randn(8, 500)


def probabilities() -> torch.Tensor:
    p = torch.softmax(torch.randn(8, 200), -1)
    p[::3, ::50] = 0.0
    return p


def factors(depth: int, dtype: torch.dtype, out: torch.dtype, size: int = 32) -> Callable[[], Any]:
    """Return a function that returns two random factors, room for the product, and `depth`."""

    def given() -> tuple[Any, ...]:
        left, right = torch.randn(size, depth).to(dtype), torch.randn(depth, size).to(dtype)
        return left, right, torch.zeros(size, size, dtype=out), depth

    return given


def attended() -> tuple[Any, ...]:
    q, k, v = (torch.randn(n, 32).to(torch.bfloat16) for n in (32, 128, 128))
    return q, k, v, torch.zeros(32, 32, dtype=torch.bfloat16), 128, 32**-0.5


def labeled() -> tuple[Any, ...]:
    return torch.randn(16, 300), torch.randint(0, 300, (16,)), torch.zeros(16), 300


def certain() -> tuple[Any, ...]:
    x, labels, out, columns = labeled()
    x[torch.arange(16), labels] += 14.0
    return x, labels, out, columns


def numbers(low: float, high: float, count: int = 1000) -> Callable[[], tuple[Any, ...]]:
    """Return a function that returns equally spaced numbers, room for results, and their count."""
    return lambda: (torch.linspace(low, high, count), torch.zeros(count), count)


def by_layer(x: torch.Tensor, eps: float) -> torch.Tensor:
    centered = x - x.mean(-1, keepdim=True)
    return centered * torch.rsqrt((centered * centered).mean(-1, keepdim=True) + eps)


def by_rms(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


def by_attention(q: Any, k: Any, v: Any, scale: float) -> torch.Tensor:
    return torch.softmax(q @ k.T * scale, -1) @ v


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def variance(x: torch.Tensor) -> torch.Tensor:
    return x.var(-1, correction=0)


def covariance(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((x - x.mean(-1, keepdim=True)) * (y - y.mean(-1, keepdim=True))).mean(-1)


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return left @ right


def gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


def by_softplus(x: torch.Tensor) -> torch.Tensor:
    return torch.logaddexp(x, torch.zeros_like(x))  # torch's own leaves 2e-9 out above 20


def root(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return -2 * y / (x + torch.sqrt(x * x - 4 * y))


def coefficients() -> tuple[torch.Tensor, torch.Tensor]:
    return 1e4 + torch.rand(500), 1.0 + torch.rand(500)


def large_pairs() -> tuple[torch.Tensor, torch.Tensor]:
    return 1e20 * torch.randn(500), 1e20 * torch.randn(500)


def near_pairs() -> tuple[torch.Tensor, torch.Tensor]:
    x = 1e3 * (1 + torch.rand(500))
    return x, x * (1 + 1e-5 * torch.randn(500))


F32, F16, BF16, F8 = torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn


def _of_x(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` with a parameter named `x`, which torch's functions do not have."""
    return lambda x: function(x)


def _of_x_and_y(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(x, y)


def formula(name: str, right: bool, given: Any, reference: Any, **more: Any) -> Case:
    """Return a case of the kernel `elementwise` with the formula `name`."""
    meta = {"FORMULA": name, "BLOCK": 256}
    return Case(name, right, kernels.elementwise, given, 4, _of_x(reference), meta, **more)


def pair(name: str, right: bool, make: Any, reference: Any) -> Case:
    """Return a case of the kernel `pairs` with the formula `name`."""
    meta = {"FORMULA": name, "BLOCK": 256}
    return Case(name, right, kernels.pairs, two(make), 2, _of_x_and_y(reference), meta)


def dot(name: str, right: bool, given: Any, type_: Any, *, inner: int = 32, tail: bool = True,
        precision: str = "ieee", meant: bool | None = None, **asked: Any) -> Case:  # fmt: skip
    """Return a case of a matrix product."""
    meta = {"TYPE": type_, "PRECISION": precision, "TAIL": tail, "SIZE": 32, "BLOCK": inner}
    return Case(name, right, kernels.matmul, given, 1, product, meta, asked, meant)


def wide(mean: float = 0.0, deviation: float = 1.0, columns: int = 1000) -> Callable[[], Any]:
    return lambda: mean + deviation * torch.randn(8, columns)


def a_row_of_hundreds() -> torch.Tensor:
    x = torch.randn(8, 1000)
    x[3] += 100
    return x


def two_scales() -> torch.Tensor:
    x = 100.0 * torch.randn(8, 1000)
    x[5:] = 100.0 + 1e-3 * x[5:]
    return x


B = {"BLOCK": 1024}
CASES = [
    Case("layer norm, mean 10,000, two passes", True, kernels.layer_norm_two_pass,
         rows(wide(1e4), 1e-5), 8, by_layer, B),
    Case("layer norm, mean 10,000, one pass", False, kernels.layer_norm_one_pass,
         rows(wide(1e4), 1e-5), 8, by_layer, B),
    Case("layer norm, mean 2, one pass", True, kernels.layer_norm_one_pass,
         rows(wide(2.0), 1e-5), 8, by_layer, B),
    Case("layer norm divided by n - 1", False, kernels.layer_norm_unbiased,
         rows(wide(), 1e-5), 8, by_layer, B, computes_its_formula=True),
    Case("layer norm, lanes beyond the row counted", False, kernels.layer_norm_unmasked,
         rows(wide(1.0), 1e-5), 8, by_layer, B, computes_its_formula=True),
    Case("variance, mean 10,000, shifted", True, kernels.variance_shifted,
         rows(wide(1e4), out=8), 8, variance, B),
    Case("variance, mean 1,000, E[x²] - E[x]²", False, kernels.variance_naive,
         rows(wide(1e3), out=8), 8, variance, B),
    Case("variance, mean 1, E[x²] - E[x]²", True, kernels.variance_naive,
         rows(wide(1.0), out=8), 8, variance, B),
    Case("variance, rows of two scales, E[x²] - E[x]²", False, kernels.variance_naive,
         rows(two_scales, out=8), 8, variance, B),
    Case("variance, rows of two scales, shifted", True, kernels.variance_shifted,
         rows(two_scales, out=8), 8, variance, B),
    Case("covariance, mean 1,000, E[xy] - E[x]E[y]", False, kernels.covariance_naive,
         two(lambda: related(1e3), out=8), 8, covariance, {"BLOCK": 512}),
    Case("covariance, mean 1,000, centered", True, kernels.covariance_centered,
         two(lambda: related(1e3), out=8), 8, covariance, {"BLOCK": 512}),
    Case("log-sum-exp of ±100", True, kernels.log_sum_exp,
         rows(wide(0.0, 50.0), out=8), 8, lambda x: torch.logsumexp(x, -1), B),
    Case("softmax, online, around 90", True, kernels.softmax_online,
         rows(wide(90.0, 10.0)), 8, softmax, {"BLOCK": 256}),
    Case("softmax without its maximum, at 100", False, kernels.softmax_plain,
         rows(wide(100.0)), 8, softmax, B),
    Case("softmax without its maximum, one row of 8 at 100", False, kernels.softmax_plain,
         rows(a_row_of_hundreds), 8, softmax, B),
    Case("softmax without its maximum, at 0", True, kernels.softmax_plain,
         rows(wide()), 8, softmax, B),
    Case("softmax, lanes beyond the row are 0", False, kernels.softmax_filled_with_zero,
         rows(wide()), 8, softmax, B, computes_its_formula=True),
    Case("softmax without the last column", False, kernels.softmax_without_last_store,
         rows(wide()), 8, softmax, B, computes_its_formula=True),
    Case("log-softmax", True, kernels.log_softmax,
         rows(wide(0.0, 5.0)), 8, lambda x: torch.log_softmax(x, -1), B),
    Case("cross entropy", True, kernels.cross_entropy, labeled, 16,
         lambda x, labels: torch.nn.functional.cross_entropy(x, labels, reduction="none"),
         {"BLOCK": 512}),
    Case("cross entropy of nearly certain labels", True, kernels.cross_entropy,
         certain, 16,
         lambda x, labels: torch.nn.functional.cross_entropy(x, labels, reduction="none"),
         {"BLOCK": 512}),
    formula("tanh", True, numbers(-9, 9), torch.tanh),
    formula("gelu", True, numbers(-9, 9), gelu),
    formula("gelu, wrong constant", False, numbers(-9, 9), gelu, computes_its_formula=True),
    formula("silu", True, numbers(-120, 120), torch.nn.functional.silu),
    formula("softplus", True, numbers(-30, 30), by_softplus),
    formula("softplus, plain", False, numbers(-120, 120), by_softplus),
    formula("exp", True, numbers(-120, 120), torch.exp),
    formula("sigmoid of exp", False, numbers(-120, 120), torch.sigmoid),
    formula("1 - cos", False, numbers(1e-4, 2e-4), lambda x: 2 * torch.sin(x / 2) ** 2),
    formula("2 sin²", True, numbers(1e-4, 2e-4), lambda x: 2 * torch.sin(x / 2) ** 2),
    formula("log(1 + x)", False, numbers(1e-6, 2e-6), torch.log1p),
    formula("exp - 1", False, numbers(1e-5, 2e-5), torch.expm1),
    Case("exp - 1 of a million", False, kernels.elementwise, numbers(1e-3, 2e-3, 1 << 20), 1024,
         _of_x(torch.expm1), {"FORMULA": "exp - 1", "BLOCK": 1024}),
    formula("expanded", False, numbers(0.9, 1.1), lambda x: (x - 1) ** 7),
    formula("power", True, numbers(0.9, 1.1), lambda x: (x - 1) ** 7),
    formula("absorbed relu", False, numbers(-9, 9), torch.relu),
    formula("rounded", False, numbers(-9, 9), lambda x: 1.5 * x),
    formula("e8m0", True, numbers(-9, 9), lambda x: 0.5 * x),
    Case("exp(-20) by its series", False, kernels.series_of_exp, numbers(-21, -19), 4,
         _of_x(torch.exp),
         {"BLOCK": 256}),
    pair("root", False, coefficients, root),
    pair("root, stable", True, coefficients, root),
    pair("hypotenuse", False, large_pairs, torch.hypot),
    pair("hypotenuse, scaled", True, large_pairs, torch.hypot),
    # The squares' roundings are like those of the inputs: it is as good as the problem allows.
    pair("difference of squares", True, near_pairs, lambda x, y: (x - y) * (x + y)),
    pair("product of sum and difference", True, near_pairs, lambda x, y: (x - y) * (x + y)),
    Case("distances of close points, expanded", False, kernels.distances,
         two(close_points, out=8), 8, lambda x, y: ((x - y) ** 2).sum(-1),
         {"EXPANDED": True, "BLOCK": 128}),
    Case("distances of close points", True, kernels.distances,
         two(close_points, out=8), 8, lambda x, y: ((x - y) ** 2).sum(-1),
         {"EXPANDED": False, "BLOCK": 128}),
    Case("entropy with 0 · log 0", False, kernels.entropy, rows(probabilities, out=8), 8,
         lambda x: -torch.special.xlogy(x, x).sum(-1), {"GUARDED": False, "BLOCK": 256},
         computes_its_formula=True),
    Case("entropy, guarded", True, kernels.entropy, rows(probabilities, out=8), 8,
         lambda x: -torch.special.xlogy(x, x).sum(-1), {"GUARDED": True, "BLOCK": 256}),
    Case("rms norm of small rows", True, kernels.rms_norm, rows(wide(0, 1e-3), 1e-6), 8, by_rms,
         {"HAS_EPS": True, **B}),
    Case("rms norm without eps", False, kernels.rms_norm, rows(wide(), 1e-6), 8, by_rms,
         {"HAS_EPS": False, **B}, computes_its_formula=True),
    Case("mean", True, kernels.mean, rows(wide(3.0), out=8), 8, lambda x: x.mean(-1),
         {"BY_BLOCK": False, **B}),
    Case("mean divided by the block", False, kernels.mean, rows(wide(3.0), out=8), 8,
         lambda x: x.mean(-1), {"BY_BLOCK": True, **B}, computes_its_formula=True),
    Case("sum of 65,536 numbers", True, kernels.long_sum,
         rows(lambda: torch.rand(4, 65536), out=4), 4, lambda x: x.sum(-1),
         {"TYPE": tl.float32, "BLOCK": 256}),
    Case("sum of bfloat16 in bfloat16", False, kernels.long_sum,
         rows(lambda: torch.rand(4, 8192).to(BF16), out=4), 4, lambda x: x.sum(-1),
         {"TYPE": tl.bfloat16, "BLOCK": 256}),
    Case("sum by atomics", True, kernels.atomic_sum,
         rows(lambda: torch.randn(20000), out=1), 20, lambda x: x.sum()[None], B),
    Case("cumulative sum", True, kernels.cumulative, rows(wide()), 8,
         lambda x: x.cumsum(-1), B),
    dot("product of float16", True, factors(512, F16, F16), tl.float32),
    dot("product of float16, summed in float16", False, factors(2048, F16, F16), tl.float16),
    dot("product of 8-bit floats", True, factors(4096, F8, F32), tl.float32),
    dot("product of 8-bit floats, summed in bfloat16", False, factors(4096, F8, F32), tl.bfloat16),
    dot("product with a tail of 20", True, factors(500, F32, F32), tl.float32),
    dot("product without its tail of 20", False, factors(500, F32, F32), tl.float32, tail=False,
        meant=True),
    dot("product in tf32, which is refused", False, factors(512, F32, F32), tl.float32,
        precision="tf32", tf32=False),
    dot("product in tf32", True, factors(512, F32, F32), tl.float32, precision="tf32"),
    Case("attention in bfloat16", True, kernels.attention, attended, 1, by_attention,
         {"SIZE": 32, "BLOCK": 32}),
]  # fmt: skip


def answer(case: Case, *, alone: bool) -> tuple[bool | None, str]:
    """Return (True, False or None for unknown: results are right by kvtrace; kvtrace's text)."""
    torch.manual_seed(0)
    given = case.given()
    try:
        if alone:
            derived = kvtrace.tolerance(
                case.kernel, *given, grid=(case.programs,), **case.meta, **case.asked
            )
            kvtrace.assert_close(derived.only.evaluated, derived)
        else:
            checked = kvtrace.testing.against(case.reference, **case.asked)(case.kernel)
            checked[(case.programs,)](*given, **case.meta)
    except kvtrace.testing.NotClose as error:
        return False, str(error)
    except KvtraceError as error:
        return None, str(error)
    return True, ""


def main() -> None:
    """Judge every case in both ways, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    started = time.perf_counter()
    sums = {"false yes": 0, "false no": 0, "unknown": 0, "right": 0, "wrong": 0}
    words = {True: "right", False: "wrong", None: "unknown"}
    print(f"{'case':52} {'truth':6} {'reference':10} alone")
    for case in CASES:
        if arguments.only not in case.name:
            continue
        answers = []
        for alone, truth in ((False, case.right), (True, case.right_alone)):
            is_right, text = answer(case, alone=alone)
            sums["right" if truth else "wrong"] += 1
            if is_right is None:
                sums["unknown"] += 1
            elif is_right != truth:
                sums["false yes" if is_right else "false no"] += 1
            mark = "" if is_right == truth else " (!)"
            answers.append(words[is_right] + mark)
            if mark:
                print(text, file=sys.stderr)
        print(f"{case.name:52} {words[case.right]:6} {answers[0]:10} {answers[1]}", flush=True)
    print(
        f"\n{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"Triton {triton.__version__}; {time.perf_counter() - started:.0f} s"
    )
    print(", ".join(f"{count} {name}" for name, count in sums.items()))


if __name__ == "__main__":
    main()
