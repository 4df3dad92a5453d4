"""Pairs of versions of a kernel whose kept results are compared, and how kvtrace is asked."""

import contextlib
import importlib.util
import io
import os
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import kvtrace
from benchmarks.attacks.case import Answer, Case
from kvtrace.converters.diff import compare
from kvtrace.schema.trace import resolve

N = 64

Launches = Callable[[Any], None]

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
    """Return the same numbers between 0.5 and 1.5 each time."""
    return torch.rand(size, generator=torch.Generator().manual_seed(seed)) + 0.5


def one(*values: float, dtype: torch.dtype = torch.float32, fill: float = -1.0) -> Launches:
    """Return what launches a kernel once, on numbers of which the first are given."""

    def launch(kernel: Any) -> None:
        x = numbers()
        x[: len(values)] = torch.tensor(values)
        kernel[(1,)](x, torch.full((2 * N,), fill, dtype=dtype), BLOCK=N)

    return launch


@dataclass(frozen=True)
class Pair:
    """Two bodies of a kernel.

    Attributes:
        same: whether what the recorded launches compute is the same up to rounding; None: what is
            kept does not decide it, so that neither yes nor no is right.
        launch: launches both versions; `launch_after` the second one, if it is launched otherwise.
        check: what is kept of each side.
        limit: KVTRACE_CHECK_BYTES.
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


def _kernel(body: str, arguments: str, folder: Path) -> Any:
    text = _KERNEL.format(arguments=arguments, body=textwrap.indent(body, "    "))
    path = folder / "kernel.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("versions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.changed


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
    root = Path(tempfile.mkdtemp())
    sides = (("before", pair.before, pair.launch), ("after", pair.after, pair.launch_after))
    for (name, body, launch), check in zip(sides, pair.check, strict=True):
        (root / name).mkdir()
        kernel = _kernel(body, pair.arguments, root / name)
        with (
            _limited(pair.limit),
            contextlib.redirect_stderr(io.StringIO()),
            kvtrace.capture(root / name / "out", check=check, target="cuda:90"),
        ):
            (launch or pair.launch)(kernel)
    found = compare(*(resolve(root / name / "out") for name, *_ in sides))
    line = found.answers[1]
    answer = {"yes": Answer.YES, "no": Answer.NO}.get(line.word, Answer.UNKNOWN)
    return answer, re.sub(r"\s+", " ", line.evidence)


def cases_of(pair: Pair) -> Iterator[Case]:
    """Give the pair's case; where neither answer is right, one against each."""
    if pair.same is not None:
        yield Case(pair.name, pair.same, pair.why, partial(ask, pair), evidence="read")
        return
    for right in (True, False):
        named = replace(pair, name=f"{pair.name}, not {'no' if right else 'yes'}")
        yield Case(named.name, right, pair.why, partial(ask, pair), evidence="read")
