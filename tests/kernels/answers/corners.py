"""Questions about little-used corners, each with a guess written before a device was asked.

A guess is the numbers that a careful reader of Triton's documentation and source expects.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.kernels.answers.question import BITS, LAST_BITS, ORDER, Buffer, Question, empty
from tests.kernels.answers.values import FORMATS, Bits
from tests.kernels.case import NUMPY

NAN, INF = math.nan, math.inf
Numbers = Sequence[Any]


@dataclass(frozen=True)
class Corner:
    """A question, and the numbers that were guessed, by output."""

    question: Question
    guesses: dict[str, Bits]


def bits_of(dtype: str, numbers: Numbers | np.ndarray) -> Bits:
    """Return numbers as the bits of their type."""
    with np.errstate(all="ignore"):
        return np.array(numbers, NUMPY[dtype]).reshape(-1).view(FORMATS[dtype].bits)


def corner(
    words: str, kernel: str, inputs: dict[str, tuple[str, Any] | int],
    guesses: dict[str, tuple[str, Any]], *, grid: int = 1, agreement: str = BITS,
    options: dict[str, Any] | None = None, module: str = "corners", **constexprs: Any,
) -> Corner:  # fmt: skip
    """Return a question of inputs and guesses: types and numbers, by parameter.

    An output of whose parameter no input gives numbers begins as zeros.
    """
    arguments: dict[str, Buffer | int] = {}
    for name, value in inputs.items():
        arguments[name] = value if isinstance(value, int) else Buffer(value[0], bits_of(*value))
    answers = {name: bits_of(*value) for name, value in guesses.items()}
    for name, (dtype, _) in guesses.items():
        arguments.setdefault(name, empty(dtype, len(answers[name])))
    kinds = " ".join(
        dict.fromkeys(value.dtype for value in arguments.values() if isinstance(value, Buffer))
    )
    question = Question(
        f"corner, {words}", kinds, f"{module}.{kernel}", arguments, tuple(guesses), constexprs,
        grid, agreement, options or {},
    )  # fmt: skip
    return Corner(question, answers)


def chosen_corners() -> Iterator[Corner]:
    for dtype, condition, numbers in (
        ("fp32", [0.5, NAN, -0.0, 0.0, INF, 1e-40, -1, 0], [1, 1, 2, 2, 1, 1, 1, 2]),
        ("fp16", [6e-8, NAN, -0.0, 1], [1, 1, 2, 1]),
        ("i64", [2**32, 0, 256, -1], [1, 2, 1, 1]),
    ):
        yield corner(
            "where by a number", "chosen", {"c": (dtype, condition)}, {"out": ("i32", numbers)},
            N=len(numbers),
        )  # fmt: skip
    yield corner(
        "branch on a number", "branched",
        {"x": ("i32", [2, 2, 0, 0]), "y": ("i32", [1, 0, 4, 0])}, {"out": ("i32", [3, 1, 2, 0])},
        grid=4,
    )  # fmt: skip
    yield corner(
        "branch on a number", "branched",
        {"x": ("fp32", [NAN, 0.5, -0.0, 1]), "y": ("fp32", [1, 0.25, 0, NAN])},
        {"out": ("i32", [3, 3, 0, 3])}, grid=4,
    )  # fmt: skip


def copied_corners() -> Iterator[Corner]:
    for source, target, numbers, result in (
        ("i32", "i8", [300, -129, 255, 128], [44, 127, -1, -128]),
        ("i64", "u16", [-1, 65536, 65537, 2**40 + 5], [65535, 0, 1, 5]),
        ("fp32", "i8", [-1.9, 1.9, 127.9, -128.9], [-1, 1, 127, -128]),
        ("fp32", "fp8e4nv", [17, 19, 1e-3, 447], [16, 20, 2.0**-9, 448]),
        ("i32", "bf16", [257, 259, -(2**31), 2**24 + 1], [256, 260, -(2.0**31), 2.0**24]),
        ("i1", "i16", [1, 0, 1, 1], [1, 0, 1, 1]),
    ):
        yield corner(
            "store that converts",
            "copied",
            {"x": (source, numbers)},
            {"out": (target, result)},
            N=4,
        )
    for dtype, numbers, result in (
        ("i32", [256, 3, -1, 0], [0, 3, 255, 0]), ("fp32", [0.5, 2, -1.5, 0], [0, 2, 255, 0]),
    ):  # fmt: skip
        question = corner(
            "store into Booleans", "copied", {"x": (dtype, numbers)}, {"out": ("i1", [0] * 4)}, N=4
        )
        question.guesses["out"] = np.array(result, np.uint8)
        yield question


def filled_corners() -> Iterator[Corner]:
    for dtype, other, result in (
        ("u8", -1, 255), ("i32", 1.9, 1), ("fp16", 1e6, INF), ("fp8e4nv", 300.0, 288),
        ("fp8e5", 1e6, 57344), ("i1", 2, 1), ("bf16", 1 + 2**-8 + 2**-30, 1.0),
    ):  # fmt: skip
        yield corner(
            "other of another type", "filled", {"x": (dtype, [1] * 4)},
            {"out": (dtype, [1, result, result, result])}, OTHER=other, N=4,
        )  # fmt: skip
    yield corner(
        "scalar mask", "filled_scalar", {"x": ("i16", [3]), "flag": 0}, {"out": ("i16", [7, 3])}
    )
    block = np.arange(16).reshape(4, 4)
    rows = np.where(np.arange(4)[:, None] % 2 == 0, block, np.arange(4)[None, :] * 10)
    yield corner(
        "mask of rows, other of columns", "filled_rows", {"x": ("i64", block)},
        {"out": ("i64", rows)}, M=4, N=4,
    )  # fmt: skip


def mixed_corners() -> Iterator[Corner]:
    for op, left, a, right, b, target, result in (
        (">>", "i32", [-8, -1], "u32", [1, 31], "i64", [2**31 - 4, 1]),
        (">>", "i8", [-128, -1], "i64", [1, 40], "i64", [-64, -1]),
        ("<", "i32", [-1, 1], "u32", [1, 2], "i1", [0, 1]),
        ("<", "i8", [-1, 1], "u8", [1, 2], "i1", [0, 1]),
        ("<", "i64", [-1, 1], "u32", [1, 2], "i1", [1, 1]),
        ("==", "i32", [2**24 + 1, 7], "fp32", [2**24, 7], "i1", [1, 1]),
        ("==", "i8", [-1, 3], "u32", [2**32 - 1, 3], "i1", [1, 1]),
        ("/", "u64", [2**64 - 1, 9], "u64", [1, 2], "fp64", [2.0**64, 4.5]),
        ("/", "i1", [1, 1], "i1", [1, 1], "fp32", [1, 1]),
        ("maximum", "fp16", [1, NAN], "fp32", [1 + 2**-20, 2], "fp64", [1 + 2**-20, 2]),
        ("where", "i8", [-1, 5], "fp16", [0.5, 9], "fp32", [0.5, 5]),
        ("where", "bf16", [-1, 5], "fp16", [1 + 2**-10, 9], "fp32", [1 + 2**-10, 5]),
    ):
        yield corner(
            f"{op} of two types", "mixed", {"x": (left, a), "y": (right, b)},
            {"out": (target, result)}, OP=op, N=2,
        )  # fmt: skip


def number_corners() -> Iterator[Corner]:
    for op, number, dtype, a, target, result in (
        ("*", 1.0, "i64", [2**24 + 1, -3], "fp64", [2**24, -3]),
        ("+", 1, "i8", [127, -128], "i32", [-128, -127]),
        ("-", 1, "u8", [0, 255], "i32", [255, 254]),
        ("<", 0, "u8", [0, 255], "i1", [0, 0]),
        ("+", 0.1, "fp64", [0, 1], "fp64", [0.1, 1.1]),
        ("maximum", 0.1, "fp64", [0, 1], "fp64", [float(np.float32(0.1)), 1]),
        ("*", 1e6, "fp16", [1, 0], "fp32", [INF, NAN]),
        ("/", 3, "i32", [1, 2**31 - 1], "fp32", [np.float32(1 / 3), np.float32((2**31) / 3)]),
        ("/", 4.0, "fp32", [2.0**-126, 1e-44], "fp32", [2.0**-128, np.float32(1e-44) / 4]),
        ("//", 8, "i64", [-9, 9], "i64", [-1, 1]),
        ("%", 8, "i32", [-9, 9], "i32", [-1, 1]),
        ("//", -3, "i16", [-32768, 7], "i16", [10922, -2]),
        ("%", -3, "i32", [-7, 7], "i32", [-1, 1]),
        ("number -", 0, "u16", [1, 0], "i32", [65535, 0]),
        ("pow", 3, "fp32", [-2, 0.5], "fp32", [-8, 0.125]),
        ("%", 1.0, "fp32", [-0.5, -3], "fp32", [-0.5, -0.0]),
    ):
        yield corner(
            f"{op} of a block and a number", "with_number", {"x": (dtype, a)},
            {"out": (target, result)}, OP=op, C=number, N=2,
            agreement=LAST_BITS if op in ("/", "pow") else BITS,
        )  # fmt: skip
    yield corner(
        "- of unsigned", "negated_unsigned", {"x": ("u8", [1, 0, 255, 128])},
        {"out": ("i32", [255, 0, 1, 128])}, N=4,
    )  # fmt: skip


def folded_corners() -> Iterator[Corner]:
    for dtype, width in (("i32", 32), ("i64", 64), ("i8", 8)):
        top = 2 ** (width - 1)
        a = [top // 2, top - 1, -top, 5]
        thirds = [_toward_zero(_signed((n - 1) ** 2, width), 3) for n in a]
        numbers = [-top // 2, -1, 0, 5, 1, 0, 1, 1, 1, 1, 0, 1, *thirds]
        yield corner(
            "integers that wrap", "folded", {"x": (dtype, a)}, {"out": (dtype, numbers)}, N=4
        )
    for dtype in ("fp32", "fp16", "bf16", "fp64"):
        a = np.array([-0.0, 0.0, INF, NAN, -1, 1])
        with np.errstate(all="ignore"):
            rows = np.concatenate([a + 0.0, a - 0.0, 0.0 - a, a * 0.0, a - a, a / a])
        padded = np.concatenate(
            [np.append(rows[6 * i : 6 * i + 6], [rows[6 * i]] * 2) for i in range(6)]
        )
        yield corner(
            "floats that a compiler may not simplify", "folded_floats",
            {"x": (dtype, [*a, -0.0, -0.0])}, {"out": (dtype, padded)}, N=8,
        )  # fmt: skip


def _toward_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number < 0 else number // divisor


def _signed(number: int, width: int) -> int:
    number &= 2**width - 1
    return number - 2**width if number >> (width - 1) else number


def chained_corners() -> Iterator[Corner]:
    for dtype, a, b, c, result in (
        ("bf16", [1, 3e38], [2**-8, 3e38], [2**-8, -3e38], [1, INF]),
        ("fp16", [60000, 1], [60000, 2**-11], [-60000, 2**-11], [INF, 1]),
        ("fp32", [1e-40, 1], [1e-40, 2**-24], [1e-45, 2**-24],
         [np.float32(1e-40) + np.float32(1e-40) + np.float32(1e-45), 1]),
    ):  # fmt: skip
        yield corner(
            "two additions", "chained", {"x": (dtype, a), "y": (dtype, b), "z": (dtype, c)},
            {"out": (dtype, result)}, N=2,
        )  # fmt: skip
    for dtype, number, result in (
        ("fp16", 65520.0, INF), ("fp16", 65519.0, 65504),
        ("bf16", NAN, NAN), ("fp8e5", -0.0, -0.0), ("fp16", 3e-8, 2**-24),
        ("bf16", 1 + 2**-8 + 2**-40, 1.0), ("fp16", 1 + 2**-11 + 2**-40, 1.0),
        ("fp32", 1 + 2**-24 + 2**-50, 1 + 2**-23), ("i1", 2, 1), ("u64", 2**64 - 1, 2**64 - 1),
    ):  # fmt: skip
        yield corner("full", "constant", {}, {"out": (dtype, [result] * 4)}, C=number, N=4)


def reduced_corners() -> Iterator[Corner]:
    yield corner(
        "sum of a matrix", "summed_as", {"x": ("i8", [127] * 32)}, {"out": ("i64", [4064])},
        DTYPE="", M=4, N=8,
    )  # fmt: skip
    yield corner(
        "sum of a matrix as i8", "summed_as", {"x": ("i8", [127] * 32)}, {"out": ("i64", [-32])},
        DTYPE="int8", M=4, N=8,
    )  # fmt: skip
    yield corner(
        "sum of a matrix", "summed_as", {"x": ("u8", [255] * 32)}, {"out": ("i64", [8160])},
        DTYPE="", M=4, N=8,
    )  # fmt: skip
    yield corner(
        "sum of a matrix as fp32", "summed_as", {"x": ("fp16", [2048] + [1] * 31)},
        {"out": ("fp32", [2079])}, DTYPE="float32", M=4, N=8,
    )  # fmt: skip
    yield corner(
        "sum of a matrix as fp16", "summed_as", {"x": ("fp32", [40000.0] * 2 + [0] * 30)},
        {"out": ("fp32", [INF])}, DTYPE="float16", M=4, N=8,
    )  # fmt: skip
    yield corner(
        "sum of denormals", "summed_as", {"x": ("fp32", [2.0**-149] * 32)},
        {"out": ("fp32", [2.0**-144])}, DTYPE="", M=4, N=8,
    )  # fmt: skip
    cube = np.arange(16).reshape(2, 4, 2) * 7 % 11 - 5
    yield corner(
        "axes of three", "summed_inside", {"x": ("i32", cube)},
        {"out": ("i32", [*cube.sum(1).reshape(-1), *cube.max(2).reshape(-1)])}, A=2, B=4, C=2,
    )  # fmt: skip
    rows = np.arange(32).reshape(8, 4) * 5 % 13 - 6
    yield corner(
        "reduce of three types", "reduced_together", {"x": ("i32", rows)},
        {"out": ("i64", [*rows.sum(0), *rows.max(0), 8, 8, 8, 8])}, M=8, N=4,
    )  # fmt: skip
    ties = np.array([[3, 1, 7, 0], [3, 2, 7, 0], [1, 2, 7, 0], [3, 2, 8, 0]])
    for dtype in ("u8", "fp16", "i64"):
        yield corner(
            "max with places, ties", "largest_with_place", {"x": (dtype, ties)},
            {"out": (dtype, [3, 2, 8, 0]), "places": ("i32", [0, 1, 3, 0])}, M=4, N=4,
        )  # fmt: skip
    yield corner(
        "reduction of one", "summed_as", {"x": ("fp32", [-0.0])}, {"out": ("fp32", [-0.0])},
        DTYPE="", M=1, N=1,
    )  # fmt: skip


def scanned_corners() -> Iterator[Corner]:
    yield corner(
        "cumsum of i8", "summed_running", {"x": ("i8", [127] * 16)},
        {"out": ("i32", np.arange(1, 17) * 127)}, NAME="cumsum", REVERSE=False, N=16,
    )  # fmt: skip
    yield corner(
        "cumsum as i8", "summed_running_as", {"x": ("i32", [100] * 4)},
        {"out": ("i32", [100, -56, 44, -112])}, DTYPE="int8", N=4,
    )  # fmt: skip
    flags = np.arange(16) % 3 == 0
    yield corner(
        "cumsum of Booleans, reverse", "summed_running", {"x": ("i1", flags)},
        {"out": ("i32", flags[::-1].cumsum()[::-1])}, NAME="cumsum", REVERSE=True, N=16,
    )  # fmt: skip
    yield corner(
        "cumprod that wraps", "summed_running", {"x": ("i32", [3] * 32)},
        {"out": ("i32", [_signed(3**k, 32) for k in range(1, 33)])}, NAME="cumprod", REVERSE=False,
        N=32,
    )  # fmt: skip
    yield corner(
        "cumsum of one", "summed_running", {"x": ("fp32", [-0.0])}, {"out": ("fp32", [-0.0])},
        NAME="cumsum", REVERSE=False, N=1,
    )  # fmt: skip
    a, b = np.arange(64) % 5 - 2, np.arange(64) * 3 % 7
    for reverse in (False, True):
        order = range(63, -1, -1) if reverse else range(64)
        whole, total, both = 1, 0, np.zeros((2, 64), np.int64)
        for i in order:
            whole, total = whole * int(a[i]), total * int(a[i]) + int(b[i])
            both[:, i] = _signed(whole, 32), _signed(total, 32)
        yield corner(
            "scan of maps composed" + (", reverse" if reverse else ""), "maps_composed",
            {"x": ("i32", a), "y": ("i32", b)}, {"out": ("i32", both)}, REVERSE=reverse, N=64,
        )  # fmt: skip
    cube = np.arange(32).reshape(2, 8, 2)
    yield corner(
        "scan of the middle axis, reverse", "first_of_three_axes", {"x": ("i16", cube)},
        {"out": ("i16", np.broadcast_to(cube[:, -1:], cube.shape))}, A=2, B=8, C=2,
    )  # fmt: skip
    values = np.array([1, 5, 5, -0.0, 7, INF, 3, INF])
    yield corner(
        "scan of a float and its place", "running_place", {"x": ("fp32", values)},
        {"out": ("i64", [0, 1, 1, 1, 4, 5, 5, 5])}, N=8,
    )  # fmt: skip


def ordered_corners() -> Iterator[Corner]:
    cube = np.arange(32) * 77 % 256
    ordered = np.sort(cube.reshape(2, 4, 4), axis=-1)[..., ::-1]
    yield corner("sort of three axes", "sorted_cube", {"x": ("u8", cube)}, {"out": ("u8", ordered)},
                 A=2, B=4, C=4)  # fmt: skip
    yield corner(
        "topk of two", "first_of_all", {"x": ("i16", [-32768, -5, -7, -32768])},
        {"out": ("i16", [-5, -7])}, N=4,
    )  # fmt: skip
    for count, bins in ((32, 2), (1024, 64), (16, 1)):
        numbers = np.arange(count) * 5 % bins
        yield corner(
            f"histogram of {bins} bins with a mask", "counted_few", {"x": ("i32", numbers)},
            {"out": ("i32", np.bincount(numbers[np.arange(count) % 4 != 0], minlength=bins))},
            N=count, BINS=bins,
        )  # fmt: skip
    for dtype, kind in (("fp8e4nv", "i8"), ("i1", "u8"), ("fp64", "i64"), ("bf16", "u32")):
        block = np.arange(32).reshape(8, 4) % (2 if dtype == "i1" else 8)
        index = np.array([[7, 0, 3, 2], [1, 1, 6, 5]])
        yield corner(
            "gather of fewer rows", "gathered_fewer", {"x": (dtype, block), "index": (kind, index)},
            {"out": (dtype, np.take_along_axis(block, index, 0))}, M=8, N=4, R=2,
        )  # fmt: skip
    for dtype in ("fp8e5", "i1", "bf16", "u64"):
        x, y = (np.arange(8) * step % (2 if dtype == "i1" else 16) for step in (1, 3))
        mixed_lanes = np.stack([x, y], -1).reshape(4, 2, 2)
        rows = np.stack([mixed_lanes[..., 0], mixed_lanes[..., 1]], -1).transpose(2, 0, 1)
        yield corner(
            "interleave, split, join, permute, flip", "woven", {"x": (dtype, x), "y": (dtype, y)},
            {"out": (dtype, rows[:, ::-1])}, N=8,
        )  # fmt: skip


def pointer_corners() -> Iterator[Corner]:
    for dtype, size in (("i64", 8), ("i8", 1)):
        yield corner(
            "pointers as integers", "distances", {"x": (dtype, [0] * 8)},
            {"out": ("i64", [5 * size, 2 * size])},
        )  # fmt: skip
    values = np.array([1, -2, 0.1, 3], np.float32)
    yield corner(
        "floats read as halves", "halves", {"x": ("fp32", values)},
        {"out": ("i16", values.view(np.int16))}, N=8,
    )  # fmt: skip
    yield corner(
        "a pointer made of an integer", "by_integers", {"x": ("fp32", np.arange(16))},
        {"out": ("fp32", np.arange(8) * 2)}, N=8,
    )  # fmt: skip


def atomic_corners() -> Iterator[Corner]:
    parity = 0
    for program in range(5):
        parity ^= (program + 1) * 64
    yield corner(
        "atomics of scalars", "counted_programs",
        {"counter": ("i32", [0, -7, 1]), "total": ("i32", [0])},
        {"counter": ("i32", [5, -5, 1 ^ parity]), "total": ("i32", [10])}, grid=5, N=64,
    )  # fmt: skip
    yield corner(
        "cas of scalars", "won", {"lock": ("i32", [0]), "winners": ("i32", [0])},
        {"lock": ("i32", [5]), "winners": ("i32", [1])}, grid=7,
    )  # fmt: skip
    least = 2.0**-149
    for dtype, tiny, result in (
        ("fp32", 1e-40, 0.0), ("fp16", 2**-24, 2**-23), ("bf16", 2.0**-133, 2.0**-132),
        ("fp64", 5e-324, 1e-323),
    ):  # fmt: skip
        memory = np.full(128, tiny)
        yield corner(
            "atomic_add that nobody reads", "added_unread",
            {"x": (dtype, memory), "memory": (dtype, memory)},
            {"memory": (dtype, np.full(128, result))}, N=128, options={"num_warps": 1},
        )  # fmt: skip
    assert least > 0


def window_corners() -> Iterator[Corner]:
    for dtype, padding in (
        ("fp16", "zero"), ("bf16", "nan"), ("fp32", "nan"), ("i32", "zero"), ("u8", "zero"),
        ("fp8e5", "zero"),
    ):  # fmt: skip
        stride = 32 if FORMATS[dtype].width > 8 else 64
        block = np.arange(6 * stride).reshape(6, stride) % 7 + 1
        part = max(16 * 8 // FORMATS[dtype].width, 4)  # 16 bytes: other starts are refused
        for row, column in ((-2, 16), (0, -part), (4, part), (7, 0), (0, 48)):
            whole = np.full((64, 256), NAN if padding == "nan" else 0)
            whole[16:22, 64:84] = block[:, :20]
            seen = whole[16 + row : 24 + row, 64 + column : 80 + column]
            yield corner(
                f"descriptor's block at {row}, {column}, {padding}", "window",
                {"x": (dtype, block), "row": row, "column": column}, {"out": (dtype, seen)},
                ROWS=6, COLUMNS=20, STRIDE=stride, M=8, N=16, PADDING=padding,
            )  # fmt: skip
    for start in (-4, 12, 32):
        line = np.zeros(128)
        line[32:52] = np.arange(20) + 1
        yield corner(
            f"descriptor of one axis at {start}", "window_of_one",
            {"x": ("fp32", np.arange(20) + 1), "start": start},
            {"out": ("fp32", line[32 + start : 48 + start])}, SIZE=20, N=16,
        )  # fmt: skip
    for row, column in ((2, 16), (6, 0), (20, 0)):
        whole = np.zeros((64, 64))
        block = np.arange(256).reshape(16, 16) % 100 + 1
        whole[row : row + 16, column : column + 16] = block
        yield corner(
            f"descriptor's store at {row}, {column}", "clipped",
            {"x": ("i8", block), "row": row, "column": column}, {"out": ("i8", whole[:8, :32])},
            ROWS=8, COLUMNS=32, B=16,
        )  # fmt: skip
    block = np.arange(60).reshape(10, 6).T + 1  # by columns
    for row, column in ((-3, 4), (2, 8), (0, 0)):
        whole = np.zeros((64, 64))
        whole[16:22, 16:26] = block
        yield corner(
            f"block pointer at {row}, {column}", "block_window",
            {"x": ("i32", block.T), "row": row, "column": column},
            {"out": ("i32", whole[16 + row : 24 + row, 16 + column : 24 + column])},
            ROWS=6, COLUMNS=10, B=8,
        )  # fmt: skip


def product_corners() -> Iterator[Corner]:
    def asked(
        words: str, kinds: str, a: np.ndarray, b: np.ndarray, c: float, guess: Any,
        by_columns: bool = False,
    ) -> Corner:  # fmt: skip
        left, right, target = kinds.split()
        m, k = a.shape
        n = b.shape[0] if by_columns else b.shape[1]
        return corner(
            words, "product_with",
            {"a": (left, a), "b": (right, b), "c": (target, np.full((m, n), c))},
            {"out": (target, np.broadcast_to(guess, (m, n)))}, M=m, N=n, K=k, BY_COLUMNS=by_columns,
        )  # fmt: skip

    for rows in (16, 64, 128):
        ones = np.full((rows, 32), 127), np.full((32, 16), 127)
        most = 2**31 - 1
        yield asked(
            f"dot above the largest integer, {rows} rows", "i8 i8 i32", *ones, most,
            most if rows == 16 else _signed(most + 127 * 127 * 32, 32),
        )  # fmt: skip
        yield asked(
            f"dot below the smallest integer, {rows} rows", "i8 i8 i32", -ones[0], ones[1], -most,
            -most - 1 if rows == 16 else _signed(-most - 127 * 127 * 32, 32),
        )  # fmt: skip
        big = np.zeros((rows, 32))
        big[:, 0] = 300
        first = np.zeros((32, 16))
        first[0] = 300
        yield asked(f"dot that overflows, {rows} rows", "fp16 fp16 fp16", big, first, 0, INF)
        yield asked(
            f"dot of denormals, {rows} rows", "fp16 fp16 fp32", np.eye(rows, 32) * 2.0**-24,
            np.full((32, 16), 2.0**-24), 0, np.where(np.arange(rows)[:, None] < 32, 2.0**-48, 0),
        )  # fmt: skip
        yield asked(
            f"dot of denormals, {rows} rows", "bf16 bf16 fp32", np.eye(rows, 32) * 2.0**-130,
            np.full((32, 16), 1.0), 0, np.where(np.arange(rows)[:, None] < 32, 2.0**-130, 0),
        )  # fmt: skip
        yield asked(
            f"dot of denormals, {rows} rows", "fp32 fp32 fp32", np.eye(rows, 32) * 2.0**-130,
            np.full((32, 16), 2.0**100), 0, np.where(np.arange(rows)[:, None] < 32, 2.0**-30, 0),
        )  # fmt: skip
        yield asked(
            f"dot with a start of NaN, {rows} rows", "fp16 fp16 fp32", np.zeros((rows, 32)),
            np.zeros((32, 16)), NAN, NAN,
        )  # fmt: skip
        yield asked(
            f"dot with a start of -0.0, {rows} rows", "bf16 bf16 fp32", np.zeros((rows, 32)),
            -np.zeros((32, 16)), -0.0, 0.0,
        )  # fmt: skip
    small = np.arange(16 * 32).reshape(16, 32) % 5 - 2
    other = np.arange(16 * 32).reshape(16, 32) % 7 - 3
    for kind in ("fp16", "bf16", "fp8e4nv", "fp32", "i8"):
        target = "i32" if kind == "i8" else "fp32"
        yield asked(
            "dot with a transposed factor", f"{kind} {kind} {target}", small, other, 1,
            small @ other.T + 1, by_columns=True,
        )  # fmt: skip
    factors = [np.arange(2 * 16 * 32) % 5 - 2, np.arange(2 * 32 * 16) % 7 - 3]
    whole = factors[0].reshape(2, 16, 32) @ factors[1].reshape(2, 32, 16)
    for kind in ("fp16", "fp32", "i8"):
        target = "i32" if kind == "i8" else "fp32"
        yield corner(
            "dot of a batch", "batched", {"a": (kind, factors[0]), "b": (kind, factors[1])},
            {"out": (target, whole)}, B=2, M=16, K=32,
        )  # fmt: skip


def remainder_corners() -> Iterator[Corner]:
    """Remainders by a constant: compilers treat powers of two apart."""
    for dtype in ("fp32", "fp64", "fp16", "bf16"):
        large = 3.0 * 2.0**14 if dtype == "fp16" else 3.0 * 2.0**100
        a = [-3.0, 3.0, -0.0, 0.0, -2.0, -5.5, large, -large]
        for number in (1.0, 2.0, 0.5, -0.25, 3.0, 1024.0):
            rest = [math.copysign(math.fmod(x, number), x) for x in a]
            if number == 3.0:
                rest = [x if x else (-0.0 if math.copysign(1, y) < 0 and not y else 0.0)
                        for x, y in zip(rest, a, strict=True)]  # fmt: skip
                rest[6:] = [0.0, 0.0]
            yield corner(
                f"% of a block and {number}", "with_number", {"x": (dtype, a)},
                {"out": (dtype, rest)}, OP="%", C=number, N=8,
            )  # fmt: skip
    for number in (-1.0, -2.0):
        yield corner(
            f"% of a block and {number}", "with_number", {"x": ("fp32", [-3.0, -2.0, 4.0, -0.0])},
            {"out": ("fp32", [-0.0 if number == -1 else -1, -0.0, 0.0, -0.0])}, OP="%", C=number,
            N=4,
        )  # fmt: skip
    for dtype in ("fp16", "bf16"):
        yield corner(
            "% of a block and 1.0, kept wide", "with_number", {"x": (dtype, [-3.0, -2.5])},
            {"out": ("fp32", [-0.0, -0.5])}, OP="%", C=1.0, N=2,
        )  # fmt: skip
    for dtype in ("fp32", "fp64"):
        yield corner(
            "% of two blocks", "mixed",
            {"x": (dtype, [-3.0, -2.5, -0.0, 3]), "y": (dtype, [1.0] * 4)},
            {"out": (dtype, [0.0, -0.5, 0.0, 0.0])}, OP="%", N=4,
        )  # fmt: skip


def saturating_corners() -> Iterator[Corner]:
    """Products of int8 that leave int32: `mma` saturates, `wgmma` wraps around."""
    most = 2**31 - 1
    for rows, warps, depth, by_columns in (
        (32, 4, 64, False), (64, 8, 64, False), (64, 4, 64, True),
        (16, 1, 128, True), (64, 2, 32, False), (64, 1, 64, False),
    ):  # fmt: skip
        saturates = rows < 64 or warps < 4
        a = np.full((rows, depth), 127)
        b = np.full((depth, 16), 127)
        a[:, 32:] = -127  # the second instruction takes back what the first one cut off
        start, part = most - 5, 127 * 127 * 32
        total = start
        for k in range(0, depth, 32):
            total += part if k == 0 else -part
            total = max(min(total, most), -most - 1) if saturates else _signed(total, 32)
        yield corner(
            f"dot that leaves int32 and returns, {rows} by {depth}, {warps} warps", "product_with",
            {"a": ("i8", a), "b": ("i8", b.T if by_columns else b),
             "c": ("i32", np.full((rows, 16), start))},
            {"out": ("i32", np.full((rows, 16), total))}, M=rows, N=16, K=depth,
            BY_COLUMNS=by_columns, options={"num_warps": warps},
        )  # fmt: skip


def control_corners() -> Iterator[Corner]:
    yield corner(
        "loops that run down", "counted_down", {"n": 3},
        {"out": ("i32", [22, 5, 309, 3])},
    )  # fmt: skip
    a, b = 0, 1
    for _ in range(60):
        a, b = b, a + b
    yield corner(
        "carried values that trade places", "exchanged", {"n": 60},
        {"out": ("i32", [_signed(a, 32), _signed(b, 32)])},
    )  # fmt: skip
    rows = np.array([[-INF] * 4, [INF, 0, 0, 0], [3] * 4, [0, -INF, -INF, -INF]])
    for keep in (False, True):
        yield corner(
            "softmax of rows" + (", kept" if keep else ""), "of_softmax", {"x": ("fp32", rows)},
            {"out": ("fp32", [[NAN] * 4, [NAN, 0, 0, 0], [0.25] * 4, [1, 0, 0, 0]])}, KEEP=keep,
            M=4, N=4, agreement=LAST_BITS,
        )  # fmt: skip


def assembly_corners() -> Iterator[Corner]:
    for code, kind, x, y, result in (
        ("shl.b32 $0, $1, $2;", "i32", [1, -1], [40, 32], [0, 0]),
        ("shr.s32 $0, $1, $2;", "i32", [-5, 5], [40, 33], [-1, 0]),
        ("shr.u32 $0, $1, $2;", "i32", [-5, -5], [31, 32], [1, 0]),
        ("mul.hi.s32 $0, $1, $2;", "i32", [-1, 2**31 - 1], [1, 4], [-1, 1]),
        ("mul.hi.u32 $0, $1, $2;", "i32", [-1, 2], [-1, -1], [-2, 1]),
        ("min.s32 $0, $1, $2;", "i32", [-1, 3], [1, -3], [-1, -3]),
        ("min.f32 $0, $1, $2;", "fp32", [NAN, -0.0], [1, 0.0], [1, -0.0]),
        ("max.NaN.f32 $0, $1, $2;", "fp32", [NAN, -0.0], [1, 0.0], [NAN, 0.0]),
        ("add.ftz.f32 $0, $1, $2;", "fp32", [1e-40, -1e-40], [0, 0], [0.0, 0.0]),
        ("mul.ftz.f32 $0, $1, $2;", "fp32", [1e-30, -1e-30], [1e-10, 1e-10], [0.0, -0.0]),
        ("add.rz.f32 $0, $1, $2;", "fp32", [1, -1], [2**-24, -(2**-24)], [1, -1]),
        ("mul.rp.f32 $0, $1, $2;", "fp32", [1 + 2**-23, 3], [1 + 2**-23, 5],
         [1 + 2**-22 + 2**-23, 15]),
        ("sub.sat.f32 $0, $1, $2;", "fp32", [3, NAN], [1, 1], [1, 0]),
        ("copysign.f32 $0, $1, $2;", "fp32", [-1, 1], [2, -0.0], [-2, 0.0]),
        ("div.rn.f32 $0, $1, $2;", "fp32", [1, 1], [3, -0.0],
         [np.float32(1) / np.float32(3), -INF]),
        ("rem.s32 $0, $1, $2;", "i32", [-7, 7], [3, -3], [-1, 1]),
        ("mul24.lo.s32 $0, $1, $2;", "i32", [2**23, 3], [2, -3], [-(2**24), -9]),
    ):  # fmt: skip
        letter = "r" if kind == "i32" else "f"
        yield corner(
            f"assembly {code.split()[0]}", "assembled", {"x": (kind, x), "y": (kind, y)},
            {"out": (kind, result)}, CODE=code, KINDS=f"={letter},{letter},{letter}", N=2,
        )  # fmt: skip


def fused_corners() -> Iterator[Corner]:
    a = np.float32(1 + 2**-12)
    near = np.float32(1 + 2**-11)
    exact = 2.0**-24
    both = [float(a * a) + sign * float(a) * float(near) for sign in (1, -1)]
    yield corner(
        "which product is fused", "two_products",
        {"x": ("fp32", [a, a]), "y": ("fp32", [a, a]), "z": ("fp32", [near, -near])},
        {"out": ("fp32", [exact, 2 + 2**-10, -exact, -2 - 2**-10, both[0], both[1]])},
        N=2, agreement=ORDER,
    )  # fmt: skip
    for fused in (True, False):
        yield corner(
            "sum of products" + ("" if fused else ", not fused"), "fused_in_sum",
            {"x": ("fp32", [a, -1] * 2), "y": ("fp32", [a, near] * 2)},
            {"out": ("fp32", [exact if fused else 0.0] * 2)}, M=2, N=2, agreement=ORDER,
            options={"enable_fp_fusion": fused},
        )  # fmt: skip


def corners() -> list[Corner]:
    """Return the questions with their guesses."""
    sources = (
        chosen_corners, copied_corners, filled_corners, mixed_corners, number_corners,
        folded_corners, chained_corners, reduced_corners, scanned_corners, ordered_corners,
        pointer_corners, atomic_corners, window_corners, product_corners, remainder_corners,
        saturating_corners, control_corners,
        assembly_corners, fused_corners,
    )  # fmt: skip
    return [each for source in sources for each in source()]


def questions() -> Iterator[Question]:
    for each in corners():
        yield each.question
