"""Operations in flight in TTGIR: proven for any number of trips, or reported if they are early."""

import re

import numpy as np
import pytest

from kvtrace.ir import parse
from kvtrace.ir.flow import constant_of
from kvtrace.verdicts.pipeline.explore import explore
from kvtrace.verdicts.pipeline.rule import judge_order, occurs_in
from kvtrace.verdicts.pipeline.views import Unexplored
from tests.kernels.staged import (
    AMPERE,
    HOPPER,
    KERNELS,
    NAME,
    TARGETS,
    causal_attention,
    described,
    edited,
    product,
)
from tests.kernels.summed_product import product as summed
from tests.support.compile_ttir import compile_generic
from tests.verdicts import pipelined_kernels
from tests.verdicts.pipelined import call_of, small, verdict

pytestmark = pytest.mark.usefixtures("free_driver")

F16 = np.float16
SHOWN = "an evaluation of the TTGIR shows it"


# -- what Triton makes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_pipelines_that_triton_makes_are_proven(name, target):
    found = verdict(KERNELS[name](target=TARGETS[target], num_stages=3).ttgir())

    assert (found.verdict, found.reason) == ("proven", None)
    assert found.message == "nothing in its TTGIR comes too early, in any number of trips"


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", ["persistent", "while_there_are_rows", "streamed"])
def test_loops_in_loops_and_stores_are_proven(name, flat):
    sizes = {"BM": 128, "BN": 128, "BK": 64, "FLAT": flat}
    types = pipelined_kernels.SIGNATURE | dict.fromkeys(sizes, "constexpr")
    text = compile_generic(
        getattr(pipelined_kernels, name), types, sizes, target=TARGETS["sm90"], stage="ttgir",
        divisible_by_16=tuple(pipelined_kernels.SIGNATURE), num_stages=3,
    )  # fmt: skip
    assert verdict(text).verdict == "proven"


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_pipeline_fault_that_triton_makes_is_found(stages):
    """Of a tile that a product and registers read, Hopper's pipeline has a buffer too few."""
    text = summed(compile_generic, num_stages=stages)
    found = verdict(text)

    buffers = re.findall(r'"ttg.local_alloc"\(\) : \(\) -> !ttg.memdesc<(\d)x64x64xf16', text)
    if len(set(buffers)) == 1 or not buffers:
        assert found.verdict == "proven"  # it is not made, or by this Triton no more
        return
    assert found.verdict == "violation"
    assert found.message == (
        f"a copy (ttg.async_copy_global_to_local) writes {'part 0 of ' if stages > 2 else ''}the "
        f"buffer of {stages - 1}×64×64 f16 in iteration 0, which the product at line "
        f"{found.other.location.child.line}, begun in iteration 0, may still be reading; {SHOWN}"
    )
    assert (found.op.name, found.other.name) == (
        "ttg.async_copy_global_to_local", "ttng.warp_group_dot",
    )  # fmt: skip
    assert found.iteration == 0


def of_f16(**options):
    return product(F16, **options)


WAIT = rf'("ttg.async_wait"\((?:{NAME}(?:, )?)+\)) <{{num = '
MUTATED = {
    "a wait for copies, by one": (of_f16, AMPERE, WAIT + "2", r"\1 <{num = 3", "reads"),
    "a wait for copies, by one, on Hopper": (of_f16, HOPPER, WAIT + "2", r"\1 <{num = 3", "reads"),
    "no wait for copies": (causal_attention, HOPPER, WAIT + r"\d", r"\1 <{num = 99", "reads"),
    "a wait for products, by one": (described, HOPPER, "pendings = 1 ", "pendings = 2 ", "writes"),
    "no wait for the last product": (
        described, HOPPER, r'(warp_group_dot_wait"[^\n]*)pendings = 0', r"\1pendings = 1", "uses",
    ),
    "a barrier's other phase": (
        described, HOPPER, rf'("ttng.wait_barrier"\({NAME}), {NAME}\)', r"\1, ONE)", "reads",
    ),
    "a buffer too few": (described, HOPPER, "value = 3 : i32", "value = 2 : i32", "writes"),
}  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATED)
def test_a_mutation_of_a_pipeline_is_a_violation(mutation):
    make, options, pattern, other, verb = MUTATED[mutation]
    text = make(**options).ttgir()
    assert verdict(text).verdict == "proven"

    found = verdict(edited(text, pattern, other))

    assert found.verdict == "violation", found
    assert re.search(rf"^an? [\w ]+ \([\w.]+\) {verb} ", found.message)
    seen = "no evaluation could show it" if verb == "uses" else SHOWN
    assert found.message.endswith(f"; {seen}")


