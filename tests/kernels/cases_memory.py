"""Cases of loads, stores, descriptors, atomics and random numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corpus.kernels import accesses
from tests.kernels.case import (
    DTYPES,
    FLOATS,
    INTEGERS,
    NARROW,
    NUMPY,
    Bound,
    Case,
    is_float,
    numbers,
    random_of,
)
from tests.kernels.cases_blocks import few

N = 64


def load_cases() -> Iterator[Case]:
    for dtype in DTYPES:
        size = 3 * N
        x = numbers(random_of("load", dtype), dtype if dtype not in NARROW else "u8", size)
        x = x.view(NUMPY[dtype])
        out = few(random_of("before", dtype), dtype, size)

        def partly(given: Mapping[str, Any]) -> Mapping[str, Any]:
            lanes = np.arange(3 * N)
            return {"out": np.where(lanes < given["n"], given["x"], given["out"])}

        def filled(given: Mapping[str, Any], d: str = dtype) -> Mapping[str, Any]:
            lanes = np.arange(3 * N)
            return {"out": np.where(lanes < given["n"], given["x"], NUMPY[d].type(1))}

        yield Case(
            "load, store", dtype, accesses.masked_copy, {"x": x, "out": out, "n": 150}, ("out",),
            partly, {"N": N}, (3,), variant="masked",
        )  # fmt: skip
        if dtype not in NARROW:
            yield Case(
                "load, store", dtype, accesses.with_other, {"x": x, "out": out, "n": 150},
                ("out",), filled, {"N": N}, (3,), variant="other",
            )  # fmt: skip
        yield Case(
            "load, store", dtype, accesses.hinted_copy, {"x": x, "out": out}, ("out",),
            lambda given: {"out": given["x"]}, {"N": N}, (3,), variant="hints and modifiers",
        )  # fmt: skip
        yield Case(
            "load, store", dtype, accesses.scalar_copy, {"x": x[:7], "out": out[:7]}, ("out",),
            lambda given: {"out": given["x"]}, {}, (7,), variant="scalars",
        )  # fmt: skip
        index = random_of("permutation", dtype).permutation(size).astype(np.int32)

        def scattered(given: Mapping[str, Any]) -> Mapping[str, Any]:
            out = np.empty_like(given["x"])
            out[given["index"]] = given["x"]
            return {"out": out}

        yield Case(
            "load, store", dtype, accesses.indirect, {"index": index, "x": x, "out": out},
            ("out",), scattered, {"N": N}, (3,), variant="indirect",
        )  # fmt: skip


BITWISE = ("and", "or", "xor")

NO_NAN_OF_BYTES = "an illegal instruction: to TMA 8-bit floats are bytes, which know no NaN"
NO_SIGNED_WORDS = (
    "an illegal instruction: TMA does not combine signed 64-bit words bitwise (it does unsigned)"
)


def block_cases() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTEGERS, *NARROW):
        rng = random_of("blocks", dtype)
        for rows, columns in ((20, 50), (32, 32)):
            x = few(rng, dtype, (rows, columns))
            yield Case(
                "make_block_ptr, advance", dtype, accesses.block_pointers,
                {"x": x, "out": np.zeros((columns, rows), x.dtype), "rows": rows,
                 "columns": columns},
                ("out",), lambda given: {"out": given["x"].T.copy()},
                {"BM": 16, "BN": 16, "PADDING": "zero"}, (-(-rows // 16),),
                variant=f"{rows}x{columns}",
            )  # fmt: skip
        for padding in ("zero", "nan"):
            if padding == "nan" and not is_float(dtype):
                continue
            if dtype in NARROW:
                continue
            x = few(rng, dtype, (10, 12))
            yield Case(
                "make_block_ptr", dtype, accesses.block_pointer_padding,
                {"x": x, "out": np.zeros((16, 16), x.dtype), "rows": 10, "columns": 12}, ("out",),
                lambda given, p=padding: {"out": _padded(given["x"], (16, 16), p)},
                {"B": 16, "PADDING": padding}, variant=f"padding {padding}",
            )  # fmt: skip
        for padding in ("zero", "nan"):
            if padding == "nan" and not is_float(dtype):
                continue
            x = few(rng, dtype, (24, 48))
            yield Case(
                "make_tensor_descriptor", dtype, accesses.descriptor_copy,
                {"x": x, "out": np.zeros((32, 64), x.dtype), "rows": 24, "columns": 48},
                ("out",), lambda given, p=padding: {"out": _padded(given["x"], (32, 64), p)},
                {"BM": 16, "BN": 32, "PADDING": padding}, (2, 2),
                variant=f"padding {padding}",
                not_launched=NO_NAN_OF_BYTES if padding == "nan" and dtype in NARROW else "",
            )  # fmt: skip
        x = few(rng, dtype, (3, 5, 32))
        yield Case(
            "make_tensor_descriptor", dtype, accesses.descriptor_of_three,
            {"x": x, "out": np.zeros_like(x)}, ("out",), _third_rows, {"B": 8, "N": 32}, (3,),
            variant="three axes",
        )  # fmt: skip
    for dtype in ("fp16", "bf16", "fp32", "i32"):
        rng = random_of("descriptor rows", dtype)
        x, rows = few(rng, dtype, (40, 128)), rng.permutation(40)[:16].astype(np.int32)
        rows[3] = 41  # outside: reads zeros, writes nothing
        yield Case(
            "descriptor.gather", dtype, accesses.descriptor_rows,
            {"x": x, "rows": rows, "out": np.zeros((16, 32), x.dtype), "column": 32}, ("out",),
            _picked_rows, {"R": 16, "M": 40, "N": 32},
        )  # fmt: skip
        yield Case(
            "descriptor.scatter", dtype, accesses.descriptor_rows_back,
            {"x": x[:16, :32].copy(), "rows": rows, "out": np.zeros_like(x), "column": 32},
            ("out",), _placed_rows, {"R": 16, "M": 40, "N": 32},
        )  # fmt: skip
    for kind, dtypes in (
        ("add", ("fp32", "fp16", "bf16", "i32", "u32", "u64")),
        ("min", ("i32", "u32", "i64", "u64", "fp16", "bf16")),
        ("max", ("i32", "u32", "i64", "u64", "fp16", "bf16")),
        ("and", ("i32", "u32", "i64", "u64")),
        ("or", ("i32", "u32", "i64", "u64")),
        ("xor", ("i32", "u32", "i64", "u64")),
    ):
        for dtype in dtypes:
            rng = random_of("descriptor reduction", kind, dtype)
            x, out = few(rng, dtype, (3, 8, 16)), few(rng, dtype, (8, 16))
            yield Case(
                f"descriptor.atomic_{kind}", dtype, accesses.descriptor_reduction,
                {"x": x, "out": out}, ("out",),
                lambda given, k=kind: {"out": _combined(k, [given["out"], *given["x"]])},
                {"KIND": kind, "B": 8, "N": 16}, (3,),
                not_launched=NO_SIGNED_WORDS if kind in BITWISE and dtype == "i64" else "",
            )  # fmt: skip


def _picked_rows(given: Mapping[str, Any]) -> Mapping[str, Any]:
    padded = np.concatenate([given["x"], np.zeros((8, 128), given["x"].dtype)])
    return {"out": padded[given["rows"], 32:64]}


def _placed_rows(given: Mapping[str, Any]) -> Mapping[str, Any]:
    padded = np.concatenate([given["out"], np.zeros((8, 128), given["x"].dtype)])
    padded[given["rows"], 32:64] = given["x"]
    return {"out": padded[:40]}


def _padded(x: np.ndarray, shape: tuple[int, int], padding: str) -> np.ndarray:
    result = np.zeros(shape, x.dtype)
    if padding == "nan":
        result[...] = np.asarray(np.nan, x.dtype)
    result[: x.shape[0], : x.shape[1]] = x
    return result


def _third_rows(given: Mapping[str, Any]) -> Mapping[str, Any]:
    out = np.zeros_like(given["x"])
    out[:, 2:] = given["x"][:, 2:]
    return {"out": out}


_COMBINE = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": lambda _old, new: new,
}


def _combined(kind: str, parts: list[np.ndarray]) -> np.ndarray:
    result = parts[0]
    for part in parts[1:]:
        result = _COMBINE[kind](result, part)
    return result


WIDE = ("i32", "i64", "u32", "u64")
ATOMICS: dict[str, tuple[str, ...]] = {
    "add": (*WIDE, *FLOATS),
    "max": (*WIDE, "fp32", "fp64"),
    "min": (*WIDE, "fp32", "fp64"),
    "and": WIDE,
    "or": WIDE,
    "xor": WIDE,
    "xchg": (*WIDE, "fp32", "fp64"),
}


def atomic_cases() -> Iterator[Case]:
    for kind, dtypes in ATOMICS.items():
        for dtype in dtypes:
            rng = random_of("atomic", kind, dtype)
            x, memory = (few(rng, dtype, 2 * N) for _ in range(2))
            if not is_float(dtype):
                x = numbers(rng, dtype, 2 * N)

            def apart(given: Mapping[str, Any], k: str = kind) -> Mapping[str, Any]:
                active = np.arange(2 * N) % 3 != 1
                new = _COMBINE[k](given["memory"], given["x"])
                return {
                    "memory": np.where(active, new, given["memory"]),
                    "old": np.where(active, given["memory"], given["old"]),
                }

            yield Case(
                f"atomic_{kind}", dtype, accesses.atomic,
                {"x": x, "memory": memory, "old": np.zeros_like(memory)}, ("memory", "old"),
                apart, {"NAME": f"atomic_{kind}", "N": N}, (2,),
            )  # fmt: skip
            if kind == "xchg":
                continue
            y = few(rng, dtype, 4 * N) if is_float(dtype) else numbers(rng, dtype, 4 * N)

            def together(given: Mapping[str, Any], k: str = kind) -> Mapping[str, Any]:
                return {"memory": _combined(k, [given["memory"], *given["x"].reshape(-1, 8)])}

            yield Case(
                f"atomic_{kind}", dtype, accesses.contended, {"x": y, "memory": memory[:8]},
                ("memory",), together, {"NAME": f"atomic_{kind}", "N": N, "SLOTS": 8}, (4,),
                variant="contended",
            )  # fmt: skip
            yield Case(
                f"atomic_{kind}", dtype, accesses.scalar_atomics,
                {"x": y[:9], "memory": memory[:1]}, ("memory",),
                lambda given, k=kind: {
                    "memory": _combined(k, [given["memory"], *given["x"][:, None]])
                },
                {"NAME": f"atomic_{kind}"}, (9,), variant="scalars",
            )  # fmt: skip
    for dtype in (*WIDE, "i16", "fp32"):
        rng = random_of("cas", dtype)
        memory, expected, wanted = (few(rng, dtype, 2 * N) for _ in range(3))
        yield Case(
            "atomic_cas", dtype, accesses.swapped,
            {"expected": expected, "wanted": wanted, "memory": memory,
             "old": np.zeros_like(memory)},
            ("memory", "old"),
            lambda given: {
                "old": given["memory"],
                "memory": np.where(
                    given["memory"] == given["expected"], given["wanted"], given["memory"]
                ),
            },
            {"N": N}, (2,),
        )  # fmt: skip
    x = few(random_of("lock"), "fp32", 50)
    yield Case(
        "atomic_cas", "i32", accesses.locked_sum,
        {"x": x, "lock": np.zeros(1, np.int32), "total": np.zeros(1, np.float32)},
        ("lock", "total"),
        lambda given: {"lock": given["lock"], "total": given["x"].sum(keepdims=True)},
        {}, (50,), variant="spin lock",
    )  # fmt: skip


# -- random numbers ---------------------------------------------------------------------------

_MASK = 0xFFFFFFFF


def philox(seed: int, offset: int) -> tuple[int, int, int, int]:
    """Ten rounds of Philox-4x32 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3)."""
    c = [offset & _MASK, (offset >> 32) & _MASK, 0, 0]
    k0, k1 = seed & _MASK, (seed >> 32) & _MASK
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & _MASK, (a >> 32) ^ c[3] ^ k1, a & _MASK]
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return c[0], c[1], c[2], c[3]


def _words(given: Mapping[str, Any], count: int) -> np.ndarray:
    numbers = [philox(given["seed"], given["first"] + lane) for lane in range(count)]
    return np.array(numbers, np.uint32)


def _uniform(words: np.ndarray) -> np.ndarray:
    signed = words.view(np.int32)
    positive = np.where(signed < 0, -signed - 1, signed).astype(np.float32)
    return positive * np.float32(4.6566127342e-10)


def _normal(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = np.sqrt(-2 * np.log(np.maximum(1e-7, first.astype(np.float64))))
    angle = 6.283185307179586 * second.astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)


COUNT = 256


def random_cases() -> Iterator[Case]:
    near = Bound(4, 1e-6, why="log, sqrt and cos of fp32")
    far = Bound(8, 4e-6, why="approximated log, sqrt and cos of fp32")
    for variant, seed, first in (("", 42, 0), ("a wide seed", 1 << 40 | 12345, 7),
                                 ("wide offsets", 3, 1 << 35)):  # fmt: skip
        for name in ("randint", "rand", "randn"):

            def one(given: Mapping[str, Any], name: str = name) -> Mapping[str, Any]:
                words = _words(given, COUNT)
                if name == "randint":
                    return {"out": words[:, 0].copy().view(np.int32)}
                uniform = _uniform(words)
                if name == "rand":
                    return {"out": uniform[:, 0]}
                return {"out": _normal(uniform[:, 0], uniform[:, 1])[0].astype(np.float32)}

            dtype = "i32" if name == "randint" else "fp32"
            exact = Bound() if name != "randn" else near
            yield Case(
                name, dtype, accesses.random_numbers,
                {"out": np.zeros(COUNT, NUMPY[dtype]), "seed": seed, "first": first}, ("out",),
                one, {"NAME": name, "N": 64}, (4,), bound=exact,
                device=exact if name != "randn" else far, variant=variant,
            )  # fmt: skip

            def four(given: Mapping[str, Any], name: str = name) -> Mapping[str, Any]:
                words = _words(given, COUNT)
                if name == "randint":
                    return {"out": words.view(np.int32).reshape(-1)}
                uniform = _uniform(words)
                if name == "rand":
                    return {"out": uniform.reshape(-1)}
                pairs = [*_normal(uniform[:, 0], uniform[:, 1]),
                         *_normal(uniform[:, 2], uniform[:, 3])]  # fmt: skip
                return {"out": np.stack(pairs, 1).astype(np.float32).reshape(-1)}

            yield Case(
                f"{name}4x", dtype, accesses.four_random_numbers,
                {"out": np.zeros(4 * COUNT, NUMPY[dtype]), "seed": seed, "first": first},
                ("out",), four, {"NAME": f"{name}4x", "N": 64}, (4,), bound=exact,
                device=exact if name != "randn" else far, variant=variant,
            )  # fmt: skip
    for dtype in ("i32", "u32"):
        x = numbers(random_of("uniform", dtype), dtype, 128)
        yield Case(
            "uint_to_uniform_float", dtype, accesses.uniform,
            {"x": x, "out": np.zeros(128, np.float32)}, ("out",),
            lambda given: {"out": _uniform(given["x"].view(np.uint32))}, {"N": 128},
        )  # fmt: skip
    yield Case(
        "program_id, num_programs", "i32", accesses.dimensions, {"out": np.zeros(24, np.int32)},
        ("out",),
        lambda given: {
            "out": np.array(
                [x + 10 * y + 4000 + 100 * z for z in range(4) for y in range(2) for x in range(3)],
                np.int32,
            )
        },
        {"SIZE": 24}, (3, 2, 4),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    yield from load_cases()
    yield from block_cases()
    yield from atomic_cases()
    yield from random_cases()
