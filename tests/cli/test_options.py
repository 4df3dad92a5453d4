"""What several commands have in common: names that are nearly right, and standard output."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import kvtrace as library
from kvtrace.cli import command_line
from kvtrace.cli.options import select, written_to
from kvtrace.schema.errors import BadSetting
from kvtrace.verdicts.rules.table import RULES
from tests.converters.written_trace import Kernel, write_trace
from tests.support.checked_kernels import double_past_the_end
from tests.support.tree import ROOT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("santize", "TRACE"), "no command 'santize' (did you mean 'sanitize'?)"),
        (("sanitize", "TRACE", "--rule", "out-of-bound"), "(did you mean 'out-of-bounds'?)"),
        (("convert", "perfeto", "TRACE"), "(did you mean 'perfetto'?)"),
        (("convert", "csv", "TRACE", "--set", "tabel=calls"), "(did you mean 'table'?)"),
        (("replay", "TRACE", "--client", "profile"), "(did you mean 'profiler'?)"),
        (("TRACE",), "is a trace; kvtrace info "),
    ],
)
def test_misspelled_names_are_reported_with_the_nearest_name(kvtrace, sound_trace, words, said):
    code, out, err = kvtrace(*(str(sound_trace) if word == "TRACE" else word for word in words))
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("command", [("info",), ("profile",), ()])
def test_a_directory_of_traces_lists_them(kvtrace, own_trace, command):
    code, _, err = kvtrace(*command, own_trace.parent)
    assert code == 2
    assert f"contains traces; name one of: {own_trace}" in err


def test_folder_cannot_go_to_standard_output():
    with (
        pytest.raises(BadSetting, match="several files were written"),
        written_to(Path("-"), "files") as (path, _),
    ):
        path.mkdir()


@pytest.mark.parametrize("name", ["repro.py", "report.html"])
def test_file_of_the_user_is_not_replaced_where_no_output_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("mine")
    with pytest.raises(BadSetting, match="name the file to write"), written_to(None, name):
        Path(name).write_text("theirs")
    assert Path(name).read_text() == "mine"
    with written_to(Path(f"./{name}").resolve(), name) as (path, _):
        path.write_text("of kvtrace")  # it was named
    with written_to(None, name) as (path, _):
        assert path == Path(name)


_TRAIN = ROOT / "tests" / "fixtures" / "h200" / "train"
_BY_KERNEL = {
    "info": (),
    "profile": ("--no-replay",),
    "sizes": ("--seconds", "0.2"),
    "sanitize": (),
}


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """A trace of nine kernels; only cross_entropy_forward is not proven."""
    return shutil.copytree(_TRAIN, tmp_path_factory.mktemp("train") / "out")


@pytest.mark.process  # sanitize compiles
@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("command", _BY_KERNEL)
def test_only_kernels_that_a_glob_matches_are_shown(kvtrace, train, command, form):
    words = (command, train, *_BY_KERNEL[command], *form)
    code, out, err = kvtrace(*words, "--kernel", "cross*", "--kernel", "matmul_kernel")
    assert "3 of 9 kernels are shown (--kernel 'cross*' 'matmul_kernel')" in err
    assert code == 0
    assert "cross_entropy" in out
    assert "attention" not in out
    if command == "sizes":  # its search ends by the clock
        return
    whole = kvtrace(*words)
    assert kvtrace(*words, "--kernel", "*")[:2] == whole[:2]
    if command == "info" and form:  # figures of runs are those of all kernels
        assert json.loads(out)["runs"] == json.loads(whole[1])["runs"]


@pytest.mark.parametrize("command", _BY_KERNEL)
def test_glob_without_a_match_names_the_closest_kernels(kvtrace, train, command):
    code, out, err = kvtrace(command, train, "--kernel", "*", "--kernel", "matmul")
    assert (code, out) == (2, "")
    assert "--kernel 'matmul' matches none of 9 kernels; the closest: matmul_kernel" in err


def test_replay_names_the_command_that_chooses_kernels(kvtrace, train):
    code, _, err = kvtrace("replay", train, "--kernel", "*")
    assert (code, err.endswith("kvtrace profile --replay --kernel GLOB.\n")) == (2, True)


@pytest.mark.process
@pytest.mark.parametrize("command", ["sanitize", "sizes"])
def test_chosen_kernels_alone_decide_the_exit_code(kvtrace, train, command):
    words = (command, train, *_BY_KERNEL[command], "--strict", "--kernel")
    assert kvtrace(*words, "cross_entropy_f*")[0] == 1
    assert kvtrace(*words, "layer_norm_forward")[0] == 0


def test_comparison_is_of_chosen_kernels(kvtrace, train):
    words = ("diff", train, train, "--no-replay", "--json")
    whole, every = kvtrace(*words), kvtrace(*words, "--kernel", "*")
    assert every[:2] == whole[:2]
    assert json.loads(whole[1])["before"]["kernels"] == 9
    code, out, err = kvtrace(*words, "--kernel", "cross*")
    assert "2 of 9 kernels are shown (--kernel 'cross*')" in err
    assert json.loads(out)["before"]["kernels"] == 2
    assert code == 0


def test_page_of_every_kernel_is_the_page(kvtrace, train, tmp_path):
    words = ("report", train, "--no-replay", "-o")
    assert kvtrace(*words, tmp_path / "whole.html")[0] == 0
    assert kvtrace(*words, tmp_path / "every.html", "--kernel", "*")[0] == 0
    page = (tmp_path / "whole.html").read_bytes()
    assert (tmp_path / "every.html").read_bytes() == page
    code, out, err = kvtrace(*words, tmp_path / "chosen.html", "--kernel", "cross_entropy_f*")
    assert "1 of 9 kernels is shown (--kernel 'cross_entropy_f*')" in err
    assert (code, out.splitlines()[1]) == (0, "  30 launches, 1 kernel")
    assert len((tmp_path / "chosen.html").read_bytes()) < len(page)


def test_script_is_of_the_heaviest_call_of_chosen_kernels(kvtrace, train, tmp_path):
    code, out, _ = kvtrace("repro", train, "--kernel", "cross_entropy_f*")
    assert code == 0
    assert "cross_entropy_forward[" in out
    assert kvtrace("repro", train, "--kernel", "cross*", "--top", "9", "-o", "heavy")[0] == 0
    names = {path.stem.partition("-")[2] for path in (tmp_path / "heavy").iterdir()}
    assert names == {"cross_entropy_forward", "cross_entropy_backward"}
    code, _, err = kvtrace("repro", train, "--kernel", "cross*", "--launch", "3")
    assert (code, "--kernel chooses calls: leave out --launch" in err) == (2, True)


@pytest.fixture
def run_piped(own_trace):
    def run(*words):
        command = [sys.executable, "-m", "kvtrace", *map(str, words)]
        return subprocess.run(command, capture_output=True, check=False, timeout=300)

    return run


@pytest.mark.process
def test_output_minus_is_standard_output(run_piped, own_trace, tmp_path):
    chrome = run_piped("convert", "chrome", own_trace, "-o", tmp_path / "file.json")
    assert chrome.returncode == 0, chrome.stderr
    printed = run_piped("convert", "chrome", own_trace, "-o", "-")
    assert printed.stdout == (tmp_path / "file.json").read_bytes()
    assert b"wrote -" in printed.stderr

    page = run_piped("report", own_trace, "-o", "-", "--no-replay")
    assert page.stdout.startswith(b"<!doctype html>")


@pytest.mark.process
def test_several_output_files_are_refused_for_standard_output(run_piped, own_trace):
    done = run_piped("convert", "csv", own_trace, "-o", "-")
    assert done.returncode == 2
    assert b"several files" in done.stderr


@pytest.fixture
def recorded_defect(tmp_path):
    with library.capture(tmp_path / "trace", compile="ttir"):
        double_past_the_end[(4,)](torch.zeros(1000), torch.zeros(1000), 1000, BLOCK=256)
    return tmp_path / "trace"


@pytest.mark.process
def test_findings_are_printed_one_per_line_into_a_pipe(run_piped, recorded_defect):
    done = run_piped("sanitize", recorded_defect)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert lines
    assert all(re.match(r"\S+:\d+:\d+: \w+\[[\w-]+\]: ", line) for line in lines)

    blocks = run_piped("sanitize", recorded_defect, "--blocks").stdout.decode()
    assert "  witness:" in blocks


def test_what_a_trace_tells_goes_to_standard_error(tmp_path, capsys):
    write_trace(tmp_path, [Kernel()])
    select(tmp_path).trace.tell("adding up")
    assert capsys.readouterr() == ("", "kvtrace: adding up\n")


def test_help_of_sanitize_names_every_rule_and_those_that_do_not_judge_by_default():
    (text,) = (option.text for option in command_line("sanitize").options if "--rule" in option.on)
    defaults, others = text.partition("The group default is ")[2].split("; the group all adds ")
    assert set(others.split(", ")) == {rule for rule in RULES if not RULES[rule].default}
    assert set(defaults.split(", ")) > {rule for rule in RULES if RULES[rule].default}
