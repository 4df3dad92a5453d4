"""Outputs with `--json`: each is as its schema says, and the schemas are as the types say."""

import json
import shutil

import pytest
from jsonschema import Draft202012Validator

from docs_site.json_outputs import OUTPUTS
from docs_site.json_schemas import path_of, schema_of
from kvtrace.cli import command_line, main, own_commands
from tests.support.foreign_traces import write_kineto
from tests.support.json_outputs import assert_as_schema
from tests.support.tree import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
TIMED = ("h200/llama_graphs", "h200/decoding", "h100/slow_rank", "h200/llama_ranks")
CASES = (
    *(("info", ("info", "TRACE", "--recompiles", "--warmup"), name) for name in TIMED),
    *(("profile", ("profile", "TRACE", "--no-replay", "--calls", "--lines", "--by", "module"), name)
      for name in TIMED),
    ("profile", ("profile", "TRACE", "--calls", "--lines"), "missing_mask"),
    ("info", ("info", "TRACE"), "missing_mask"),
    ("autotune", ("info", "TRACE", "--autotune"), "h200/inductor"),
    ("sanitize", ("sanitize", "TRACE", "--all"), "missing_mask"),
    ("sizes", ("sizes", "TRACE", "--at", "grid_x=5"), "missing_mask"),
    ("diff", ("diff", "TRACE", "TRACE", "--fail-on", "spills>0?"), "missing_mask"),
    ("diff", ("diff", "TRACE", f"{FIXTURES}/h200/llama_steady", "--no-replay"), "h200/llama"),
    ("sql", ("sql", "TRACE", "FROM launched LIMIT 2"), "missing_mask"),
    ("top", ("top", "TRACE", "--whole"), "missing_mask"),
    ("replay", ("replay", "TRACE"), "missing_mask"),
    ("import", ("import", "FILE", "-o", "imported"), "missing_mask"),
    ("into", ("import", "FILE", "--into", "TRACE"), "missing_mask"),
    ("doctor", ("doctor",), "missing_mask"),
    ("settings", ("doctor", "--settings"), "missing_mask"),
    ("validate", ("trace", "validate", "TRACE"), "missing_mask"),
    ("recover", ("trace", "recover", "TRACE"), "missing_mask"),
    ("compact", ("trace", "compact", "TRACE"), "missing_mask"),
    ("prune", ("trace", "prune", "TRACE", "--keep-last", "1", "--dry-run"), "missing_mask"),
    ("redact", ("trace", "redact", "TRACE", "-o", "copy", "--all"), "missing_mask"),
    ("baselines", ("gate", "save", "main", "TRACE"), "missing_mask"),
    ("fault", ("fault", "TRACE"), "faults/trap_eager"),
    ("fleet", ("fleet", "TRACE"), "h200/decoding"),
    ("invariance", ("invariance", "TRACE"), "missing_mask"),
)  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_schemas_are_made_from_the_types_by_docs_site_json_schemas(name: str) -> None:
    assert json.loads(path_of(name).read_text(encoding="utf-8")) == schema_of(name)
    Draft202012Validator.check_schema(schema_of(name))


def test_each_command_that_prints_json_has_a_schema() -> None:
    printing = {
        name
        for name in own_commands()
        if any("--json" in option.on for option in command_line(name).options)
    }
    of_others = {"gate": "diff", "gate save": "gate list"}
    known = {output.command.partition(" --")[0] for output in OUTPUTS.values()}
    assert {of_others.get(name, name) for name in printing} == known


@pytest.mark.process
@pytest.mark.costly("runs each command; the schemas themselves are compared always")
@pytest.mark.parametrize(("name", "words", "fixture"), CASES)
def test_output_is_as_its_schema_says(name, words, fixture, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = shutil.copytree(FIXTURES / fixture, tmp_path / "out")
    known = {"TRACE": str(trace), "FILE": str(write_kineto(tmp_path))}
    assert main([known.get(word, word) for word in (*words, "--json")]) in (0, 1, 2)
    assert_as_schema(json.loads(capsys.readouterr().out), name)
