"""Programs run with filled memory: does what they print depend on it?"""

import json

import pytest

from kvtrace.cli import main
from tests.support.json_outputs import assert_as_schema
from tests.support.warm_python import warm_python

pytest.importorskip("triton")
pytestmark = pytest.mark.process

PROGRAM = """
import random, sys
import torch, triton, triton.language as tl

@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

x = torch.ones(100, device="cuda")
y = torch.empty_like(x)
count = x.new_empty(3, dtype=torch.int32)
scratch = torch.empty(1000, device="cuda")
doubled[(1,)](x, y, int(sys.argv[1]), BLOCK=128)
if "printed" in sys.argv:
    print(y.tolist())
if "parts" in sys.argv:
    numbers = torch.empty(2, dtype=torch.complex64, device="cuda").imag
    gaps = torch.empty_strided((4,), (2,), device="cuda").as_strided((7,), (1,))[1::2]
    packed = torch.empty(4, dtype=torch.uint5, device="cuda").view(torch.uint8)
    print(*(part.tolist() for part in (numbers, gaps, packed)))
print("sum", float(y.sum()), random.random() if "random" in sys.argv else "")
"""


@pytest.fixture
def confirmed(tmp_path, monkeypatch, capsys):
    """Return a function that asks `kvtrace confirm` of the program; exit code and JSON."""
    (tmp_path / "prog.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setenv("KVTRACE_DEVICE", "cpu")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))

    def ask(*arguments, options=()):
        program = [*warm_python().command, str(tmp_path / "prog.py"), *arguments]
        code = main(["confirm", "--json", *options, "--", *program])
        answer = json.loads(capsys.readouterr().out)
        assert_as_schema(answer, "confirm")
        return code, answer

    return ask


def test_a_result_that_is_left_out_changes_what_is_printed(confirmed):
    code, answer = confirmed("90")
    assert (code, answer["answer"]) == (1, "changes")
    assert "sum nan" in answer["evidence"]
    assert "sum 180.0" in answer["evidence"]


def test_a_whole_result_is_the_same_whatever_memory_had(confirmed):
    code, answer = confirmed("100")
    assert (code, answer["answer"], answer["evidence"]) == (0, "same", "")


def test_every_part_of_fresh_memory_is_filled(confirmed):
    _, answer = confirmed("100", "parts")
    assert "[nan, nan] [nan, nan, nan] [255, 255, 255, 255]" in answer["evidence"]


@pytest.mark.night("5 s; a line that allocates nothing is asked for at each push")
def test_the_memory_of_one_line_is_enough(confirmed):
    assert confirmed("90", options=("--at", "prog.py:11"))[1]["answer"] == "changes"


@pytest.mark.night("5 s; test_a_whole_result_is_the_same_whatever_memory_had stays")
def test_other_unwritten_memory_does_not_vary(confirmed):
    code, answer = confirmed("90", "printed", options=("--at", "prog.py:13"))
    assert (code, answer["answer"]) == (0, "same")  # y is printed, too, and is zeros


def test_a_line_that_allocates_nothing_is_said_so(confirmed):
    code, answer = confirmed("90", options=("--at", "prog.py:10"))
    assert (code, answer["answer"]) == (2, "unfilled")


def test_a_program_that_fails_whatever_memory_has_is_not_known(confirmed):
    code, answer = confirmed("none")  # after it made the memory
    assert (code, answer["answer"], answer["evidence"]) == (2, "failed", "exit code 1")


@pytest.mark.night("4 s; test_a_program_whose_output_varies_confirms_nothing stays")
def test_output_that_varies_by_itself_decides_nothing(confirmed):
    code, answer = confirmed("90", "random")
    assert (code, answer["answer"]) == (2, "varies")


def test_a_command_that_is_not_there_is_one_sentence(capsys):
    assert main(["confirm", "--", "no-such-program"]) == 2
    message = "kvtrace: no-such-program cannot be run: No such file or directory.\n"
    assert capsys.readouterr().err == message
