"""Derived tolerances beside those that tests were given by hand: kernels that are right, mutants.

    python benchmarks/tolerances.py --seeds 20

For kernels of Liger, and of the operations in Triton's tutorials, with the tolerances of their
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
from tolerance_mutants import (
    ADD_MUTANTS,
    ATTENTION_MUTANTS,
    DYT_MUTANTS,
    GEGLU_MUTANTS,
    GROUP_MUTANTS,
    KL_MUTANTS,
    LAYER_MUTANTS,
    MATMUL_MUTANTS,
    POLY_MUTANTS,
    RELU_MUTANTS,
    RMS_MUTANTS,
    SOFTMAX_MUTANTS,
    SWIGLU_MUTANTS,
    TUTORIAL_LAYER_MUTANTS,
    TUTORIAL_SOFTMAX_MUTANTS,
    Mutant,
)

import kvtrace
from kvtrace.addons.tolerance.closeness import NotClose, compared
from kvtrace.addons.tolerance.deriving import Output, Tolerance, derive, with_reference
from kvtrace.addons.tolerance.launches import TARGET, Launched, seen
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.fixed_order import in_fixed_order
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.deviation.roundings import Granted
from kvtrace.schema.errors import KvtraceError

OURS = Path(__file__).with_name("tolerance_kernels.py")


def liger(name: str) -> Path:
    """A file of Liger's kernels."""
    found = importlib.util.find_spec("liger_kernel")
    if found is None or found.origin is None:
        raise SystemExit("the benchmark needs the package liger-kernel")
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
    granted: Granted = field(default_factory=lambda: Granted(tf32=False, narrow=False))