def test_reading_another_part_than_was_copied_is_a_violation():
    module = parse(of_f16(**AMPERE).ttgir())
    reads = [op for op in module.ops if op.name == "ttg.local_load"]
    index = reads[-1].operand("shared").owner
    while index.name != "ttg.memdesc_index":
        index = index.operand("shared").owner
    numbers = [value for op in module.ops for value in op.results if str(value.type) == "i32"]
    zero = next(value for value in numbers if constant_of(value) == 0)
    index.operands = (index.operand("shared"), zero)

    found = judge_order(module, "product", [call_of(module)])

    assert found.verdict == "violation"
    assert found.message.startswith("a load (ttg.local_load) reads part 0 of ")


def test_a_copy_before_the_wait_for_the_product_is_a_violation():
    """The wait goes to the end of the loop's body, behind the copies."""
    text = described(**HOPPER).ttgir()
    (wait,) = re.findall(r"\n *%[^\n]*warp_group_dot_wait[^\n]*pendings = 1[^\n]*", text)
    (end,) = re.findall(r'\n *"scf.yield"[^\n]*', text)
    found = verdict(text.replace(wait, "").replace(end, wait + end))

    assert found.verdict == "violation"
    assert re.match(r"a copy by descriptor .* may still be reading; an evaluation", found.message)


def test_overwriting_a_buffer_that_a_store_reads_is_a_violation():
    """The tile that is stored by descriptor is made again in the next program's turn of a loop."""
    found = explore(
        small("""
        part a zero
        "scf.for"(%zero, %n, %one) ({
        ^bb1(%i: i32):
          write a
          store a
          "scf.yield"() : () -> ()
        }) : (i32, i32, i32) -> ()
    """)
    ).fault

    assert (found.op.name, found.other.name) == (
        "ttg.local_store", "ttng.async_tma_copy_local_to_global",
    )  # fmt: skip
    assert (found.trips, found.other_trips) == ((1,), (0,))


# -- loops, branches, parts -----------------------------------------------------------------------

LOOP = """
    part a {first}
    copy a
    %slot:2 = "scf.for"(%zero, %n, %one, %{first}, %zero) ({{
    ^bb1(%i: i32, %at: i32, %behind: i32):
      %next = "arith.addi"(%at, %one) : (i32, i32) -> i32
      %over = "arith.cmpi"(%next, %{parts}) <{{predicate = 5 : i64}}> : (i32, i32) -> i1
      %wrapped = "arith.select"(%over, %zero, %next) : (i1, i32, i32) -> i32
      part b wrapped
      copy b
      wait {left}
      part c {read}
      read c
      "scf.yield"(%wrapped, %at) : (i32, i32) -> ()
    }}) : (i32, i32, i32, i32, i32) -> (i32, i32)
"""


@pytest.mark.parametrize(
    ("parts", "left", "read", "came"),
    [
        ("two", 1, "at", "proven"),
        ("three", 1, "at", "proven"),
        ("three", 0, "wrapped", "proven"),
        ("three", 2, "at", "reads early"),
        ("three", 1, "wrapped", "reads early"),
        ("one", 1, "at", "overwrites"),  # one part alone
    ],
)
def test_one_proof_covers_any_number_of_trips(parts, left, read, came):
    found = explore(small(LOOP.format(first="zero", parts=parts, left=left, read=read)))

    assert (found.fault.kind if found.fault else "proven") == came
    assert not found.possible


def test_a_wait_in_one_branch_only_leaves_a_doubt():
    body = """
        part a zero
        copy a
        "scf.if"(%way) ({{
          wait 0
          "scf.yield"() : () -> ()
        }}, {{
          {}
          "scf.yield"() : () -> ()
        }}) : (i1) -> ()
        read a
    """
    module = small(body.format(""))
    found = judge_order(module, "small", [])
    assert found.verdict == "unknown"
    assert found.reason.endswith(
        "which the copy, begun before the loop, may not have filled yet, but whether the kernel "
        "gets there depends on the condition of scf.if"
    )
    assert not explore(small(body.format("wait 0"))).possible


