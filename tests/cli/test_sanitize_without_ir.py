"""Commands on traces with kernels that cannot be judged: what was not judged is said, never green.

The traces are of another producer, and of another profiler.
"""

import json
from functools import partial
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.figures.libraries import library_executions
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import Kernel, Launches, Op, add_ops, write_trace
from tests.support.foreign_producer import COPY, write_foreign
from tests.support.foreign_traces import write_kineto
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(params=some(["none", "no origin", "imported", "unknown dialect"], 4))
def trace(request, tmp_path):
    if request.param == "imported":
        import_files([write_kineto(tmp_path)], tmp_path / "out")
    elif request.param == "no origin":
        write_foreign(tmp_path / "out", origins=(None, None))
    else:
        stage = None if request.param == "none" else "toyir"
        write_foreign(tmp_path / "out", stage=stage)
    return tmp_path / "out"


@pytest.fixture
def mixed(tmp_path):
    """A trace of which one kernel's TTIR is recorded (though it cannot be parsed), one's is not."""
    return write_foreign(tmp_path / "mixed", origins=("jit", "toydsl"))


def said(capsys, *words):
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    return code, " ".join(output.out.split()), " ".join(output.err.split())


def test_sanitize_counts_every_kernel_as_unknown(trace, capsys):
    code, out, err = said(capsys, "sanitize", trace, "--blocks")
    assert code == 2
    assert (err.count("nothing was judged of "), err.count("nothing to evaluate")) == (0, 1)
    assert "cannot be judged" in out
    assert "0 proven" in out
    assert "0 unknown" not in out
    assert said(capsys, "sanitize", trace, "--strict")[0] == 2


@pytest.mark.parametrize("number", [2, 9])
def test_calls_without_ir_share_a_line_for_each_reason(number, tmp_path, capsys):
    calls = (Launches(), Launches(scalar="2"))
    kernels = [Kernel(f"kernel{n}", origin="toydsl", calls=calls) for n in range(number)]
    kernels.append(Kernel("own", ttir="", calls=calls))
    out = write_trace(tmp_path / "out", kernels).trace.path
    main(["sanitize", str(out), "--lines"])
    lines, errors = (text.splitlines() for text in capsys.readouterr())
    assert len(lines) == 2
    assert any(f"(also {number - 1} other kernel" in line for line in lines)
    assert sum("calls of" in line for line in errors) == 2
    assert any(line.startswith("kvtrace: 2 calls of own: ") for line in errors)


def test_a_trace_without_launches_is_not_judged(tmp_path, capsys):
    out = write_trace(tmp_path / "out", []).trace.path
    for options in ((), ("--blocks",), ("--strict",), ("--sarif",)):
        code, _, err = said(capsys, "sanitize", out, *options)
        assert code == 2
        assert "nothing was judged: no kernel was launched" in err
    code, text, _ = said(capsys, "sanitize", out, "--json")
    answer = json.loads(text)
    assert (code, answer["verdicts"], set(answer["counts"].values())) == (2, [], {0})
    assert "no kernel was launched" in answer["unjudged"][0]["reason"]


@pytest.mark.costly("several commands; sentences of one stay by day")
def test_kernels_that_are_not_tritons_are_counted_as_not_judged(mixed, capsys):
    trace = copytree(FIXTURES / "h200" / "planted" / "good", mixed.parent / "good")
    libraries = library_executions(opened := open_trace(trace), opened.select())
    counts = ", ".join(f"{name} {number:,}" for name, number in libraries.items())
    expected = f"not judged: {sum(libraries.values()):,} executions of other kernels"
    for options in ((), ("--sarif",), ("--blocks",)):
        code, out, err = said(capsys, "sanitize", trace, *options)
        assert code == 0
        assert f"{expected} ({counts})" in out + err
    assert said(capsys, "sanitize", trace, "--strict")[0] == 0  # they are no verdicts
    reasons = json.loads(said(capsys, "sanitize", trace, "--json")[1])["unjudged"]
    assert [row["reason"].split("(")[1] for row in reasons] == [
        f"{name} {number:,})" for name, number in libraries.items()
    ]


