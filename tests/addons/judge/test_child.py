"""The candidate's process: what the candidate can reach, and which actions are logged."""

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request
from tests.addons.judge.labeled import FOLDER, labeled
from tests.support.thorough import in_turn

pytestmark = pytest.mark.process

REFERENCE = Place(FOLDER / "references.py", "relu")
SOURCE = labeled("right")["relu"].read_text(encoding="utf-8")


def judged(tmp_path, lines):
    """Judge a right kernel after some lines; return messages by rule."""
    path = tmp_path / "relu.py"
    body = "".join(f"    {line}\n" for line in lines)
    path.write_text(SOURCE.replace("def relu(x):\n", f"def relu(x):\n{body}"))
    judgment = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    findings = judgment.object["findings"]  # the kernel maps NaN to 0, which is a note
    return {f["rule"]: f["message"] for f in findings if f["rule"] != "awkward-values"}


def test_candidate_cannot_reach_answers_later_inputs_or_seeds(tmp_path):
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
    message = judged(tmp_path, lines)["raises"]
    assert "('True', [], '" in message  # the seed file's path is known, but no file is there
    assert not any(word in message for word in ("cases.json", "exact", "answers", "/seed"))


def test_candidate_cannot_tell_that_it_is_judged(tmp_path):
    lines = [
        "import os, sys, tempfile",
        "raise ValueError([os.getcwd(), __name__, __file__, sys.argv[1:], tempfile.gettempdir(), "
        "sorted(os.environ.items())])",
    ]
    message = judged(tmp_path, lines)["raises"]
    assert f"'{tmp_path}', 'relu', " in message
    assert "kvtrace" not in message.replace(str(tmp_path), "")


def test_actions_of_threads_are_logged(tmp_path):
    lines = [
        "import threading",
        f"write = lambda: open({str(tmp_path / 'written')!r}, 'w')",
        "thread = threading.Thread(target=write); thread.start(); thread.join()",
    ]
    assert str(tmp_path / "written") in judged(tmp_path, lines)["writes"]


@pytest.mark.smoke
def test_logged_actions_cannot_be_removed(tmp_path):
    lines = [
        "import contextlib, os",
        f"with contextlib.suppress(OSError): open({str(tmp_path / 'written')!r}, 'w')",
        "for number in range(3, 64):",
        "    with contextlib.suppress(OSError): os.ftruncate(number, 0)",
    ]
    assert "writes" in judged(tmp_path, lines)


def test_temporary_folders_of_the_candidate_do_not_count_as_writes(tmp_path):
    """Python deletes them by descriptors of folders, whose paths no file in /proc shows."""
    lines = [
        "import contextlib, os, tempfile",
        "with tempfile.TemporaryDirectory() as folder: os.makedirs(folder + '/inner/inner')",
        "if 'outside' not in globals(): globals()['outside'] = os.open('/usr', os.O_RDONLY)",
    ]
    # The path of a temporary folder may tell where the candidate runs.
    assert judged(tmp_path, lines).keys() == {"surroundings"}
    lines.append("with contextlib.suppress(OSError): os.mkdir('made', dir_fd=outside)")
    assert "/usr/made" in judged(tmp_path, lines)["writes"]


@pytest.mark.parametrize(
    ("lines", "name"),
    in_turn([
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
            "a mode that stays active",
        ),
        (["torch.set_default_dtype(torch.float16)"], "torch's default type"),
    ], 4),
)  # fmt: skip
def test_replaced_functions_and_process_settings_are_reported(tmp_path, lines, name):
    path = tmp_path / "relu.py"
    path.write_text(SOURCE + "\n" + "\n".join(lines) + "\n")
    judgment = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    messages = {finding["rule"]: finding["message"] for finding in judgment.object["findings"]}
    assert name in messages["patches"]


KEEPING = """

held, inner = [], relu


def relu(x):
    held.append(inner(x))
    return held[-1]
"""


def test_candidate_that_keeps_results_is_unjudged(tmp_path):
    path = tmp_path / "relu.py"
    path.write_text(SOURCE + KEEPING)
    judgment = judge_file(Request(Place(path, "relu"), REFERENCE, views=False))
    assert judgment.verdict == "unjudged"
    assert "result-changed" in {finding["rule"] for finding in judgment.object["findings"]}
