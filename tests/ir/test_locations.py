"""Source lines of inline assembly in PTX of Triton 3.8 and later."""

from kvtrace.ir.locations import without_inner_places

PTX = """\
	.loc	1 309 25                        // within.py:309:25
	// begin inline asm
	.loc	1 309 25                        // within.py:309:25
	mov.u32 %r11, 0x0;
	.loc	1 310 25                        // within.py:310:25
	ld.global.b32 { %r11 }, [ %rd5 + 0 ];

	// end inline asm
	.loc	1 311 5                         // within.py:311:5
	// begin inline asm
	st.global.b32 [ %rd6 + 0 ], { %r11 };
	// end inline asm
	.loc	1 312 5                         // within.py:312:5
	ret;
"""


def test_inline_assembly_keeps_only_the_directive_before_it():
    lines = without_inner_places(PTX).splitlines()
    locs = [(number, line.split()[1:4]) for number, line in enumerate(lines) if ".loc" in line]
    assert locs == [(0, ["1", "309", "25"]), (8, ["1", "311", "5"]), (12, ["1", "312", "5"])]
    assert len(lines) == len(PTX.splitlines())
    assert [line for line in lines if ".loc" not in line and line] == [
        line for line in PTX.splitlines() if ".loc" not in line and line
    ]
