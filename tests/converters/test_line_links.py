"""Source lines behind the lines of each compiler stage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.line_links import (
    LineLinks,
    line_links,
    link_assembly,
    link_llvm,
    link_mlir,
    link_sass,
)
from kvtrace.schema.trace import open_trace
from tests.support.report_trace import DEFECT_LINE, KERNELS, build_report_trace


def frames(links: LineLinks, line: int) -> list[tuple[str, int]]:
    """The frames behind a line of the text, from 0; innermost first."""
    stack = links.lines[line]
    return [] if stack < 0 else [(links.files[f], at) for f, at in links.stacks[stack]]


def lines_of(links: LineLinks, text: str, name: str, source_line: int) -> list[str]:
    """The text's lines whose innermost frame is a source line of a file of that name."""
    return [
        content.strip()
        for number, content in enumerate(text.split("\n"))
        if (found := frames(links, number))
        and Path(found[0][0]).name == name
        and found[0][1] == source_line
    ]


def test_an_op_is_linked_through_an_alias_a_name_and_a_call_site():
    text = "\n".join(
        [
            '#loc = loc("a.py":3:0)',
            "%0 = tt.load %p : tensor<4xf32> loc(#loc3)",
            '#loc1 = loc("b.py":7:4)',
            '#loc2 = loc("x"(#loc))',
            "#loc3 = loc(callsite(#loc1 at #loc2))",
        ]
    )
    links = link_mlir(text)
    assert frames(links, 1) == [("b.py", 7), ("a.py", 3)]
    assert [number for number in range(5) if frames(links, number)] == [1]


def test_an_op_with_regions_has_its_location_on_its_first_else_and_last_line():
    text = "\n".join(
        [
            "scf.if %c {",
            '  tt.store %p, %v loc("k.py":2:1)',
            "} else {",
            '  tt.store %q, %v loc("k.py":3:1)',
            '} loc("k.py":1:1)',
        ]
    )
    assert [frames(link_mlir(text), n)[0][1] for n in range(5)] == [1, 2, 1, 3, 1]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"a.py":3:1', [("a.py", 3)]),
        ('"a.py":3:1 to :9', [("a.py", 3)]),
        ('"a.py":3:1 to 4:9', [("a.py", 3)]),
        ('"say \\"hi\\" \\5C (1).py":3:1', [('say "hi" \\ (1).py', 3)]),
        ('"\\E6\\BC\\A2.py":3:1', [("漢.py", 3)]),
        ('fused["a.py":3:1, "b.py":4:1]', [("a.py", 3)]),
        ('fused<"tag">[unknown, "b.py":4:1]', [("b.py", 4)]),
        ('callsite("x"("a.py":3:1) at callsite("b.py":4:1 at "c.py":5:1))',
         [("a.py", 3), ("b.py", 4), ("c.py", 5)]),
        ("unknown", []),
        ("#missing", []),
        ('"a.py"', []),
    ],
)  # fmt: skip
def test_every_form_of_location_is_read(location, expected):
    assert frames(link_mlir(f"  op loc({location})"), 0) == expected


def test_location_that_refers_to_itself_terminates():
    links = link_mlir("op loc(#a)\n#a = loc(callsite(#b at #a))\n#b = loc(callsite(#a at #b))")
    assert frames(links, 0) == []


def test_text_in_strings_is_not_parsed_as_locations():
    links = link_mlir('op {text = "} loc(\\"a.py\\":3:1)"}')
    assert frames(links, 0) == []


def test_assembly_follows_loc_directives_and_callers_in_comments_and_inlined_at():
    text = "\n".join(
        [
            "\tmov.u32 %r0, 1;",
            "\t.loc 1 9 4 // k.py:9:4",
            "\tmov.u32 %r1, 1;",
            "$L__tmp0:",
            "\t.loc 2 5 1 // lib.py:5:1 @[ k.py:9:4 ]",
            "\tadd.s32 %r2, %r1, 1;",
            "\t.loc 2 7 1, function_name $L__info_string0, inlined_at 2 5 1",
            "\tadd.s32 %r3, %r1, 1;",
            "}",
            "\tmov.u32 %r4, 1;",
            '\t.file 1 "/src/k.py"',
            '\t.file 2 "/lib" "lib.py"',
        ]
    )
    found = [frames(link_assembly(text), n) for n in range(10)]
    assert found[0] == found[3] == found[9] == []
    assert found[2] == [("/src/k.py", 9)]
    assert found[5] == [("/lib/lib.py", 5), ("/src/k.py", 9)]
    assert found[7] == [("/lib/lib.py", 7), ("/lib/lib.py", 5), ("/src/k.py", 9)]