def test_a_trace_of_other_kernels_alone_does_not_say_that_none_was_launched(tmp_path, capsys):
    """CuPy's and NCCL's kernels ran, and a copy, which is no kernel."""
    writer = RunWriter(tmp_path / "out", run := "20260102T030405-0001")
    names = {"name": ["cupy_add", "ncclDevKernel_Sum", "cupy_add", "Memcpy HtoD"]}
    times = {"start": [1_000, 2_000, 3_000, 4_000], "end": [1_500, 2_500, 3_500, 4_500]}
    kinds = {"kind": [None, None, None, "copy"]}
    writer.append("gpu_kernels", {"record": [1, 2, 3, 4], **names, **times, **kinds})
    writer.seal({"run_id": run, "started": 0, "ended": 9_000, "command": "python x.py"})

    code, _, err = said(capsys, "sanitize", tmp_path / "out")
    assert code == 2
    assert "no launch of Triton's, but 3 executions of other kernels" in err
    assert "(other 2, NCCL 1)" in err
    assert "no kernel was launched" not in err


@pytest.mark.parametrize(
    "words", [("profile",), ("profile", "--by", "source"), ("sizes",), ("replay",), ("invariance",)]
)
def test_a_trace_without_launches_is_bad_input(words, tmp_path, capsys):
    out = write_trace(tmp_path / "out", []).trace.path
    command, *options = words
    code, text, err = said(capsys, command, out, *options)
    assert code == 2
    assert "launched" in text + err


def test_rules_without_anything_to_judge_are_not_green(tmp_path, capsys):
    out = copytree(FIXTURES / "missing_mask", tmp_path / "out")
    code, _, err = said(capsys, "sanitize", out, "--rule", "device-assert")
    assert code == 2
    assert "had nothing for device-assert" in err


def test_lines_end_with_the_counts_on_standard_error(tmp_path, capsys):
    out = write_foreign(tmp_path / "out", origins=("jit", "jit"), stage="ttir_generic", text=COPY)
    code, text, err = said(capsys, "sanitize", out)
    assert code == 0
    assert "verdicts on unique calls: 0 errors" in err
    assert "verdicts on unique calls" not in text
    counts = json.loads(said(capsys, "sanitize", out, "--json")[1])["counts"]
    assert counts["proven"] > 0
    assert f"{counts['proven']} proven" in err


def test_no_text_of_another_producer_is_proven(tmp_path, capsys):
    out = write_foreign(tmp_path / "out", stage="ttgir", text=b"kernel(x, y) { y = x }")
    _, text, _ = said(capsys, "sanitize", out, "--blocks")
    assert " 0 proven" in text
    assert "which is not Triton's TTGIR" in text


def test_outputs_for_machines_have_what_was_not_judged(trace, tmp_path, capsys):
    _, out, _ = said(capsys, "sanitize", trace, "--json")
    answer = json.loads(out)
    findings = answer["verdicts"]
    assert findings
    assert answer["counts"]["unknown"] == sum(row["calls"] or 0 for row in answer["unjudged"])
    assert {finding["verdict"] for finding in findings} == {"unknown"}
    _, out, _ = said(capsys, "sanitize", trace, "--sarif")
    (run,) = json.loads(out)["runs"]
    assert {result["kind"] for result in run["results"]} == {"review"}
    notification, *_ = run["invocations"][0]["toolExecutionNotifications"]
    assert "nothing to evaluate or judge" in notification["message"]["text"]
    for strict, outcome in ((False, "skipped"), (True, "failure")):
        file = tmp_path / "findings.xml"
        said(capsys, "sanitize", trace, "--junit", file, *(["--strict"] if strict else []))
        cases = ElementTree.parse(file).findall(".//testcase")
        assert cases
        assert all(case.find(outcome) is not None for case in cases)


