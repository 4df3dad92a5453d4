"""Candidates that attack the judge, and the limits of confined processes."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from kvtrace.addons.judge.confining import EVENTS, EVENTS_FILE, run_confined
from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request, entry_of, read_file
from tests.addons.judge.labeled import FOLDER
from tests.support.thorough import in_turn

pytestmark = pytest.mark.process

ATTACKS = {path.stem: path for path in sorted((FOLDER / "attacks").glob("*.py"))}
REFERENCE = Place(FOLDER / "references.py", "relu")


@pytest.fixture
def attacked(tmp_path, monkeypatch):
    """Return a function that judges an attack on a folder and on this process."""
    folder = tmp_path / "attacked"
    folder.mkdir()
    (folder / "precious").write_text("kept")
    monkeypatch.setenv("HF_TOKEN", "the-secret")

    def judge(name, **settings):
        path = tmp_path / f"{name}.py"
        path.write_text(with_targets(text_of(name), folder))
        request = Request(entry_of(read_file(path), None), REFERENCE, seconds=20)
        judgment = judge_file(replace(request, **settings))
        assert {path.name for path in folder.iterdir()} == {"precious"}
        assert (folder / "precious").read_text() == "kept"
        return judgment

    return judge


def text_of(name):
    """Return the text of an attack, or of an escape followed by a right kernel."""
    if name in ATTACKS:
        return ATTACKS[name].read_text()
    escape = (FOLDER / "escapes" / f"{name}.py").read_text()
    return escape + (FOLDER / "kernels" / "right" / "relu.py").read_text()


def with_targets(text, folder):
    """Return a program's text with its targets, which it could not learn itself."""
    return text.replace("@HOST@", str(folder)).replace("@JUDGE@", str(os.getpid()))


def problems_of(judgment):
    findings = judgment.object["findings"]
    return {finding["rule"] for finding in findings if finding["severity"] in ("error", "unjudged")}


def rules_of(judgment):
    return {finding["rule"]: finding for finding in judgment.object["findings"]}


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    in_turn(
        [
            ("writes_files", "writes", "changes files outside of its folder, or tries to"),
            ("deletes_files", "writes", "precious"),
            ("forks", "processes", "starts or signals processes"),
            ("kills_parent", "processes", "starts or signals processes"),
            ("connects", "network", "127.0.0.1"),
            ("patches_torch", "patches", "torch.allclose"),
            ("patches_kvtrace", "patches", "kvtrace.addons.judge.comparing.compare_result"),
        ],
        3,
    ),
)
def test_attack_is_reported_and_does_no_harm(attacked, name, rule, message):
    judgment = attacked(name)
    assert judgment.verdict == "wrong"
    assert message in rules_of(judgment)[rule]["message"]
    assert all(judgment.object["confined"][wall] for wall in ("network", "writes", "processes"))
    assert rule != "patches" or "wrong-result" in rules_of(judgment)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [c for c in children if "forks" in Path(f"/proc/{c}/cmdline").read_text()] == []


def test_endless_loop_is_killed_at_the_time_limit(attacked):
    judgment = attacked("loops", seconds=3)
    assert (judgment.verdict, judgment.status) == ("wrong", 1)
    assert "did not end within 3 s" in rules_of(judgment)["never-ends"]["message"]


def test_too_much_memory_is_refused(attacked):
    judgment = attacked("eats_memory", memory_mb=600)
    assert judgment.verdict == "wrong"
    assert "MemoryError" in rules_of(judgment)["raises"]["message"]


def test_candidate_that_exits_is_not_judged_right(attacked):
    judgment = attacked("exits")
    assert judgment.verdict != "right"
    assert "dies" in rules_of(judgment)


def test_result_corrected_by_the_host_is_unjudged(attacked):
    judgment = attacked("changes_result")
    assert judgment.verdict == "unjudged"
    assert "PyTorch" in rules_of(judgment)["host-computed"]["message"]


@pytest.mark.parametrize("name", in_turn(["forges_log", "forges_trace"], 2))
def test_forged_log_or_trace_is_not_judged_right(attacked, name):
    assert attacked(name).verdict != "right"


@pytest.mark.parametrize("name", in_turn(["lists_processes", "reads_secrets"], 2))
def test_reads_of_processes_and_secrets_are_reported_and_find_nothing(attacked, name):
    judgment = attacked(name)
    assert problems_of(judgment) == {"surroundings"}
    assert "ESCAPED" not in str(judgment.object)


