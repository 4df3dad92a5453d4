"""Texts of judged files: read up to a bound, parsed by another process, never run."""

import os
import time

import pytest

from kvtrace.addons.judge.confining import clean_environment
from kvtrace.addons.judge.parsing import read_file
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.cli import main

SOURCE = """
LARGEST = "rows=70_000"

@triton.jit
def kernel(x, BLOCK):
    pass

def inner(x, n):
    kernel[(1,)](x, BLOCK=64)

def outer(x, /, scale):
    inner(x, 3)

def _private(x):
    kernel[(1,)](x, BLOCK=4096)

class Model:
    def forward(self, rows, columns):
        return outer(rows, columns)
"""


def test_functions_launches_blocks_and_sizes_are_read_from_the_text(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(SOURCE)
    file = read_file(path)
    assert file.launching == ["inner", "outer", "Model"]
    assert file.outermost == ["Model"]
    assert file.names == {"kernel", "inner", "outer", "_private", "Model"}
    assert file.parameters["outer"] == ["x", "scale"]
    assert file.parameters["Model"] == ["rows", "columns"]
    assert (file.blocks, file.largest) == ([64, 4096], "rows=70_000")


def test_limits_in_the_text_are_numbers_that_sizes_are_taken_from(tmp_path):
    path = tmp_path / "file.py"
    path.write_text("if n > 3 * 1_000 or n == 1 << 17:\n    x = 64 + 7 if n < 4242 else 2**40")
    assert read_file(path).numbers == [3000, 1 << 17, 4242]


LIMITED = """
def capped(x):
    kernel[(min(triton.cdiv(x.numel(), 256), 1024),)](x, x.numel(), BLOCK=256)

def two_stages(x):
    kernel[(triton.cdiv(x.numel(), 512),)](x, BLOCK=512)
    kernel[(1,)](x, BLOCK=1024)

def unlimited(x):
    kernel[(triton.cdiv(x.numel(), 1024),)](x, BLOCK=1024, num_warps=8)

def outer(x):
    return capped(x) if x.numel() > 3000 else unlimited(x)
"""


def test_products_of_launch_constants_are_limits_of_calling_functions(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(LIMITED)
    file = read_file(path)
    assert file.limits("capped") == (3000, 1024 * 256)
    assert file.limits("outer") == (3000, 1024 * 256)
    assert file.limits("two_stages") == (3000, 512 * 1024)
    assert file.limits("unlimited") == (3000,)


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("for t in range(0, min(n, 6)): step(BLOCK=32)", (6, 192)),
        ("for t in tl.static_range(20): step(BLOCK=64)", (20, 1280)),
        ("if n == 96: step(BLOCK=64)", (96,)),
        ("kernel[(n,)](n, TRIPS=12, BLOCK=64, num_warps=4)", (768,)),
        ("KEYS = 5\nfor s in range(tl.minimum(n, KEYS)): step(BLOCK=16)", (5, 80)),
    ],
)
def test_constant_trips_times_blocks_and_compared_numbers_are_limits(tmp_path, code, limits):
    path = tmp_path / "file.py"
    path.write_text(code)
    file = read_file(path)
    assert set(limits) <= set(file.numbers)
    assert set(limits) <= set(file.limits(""))


READING = """
import os
import time as clock
from sys import modules as loaded

os.environ["TRITON_CACHE_DIR"] = "."

def first(x):
    return second(x) if clock.time() < 5 else x

def second(x):
    return x if "kvtrace" in loaded else getattr(os, "name")

def plain(x):
    return os.path.join(x, x)

if __name__ == "__main__":
    print(clock.perf_counter())
"""


