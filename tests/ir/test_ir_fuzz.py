"""Invalid IR is read within bounded time and memory, and any error is a single sentence."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kvtrace.clients.registry import as_client
from kvtrace.clients.running import ClientPass
from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.ir import IRSyntaxError, parse, source_stack
from kvtrace.ir.attributes import DenseAttribute
from kvtrace.ir.locations import MOST_PARTS
from kvtrace.recorded_calls.recorded import Call

ROOT = Path(__file__).parents[2]


@pytest.mark.process
def test_mutated_kernels_give_results_or_error_messages():
    """Run in a process whose memory may grow by 1 GiB at most."""
    command = [sys.executable, "-m", "tests.ir.fuzz", "--worker", "--count", "150", "--seed", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "fine" in done.stdout


# -- locations ----------------------------------------------------------------------------------

FIRST = '#g0 = loc("k.py":1:1)'


def located(lines):
    module = parse("\n".join(lines) + f'\n"t.op"() : () -> () loc(#g{len(lines) - 1})')
    return module.op


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "callsite(#g{0} at #g{0})", "callsite(#g0 at #g{0})", "callsite(#g{0} at #g0)",
        '"n"(#g{0})', "fused[#g{0}, #g{0}]", 'callsite("n"(#g{0}) at fused[#g0, #g{0}])',
    ],
)  # fmt: skip
def test_locations_of_exponential_size_are_shortened(location, reverse):
    lines = [FIRST, *(f"#g{i} = loc({location.format(i - 1)})" for i in range(1, 1000))]
    op = located(lines[::-1] if reverse else lines) if not reverse else None
    if op is None:
        text = "\n".join(lines[::-1]) + '\n"t.op"() : () -> () loc(#g999)'
        op = parse(text).op
    frames = source_stack(op)
    assert 1 <= len(frames) <= MOST_PARTS
    assert {(frame.file, frame.line) for frame in frames} == {("k.py", 1)}
    assert op.location == parse("\n".join(lines) + '\n"t.op"() : () -> () loc(#g999)').op.location
    hash(op.location)


def test_a_shortened_stack_keeps_its_first_and_last_frame():
    locations = [f'#g{i} = loc("k.py":{i + 1}:1)' for i in range(300)]
    chain = ["#c1 = loc(callsite(#g0 at #g1))"]
    chain += [f"#c{i} = loc(callsite(#c{i - 1} at #g{i}))" for i in range(2, 300)]
    op = parse("\n".join(locations + chain) + '\n"t.op"() : () -> () loc(#c299)').op
    lines = [frame.line for frame in source_stack(op)]
    assert lines[0] == 1
    assert lines[-1] == 300


def test_unknown_location_of_exponential_size_has_no_frames():
    lines = ["#g0 = loc(unknown)"]
    lines += [f"#g{i} = loc(fused[#g{i - 1}, #g{i - 1}])" for i in range(1, 60)]
    assert source_stack(located(lines)) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#a = loc(callsite(#b at #b))\n#b = loc(callsite(#a at #a))", "never defined"),
        ("#a = [1]\n#b = [#a, #a]", "alias inside an alias"),
        ("!a = i32\n!b = (!a, !a) -> !a", "alias inside an alias"),
        ("#a = 1\n#a = 2", "defined twice"),
        ('#a = loc("k.py":4294967296:1)', "not a line number"),
    ],
)
def test_aliases_that_no_compiler_prints_are_an_error(text, problem):
    with pytest.raises(IRSyntaxError, match=problem):
        parse(text + '\n"t.op"() : () -> ()')


# -- nesting, and lists -------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [60, 300, 50_000])
@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [
        ("[", "1", "]"), ("{a = ", "1", "}"), ("!tt.ptr<", "f32", ">"), ("(", "i32", ") -> ()"),
        ("dense<" + "[", "1", "]"), ("loc(callsite(", "unknown", " at unknown))"),
        ('loc("a"(', "unknown", "))"),
    ],
)  # fmt: skip
def test_deeply_nested_text_is_one_error_message(opening, middle, closing, depth):
    text = opening * depth + middle + closing * depth
    with pytest.raises(IRSyntaxError):
        parse(f'"t.op"() <{{a = {text}}}> : () -> ()')


@pytest.mark.parametrize("depth", [60, 300, 50_000])
def test_deeply_nested_regions_are_one_error_message(depth):
    with pytest.raises(IRSyntaxError, match="nested too deeply"):
        parse('"t.op"() ({' * depth + "}) : () -> ()" * depth)


def elements(text):
    value = parse(f'"t.op"() <{{a = dense<{text}> : tensor<{SHAPE}xi32>}}> : () -> ()')
    attribute = value.op.attributes["a"]
    assert isinstance(attribute, DenseAttribute)
    return attribute.values


SHAPE = "100000x2"


def test_long_lists_of_elements_are_read_in_linear_time():
    pairs = ", ".join(f"[{i}, {-i}]" for i in range(100_000))
    assert elements(f"[{pairs}]") == tuple(x for i in range(100_000) for x in (i, -i))


@pytest.mark.parametrize(
    "text", ["[[1, 2], [3]]", "[[1, 2], 3]", "[[], 1]", "[[1], [[2]]]", "[1, 2", "[1,]", "[1] 2",
             "[[1, 2]] [", "[[[]], []]", "1 2"],
)  # fmt: skip
def test_ragged_lists_of_elements_are_an_error(text):
    with pytest.raises(IRSyntaxError):
        parse(f'"t.op"() <{{a = dense<{text}> : tensor<2xi32>}}> : () -> ()')


# -- grids, trips and tensors -------------------------------------------------------------------

KERNEL = """
"builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<i32>) -> (), sym_name = "k",
      sym_visibility = "public"}}> ({{
  ^bb0(%p: !tt.ptr<i32>):
    {body}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
AFTER_DATA = """
    %v = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<i32>) -> i32
    %q = "tt.addptr"(%p, %v) : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    "tt.store"(%q, %v) : (!tt.ptr<i32>, i32) -> ()
"""
LOOP = f"""
    %l = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %u = "arith.constant"() <{{value = 2147483647 : i32}}> : () -> i32
    %s = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    "scf.for"(%l, %u, %s) ({{
    ^bb0(%i: i32):
      {AFTER_DATA}
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()
"""
UNEVEN = LOOP.replace(
    '"scf.for"(%l,', '%x = "tt.get_program_id"() <{axis = 0 : i32}> : () -> i32\n"scf.for"(%x,'
)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("body", "grid", "sentence"),
    [
        (AFTER_DATA, (2**31 - 1, 1, 1), "needs more than 4,194,304 steps"),
        (AFTER_DATA, (2**31 - 1, 65535, 65535), "needs more than 4,194,304 steps"),
        (LOOP, (1, 1, 1), "needs more than 4,194,304 steps"),
        (UNEVEN, (3, 1, 1), "needs more than 4,194,304 steps"),
        ('%t = "tt.splat"(%p) : (!tt.ptr<i32>) -> tensor<1099511627776x!tt.ptr<i32>>', (1, 1, 1),
         "makes a tensor of 1,099,511,627,776 elements"),
        ('%t = "tt.make_range"() <{start = 0 : i32, end = 2147483647 : i32}> : () -> tensor<4xi32>',
         (1, 1, 1), "tt.make_range' of 2147483647 elements"),
    ],
)  # fmt: skip
def test_a_call_that_would_not_end_is_reported_instead_of_replayed(body, grid, sentence, known):
    data = np.zeros(64, np.uint8) if known else None
    pointer = TensorArgument("p", Storage(64, data), 0, "i32", (16,), (1,))
    call = Call(0, "k", grid, parse(KERNEL.format(body=body)), (pointer,), ())
    client_pass = ClientPass([as_client(name) for name in ("tracer", "profiler", "sanitizer")])
    assert sentence in (client_pass.run(call) or "")
    assert [member.error for member in client_pass.members] == [None, None, None]


def test_ir_that_violates_its_dialect_is_reported_for_its_call():
    body = '%c = "arith.cmpi"(%p, %p) : (!tt.ptr<i32>, !tt.ptr<i32>) -> i1'
    pointer = TensorArgument("p", Storage(64), 0, "i32", (16,), (1,))
    call = Call(0, "k", (1, 1, 1), parse(KERNEL.format(body=body)), (pointer,), ())
    client_pass = ClientPass([as_client(name) for name in ("profiler", "sanitizer")])
    assert "is not what a compiler prints" in (client_pass.run(call) or "")
    tables = [member.tables() for member in client_pass.members]
    assert [member.error for member in client_pass.members] == [None, None]
    (finding,) = tables[1]["findings"].to_pylist()
    assert finding["verdict"] == "unknown"


def test_number_may_have_leading_zeros():
    module = parse('"builtin.module"() ({ "t.o"() {a = 08, b = 0x1F} : () -> () }) : () -> ()')
    assert [module.ops[1].attributes[name].value for name in "ab"] == [8, 31]
