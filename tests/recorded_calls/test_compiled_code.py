"""Facts that are read from recorded compiled code."""

from kvtrace.recorded_calls.compiled_code import fused_places

PTX = """
	.loc	1 7 12
	fma.rn.f32 	%f4, %f1, %f2, %f3;
	.loc	1 8 12
	add.rn.f32 	%f5, %f1, %f3;
	add.s32 	%r1, %r2, 4;
	.loc	1 9 12
	mul.f32 	%f6, %f1, %f2;
	.loc	1 10 4
	fma.rn.bf16x2 	%r4, %r1, %r2, %r3;
	sub.bf16x2 	%r5, %r1, %r2;
	.loc	1 11 4
	sub.ftz.f64 	%fd1, %fd2, %fd3;
"""


def test_a_place_is_fused_or_not_if_all_its_sums_are_alike():
    assert fused_places(PTX, "3.8.0") == {(7, 12): True, (8, 12): False, (11, 4): False}


def test_columns_are_counted_from_1():
    assert fused_places(PTX, "3.6.0")[7, 13]


def test_integers_and_products_say_nothing():
    assert (
        fused_places("\t.loc\t1 3 3\n\tadd.s64 %rd1, %rd2, 4;\n\tmul.f32 %f1, %f2, %f3;", None)
        == {}
    )
