# ruff: noqa: E501 - TTGIR is printed so
"""Figures of lines by layouts: worst of kernels, and what is unknown, with its reason."""

import pytest

from kvtrace.converters import line_layouts
from kvtrace.converters.line_layouts import kernel_layouts
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.figures.layouts import LineLayout
from tests.converters.written_trace import Kernel, Op, add_ops, write_trace

FILE = "/home/user/kernels.py"
TTGIR = f"""\
#loc = loc("{FILE}":10:0)
#a = #ttg.blocked<{{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}}>
#b = #ttg.blocked<{{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}}>
#s = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32}} {{
    %x = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a> loc(#loc1)
    %m = ttg.local_alloc %x : (tensor<64x64xf32, #a>) -> !ttg.memdesc<64x64xf32, #s, #smem> loc(#loc2)
    %y = ttg.convert_layout %x : tensor<64x64xf32, #a> -> tensor<64x64xf32, #b> loc(#loc3)
    tt.store %q, %y : tensor<64x64x!tt.ptr<f32>, #b> loc(#loc3)
#loc1 = loc("{FILE}":12:4)
#loc2 = loc("x"(#loc4))
#loc3 = loc(callsite(#loc4 at #loc5))
#loc4 = loc("{FILE}":13:4)
#loc5 = loc("{FILE}":20:4)
"""
PTX = f"""\
	.file	1 "{FILE}"
	.loc	1 12 4
	ld.global.v4.b32 {{ %r1, %r2, %r3, %r4 }}, [ %rd1 + 0 ];
	ld.global.b32 {{ %r1 }}, [ %rd1 + 0 ];
	.loc	1 13 4
	st.global.v2.b32 [ %rd1 + 0 ], {{ %r1, %r2 }};
	.loc	1 14 4
	ld.global.b32 {{ %r1 }}, [ %rd1 + 0 ];
"""
STAGES = {"ttgir": TTGIR, "ptx": PTX}


def test_lines_have_the_figures_of_their_ops():
    pytest.importorskip("triton", minversion="3.7")
    lines = kernel_layouts(STAGES.get)
    values = {"bank_ways": 16, "vector_bytes": 8, "converted_bytes": 32768}
    assert lines[FILE, 12] == LineLayout({"vector_bytes": 4})
    assert lines[FILE, 13] == LineLayout(values)
    assert lines[FILE, 14] == LineLayout()  # no op of the kernel, whatever the PTX says
    del values["bank_ways"]
    assert kernel_layouts(STAGES.get, inlined=True)[FILE, 20] == LineLayout(values)


def test_ldmatrix_marks_the_ways_as_those_of_the_model():
    pytest.importorskip("triton", minversion="3.7")
    ptx = PTX.replace("st.global", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1};\n\tst.global")
    lines = kernel_layouts({"ttgir": TTGIR, "ptx": ptx}.get)
    assert (lines[FILE, 12].by_model, lines[FILE, 13].by_model) == (False, True)


def test_what_was_not_recorded_is_unknown(monkeypatch):
    of_ptx = kernel_layouts({"ptx": PTX}.get)[FILE, 12]
    assert set(of_ptx.unknown.values()) == {"no TTGIR was recorded"}
    alone = kernel_layouts({"ttgir": TTGIR}.get)[FILE, 12]
    assert alone.unknown == {"vector_bytes": "neither PTX nor AMD assembly was recorded"}
    monkeypatch.setattr(line_layouts, "makes_generic_ttir", lambda: False)
    layout = kernel_layouts(STAGES.get)[FILE, 13]
    assert layout.values == {"vector_bytes": 8}
    assert set(layout.unknown.values()) == {"needs Triton >= 3.7, and none is installed"}


def test_the_profile_asks_once_for_each_kernel_and_only_for_lines(tmp_path, monkeypatch):
    later = {"ttgir": TTGIR, "ptx": PTX}
    slower = {**later, "ptx": PTX.replace("st.global.v2.b32", "st.global.b32")}
    kernels = [Kernel(later=later), Kernel(block=64, later=later), Kernel(block=32, later=slower)]
    side = write_trace(tmp_path / "t", kernels)
    values = {"elements": 4096, "masked_off": 0, "bytes": 16384}
    lines = (("load", 12), ("store", 13))
    add_ops(side, [Op(call, 5, kind, line, values) for call in range(3) for kind, line in lines])
    asked = []
    monkeypatch.setattr(
        line_layouts, "kernel_layouts", lambda stage: asked.append(stage) or kernel_layouts(stage)
    )
    assert read_profile(side.trace, side.runs).lines == ()
    assert asked == []
    profile = read_profile(side.trace, side.runs, lines=True)
    assert len(asked) == 2
    assert [line.layout.values["vector_bytes"] for line in profile.lines] == [4, 4]  # the worst
    text = " ".join(" ".join(profile_text(profile, width=200)).split())
    assert "bank ways vector converted" in text
    assert "bytes that a program's layout conversions move" in text
