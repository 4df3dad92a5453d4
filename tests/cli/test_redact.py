"""`kvtrace trace redact`: what was left out is in no byte of the copy, which is a sound trace.

Canaries are unique words that are planted wherever a trace may hold something private.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.ir.redacted import redacted_ir
from kvtrace.schema.client_tables import client_table
from kvtrace.schema.content import artifact_row, stack_row
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.layout import OBSERVED
from kvtrace.schema.privacy import LEAVES, MADE_BY_THE_RUN, ROWS
from kvtrace.schema.private import PRIVATE
from kvtrace.schema.redaction import redact
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.table_types import TEXT, Column
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.support.canaries import everything
from tests.support.kept import kept
from tests.support.tiers import some

PAGE = Path("docs/privacy.md").read_text()
SCALAR = "8675309421"
PROGRAM = """
import torch
import triton
import triton.language as tl

import kvtrace

#: canary_source
@triton.jit
def helper_canary_names(value):
    return value + 1

@triton.jit
def kernel_canary_names(x, index, parameter_canary_names, size, BLOCK: tl.constexpr):
    variable_canary_names = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = variable_canary_names < size
    tl.device_assert(variable_canary_names >= 0, "canary_source says")
    at = tl.load(index + variable_canary_names, mask=inside, other=0)
    value = helper_canary_names(tl.load(x + at, mask=inside))
    tl.store(x + variable_canary_names + 1, value * (parameter_canary_names & 1), mask=inside)

x = torch.zeros(100, dtype=torch.int32)
index = torch.frombuffer(bytearray(b"canary_tensors!!" * 25), dtype=torch.int32) % 1 * 0
x[:4] = torch.frombuffer(bytearray(b"canary_tensors!!"), dtype=torch.int32)
keep = {"tensors": "all", "kernels": "*canary_names*", "sanitize": "warn"}
keep["check"] = "kernel:*canary_names*"
with kvtrace.capture("out", **keep), kvtrace.mark("canary_marks step"):
    kernel_canary_names[(1,)](x, index, SCALAR, 100, BLOCK=128)
""".replace("SCALAR", SCALAR)

WORDS = {private: f"canary_{private}" for private in PRIVATE} | {"scalars": SCALAR}


@pytest.fixture(scope="module")
def captured(tmp_path_factory) -> Path:
    """A trace of a program that ran without a GPU, and has canaries wherever it can have them."""
    return kept(_record, tmp_path_factory.mktemp("home") / "kept") / "canary_paths" / "out"


def _record(home):
    folder = home / "canary_paths"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    subprocess.run(
        [sys.executable, "program.py", "canary_command"],
        cwd=folder,
        env={
            **os.environ,
            "TRITON_CACHE_DIR": str(home / "cache"),
            "PYTHONPATH": str(Path.cwd()),
        },
        check=True,
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A trace written row by row: every private column of every table holds its canaries."""
    out = tmp_path_factory.mktemp("planted") / "out"
    writer = RunWriter(out, new_run_id())
    contents = {kind: artifact_row(kind, _content(kind)) for kind in ("source", "file", "program",
                "ttir", "ttgir", "ptx", "cubin", "tensor", "something new")}  # fmt: skip
    stack = stack_row([("/home/canary_paths/a.py", 3, 1, "canary_names")])
    program = {"path": "/home/canary_paths/a.py", "artifact": contents["program"]["sha256"]}
    stack["files"] = [program]
    references = {"artifacts": list(contents.values()), "stacks": [stack]}
    for name, rows in references.items():
        writer.append_rows(name, rows)
    values_by_canary = {}
    for table in TABLES.values():
        row = {
            column.name: _value(table.name, column.name, column.type, contents, stack)
            for column in table.columns
        }
        if table.name == "runs":
            writer.append_rows("runs", [row | {"run_id": writer.run_id}])
        elif table.name not in references and table.origin == "captured":
            writer.append_rows(table.name, [row])
        elif table.origin == "derived":
            values_by_canary[table.name] = pa.Table.from_pylist([row], table.schema)
    writer.seal({})
    trace = open_trace(out)
    client_columns = client_table("canary", "a canary", [Column("text", TEXT, "canary_names")])
    mine = pa.table({"text": [" ".join(WORDS.values())]})
    facts = {"text": " ".join(WORDS.values())}
    trace.add_derived(writer.run_id, "sanitizer", values_by_canary, facts)
    for name in (OBSERVED, "graphs"):
        trace.add_derived(writer.run_id, name, values_by_canary, facts | MADE_BY_THE_RUN)
    trace.add_derived(writer.run_id, "own", {client_columns.name: mine}, {}, [client_columns])
    (out / "notes canary_host.txt").write_text(" ".join(WORDS.values()))
    return out


