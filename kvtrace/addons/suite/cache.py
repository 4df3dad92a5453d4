"""The state of a GPU's L2 cache before a launch: cleared, or as the recorded launch found it.

A suite has a copy of this file beside its run.py: it needs torch and Triton only.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl

#: What is older than this many times the cache's size is no longer in it.
TIMES_SIZE = 2
_BLOCK = 4096
#: Bytes of an element that is touched at a time.
_WIDTH = 8


@triton.jit  # type: ignore[untyped-decorator]
def _read(pointer, sink, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(pointer + offsets, mask=offsets < count, other=0)
    if tl.sum(values) == 0x5DEECE66D1234567:  # so that the values are needed
        tl.store(sink, 1)


@triton.jit  # type: ignore[untyped-decorator]
def _write(pointer, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(pointer + offsets, mask=offsets < count, volatile=True)
    tl.store(pointer + offsets, values, mask=offsets < count)


class Touch(NamedTuple):
    """Bytes that are read or written: of a storage of the call, or of other memory (None)."""

    written: bool
    nbytes: int
    storage: str | None = None
    offset: int = 0


_TOUCH = re.compile(r"(read|write) (\d+)(?: of (.+) at (\d+))?")


def touch_of(text: str) -> Touch:
    """Return a touch from its text in the suite's index. Raises ValueError if it is none."""
    found = _TOUCH.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not what a launch finds in the cache; make the suite again")
    kind, nbytes, storage, offset = found.groups()
    return Touch(kind == "write", int(nbytes), storage, int(offset or 0))


class Cache:
    """The L2 cache of a device, and memory of nobody with which it is filled."""

    def __init__(self, device: torch.device) -> None:
        self.size = int(torch.cuda.get_device_properties(device).L2_cache_size)
        count = 2 * TIMES_SIZE * self.size // _WIDTH
        self._other = torch.zeros(count, dtype=torch.int64, device=device)
        self._sink = torch.zeros(1, dtype=torch.int64, device=device)

    def restore(self, before: Sequence[Touch], memory: Mapping[str, torch.Tensor]) -> None:
        """Touch memory as the recorded program did before a launch, the earliest first.

        `memory` has the call's storages by their names, as bytes.
        """
        recent = self._recent(before)
        if sum(touch.nbytes for touch in recent) < TIMES_SIZE * self.size:
            self._touch(self._other[self._other.numel() // 2 :], written=False)
        used = 0
        for touch in recent:
            if touch.storage is None:
                count = touch.nbytes // _WIDTH
                elements = self._other[used : used + count]
                used += count
            else:
                storage = memory[touch.storage]
                begin = -(-touch.offset // _WIDTH) * _WIDTH
                end = min(touch.offset + touch.nbytes, storage.numel()) // _WIDTH * _WIDTH
                elements = storage[begin : max(begin, end)].view(torch.int64)
            self._touch(elements, written=touch.written)

    def _recent(self, before: Sequence[Touch]) -> list[Touch]:
        """Return the latest touches, the earliest first: what the cache may still hold of them."""
        recent: list[Touch] = []
        room = TIMES_SIZE * self.size
        for touch in reversed(before):
            if room <= 0:
                break
            size = touch.nbytes if touch.storage is not None else min(touch.nbytes, room)
            recent.append(touch._replace(nbytes=size))
            room -= size
        return recent[::-1]

    def _touch(self, elements: torch.Tensor, *, written: bool) -> None:
        count = elements.numel()
        if not count:
            return
        grid = (triton.cdiv(count, _BLOCK),)
        if written:
            _write[grid](elements, count, BLOCK=_BLOCK)
        else:
            _read[grid](elements, self._sink, count, BLOCK=_BLOCK)
