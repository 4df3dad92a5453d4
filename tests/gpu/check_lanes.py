"""To be run by hand on a machine with an NVIDIA GPU: lanes of one store that conflict.

    python tests/gpu/check_lanes.py

Kernels whose stores break the rule lane-conflict, and twins that do not, are launched with several
numbers of warps, many times each, and compared with what their lanes do one after the other, in
order. Prints of each how many results there were, how many were not that one, and what the rule
says of it. Ends with 1 if a twin ever differs, if the rule does not say what the list does, or if
no launch shows any conflict.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from corpus.defects.lane_conflicts import (
    cut,
    indexed,
    looped,
    placed,
    tiled,
)
from kvtrace.evaluate import TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.judge import judge
from tests.kernels.launching import bind, compile_for

WARPS = (1, 2, 4, 8)
LAUNCHES = 50
BLOCK = 1024


class Case(NamedTuple):
    """A launch: its arguments, and what lanes leave in `out` one after the other."""

    name: str
    kernel: Any
    arguments: dict[str, Any]
    constexprs: dict[str, Any]
    expected: np.ndarray
    conflicts: bool


def one_by_one(size: int, places: Any, values: Any) -> np.ndarray:
    """Store values at places, lane by lane in order."""
    out = np.zeros(size, np.float32)
    for place, value in zip(np.ravel(places), np.ravel(values), strict=True):
        out[place] = value
    return out


def cases() -> Iterator[Case]:
    """Return all launches."""
    lanes = np.arange(BLOCK)
    x = np.arange(1, BLOCK + 1, dtype=np.float32)
    index = np.random.default_rng(0).integers(0, 64, BLOCK).astype(np.int32)
    permuted = np.random.default_rng(0).permutation(BLOCK).astype(np.int32)

    def place(kind: str, places: Any, conflicts: bool, n: int = 640, stride: int = 1,
              values: Any = x, mask: Any = None) -> Case:  # fmt: skip
        mask = np.ones(BLOCK, bool) if mask is None else mask
        given = {"x": x, "out": np.zeros(2 * BLOCK, np.float32), "n": n, "stride": stride}
        expected = one_by_one(2 * BLOCK, places[mask], np.broadcast_to(values, (BLOCK,))[mask])
        return Case(kind, placed, given, {"KIND": kind, "BLOCK": BLOCK}, expected, conflicts)

    yield place("stride", lanes * 0, True, stride=0)
    yield place("stride", lanes * 2, False, stride=2)
    yield place("wrapped", lanes % 640, True)
    yield place("wrapped, and its value", lanes % 640, False, values=x[lanes % 640] * 2)
    yield place("wrapped, masked", lanes % 640, False, mask=lanes < 640)
    yield place("halved", lanes // 2, True)
    yield place("halved, the even ones", lanes // 2, False, mask=lanes % 2 == 0)
    yield place("clamped", np.minimum(lanes, 639), True)
    yield place("dumped", np.where(lanes < 640, lanes, BLOCK), True)
    yield place("bits", lanes & 7, True)
    yield place("twice around", lanes * 6 % 640, True)

    def scatter(kind: str, at: Any, update: Callable[[Any, Any], Any], conflicts: bool) -> Case:
        out = np.zeros(BLOCK, np.float32)
        for place_, value in zip(at, x, strict=True):
            out[place_] = update(out[place_], value)
        given = {"x": x, "index": at, "out": np.zeros(BLOCK, np.float32), "n": BLOCK}
        return Case(kind, indexed, given, {"KIND": kind, "BLOCK": BLOCK}, out, conflicts)

    yield scatter("scattered", index, lambda _, new: new, True)
    yield scatter("scattered", permuted, lambda _, new: new, False)
    yield scatter("marked", index, lambda _old, _new: 1.0, False)
    yield scatter("histogram", index, lambda old, _: old + 1, True)
    yield scatter("histogram", permuted, lambda old, _: old + 1, False)
    yield scatter("added", index, lambda old, new: old + new, True)
    yield scatter("atomic", index, lambda old, new: old + new, False)

    rows, columns = np.meshgrid(np.arange(32), np.arange(64), indexing="ij")
    tile = np.arange(1, 32 * 60 + 1, dtype=np.float32).reshape(32, 60)
    inside = columns < 60

    def tiles(kind: str, ld: int, places: Any, conflicts: bool) -> Case:
        values = np.where(inside, tile[rows, np.minimum(columns, 59)], 0)
        given = {"x": tile, "out": np.zeros(64 * 64, np.float32), "m": 32, "n": 60, "ld": ld}
        expected = one_by_one(64 * 64, places[inside], values[inside])
        return Case(kind, tiled, given, {"KIND": kind, "BM": 32, "BN": 64}, expected, conflicts)

    yield tiles("rows", 60, rows * 60 + columns, False)
    yield tiles("rows", 40, rows * 40 + columns, True)
    yield tiles("transposed", 32, columns * 32 + rows, False)
    yield tiles("transposed", 20, columns * 20 + rows, True)
    yield tiles("diagonals", 60, rows + columns, True)
    yield tiles("one row", 60, columns, True)

    three = np.arange(1, 3 * BLOCK + 1, dtype=np.float32)

    def loops(kind: str, step: int, places: Any, values: Any, conflicts: bool) -> Case:
        given = {"x": three, "out": np.zeros(8 * BLOCK, np.float32), "n": 3, "step": step}
        expected = one_by_one(8 * BLOCK, places, values)
        constexprs = {"KIND": kind, "BLOCK": BLOCK}
        return Case(kind, looped, given, constexprs, expected, conflicts)

    trips = np.arange(3)[:, None]
    loaded = three.reshape(3, BLOCK)
    yield loops("by step", 1, trips * BLOCK + lanes, loaded, False)
    yield loops("by step", 2, trips * BLOCK + lanes // 2, loaded, True)
    yield loops("sums", 2, lanes // 2, loaded.sum(0), True)

    data = np.zeros(4 * BLOCK, np.int8)
    for lane in lanes:
        data[lane * 4 : lane * 4 + 4] = x[lane : lane + 1].view(np.int8)
    given = {"x": x, "out": np.zeros(4 * BLOCK, np.int8)}
    yield Case("cut", cut, given, {"STEP": 4, "BLOCK": BLOCK}, data, False)


def results(case: Case) -> list[np.ndarray]:
    """Launch a case with all numbers of warps, many times each."""
    found = []
    for warps in WARPS:
        for _ in range(LAUNCHES):
            given = {
                name: torch.from_numpy(value.copy()).cuda() if hasattr(value, "shape") else value
                for name, value in case.arguments.items()
            }
            case.kernel[(1,)](**given, **case.constexprs, num_warps=warps)
            found.append(given["out"].cpu().numpy())
    return found


def answer(case: Case) -> str:
    """Return what the rule says of a case."""
    tensors = {
        name: torch.from_numpy(value) if hasattr(value, "shape") else value
        for name, value in case.arguments.items()
    }
    module = compile_for(case.kernel, tensors, case.constexprs)
    bound = bind(case.kernel, tensors)
    recorded = tuple(each.name for each in bound if isinstance(each, TensorArgument))
    call = Call(0, case.name, (1, 1, 1), module, tuple(bound), recorded)
    found = {verdict.verdict for verdict in judge(call, ["lane-conflict"])}
    return " ".join(sorted(found)) or "nothing"


def main() -> int:
    """Launch all, and print what they left."""
    failed, shown = [], 0
    for case in cases():
        found = results(case)
        different = len({result.tobytes() for result in found})
        wrong = sum(result.tobytes() != case.expected.tobytes() for result in found)
        said = answer(case)
        print(
            f"{'conflicts' if case.conflicts else 'twin':10}{case.name:28}{different:4} results, "
            f"{wrong:4} of {len(found)} not that of lanes in order; {said}"
        )
        shown += case.conflicts and (wrong > 0 or different > 1)
        if (said == "violation") != case.conflicts or (not case.conflicts and wrong):
            failed.append(case.name)
    print(f"{shown} conflicts show; wrong: {', '.join(failed) or 'none'}")
    return int(bool(failed) or not shown)


if __name__ == "__main__":
    sys.exit(main())
