"""Every snippet of docs/trainers.md, run with the trainer or the tracker that it is for.

They are some 400 MB, so `make test-trainers` installs them into a folder of its own, and names the
folder in KVTRACE_TEST_TRAINERS. The GPU is absent, networks are not asked.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import kvtrace
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.cli import main
from tests.docs.pages import Written, steps
from tests.support.tiers import needs
from tests.support.tree import ROOT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        "KVTRACE_TEST_TRAINERS" not in os.environ,
        reason="the trainers are not there (make test-trainers)",
    ),
]
PAGE = ROOT / "docs" / "trainers.md"
SNIPPETS = {step.name: step.text for step in steps(PAGE) if isinstance(step, Written)}
#: 24 samples in batches of two, two of which are a step of the optimizer: six steps.
MODEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, 2 * tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x):
        out = torch.empty_like(x)
        doubled[(1,)](x, out, x.numel(), BLOCK=16)
        return {"loss": self.layer(out).mean()}


data = [{"x": torch.ones(4)} for _ in range(24)]
"""
TRAINED = {
    "transformers": """
from model import Model, data
from transformers import Trainer, TrainingArguments

settings = TrainingArguments(
    "saved", per_device_train_batch_size=2, gradient_accumulation_steps=2, report_to="none",
    num_train_epochs=1, save_strategy="no", disable_tqdm=True,
)
Trainer(Model(), settings, train_dataset=data, callbacks=[StepMarks()]).train()
""",
    "lightning": """
import lightning
import torch
from model import Model, data


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = Model()

    def training_step(self, batch, number):
        return self.model(**batch)["loss"]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


lightning.Trainer(
    max_epochs=1, accumulate_grad_batches=2, callbacks=[StepMarks()], logger=False,
    enable_checkpointing=False, enable_progress_bar=False,
).fit(Module(), torch.utils.data.DataLoader(data, batch_size=2))
""",
    "accelerate": """
import torch
from accelerate import Accelerator
from model import Model, data

accelerator = Accelerator(gradient_accumulation_steps=2)
model = Model()
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), 0.1), torch.utils.data.DataLoader(data, batch_size=2)
)
for batch in marked(loader, accelerator):
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()
""",
}
#: What torchtitan's smallest model trains on, made by the package that reads it.
TITAN = """
import json
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers

tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2}, "<s>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
assets = Path("tests/assets")
(assets / "tokenizer").mkdir(parents=True)
(assets / "c4_test").mkdir()
tokenizer.save(str(assets / "tokenizer" / "tokenizer.json"))
ends = {"bos_token": "<s>", "eos_token": "<s>"}
(assets / "tokenizer" / "tokenizer_config.json").write_text(json.dumps(ends))
text = json.dumps({"text": "a b " * 200})
(assets / "c4_test" / "data.json").write_text("\\n".join([text] * 50))
"""


