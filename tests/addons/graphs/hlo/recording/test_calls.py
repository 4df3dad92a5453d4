import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kvtrace
from kvtrace.addons.graphs.hlo import trace as traced
from kvtrace.addons.graphs.rows import read_graphs
from kvtrace.addons.graphs.stablehlo.converter import CONVERTER
from kvtrace.cli import main
from kvtrace.converters.diff import compare
from kvtrace.schema.errors import BadSetting, DamagedFile
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import resolve
from tests.addons.graphs.hlo import recorded_program, xla

PROGRAM = Path(recorded_program.__file__)
ROOT = PROGRAM.parents[4]


@pytest.fixture(scope="module")
def selection(tmp_path_factory):
    """The trace of a process that was started with KVTRACE set."""
    out = tmp_path_factory.mktemp("recorded") / "out"
    environment = {**os.environ, "KVTRACE": str(out), "PYTHONPATH": str(ROOT)}
    starts = "import kvtrace._boot, runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-c", starts, str(PROGRAM)]
    subprocess.run(command, check=True, env=environment, cwd=ROOT, timeout=120)
    return resolve(str(out))


def rows(selection, table):
    return plain_rows(selection.table(table))


@pytest.mark.process
def test_graphs_are_recorded_as_kernels_and_their_calls_as_launches(selection):
    kernels = rows(selection, "kernels")
    calls = {row["call_id"]: row for row in rows(selection, "calls")}
    launches = rows(selection, "launches")

    assert [k["name"] for k in kernels] == ["layer", "layer", "flags"]
    assert {k["origin"] for k in kernels} == {"numpy"}
    assert [calls[launch["call_id"]]["kernel_id"] for launch in launches] == [0, 0, 0, 1, 2]
    assert all(launch["enter"] < launch["exit"] for launch in launches)
    x, state = calls[0]["args"]
    assert (x["name"], x["dtype"], x["shape"], x["strides"]) == ("x", "fp32", [4, 64], [64, 1])
    assert state["alias_group"] == 1
    assert [m for m in rows(selection, "messages") if m["level"] != "info"] == []


@pytest.mark.process
def test_rows_of_graph_ops_have_names_aliases_and_the_users_stack(selection):
    graph = [row for row in rows(selection, "graph_ops") if row["graph_id"] == 0]
    frames = {row["stack_id"]: row["frames"] for row in rows(selection, "stacks")}
    (maximum,) = (row for row in graph if row["opcode"] == "maximum")
    (state,) = (row for row in graph if row["aliases"] is not None)

    assert [row["input_name"] for row in graph[:2]] == ["x", "state"]
    assert maximum["output_name"] == "output"
    assert (state["output_name"], state["aliases"], state["opcode"]) == ("state", "state", "add")
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    inner, outer = frames[maximum["stack_id"]]
    assert (inner["function"], outer["function"]) == ("activated", "layer")
    assert lines[inner["line"] - 1][inner["column"] - 1 :] == "np.maximum(x, 0)"
    assert lines[outer["line"] - 1][outer["column"] - 1 :] == "activated(x @ WEIGHT)"


def _arguments():
    return np.ones((4, 64), np.float32), np.zeros(64, np.float32)


