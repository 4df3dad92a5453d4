"""Suites have the files that are promised, and what cannot be in one is named."""

import json
import re
import shutil
import zlib

import pytest

from kvtrace.addons.suite.launches import read_call
from kvtrace.addons.suite.making import SuiteSettings, make_suite
from kvtrace.addons.suite.model import read_index
from kvtrace.addons.suite.writing import OTHER_FILES
from kvtrace.cli import main
from kvtrace.converters.scripts.repro import Choice, DescriptorArgument, Literal, read_repro
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT

H200 = ROOT / "tests" / "fixtures" / "h200"


def entry_of(made, kernel):
    return next(entry for entry in made.suite.entries if entry.kernel == kernel)


def test_the_index_adds_up(made):
    suite = read_index(made.folder)

    assert suite == made.suite
    assert sum(entry.launches for entry in suite.entries) == suite.weight == 10
    assert suite.covered == pytest.approx(1)
    assert suite.left_out == ()
    assert [len(entry.calls) for entry in suite.entries] == [3, 1, 1, 1, 1, 1, 1]
    assert suite.source["triton"]


def test_calls_are_read_as_repro_has_them(made):
    for entry in made.suite.entries:
        call = read_call(made.folder, entry.name)
        number = int(entry.calls[0].rpartition("/")[2])
        is_source = call.code.stage == "source"
        repro = read_repro(made.selection, Choice(call=number), source=is_source)
        assert (call.kernel, call.grid, call.code) == (repro.kernel, repro.grid, repro.code)
        assert call.options == repro.options
        assert call.storages == repro.storages
        assert call.arguments == repro.arguments
        for name, memory in repro.storages.items():
            compressed = repro.contents.get(memory.contents)
            expected = None if compressed is None else zlib.decompress(compressed)
            assert call.contents(name) == expected


def test_contents_are_recorded_or_random(made):
    gather = entry_of(made, "gather")

    assert gather.inputs == {"index": "recorded", "table": "random", "out": "random"}
    assert gather.notes == ()


def test_indices_that_were_not_recorded_have_a_note(made, tmp_path):
    suite = make_suite(made.selection, tmp_path / "suite", SuiteSettings(limit_bytes=0))

    gather = next(entry for entry in suite.entries if entry.kernel == "gather")
    assert gather.inputs["index"] == "random"
    assert any("contents of index decide what work it does" in note for note in gather.notes)
    text = (tmp_path / "suite" / "calls" / f"{gather.name}.py").read_text()
    assert "contents of index decide what work it does" in " ".join(text.split())


def test_a_kernel_with_descriptors_is_launched_from_its_source(made):
    entry = entry_of(made, "copy_block")
    call = read_call(made.folder, entry.name)

    assert call.code.stage == "source"
    assert isinstance(call.arguments["source"], DescriptorArgument)
    assert call.arguments["BLOCK"] == Literal("32")
    assert "from its Python source" in entry.notes[0]


def test_source_lies_beside_the_ir(made):
    kernels = {path.name for path in (made.folder / "kernels").iterdir()}

    assert {"scale.ttir", "scale.py", "gather.ttir", "gather.py", "copy_block.py"} <= kernels
    assert "def scale(x, out, n, factor" in (made.folder / "kernels" / "scale.py").read_text()


def test_the_share_ends_the_choice(made, tmp_path):
    suite = make_suite(made.selection, tmp_path / "suite", SuiteSettings(share=0.4))

    assert [entry.kernel for entry in suite.entries] == ["scale", "double"]
    assert suite.covered == pytest.approx(0.5)
    assert [(one.name, round(one.share, 9)) for one in suite.left_out] == [("5 lighter calls", 0.5)]


def test_an_earlier_suite_is_replaced_and_other_files_stay(made, tmp_path):
    folder = tmp_path / "suite"
    make_suite(made.selection, folder)
    (folder / "mine.py").write_text("mine")

    suite = make_suite(made.selection, folder, SuiteSettings(share=0.4, limit_bytes=0))

    assert sorted(path.stem for path in (folder / "calls").iterdir()) == [
        entry.name for entry in suite.entries
    ]
    assert not (folder / "contents").exists()
    assert (folder / "mine.py").read_text() == "mine"
    assert not list(tmp_path.glob(".kvtrace-*"))


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_shares_are_above_zero_and_up_to_one(made, tmp_path, share):
    with pytest.raises(BadSetting, match="--share"):
        make_suite(made.selection, tmp_path / "suite", SuiteSettings(share=share))


def test_folders_that_are_no_suites_are_left_alone(made, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(BadSetting, match="not empty, and no suite"):
        make_suite(made.selection, tmp_path)
    with pytest.raises(BadSetting, match="is a file"):
        make_suite(made.selection, tmp_path / "notes.txt")
    with pytest.raises(BadSetting, match="does not exist"):
        make_suite(made.selection, tmp_path / "gone" / "suite")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_trace_without_code_is_refused_in_a_sentence(made, tmp_path, capsys):
    trace = shutil.copytree(made.selection.trace.path, tmp_path / "out")
    shutil.rmtree(trace / "artifacts")

    assert main(["suite", str(trace), "-o", str(tmp_path / "suite")]) == 2

    told = capsys.readouterr().err
    assert "was recorded without Triton's IR" in told
    assert "call 0" not in told  # the number says nothing to users
    assert not (tmp_path / "suite").exists()


def test_kernels_of_which_only_source_was_recorded_are_launched_from_it(tmp_path):
    suite = make_suite(select_runs(H200 / "inductor"), tmp_path / "suite", SuiteSettings(share=0.2))

    assert suite.entries
    for entry in suite.entries:
        assert "its IR was not recorded" in " ".join(entry.notes)
        code = read_call(tmp_path / "suite", entry.name).code
        assert code.stage == "source"
        assert f"def {entry.kernel}(" in code.text


def test_few_files_also_of_many_kernels(monkeypatch, tmp_path):
    monkeypatch.setattr("kvtrace.addons.suite.writing.MOST_FILES", 26)
    monkeypatch.setattr("kvtrace.addons.suite.making.MOST_FILES", 26)
    selection = select_runs(H200 / "llama")

    suite = make_suite(selection, tmp_path / "suite", SuiteSettings(share=1, part=WHOLE))

    files = [path for path in (tmp_path / "suite").rglob("*") if path.is_file()]
    assert len([path for path in files if path.suffix != ".zlib"]) == 26
    assert len(suite.entries) == 26 - OTHER_FILES
    assert "at most" in suite.left_out[-1].why
    call = read_call(tmp_path / "suite", suite.entries[0].name)
    assert "tt.func" in call.code.text


def test_the_readme_names_what_a_reader_finds(made):
    text = (made.folder / "README.md").read_text()

    for link in re.findall(r"\]\((calls/[^)]+)\)", text):
        assert (made.folder / link).is_file()
    for entry in made.suite.entries:
        assert entry.name in text
    assert "100.0 % of the 10 launches" in text
    example = re.search(r'runpy\.run_path\("([^"]+)"\)', text)[1]
    assert (made.folder / example).is_file()


def test_the_command_says_what_it_made(made, tmp_path, capsys):
    out = made.selection.trace.path
    assert main(["suite", str(out), "-o", str(tmp_path / "suite"), "--share", "0.4"]) == 0

    told = capsys.readouterr().out
    assert "2 calls for 4 recorded, 50.0 % of the launches of Triton kernels" in told
    assert "left out: 5 lighter calls, 50.0 %" in told
    assert json.loads((tmp_path / "suite" / "suite.json").read_text())["weighed_by"] == "launches"