def test_jumps_between_blocks_are_explored():
    body = """
        part a zero
        copy a
        "cf.cond_br"(%way)[^bb1, ^bb2] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (i1) -> ()
      ^bb1:
        "tt.return"() : () -> ()
      ^bb2:
        {}
        read a
    """
    assert explore(small(body.format(""))).fault.kind == "reads early"
    assert explore(small(body.format("wait 0"))).fault is None


def test_a_loop_of_a_known_number_of_trips_counts():
    body = """
        part a zero
        copy a
        part b one
        copy b
        "scf.for"(%zero, %{}, %one) ({{
        ^bb1(%i: i32):
          wait 1
          part c i
          read c
          "scf.yield"() : () -> ()
        }}) : (i32, i32, i32) -> ()
    """
    assert explore(small(body.format("one"))).fault is None
    found = explore(small(body.format("two"))).fault
    assert (found.kind, found.trips) == ("reads early", (1,))


def test_a_read_of_an_unknown_part_leaves_a_doubt():
    found = explore(small("part a zero\ncopy a\npart b n\nread b"))

    assert found.fault is None
    assert [each.doubt for each in found.possible] == [
        "it is not known which part of the buffer is used"
    ]


@pytest.mark.parametrize(("copy", "sure"), [("copy", True), ("masked", False)])
def test_a_masked_copy_may_not_be_under_way_behind_its_loop(copy, sure):
    """The last trips of a pipelined loop begin nothing new."""
    found = explore(
        small(f"""
        part a zero
        "scf.for"(%zero, %n, %one) ({{
        ^bb1(%i: i32):
          wait 0
          {copy} a
          "scf.yield"() : () -> ()
        }}) : (i32, i32, i32) -> ()
        read a
    """)
    )
    assert (found.fault is not None) == sure
    assert [each.doubt for each in found.possible] == (
        [] if sure else ["ttg.async_copy_global_to_local may be masked off in the last trips"]
    )


# -- what is not decided --------------------------------------------------------------------------


def test_an_unknown_op_on_shared_memory_is_named():
    text = of_f16(**HOPPER).ttgir().replace('"ttg.local_dealloc"', '"ttg.local_mystery"')
    found = verdict(text)

    assert (found.verdict, found.reason) == (
        "unknown", "it is not known which operations ttg.local_mystery starts",
    )  # fmt: skip


def test_an_unknown_op_on_registers_does_not_prevent_a_proof():
    text = described(**HOPPER).ttgir()
    assert verdict(text.replace('"arith.xori"', '"arith.of_a_newer_triton"')).verdict == "unknown"
    text = KERNELS["causal attention"](**HOPPER).ttgir()
    assert verdict(text.replace('"math.exp2"', '"tt.of_a_newer_triton"')).verdict == "proven"


@pytest.mark.parametrize(
    ("pattern", "other", "reason"),
    [
        ("count = 1 :", "count = 2 :", "ttng.init_barrier makes a barrier that expects several"),
        (r'(\n *"ttng.barrier_expect"[^\n]*)', r"\1\1", "ttng.barrier_expect may be in a phase"),
        ("value = -1 :", "value = 4 :", "ttg.memdesc_index may use part 5 of 3"),
        (
            r"(\"ttng.barrier_expect\"[^\n]*size = )\d+",
            r"\g<1>64",
            "ttng.wait_barrier waits for 64 b",
        ),
    ],
)
def test_inconsistent_barriers_and_parts_are_not_decided(pattern, other, reason):
    text = described(**HOPPER).ttgir().replace("predicate = 5 :", "predicate = 0 :")
    found = verdict(edited(text, pattern, other))

    assert found.verdict == "unknown"
    assert found.reason.startswith(reason)


def test_several_ctas_are_not_judged():
    with pytest.raises(Unexplored, match="a program has several CTAs"):
        explore(small("part a zero\ncopy a\nwait 0\nread a", **{'num-ctas" = 1': 'num-ctas" = 2'}))


