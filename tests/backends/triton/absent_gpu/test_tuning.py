"""What Inductor and Helion tune for themselves, with KVTRACE_DEVICE=cpu: no trial is launched."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.tuning import place_helion
from kvtrace.schema.trace import open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with, versions
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

TRAINED = """
import json, sys
import torch

def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 64)
    ).cuda()

def losses(compiled):
    parameters = model()
    step = torch.compile(parameters) if compiled else parameters
    optimizer = torch.optim.AdamW(parameters.parameters())
    x = torch.linspace(-1, 1, 32 * 64, device="cuda").reshape(32, 64)
    seen = []
    for _ in range(2):
        loss = step(x).softmax(-1).pow(2).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seen.append(loss.item())
    return seen

print(json.dumps([losses(True), losses(False)]))
"""

CHOSEN = """
import json
import torch
import torch._inductor.config as config
config.max_autotune_gemm_backends = "TRITON"
config.coordinate_descent_tuning = True
config.benchmark_fusion = True
config.combo_kernels = True
config.benchmark_combo_kernel = True

def several(a, b, c):
    product = (a @ b).relu() + c
    return torch.softmax(product, -1).sum(0), (a * 2).sum(1), (b + 1).amax(0)

a, b, c = (torch.rand(*shape, device="cuda") for shape in ((64, 32), (32, 64), (64,)))
compiled = torch.compile(several, mode="max-autotune-no-cudagraphs")
right = [
    torch.allclose(one, other, atol=1e-3)
    for _ in range(2) for one, other in zip(compiled(a, b, c), several(a, b, c), strict=True)
]
print(json.dumps(right))
"""


class Compiled:
    """What a compiled program printed, its trace, and what it left in Inductor's cache."""

    def __init__(self, version: str, text: str, folder: Path) -> None:
        (folder / "program.py").write_text(text)
        done = run_with(
            version, [str(folder / "program.py")], folder / "triton", fresh=True,
            KVTRACE=str(folder / "out"), KVTRACE_DEVICE="cpu", KVTRACE_COMPILE="ttir",
            TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
        )  # fmt: skip
        self.seen: Any = json.loads(done.stdout.splitlines()[-1])
        self.errors = done.stderr
        self.launches = open_trace(folder / "out").table("launches")
        left = [path for path in (folder / "inductor").rglob("*") if path.is_file()]
        self.measured = [path for path in left if path.suffix in (".best_config", ".kernel_perf")]
        self.measured += [path for path in left if path.parent.parent.name == "local_cache"]


@pytest.fixture(scope="module", params=versions())
@needs("process")
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled(request.param, TRAINED, tmp_path_factory.mktemp("trained"))


@pytest.mark.process
def test_a_training_program_launches_no_trials(trained: Compiled) -> None:
    assert set(trained.launches["phase"].to_pylist()) == {"run"}
    assert trained.launches.num_rows % 2 == 0  # as many in each step
    assert 6 <= trained.launches.num_rows <= 16
    assert trained.measured == []


@pytest.mark.process
def test_compiled_results_equal_eager_results(trained: Compiled) -> None:
    compiled, eager = trained.seen
    assert compiled == pytest.approx(eager, rel=1e-4)


@pytest.mark.process
def test_the_program_ends_without_messages_on_drivers(trained: Compiled) -> None:
    assert "Exception ignored" not in trained.errors
    assert "active drivers" not in trained.errors


@pytest.mark.process
@pytest.mark.night("nine seconds; a training program that launches no trials stays, above")
def test_templates_fusions_and_searches_take_their_first_choice(tmp_path: Path) -> None:
    chosen = Compiled(INSTALLED, CHOSEN, tmp_path)

    assert chosen.seen == [True] * 6
    assert set(chosen.launches["phase"].to_pylist()) == {"run"}
    assert chosen.measured == []
    assert "triton_mm_0 1.0000 ms" in chosen.errors
    assert "triton_mm_1 inf ms" in chosen.errors  # it was not even compiled


class _BoundKernel:
    """What Helion's bound kernels have, as far as choosing goes."""

    def __init__(self, *configurations: str) -> None:
        self.kernel = type("Kernel", (), {"configs": list(configurations)})()
        specification = {"default_config": lambda _self: "default"}
        self.config_spec = type("ConfigSpec", (), specification)()
        self.chosen: list[str] = []

    def set_config(self, config: str) -> None:
        self.chosen.append(config)

    def autotune(self, _args: Any, **_: Any) -> str:
        raise AssertionError("it measures")


def test_helion_takes_the_first_configuration_that_a_kernel_names_or_its_default() -> None:
    replaced = Replacements()
    place_helion(type("kernel", (), {"BoundKernel": _BoundKernel}), replaced)
    try:
        named, unnamed = _BoundKernel("one", "two"), _BoundKernel()
        assert named.autotune((), force=False) == "one"
        assert named.autotune(()) == "default"  # it forces a search beyond what is named
        assert unnamed.autotune((), force=False) == "default"
        assert (named.chosen, unnamed.chosen) == (["one", "default"], ["default"])
    finally:
        replaced.undo()
    with pytest.raises(AssertionError, match="it measures"):
        _BoundKernel().autotune(())
