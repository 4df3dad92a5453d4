"""Tensors that kernels reach by address are known where the run recorded their addresses."""

import json
import shutil

import pytest

from kvtrace.cli import main
from tests.support.triton_versions import INSTALLED, run_with

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    run_with(
        INSTALLED, ["tests/support/tables_program.py"], folder / "cache", fresh=True,
        KVTRACE=str(folder / "out"), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    return folder / "out"


def judged(trace, capsys):
    """Return the verdicts that are not proven by kernel, and the kernels with verdicts."""
    rules = (f"--rule={rule}" for rule in ("out-of-bounds", "race", "race-within-program"))
    main(["sanitize", str(trace), "--all", "--json", *rules])
    rows = json.loads(capsys.readouterr().out)["verdicts"]
    open_rows = {kernel: set() for kernel in {row["kernel"] for row in rows}}
    for row in rows:
        if row["verdict"] != "proven":
            open_rows[row["kernel"]].add((row["rule"], row["verdict"]))
    return open_rows, " ".join(row["message"] for row in rows)


def test_recorded_addresses_say_which_tensor_a_pointer_is_in(recorded, capsys):
    verdicts, text = judged(recorded, capsys)
    assert [name for name, rows in verdicts.items() if not rows] == sorted(
        ("gathered", "by_number", "scattered"), key=list(verdicts).index
    )
    assert verdicts["without_mask"] == {("out-of-bounds", "violation")}
    assert verdicts["scattered_twice"] == {("race", "violation")}
    assert ("race", "violation") in verdicts["into_argument"]
    assert ("race", "violation") in verdicts["from_argument"]
    assert ("race-within-program", "violation") in verdicts["flipped"]
    assert ("out-of-bounds", "unknown") in verdicts["computed"]
    assert "ends 4 bytes past the end of *table[" in text
    assert "stores to byte 0 of x, which program" in text
    assert "an address computed from integers, which may be meant for another tensor" in text


def test_addresses_of_tensors_that_were_not_seen_are_unknown(recorded, capsys, tmp_path):
    trace = shutil.copytree(recorded, tmp_path / "unseen")
    shutil.rmtree(trace / "operations")
    shutil.rmtree(trace / "findings")
    verdicts, text = judged(trace, capsys)
    assert verdicts["gathered"] >= {("out-of-bounds", "unknown"), ("race", "unknown")}
    assert verdicts["by_number"] >= {("out-of-bounds", "unknown")}
    assert "an address that lies in no tensor that was recorded" in text
