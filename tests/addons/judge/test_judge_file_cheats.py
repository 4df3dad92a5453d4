"""Published ways to pass for a kernel without being one, each with an honest twin.

Published in: ScalingIntelligence/KernelBench pull request 82, gpu-mode/reference-kernels issue 162,
gpu-mode/pygpubench pull request 7, AMD-AGI/GEAK issue 254. The programs are our own.
"""

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request
from tests.addons.judge.labeled import FOLDER, pairs, request_for
from tests.support.thorough import THOROUGH, in_turn

PAIRS = pairs()
#: One cheat for each way in which the verdict is reached; one of them is judged at each push.
TELLING = (
    "norm_as_scalar", "sorted_after", "transposed_before", "weights_of_integers",
    "right_where_it_is_judged", "negative_integers",
)  # fmt: skip
NAMES = in_turn(PAIRS if THOROUGH else TELLING, len(TELLING))


def test_collection_has_at_least_forty_cheats():
    assert len(PAIRS) >= 40


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_cheat_is_not_right_and_its_honest_twin_is(name):
    cheat = judge_file(request_for(PAIRS[name], "cheat"))
    assert cheat.verdict != "right"
    assert {finding["severity"] for finding in cheat.object["findings"]} & {"error", "unjudged"}

    honest = judge_file(request_for(PAIRS[name], "honest"))
    assert honest.verdict == "right", honest.object["findings"]


@pytest.mark.process
def test_scalar_computed_by_pytorch_is_named_by_its_argument():
    (finding,) = [
        listed
        for listed in judge_file(request_for(PAIRS["norm_as_scalar"], "cheat")).object["findings"]
        if listed["rule"] == "host-computed"
    ]
    assert finding["severity"] == "unjudged"
    assert finding["message"].endswith("see the argument norm of divide_kernel")


@pytest.mark.process
def test_host_integers_that_decide_addresses_are_only_a_warning():
    """Sorted indices say which element a program reads; no result is made of them."""
    judgment = judge_file(request_for(PAIRS["one_hot_by_the_host"], "honest"))
    rules = {finding["rule"]: finding["message"] for finding in judgment.object["findings"]}
    assert judgment.verdict == "right"
    assert "computed the contents of index of kernel" in rules.get("host-indices", "")


GELU = """import torch


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def inputs():
    return {"x": torch.cat([torch.linspace(0.7, 1, 99), torch.linspace(0.1, 0.4, 99)])}
"""


@pytest.mark.process
def test_kernel_wrong_for_other_values_is_wrong_and_not_a_cheat(tmp_path):
    source = (FOLDER / "kernels" / "right" / "gelu.py").read_text(encoding="utf-8")
    line = "    inner = "
    assert line in source
    path = tmp_path / "gap.py"
    wrong = f"    v = tl.where((v > 0.5) & (v < 0.6), 0.0, v)\n{line}"
    path.write_text(source.replace(line, wrong))
    (tmp_path / "reference.py").write_text(GELU)
    request = Request(Place(path, "gelu"), Place(tmp_path / "reference.py", "gelu"), views=False)
    rules = {finding["rule"] for finding in judge_file(request).object["findings"]}
    assert "wrong-result" in rules
    assert "host-computed" not in rules
