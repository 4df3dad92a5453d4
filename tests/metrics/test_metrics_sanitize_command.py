"""`kvtrace sanitize` from the command line, over a trace that was recorded for real."""

import json
import shutil
from xml.etree import ElementTree

import pytest
import torch

import kvtrace as kvtrace_package
from kvtrace.cli import main
from tests.metrics import ignored_kernels, kernels
from tests.support.sarif_shape import violations


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Traces by what is in them: a defect, the same one suppressed, a gather, nothing wrong."""
    folder = tmp_path_factory.mktemp("sanitize")
    x, y = torch.randn(1000), torch.empty(1000)
    with kvtrace_package.capture(folder / "defect"):
        kernels.copy_without_mask[(4,)](x, y, 1000, BLOCK=256)
        kernels.copy_without_mask[(1,)](x[:100], y[:100], 100, BLOCK=128)
    with kvtrace_package.capture(folder / "suppressed"):
        ignored_kernels.copy_on_purpose[(4,)](x, y, 1000, BLOCK=256)
    with kvtrace_package.capture(folder / "gather", tensors="none"):
        kernels.gather[(4,)](x, torch.randint(0, 1000, (1000,)), y, 1000, BLOCK=256)
    with kvtrace_package.capture(folder / "sound"):
        kernels.copy[(4,)](x, y, 1000, BLOCK=256)
    return folder


@pytest.fixture
def sanitize(recordings, tmp_path, capsys, monkeypatch):
    """Run the command on a copy of a recording: exit code, output, complaints."""
    monkeypatch.chdir(tmp_path)

    def run(name, *options):
        copy = tmp_path / name
        if not copy.exists():
            shutil.copytree(recordings / name, copy)
        capsys.readouterr()
        code = main(["sanitize", name, "--blocks", *options])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_violation_exits_with_code_1_and_is_printed_like_a_compiler_error(sanitize):
    code, out, _ = sanitize("defect")
    assert code == 1
    assert "error[out-of-bounds]: " in out
    assert "warning[out-of-view]: " in out
    assert "witness:   lane 232 of program (3, 0, 0) in grid (4, 1, 1) writes byte 4,000" in out
    assert "hint:      pass mask= to the store" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80 + len(str(kernels.__file__))
    lines = out.splitlines()
    carets = [i for i, line in enumerate(lines) if line.strip(" |") == "^"]
    pointed = {lines[i - 1][lines[i].index("^") :].split("(")[0] for i in carets}
    assert pointed <= {"tl.load", "tl.store"}
    assert pointed


def test_sanitize_without_findings_exits_with_code_0(sanitize):
    code, out, _ = sanitize("sound")
    assert code == 0
    assert out.startswith("verdicts on unique calls: 0 errors (0.0 %), 0 unknown")


def test_a_suppressed_violation_is_counted_and_exits_with_code_0(sanitize):
    code, out, _ = sanitize("suppressed")
    assert code == 0
    assert "suppressed[out-of-bounds]:" in out
    assert "ignored:   the allocator pads" in out
    assert "note[unused-ignore]: this comment suppresses nothing: no finding of race" not in out
    assert "note[unused-ignore]" in out
    result = {f["rule"]: f for f in json.loads(sanitize("suppressed", "--json")[1])["verdicts"]}
    assert result["out-of-bounds"]["suppressed"]
    assert result["out-of-bounds"]["suppress_reason"] == "the allocator pads"
    assert not result["unused-ignore"]["suppressed"]


def test_strict_counts_unknown_verdicts(sanitize, monkeypatch):
    assert sanitize("gather")[0] == 0
    assert sanitize("gather", "--strict")[0] == 1
    monkeypatch.setenv("KVTRACE_STRICT", "1")
    code, out, _ = sanitize("gather")
    assert code == 1
    assert "unknown because:" in out
    assert "       1 × " in out


def test_warnings_alone_fail_with_strict_only(sanitize, tmp_path, monkeypatch):
    only = ("--rule", "out-of-view", "--junit", "found.xml")

    def outcomes():
        root = ElementTree.parse(tmp_path / "found.xml").getroot()
        return int(root.get("failures")), int(root.get("skipped"))

    code, out, _ = sanitize("defect", *only)
    assert code == 0
    assert "warning[out-of-view]: " in out
    assert outcomes()[0] == 0
    assert outcomes()[1] >= 1
    assert sanitize("defect", *only, "--strict")[0] == 1
    assert outcomes()[0] >= 1
    monkeypatch.setenv("KVTRACE_STRICT", "1")
    assert sanitize("defect", *only)[0] == 1


def test_rules_are_chosen_by_options_and_by_the_setting(sanitize, monkeypatch):
    def rules(*options):
        code, out, _ = sanitize("defect", "--json", "--all", *options)
        return {result["rule"] for result in json.loads(out)["verdicts"]}, code

    assert rules("--rule", "out-of-view") == ({"out-of-view"}, 0)
    assert rules("--rule", "out-of-view", "--strict") == ({"out-of-view"}, 1)
    both, code = rules("--no-rule", "out-of-view")
    assert ("out-of-view" in both, "out-of-bounds" in both, code) == (False, True, 1)
    assert "out-of-bounds" not in rules("--no-rule", "out-of-bounds")[0]
    monkeypatch.setenv("KVTRACE_RULES", "out-of-view")
    assert rules() == ({"out-of-view"}, 0)
    assert "out-of-bounds" in rules("--rule", "default")[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--rule", "out-of-mind"), "there is no rule 'out-of-mind'"),
        (("--no-rule", "out-of-mind"), "there is no rule 'out-of-mind'"),
        (("--rule", "race,-race", "--rule", "-default"), "rule"),
        (("--junit", "no/such/folder.xml"), "does not exist"),
        (("--json", "--sarif"), "choose one"),
    ],
)
def test_bad_input_prints_one_sentence_and_exits_with_code_2(sanitize, options, sentence):
    code, out, err = sanitize("sound", *options)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_junit_has_proven_accesses_though_the_text_does_not(sanitize, tmp_path):
    code, out, _ = sanitize("defect", "--junit", "found.xml")
    root = ElementTree.parse(tmp_path / "found.xml").getroot()
    assert code == 1
    assert int(root.get("failures")) >= 1
    assert int(root.get("tests")) > int(root.get("failures"))
    assert "proven[" not in out


@pytest.mark.parametrize("name", ["defect", "suppressed", "gather", "sound"])
def test_sarif_is_valid(sanitize, name):
    log = json.loads(sanitize(name, "--sarif", "--all")[1])
    assert violations(log) == []
    assert log["runs"][0]["results"]


def test_colors_are_for_terminals_only(sanitize, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1;31merror[out-of-bounds]\x1b[0m" in sanitize("defect")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in sanitize("defect")[1]
