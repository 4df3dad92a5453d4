"""Exported data sets have a row for each call, and a card that names the file."""

import json

import pyarrow.parquet as pq
import yaml

from kvtrace.addons.suite.exports.registry import export_suite


def test_rows_are_calls(training, tmp_path):
    export_suite(training, "dataset", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    card = yaml.safe_load(text.split("---\n")[1])
    (split,) = card["configs"][0]["data_files"]
    rows = pq.read_table(tmp_path / "out" / split["path"]).to_pylist()
    index = json.loads((training / "suite.json").read_text())["entries"]
    assert [row["name"] for row in rows] == [entry["name"] for entry in index]
    assert [row["share"] for row in rows] == [entry["share"] for entry in index]
    first = rows[0]
    assert first["ir"] == (training / "kernels" / "layer_norm_forward.ttir").read_text()
    assert first["grid"] == [198, 1, 1]
    assert {"name": "num_warps", "value": "4"} in first["options"]
    assert [each["name"] for each in first["arguments"]] == [
        "x", "weight", "bias", "out", "mean_out", "inverse_out", "columns", "epsilon",
    ]  # fmt: skip
    assert first["arguments"][0]["strides"] == [60, 1]
    assert first["arguments"][-1]["value"] == "1e-05"
    assert first["storages"][0]["origin"] == "random"
    assert "layer_norm_forward" in first["source"]