def run(folder: Path, text: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """Run a program of that text in the folder, as its `program.py`."""
    (folder / "program.py").write_text(text)
    packages = str(Path(os.environ["KVTRACE_TEST_TRAINERS"]).resolve())
    paths = os.pathsep.join((packages, str(ROOT)))
    offline = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline", "HF_HOME": str(folder / "home")}
    return subprocess.run(
        [sys.executable, "program.py", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **offline, **variables},
        capture_output=True,
        text=True,
        timeout=280,
    )


def trained(folder: Path, trainer: str) -> OpenedTrace:
    """Record a training with the marks that the page has for that trainer."""
    (folder / "model.py").write_text(MODEL)
    text = SNIPPETS[f"{trainer}_marks.py"] + TRAINED[trainer]
    ended = run(folder, text, KVTRACE="out", KVTRACE_DEVICE="cpu")
    assert ended.returncode == 0, ended.stderr
    return kvtrace.open(folder / "out")


@pytest.mark.parametrize("trainer", TRAINED)
def test_each_step_of_the_optimizer_is_marked_and_profiled(trainer: str, tmp_path: Path, capsys):
    trace = trained(tmp_path, trainer)
    assert [mark["name"] for mark in trace.table("marks")] == ["step"] * 7
    assert len(trace.launches) == 12
    assert main(["profile", str(trace.path), "--no-replay", "--steps", "2:5", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (row["name"], row["launches"]) == ("doubled", 2 * 3)


def test_torchtitans_trainer_makes_marked_steps(tmp_path: Path):
    """The loop of its own trainer, up to what an absent GPU cannot do (it resizes a storage)."""
    assert run(tmp_path, TITAN).returncode == 0
    options = "--module llama3 --config llama3_debugmodel --comm.mode fake_backend --training.steps"
    smallest = "2 --training.seq_len 64 --training.local_batch_size 1"
    ranks = {"NGPU": "1", "WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}
    ended = run(
        tmp_path,
        SNIPPETS["torchtitan_marked.py"],
        *options.split(),
        *smallest.split(),
        "--training.disable_cuda_graphs",
        **ranks,
        MASTER_ADDR="localhost",
        MASTER_PORT="29511",
        KVTRACE="out",
        KVTRACE_DEVICE="cpu",
        TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",  # its cache asks for NCCL
    )
    trace = kvtrace.open(tmp_path / "out")
    (mark, *_) = trace.table("marks")
    assert (mark["name"], dict(mark["attributes"])) == ("step", {"number": "1"}), ended.stderr
    assert any(launch["enter"] >= mark["begin"] for launch in trace.launches)


@pytest.fixture(scope="module")
@needs("process")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trace and its report."""
    folder = tmp_path_factory.mktemp("finished")
    trained(folder, "accelerate").report(folder / "report.html")
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def logged(folder: Path, tracker: str, then: str = "", **variables: str) -> Any:
    """Log with the page's snippet; return what the lines after it print, as JSON."""
    ended = run(folder, SNIPPETS[f"log_{tracker}.py"] + then, **variables)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1]) if then else None


def test_wandb_has_the_trace_as_an_artifact_and_the_report_as_a_panel(folder: Path):
    entries = logged(
        folder, "wandb", "import json\nprint(json.dumps(sorted(trace.manifest.entries)))"
    )
    assert set(entries) == names(folder / "out")
    (page,) = folder.glob("wandb/offline-run-*/files/media/html/kernels_*.html")
    assert page.read_bytes() == (folder / "report.html").read_bytes()


def test_mlflow_has_both_as_artifacts_of_the_run(folder: Path):
    logged(folder, "mlflow", MLFLOW_TRACKING_URI="file:mlruns", MLFLOW_ALLOW_FILE_STORE="true")
    (artifacts,) = folder.glob("mlruns/0/*/artifacts")
    assert names(artifacts / "kernels") == names(folder / "out")
    assert (artifacts / "report.html").read_bytes() == (folder / "report.html").read_bytes()


READ_BACK = """
import json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator("runs/kernels").Reload()
(text,) = events.Tensors("profile/text_summary")
(scalar,) = events.Scalars("kernel_ns/doubled")
print(json.dumps([text.tensor_proto.string_val[0].decode(), scalar.value]))
"""


def test_tensorboard_has_the_profile_as_text_and_a_scalar_for_each_kernel(folder: Path):
    text, nanoseconds = logged(folder, "tensorboard", READ_BACK)
    profile = kvtrace.open(folder / "out").profile()
    assert text == f"~~~\n{profile}\n~~~"
    assert nanoseconds == pytest.approx(profile[0].taken_ns, rel=1e-6)


def test_the_summary_of_a_job_has_a_profile_and_a_comparison(folder: Path):
    shutil.copytree(folder / "out", folder / "main")
    command = f'kvtrace() {{ "{sys.executable}" -m kvtrace "$@"; }}\n'
    shown = []
    for number, step in enumerate(yaml.safe_load(SNIPPETS["summary.yml"])["steps"]):
        summary = folder / f"summary-{number}"  # each step of a job has a file of its own
        variables = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(ROOT)}
        subprocess.run(
            ["bash", "-e", "-c", command + step["run"]], cwd=folder, env=variables, check=True
        )
        shown.append(summary.read_text())
    profile, change = shown
    assert profile.startswith("~~~\n")
    assert "doubled" in profile
    assert change.startswith("#")
