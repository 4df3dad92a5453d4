import json
import shutil

import pytest

from kvtrace.addons.fault.threads import UnreadableStacks, read_answer
from kvtrace.cli import main
from tests.addons.fault.recorded import FAULTS

TORCH = "/venv/lib/python3.11/site-packages/torch/cuda/__init__.py"


def frame(file, function="f"):
    return {"file": file, "line": 7, "function": function, "is_own": "/lib/" not in file}


def written(folder, *threads):
    file = folder / "host.1.stacks"
    listed = [
        {"name": name, "is_main": is_main, "frames": frames} for name, is_main, frames in threads
    ]
    file.write_text(json.dumps({"time": 5, "threads": listed}))
    return file


def test_thread_that_waits_in_torch_comes_first(tmp_path):
    user, torch = frame("/home/me/train.py", "step"), frame(TORCH, "synchronize")
    file = written(
        tmp_path, ("loader", False, [user]), ("MainThread", True, [user]),
        ("trainer", False, [torch, user]), ("empty", False, []),
    )  # fmt: skip
    answer = read_answer(file)
    threads = answer.threads
    assert (answer.time, answer.collectives) == (5, ())
    assert [thread.name for thread in threads] == ["trainer", "MainThread", "loader"]
    assert threads[0].waits_in.function == "synchronize"
    assert [one.function for one in threads[0].own] == ["step"]
    assert threads[1].waits_in is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b'{"time": "x", "threads": []}', b'{"time": 1, "threads": [{}]}',
     b'{"time": 1, "threads": 3}', b"\xff\xfe", b"[" * 100_000],
)  # fmt: skip
def test_damaged_file_is_one_sentence(content, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(FAULTS / "deadlock_eager", out)
    file = out / "faults" / "host.1.stacks"
    file.write_bytes(content)
    with pytest.raises(UnreadableStacks):
        read_answer(file)
    assert main(["fault", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be read as Python stacks" in error


def test_stacks_are_shown_beside_the_dump_later(tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(FAULTS / "deadlock_eager", out)
    (dump,) = (out / "faults").iterdir()
    user = frame("/home/me/train.py", "step")
    written(out / "faults", ("MainThread", True, [frame(TORCH, "synchronize"), user]))
    dump.rename(dump.with_name("host.1.nvcudmp"))
    assert main(["fault", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("process host.1, asked at 00:00:00.000 UTC\n")
    assert "in kernel deadlocked" in text
    assert "python    step, /home/me/train.py:7, in synchronize, torch/cuda/__init__.py:7" in text


def test_newest_collectives_of_groups_are_read(tmp_path):
    file = written(tmp_path, ("MainThread", True, [frame("/home/me/train.py")]))
    last = {"communicator": "0", "group": "data", "sequence": 7, "operation": "AllReduce"}
    content = json.loads(file.read_text())
    content["collectives"] = [{**last, "ranks": [0, 2], "is_done": False, "elements": 4}]
    file.write_text(json.dumps(content))
    (collective,) = read_answer(file).collectives
    assert (collective.group, collective.ranks, collective.sequence) == ("data", (0, 2), 7)
