"""What a candidate's process can find, and what is heard of it."""

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request
from tests.addons.judge.labelled import FOLDER, labelled

pytestmark = pytest.mark.process

REFERENCE = Place(FOLDER / "references.py", "relu")
SOURCE = labelled("right")["relu"].read_text(encoding="utf-8")


def judged(tmp_path, lines):
    """Judge a right kernel, before which some lines run."""
    path = tmp_path / "relu.py"
    body = "".join(f"    {line}\n" for line in lines)
    path.write_text(SOURCE.replace("def relu(x):\n", f"def relu(x):\n{body}"))
    judgement = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    findings = judgement.object["findings"]  # of NaN the kernel makes 0, which is noted
    return {each["rule"]: each["message"] for each in findings if each["rule"] != "awkward-values"}


def test_neither_answers_nor_later_inputs_nor_seeds_are_in_reach_of_a_candidate(tmp_path):
    lines = [
        "import os, sys, pathlib",
        "frame, folders, named = sys._getframe(), set(), set()",
        "while frame is not None:",
        "    for each in frame.f_locals.values():",
        "        named |= {each} if isinstance(each, pathlib.Path) else set()",
        "    frame = frame.f_back",
        "def listed(folder):",
        "    try: return [str(e) for e in folder.rglob('*') if 'usr' not in str(e)][:99]",
        "    except OSError: return []",
        "for each in named: folders |= {each, *each.parents}",
        "scratch = [f for f in folders if len(f.parts) == 3 and f.parts[1] == 'tmp']",
        "files = [each for folder in scratch for each in listed(folder)]",
        "names = {each.name for each in named}",
        "there = sorted(each.name for each in named if each.is_file())",
        "raise ValueError(str('seed' in names), there, *files)",
    ]
    told = judged(tmp_path, lines)["raises"]
    assert "('True', [], '" in told  # where the seed's file is can be had; there it is not
    assert not any(word in told for word in ("cases.json", "exact", "answers", "/seed"))


def test_nothing_around_a_candidate_says_that_it_is_judged(tmp_path):
    lines = [
        "import os, sys, tempfile",
        "raise ValueError([os.getcwd(), __name__, __file__, sys.argv[1:], tempfile.gettempdir(), "
        "sorted(os.environ.items())])",
    ]
    told = judged(tmp_path, lines)["raises"]
    assert f"'{tmp_path}', 'relu', " in told
    assert "kvtrace" not in told.replace(str(tmp_path), "")


def test_threads_are_heard(tmp_path):
    lines = [
        "import threading",
        f"write = lambda: open({str(tmp_path / 'written')!r}, 'w')",
        "thread = threading.Thread(target=write); thread.start(); thread.join()",
    ]
    assert str(tmp_path / "written") in judged(tmp_path, lines)["writes"]


@pytest.mark.smoke
def test_what_was_heard_cannot_be_taken_back(tmp_path):
    lines = [
        "import contextlib, os",
        f"with contextlib.suppress(OSError): open({str(tmp_path / 'written')!r}, 'w')",
        "for number in range(3, 64):",
        "    with contextlib.suppress(OSError): os.ftruncate(number, 0)",
    ]
    assert "writes" in judged(tmp_path, lines)


def test_its_own_temporary_folders_are_no_writes(tmp_path):
    """Python removes them by descriptors of folders, whose paths nothing in /proc says."""
    lines = [
        "import contextlib, os, tempfile",
        "with tempfile.TemporaryDirectory() as folder: os.makedirs(folder + '/inner/inner')",
        "if 'outside' not in globals(): globals()['outside'] = os.open('/usr', os.O_RDONLY)",
    ]
    assert judged(tmp_path, lines).keys() == {"surroundings"}  # for its name says where it is
    lines.append("with contextlib.suppress(OSError): os.mkdir('made', dir_fd=outside)")
    assert "/usr/made" in judged(tmp_path, lines)["writes"]


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["import time", "time.perf_counter = lambda: 0.0"], "time.perf_counter"),
        (
            ["library = torch.library.Library('aten', 'IMPL')"]
            + ["library.impl('allclose', lambda *a, **k: True, 'CPU')"],
            "aten::allclose",
        ),
        (
            ["from torch.utils._python_dispatch import TorchDispatchMode"]
            + ["class Mode(TorchDispatchMode):"]
            + ["    def __torch_dispatch__(self, f, t, a=(), k=None): return f(*a, **(k or {}))"]
            + ["Mode().__enter__()"],
            "a mode that is never left",
        ),
        (["torch.set_default_dtype(torch.float16)"], "torch's default type"),
    ],
)  # fmt: skip
def test_what_is_replaced_outside_of_torchs_modules_is_found(tmp_path, lines, named):
    path = tmp_path / "relu.py"
    path.write_text(SOURCE + "\n" + "\n".join(lines) + "\n")
    judgement = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    told = {each["rule"]: each["message"] for each in judgement.object["findings"]}
    assert named in told["patches"]


KEEPING = """

held, inner = [], relu


def relu(x):
    held.append(inner(x))
    return held[-1]
"""


def test_results_that_are_kept_may_change_later(tmp_path):
    path = tmp_path / "relu.py"
    path.write_text(SOURCE + KEEPING)
    judgement = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    assert judgement.verdict == "unjudged"
    assert "result-changed" in {each["rule"] for each in judgement.object["findings"]}
