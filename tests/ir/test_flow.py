"""Flow of values through loops, branches, blocks and calls."""

from kvtrace.ir import parse
from kvtrace.ir.flow import (
    backward,
    counter_of,
    deciding,
    enclosing_ops,
    flow_of,
    forward,
    jumps,
    returns,
)
from kvtrace.ir.model import once_per_module

FOR = """
"builtin.module"() ({
  "tt.func"() <{function_type = (i32, i32) -> (), sym_name = "k"}> ({
  ^bb0(%n: i32, %m: i32):
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %sum:2 = "scf.for"(%zero, %n, %m, %zero, %m) ({
    ^bb0(%i: i32, %a: i32, %b: i32):
      %next = "arith.addi"(%a, %i) : (i32, i32) -> i32
      "scf.yield"(%next, %a) : (i32, i32) -> ()
    }) : (i32, i32, i32, i32, i32) -> (i32, i32)
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""

WHILE = """
"builtin.module"() ({
  "tt.func"() <{function_type = (i32) -> (), sym_name = "k"}> ({
  ^bb0(%n: i32):
    %r:1 = "scf.while"(%n) ({
    ^bb0(%before: i32):
      %go = "arith.cmpi"(%before, %n) <{predicate = 2 : i64}> : (i32, i32) -> i1
      %half = "arith.addi"(%before, %before) : (i32, i32) -> i32
      "scf.condition"(%go, %half) : (i1, i32) -> ()
    }, {
    ^bb0(%after: i32):
      %last = "arith.subi"(%after, %n) : (i32, i32) -> i32
      "scf.yield"(%last) : (i32) -> ()
    }) : (i32) -> i32
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""

CALL = """
"builtin.module"() ({
  "tt.func"() <{function_type = (i32, i1) -> (), sym_name = "k"}> ({
  ^bb0(%n: i32, %c: i1):
    %r = "tt.call"(%n) <{callee = @f}> : (i32) -> i32
    "cf.cond_br"(%c, %r, %n, %r)[^bb1, ^bb2]
      <{operandSegmentSizes = array<i32: 1, 1, 2>}> : (i1, i32, i32, i32) -> ()
  ^bb1(%x: i32):
    "tt.return"() : () -> ()
  ^bb2(%y: i32, %z: i32):
    "tt.return"() : () -> ()
  }) : () -> ()
  "tt.func"() <{function_type = (i32) -> i32, sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%p: i32):
    %twice = "arith.addi"(%p, %p) : (i32, i32) -> i32
    "tt.return"(%twice) : (i32) -> ()
  }) : () -> ()
}) : () -> ()
"""


def names(values):
    return [value.name for value in values]


def values_of(module):
    """All values by name; an op's several results are named as in the text."""
    values = {}
    for op in module.ops:
        for value in op.results:
            values[value.name] = value
        for region in op.regions:
            for block in region.blocks:
                values.update({value.name: value for value in block.arguments})
    return values


def ops_of(module, name):
    return [op for op in module.ops if op.name == name]


def test_values_carried_by_a_counted_loop_are_initial_or_yielded():
    module = parse(FOR)
    flow, at = flow_of(module), values_of(module)
    (loop,) = ops_of(module, "scf.for")

    assert names(flow.origins(at["%a"])) == ["%zero", "%next"]
    assert names(flow.origins(at["%b"])) == ["%m", "%a"]
    assert [names(flow.origins(value)) for value in loop.results] == [
        ["%zero", "%next"],
        ["%m", "%a"],
    ]
    assert names(deciding(loop)) == ["%zero", "%n", "%m"]
    assert flow.origins(at["%i"]) == ()
    assert names(flow.sources(at["%i"])) == ["%zero", "%n", "%m"]
    assert [op.name for op in flow.uses(at["%a"])] == ["arith.addi", "scf.yield"]
    assert [op.name for op in enclosing_ops(ops_of(module, "arith.addi")[0])] == [
        "scf.for",
        "tt.func",
    ]


def test_values_passed_by_a_while_loop():
    module = parse(WHILE)
    flow, at = flow_of(module), values_of(module)
    (loop,) = ops_of(module, "scf.while")

    assert names(flow.origins(at["%before"])) == ["%n", "%last"]
    assert names(flow.origins(at["%after"])) == ["%half"]
    assert names(flow.origins(loop.results[0])) == ["%half"]
    assert names(deciding(loop)) == ["%go"]


def test_calls_and_jumps_pass_values_on():
    module = parse(CALL)
    flow, at = flow_of(module), values_of(module)
    jump = ops_of(module, "cf.cond_br")[0]
    function = module.functions["f"].op

    assert names(flow.origins(at["%p"])) == ["%n"]
    assert names(flow.origins(at["%r"])) == ["%twice"]
    assert [names(flow.origins(at[name])) for name in ("%x", "%y", "%z")] == [
        ["%r"],
        ["%n"],
        ["%r"],
    ]
    assert [names(operands) for _, operands in jumps(jump)] == [["%r"], ["%n", "%r"]]
    assert names(deciding(jump)) == ["%c"]
    assert flow.callers(function) == ops_of(module, "tt.call")
    assert [op.name for op in returns(function)] == ["tt.return"]


def test_forward_and_backward_go_through_copies():
    module = parse(CALL)
    flow, at = flow_of(module), values_of(module)

    reached = forward(flow, [at["%p"]], lambda op, _: op.results if op.name == "arith.addi" else ())
    assert reached == {at[name].id for name in ("%p", "%twice", "%r", "%x", "%z")}
    assert names(backward([at["%z"]], flow.sources)) == ["%z", "%r", "%twice", "%p", "%n"]


def test_cached_results_live_as_long_as_the_module():
    modules = []

    @once_per_module
    def size(module):
        modules.append(module)
        return len(module.ops)

    first, second = parse(FOR), parse(FOR)
    assert size(first) == size(first) == size(second) == len(first.ops)
    assert modules == [first, second]
    assert first != second


def test_only_a_loop_with_steps_has_a_counter():
    loop, end = (
        next(op for op in parse(FOR).ops if op.name == n) for n in ("scf.for", "scf.yield")
    )
    assert counter_of(loop).name == "%i"
    assert counter_of(end) is None
    assert all(counter_of(op) is None for op in parse(WHILE).ops)
