"""Cases of conversions, and of numbers beyond what a type or an operator defines."""

import math
from collections.abc import Iterator

import numpy as np

from corpus.kernels import elementwise
from tests.kernels.case import (
    DTYPES,
    INTEGERS,
    NARROW,
    NUMPY,
    UNSIGNED,
    Case,
    floats,
    integers,
    is_float,
    numbers,
    random_of,
    rounded,
)
from tests.kernels.cases_elementwise import N


def converted(x: np.ndarray, source: str, target: str) -> np.ndarray:
    """The result of `x.to(target)`, for values that the target can hold."""
    if target == "i1":
        return x != 0
    if source == "i1":
        return x.astype(NUMPY[target])
    with np.errstate(all="ignore"):
        if is_float(source) and is_float(target):
            return rounded(x.astype(np.float64), target)
        if is_float(target):
            return rounded(x.astype(np.float32) if target != "fp64" else x, target)
        if is_float(source):
            return np.trunc(x.astype(np.float64)).astype(NUMPY[target])
        return x.astype(NUMPY[target])


def _in_range(rng: np.random.Generator, source: str, target: str) -> np.ndarray:
    if not is_float(source):
        return numbers(rng, source, N)
    if is_float(target):
        x = numbers(rng, source, N)
        x[N // 2 :] = floats(rng, source, N - N // 2, -70000, 70000)
        return x
    top = 30.0 if target in ("i8", "u8") or source in NARROW else 30000.0
    return floats(rng, source, N, 0 if target in UNSIGNED else -top, top)


def conversion_cases() -> Iterator[Case]:
    for source in DTYPES:
        for target in DTYPES:
            if source == target or {source, target} <= {*NARROW, "i1"}:
                continue
            if source in NARROW and not is_float(target):
                continue
            if target in NARROW and not is_float(source):
                continue
            if {source, target} & set(NARROW) and "fp64" in (source, target):
                continue  # Triton has TTIR for it, but cannot compile it for Hopper
            x = _in_range(random_of("to", source, target), source, target)
            if (source, target) == ("fp8e5", "bf16"):
                x = np.where(np.isfinite(x), x, x.dtype.type(1))
            yield Case(
                "to", source, elementwise.converted, {"x": x, "out": np.zeros(N, NUMPY[target])},
                ("out",),
                lambda given, s=source, t=target: {"out": converted(given["x"], s, t)},
                {"ROUNDING": "", "N": N}, variant=target,
            )  # fmt: skip
    for target in ("fp16", "bf16"):
        x = _in_range(random_of("rtz", target), "fp32", target)
        yield Case(
            "to", "fp32", elementwise.converted, {"x": x, "out": np.zeros(N, NUMPY[target])},
            ("out",), lambda given, t=target: {"out": _toward_zero(given["x"], t)},
            {"ROUNDING": "rtz", "N": N}, variant=f"{target}, toward zero",
        )  # fmt: skip


def _toward_zero(x: np.ndarray, target: str) -> np.ndarray:
    near = rounded(x.astype(np.float64), target)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
    bits = near.view(np.uint16)
    return np.where(beyond, bits - np.uint16(1), bits).astype(np.uint16).view(near.dtype)


SHIFTED = (
    "Triton converts fp8e5 to bf16 for NVIDIA by shifting bits and multiplying by 2**112, which "
    "makes infinity 65536 and NaN a number from 81920 on"
)


def narrow_cases() -> Iterator[Case]:
    """8-bit floats from every pattern of 16 bits, and back from every pattern of 8 bits."""
    for target in NARROW:
        for source in ("fp16", "bf16"):
            x = np.arange(1 << 16, dtype=np.uint16).view(NUMPY[source])
            yield Case(
                "to", source, elementwise.converted,
                {"x": x, "out": np.zeros(len(x), NUMPY[target])}, ("out",),
                lambda given, t=target: {"out": rounded(given["x"].astype(np.float64), t)},
                {"ROUNDING": "", "N": 1024}, (64,), variant=f"{target}, all patterns",
            )  # fmt: skip
        for result in ("fp16", "bf16", "fp32"):
            x = np.arange(1 << 8, dtype=np.uint8).view(NUMPY[target])
            parts = [(x, "all patterns", "")]
            if (target, result) == ("fp8e5", "bf16"):
                odd = ~np.isfinite(x)
                parts = [
                    (np.where(odd, x.dtype.type(0), x), "all finite patterns", ""),
                    (np.resize(x[odd], 256), "infinity and NaN", SHIFTED),
                ]
            for part, which, differs in parts:
                yield Case(
                    "to", target, elementwise.converted,
                    {"x": part, "out": np.zeros(len(part), NUMPY[result])}, ("out",),
                    lambda given, r=result: {
                        "out": given["x"].astype(np.float32).astype(NUMPY[r])
                    },
                    {"ROUNDING": "", "N": 256}, variant=f"{result}, {which}", differs=differs,
                )  # fmt: skip
    for target in ("fp16", "bf16", *NARROW):
        bits = random_of("patterns", target).integers(0, 1 << 32, 1 << 16, np.uint32)
        x = bits.view(np.float32)
        yield Case(
            "to", "fp32", elementwise.converted, {"x": x, "out": np.zeros(1 << 16, NUMPY[target])},
            ("out",), lambda given, t=target: {"out": rounded(given["x"], t)},
            {"ROUNDING": "", "N": 1024}, (64,), variant=f"{target}, random patterns",
        )  # fmt: skip


def out_of_range_cases() -> Iterator[Case]:
    """Yield cases that Triton leaves undefined: the evaluator saturates as PTX's cvt, and clamps.

    To 8 bits, cvt gives 16, of which the low bits are stored.
    """
    for source in ("fp32", "fp64"):
        for target in ("i8", "i32", "i64", "u8", "u32", "u64"):
            values = [1e30, -1e30, math.inf, -math.inf, math.nan, -1.0, 300.0, 5e9]
            x = np.array(values * 2, NUMPY[source])
            given_by_device = target.replace("8", "16")
            yield Case(
                "to", source, elementwise.converted, {"x": x, "out": np.zeros(16, NUMPY[target])},
                ("out",),
                lambda given, d=given_by_device, t=target: {
                    "out": _saturated(given["x"], d).astype(NUMPY[t])
                },
                {"ROUNDING": "", "N": 16}, variant=f"{target}, out of range",
                undefined="a float that the integer type cannot hold",
            )  # fmt: skip
    for dtype in INTEGERS:
        a = integers(random_of("beyond", dtype), dtype, N)
        bits = a.dtype.itemsize * 8
        b = random_of("beyond", dtype, 2).integers(bits, 127, N).astype(a.dtype)
        for op in ("<<", ">>"):
            yield Case(
                op, dtype, elementwise.operator, {"x": a, "y": b, "out": np.zeros_like(a)},
                ("out",), lambda given, op=op: {"out": _shifted_out(given["x"], op)},
                {"OP": op, "N": N}, variant="by the width or more",
                undefined="a shift by the width or more",
            )  # fmt: skip
        zero = np.zeros_like(a)
        for op in ("//", "%"):
            yield Case(
                op, dtype, elementwise.operator, {"x": a, "y": zero, "out": np.zeros_like(a)},
                ("out",), lambda given, op=op: {"out": given["x"] * (op == "%")},
                {"OP": op, "N": N}, variant="by zero", undefined="an integer division by zero",
            )  # fmt: skip


def _saturated(x: np.ndarray, target: str) -> np.ndarray:
    info = np.iinfo(NUMPY[target])
    values = [
        0 if math.isnan(v) else info.max if v > info.max else info.min if v < info.min else int(v)
        for v in x.tolist()
    ]
    return np.array(values, NUMPY[target])


def _shifted_out(x: np.ndarray, op: str) -> np.ndarray:
    signs = np.where(x < 0, -1, 0).astype(x.dtype) if x.dtype.kind == "i" else np.zeros_like(x)
    return signs if op == ">>" else np.zeros_like(x)


def bitcast_cases() -> Iterator[Case]:
    groups = (("i8", "u8", *NARROW), ("i16", "u16", "fp16", "bf16"), ("i32", "u32", "fp32"),
              ("i64", "u64", "fp64"))  # fmt: skip
    for group in groups:
        for source in group:
            for target in group:
                if source == target:
                    continue
                x = numbers(random_of("bitcast", source, target), "i8", N * 8)
                x = x.view(NUMPY[source])[:N].copy()
                yield Case(
                    "to, bitcast", source, elementwise.recast,
                    {"x": x, "out": np.zeros(N, NUMPY[target])}, ("out",),
                    lambda given, t=target: {"out": given["x"].view(NUMPY[t])},
                    {"N": N}, variant=target,
                )  # fmt: skip


def cases() -> Iterator[Case]:
    yield from conversion_cases()
    yield from narrow_cases()
    yield from out_of_range_cases()
    yield from bitcast_cases()
