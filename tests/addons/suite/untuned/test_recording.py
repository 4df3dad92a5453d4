"""Files of configurations that a library looks for while its program is recorded."""

from pathlib import Path

import pytest

from kvtrace.addons.suite.untuned.section import read_untuned
from kvtrace.schema.trace import open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = Path(__file__).with_name("library_program.py")


@pytest.fixture(scope="module")
@needs("process")
def recorded(tmp_path_factory):
    """The trace of a program with a library that finds no file for four experts."""
    folder = tmp_path_factory.mktemp("library")
    run_with(
        INSTALLED, [str(PROGRAM), str(folder / "site")], folder / "cache", fresh=True,
        KVTRACE=str(folder / "out"), KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    return open_trace(folder / "out")


def test_only_calls_whose_file_was_missing_are_not_tuned(recorded):
    (row,) = read_untuned(recorded, recorded.runs)

    assert (row.kernel, row.state, row.calls, row.launches) == (
        "fused_moe_kernel", "not tuned", 1, 2,
    )  # fmt: skip
    assert row.why == (
        "vLLM's get_moe_configs(4, 128, None, 0) found no file: the library's default configuration"
    )
    assert row.configuration.startswith("BLOCK_SIZE_N=64 ")


def test_each_lookup_is_noted_once_and_none_while_torch_traces(recorded):
    messages = recorded.table("messages", recorded.runs, ["code", "text", "count"]).to_pylist()

    noted = [(row["text"], row["count"]) for row in messages if row["code"] == "configuration-file"]
    module = "vllm.model_executor.layers.fused_moe.fused_moe"
    assert noted == [
        (f"{module}.get_moe_configs(4, 128, None, 0): no file", 1),
        (f"{module}.get_moe_configs(8, 128, None, 0): batch sizes 1 16", 1),
    ]
    assert not [row for row in messages if row["code"] == "capture-failure"]
