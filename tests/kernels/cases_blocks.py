"""Cases of reductions, scans, orders, shapes and products."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corpus.kernels import blocks
from tests.kernels.case import (
    EXACT,
    FLOATS,
    INTEGERS,
    MANTISSA,
    NARROW,
    NUMPY,
    SIGNED,
    Bound,
    Case,
    floats,
    integers,
    is_float,
    numbers,
    random_of,
    rounded,
)

SHAPES = ((8, 32), (1, 64), (16, 1), (4, 4))
PROGRAMS = 2


def few(rng: np.random.Generator, dtype: str, size: Any) -> np.ndarray:
    """Small whole numbers, of which every type holds sums exactly."""
    low = 0 if dtype.startswith("u") else -4
    return rng.integers(low, 5, size).astype(NUMPY[dtype])


def _reference(name: str, x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64 if is_float_array(x) else object)
    if name == "sum":
        return wide.sum(axis)
    if name in ("argmax", "argmin"):
        return getattr(np, name)(wide.astype(np.float64), axis).astype(np.int32)
    if name == "xor_sum":
        return np.bitwise_xor.reduce(x, axis)
    if name == "reduce_or":
        return np.bitwise_or.reduce(x, axis)
    return getattr(np, name)(x.astype(np.float64) if is_float_array(x) else x, axis)


def is_float_array(x: np.ndarray) -> bool:
    return x.dtype.kind not in "iub"


REDUCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sum", (*FLOATS, *INTEGERS)),
    ("max", (*FLOATS, *INTEGERS)),
    ("min", (*FLOATS, *INTEGERS)),
    ("argmax", (*FLOATS, *INTEGERS)),
    ("argmin", (*FLOATS, *INTEGERS)),
    ("xor_sum", INTEGERS),
    ("reduce_or", INTEGERS),
)


def _summed_type(dtype: str) -> str:
    """Triton sums integers of fewer than 32 bits in 32 bits."""
    if is_float(dtype) or NUMPY[dtype].itemsize >= 4:
        return dtype
    return "i32" if dtype in SIGNED else "u32"


def reduction_cases() -> Iterator[Case]:
    for name, dtypes in REDUCTIONS:
        for dtype in dtypes:
            for axis in (0, 1):
                for m, n in SHAPES if dtype in ("fp32", "i32") else SHAPES[:1]:
                    yield _reduction(name, dtype, axis, m, n)


def _reduction(name: str, dtype: str, axis: int, m: int, n: int) -> Case:
    rng = random_of(name, dtype, m, n)
    size = (PROGRAMS, m, n)
    x = few(rng, dtype, size) if name == "sum" else numbers(rng, dtype, size[0] * m * n)
    if name in ("argmax", "argmin"):
        x = few(rng, dtype, size)
    x = x.reshape(size)
    if is_float(dtype):
        x = np.where(np.isnan(x), np.zeros_like(x), x)
    target = {"sum": _summed_type(dtype), "argmax": "i32", "argmin": "i32"}.get(name, dtype)
    out = np.zeros((PROGRAMS, n if axis == 0 else m), NUMPY[target])
    return Case(
        name, dtype, blocks.reduced, {"x": x, "out": out}, ("out",),
        lambda given: {"out": _reference(name, given["x"], axis + 1).astype(NUMPY[target])},
        {"NAME": name, "AXIS": axis, "M": m, "N": n}, (PROGRAMS,),
        variant=f"axis {axis} of {m}x{n}",
    )  # fmt: skip


def sum_bound(dtype: str, terms: int) -> Bound:
    """Sums in another order: each of log2(n) to n roundings counts for the largest sum."""
    bits = 23 if dtype in ("fp16", "bf16") else MANTISSA[dtype]
    return Bound(1, terms * 2.0 ** -(bits + 1), why=f"{terms} terms summed in another order")


def long_sum_cases() -> Iterator[Case]:
    """Sums of fractions, whose last bits depend on their order."""
    for dtype in FLOATS:
        n = 1024
        x = floats(random_of("long sum", dtype), dtype, (4, n), 0, 1)
        yield Case(
            "sum", dtype, blocks.reduced_to_one,
            {"x": x, "out": np.zeros(4, NUMPY[dtype])}, ("out",),
            lambda given, d=dtype: {"out": rounded(given["x"].astype(np.float64).sum(1), d)},
            {"NAME": "sum", "N": n}, (4,), bound=sum_bound(dtype, n),
            device=_device_sum(dtype, n), variant=f"{n} fractions",
        )  # fmt: skip
        y = floats(random_of("product", dtype), dtype, (4, 64), 0.8, 1.25)
        yield Case(
            "reduce", dtype, blocks.product_of_all,
            {"x": y, "out": np.zeros(4, NUMPY[dtype])}, ("out",),
            lambda given, d=dtype: {"out": rounded(given["x"].astype(np.float64).prod(1), d)},
            {"N": 64}, (4,), bound=Bound(64, why="64 roundings"),
            device=Bound(64, why="64 roundings in another order"), variant="product",
        )  # fmt: skip
        if dtype == "bf16":
            continue  # tl.maximum of bf16 gives fp32, which Triton refuses in a reduction
        z = numbers(random_of("with nan", dtype), dtype, 128).reshape(2, 64)
        z = np.where(np.isnan(z), np.ones_like(z), z)
        z[1, 5] = np.nan
        yield Case(
            "reduce", dtype, blocks.reduced_with_nan,
            {"x": z, "out": np.zeros(2, NUMPY[dtype])}, ("out",),
            lambda given: {"out": given["x"].astype(np.float64).max(1).astype(given["x"].dtype)},
            {"N": 64}, (2,), variant="maximum, NaN kept",
        )  # fmt: skip
        with_nan = np.where(np.arange(64) == 7, np.asarray(np.nan, z.dtype), z[0])[None]
        yield Case(
            "max", dtype, blocks.reduced_to_one,
            {"x": with_nan, "out": np.zeros(1, NUMPY[dtype])}, ("out",),
            lambda given: {"out": np.array(
                [np.nanmax(given["x"].astype(np.float64))], given["x"].dtype)},
            {"NAME": "max", "N": 64}, variant="a number wins over NaN",
        )  # fmt: skip
    for dtype in INTEGERS:
        x = few(random_of("product", dtype), dtype, (4, 64))
        x[x == 0] = 1
        yield Case(
            "reduce", dtype, blocks.product_of_all,
            {"x": x, "out": np.zeros(4, NUMPY[dtype])}, ("out",),
            lambda given: {"out": np.multiply.reduce(given["x"], 1, dtype=given["x"].dtype)},
            {"N": 64}, (4,), variant="product",
        )  # fmt: skip
    for dtype in ("fp32", "fp64"):
        x = floats(random_of("welford", dtype), dtype, (3, 256))
        yield Case(
            "reduce", dtype, blocks.mean_and_variance,
            {"x": x, "mean_out": np.zeros(3, x.dtype), "variance_out": np.zeros(3, x.dtype)},
            ("mean_out", "variance_out"),
            lambda given: {
                "mean_out": given["x"].astype(np.float64).mean(1).astype(given["x"].dtype),
                "variance_out": given["x"].astype(np.float64).var(1).astype(given["x"].dtype),
            },
            {"N": 256}, (3,), bound=sum_bound(dtype, 256), device=sum_bound(dtype, 256),
            variant="three tensors",
        )  # fmt: skip


def _device_sum(dtype: str, terms: int) -> Bound:
    if dtype == "fp16":
        return Bound(16, why="fp16 sums are rounded at each step of a GPU's tree")
    return sum_bound(dtype, terms)


def scan_cases() -> Iterator[Case]:
    for name, dtypes in (
        ("cumsum", (*FLOATS, *INTEGERS)),
        ("cumprod", (*FLOATS, *INTEGERS)),
    ):
        for dtype in dtypes:
            for axis in (0, 1):
                for reverse in (False, True):
                    yield _scan(name, dtype, axis, reverse, (8, 32))
    for m, n in SHAPES[1:]:
        yield _scan("cumsum", "i32", 1, False, (m, n))
        yield _scan("cumsum", "fp32", 0, True, (m, n))
    for kind in ("larger", "last", "segmented"):
        for dtype in (*FLOATS, *INTEGERS):
            if (kind, dtype) == ("larger", "bf16"):
                continue  # the combination gives fp32, which Triton refuses
            for reverse in (False, True):
                yield _general_scan(kind, dtype, reverse)


def _scan(name: str, dtype: str, axis: int, reverse: bool, shape: tuple[int, int]) -> Case:
    rng = random_of(name, dtype, axis)
    x = few(rng, dtype, (PROGRAMS, *shape))
    if name == "cumprod":
        x = rng.choice([1, 1, 2] if dtype.startswith("u") else [1, -1, 1, 2], x.shape)
        x = x.astype(NUMPY[dtype])
    target = _summed_type(dtype) if name == "cumsum" else dtype

    def expected(given: Mapping[str, Any]) -> Mapping[str, Any]:
        block = np.flip(given["x"], axis + 1) if reverse else given["x"]
        wide = block.astype(np.float64 if is_float(dtype) else NUMPY[target])
        function = np.cumsum if name == "cumsum" else np.cumprod
        result = function(wide, axis + 1, dtype=wide.dtype).astype(NUMPY[target])
        return {"out": np.flip(result, axis + 1) if reverse else result}

    return Case(
        name, dtype, blocks.scanned, {"x": x, "out": np.zeros(x.shape, NUMPY[target])}, ("out",),
        expected, {"NAME": name, "AXIS": axis, "REVERSE": reverse, "M": shape[0], "N": shape[1]},
        (PROGRAMS,), variant=f"axis {axis} of {shape[0]}x{shape[1]}" + ", reverse" * reverse,
    )  # fmt: skip


def _general_scan(kind: str, dtype: str, reverse: bool) -> Case:
    rng = random_of(kind, dtype)
    x = few(rng, dtype, (PROGRAMS, 64))
    flags = (rng.random(x.shape) < 0.2).astype(np.int32)

    def one(row: np.ndarray, marks: np.ndarray) -> np.ndarray:
        result = row.copy()
        for i in range(1, len(row)):
            before = result[i - 1]
            if kind == "larger":
                result[i] = max(before, row[i])
            elif kind == "segmented" and not marks[i]:
                result[i] = before + row[i]
        return result

    def expected(given: Mapping[str, Any]) -> Mapping[str, Any]:
        step = -1 if reverse else 1
        rows = [one(r[::step], f[::step])[::step] for r, f in zip(given["x"], flags, strict=True)]
        return {"out": np.stack(rows)}

    return Case(
        "associative_scan", dtype, blocks.scanned_by,
        {"x": x, "flags": flags, "out": np.zeros_like(x)}, ("out",), expected,
        {"KIND": kind, "REVERSE": reverse, "N": 64}, (PROGRAMS,),
        variant=kind + ", reverse" * reverse,
    )  # fmt: skip


def order_cases() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTEGERS):
        rng = random_of("order", dtype)
        x = few(rng, dtype, (4, 32)) if is_float(dtype) else integers(rng, dtype, (4, 32))
        for down in (False, True):
            yield Case(
                "sort", dtype, blocks.ordered, {"x": x, "out": np.zeros_like(x)}, ("out",),
                lambda given, down=down: {"out": _sorted(given["x"], down)},
                {"NAME": "sort", "DOWN": down, "M": 4, "N": 32},
                variant="descending" if down else "",
            )  # fmt: skip
        yield Case(
            "topk", dtype, blocks.largest_few,
            {"x": x, "out": np.zeros((4, 8), x.dtype)}, ("out",),
            lambda given: {"out": _sorted(given["x"], True)[:, :8]}, {"K": 8, "M": 4, "N": 32},
        )  # fmt: skip
        bitonic = np.concatenate([_sorted(x[:, :16], False), _sorted(x[:, 16:], True)], 1)
        yield Case(
            "bitonic_merge", dtype, blocks.merged, {"x": bitonic, "out": np.zeros_like(x)},
            ("out",), lambda given: {"out": _sorted(given["x"], False)}, {"M": 4, "N": 32},
        )  # fmt: skip
        for dim in (0, 1):
            yield Case(
                "flip", dtype, blocks.flipped, {"x": x, "out": np.zeros_like(x)}, ("out",),
                lambda given, dim=dim: {"out": np.flip(given["x"], dim)},
                {"DIM": dim, "M": 4, "N": 32}, variant=f"dim {dim}",
            )  # fmt: skip
        for axis in (0, 1):
            index = rng.integers(0, 4 if axis == 0 else 32, (4, 32)).astype(np.int32)
            yield Case(
                "gather", dtype, blocks.gathered,
                {"x": x, "index": index, "out": np.zeros_like(x)}, ("out",),
                lambda given, axis=axis: {
                    "out": np.take_along_axis(given["x"], given["index"], axis)
                },
                {"AXIS": axis, "M": 4, "N": 32}, variant=f"axis {axis}",
            )  # fmt: skip


def _sorted(x: np.ndarray, down: bool) -> np.ndarray:
    result = np.sort(x, axis=1)
    return result[:, ::-1].copy() if down else result


SHAPE_OPS: dict[str, Any] = {
    "trans": lambda a, b: a.T,
    "T": lambda a, b: a.T,
    "permute": lambda a, b: a.reshape(a.shape[0], 2, -1).transpose(2, 0, 1),
    "reshape": lambda a, b: a,
    "view": None,
    "ravel": lambda a, b: a,
    "join": lambda a, b: np.stack([a, b], -1),
    "split": lambda a, b: a.reshape(-1, 2)[:, ::-1],
    "interleave": lambda a, b: np.stack([a, b], -1),
    "cat": None,
    "broadcast": lambda a, b: np.broadcast_to(a.sum(1, keepdims=True).astype(a.dtype), a.shape),
    "broadcast of two": lambda a, b: np.broadcast_to(a.max(0), a.shape),
    "expand_dims": lambda a, b: a,
    "zeros_like": lambda a, b: np.zeros_like(a),
    "full": lambda a, b: np.full_like(a, 7),
}
_NO_ARITHMETIC = ("broadcast", "broadcast of two")


def shape_cases() -> Iterator[Case]:
    for kind, function in SHAPE_OPS.items():
        for dtype in (*FLOATS, *INTEGERS, "i1", *NARROW):
            if kind in _NO_ARITHMETIC and dtype in ("i1", *NARROW):
                continue
            if kind == "full" and dtype in NARROW:
                continue  # Triton has no constants of these types
            rng = random_of(kind, dtype)
            shape = (4, 16)
            x, y = few(rng, dtype, shape), few(rng, dtype, shape)
            size = 128 if kind in ("join", "interleave", "cat") else 64
            yield Case(
                kind, dtype, blocks.rearranged, {"x": x, "y": y, "out": np.zeros(size, x.dtype)},
                ("out",),
                lambda given, f=function: {"out": _flattened(f, given)},
                {"KIND": kind, "M": 4, "N": 16},
                undefined="the order of elements is the compiler's" if function is None else "",
            )  # fmt: skip
    yield Case(
        "swizzle2d", "i32", blocks.swizzled,
        {"out_i": np.zeros((8, 4), np.int32), "out_j": np.zeros((8, 4), np.int32)},
        ("out_i", "out_j"), lambda given: _swizzled(8, 4, 4), {"M": 8, "N": 4, "GROUP": 4},
    )  # fmt: skip
    for masked in (False, True):
        for dtype in ("i32", "u32"):
            rng = random_of("histogram", dtype, masked)
            x = rng.integers(0, 16, (3, 64)).astype(NUMPY[dtype])
            mask = (rng.random((3, 64)) < 0.6).astype(np.int8)
            yield Case(
                "histogram", dtype, blocks.counted,
                {"x": x, "mask": mask, "out": np.zeros((3, 16), np.int32)}, ("out",),
                lambda given, masked=masked: {"out": _histogram(given, masked)},
                {"MASKED": masked, "N": 64, "BINS": 16}, (3,), variant="masked" if masked else "",
            )  # fmt: skip


def _flattened(function: Any, given: Mapping[str, Any]) -> np.ndarray:
    if function is not None:
        return np.ascontiguousarray(function(given["x"], given["y"])).reshape(-1)
    if len(given["out"]) == given["x"].size:
        return given["x"].reshape(-1)
    return np.concatenate([given["x"].reshape(-1), given["y"].reshape(-1)])


def _swizzled(m: int, n: int, group: int) -> Mapping[str, np.ndarray]:
    out_i, out_j = np.zeros((m, n), np.int32), np.zeros((m, n), np.int32)
    for number in range(m * n):
        i, j = divmod(number, n)
        first = number // (group * n) * group
        height = min(m - first, group)
        inside = number % (group * n)
        out_i[i, j], out_j[i, j] = first + inside % height, inside // height
    return {"out_i": out_i, "out_j": out_j}


def _histogram(given: Mapping[str, Any], masked: bool) -> np.ndarray:
    rows = []
    for x, mask in zip(given["x"], given["mask"], strict=True):
        chosen = x[mask != 0] if masked else x
        rows.append(np.bincount(chosen.astype(np.int64), minlength=16))
    return np.stack(rows).astype(np.int32)


# -- products ---------------------------------------------------------------------------------


def product_cases() -> Iterator[Case]:
    for m, n, k in ((32, 32, 32), (16, 64, 128), (64, 16, 16)):
        for dtype, result, precision in (
            ("fp32", "fp32", "tf32"),
            ("fp32", "fp32", "tf32x3"),
            ("fp32", "fp32", "ieee"),
            ("fp32", "fp32", "bf16x3"),
            ("fp32", "fp32", "bf16x6"),
            ("fp16", "fp32", ""),
            ("fp16", "fp16", ""),
            ("bf16", "fp32", ""),
            ("fp8e4nv", "fp32", ""),
            ("fp8e5", "fp32", ""),
            ("fp64", "fp64", ""),
            ("i8", "i32", ""),
        ):
            if k < 32 and dtype in ("i8", *NARROW):
                continue
            yield _product(dtype, result, precision, m, n, k)
    a, b = (floats(random_of("batch", i), "fp32", (4, 16, 16), -1, 1) for i in range(2))
    yield Case(
        "dot", "fp32", blocks.batch_product, {"a": a, "b": b, "out": np.zeros_like(a)}, ("out",),
        lambda given: {
            "out": (given["a"].astype(np.float64) @ given["b"].astype(np.float64)).astype(
                np.float32
            )
        },
        {"B": 4, "M": 16, "N": 16, "K": 16}, bound=Bound(1, 2e-6, why="16 terms"),
        device=Bound(1, 2e-6, why="16 terms in another order"), variant="a batch",
    )  # fmt: skip


def _cut(x: np.ndarray) -> np.ndarray:
    """Float32 without the 13 bits that tf32 lacks."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def _product(dtype: str, result: str, precision: str, m: int, n: int, k: int) -> Case:
    rng = random_of("dot", dtype, precision, m, n, k)
    if dtype == "i8":
        a, b = integers(rng, "i8", (m, k)), integers(rng, "i8", (k, n))
        c = rng.integers(-1000, 1000, (m, n)).astype(np.int32)
    else:
        a, b = floats(rng, dtype, (m, k), -1, 1), floats(rng, dtype, (k, n), -1, 1)
        c = floats(rng, result, (m, n), -1, 1)

    def expected(given: Mapping[str, Any]) -> Mapping[str, Any]:
        left, right = given["a"], given["b"]
        if dtype == "i8":
            return {"out": (left.astype(np.int64) @ right.astype(np.int64) + c).astype(np.int32)}
        if precision == "tf32":
            left, right = _cut(left), _cut(right)
        total = left.astype(np.float64) @ right.astype(np.float64) + c.astype(np.float64)
        return {"out": rounded(total, result)}

    bits = MANTISSA.get(result, 0)
    bound = Bound(1, k * 2.0 ** -(24 if bits <= 23 else 53), why=f"{k} terms rounded to fp32")
    device = bound
    if dtype in NARROW:
        device = Bound(of_largest=k * 2.0**-16, why="Hopper keeps about 14 bits of fp8 sums")
    elif precision == "tf32":
        device = Bound(of_largest=k * 2.0**-14, why="how the tensor core reads tf32 operands")
    elif precision == "bf16x3":
        device = Bound(of_largest=k * 2.0**-15, why="three bf16 products stand for one")
    elif precision in ("tf32x3", "bf16x6"):
        device = Bound(of_largest=k * 2.0**-21, why="several narrow products stand for one")
    elif result == "fp16":
        device = Bound(of_largest=2.0**-9, why="sums may be rounded to fp16 on the way")
    if dtype == "i8":
        bound = device = EXACT
    name = f"{m}x{n}x{k}" + (f", {precision}" if precision else "")
    return Case(
        "dot", dtype, blocks.product,
        {"a": a, "b": b, "c": c, "out": np.zeros((m, n), NUMPY[result])}, ("out",), expected,
        {"PRECISION": precision, "M": m, "N": n, "K": k}, bound=bound, device=device,
        variant=f"{name} into {result}",
    )  # fmt: skip


