"""Accesses in machine code, compared with what `nvdisasm` says of kernels that Triton compiles."""

import re
from collections import Counter

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kvtrace.addons.fault.dump.sass import ZERO, access_at, holds_address, stops, written
from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.converters.disassembly import disassembled, disassembler

_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?(\S+)\s*(.*?);")
_ADDRESS = re.compile(r"\[(RZ|R\d+)(?:\.64)?(?:\+(-?0x[0-9a-f]+))?\]")
_WIDE_ADDRESS = re.compile(r"\[(RZ|R\d+)\.64(?:\+(-?0x[0-9a-f]+))?\]")
#: Operations whose first register is an operand.
_NO_RESULT = re.compile(r"CALL|WARPSYNC|\w*SETP|R2UR|R2P")
_GLOBAL = ("LDG", "STG", "ATOMG", "RED", "REDG")


@triton.jit
def accesses(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    a = tl.atomic_add(x + lanes, 1, mask=mask)
    b = tl.atomic_cas(x + lanes + 4096, a, a + 1)
    c = tl.atomic_max(x + lanes + n, b, mask=mask)
    tl.store(y + lanes * 3 - 512, tl.atomic_xchg(x + 2 * lanes, c, mask=mask), mask=mask)
    tl.atomic_add(x + lanes * 7, c)
    tl.store(y + lanes - 7, tl.load(x + lanes + 31) + tl.load(x + n * 5))
    for step in tl.range(0, n, num_stages=3):
        tl.store(y + lanes + step, tl.load(x + lanes * step - 100) + tl.load(x - 7))


@pytest.fixture(scope="module", params=[80, 90])
def compiled(request):
    tool = disassembler()
    assert tool is not None, "Triton brings nvdisasm"
    signature = {"x": "*i32", "y": "*i32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(accesses, signature, {"BLOCK": 512})
    kernel = triton.compile(source, target=GPUTarget("cuda", request.param, 32))
    cubin = kernel.asm["cubin"]
    code = next(
        bytes(section.content)
        for section in SectionTable(cubin)
        if section.name.startswith(".text.")
    )
    listing = disassembled(tool, cubin)
    assert listing is not None
    return code, [(int(at, 16), op, rest) for at, op, rest in _LINE.findall(listing)]


def number(register):
    return ZERO if register == "RZ" else int(register[1:])


def test_addresses_are_those_of_the_disassembly(compiled):
    code, lines = compiled
    found = Counter()
    for offset, op, operands in lines:
        name = op.split(".")[0]
        access = access_at(code, offset)
        if name == "LDGSTS":  # the second address is that in global memory
            assert access is not None
            register, displacement = _WIDE_ADDRESS.findall(operands)[0]
        elif name in _GLOBAL:
            assert access is not None, (op, operands)
            register, displacement = _ADDRESS.findall(operands)[0]
        else:
            assert access is None, (op, operands)
            continue
        found[name] += 1
        expected = (number(register), int(displacement or "0", 16))
        assert (access.register, access.displacement) == expected
    assert {"LDG", "STG", "ATOMG"} <= found.keys()


def test_written_registers_include_those_of_the_disassembly(compiled):
    code, lines = compiled
    compared = 0
    for offset, op, operands in lines:
        parts = [part.strip() for part in operands.split(",")]
        while parts and re.fullmatch(r"!?U?PT|!?U?P\d", parts[0]):
            parts.pop(0)
        if not parts or not re.fullmatch(r"R\d+", parts[0]) or _NO_RESULT.match(op):
            continue
        first = number(parts[0])
        count = 4 if ".128" in op else 2 if ".64" in op or ".WIDE" in op else 1
        word = int.from_bytes(code[offset : offset + 16], "little")
        assert set(range(first, first + count)) <= set(written(word)), (op, operands)
        compared += 1
    assert compared > 20


def test_address_is_not_believed_where_the_result_took_its_place(compiled):
    code, lines = compiled
    for offset, op, operands in lines:
        access = access_at(code, offset)
        if op.split(".")[0] != "LDG" or access is None:
            continue
        result = number(operands.split(",")[0].strip())
        width = 4 if ".128" in op else 2 if ".64" in op else 1
        overlaps = result <= access.register + 1 and access.register < result + width
        assert access.overwrites == (overlaps and result != ZERO)
        assert holds_address(code, access, offset, offset + 16) == (not access.overwrites)


def test_calls_are_where_the_disassembly_has_them(compiled):
    code, lines = compiled
    for offset, op, _ in lines:
        assert stops(code, offset) == op.startswith(("CALL", "BPT"))


def test_offsets_outside_of_the_code_have_no_access(compiled):
    code, _ = compiled
    for offset in (-16, 8, len(code), len(code) - 8):
        assert access_at(code, offset) is None
