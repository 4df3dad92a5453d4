"""Growth of commands' work, in function calls, with what a trace holds."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from benchmarks.recorder_growth import counted_calls, exponent
from kvtrace.cli import main
from tests.converters.written_trace import Kernel, Launches, write_trace

pytestmark = pytest.mark.costly("commands on three traces of each shape, under a profiler")

#: Largest exponent: 1 is linear.
MOST = 1.15
#: Each four times the one before.
SIZES = (1, 4, 16)
#: Four times the size takes at most so much more where other work, in steps, is most of it.
LITTLE = 0.5

#: y[i] = x[i] for i below n: defective where x has fewer elements.
TTIR = """module {
  tt.func public @scale(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %block = arith.constant 128 : i32
    %program = tt.get_program_id x : i32
    %begin = arith.muli %program, %block : i32
    %lanes = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %begins = tt.splat %begin : i32 -> tensor<128xi32>
    %at = arith.addi %begins, %lanes : tensor<128xi32>
    %ends = tt.splat %n : i32 -> tensor<128xi32>
    %mask = arith.cmpi slt, %at, %ends : tensor<128xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %from = tt.addptr %xs, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %value = tt.load %from, %mask : tensor<128x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %to = tt.addptr %ys, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %to, %value, %mask : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


def one_kernel(*calls: Launches, name: str = "scale", line: int = 10) -> Kernel:
    return Kernel(name=name, line=line, ttir=TTIR, calls=calls)


def launches(out: Path, size: int) -> None:
    write_trace(out, [one_kernel(Launches(device_us=5, number=200 * size))])


def calls(out: Path, size: int) -> None:
    each = (Launches(shape=(1000 + number,), device_us=5) for number in range(10 * size))
    write_trace(out, [one_kernel(*each)])


def kernels(out: Path, size: int) -> None:
    call = Launches(device_us=5)
    each = [one_kernel(call, name=f"k{number}", line=number + 1) for number in range(4 * size)]
    write_trace(out, each)


def ranks(out: Path, size: int) -> None:
    for rank in range(size):
        job = {"rank": rank, "world_size": size, "group_id": "job"}
        kernel = one_kernel(Launches(device_us=5))
        write_trace(out, [kernel], run_id=f"20260102T030405-{rank:04}", **job)


def findings(out: Path, size: int) -> None:
    each = (Launches(shape=(999 - number,), device_us=5) for number in range(5 * size))
    write_trace(out, [one_kernel(*each)])


def stacks(out: Path, size: int) -> None:
    each = (Launches(line=number + 1, device_us=5) for number in range(10 * size))
    write_trace(out, [one_kernel(*each)])


def growth(work: Callable[[int], int]) -> float:
    """Return the exponent of work by its size, without what is done once."""
    small, middle, large = map(work, SIZES)
    if large < (1 + LITTLE) * middle:
        return 0.0
    return exponent((SIZES[0], middle - small), (SIZES[1], large - middle))


@pytest.mark.parametrize(
    ("command", "shape"),
    [
        ("info", ranks),
        *product(("profile", "sanitize"), (launches, calls, kernels, ranks, findings, stacks)),
    ],
)
def test_work_of_a_command_grows_linearly(command, shape, tmp_path):
    words = ["--full"] if command == "profile" else []
    shape(tmp_path / "first", SIZES[0])
    main([command, str(tmp_path / "first"), *words])  # imports modules

    def work(size: int) -> int:
        out = tmp_path / str(size)
        shape(out, size)
        with counted_calls() as counted:
            code = main([command, str(out), *words])
        assert code == (command == "sanitize" and shape is findings)
        return counted[0]

    assert growth(work) < MOST


def test_work_that_grows_with_the_square_is_not_linear():
    assert growth(lambda size: 1000 + 40 * size**2) > MOST