def _content(kind: str) -> bytes:
    words = " ".join(WORDS[thing] for thing in ("source", "paths", "names"))
    if kind == "program":
        return " ".join(WORDS.values()).encode()
    if kind in ("source", "file"):
        return f"{kind} {WORDS['source']} {WORDS['names']}".encode()
    if kind == "tensor":
        return WORDS["tensors"].encode()
    if kind in ("ttir", "ttgir"):
        return (
            f'// {kind} {words}\n#loc = loc("/canary_paths/a.py":3:1)\nmodule {{\n'
            '  tt.func public @canary_names(%canary_names: i32 loc("canary_names"(#loc))) {\n'
            '    tt.assert %canary_names, "canary_source" : i32 loc(#loc)\n  } loc(#loc)\n}\n'
        ).encode()
    return f"{kind} {words} {WORDS['tensors'] if ' ' in kind else ''}".encode()


def _value(table, path, kind, contents, stack):
    """A value of a column, or of a field of it, with the canaries of what it may hold."""
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        entry = {f.name: _value(table, f"{path}.{f.name}", f.type, contents, stack)
                 for f in kind.value_type}  # fmt: skip
        return [entry | ({"kind": "other"} if "kind" in entry else {})]
    if pa.types.is_struct(kind):
        return {f.name: _value(table, f"{path}.{f.name}", f.type, contents, stack) for f in kind}
    leaf = LEAVES[table][path]
    words = " ".join(WORDS[thing] for thing in PRIVATE if thing in leaf.holds)
    if pa.types.is_map(kind):
        if leaf.action not in ("facts", "settings"):
            return {"key": words}
        special_values = {"paths": ("bin", "/canary_paths"), "host": ("platform", "canary_host"),
                 "names": ("kernels", "canary_names")}  # fmt: skip
        if table == "kernels":
            special_values["names"] = ("inductor.kernel_name", "canary_names")
        return dict(entry for private, entry in special_values.items() if private in leaf.holds)
    if leaf.action == "artifact":
        kinds = {"files.artifact": "file", "stages.artifact": "cubin"}
        return contents[kinds.get(path, "tensor" if table != "kernels" else "source")]["sha256"]
    if leaf.action == "stack":
        return stack["stack_id"]
    if path.endswith("other_stack_id"):
        return stack["stack_id"]
    if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        return repr(words) if leaf.action == "literal" else words
    if path == "required_features":
        return ["weights"]  # readers refuse runs with other words
    if pa.types.is_list(kind):
        return [1]
    return True if pa.types.is_boolean(kind) else 1


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("table", TABLES)
def test_every_text_column_declares_its_private_contents(table):
    leaves = [leaf for column in TABLES[table].columns for leaf in column.leaves()]
    silent = [path for path, kind, private in leaves if private is None and holds_text(kind)]
    unknown = [
        f"{column.name}.{field}"
        for column in TABLES[table].columns
        if isinstance(column.private, dict)
        for field in column.private
        if f"{column.name}.{field}" not in [path for path, *_ in leaves]
    ]
    assert silent == [], "say `private=` where they are defined"
    assert unknown == []


