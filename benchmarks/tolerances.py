"""Derived tolerances beside those that tests were given by hand: kernels that are right, mutants.

    python benchmarks/tolerances.py --seeds 20

For kernels of Liger, and of the operations in Triton's tutorials, with the tolerances of their own
tests: by how much the derived bound is narrower, whether the right kernel stays within it for
inputs of many seeds and sums in several orders, and which mutants (a dropped term, a sum in 16
bits, a mask off by one, tf32, no eps …) each of both notices. Everything runs in the evaluator.
Liger's tolerances are those of its tests/transformers of 2024 to 2026.
"""

import argparse
import importlib.util
import itertools
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

import kvtrace
from kvtrace.addons.tolerance.closeness import NotClose, compared
from kvtrace.addons.tolerance.deriving import Output, Tolerance, derive, with_reference
from kvtrace.addons.tolerance.launches import TARGET, Launched, seen
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.fixed_order import in_fixed_order
from kvtrace.evaluate.shadows.deviation.roundings import Granted
from kvtrace.schema.errors import KvtraceError

OURS = Path(__file__).with_name("tolerance_kernels.py")
Mutant = tuple[str, str, str]


def liger(name: str) -> Path:
    """A file of Liger's kernels."""
    found = importlib.util.find_spec("liger_kernel")
    assert found is not None and found.origin is not None, "liger-kernel is not installed"
    return Path(found.origin).parent / "ops" / f"{name}.py"


@dataclass(frozen=True)
class Case:
    """A kernel with its test: what it is given, what it should give, and how it was compared.

    `call(module, *given)` returns the output; `reference(*given)`, in float64, what it should be.
    """

    name: str
    file: Path
    dtype: torch.dtype
    atol: float
    rtol: float
    given: Callable[[torch.dtype], list[Any]]
    call: Callable[..., torch.Tensor]
    reference: Callable[..., torch.Tensor]
    mutants: Sequence[Mutant] = ()
    granted: Granted = field(default_factory=Granted)


def normal(*shape: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: torch.randn(*shape).to(dtype)


def drawn(*makers: Any) -> Callable[[torch.dtype], list[Any]]:
    return lambda dtype: [make(dtype) if callable(make) else make for make in makers]


def rms(x: torch.Tensor, w: torch.Tensor, offset: float = 0.0) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (offset + w)


def layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-6)


def matmul(module: Any, a: torch.Tensor, b: torch.Tensor, precision: str) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty(m, n, dtype=a.dtype)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    module.matmul[grid](a, b, out, m, n, k, PRECISION=precision, BLOCK=32)
    return out


def attention(module: Any, q: Any, k: Any, v: Any) -> torch.Tensor:
    out = torch.empty_like(q)
    length, depth = q.shape
    module.attention[(triton.cdiv(length, 32),)](
        q, k, v, out, length, depth**-0.5, DEPTH=depth, BLOCK=32
    )
    return out


def attended(q: Any, k: Any, v: Any) -> torch.Tensor:
    return torch.softmax(q @ k.T * q.shape[1] ** -0.5, -1) @ v