def test_llvm_follows_scopes_and_inlining():
    text = "\n".join(
        [
            "  %1 = add i32 %0, 1, !dbg !3",
            '!1 = !DIFile(filename: "k.py", directory: "/src")',
            "!2 = distinct !DISubprogram(name: \"f\", file: !1, line: 1)",
            "!3 = !DILocation(line: 4, column: 2, scope: !5, inlinedAt: !4)",
            "!4 = !DILocation(line: 9, column: 2, scope: !2)",
            "!5 = distinct !DILexicalBlockFile(scope: !2, file: !1, discriminator: 0)",
        ]
    )  # fmt: skip
    assert frames(link_llvm(text), 0) == [("/src/k.py", 4), ("/src/k.py", 9)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, str]:
    """Every stage of the real softmax kernel, as the compiler wrote it."""
    built = build_report_trace(tmp_path_factory.mktemp("locations"), launches=5, derived=False)
    trace = open_trace(built.path)
    (row,) = trace.table("kernels").slice(0, 1).to_pylist()
    return {s["stage"]: trace.artifact(s["artifact"]).decode() for s in row["stages"]}


@pytest.mark.parametrize(
    ("stage", "word"), [("ttir", "tt.load"), ("ttgir", "tt.load"), ("ptx", "ld.global")]
)
def test_a_real_kernel_s_load_is_linked_to_its_line(texts, stage, word):
    links = line_links(stage, texts[stage])
    linked = lines_of(links, texts[stage], "kernels_of_the_test.py", DEFECT_LINE)
    assert any(word in line for line in linked)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_an_inlined_function_is_linked_to_its_own_line_and_its_call(texts, stage):
    source = KERNELS.split("\n")
    inner = 1 + source.index("    return tl.where(value > 0, value, value * slope)")
    outer = 1 + source.index("    values = leaky(values, 0.1)")
    links = line_links(stage, texts[stage])
    found = [
        [at for _, at in frames(links, n)]
        for n in range(len(links.lines))
        if any(Path(f).name == "kernels_of_the_test.py" for f, _ in frames(links, n))
    ]
    assert [inner, outer] in found


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
def test_every_op_of_real_mlir_is_linked_unless_its_location_is_unknown(texts, stage):
    text = texts[stage]
    links = line_links(stage, text)
    missing = [
        line.strip()
        for number, line in enumerate(text.split("\n"))
        if "loc(#" in line and not line.startswith("#") and not frames(links, number)
    ]
    # Block arguments and folded constants have no location of their own.
    assert [line for line in missing if "^bb" not in line and "arith.constant" not in line] == []


@given(st.text(alphabet='loc(#a)"b.py":3 {}=\n\\atcallsiefud[]<>!dbg0\t.', max_size=200))
def test_scanners_accept_any_text(text):
    for scanner in (link_mlir, link_assembly, link_llvm):
        links = scanner(text)
        assert len(links.lines) == text.count("\n") + 1
        assert all(-1 <= stack < len(links.stacks) for stack in links.lines)


def test_a_stage_without_locations_has_no_links():
    assert line_links("cubin", "anything") is None


def test_a_listing_of_machine_code_is_linked_and_loses_its_comments():
    listing = """\
softmax:
.text.softmax:
\t//## File "/a/k.py", line 13
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P1 LDG.E R7, desc[UR6][R8.64] ;
\t//## File "/t/standard.py", line 191
.L_x_0:
        /*0020*/                   EXIT ;
.text.other:
        /*0000*/                   NOP ;"""
    text, links = link_sass(listing)
    lines = text.split("\n")
    assert [line for line in listing.split("\n") if "//##" not in line] == lines
    found = [None if at < 0 else links.stacks[at] for at in links.lines]
    own, library = ((0, 13),), ((1, 191),)
    assert found == [None, None, own, own, None, library, None, None]
    assert links.files == ("/a/k.py", "/t/standard.py")
