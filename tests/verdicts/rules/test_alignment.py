"""Addresses that no hardware takes: not multiples of their element, or null."""

import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules.alignment import judge
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor


def verdicts(of_call):
    return list(judge(BoundCall(of_call)))


@triton.jit
def words(x, out, first, step, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    place = (x + first + tl.program_id(0) * step + lanes * 4).to(tl.pointer_type(tl.float32))
    tl.store(out + lanes, tl.load(place, mask=lanes < 10))


def words_of(first, step, programs=8):
    x, out = tensor(4096, dtype="i8"), tensor(16)
    return call(words, (programs,), x=x, out=out, first=first, step=step, BLOCK=16)


def test_words_at_multiples_of_four_are_proven_others_have_a_witness():
    (good,) = verdicts(words_of(4, 12))
    (bad,) = verdicts(words_of(4, 6))

    assert good.verdict == "proven"
    assert bad.verdict == "violation"
    assert bad.program is not None
    assert bad.address_offset is not None
    assert bad.program[0] % 2 == 1
    assert bad.address_offset % 4 == 2


def test_a_grid_of_one_program_is_aligned_where_two_programs_are_not():
    (found,) = verdicts(words_of(4, 6, programs=1))

    assert found.verdict == "proven"


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def test_a_tensor_at_an_odd_byte_is_misaligned_and_aligned_accesses_get_no_verdict():
    plain = call(copied, (8,), x=tensor(100), out=tensor(100), n=100, BLOCK=16)
    x, out, n = plain.arguments
    odd = replace(plain, arguments=(replace(x, offset_bytes=2), out, n))

    assert verdicts(plain) == []
    (found,) = verdicts(odd)
    assert (found.rule, found.verdict, found.arg) == ("misaligned", "violation", "x")


def test_an_access_to_a_tensor_without_storage_is_a_null_pointer():
    def judged(n):
        made = call(copied, (8,), x=tensor(100, room=0), out=tensor(100), n=n, BLOCK=16)
        return verdicts(made)

    (found,) = judged(100)
    assert (found.rule, found.verdict, found.arg) == ("null-pointer", "violation", "x")
    assert judged(0) == []


@triton.jit
def from_address(address, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(address.to(tl.pointer_type(tl.float32)) + lanes + 2))


def test_a_pointer_cast_from_zero_is_null_and_other_pointers_get_no_verdict():
    def judged(address):
        made = call(from_address, (1,), wide=("address",), address=address, out=tensor(8), BLOCK=8)
        return verdicts(made)

    (found,) = judged(0)
    assert (found.rule, found.verdict) == ("null-pointer", "violation")
    assert judged(1 << 40) == []
