"""Pairs whose kept results deceive by launches: strides, order, limits, shared storages."""

from typing import Any

import torch

from corpus.questions.kept import N, Pair, cases_of, numbers, one

_BEFORE, _SAME = "value * 0.3 + value * 0.4", "value * 0.7"
_WRONG = "value * 0.7 + tl.where(value == 1234.5, 0.01, 0.0)"
_STORE = "tl.store(out + tl.program_id(0) * BLOCK + at, {})"


def _body(text: str) -> str:
    return _STORE.format(text)


def _launch(*inputs: torch.Tensor, out: Any = None, grid: int = 1) -> Any:
    def launch(kernel: Any) -> None:
        for x in inputs:
            result = torch.full((grid * N,), -1.0) if out is None else out()
            kernel[(grid,)](x.clone(), result, BLOCK=N)

    return launch


def _special(seed: int = 0, place: int = 5, size: int = N) -> torch.Tensor:
    x = numbers(seed, size)
    x[place] = 1234.5
    return x


def _in_place(kernel: Any) -> None:
    x = _special()
    kernel[(1,)](x, x, BLOCK=N)


def _in_place_plain(kernel: Any) -> None:
    x = numbers()
    kernel[(1,)](x, x, BLOCK=N)


def _overlapping(kernel: Any) -> None:
    storage = torch.full((3 * N // 2,), -1.0)
    kernel[(1,)](_special(), storage[:N], storage[N // 2 :], BLOCK=N)


def _two(x: torch.Tensor) -> Any:
    def launch(kernel: Any) -> None:
        kernel[(1,)](x.clone(), torch.zeros(N), torch.zeros(N), BLOCK=N)

    return launch


def _transposed(x: torch.Tensor) -> Any:
    return _launch(x, out=lambda: torch.full((8, 8), -1.0).t())


def _scaled(scale: float) -> Any:
    def launch(kernel: Any) -> None:
        kernel[(1,)](numbers(), torch.zeros(N), scale, BLOCK=N)

    return launch


def _scattered(kernel: Any) -> None:
    kernel[(8,)](numbers(size=8 * N), torch.zeros(N), BLOCK=N)


def _many(kernel: Any) -> None:
    count = 1 << 14  # 4 MiB in, 64 times as much out: more than is kept whole
    x = numbers(size=N).repeat(count)
    x[5 * N] = 1234.5
    kernel[(count,)](x, torch.full((count * N * 16,), -1.0), BLOCK=N)


def _of(kernel: str, *launch: Any, **more: Any) -> dict[str, Any]:
    return {"before": _body(_BEFORE), "after": _body(kernel), **more} | (
        {"launch": launch[0]} if launch else {}
    )


_PAIR_OF_OUTPUTS = "x, out, other, "
_BOTH = "tl.store(out + at, value * 0.7)\ntl.store(other + at, {})"
_WIDE = "tl.store(out + tl.program_id(0) * BLOCK * 16 + at * 16, {})"

PAIRS = (
    Pair("another order of calls", True, "the same pairs of inputs and results",
         **_of(_SAME, _launch(numbers(1), numbers(2)),
               launch_after=_launch(numbers(2), numbers(1)))),
    Pair("another order, one is wrong", False, "the second input shows it",
         **_of(_WRONG, _launch(numbers(1), _special(2)),
               launch_after=_launch(_special(2), numbers(1)))),
    Pair("the same input twice, then a wrong one", False, "the third call shows it",
         **_of(_WRONG, _launch(numbers(1), numbers(1), _special(2)))),
    Pair("a call more, wrong", None, "the first version never had that input",
         **_of(_WRONG, _launch(numbers(1)), launch_after=_launch(numbers(1), _special(2)))),
    Pair("other inputs", None, "nothing in common",
         **_of(_SAME, _launch(numbers(1)), launch_after=_launch(numbers(2)))),
    Pair("one side kept", None, "nothing to compare", **_of(_SAME), check=("kernel:changed", "")),
    Pair("neither side kept", None, "nothing to compare", **_of(_SAME), check=("", "")),
    Pair("the first launch alone is kept", False, "the second one shows it",
         **_of(_WRONG, _launch(numbers(1), _special(2))), check=("first", "first")),
    Pair("the first launch alone is kept by AFTER", False, "the second one shows it",
         **_of(_WRONG, _launch(numbers(1), _special(2))), check=("kernel:changed", "first")),
    Pair("a limit of bytes", False, "the launch that shows it was not kept",
         **_of(_WRONG, _launch(*(numbers(seed) for seed in range(4)), _special(9))), limit=2000),
    Pair("one program of many", False, "the program that shows it was not kept",
         _WIDE.format(_BEFORE), _WIDE.format(_WRONG), _many),
    Pair("in place, wrong", False, "the input shows it", **_of(_WRONG, _in_place)),
    Pair("in place", True, "rounding alone", **_of(_SAME, _in_place_plain)),
    Pair("in place on one side", None, "the second one overwrites its input",
         **_of(_SAME, one(), launch_after=_in_place_plain)),
    Pair("overlapping outputs", False, "one of them is wrong where both are",
         _BOTH.format(_BEFORE), _BOTH.format(_WRONG), _overlapping, arguments=_PAIR_OF_OUTPUTS),
    Pair("the other output", False, "one of two is wrong", _BOTH.format(_BEFORE),
         _BOTH.format(_WRONG), _two(_special()), arguments=_PAIR_OF_OUTPUTS),
    Pair("both outputs", True, "rounding alone", _BOTH.format(_BEFORE), _BOTH.format(_SAME),
         _two(numbers()), arguments=_PAIR_OF_OUTPUTS),
    Pair("outputs change places", False, "each has the other's",
         "tl.store(out + at, value)\ntl.store(other + at, value * 2)",
         "tl.store(out + at, value * 2)\ntl.store(other + at, value)", _two(numbers()),
         arguments=_PAIR_OF_OUTPUTS),
    Pair("transposed output", True, "rounding alone", **_of(_SAME, _transposed(numbers()))),
    Pair("transposed output, wrong", False, "one element",
         **_of(_WRONG, _transposed(_special()))),
    Pair("half is not written", False, "what was there before is left",
         _body(_BEFORE), "tl.store(out + at, value * 0.7, mask=at < 63)"),
    Pair("more is written", False, "past what the first version writes",
         "tl.store(out + at, value * 0.7)",
         "tl.store(out + at, value * 0.7)\ntl.store(out + at + BLOCK, value)"),
    Pair("a smaller output", False, "its second half is missing", **_of(
        "value * 0.7", launch_after=lambda kernel: kernel[(1,)](
            numbers(), torch.full((N,), -1.0), BLOCK=N))),
    Pair("an output of 16 bits", False, "precision lowered", **_of(
        _SAME, launch_after=one(dtype=torch.float16))),
    Pair("a scalar", False, "another scale", "tl.store(out + at, value * scale)",
         "tl.store(out + at, scale * value)", _scaled(0.5), launch_after=_scaled(0.25),
         arguments="x, out, scale, "),
    Pair("another content of the output before", True, "half of it is never written",
         "tl.store(out + at, value * 0.7)", "tl.store(out + at, value * 0.3 + value * 0.4)",
         one(fill=-1.0), launch_after=one(fill=-2.0)),
    Pair("atomic sums", True, "another order",
         "tl.atomic_add(out + at, value)", "tl.atomic_add(out + 63 - at, tl.flip(value, 0))",
         _scattered),
    Pair("atomic sums without one program", False, "an eighth is missing",
         "tl.atomic_add(out + at, value)",
         "tl.atomic_add(out + at, value, mask=tl.program_id(0) < 7)", _scattered),
    Pair("an atomic maximum", False, "the smallest is kept",
         "tl.atomic_max(out + at, value)", "tl.atomic_min(out + at, value)", _scattered),
    Pair("accumulated", True, "rounding alone; the output is read, too",
         "tl.store(out + at, tl.load(out + at) + value * 0.7)",
         "tl.store(out + at, value * 0.7 + tl.load(out + at))", one(fill=3.0)),
    Pair("no longer accumulated", False, "what was there is lost",
         "tl.store(out + at, tl.load(out + at) + value)", "tl.store(out + at, value)",
         one(fill=3.0)),
    Pair("a wider grid", True, "the other programs write what was written",
         _body(_BEFORE), "tl.store(out + at, value * 0.7, mask=tl.program_id(0) == 0)",
         _launch(numbers(size=2 * N), out=lambda: torch.full((2 * N,), -1.0)),
         launch_after=_launch(numbers(size=2 * N), out=lambda: torch.full((2 * N,), -1.0),
                              grid=2)),
)  # fmt: skip

CASES = cases_of(PAIRS)