_OTHER = '%other = "ttg.local_alloc"() : () -> !ttg.memdesc<32xf16, #shared, #smem, mutable>'


@pytest.mark.parametrize(
    "body",
    [
        f"part a zero\ncopy a\n{_OTHER}\nwait 0",
        f"part a zero\nwrite a\nstore a\n{_OTHER}",
    ],
)
def test_memory_of_a_buffer_in_use_is_not_proven_reusable(body):
    module = small(body)
    found = judge_order(module, "small", [])
    assert found.verdict == "unknown"
    assert found.reason.startswith("ttg.local_alloc may be given memory that tt")


@pytest.mark.parametrize(
    "body",
    [
        f"part a zero\ncopy a\nwait 0\nread a\n{_OTHER}",
        f"part a zero\ncopy a\n{_OTHER}\nwait 0\nread a",
    ],
)
def test_buffers_that_are_in_use_at_once_lie_apart(body):
    assert judge_order(small(body), "small", []).verdict == "proven"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("write a\nstore a", "ttng.async_tma_copy_local_to_global"),
        ("copy a", "ttg.async_copy_global_to_local"),
        ('write a\nstore a\n"ttng.async_tma_store_wait"() <{pendings = 0 : i32}> : () -> ()', ""),
        ("copy a\nwait 0", ""),
    ],
)
def test_what_is_in_flight_as_the_program_ends_is_not_proven(body, reason):
    order = judge_order(small(f"part a zero\n{body}"), "small", [])
    assert order.verdict == ("unknown" if reason else "proven")
    assert (order.reason or "") == (
        f"nothing waits for {reason} before the program ends" if reason else ""
    )


def test_a_wait_with_an_unknown_predicate_is_not_decided():
    text = described(**HOPPER).ttgir()
    (active,) = re.findall(rf'({NAME}) = "arith.cmpi"\(%arg\d+, {NAME}\)', text)
    (wait,) = re.findall(r'"ttng.wait_barrier"[^\n]*', text)
    other = wait.replace(") <{", f", {active}) <{{").replace("1, 1, 0, 0", "1, 1, 1, 0")
    text = text.replace(wait, other.replace("i32) -> ()", "i32, i1) -> ()"))
    assert verdict(text).reason == "it is not known whether ttng.wait_barrier waits"


def test_an_endless_counter_is_given_up():
    body = """
        %last = "scf.for"(%zero, %n, %one, %zero) ({
        ^bb1(%i: i32, %at: i32):
          %next = "arith.addi"(%at, %one) : (i32, i32) -> i32
          %part = "arith.remui"(%next, %three) : (i32, i32) -> i32
          part a part
          copy a
          wait 0
          "scf.yield"(%next) : (i32) -> ()
        }) : (i32, i32, i32, i32) -> i32
    """
    with pytest.raises(Unexplored, match="there are more than 1,000 states"):
        explore(small(body))


def test_too_many_copies_without_a_wait_are_not_explored():
    body = """
        %last = "scf.for"(%zero, %n, %one, %zero) ({
        ^bb1(%i: i32, %at: i32):
          %g = "ttg.async_commit_group"() : () -> !ttg.async.token
          "scf.yield"(%at) : (i32) -> ()
        }) : (i32, i32, i32, i32) -> i32
    """
    with pytest.raises(Unexplored, match=r"nothing waits for the operations that ttg"):
        explore(small(body))


def test_a_fault_that_no_evaluation_shows_is_not_reported():
    """Who does not wait does not read, which conditions say that are not compared."""
    module = small("""
        part a zero
        copy a
        "cf.cond_br"(%way)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
      ^bb1:
        wait 0
        "cf.br"()[^bb2] : () -> ()
      ^bb2:
        "cf.cond_br"(%way)[^bb3, ^bb4] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
      ^bb3:
        read a
        "cf.br"()[^bb4] : () -> ()
      ^bb4:
    """)
    fault = explore(module).fault
    assert fault.kind == "reads early"
    assert occurs_in(fault, module, call_of(module)) is False

    found = judge_order(module, "small", [call_of(module)])

    assert found.verdict == "unknown"
    assert found.reason.endswith("but evaluations of its calls do not show it")
