"""Bytes of a thread's instruction in PTX and AMD assembly."""

import pytest

from kvtrace.ir.assembly import global_bytes


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];", 16),
        ("ld.global.L1::evict_last.L2::cache_hint.v8.b32 { %r1 }, [ %rd1 ], %rd2;", 32),
        ("st.global.b16 [ %rd3 + 0 ], { %rs1 };", 2),
        ("cp.async.ca.shared.global [ %r18 + 0 ], [ %rd6 + 0 ], 0x8, %r19;", 8),
        ("global_load_dwordx4 v[8:11], v[4:5], off", 16),
        ("global_load_ubyte_d16_hi v1, v[2:3], off", 1),
        ("buffer_store_short v1, v2, s[0:3], 0 offen", 2),
        ("global_load_d16_hi_b16 v1, v[2:3], off", 2),
        ("global_store_b128 v[0:1], v[2:5], off", 16),
        ("ld.shared.v4.b32 { %r1 }, [ %r2 ];", None),
        ("s_load_dwordx4 s[0:3], s[4:5], 0x0", None),
    ],
)
def test_instructions_of_global_memory_have_a_width(line, size):
    assert global_bytes(line) == size