@pytest.mark.process
def test_a_graphs_figures_are_rows_of_the_table_ops(selection, capsys):
    ops = [row for row in rows(selection, "ops") if row["call_id"] == 0]
    dot = next(row for row in ops if row["kind"] == "dot")

    assert dot["flops"] == 2 * 4 * 64 * 64
    assert sum(row["bytes"] for row in ops if row["kind"] == "load") == (4 * 64 + 64) * 4
    assert sum(row["bytes"] for row in ops if row["kind"] == "store") == (4 * 64 + 64) * 4
    assert main(["profile", str(selection.trace.path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"graph \(derived\) +ops +FLOP +in and out .* peak live\nlayer +9 ", shown)
    assert main(["profile", str(selection.trace.path), "--json"]) == 0
    graph = json.loads(capsys.readouterr().out)["graphs"][0]
    figures = recorded_program.layer.specialize(*_arguments()).figures()
    assert (graph["flops"], graph["peak_live_bytes"]) == (figures.flops, figures.peak_live_bytes)
    assert graph["intensity"] == figures.flops / figures.boundary_bytes


@pytest.mark.process
def test_the_recorded_graph_equals_the_traced_graph_with_its_constants(selection, tmp_path):
    path = tmp_path / "layer.mlir"
    conversion = CONVERTER.convert(selection, path, {"graph": "0", "check": "1"})
    text = path.read_text(encoding="utf-8")
    x, state = np.full((4, 64), 0.5, np.float32), np.ones(64, np.float32)

    hidden, total = xla.run(text, x, state)

    assert conversion.notes == ("1 graph, 9 ops, verified by jaxlib",)
    expected = np.maximum(x @ recorded_program.WEIGHT, 0)
    np.testing.assert_allclose(hidden, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total, state + expected.sum(axis=0), rtol=1e-4, atol=1e-4)
    graph = recorded_program.layer.specialize(x, state)
    again = next(iter(read_graphs(selection).values()))
    assert [op.opcode for op in again] == [op.opcode for op in graph.ops]
    printed = xla.verified(text)
    assert f'"{PROGRAM}":{_line("np.maximum")}:' in printed
    assert '"activated"(' in printed
    assert "callsite(" in printed


def _line(text):
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.process
def test_convert_stablehlo_writes_a_module_for_each_graph(selection, tmp_path, capsys):
    path = tmp_path / "graphs.mlir"
    command = [
        "convert",
        "stablehlo",
        str(selection.trace.path),
        "-o",
        str(path),
        "--set",
        "check=1",
    ]

    assert main(command) == 0
    assert "3 graphs" in capsys.readouterr().out
    modules = path.read_text(encoding="utf-8").split("// -----\n")
    assert len(modules) == 3
    for module in modules:
        xla.verified(module)


@pytest.mark.process
def test_convert_stablehlo_refuses_unknown_graphs_and_settings(selection, tmp_path):
    for settings, match in (
        ({"graph": "nothing"}, "no graph 'nothing'; it has layer, flags"),
        ({"check": "yes"}, "is 0 or 1, not 'yes'"),
        ({"checks": "1"}, "no setting 'checks'"),
    ):
        with pytest.raises(BadSetting, match=match):
            CONVERTER.convert(selection, tmp_path / "x.mlir", settings)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_only_calls_during_the_recording_are_recorded(tmp_path):
    x, state = np.ones((4, 64), np.float32), np.zeros(64, np.float32)
    recorded_program.layer(x, state)

    with kvtrace.capture(tmp_path / "out"):
        recorded_program.layer(x, state)
        with kvtrace.mark("again"):
            recorded_program.layer(x, state)
    recorded_program.layer(x, state)

    trace = resolve(str(tmp_path / "out"))
    assert [launch["call_id"] for launch in rows(trace, "launches")] == [0, 0]
    (kernel,) = rows(trace, "kernels")
    assert kernel["source_artifact"] is not None
    assert len(read_graphs(trace)) == 1


@pytest.mark.costly("compares two runs of graphs")
def test_diff_finds_another_op_and_another_constant_of_graphs_with_the_same_figures(tmp_path):
    x = np.ones((4, 64), np.float32)
    weight = np.ones(64, np.float32)
    versions = {
        "first": (np.sin, 1.0),
        "again": (np.sin, 1.0),
        "op": (np.cos, 1.0),
        "constant": (np.sin, 2.0),
    }
    for name, (function, scale) in versions.items():
        factor = weight * np.float32(scale) + np.arange(64, dtype=np.float32)

        def layer(x, shift, function=function, factor=factor):
            return function(x) * factor + shift

        program = traced(lambda x, shift, run=layer: run(x, shift), name="layer")
        with kvtrace.capture(tmp_path / name):
            for shift in (0.5, 1.5):  # two graphs that have the same facts
                program(x, shift)

    def difference(name):
        return compare(*[resolve(str(tmp_path / side)) for side in ("first", name)])

    assert difference("again").empty
    (kernel,) = difference("op").kernels
    assert [variant.code.stage for variant in kernel.variants] == ["stablehlo"] * 2
    changed = [line for line in kernel.variants[0].code.all_lines if line[0] in "+-"]
    assert ["sine" in changed[0], "cosine" in changed[1], len(changed)] == [True, True, 2]
    (kernel,) = difference("constant").kernels
    assert [variant.code.removed for variant in kernel.variants] == [1, 1]


@pytest.mark.process
@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"operands": [0, 999]}, r"op 3 \(dot_general\) of the graph 0 .* not an op before it"),
        ({"operands": [0, 3]}, "not an op before it"),
        ({"operands": [0]}, "too few operands"),
        ({"op_index": 0}, "another op has its number"),
        ({"dtype": None}, "no element type"),
        ({"shape": [-4, 64]}, "a negative extent"),
        ({"dtype": "float7"}, r"graph 0 in .* \(KeyError: 'float7'\)"),
        ({"attributes": []}, None),
    ],
)
def test_damaged_rows_of_graphs_are_reported_in_one_sentence(
    selection, tmp_path, capsys, changed, match
):
    out = tmp_path / "out"
    shutil.copytree(selection.trace.path, out)
    (path,) = (out / "graph_ops").rglob("*.parquet")
    table = pq.ParquetFile(path).read()
    changed_rows = table.to_pylist()
    number = next(i for i, row in enumerate(changed_rows) if row["opcode"] == "dot_general")
    changed_rows[number].update(changed)
    pq.write_table(pa.Table.from_pylist(changed_rows, schema=table.schema), path)
    command = ["convert", "stablehlo", str(out), "-o", str(tmp_path / "x.mlir"), "--set", "check=1"]

    assert main(command) == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith("kvtrace: the ")
    assert "Traceback" not in stderr
    assert "failed on" not in stderr
    if match is not None:
        with pytest.raises(DamagedFile, match=match):
            compare(selection, resolve(str(out)))

    main(["report", str(out), "-o", str(tmp_path / "x.html"), "--no-replay"])
    stderr = capsys.readouterr().err
    assert "failed on" not in stderr
    assert "Traceback" not in stderr
