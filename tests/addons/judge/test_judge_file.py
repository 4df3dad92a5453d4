"""`kvtrace judge`: labeled kernels, and the printed object."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import jsonschema
import pytest

from kvtrace.addons.judge.judge_file import Judgment, judge_file, judgment_text, schema
from kvtrace.addons.judge.request import (
    CannotJudge,
    Place,
    Request,
    entry_of,
    place_of,
    read_file,
)
from kvtrace.cli import main
from tests.addons.judge.labeled import FOLDER, expected_rule, labeled, request_of
from tests.support.thorough import in_turn

RIGHT, WRONG = labeled("right"), labeled("wrong")
#: Of the kernels, one in so many is judged at a push; `benchmarks/judge.py` judges all of them.
EACH = 10


@cache
def judged(path):
    """Return the cached judgment of a labeled kernel, which tests must not change."""
    return judge_file(request_of(path))


def rules_of(judgment, *severities):
    findings = judgment.object["findings"]
    return {
        finding["rule"]
        for finding in findings
        if not severities or finding["severity"] in severities
    }


@pytest.mark.process
@pytest.mark.parametrize("name", in_turn(RIGHT, EACH))
def test_right_kernel_is_judged_right(name):
    judgment = judged(RIGHT[name])

    assert judgment.object["findings"] == [
        finding for finding in judgment.object["findings"] if finding["severity"] == "note"
    ]
    assert (judgment.verdict, judgment.status) == ("right", 0)
    jsonschema.validate(judgment.object, schema())
    assert all(figures["bytes"] for figures in judgment.object["figures"])


@pytest.mark.process
def test_a_judgment_is_repeated_by_its_seed():
    request = request_of(next(iter(WRONG.values())))
    assert judged(next(iter(WRONG.values()))).object["seed"]["given"] is False
    seed = 0x7 << 120 | 1

    one, other = (judge_file(request, seed).object for _ in range(2))

    assert one["seed"] == {"value": f"{seed:032x}", "given": True}
    assert [one[key] for key in ("findings", "cases")] == [
        other[key] for key in ("findings", "cases")
    ]


@pytest.mark.parametrize("seed", ["", "0x1", "g", "1" * 33])
def test_invalid_seed_is_a_one_sentence_error(seed, capsys, tmp_path):
    (tmp_path / "k.py").write_text((FOLDER / "kernels" / "right" / "gelu.py").read_text())
    words = ["judge", str(tmp_path / "k.py"), "--reference", f"{FOLDER / 'references.py'}:gelu"]
    assert main([*words, "--seed", seed]) == 2
    assert "is not a seed" in " ".join(capsys.readouterr().err.split())


@pytest.mark.process
@pytest.mark.parametrize("name", in_turn(WRONG, EACH))
def test_wrong_kernel_is_judged_wrong_by_the_expected_rule(name):
    judgment = judged(WRONG[name])

    assert (judgment.verdict, judgment.status) == ("wrong", 1)
    assert expected_rule(WRONG[name]) in rules_of(judgment, "error")
    jsonschema.validate(judgment.object, schema())


def test_collection_has_twenty_right_and_twenty_wrong_kernels():
    assert (len(RIGHT), len(WRONG)) == (20, 20)


@pytest.mark.process
def test_finding_has_its_line_and_a_hint():
    judgment = judged(WRONG["add_no_mask"])

    finding = next(e for e in judgment.object["findings"] if e["rule"] == "out-of-bounds")
    assert finding["file"] == str(WRONG["add_no_mask"])
    assert "tl.load(x + i)" in WRONG["add_no_mask"].read_text().splitlines()[finding["line"] - 1]
    assert "mask" in finding["hint"]


@pytest.mark.process
def test_judgment_is_plain_json():
    judgment = judged(WRONG["total_not_cleared"])
    assert json.loads(json.dumps(judgment.object, allow_nan=False)) == judgment.object


@pytest.mark.process
def test_judge_tries_sizes_tails_views_and_other_values():
    judgment = judged(RIGHT["add"])
    cases = {(case["kind"], case["case"]) for case in judgment.object["cases"]}
    assert {
        ("given", "x=f32[197], y=f32[197]"), ("values", "other values"),
        ("view", "strided views"), ("view", "offset views"),
        ("sizes", "197 → 1"), ("sizes", "197 → 257"), ("sizes", "197 → 255"),
    } <= cases  # fmt: skip


@pytest.mark.process
def test_views_are_not_tried_with_no_views():
    request = replace(request_of(WRONG["add_ignores_strides"]), views=False)
    assert judge_file(request).verdict == "right"


@pytest.mark.process
def test_given_shapes_name_the_first_case():
    request = request_of(WRONG["add_no_mask"])
    judgment = judge_file(replace(request, shapes=("f32[1000], f32[1000]",), views=False))
    assert "out-of-bounds" in rules_of(judgment, "error")
    assert judgment.object["cases"][0]["case"] == "f32[1000], f32[1000]"


@pytest.mark.process
def test_sizes_that_were_not_run_are_judged_by_formulas():
    path = RIGHT["transpose"]
    large = replace(request_of(path), at="rows=70_000, columns=70_000")
    judgment = judge_file(large)
    assert "overflow" in rules_of(judgment, "error")
    assert "  judged at rows = 70000, columns = 70000" in judgment_text(judgment)


@pytest.mark.process
def test_inputs_are_made_by_the_references_file_and_not_by_the_judged_one(tmp_path):
    own, reference = tmp_path / "own.py", tmp_path / "reference.py"
    made = "\n\ndef inputs():\n    return {'x': torch.rand(%d) - 0.5}\n"
    own.write_text(RIGHT["relu"].read_text() + made % 5)
    reference.write_text("import torch\n\ndef relu(x):\n    return torch.relu(x)\n" + made % 77)
    judgment = judge_file(Request(Place(own, "relu"), Place(reference, "relu")))
    assert judgment.verdict == "right"
    assert judgment.object["cases"][0]["case"] == "x=f32[77]"


@pytest.mark.process
def test_pytorch_result_after_the_last_launch_is_unjudged_unless_trusted(tmp_path):
    source = RIGHT["total_in_two"].read_text()
    start = source.index("    whole[(1,)]")
    path = tmp_path / "partial.py"
    path.write_text(source[:start] + "    return partial.sum().reshape(1)\n")
    request = replace(request_of(RIGHT["total_in_two"]), entry=Place(path, "total"))

    judgment = judge_file(request)
    assert (judgment.verdict, judgment.status) == ("unjudged", 2)
    assert "host-computed" in rules_of(judgment, "unjudged")

    believed = judge_file(replace(request, trust_host=True))
    assert believed.verdict == "right"
    assert "host-computed" in rules_of(believed, "warning")


@pytest.mark.process
def test_the_command_prints_json_and_its_exit_code_is_the_verdict(capsys):
    path = WRONG["softmax_one_block"]
    words = ["--reference", f"{FOLDER / 'references.py'}:softmax"]
    code = main(["judge", str(path), *words])
    content = json.loads(capsys.readouterr().out)
    assert code == 1
    jsonschema.validate(content, schema())

    code = main(["judge", str(RIGHT["softmax"]), *words, "--shapes", "x=f32[5, 30]", "--text"])
    assert code == 0
    assert re.search(r"softmax.py:softmax: right \(\d\d cases in ", capsys.readouterr().out)


@pytest.mark.process
def test_judge_prints_text_on_a_terminal_and_json_with_the_option(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    words = ["judge", str(RIGHT["softmax"]), "--shapes", "x=f32[5, 30]", "--no-views"]
    words += ["--reference", f"{FOLDER / 'references.py'}:softmax"]
    assert main(words) == 0
    assert "softmax.py:softmax: right (" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema())
    assert main([*words, "--json", "--text"]) == 2


def test_judge_prints_the_schema_of_its_output(capsys):
    assert main(["judge", str(RIGHT["add"]), "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    jsonschema.Draft202012Validator.check_schema(schema())


def sizes_text(*variants, cases=()):
    return judgment_text(
        Judgment(
            {
                "entry": {"file": "add.py", "name": "add"}, "verdict": "right",
                "seconds": {"whole": 1.0}, "findings": [], "figures": [], "cases": list(cases),
                "all_sizes": list(variants),
                "confined": dict.fromkeys(("network", "writes", "processes"), True),
            }
        )
    )[1:]  # fmt: skip


def variant(kernel="add", certified=3, at=None, no_overflow=()):
    return {
        "kernel": kernel, "accesses": 3, "certified": certified, "at": at,
        "no_overflow": list(no_overflow),
    }  # fmt: skip


def test_text_says_which_sizes_are_decided_and_that_no_others_were_asked():
    lines = sizes_text(
        variant(no_overflow=["64 * grid_x <= 2**31"]), variant(certified=2),
        cases=[{"kind": kind} for kind in ("given", "sizes", "sizes", "view")],
    )  # fmt: skip
    assert lines == [
        "cases: 1 given, 2 of other sizes, 1 of views",
        "add, other sizes: 5 of 6 accesses of 2 variants with a condition that keeps it inside its "
        "tensor",
        "  no integer overflows if 64 * grid_x <= 2**31",
        "no sizes beyond the cases were judged; --at names them",
        "conditions: --json; the first bad size of each number: kvtrace sizes",
    ]


def test_text_names_the_sizes_that_were_judged_and_counts_conditions_beyond_three():
    limits = [f"{n} * n <= 2**31" for n in range(5)]
    lines = sizes_text(variant(at="M = 9 (n)", no_overflow=limits))
    assert lines[1].endswith("2 * n <= 2**31 and 2 more")
    assert "  judged at M = 9 (n)" in lines
    assert not any("no sizes" in line for line in lines)


def test_text_of_a_file_without_launches_claims_nothing_of_sizes():
    assert sizes_text() == []


@pytest.mark.process
def test_text_has_one_line_per_finding():
    lines = judgment_text(judged(WRONG["total_race"]))
    assert any("error[race]" in line and "total_race.py:12:" in line for line in lines)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(:", "cannot be compiled as Python"),
        ("x = 1\n", "has no public function that launches a kernel"),
        (
            "def f(x):\n    k[(1,)](x)\n\ndef g(x):\n    k[(1,)](x)\n",
            "has 2 public functions that launch kernels (f, g)",
        ),
    ],
)
def test_file_that_cannot_be_judged_is_an_error_with_exit_code_2(tmp_path, capsys, source, message):
    path = tmp_path / "odd.py"
    path.write_text(source)
    assert main(["judge", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_missing_inputs_are_an_error_with_advice(tmp_path):
    (tmp_path / "plain.py").write_text("def add(x, y):\n    return x + y\n")
    with pytest.raises(CannotJudge, match='give --shapes "x=f32'):
        judge_file(replace(request_of(RIGHT["add"]), reference=Place(tmp_path / "plain.py", "add")))


def test_missing_reference_is_an_error_with_advice(capsys):
    assert main(["judge", str(RIGHT["add"]), "--shapes", "f32[4], f32[4]"]) == 2
    assert "--reference FILE.py:NAME" in capsys.readouterr().err


def test_missing_entry_is_an_error():
    with pytest.raises(CannotJudge, match="defines no function or class 'gone'"):
        entry_of(read_file(RIGHT["add"]), "gone")
    with pytest.raises(CannotJudge, match="it is not known what function of"):
        place_of(str(FOLDER / "references.py"))


@pytest.mark.process
def test_files_for_a_gpu_are_judged_as_they_are():
    path = FOLDER / "files" / "autotuned.py"
    request = Request(entry_of(read_file(path), None), Place(FOLDER / "references.py", "relu"))
    judgment = judge_file(request)
    assert judgment.verdict == "right", judgment.object["findings"]
    assert rules_of(judgment, "error", "warning") == set()


@pytest.mark.process
def test_functions_replaced_by_imported_libraries_are_not_reported(tmp_path):
    path = tmp_path / "imports.py"
    path.write_text(
        RIGHT["relu"].read_text().replace("import torch\n", "import torch._inductor\n", 1)
    )
    request = Request(entry_of(read_file(path), None), Place(FOLDER / "references.py", "relu"))
    assert rules_of(judge_file(request), "error", "unjudged", "warning") == set()


@pytest.mark.process
def test_inputs_may_be_moved_and_cast_before_launches_and_results_after_them():
    path = FOLDER / "files" / "moves.py"
    judgment = judge_file(Request(Place(path, "moved"), Place(path, "reference")))
    assert judgment.verdict == "right", judgment.object["findings"]


@pytest.mark.process
def test_model_is_constructed_with_the_arguments_of_its_reference(tmp_path):
    source = (FOLDER / "files" / "model_without_initial.py").read_text()
    reference = tmp_path / "reference.py"
    reference.write_text(f"{source}\n\ndef get_init_inputs():\n    return [40]\n")
    path = FOLDER / "files" / "model_without_initial.py"
    judgment = judge_file(Request(Place(path, "ModelNew"), Place(reference, "Model")))
    assert judgment.verdict == "right", judgment.object["findings"]


@pytest.mark.process
def test_reference_with_torch_compile_is_accepted(tmp_path):
    """The reference runs uncompiled, since its compiler would start other processes."""
    reference = tmp_path / "reference.py"
    reference.write_text("import torch\n\n@torch.compile\ndef relu(x):\n    return torch.relu(x)\n")
    entry = entry_of(read_file(RIGHT["relu"]), None)
    request = Request(entry, Place(reference, "relu"), shapes=("f32[100]",), views=False)
    assert judge_file(request).verdict == "right"


@pytest.mark.process
def test_a_file_that_cannot_be_imported_is_wrong(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = "from torch import no_such_thing\n\ndef f(x):\n    k[(1,)](x)\n"
    (tmp_path / "bad.py").write_text(source)
    (tmp_path / "reference.py").write_text("def f(x):\n    return x\n")
    assert main(["judge", "bad.py", "--reference", "reference.py:f", "--shapes", "f32[4]"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert "cannot import name 'no_such_thing'" in content["findings"][0]["message"]


@pytest.mark.process
def test_judging_process_does_not_import_torch(tmp_path):
    """It imports the examiner's modules, while another process imports torch."""
    path, reference = WRONG["add_no_mask"], FOLDER / "references.py"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kvtrace.addons.judge.judge_file import judge_file\n"
        "from kvtrace.addons.judge.request import Place, Request\n"
        f"entry, reference = Place(Path({str(path)!r}), 'add'), Path({str(reference)!r})\n"
        "told = judge_file(Request(entry, Place(reference, 'add')))\n"
        "print(told.verdict, 'torch' in sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )

    assert (result.returncode, result.stdout) == (0, "wrong False\n"), result.stderr


