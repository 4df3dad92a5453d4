"""Origins of differences that are planted in a small training program, named by `kvtrace diff`."""

import os
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.gpu.check_parted import (
    EMPTY,
    PLANTS,
    Edits,
    Plant,
    other_bit,
    settings,
    text_of,
    told,
    verdict,
)
from tests.support.warm_python import warm_python

_FIRST = "launch {} is the first with another result"
#: What else may differ, beside what is planted on a GPU.
NEIGHBORS = {
    "warps": Plant(
        _FIRST.format("1 of dropped_out") + r".*code was changed \(num_warps 4 → 8\); its inputs",
        ((("step, BLOCK=256", "step, BLOCK=256, num_warps=8"), *other_bit("dropped_out", 1)),),
    ),
    "launch-dropped": Plant(
        "other kernels are launched: launch 7 was one of updated, and launch 7 is of dropped_out",
        ((("    updated[", "    if step != 1: updated["),),),
    ),
    "operator-dropped": Plant(
        _FIRST.format("2 of dropped_out") + ".*x was computed, was computed by aten::mul_ .*only "
        "before",
        ((("    x.mul_", "    if step != 1: x.mul_"),),),
    ),
    "empty-operand": Plant(
        "wrote other of aten::add, from which x was computed, since aten::empty at train.py",
        ((("JUNK = 64", "JUNK = 65"),),),
        (("carry = torch", EMPTY.replace("carry", "noise") + "carry = torch"),
         ("    hidden =", "    x.copy_(x + noise[:1])\n    hidden =")),
    ),
    "rest-of-output": Plant(
        _FIRST.format("1 of dropped_out") + r".*: it leaves elements of out as they were \(out was "
        "computed by aten::ones at train.py",
        ((("out, gradient = torch.zeros", "out, gradient = torch.ones"),),),
        (("dropped_out[(4,)]", "dropped_out[(3,)]"),),
    ),
    "rest-of-output-filled": Plant(
        _FIRST.format("1 of dropped_out") + ".*: it leaves elements of out as they were, or the "
        "kernel is not deterministic",
        ((("out[1:] = 1", "out[1:] = 2"),),),
        (("dropped_out[(4,)]", "dropped_out[(3,)]"), ("carry =", "out[1:] = 1; carry =")),
    ),
}  # fmt: skip
#: What needs a GPU, and what needs two processes.
_ELSEWHERE = {"gemm", "tf32", *(name for name, plant in PLANTS.items() if plant.ranks > 1)}


@pytest.fixture(scope="module")
def why(tmp_path_factory):
    """Return the sentence on the first difference of a plant's twins, "" if there is none."""

    @cache
    def recorded(number: int, edits: Edits, memory: str) -> Path:
        folder = tmp_path_factory.mktemp("origins")
        (folder / "train.py").write_text(text_of(edits))
        environment = {**os.environ, **settings(folder / "out", "cpu"), "KVTRACE_MEMORY": memory}
        done = warm_python().run(folder / "train.py", folder=folder, environment=environment)
        assert done.returncode == 0, done.stderr
        return folder / "out"

    def sentence(plant: Plant, memory: str = "on") -> str:
        sides = enumerate(((), *plant.twins))
        base, *twins = (recorded(n, (*plant.both, *edits), memory) for n, edits in sides)
        return told(plant, base, twins)

    return sentence


@pytest.mark.process
@pytest.mark.costly("records each program; day has the bracket without operators")
@pytest.mark.parametrize("name", [*(name for name in PLANTS if name not in _ELSEWHERE), *NEIGHBORS])
def test_origin_of_a_planted_difference_is_named(why, name):
    plant = (PLANTS | NEIGHBORS)[name]
    text = why(plant)
    assert verdict(plant, text) == "right", text


@pytest.mark.process
def test_without_operators_an_earlier_launch_on_other_memory_is_no_bracket(why):
    text = why(PLANTS["sample"], memory="")
    assert "(equal results, which may not have had these inputs)" in text
    assert "KVTRACE_MEMORY=on operators" in text
