"""Control flow that Triton's frontend does not make, but MLIR may: loops of blocks, switches."""

import numpy as np
import pytest

from kvtrace.evaluate import Storage, TensorArgument, UnsupportedOp, evaluate, parsed

HEAD = """
"builtin.module"() ({
  "tt.func"() <{sym_name = "blocks", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>):
    %pid = "tt.get_program_id"() <{axis = 0 : i32}> : () -> i32
    %from = "tt.addptr"(%x, %pid) : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    %to = "tt.addptr"(%out, %pid) : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    %n = "tt.load"(%from) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<i32>) -> i32
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %one = "arith.constant"() <{value = 1 : i32}> : () -> i32
"""
TAIL = """
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""

#: The sum of 1 to n, counted down in a loop of blocks.
LOOP = (
    HEAD
    + """
    "cf.br"(%n, %zero)[^bb1] : (i32, i32) -> ()
  ^bb1(%left: i32, %sum: i32):
    %more = "arith.cmpi"(%left, %zero) <{predicate = 4 : i64}> : (i32, i32) -> i1
    "cf.cond_br"(%more)[^bb2, ^bb3] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb2:
    %total = "arith.addi"(%sum, %left) : (i32, i32) -> i32
    %next = "arith.subi"(%left, %one) : (i32, i32) -> i32
    "cf.br"(%next, %total)[^bb1] : (i32, i32) -> ()
  ^bb3:
    "tt.store"(%to, %sum) : (!tt.ptr<i32>, i32) -> ()
"""
    + TAIL
)


def run(text, numbers, *, known=True):
    x, out = np.array(numbers, np.int32), np.full(len(numbers), -7, np.int32)
    data = [x.view(np.uint8) if known else None, out.view(np.uint8)]
    arguments = [
        TensorArgument(name, Storage(4 * len(x), held), 0, "i32", x.shape, (1,))
        for name, held in zip(("x", "out"), data, strict=True)
    ]
    evaluate(parsed(text), arguments, (len(x),))
    return out.tolist()


def test_a_loop_of_blocks_has_its_own_trips_in_each_program():
    assert run(LOOP, [3, 0, 10, 1, 4]) == [6, 0, 55, 1, 10]


def test_a_loop_of_blocks_that_unknown_data_end_is_refused():
    with pytest.raises(UnsupportedOp, match="in a loop that unknown data end"):
        run(LOOP, [3, 0], known=False)


def test_an_unknown_terminator_is_refused():
    text = (
        HEAD
        + """
    "cf.switch"(%n)[^bb1, ^bb2] : (i32) -> ()
  ^bb1:
    "tt.store"(%to, %one) : (!tt.ptr<i32>, i32) -> ()
    "tt.return"() : () -> ()
  ^bb2:
    "tt.store"(%to, %zero) : (!tt.ptr<i32>, i32) -> ()
"""
        + TAIL
    )
    with pytest.raises(UnsupportedOp, match=r"'cf\.switch'"):
        run(text, [0, 1])