def ours_softmax(module: Any, x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    module.softmax[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def ours_layer_norm(module: Any, x: Any, w: Any, b: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    module.layer_norm[(len(x),)](x, w, b, out, x.shape[1], 1e-6, BLOCK=128)
    return out


def ours_add(module: Any, x: Any, y: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    module.add[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


RMS_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(mean_square + eps)", "rsqrt(mean_square)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("off by one", "axis=0) / n_cols", "axis=0) / (n_cols - 1)"),
    ("sum in 16 bits", "tl.sum(X_row * X_row, axis=0)", "tl.sum((X_row * X_row).to(tl.float16), axis=0).to(tl.float32)"),
    ("dropped term", "(offset + W_row)", "(offset + 1.0)"),
]  # fmt: skip
LAYER_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(var + eps.to(tl.float32))", "rsqrt(var)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("dropped term", "tl.where(mask, X_centered, 0.0)", "X_centered"),
    ("off by one", "X_centered_masked, axis=0) / n_cols", "X_centered_masked, axis=0) / (n_cols - 1)"),
    ("sum in 16 bits", "X_f32 = X_row.to(tl.float32)", "X_f32 = X_row.to(tl.float16)"),
]  # fmt: skip
SOFTMAX_MUTANTS: list[Mutant] = [
    ("mask off by one", "mask = offs < n_cols\n", "mask = offs < n_cols - 1\n"),
    ("dropped term", "d = tl.sum(e, axis=0)", "d = tl.sum(e, axis=0) - tl.min(e, axis=0)"),
    ("sum in 16 bits", "d = tl.sum(e, axis=0)", "d = tl.sum(e.to(tl.float16), axis=0).to(tl.float32)"),
    ("wrong fill", 'other=-float("inf")', "other=-10.0"),
]  # fmt: skip
SWIGLU_MUTANTS: list[Mutant] = [
    ("dropped term", "return x * tl.sigmoid(x)", "return tl.sigmoid(x)"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("16 bits", "other=0).to(tl.float32) * gate", "other=0).to(tl.float16).to(tl.float32) * gate"),
    ("wrong constant", "return x * tl.sigmoid(x)", "return x * tl.sigmoid(1.001 * x)"),
]
GEGLU_MUTANTS: list[Mutant] = [
    ("wrong constant", "0.044715 * a_cubed", "0.0447 * a_cubed"),
    ("dropped term", "(a_row + 0.044715 * a_cubed)", "a_row"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
    ("wrong constant", "0.7978845608028654", "0.79788"),
]
KL_MUTANTS: list[Mutant] = [
    ("dropped term", "(tl.log(tl.maximum(y_true, eps)) - y)", "(tl.log(tl.maximum(y_true, eps)))"),
    ("wrong constant", "tl.maximum(y_true, eps)", "tl.maximum(y_true, 1e-3)"),
    ("mask off by one", "mask = offsets < n_cols\n", "mask = offsets < n_cols - 1\n"),
    ("added eps", "tl.maximum(y_true, eps)", "(y_true + 1e-7)"),
]
GROUP_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(variance + eps.to(tl.float32))", "rsqrt(variance)"),
    ("dropped term", "- (m * m)", ""),
    ("off by one", "squared_sum / hidden_size", "squared_sum / (hidden_size - 1)"),
    ("mask off by one", "mask = hidden_size_offsets < hidden_size\n", "mask = hidden_size_offsets < hidden_size - 1\n"),
]  # fmt: skip
DYT_MUTANTS: list[Mutant] = [
    ("dropped term", "        y += beta\n", "        y += 0\n"),
    ("mask off by one", "mask = col < N\n", "mask = col < N - 1\n"),
    ("16 bits", "tanh(alpha * x)", "tanh((alpha * x).to(tl.float16).to(tl.float32))"),
]
RELU_MUTANTS: list[Mutant] = [
    ("dropped term", "relu_x * relu_x", "relu_x * x_row + 0.0001"),
    ("mask off by one", "mask = col_offsets < n_cols\n", "mask = col_offsets < n_cols - 1\n"),
]
POLY_MUTANTS: list[Mutant] = [
    ("eps forgotten", "rsqrt(mean_square_2 + eps)", "rsqrt(mean_square_2)"),
    ("eps forgotten", "rsqrt(mean_square_3 + eps)", "rsqrt(mean_square_3)"),
    ("dropped term", " + w2 * norm_x1 + b", " + w2 * norm_x1"),
    ("wrong term", "w1 * norm_x2", "w1 * norm_x1"),
]
MATMUL_MUTANTS: list[Mutant] = [
    ("sum in 16 bits", "dtype=tl.float32)\n    for start in range(0, inner", "dtype=tl.float16)\n    for start in range(0, inner"),
    ("mask off by one", "(k[None, :] < inner)", "(k[None, :] < inner - 1)"),
    ("tf32", "input_precision=PRECISION", 'input_precision="tf32"'),
    ("dropped term", "range(0, inner, BLOCK)", "range(BLOCK, inner, BLOCK)"),
    ("16 bits", "input_precision=PRECISION)", "input_precision=PRECISION).to(tl.float16).to(tl.float32)"),
]  # fmt: skip
ATTENTION_MUTANTS: list[Mutant] = [
    ("mask off by one", "columns[None, :] < length", "columns[None, :] < length - 1"),
    ("dropped term", "total = total * kept + ", "total = total + "),
    ("wrong fill", "scores, -float(\"inf\"))", "scores, -10.0)"),
    ("sum in 16 bits", "[BLOCK, DEPTH], dtype=tl.float32", "[BLOCK, DEPTH], dtype=tl.float16"),
    ("16 bits", "powers = tl.exp(scores - now[:, None])", "powers = tl.exp((scores - now[:, None]).to(tl.float16).to(tl.float32))"),
]  # fmt: skip
ADD_MUTANTS: list[Mutant] = [("mask off by one", "mask = lanes < n\n", "mask = lanes < n - 1\n")]
TUTORIAL_SOFTMAX_MUTANTS: list[Mutant] = [
    ("mask off by one", "mask = lanes < columns\n    given", "mask = lanes < columns - 1\n    given"),
    ("wrong fill", 'other=-float("inf")).to', "other=-8.0).to"),
    ("16 bits", "tl.sum(powers, axis=0)", "tl.sum(powers, axis=0).to(tl.float16).to(tl.float32)"),
]
TUTORIAL_LAYER_MUTANTS: list[Mutant] = [
    ("eps forgotten", "/ columns + eps)", "/ columns)"),
    ("dropped term", "tl.where(lanes < columns, given - center, 0.0)", "given - center"),
    ("off by one", "tl.sum(squares, axis=0) / columns", "tl.sum(squares, axis=0) / (columns - 1)"),
    ("sum in 16 bits", "squares = tl.zeros([BLOCK], dtype=tl.float32)", "squares = tl.zeros([BLOCK], dtype=tl.float16)"),
]  # fmt: skip


def both(
    name: str, file: Path, tolerances: dict[torch.dtype, tuple[float, float]], *rest: Any, **more: Any
) -> list[Case]:
    return [
        Case(f"{name} {str(dtype)[6:]}", file, dtype, atol, rtol, *rest, **more)
        for dtype, (atol, rtol) in tolerances.items()
    ]


F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
ROWS, COLUMNS = 6, 431


def cases() -> list[Case]:
    """All cases, with the tolerances of their tests."""
    x, w = normal(ROWS, COLUMNS), normal(COLUMNS)
    functional = torch.nn.functional
    found = [
        *both("liger rms_norm", liger("rms_norm"), {F32: (1e-4, 1e-7), BF16: (5.0, 1e-5)},
              drawn(x, w),
              lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False), rms,
              RMS_MUTANTS),
        *both("liger rms_norm gemma", liger("rms_norm"), {F32: (1e-4, 1e-7), BF16: (5.0, 1e-5)},
              drawn(x, w),
              lambda m, x, w: m.LigerRMSNormFunction.apply(x, w, 1e-6, 1.0, "gemma", False),
              lambda x, w: rms(x, w, 1.0), RMS_MUTANTS[:2]),
        *both("liger layer_norm", liger("layer_norm"), {F32: (1e-5, 1e-5)}, drawn(x, w, w),
              lambda m, x, w, b: m.LigerLayerNormFunction.apply(x, w, b, 1e-6), layer,
              LAYER_MUTANTS),
        *both("liger softmax", liger("softmax"), {F32: (1e-5, 1e-5), BF16: (5e-2, 5e-2)}, drawn(x),
              lambda m, x: m.LigerSoftmaxFunction.apply(x), lambda x: torch.softmax(x, -1),
              SOFTMAX_MUTANTS),
        *both("liger swiglu", liger("swiglu"), {F32: (1.0, 1e-5), BF16: (1e4, 1e-2)}, drawn(x, x),
              lambda m, a, b: m.LigerSiLUMulFunction.apply(a, b),
              lambda a, b: functional.silu(a) * b, SWIGLU_MUTANTS),
        *both("liger geglu", liger("geglu"), {F32: (1e-5, 1e-5), BF16: (1e-2, 1e-2)}, drawn(x, x),
              lambda m, a, b: m.LigerGELUMulFunction.apply(a, b),
              lambda a, b: functional.gelu(a, approximate="tanh") * b, GEGLU_MUTANTS),
        *both("liger kl_div", liger("kl_div"), {F32: (1e-8, 1e-6), BF16: (1e-8, 5e-2)},
              drawn(lambda d: torch.randn(ROWS, COLUMNS).log_softmax(-1).to(d),
                    lambda d: torch.randn(ROWS, COLUMNS).softmax(-1)),
              lambda m, y, t: m.LigerKLDivLossFunction.apply(y, t, "none"),
              lambda y, t: t * (torch.log(t) - y), KL_MUTANTS),
        *both("liger group_norm", liger("group_norm"), {F32: (1e-5, 1e-5)},
              drawn(normal(2, 6, 40), normal(6), normal(6)),
              lambda m, x, w, b: m.LigerGroupNormFunction.apply(x, w, b, 6, 2, 1e-6),
              lambda x, w, b: functional.group_norm(x, 2, w, b, 1e-6), GROUP_MUTANTS),
        *both("liger dyt", liger("dyt"), {F32: (1e-5, 1e-5), BF16: (1e-8, 5e-2)},
              drawn(x, normal(1), w, w),
              lambda m, x, a, g, b: m.LigerDyTFunction.apply(x, a, g, b),
              lambda x, a, g, b: g * torch.tanh(a * x) + b, DYT_MUTANTS),
        *both("liger relu_squared", liger("relu_squared"), {F32: (1e-5, 1e-5), BF16: (0.1, 5e-2)},
              drawn(x), lambda m, x: m.LigerReLUSquaredFunction.apply(x),
              lambda x: torch.relu(x) ** 2, RELU_MUTANTS),
        *both("liger fused_add_rms_norm", liger("fused_add_rms_norm"),
              {F32: (1e-4, 1e-6), BF16: (0.2, 2e-2)}, drawn(x, x, w),
              lambda m, x, r, w: m.LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6)[0],
              lambda x, r, w: rms(x + r, w),
              [(kind, old.replace("X_row", "S_row"), new.replace("X_row", "S_row"))
               for kind, old, new in RMS_MUTANTS]),
        *both("liger poly_norm", liger("poly_norm"), {F32: (1e-4, 1e-6), BF16: (0.2, 2e-2)},
              drawn(x, lambda d: torch.tensor([0.3, 0.4, 0.3]).to(d),
                    lambda d: torch.tensor(0.1).to(d)),
              lambda m, x, w, b: m.LigerPolyNormFunction.apply(x, w, b, 1e-6),
              lambda x, w, b: (w[0] * rms(x**3, 1) + w[1] * rms(x**2, 1) + w[2] * rms(x, 1) + b),
              POLY_MUTANTS),
        *both("tutorial vector add", OURS, {F32: (1e-8, 1e-5), F16: (1e-8, 1e-5)},
              drawn(normal(1000), normal(1000)), ours_add, lambda x, y: x + y, ADD_MUTANTS),
        *both("tutorial softmax", OURS, {F32: (1e-8, 1e-5)}, drawn(x), ours_softmax,
              lambda x: torch.softmax(x, -1), TUTORIAL_SOFTMAX_MUTANTS),
        *both("tutorial layer norm", OURS, {F16: (1e-2, 0.0)}, drawn(x, w, w), ours_layer_norm,
              layer, TUTORIAL_LAYER_MUTANTS),
        *both("tutorial matmul", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(normal(50, 200), normal(200, 40)),
              lambda m, a, b: matmul(m, a, b, "ieee"), lambda a, b: a @ b, MATMUL_MUTANTS,
              granted=Granted(tf32=False)),
        *both("tutorial attention", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(*[normal(80, 32)] * 3), attention, attended, ATTENTION_MUTANTS,
              granted=Granted(tf32=False)),
    ]  # fmt: skip
    return found


# -- running --------------------------------------------------------------------------------------

_numbers = itertools.count()


def loaded(file: Path, folder: Path, mutant: Mutant | None = None) -> Any:
    """Import a file of kernels, as it is or with a mutant's change in its first kernel that fits."""
    text = file.read_text(encoding="utf-8")
    if mutant is not None:
        _, old, new = mutant
        assert old in text, f"{file.name} has no {old!r}"
        text = text.replace(old, new, 1)
    name = f"{file.stem}_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Ran:
    """One run of a case: its output, what should be, and the launch that wrote it."""

    actual: np.ndarray
    wanted: np.ndarray
    launch: Launched
    name: str


def run(case: Case, module: Any, seed: int) -> Ran:
    """Run a case on inputs of a seed."""
    torch.manual_seed(seed)
    given = case.given(case.dtype)
    wide = [each.double() if isinstance(each, torch.Tensor) else each for each in given]
    wanted = case.reference(*wide).numpy()
    with seen() as launches:
        out = case.call(module, *given)
    start = out.untyped_storage().data_ptr()
    for launch in reversed(launches):
        for argument in launch.before():
            storage = getattr(argument, "storage", None)
            if storage is not None and storage.address == start:
                return Ran(out.detach().double().numpy(), wanted, launch, argument.name)
    raise AssertionError(f"{case.name}: no launch writes the output")


def derived_for(case: Case, ran: Ran) -> tuple[Tolerance, Output]:
    derived = derive(ran.launch, granted=case.granted)
    derived = with_reference(derived, {ran.name: ran.wanted})
    return derived, derived[ran.name]


def by_hand(case: Case, actual: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether the test's own tolerance lets a result pass."""
    return bool(np.allclose(actual, wanted, atol=case.atol, rtol=case.rtol, equal_nan=True))


def in_another_order(ran: Ran, output: Output) -> np.ndarray:
    """What the launch gives with sums in the fixed order."""
    from kvtrace.addons.tolerance.deriving import _viewed
    from kvtrace.evaluate.rounding import from_memory

    arguments = ran.launch.before()
    with in_fixed_order():
        evaluate(
            ran.launch.module, arguments, ran.launch.grid, kernel=ran.launch.kernel, planned=False
        )
    tensor = next(each for each in arguments if each.name == ran.name)
    held = tensor.storage.data.view(tensor.element.memory)
    return _viewed(from_memory(held, tensor.element), tensor, 0).astype(np.float64)


def judge_right(case: Case, module: Any, seeds: int) -> dict[str, Any]:
    """Compare the right kernel, seed by seed."""
    failures: Counter[str] = Counter()
    factors, nearest = [], 0.0
    for seed in range(seeds):
        ran = run(case, module, seed)
        derived, output = derived_for(case, ran)
        runs = {
            "plan": ran.actual,
            "fixed order": in_another_order(ran, output),
        }
        if not by_hand(case, ran.actual, ran.wanted):
            failures["by hand"] += 1
        radius = output.radius()
        for order, values in runs.items():
            found = compared(values, derived, output, "probable")
            if found is not None:
                failures[f"derived, {order}"] += 1
                print(f"  {case.name}, seed {seed}, {order}: {found}", file=sys.stderr)
            away = np.abs(values.reshape(radius.shape) - output.expected)
            share = np.where(radius > 0, away / np.where(radius > 0, radius, 1), 0.0)
            nearest = max(nearest, float(share[np.isfinite(share)].max(initial=0.0)))
        hand = case.atol + case.rtol * np.abs(output.expected)
        known = np.isfinite(radius) & (radius > 0)
        factors.append(float(np.median(hand[known] / radius[known])) if known.any() else np.inf)
    return {
        "looser": float(np.median(factors)), "nearest": nearest, "failures": dict(failures),
        "undecided": output.undecided, "worst": output.as_rtol("worst") / output.as_rtol(),
    }  # fmt: skip


def judge_mutant(case: Case, module: Any, seeds: int) -> dict[str, bool]:
    """Say who notices a mutant, in any seed."""
    noticed = {"hand": False, "derived": False, "radius": False, "unknown": False}
    for seed in range(seeds):
        ran = run(case, module, seed)
        noticed["hand"] |= not by_hand(case, ran.actual, ran.wanted)
        try:
            derived, output = derived_for(case, ran)
            whole = compared(ran.actual, derived, output, "probable")
            alone = compared(ran.actual, derived, output, "probable", meaning=False)
        except (KvtraceError, NotClose):
            noticed["unknown"] = True
            continue
        noticed["derived"] |= whole is not None
        noticed["radius"] |= alone is not None
    return noticed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each right kernel")
    parser.add_argument("--mutant-seeds", type=int, default=1, help="of each mutant")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--json", type=Path, help="write all figures there, too")
    asked = parser.parse_args()
    begun = time.perf_counter()
    right, mutants = {}, []
    recording = kvtrace.current() if hasattr(kvtrace, "current") else None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        around = kvtrace.capture(
            folder / "trace", target=TARGET, compile="ttir", tensors="none", source="off"
        )
        with nullcontext() if recording else around:
            for case in cases():
                if asked.only not in case.name:
                    continue
                found = right[case.name] = judge_right(case, loaded(case.file, folder), asked.seeds)
                print(
                    f"{case.name:36} by hand {case.atol:7.0e} + {case.rtol:.0e}|x|: looser by "
                    f"{found['looser']:9.3g}, nearest {found['nearest']:5.3f}, "
                    f"failures {found['failures'] or 0}", flush=True,
                )  # fmt: skip
                for mutant in case.mutants:
                    try:
                        module = loaded(case.file, folder, mutant)
                        noticed = judge_mutant(case, module, asked.mutant_seeds)
                    except Exception as error:  # noqa: BLE001 - a mutant that does not compile
                        print(f"    {mutant[0]}: {type(error).__name__} {error}"[:160])
                        continue
                    mutants.append({"case": case.name, "kind": mutant[0], **noticed})
                    who = ", ".join(name for name, seen_ in noticed.items() if seen_)
                    print(f"    {mutant[0]:18} noticed by: {who or 'nobody'}", flush=True)
    tell(right, mutants, time.perf_counter() - begun)
    if asked.json:
        asked.json.write_text(json.dumps({"right": right, "mutants": mutants}, indent=1))


def tell(right: dict[str, Any], mutants: list[dict[str, Any]], seconds: float) -> None:
    """Print the sums."""
    tighter = sum(found["looser"] > 1 for found in right.values())
    failing = sum(any(k.startswith("derived") for k in f["failures"]) for f in right.values())
    print(f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
          f"torch {torch.__version__}, Triton {triton.__version__}; {seconds:.0f} s")
    print(f"{len(right)} cases: derived tighter in {tighter}; right kernels that fail: {failing}")
    total = len(mutants)
    for who in ("hand", "radius", "derived", "unknown"):
        print(f"mutants noticed by {who}: {sum(m[who] for m in mutants)} of {total}")
    for kind in dict.fromkeys(m["kind"] for m in mutants):
        of = [m for m in mutants if m["kind"] == kind]
        print(f"  {kind:18} {len(of):3}: hand {sum(m['hand'] for m in of):3}, "
              f"derived {sum(m['derived'] for m in of):3}")  # fmt: skip


if __name__ == "__main__":
    main()