def normal(*shape: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: torch.randn(*shape).to(dtype)


def uniform(*shape: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: (torch.rand(*shape) - 0.5).to(dtype)


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


def both(
    name: str,
    file: Path,
    tolerances: dict[torch.dtype, tuple[float, float]],
    *rest: Any,
    **more: Any,
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
    return [
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
                    lambda _: torch.randn(ROWS, COLUMNS).softmax(-1)),
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
              [tuple(each.replace("X_row", "S_row") for each in mutant)
               for mutant in RMS_MUTANTS]),
        *both("liger poly_norm", liger("poly_norm"), {F32: (1e-4, 1e-6), BF16: (0.2, 2e-2)},
              drawn(x, lambda d: torch.tensor([0.3, 0.4, 0.3]).to(d),
                    lambda d: torch.tensor(0.1).to(d)),
              lambda m, x, w, b: m.LigerPolyNormFunction.apply(x, w, b, 1e-6),
              lambda x, w, b: (w[0] * rms(x**3, 1) + w[1] * rms(x**2, 1) + w[2] * rms(x, 1) + b),
              POLY_MUTANTS, granted=Granted(tf32=False)),  # in bfloat16 it sums in bfloat16
        *both("tutorial vector add", OURS, {F32: (1e-8, 1e-5)},
              drawn(normal(1000), normal(1000)), ours_add, lambda x, y: x + y, ADD_MUTANTS),
        *both("tutorial softmax", OURS, {F32: (1e-8, 1e-5)}, drawn(x), ours_softmax,
              lambda x: torch.softmax(x, -1), TUTORIAL_SOFTMAX_MUTANTS),
        *both("tutorial layer norm", OURS, {F16: (1e-2, 0.0)}, drawn(x, w, w), ours_layer_norm,
              layer, TUTORIAL_LAYER_MUTANTS),
        *both("tutorial matmul", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(uniform(50, 200), uniform(200, 40)),
              lambda m, a, b: matmul(m, a, b, "ieee"), lambda a, b: a @ b, MATMUL_MUTANTS),
        *both("tutorial attention", OURS, {F16: (1e-2, 0.0), F32: (1e-2, 0.0)},
              drawn(*[lambda d: 0.5 * torch.randn(80, 32).to(d)] * 3), attention, attended,
              ATTENTION_MUTANTS),
    ]  # fmt: skip


# -- running --------------------------------------------------------------------------------------

_numbers = itertools.count()


def loaded(file: Path, folder: Path, mutant: Mutant | None = None) -> Any:
    """Import a file of kernels, as it is or with a mutant's changes where they first fit."""
    text = file.read_text(encoding="utf-8")
    if mutant is not None:
        for old, new in zip(mutant[1::2], mutant[2::2], strict=True):
            assert old in text, f"{file.name} has no {old!r}"
            text = text.replace(old, new, 1)
    name = f"{file.stem}_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
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


def in_another_order(ran: Ran) -> np.ndarray:
    """What the launch gives with sums in the fixed order."""
    arguments = ran.launch.before()
    with in_fixed_order():
        evaluate(
            ran.launch.module, arguments, ran.launch.grid, kernel=ran.launch.kernel, planned=False
        )
    tensor = next(each for each in arguments if each.name == ran.name)
    assert isinstance(tensor, TensorArgument)
    assert tensor.storage.data is not None
    held = from_memory(tensor.storage.data.view(tensor.element.memory), tensor.element)
    return np.array(held[: ran.actual.size].reshape(ran.actual.shape), np.float64)


def in_torch(case: Case, seed: int) -> np.ndarray:
    """What torch gives in float32 by the reference's formula: sums in torch's orders."""
    torch.manual_seed(seed)
    return case.reference(*case.given(case.dtype)).double().numpy()


def judge_right(case: Case, module: Any, seeds: int) -> dict[str, Any]:
    """Compare the right kernel, seed by seed."""
    failures: Counter[str] = Counter()
    factors, nearest = [], 0.0
    for seed in range(seeds):
        ran = run(case, module, seed)
        derived, output = derived_for(case, ran)
        runs = {"plan": ran.actual, "fixed order": in_another_order(ran)}
        if case.dtype == F32:
            runs["torch"] = in_torch(case, seed)
        if not by_hand(case, ran.actual, ran.wanted):
            failures["by hand"] += 1
        radius = output.radius()
        for order, values in runs.items():
            found = compared(values, derived, output, "probable") or "; ".join(derived.refused)
            if found:  # torch computes in other ways, which may lose more than the kernel's
                failures["torch" if order == "torch" else f"derived, {order}"] += 1
                print(f"  {case.name}, seed {seed}, {order}: {found}", file=sys.stderr)
            away = np.abs(values.reshape(radius.shape) - output.expected)
            share = np.where(radius > 0, away / np.where(radius > 0, radius, 1), 0.0)
            if order != "torch":
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
    noticed = dict.fromkeys(("hand", "radius", "meaning", "refused", "derived", "unknown"), False)
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
        noticed["radius"] |= alone is not None
        noticed["meaning"] |= whole is not None and whole.cause == "meaning"
        noticed["refused"] |= bool(derived.refused)
        noticed["derived"] |= whole is not None or bool(derived.refused)
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
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        around = kvtrace.capture(
            folder / "trace", target=TARGET, compile="ttir", tensors="none", source="off"
        )
        with around:
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
                    if mutant[0] == "tf32" and case.dtype != F32:
                        continue  # which changes nothing
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
    print(
        f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"torch {torch.__version__}, Triton {triton.__version__}; {seconds:.0f} s"
    )
    print(f"{len(right)} cases: derived tighter in {tighter}; right kernels that fail: {failing}")
    beyond = sum(found["failures"].get("torch", 0) for found in right.values())
    print(f"results of torch in float32, by its own formulas, beyond the kernels' bounds: {beyond}")
    total = len(mutants)
    for who in ("hand", "radius", "meaning", "refused", "derived", "unknown"):
        print(f"mutants noticed by {who}: {sum(m[who] for m in mutants)} of {total}")
    for kind in dict.fromkeys(m["kind"] for m in mutants):
        of = [m for m in mutants if m["kind"] == kind]
        print(f"  {kind:18} {len(of):3}: hand {sum(m['hand'] for m in of):3}, "
              f"derived {sum(m['derived'] for m in of):3}")  # fmt: skip


if __name__ == "__main__":
    main()