@pytest.mark.parametrize(
    "name", in_turn(["replaces_files_by_pipes", "replaces_files_by_links", "nests_folders"], 3)
)
def test_odd_files_left_behind_do_not_block_the_judgment(attacked, name, monkeypatch, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    judgment = attacked(name, seconds=10)
    assert "dies" not in rules_of(judgment)
    assert list(temporary.iterdir()) == []


def test_memory_and_files_together_are_bounded(attacked):
    judgment = attacked("takes_memory_and_disk", memory_mb=300)
    assert judgment.verdict != "right"
    message = rules_of(judgment)["dies"]["message"]
    assert message.endswith("it exceeded the memory limit, together with its files")


def test_candidate_cannot_take_memory_in_other_processes(attacked):
    findings = rules_of(attacked("takes_memory_in_four", memory_mb=300))
    assert "PermissionError" in findings["raises"]["message"]
    assert "processes" in findings


def test_links_beside_the_file_are_not_copied_but_reported(tmp_path):
    (tmp_path / "key").write_text("the private key")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "all.py").symlink_to("/")
    (folder / "key.py").symlink_to(tmp_path / "key")
    (folder / "constant.py").write_text("ZERO = 0.0\n")
    source = (FOLDER / "kernels" / "right" / "relu.py").read_text()
    lines = "    from constant import ZERO\n    assert not ZERO\n    import os\n    import sys\n"
    lines += (
        f"    found = [os.path.lexists({str(folder)!r} + '/' + n) for n in ('all.py', 'key.py')]\n"
    )
    lines += "    assert not any(found)\n"
    (folder / "relu.py").write_text(source.replace("def relu(x):\n", f"def relu(x):\n{lines}"))
    request = Request(entry_of(read_file(folder / "relu.py"), None), REFERENCE, views=False)

    judgment = judge_file(request)

    assert problems_of(judgment) == {"surroundings"}  # the file asks for the links itself
    (note,) = [finding for finding in judgment.object["findings"] if finding["rule"] == "left-out"]
    assert (note["rule"], note["severity"]) == ("left-out", "note")
    assert note["message"].endswith(": all.py (a link), key.py (a link)")


def test_confined_process_writes_to_its_folder_alone(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()

    def work():
        for attempt in (
            lambda: (outside / "made").write_text("x"),
            lambda: outside.rmdir(),
            lambda: os.kill(parent, 0),
        ):
            try:
                attempt()
            except OSError as error:
                print(type(error).__name__)
        (folder / "mine").write_text(os.environ.get("MY_TOKEN", "no token"))
        os.write(EVENTS, b"an event")

    parent = os.getpid()
    folder = tmp_path / "folder"
    ended = run_confined(work, folder, seconds=10, memory_mb=500)

    assert (ended.how, ended.confined) == ("whole", True)
    assert len(ended.output.split()) == 3
    assert (folder / "mine").read_text() == "no token"
    assert (folder / EVENTS_FILE).read_bytes() == b"an event"
    assert list(outside.iterdir()) == []


def test_readable_files_cannot_be_changed(tmp_path):
    (tmp_path / "given").mkdir()
    file = tmp_path / "given" / "file"
    file.write_text("given")

    def work():
        print(file.read_text())
        file.write_text("changed")

    ended = run_confined(
        work, tmp_path / "folder", seconds=10, memory_mb=500, reads=[tmp_path / "given"]
    )

    assert ended.how == "broken"
    assert ended.output.startswith("given\n")
    assert "Read-only file system" in ended.last_line
    assert file.read_text() == "given"


def test_events_cannot_be_removed_or_forged(tmp_path):
    def work():
        os.write(EVENTS, b"first\n")
        (tmp_path / "folder" / EVENTS_FILE).write_bytes(b"forged")
        os.close(EVENTS)

    run_confined(work, tmp_path / "folder", seconds=10, memory_mb=500)

    assert (tmp_path / "folder" / EVENTS_FILE).read_bytes() == b"first\n"


def test_a_flood_of_output_is_cut(tmp_path):
    def work():
        for _ in range(1000):
            print("x" * 100_000)
        print("the end")

    ended = run_confined(work, tmp_path / "folder", seconds=20, memory_mb=500)

    assert (ended.how, ended.last_line) == ("whole", "the end")
    assert len(ended.output) == 4000


def test_command_refuses_if_confining_is_impossible(tmp_path):
    """A filter as in containers refuses all new namespaces."""
    program = (
        "import sys\n"
        "from kvtrace.addons.judge.walls import filters, system_calls\n"
        "system_calls.prctl(38, 1)\n"
        "filters.install([filters.RefusedCall('unshare')])\n"
        "from kvtrace.cli import main\n"
        "sys.exit(main())\n"
    )
    words = [
        FOLDER / "kernels" / "right" / "relu.py", "--reference", f"{FOLDER}/references.py:relu",
        "--shapes", "x=f32[9]", "--no-views",
    ]  # fmt: skip
    refused, unconfined = (
        subprocess.run(
            [sys.executable, "-c", program, "judge", *words, *options], cwd=tmp_path,
            capture_output=True, text=True, timeout=200,
        )
        for options in ([], ["--unconfined", "--text"])
    )  # fmt: skip

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "does not let kvtrace confine the file" in refused.stderr
    assert unconfined.returncode == 0
    assert "note: the file ran unconfined" in unconfined.stdout