@pytest.mark.process
def test_an_out_of_bounds_load_at_sizes_beyond_the_given_ones_is_unjudged():
    path = FOLDER / "files" / "joined_of_equal_lengths.py"
    reference = Place(FOLDER / "references.py", "joined")
    equal = Request(Place(path, "joined"), reference, ("x=f32[300], y=f32[300]",))
    unequal = replace(equal, shapes=("x=f32[300], y=f32[200]",))

    judgment = judge_file(equal)
    assert rules_of(judgment, "error") == set()
    beyond = [e for e in judgment.object["findings"] if e["rule"] == "beyond-given"]
    assert any("past the end of y" in finding["message"] and finding["line"] for finding in beyond)
    assert judgment.verdict == "unjudged"
    assert "out-of-bounds" in rules_of(judge_file(unequal), "error")


@pytest.mark.night("25 s each; test_launches.py has the writes outside of tensors")
@pytest.mark.parametrize(
    ("name", "reference", "verdict", "rule"),
    [
        ("counted", "histograms", "wrong", "out-of-bounds"),
        ("weighted", "histograms", "unjudged", "beyond-given"),
        ("binned", "histogram_of_given", "unjudged", "beyond-given"),
    ],
)
def test_write_before_a_table_is_reported_though_results_are_right(name, reference, verdict, rule):
    files = FOLDER / "files"
    place = Place(files / f"{reference}.py", f"{name}_by_torch")

    judgment = judge_file(Request(Place(files / "histograms.py", name), place))

    assert judgment.verdict == verdict
    assert rule in rules_of(judgment, "error", "unjudged")