def holds_text(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return holds_text(kind.value_type)
    of_numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return not (pa.types.is_timestamp(kind) or any(test(kind) for test in of_numbers))


@pytest.mark.parametrize("which", ["captured", "planted"])
def test_canaries_are_in_the_trace_before_redaction(which, request):
    content = everything(request.getfixturevalue(which))

    expected = set(PRIVATE) - ({"host", "git"} if which == "captured" else set())
    assert {private for private in expected if WORDS[private].encode() in content} == expected


@pytest.mark.parametrize("which", ["captured", "planted"])
@pytest.mark.parametrize("private", some(["all", *PRIVATE], 5))
def test_no_canary_is_in_the_redacted_copy(which, private, request, tmp_path):
    trace = request.getfixturevalue(which)
    left_out = PRIVATE if private == "all" else (private,)
    before = everything(trace)

    done = redact(trace, tmp_path / "copy", left_out, redacted_ir)

    content = everything(tmp_path / "copy")
    leaked = [word for word in left_out if WORDS[word].encode() in content]
    assert leaked == []
    assert everything(trace) == before
    assert names_in(tmp_path) == ["copy"]
    assert done.left_out == left_out
    (run,) = open_trace(tmp_path / "copy").runs
    assert run.settings["redacted"] == ",".join(left_out)
    if which == "captured":
        assert validate(tmp_path / "copy") == []
    if private == "all" and which == "captured":
        (source_run,) = open_trace(trace).runs
        hidden = (source_run.host, source_run.directory, source_run.git_commit, source_run.git_root)
        # Two or three letters, as a host may be called, occur in digests by chance.
        secrets = [word for word in hidden if word and len(word) > 3]
        assert [word for word in secrets if word.encode() in content] == []


@pytest.mark.costly("judges twice; what a copy lacks stays by day")
@pytest.mark.parametrize("private", some(["source", "paths", "names", "marks", "command"], 2))
def test_a_copy_is_judged_as_the_trace_is(private, captured, kvtrace, tmp_path):
    assert kvtrace("trace", "redact", captured, "-o", tmp_path / "copy", f"--{private}")[0] == 0

    judged = []
    for trace in (captured, tmp_path / "copy"):
        code, _, err = kvtrace("sanitize", trace)
        columns = ["call_id", "op_index", "rule", "verdict", "method", "lane", "past_end_bytes"]
        rows = plain_rows(open_trace(trace).table("findings", None, columns))
        judged.append((code, err, sorted(map(repr, rows))))
    assert judged[0] == judged[1]
    assert judged[0][0] == 1
    assert "'violation'" in str(judged[0])


def test_observed_defects_stay_in_a_redacted_copy_without_their_texts(captured, kvtrace, tmp_path):
    # given a trace that was judged again after the run, whose verdicts are not copied
    assert kvtrace("sanitize", captured)[0] == 1

    redact(captured, tmp_path / "copy", ("names",), redacted_ir)

    trace = open_trace(tmp_path / "copy")
    (run,) = trace.runs
    assert list(trace.passes(run.run_id)) == [OBSERVED]
    (finding,) = plain_rows(trace.table("findings"))
    assert (finding["rule"], finding["verdict"], finding["method"]) == (
        "out-of-bounds", "violation", OBSERVED,
    )  # fmt: skip
    assert (finding["arg"], finding["message"]) == ("arg1", "redacted")
    assert kvtrace("sanitize", tmp_path / "copy")[0] == 1


@pytest.mark.costly("ten commands; a copy is judged, and looked through for words, by day")
def test_commands_work_on_a_copy_with_everything_redacted(captured, kvtrace, tmp_path):
    assert kvtrace("trace", "redact", captured, "-o", "copy", "--all")[0] == 0
    code, _, err = kvtrace("replay", "copy")
    assert (code, "does not have the value of the argument" in err) == (2, True)

    for command in (
        ["profile", "copy"], ["report", "copy", "-o", "report.html"],
        ["trace", "validate", "copy"], ["diff", "copy", captured], ["trace", "compact", "copy"],
        ["convert", "perfetto", "copy", "-o", "trace.perfetto"],
        ["convert", "chrome", "copy", "-o", "trace.json"], ["info", "copy", "--recompiles"],
    ):  # fmt: skip
        code, _, err = kvtrace(*command)
        assert (code in (0, 1), "failed on" in err) == (True, False), (command, err)
    code, out, _ = kvtrace("sanitize", "copy")
    assert "the trace does not have the value of the argument" in out
    content = everything(tmp_path / "copy") + (tmp_path / "report.html").read_bytes()
    assert [word for word in WORDS.values() if word.encode() in content] == []


@pytest.mark.costly("adds up twice; what a copy lacks stays by day")
def test_stored_sums_are_left_out_and_come_back_by_themselves(kvtrace, tmp_path):
    fixture = Path(__file__).parents[1] / "fixtures" / "h200" / "train"
    shutil.copytree(fixture, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    add_up(trace, trace.runs, least_rows=0)
    _, text, _ = kvtrace("trace", "redact", "out", "-o", "copy", "--names")

    assert "derived tables" not in text
    copy = open_trace(tmp_path / "copy")
    assert not any(sums_stored(copy, run) for run in copy.runs)
    add_up(copy, copy.runs, least_rows=0)
    assert all(sums_stored(copy, run) for run in copy.runs)
    assert validate(tmp_path / "copy") == []


def test_info_lists_what_was_redacted_over_several_redactions(captured, kvtrace):
    assert "left out" not in kvtrace("info", captured)[1]
    assert kvtrace("trace", "redact", captured, "-o", "once", "--host", "--paths")[0] == 0
    assert "left out  paths, host (kvtrace trace redact)" in kvtrace("info", "once")[1]
    assert kvtrace("trace", "redact", "once", "-o", "twice", "--git")[0] == 0
    assert "left out  paths, host, git (kvtrace trace redact)" in kvtrace("info", "twice")[1]


def test_replacement_names_are_the_same_in_all_tables(captured, tmp_path):
    redact(captured, tmp_path / "copy", ("names", "paths"), redacted_ir)

    trace = open_trace(tmp_path / "copy")
    (kernel,) = plain_rows(trace.table("kernels"))
    (call,) = plain_rows(trace.table("calls"))
    stages = {entry["stage"]: entry["artifact"] for entry in kernel["stages"]}
    generic = trace.artifact(stages["ttir_generic"]).decode()
    assert kernel["name"] == "kernel1"
    assert 'sym_name = "kernel1"' in generic
    assert f'loc("{kernel["file"]}":' in generic
    assert [a["name"] for a in call["args"]] == [p["name"] for p in kernel["signature"]]
    assert 'loc("arg1"(' in generic
    assert stages.get("ptx") is None


def test_redaction_keeps_order_and_measurements(captured, tmp_path):
    redact(captured, tmp_path / "copy", PRIVATE, redacted_ir)

    before, after = open_trace(captured), open_trace(tmp_path / "copy")
    for name in ("launches", "gpu_kernels"):
        columns = [c.name for c in TABLES[name].columns if not LEAVES[name][c.name].holds]
        expected = plain_rows(before.table(name, None, columns))
        assert plain_rows(after.table(name, None, columns)) == expected
    assert not any(after.table(name).num_rows for name in ROWS if name in TABLES)


@pytest.mark.parametrize("table", ["launches", "operations", "allocations"])
def test_addresses_are_left_out_with_scalars_and_the_rows_stay(table, planted, tmp_path):
    redact(planted, tmp_path / "copy", ("scalars",), redacted_ir)

    column = "address" if table == "allocations" else "addresses"
    before, after = (open_trace(path).table(table)[column] for path in (planted, tmp_path / "copy"))
    assert before.to_pylist() == [1 if table == "allocations" else [1]]
    assert after.to_pylist() == [None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "copy"], "say what to leave out"),
        (["-o", "there", "--host"], "exists and is not empty"),
    ],
)
def test_impossible_redactions_raise_a_sentence(arguments, said, captured, kvtrace, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")

    code, _, err = kvtrace("trace", "redact", captured, *arguments)

    assert code == 2
    assert said in err
    assert names_in(tmp_path) == ["there"]


def test_copy_cannot_be_written_into_the_trace(own_trace, kvtrace):
    before = names_in(own_trace)

    code, _, err = kvtrace("trace", "redact", own_trace, "-o", own_trace / "copy", "--host")

    assert code == 2
    assert "outside of the trace" in err
    assert names_in(own_trace) == before


@pytest.mark.parametrize("private", PRIVATE)
def test_each_redactable_kind_is_an_option_and_is_documented(private, own_trace, kvtrace):
    code, out, _ = kvtrace("trace", "redact", own_trace, "-o", "copy", f"--{private}", "--json")

    assert (code, json.loads(out)["left_out"]) == (0, [private])
    assert f"`--{private}`" in PAGE


def test_run_that_is_still_recorded_is_not_copied(tmp_path):
    writer = RunWriter(tmp_path / "out", new_run_id())

    with pytest.raises(BadSetting, match="recover first"):
        redact(tmp_path / "out", tmp_path / "copy", ("host",), redacted_ir)
    writer.close()
    assert names_in(tmp_path) == ["out"]


def test_a_damaged_trace_leaves_no_half_copy(own_trace, tmp_path, kvtrace):
    part = next((own_trace / "launches").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-10])

    code, _, err = kvtrace("trace", "redact", own_trace, "-o", tmp_path / "copy", "--host")

    assert code == 2
    assert "is damaged" in err
    assert names_in(tmp_path) == ["out"]