def test_reads_of_surroundings_are_listed_by_function(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(READING)
    file = read_file(path)
    assert file.reads == {
        "first": ["time.time in line 9"],
        "second": ["sys.modules in line 12", "os in line 12"],
    }
    assert "second" in file.used["first"]
    assert file.imported == ["os", "sys", "time"]


DISGUISED = """
import functools, gzip, logging, math
import numpy as np
from email.utils import formatdate

def date(x): return x if "2026" in formatdate() else -x
def header(x): return gzip.compress(b"")[4:8]
def handed_on(x): return vars(gzip)
def record(x): return logging.makeLogRecord({}).created
def day(x): return np.datetime64("now")
def frame(x):
    try:
        raise ValueError
    except ValueError as error:
        return error.__traceback__.tb_frame
def terminal(x, out): return out.isatty()

@functools.cache
def harmless(x):
    logging.getLogger(__name__).debug("%s", x)
    return np.float32(math.sqrt(x))
"""


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname').read()",
        "Path('/etc/hostname').read_text()",
        "np.fromfile('/etc/hostname')",
        "torch.load('weights.pt')",
    ],
)
def test_files_read_in_a_function_count_as_surroundings(tmp_path, code):
    path = tmp_path / "file.py"
    path.write_text(
        "import torch\nimport numpy as np\nfrom pathlib import Path\n"
        f"def fn(x):\n    return {code}\ndef other(x):\n    return x.is_open\n"
    )
    assert read_file(path).reads.keys() == {"fn"}


def test_names_of_constants_count_as_their_numbers(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(
        "SMS = 132\nAGAIN = 500\nAGAIN = 600\n"
        "def fn(x, k):\n    k[(min(x.shape[0], 2 * SMS),)](x, AGAIN + 1000)\n"
    )
    assert {132, 264} <= set(read_file(path).numbers)
    assert 1500 not in read_file(path).numbers


def test_modules_that_reveal_the_time_count_as_surroundings(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(DISGUISED)
    assert {name: reads[0].split()[0] for name, reads in read_file(path).reads.items()} == {
        "date": "email.utils.formatdate",
        "header": "gzip.compress",
        "handed_on": "gzip",
        "record": "logging.makeLogRecord",
        "day": "numpy.datetime64",
        "frame": "tb_frame",
        "terminal": "isatty",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((b"x = 1\n", 7_000_000, b""), "larger than 1 MiB"),
        ((b"x = \xff", 1, b""), "cannot be compiled as Python: 'utf-8' codec"),
        (
            (b"x = 1\0", 1, b""),
            "cannot be compiled as Python: source code string cannot contain null",
        ),
        ((b"(", 1_000_000, b""), "cannot be compiled as Python: too many nested"),
        ((b"-", 1_000_000, b"1"), "cannot be (compiled|parsed)"),
        ((b"1+", 400_000, b"1"), "cannot be (compiled|parsed)"),
    ],
)
def test_invalid_python_is_a_one_sentence_error(tmp_path, capsys, source, message):
    text, times, end = source
    path = tmp_path / "odd.py"
    path.write_bytes(text * times + end)
    begun = time.process_time()
    with pytest.raises(CannotJudge, match=message) as raised:
        read_file(path)
    assert time.process_time() - begun < 10
    assert len(str(raised.value)) < 500
    assert main(["judge", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("kind", ["fifo", "zero", "link", "folder"])
def test_path_that_is_not_a_regular_file_is_refused_at_once(tmp_path, capsys, kind, reference):
    path = tmp_path / "odd.py"
    {
        "fifo": lambda: os.mkfifo(path),
        "zero": lambda: path.symlink_to("/dev/zero"),
        "link": lambda: path.symlink_to(tmp_path / "key"),
        "folder": path.mkdir,
    }[kind]()
    (tmp_path / "key").write_text("the private key")
    (tmp_path / "file.py").write_text(SOURCE)
    begun = time.process_time()
    words = [str(tmp_path / "file.py"), "--reference", f"{path}:f"] if reference else [str(path)]
    assert main(["judge", *words]) == 2
    errors = capsys.readouterr().err
    assert "it must be a regular file of at most 1 MiB" in errors
    assert "private key" not in errors
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (":/absolute", "/absolute"),
        ("/absolute:", "/absolute"),
        (".:relative:/absolute::/other", "/absolute:/other"),
        ("", ""),
    ],
)
def test_relative_entries_of_pythonpath_are_removed(monkeypatch, value, expected):
    monkeypatch.setenv("PYTHONPATH", value)
    assert clean_environment()["PYTHONPATH"] == expected