def test_no_output_advises_what_cannot_help(trace, capsys):
    for command in ("info", "profile", "sizes"):
        _, out, err = said(capsys, command, trace)
        assert "--replay" not in out + err
        assert "kvtrace sanitize" not in out + err


@pytest.mark.costly("several commands on a trace; counts of the unjudged stay by day")
def test_a_difference_of_what_cannot_be_compared_is_not_known(trace, capsys):
    code, out, _ = said(capsys, "diff", trace, trace, "--strict")
    assert code == 1
    assert "safe? not known the trace has no IR to judge of" in out
    assert "merge? not known" in out
    assert "kvtrace sanitize" not in out
    assert said(capsys, "diff", trace, trace, "--fail-on", "findings.new")[0] == 2


def test_kernels_without_recorded_code_are_not_the_same(tmp_path, capsys):
    out = write_foreign(tmp_path / "out")
    _, text, _ = said(capsys, "diff", out, out)
    assert "same results? not known the trace has no code to compare of axpy, softmax" in text


@pytest.mark.costly("several commands on a trace; counts of the unjudged stay by day")
def test_a_mixed_run_counts_the_unjudged(mixed, capsys):
    code, out, _ = said(capsys, "sanitize", mixed, "--blocks")
    assert code == 2
    assert "softmax: 0 errors, 1 unknown, 0 proven" in out
    assert "it is from toydsl" in out
    assert said(capsys, "sanitize", mixed, "--strict")[0] == 2
    _, out, _ = said(capsys, "replay", mixed)
    assert "0 of 2 unique calls replayed to their end" in out
    _, out, _ = said(capsys, "diff", mixed, mixed)
    assert "safe? not known the trace has no IR to judge of softmax" in out


@pytest.mark.parametrize(
    ("origins", "shown"),
    [
        (("toydsl", "cuBLAS"), ("toydsl", "cuBLAS kernel")),  # a producer's, not the library's
        ((None, None), ("unknown",)),
    ],
)
def test_origins_are_shown_as_the_producer_names_them(origins, shown, tmp_path, capsys):
    out = write_foreign(tmp_path / "out", origins=origins)
    for command in ("info", "profile"):
        _, text, _ = said(capsys, command, out)
        assert [words for words in shown if words not in text] == []
        assert "Triton" not in text


@pytest.mark.costly("several commands; sentences of one stay by day")
@pytest.mark.parametrize("origin", some(["jit", "toydsl"], 2))
def test_calls_without_recorded_arguments_are_not_safe(origin, tmp_path, capsys):
    out = write_foreign(
        tmp_path / "out", origins=(origin, origin), stage="ttir_generic", text=COPY,
        has_arguments=False,
    )  # fmt: skip
    code, text, _ = said(capsys, "diff", out, out, "--strict")
    assert code == 1
    assert (
        "safe? not known axpy, softmax cannot be judged: the trace does not have the arguments"
        in text
    )
    assert "same results? not known the trace has no arguments to compare of axpy" in text
    assert "merge? not known" in text
    assert said(capsys, "diff", out, out, "--fail-on", "findings.new")[0] == 2


@pytest.mark.costly("several commands; sentences of one stay by day")
def test_graphs_that_were_evaluated_without_rules_are_unknown(tmp_path, capsys):
    side = write_trace(tmp_path / "out", [Kernel(origin="numpy")])
    add_ops(side, [Op(0, 0, "load", 11, {"bytes": 4000})])
    path = side.trace.path
    code, text, _ = said(capsys, "sanitize", path, "--strict", "--blocks")
    assert code == 2
    assert "1 unknown, 0 proven" in text
    assert "it is from numpy, was evaluated while the program ran, and has no TTIR" in text
    code, text, _ = said(capsys, "diff", path, path, "--strict")
    assert code == 1
    assert "safe? not known scale cannot be judged: it is from numpy" in text