def test_a_stack_keeps_its_lines_and_gets_the_id_of_its_frames(planted, tmp_path):
    redact(planted, tmp_path / "copy", ("paths",), redacted_ir)

    (row,) = plain_rows(open_trace(tmp_path / "copy").table("stacks"))
    assert row["frames"][0]["file"] == "file2.py"  # the first is in the IR
    assert row["stack_id"] == stack_row(row["frames"])["stack_id"]
    assert (row["frames"][0]["line"], row["frames"][0]["function"]) == (3, "canary_names")


def test_hostile_names_are_redacted(own_trace, tmp_path, kvtrace):
    assert kvtrace("trace", "redact", own_trace, "-o", tmp_path / "copy", "--all")[0] == 0

    # A name without text stays one, as in the original.
    copied, original = ([p.text for p in validate(out)] for out in (tmp_path / "copy", own_trace))
    assert copied == original
    content = everything(tmp_path / "copy")
    assert b"alert(1)" not in content
    assert b"/home/user" not in content
    assert np.array_equal(
        open_trace(own_trace).table("launches", None, ["call_id"])["call_id"],
        open_trace(tmp_path / "copy").table("launches", None, ["call_id"])["call_id"],
    )


@pytest.mark.sweep
def test_names_in_inductors_options_are_replaced_too(tmp_path):
    trace = Path("tests/fixtures/h200/inductor")
    redact(trace, tmp_path / "copy", ("names",), redacted_ir)

    content = everything(tmp_path / "copy")
    names = {row["name"] for row in open_trace(trace).table("kernels", None, ["name"]).to_pylist()}
    assert len(names) > 20
    assert [name for name in names if name.encode() in content] == []
    table = open_trace(tmp_path / "copy").table("kernels", None, ["name", "options"])
    options = [dict(row["options"]) for row in table.to_pylist()]
    assert {option["backend_name"] for option in options} == {"cuda"}
    assert any(option.get("inductor.kernel_name") == "kernel1" for option in options)


GOLDEN = Path("schema/golden")


@pytest.mark.costly("copies of each version; what a copy lacks stays by day")
@pytest.mark.parametrize("version", some(sorted(path.name for path in GOLDEN.iterdir()), 4))
def test_redacted_copies_of_older_versions_are_valid(version, tmp_path):
    golden = tmp_path / "golden"
    shutil.copytree(GOLDEN / version / "trace", golden)
    shutil.rmtree(golden / ".journal")  # a second run, which is not sealed
    before = sum(problem.unreadable for problem in validate(golden))

    done = redact(golden, tmp_path / "copy", PRIVATE, redacted_ir)

    assert done.runs == open_trace(tmp_path / "copy").run_ids
    assert sum(problem.unreadable for problem in validate(tmp_path / "copy")) == before == 0
