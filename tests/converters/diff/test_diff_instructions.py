"""What machine code is made of."""

from importlib.util import find_spec

import pytest

from kvtrace.converters.diff.stages import (
    class_difference,
    ptx_classes,
    sass_classes,
)
from kvtrace.converters.disassembly import disassembled, disassembler

PTX = """
.visible .entry k(
\t.param .u64 .ptr .global .align 1 k_param_0
)
{
\t.reg .pred \t%p<2>;
$L__BB0_1:
\tld.param.b64 \t%rd1, [k_param_0];
\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
\tld.global.L1::evict_first.b16 { %rs1 }, [ %rd1 + 0 ];
\tld.shared.v2.b32 {%r5, %r6}, [%r7];
\tst.global.b32 [ %rd1 + 0 ], { %r1 };
\tadd.s64 \t%rd2, %rd1, 4;
\tmad.lo.s32 \t%r8, %r1, %r2, %r3;
\tfma.rn.f32 \t%r9, %r1, %r2, %r3;
\twgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1, 0, 0;
\tbar.sync \t0;
\tcp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
\t@!%p1 bra \t$L__BB0_1;
\tret;
}
"""
SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;            /* 0x00000a00ff017b82 */
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E.U16 R5, desc[UR4][R2.64] ;
        /*0030*/                   STG.E.64 desc[UR4][R2.64], R4 ;
        /*0040*/                   LDGSTS.E.BYPASS.128 [R4], desc[UR4][R2.64] ;
        /*0050*/                   STL [R1+0x8], R4 ;
        /*0060*/                   LDL R4, [R1+0x8] ;
        /*0070*/                   HGMMA.64x64x16.F32 R24, gdesc[UR4], R24 ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   IMAD.WIDE R2, R3, 0x4, R4 ;
        /*00a0*/                   FFMA R1, R2, R3, R4 ;
        /*00b0*/                   EXIT ;
"""


def test_instructions_of_ptx_by_class():
    assert ptx_classes(PTX) == {
        "global load, 128-bit": 1, "global load, 16-bit": 1, "shared load, 64-bit": 1,
        "global store, 32-bit": 1, "64-bit integer": 1, "32-bit integer": 1, "float": 1, "mma": 1,
        "barrier": 1, "async copy": 1, "other": 3, "instructions": 13,
    }  # fmt: skip


def test_instructions_of_sass_by_class():
    assert sass_classes(SASS) == {
        "global load, 128-bit": 1, "global load, 16-bit": 1, "global store, 64-bit": 1,
        "async copy": 1, "local store, 32-bit": 1, "local load, 32-bit": 1, "mma": 1, "barrier": 1,
        "64-bit integer": 1, "float": 1, "other": 2, "instructions": 12,
    }  # fmt: skip


def test_local_memory_comes_first_and_the_sum_last():
    found = class_difference("sass", sass_classes(""), sass_classes(SASS))
    names = [change.what for change in found.counts]
    assert names[:2] == ["local load, 32-bit", "local store, 32-bit"]
    assert names[-1] == "instructions"


@pytest.mark.process
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton brings a disassembler")
def test_a_spilling_cubin_is_disassembled(tmp_path_factory, monkeypatch):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    tool = disassembler()
    if tool is None:
        pytest.skip("this Triton brings no nvdisasm")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))

    @triton.jit
    def squares(x, n: tl.constexpr, BLOCK: tl.constexpr):
        lanes = tl.arange(0, BLOCK)
        at = lanes[:, None] * BLOCK + lanes[None, :]
        value = tl.load(x + at)
        tl.store(x + at, tl.dot(value, value))

    signature = {"x": "*fp32", "n": "constexpr", "BLOCK": "constexpr"}
    source = ASTSource(squares, signature, {(1,): 1, (2,): 64})
    target = GPUTarget("cuda", 80, 32)
    counted = []
    for few in ({}, {"maxnreg": 64}):
        kernel = triton.compile(source, target=target, options={"num_warps": 4, **few})
        counted.append(sass_classes(disassembled(tool, kernel.asm["cubin"])))
    assert not any(name.startswith("local") for name in counted[0])
    assert any(name.startswith("local") for name in counted[1])
    assert counted[0]["mma"]
