"""Pairs of versions of a kernel whose kept results `kvtrace diff` compares."""

import contextlib
import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from corpus.case import Answer, Case
from corpus.questions.bodies import Launches, same_results

N = 64

#: What every kernel begins with: a sort, so that IR alone does not decide.
_KERNEL = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def changed({arguments}BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.sort(tl.load(x + tl.program_id(0) * BLOCK + at))
{body}
"""


def numbers(seed: int = 0, size: int = N) -> torch.Tensor:
    """Return random numbers between 0.5 and 1.5, equal for equal seeds."""
    return torch.rand(size, generator=torch.Generator().manual_seed(seed)) + 0.5


def one(*values: float, dtype: torch.dtype = torch.float32, fill: float = -1.0) -> Launches:
    """Return a function that launches a kernel once, on a tensor that begins with `values`."""

    def launch(kernel: Any) -> None:
        x = numbers()
        x[: len(values)] = torch.tensor(values)
        kernel[(1,)](x, torch.full((2 * N,), fill, dtype=dtype), BLOCK=N)

    return launch


@dataclass(frozen=True)
class Pair:
    """Two bodies of a kernel, and whether their kept results are the same.

    Attributes:
        same: whether the recorded launches' results are the same up to rounding; None if the kept
            results do not decide it, so that neither yes nor no is right.
        launch: launches both versions; `launch_after` the second one, if it is launched otherwise.
        check: the settings KVTRACE_CHECK of the recordings before and after.
        limit: the setting KVTRACE_CHECK_BYTES of both.
    """

    name: str
    same: bool | None
    why: str
    before: str
    after: str
    launch: Launches = field(default_factory=one)
    launch_after: Launches | None = None
    arguments: str = "x, out, "
    check: tuple[str, str] = ("kernel:changed", "kernel:changed")
    limit: int | None = None


def _text(body: str, arguments: str) -> str:
    return _KERNEL.format(arguments=arguments, body=textwrap.indent(body, "    "))


@contextlib.contextmanager
def _limited(limit: int | None) -> Iterator[None]:
    if limit is not None:
        os.environ["KVTRACE_CHECK_BYTES"] = str(limit)
    try:
        yield
    finally:
        os.environ.pop("KVTRACE_CHECK_BYTES", None)


def ask(pair: Pair) -> tuple[Answer, str]:
    """Record both versions, and return the answer to "same results?" and its evidence."""
    sides = zip(
        (pair.before, pair.after), (pair.launch, pair.launch_after), pair.check, strict=True
    )
    with _limited(pair.limit):
        return same_results(
            *(
                (
                    _text(body, pair.arguments), launch or pair.launch,
                    {"check": check, "target": "cuda:90"},
                )
                for body, launch, check in sides
            )
        )  # fmt: skip


def _cases_of_pair(pair: Pair) -> Iterator[Case]:
    """Yield the pair's case; if neither answer is right, a case against each answer."""
    if pair.same is not None:
        yield Case(pair.name, pair.same, pair.why, partial(ask, pair), evidence="read")
        return
    for right in (True, False):
        named_pair = replace(pair, name=f"{pair.name}, not {'no' if right else 'yes'}")
        yield Case(named_pair.name, right, pair.why, partial(ask, pair), evidence="read")


def cases_of(pairs: Sequence[Pair]) -> list[Case]:
    """Return the cases of all pairs."""
    return [case for pair in pairs for case in _cases_of_pair(pair)]
