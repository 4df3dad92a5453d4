"""Questions about atomics, reductions through descriptors and random numbers."""

from collections.abc import Iterator

import numpy as np

from tests.kernels.answers.question import BITS, LAST_BITS, Buffer, Question, empty
from tests.kernels.answers.values import FORMATS, held, pairs, specials

DTYPES = tuple(FORMATS)
ATOMICS = ("add", "max", "min", "and", "or", "xor", "xchg")
SEEDS = (0, 1, 42, 2**31 - 1, -1, 2**31, 2**40 + 7, 2**63 - 1, -(2**63))
FIRST = (0, 10**9)


def atomic_questions() -> Iterator[Question]:
    for dtype in DTYPES:
        memory, operand = pairs(dtype)
        for name in ATOMICS:
            yield Question(
                f"atomic_{name}", dtype, "accesses.atomic",
                {"x": Buffer(dtype, operand), "memory": Buffer(dtype, memory),
                 "old": empty(dtype, 256)},
                ("memory", "old"), {"NAME": f"atomic_{name}", "N": 256},
            )  # fmt: skip
        yield Question(
            "atomic_cas", dtype, "accesses.swapped",
            {"expected": Buffer(dtype, operand),
             "wanted": Buffer(dtype, np.resize(specials(dtype)[::-1], 256)),
             "memory": Buffer(dtype, memory), "old": empty(dtype, 256)},
            ("memory", "old"), {"N": 256},
        )  # fmt: skip


def descriptor_questions() -> Iterator[Question]:
    for dtype in DTYPES:
        memory, operand = pairs(dtype)
        for kind in ("add", "min", "max", "and", "or", "xor"):
            if dtype == "i64" and kind in ("and", "or", "xor"):
                continue  # an illegal instruction on Hopper
            yield Question(
                f"descriptor.atomic_{kind}", dtype, "accesses.descriptor_reduction",
                {"x": Buffer(dtype, operand), "out": Buffer(dtype, memory)}, ("out",),
                {"KIND": kind, "B": 16, "N": 16},
            )  # fmt: skip


def random_questions() -> Iterator[Question]:
    for seed in SEEDS:
        for first in FIRST:
            for name, target in (("randint", "i32"), ("rand", "fp32"), ("randn", "fp32")):
                agreement = LAST_BITS if name == "randn" else BITS
                yield _random(name, target, seed, first, "random_numbers", agreement)
        for name, target in (("randint4x", "i32"), ("rand4x", "fp32"), ("randn4x", "fp32")):
            agreement = LAST_BITS if name == "randn4x" else BITS
            yield _random(name, target, seed, 0, "four_random_numbers", agreement)


def _random(
    name: str, target: str, seed: int, first: int, kernel: str, agreement: str
) -> Question:  # fmt: skip
    count = 64 if kernel == "four_random_numbers" else 32
    return Question(
        name, f"seed {seed}, from {first}", f"accesses.{kernel}",
        {"out": empty(target, count), "seed": seed, "first": first}, ("out",),
        {"NAME": name, "N": 16}, count // 16 if kernel == "random_numbers" else 1, agreement,
    )  # fmt: skip


def contended_questions() -> Iterator[Question]:
    """Sums of one atomic from many lanes, of integers alone: any order gives them."""
    for dtype in ("i32", "u32", "i64", "u64"):
        for name in ("add", "max", "min", "and", "or", "xor"):
            yield Question(
                f"atomic_{name}, contended", dtype, "accesses.contended",
                {"x": Buffer(dtype, pairs(dtype)[1]),
                 "memory": Buffer(dtype, held(dtype, [0, 1, -1, 5, 7, 12, 85, 100]))},
                ("memory",), {"NAME": f"atomic_{name}", "N": 256, "SLOTS": 8},
            )  # fmt: skip


def questions() -> Iterator[Question]:
    yield from atomic_questions()
    yield from descriptor_questions()
    yield from random_questions()
    yield from contended_questions()