FORMATS = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "bf16": "bf16", "fp16": "fp16", "e2m1": "u8"}
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1 = np.array([*_MAGNITUDES, *(-x for x in _MAGNITUDES)])


def scaled_product_cases() -> Iterator[Case]:
    m = n = 32
    k = 64
    for left, right in (
        ("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e4m3", "e2m1"),
        ("e5m2", "e2m1"), ("bf16", "e2m1"), ("e4m3", "bf16"), ("bf16", "e4m3"), ("fp16", "e2m1"),
    ):  # fmt: skip
        yield _scaled(left, right, m, n, k)
    rng = random_of("packed along rows")
    a = rng.integers(0, 256, (m // 2, k)).astype(np.uint8)
    b = rng.integers(0, 256, (k, n // 2)).astype(np.uint8)

    def expected(given: Mapping[str, Any]) -> Mapping[str, Any]:
        x, y = given["a"], given["b"]
        left = np.stack([E2M1[x & 15], E2M1[x >> 4]], 1).reshape(m, k)
        right = np.stack([E2M1[y & 15], E2M1[y >> 4]], 2).reshape(k, n)
        return {"out": (2 * (left @ right)).astype(np.float32)}

    yield Case(
        "dot_scaled", "u8", blocks.scaled_product_packed_along_rows,
        {"a": a, "b": b, "out": np.zeros((m, n), np.float32)}, ("out",), expected,
        {"M": m, "N": n, "K": k}, variant="e2m1 packed along rows and columns",
        device=Bound(of_largest=1e-5, why="products in bf16 are exact, sums are in fp32"),
    )  # fmt: skip


def _operand(rng: np.random.Generator, kind: str, rows: int, k: int) -> np.ndarray:
    """Rows by K, or, packed, rows by K / 2."""
    if kind == "e2m1":
        return rng.integers(0, 256, (rows, k // 2)).astype(np.uint8)
    return floats(rng, FORMATS[kind], (rows, k), -4, 4)


def _decoded(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.uint8:
        return x.astype(np.float64)
    return np.stack([E2M1[x & 15], E2M1[x >> 4]], -1).reshape(len(x), -1)


def _scaled(left: str, right: str, m: int, n: int, k: int) -> Case:
    rng = random_of("dot_scaled", left, right)
    a, b = _operand(rng, left, m, k), _operand(rng, right, n, k).T.copy()
    a_scale = rng.integers(122, 132, (m, k // 32)).astype(np.uint8)
    b_scale = rng.integers(122, 132, (n, k // 32)).astype(np.uint8)
    with_a, with_b = left not in ("bf16", "fp16"), right not in ("bf16", "fp16")

    def expected(given: Mapping[str, Any]) -> Mapping[str, Any]:
        x, y = _decoded(given["a"]), _decoded(given["b"].T)
        if with_a:
            x = x * np.exp2(np.repeat(a_scale.astype(float) - 127, 32, axis=1))
        if with_b:
            y = y * np.exp2(np.repeat(b_scale.astype(float) - 127, 32, axis=1))
        return {"out": (x @ y.T).astype(np.float32)}

    return Case(
        "dot_scaled", FORMATS[left], blocks.scaled_product,
        {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale,
         "out": np.zeros((m, n), np.float32)},
        ("out",), expected,
        {"A": left, "B": right, "A_DEPTH": a.shape[1], "B_DEPTH": b.shape[0], "WITH_A": with_a,
         "WITH_B": with_b, "M": m, "N": n, "K": k},
        bound=Bound(1, 1e-5, why="64 terms in fp32"),
        device=Bound(1, 1e-5, why="products in bf16 are exact, sums are in fp32"),
        variant=f"{left} by {right}",
    )  # fmt: skip


def cases() -> Iterator[Case]:
    yield from reduction_cases()
    yield from long_sum_cases()
    yield from scan_cases()
    yield from order_cases()
    yield from shape_cases()
    yield from product_cases()
    yield from scaled_product_cases()