def test_nothing_is_launched_again_without_recorded_arguments(tmp_path, capsys):
    out = write_foreign(
        tmp_path / "out", stage="ttir", text=COPY, has_arguments=False
    )  # fmt: skip
    code, _, err = said(capsys, "repro", out, "--call", "0", "-o", tmp_path / "again.py")
    assert code == 2
    assert "its arguments and grid were not recorded" in err
    code, _, err = said(capsys, "convert", "repro", out, "-o", tmp_path / "r", "--call", "0")
    assert code == 2


def test_rules_that_judge_nothing_are_not_green(tmp_path, capsys):
    out = write_foreign(
        tmp_path / "out", stage="ttir_generic", text=COPY, has_arguments=False
    )  # fmt: skip
    code, _, err = said(capsys, "sanitize", out, "--rule", "uninitialized-read", "--strict")
    assert code == 2
    assert "had nothing for uninitialized-read; record the run with KVTRACE_MEMORY=on" in err
    code, text, _ = said(capsys, "invariance", out, "--strict")
    assert code == 1
    assert "No kernel could be judged." in text


@pytest.mark.parametrize("rule", ["uninitialized-read", "unwritten-result"])
def test_a_rule_without_its_data_is_named_beside_rules_that_judge(tmp_path, capsys, rule):
    out = write_foreign(tmp_path / "out", stage="ttir_generic", text=COPY)
    said_of = partial(said, capsys, "sanitize", out, "--rule", f"out-of-bounds,{rule}")
    code, _, err = said_of()
    assert code == 0
    assert f"nothing was judged by {rule}: record the run with KVTRACE_MEMORY=on" in err
    code, text, _ = said_of("--strict", "--json")
    assert code == 1
    (entry,) = json.loads(text)["unjudged"]
    assert entry["reason"].startswith(f"nothing was judged by {rule}")


def test_rules_that_nobody_named_are_not_missed(tmp_path, capsys):
    out = write_foreign(tmp_path / "out", stage="ttir_generic", text=COPY)
    code, _, err = said(capsys, "sanitize", out, "--strict")
    assert code == 0
    assert "KVTRACE_MEMORY" not in err


def test_sizes_and_recompiles_say_what_was_not_recorded(trace, capsys):
    _, text, _ = said(capsys, "sizes", trace)
    assert "no accesses to memory" not in text
    assert text.startswith("nothing was judged of ")
    _, text, _ = said(capsys, "info", trace, "--recompiles")
    assert "whether kernels were compiled or loaded from a cache was not recorded" in text


def test_a_call_without_recorded_arguments_has_no_text(tmp_path, capsys):
    out = write_foreign(
        tmp_path / "out", stage="ttir_generic", text=COPY, has_arguments=False
    )  # fmt: skip
    _, text, _ = said(capsys, "sanitize", out, "--blocks")
    assert "launch:" not in text
    assert "None" not in text


@pytest.mark.costly("several commands on a trace; counts of the unjudged stay by day")
def test_advice_names_torch_only_for_kernels_that_may_be_its_own(tmp_path, capsys):
    for origin, may_be_torch in (("toydsl", False), ("inductor", True)):
        out = write_foreign(tmp_path / origin, origins=(origin, origin))
        _, text, _ = said(capsys, "profile", out)
        assert "CUDA graphs" in text
        assert ("torch.compile" in text) == may_be_torch


def test_launches_that_waited_are_not_known_without_times_of_compilations(tmp_path, capsys):
    out = write_foreign(tmp_path / "out")
    script = tmp_path / "warmup.py"
    for command in (["info", out, "--warmup"], ["convert", "warmup", out, "-o", script]):
        code, _, err = said(capsys, *command)
        assert code == 2
        assert "does not say when its kernels were compiled or loaded" in err
    assert not script.exists()
