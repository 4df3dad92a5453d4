"""Boolean results are certain only where all numbers within a radius have one result."""

import numpy as np
import pytest

from kvtrace.evaluate import parsed
from kvtrace.evaluate.shadows.errors.radius_rules import rule_of

IR = """
"builtin.module"() ({{
  "tt.func"() <{{sym_name = "k", sym_visibility = "public"}}> ({{
  ^bb0(%x: {type}):
    %r = "{name}"(%x) : ({type}) -> i1
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(
    ("name", "type_", "number", "radius", "result"),
    [
        ("arith.trunci", "i32", 4, 1.0, np.inf),  # 3, 4 and 5 differ in their lowest bit
        ("arith.trunci", "i32", 4, 0.0, 0.0),
    ],
)
def test_boolean_results_are_as_certain_as_their_operands(name, type_, number, radius, result):
    module = parsed(IR.format(name=name, type=type_), "")
    op = next(op for op in module.ops if op.name == name)
    operand = np.array([number], np.int32 if type_ == "i32" else np.float32)
    found = rule_of(op, module)([operand], [np.array([radius])], np.array([True]))
    assert found == np.array([result])
