"""Differences of written traces: what counts, what is named, and what is left out."""

import json
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import (
    compare,
    difference_markdown,
    difference_object,
    difference_text,
    headline_text,
)
from kvtrace.converters.profile.recompiles import Change
from kvtrace.schema.trace import resolve
from tests.converters.compared_kernels import OTHER, SCALE, TTIR
from tests.converters.written_trace import (
    EPOCH,
    SOURCE,
    Launches,
    Op,
    add_ops,
    write_trace,
)
from tests.support.replacing import replace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


@pytest.fixture
def sides(tmp_path):
    """Write two traces of the given kernels and compare them."""

    def build(before, after, *, settings=({}, {}), **options):
        first, second = settings
        a = write_trace(tmp_path / "a", before, **first)
        b = write_trace(tmp_path / "b", after, **second)
        return compare(a, b, **options)

    return build


def only_variant(difference):
    (kernel,) = difference.kernels
    (variant,) = kernel.variants
    return variant


def changed_names(changes):
    return [change.what for change in changes]


def test_two_recordings_of_one_program_have_no_differences(sides):
    """Ids, order of kernels, process, host, times, alignments and cache: none is a difference."""
    slower = replace(SCALE, calls=(Launches(number=5, host_us=900, device_us=800),), line=99)
    found = sides(
        [SCALE, OTHER],
        [OTHER, slower],
        settings=(
            {"pid": 1, "host": "one", "git_commit": "a" * 40},
            {
                "pid": 2, "host": "two", "git_commit": "a" * 40, "first_kernel_id": 17,
                "start": EPOCH + 10**12, "run_id": "20270101T000000-0002", "alignment": 8,
            },
        ),
    )  # fmt: skip
    assert found.empty
    assert found.kernels == ()
    assert found.same_kernels == 2
    assert found.context == ()
    assert "no difference in 2 kernels; findings: not judged" in difference_text(found)


def test_another_folder_of_the_same_sources_is_no_difference(sides):
    assert sides([SCALE], [replace(SCALE, file="/srv/checkout/kernels.py")]).empty


def test_moved_and_renumbered_code_is_no_difference(sides):
    moved = TTIR.replace("%3", "%33").replace("%2 ", "%x_4 ").replace("%2,", "%x_4,")
    assert sides([SCALE], [replace(SCALE, ttir=f"#loc1 = loc(unknown)\n{moved}")]).empty


def test_added_and_removed_kernels_are_listed(sides):
    found = sides([SCALE], [OTHER])
    assert {(k.name, k.status) for k in found.kernels} == {
        ("scale", "removed"),
        ("softmax", "added"),
    }
    text = "\n".join(difference_text(found))
    assert "kernels: 1 added, 1 removed, 0 the same" in text
    assert "+ softmax (/home/user/kernels.py:40) added, 1 variant, 3 launches" in text


def test_kernels_of_one_name_in_renamed_modules_pair_by_their_source(sides):
    """As Inductor's do, whose modules are named by a hash."""

    def fused(*places):
        return [
            replace(SCALE, module=module, source=f"def fused(): return {text}\n")
            for module, text in places
        ]

    found = sides(fused(("c1", 1), ("c2", 2), ("c3", 3)), fused(("d2", 2), ("d1", 1), ("d4", 4)))
    assert {(k.changes, k.source is None) for k in found.kernels} == {
        ((Change("module", "c1", "d1"),), True),
        ((Change("module", "c2", "d2"),), True),
        ((Change("module", "c3", "d4"),), False),
    }


def test_changed_block_size_is_reported_with_few_other_changes(sides):
    smaller = replace(
        SCALE,
        block=64,
        ttir=TTIR.replace("128", "64"),
        calls=(Launches(number=5, grid=(16, 1, 1)),),
    )
    found = sides([SCALE, OTHER], [smaller, OTHER])
    variant = only_variant(found)
    assert variant.changes == (Change("constexpr BLOCK", "128", "64"),)
    assert [(c.change, c.calls) for c in variant.calls] == [
        (Change("grid", "(8, 1, 1)", "(16, 1, 1)"), 1)
    ]
    assert variant.code is not None
    assert variant.code.substitutions == (("128", "64"),)
    assert variant.code.lines == ()
    assert (variant.resources, variant.work, variant.times) == ((), (), ())
    (row,) = found.headline
    assert (row.level, row.direction) == ("options", "changed")
    assert row.what == (
        "constexpr BLOCK 128 → 64; TTIR the same except for 128 → 64; grid (8, 1, 1) → (16, 1, 1)"
    )


def test_a_changed_source_line_shows_in_source_and_code(sides):
    after = replace(
        SCALE,
        source=SOURCE.replace(", values * 2, mask=offsets < n)", ", values * 2)"),
        ttir=TTIR.replace("tt.store %2, %3", "tt.store %2, %3, %0"),
    )
    found = sides([SCALE], [after])
    (kernel,) = found.kernels
    assert kernel.source is not None
    assert (kernel.source.removed, kernel.source.added) == (1, 1)
    assert only_variant(found).code.lines[0] == "@@"
    text = difference_text(found)
    assert "      -    tl.store(y_ptr + offsets, values * 2, mask=offsets < n)" in text
    assert "      +    tl.store(y_ptr + offsets, values * 2)" in text


def test_changed_resources_and_warps_are_reported(sides):
    found = sides([SCALE], [replace(SCALE, registers=64, num_warps=8)])
    variant = only_variant(found)
    assert variant.changes == (Change("num_warps", "4", "8"),)
    assert variant.resources == (Change("registers", "32", "64"),)


def test_unknown_resources_are_not_a_change(sides):
    assert sides([SCALE], [replace(SCALE, registers=None)]).empty


def test_change_of_a_later_stage_is_reported_unless_explained_earlier(sides):
    before = replace(SCALE, later={"ptx": "add.s32 %r1, %r2, 1;\n"})
    after = replace(SCALE, later={"ptx": "add.s32 %r1, %r2, 2;\n"})
    assert only_variant(sides([before], [after])).code.stage == "ptx"


def test_a_later_stage_is_left_out_where_an_option_explains_it(sides):
    before = replace(SCALE, later={"ptx": "add.s32 %r1, %r2, 1;\n"})
    after = replace(SCALE, later={"ptx": "add.s32 %r1, %r2, 2;\n"}, num_warps=8)
    assert only_variant(sides([before], [after])).code is None


def test_more_launches_are_a_change_of_work(sides):
    found = sides([SCALE], [replace(SCALE, calls=(Launches(number=7),))])
    assert only_variant(found).work == (Change("launches", "5", "7"),)


def test_equally_many_launches_of_other_calls_are_a_change(sides):
    first = (Launches(number=1), Launches(number=3, scalar="9"))
    second = (Launches(number=3), Launches(number=1, scalar="9"))
    found = sides([replace(SCALE, calls=first)], [replace(SCALE, calls=second)])
    assert changed_names(only_variant(found).work) == ["launches of 2 calls"]


def test_changed_shape_is_reported(sides):
    after = replace(SCALE, calls=(Launches(number=5, shape=(2000,), scalar="2000"),))
    variant = only_variant(sides([SCALE], [after]))
    assert [c.change for c in variant.calls] == [
        Change("x_ptr shape", "[1000]", "[2000]"),
        Change("x_ptr storage bytes", "4000", "8000"),
        Change("y_ptr shape", "[1000]", "[2000]"),
        Change("y_ptr storage bytes", "4000", "8000"),
        Change("n", "1000", "2000"),
    ]


def test_changes_of_one_scalar_in_many_calls_are_one_line(sides):
    def seeds(first):
        return replace(SCALE, calls=tuple(Launches(scalar=str(first + i)) for i in range(30)))

    (change,) = only_variant(sides([seeds(0)], [seeds(1000)])).calls
    assert change.change == Change("n", "30 values", "30 values")
    assert change.calls == 30


def test_calls_without_a_counterpart_are_counted(sides):
    more = replace(SCALE, calls=(Launches(number=5), Launches(scalar="1"), Launches(scalar="2")))
    variant = only_variant(sides([SCALE], [more]))
    assert (variant.calls_added, variant.calls_removed) == (2, 0)


def test_an_autotuners_repetitions_and_choice_are_no_difference(sides):
    def tuned(chosen, trials):
        return [
            replace(
                SCALE,
                block=block,
                calls=(
                    Launches(number=trials, phase="autotune"),
                    *((Launches(number=6),) if block == chosen else ()),
                ),
            )
            for block in (64, 128)
        ]

    found = sides(tuned(64, 12), tuned(128, 31))
    assert found.empty
    assert any("autotuner" in note for note in found.notes)


def test_a_new_configuration_of_an_autotuner_is_a_difference(sides):
    def tuned(*blocks):
        calls = (Launches(number=4, phase="autotune"), Launches(number=1))
        return [replace(SCALE, block=block, calls=calls) for block in blocks]

    found = sides(tuned(64), tuned(64, 128))
    (kernel,) = found.kernels
    assert [(v.status, v.label, v.changes) for v in kernel.variants] == [
        ("added", "BLOCK=128", (Change("constexpr BLOCK", "64", "128"),))
    ]


def test_variants_are_paired_by_similarity(sides):
    before = [replace(SCALE, block=32), replace(SCALE, block=64, num_warps=8)]
    after = [replace(SCALE, block=64, num_warps=4), replace(SCALE, block=32, registers=33)]
    (kernel,) = sides(before, after).kernels
    found = {(v.label, v.changes, v.resources) for v in kernel.variants}
    assert found == {
        ("BLOCK=32", (), (Change("registers", "32", "33"),)),
        ("BLOCK=64", (Change("num_warps", "8", "4"),), ()),
    }


def test_time_changes_below_the_threshold_are_ignored(sides):
    slower = replace(SCALE, calls=(Launches(number=5, host_us=11, device_us=23),))
    faster = replace(SCALE, calls=(Launches(number=5, host_us=10, device_us=20),))
    assert sides([faster], [slower]).empty


@pytest.mark.parametrize(("threshold", "empty"), [(0.2, True), (0.1, False)])
def test_the_threshold_is_of_device_time_where_there_is_any(sides, threshold, empty):
    slower = replace(SCALE, calls=(Launches(number=5, host_us=99, device_us=23),))
    faster = replace(SCALE, calls=(Launches(number=5, host_us=10, device_us=20),))
    found = sides([faster], [slower], time_threshold=threshold)
    assert found.empty == empty
    if not empty:
        assert only_variant(found).times == (
            Change("median device time", "20.0 µs", "23.0 µs (+15.0%)"),
        )


def test_times_of_both_sides_are_shown(sides):
    found = sides([SCALE], [replace(SCALE, calls=(Launches(number=5, host_us=30),))])
    (time,) = found.times
    assert (time.before.host_ns, time.after.host_ns) == (40_000, 120_000)  # four do not compile
    assert (time.before.compiling_ns, time.after.compiling_ns) == (10_000, 30_000)
    assert (time.before.host_median_ns, time.after.host_median_ns) == (10_000, 30_000)
    row = next(line for line in difference_text(found) if line.startswith("  scale"))
    assert row.split() == [
        "scale",
        "40.0",
        "µs",
        "120",
        "µs",
        "10.0",
        "µs",
        "30.0",
        "µs",
        "+200.0%",
    ]


def loads(bytes_):
    values = {"elements": 128, "masked_off": 0, "bytes": bytes_, "flops": None}
    return [Op(0, 5, "load", 12, values), Op(0, 6, "dot", 13, {"flops": 1000})]


def test_bytes_and_flops_are_those_of_all_launches(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [SCALE])
    add_ops(a, loads(512))
    add_ops(b, loads(1024))
    assert only_variant(compare(a, b)).work == (Change("bytes", "2.50 KiB", "5 KiB"),)


def test_work_is_not_compared_if_one_side_is_not_replayed(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [SCALE])
    add_ops(b, loads(1024))
    found = compare(a, b, labels=("old", "new"))
    assert found.empty
    assert any(note.startswith("old has not been replayed") for note in found.notes)


def test_versions_and_machines_are_reported_as_context(sides):
    found = sides(
        [SCALE],
        [SCALE],
        settings=(
            {"git_commit": "a" * 40, "versions": {"triton": "3.6.0"}},
            {"git_commit": "b" * 40, "versions": {"triton": "3.7.1"}},
        ),
    )
    assert found.empty
    assert Change("version of triton", "3.6.0", "3.7.1") in found.context
    assert Change("commit", "a" * 40, "b" * 40) in found.context


def test_ranks_that_compiled_the_same_are_one_variant(tmp_path):
    one = write_trace(tmp_path / "one", [SCALE], run_id="r0", group_id="job")
    write_trace(tmp_path / "two", [SCALE], run_id="r0", group_id="job")
    both = write_trace(tmp_path / "two", [SCALE], run_id="r1", group_id="job")
    both = replace(both, runs=both.trace.select())
    assert len(both.runs) == 2
    found = compare(one, both)
    variant = only_variant(found)
    assert variant.work == (Change("launches", "5", "10"),)


def test_an_unknown_compile_time_is_not_added_as_0(sides):
    found = sides([SCALE, replace(SCALE, block=64)], [SCALE, replace(SCALE, compile_ns=None)])
    assert found.before.totals.compile_ns == 4_000_000
    assert found.after.totals.compile_ns is None


def test_unsealed_run_is_compared_with_a_note(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [SCALE], seal=False)
    found = compare(a, b)
    assert found.empty
    assert any("not sealed" in note for note in found.notes)


def test_the_json_form_can_be_read_back(sides):
    found = sides([SCALE, OTHER], [replace(SCALE, block=64)])
    form = json.loads(json.dumps(difference_object(found)))
    assert form["empty"] is False
    assert {k["name"]: k["status"] for k in form["kernels"]} == {
        "scale": "changed",
        "softmax": "removed",
    }
    assert form["kernels"][1]["variants"][0]["changes"] == [
        {"what": "constexpr BLOCK", "before": "128", "after": "64"}
    ]


def test_markdown_escapes_what_names_hold(sides):
    hostile = replace(OTHER, name="</details>`<img src=x>`|*\x1b[31m")
    lines = difference_markdown(sides([SCALE], [SCALE, hostile]))
    (heading,) = [line for line in lines if line.startswith("<details><summary><code>")]
    assert "\x1b" not in heading
    assert heading.count("<") == len(("details", "summary", "code", "/code", "/summary"))
    assert "&lt;img src=x&gt;" in heading
    (row,) = [line for line in lines if line.startswith("| `")]
    assert row.count("`") == 2
    assert row.replace("\\|", "").count("|") == 7  # six cells
    assert sum(line == "</details>" for line in lines) == 1


def test_text_fits_its_width(sides):
    wide = SOURCE.replace("values * 2", "values * " + " + ".join(["factor"] * 40))
    long = replace(SCALE, source=wide, name="kernel_" * 40)
    found = sides([replace(SCALE, name="kernel_" * 40), OTHER], [long])
    assert max(map(len, difference_text(found, width=80))) <= 110  # paths are never cut


@pytest.mark.costly("many comparisons; one of each kind stays by day")
def test_the_command_line(tmp_path, capsys):
    write_trace(tmp_path / "t", [SCALE], run_id="20260101T000000-1", git_commit="a" * 40)
    write_trace(
        tmp_path / "t", [replace(SCALE, block=64)], run_id="20260102T000000-2", git_commit="b" * 40
    )
    out = str(tmp_path / "t")
    assert main(["diff", f"{out}/@aaaa", f"{out}/@bbbb"]) == 0
    assert "constexpr BLOCK 128 → 64" in capsys.readouterr().out
    assert main(["diff", f"{out}/@aaaa", f"{out}/@bbbb", "-v"]) == 0
    assert "constexpr BLOCK       128 → 64" in capsys.readouterr().out
    assert main(["diff", "@aaaa", "@bbbb", "--in", out, "--exit-code"]) == 1
    assert main(["diff", "@aaaa", "20260101", "--in", out, "--exit-code"]) == 0
    capsys.readouterr()
    assert main(["diff", "@aaaa", "@bbbb", "--in", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["empty"] is False
    assert main(["diff", "@aaaa", "@bbbb", "--in", out, "--markdown", "-"]) == 0
    assert "constexpr BLOCK       128 → 64" in capsys.readouterr().out


def test_many_changed_calls_are_sampled_and_all_are_counted(sides):
    def seeds(first):
        return replace(SCALE, calls=tuple(Launches(scalar=str(first + i)) for i in range(510)))

    variant = only_variant(sides([seeds(0)], [seeds(1000)]))
    assert [(c.change.what, c.calls) for c in variant.calls] == [("n", 500)]
    assert (variant.calls_unread, variant.calls_added, variant.calls_removed) == (10, 0, 0)


def test_changed_numbers_show_their_difference(sides):
    found = sides([SCALE], [replace(SCALE, registers=40, ttir=TTIR.replace("128", "256"))])
    assert "    registers             32 → 40 (+25.0%)" in difference_text(found)


@pytest.mark.costly("runs of models; written ones stay by day")
def test_the_recorded_runs_compare_steady_launches():
    """Of an H200: with compiling launches in it, matmul was said to be 0.34 times as slow."""
    runs = [resolve(FIXTURES / name) for name in ("train", "train_compiled")]
    (matmul,) = [time for time in compare(*runs).times if time.name == "matmul_kernel"]
    assert matmul.before.host_ns < 20_000_000 < 1_900_000_000 < matmul.before.compiling_ns
    assert matmul.before.compiling_launches == 9
    row = next(
        line for line in difference_text(compare(*runs)) if line.startswith("  matmul_kernel ")
    )
    assert row.endswith("+18.2%")


def test_an_option_that_a_version_of_the_compiler_brought_is_said_once(sides):
    later = [replace(each, options=(("clc", "False"),)) for each in (SCALE, OTHER)]
    versions = [{"versions": {"triton": number}} for number in ("3.5.1", "3.9.0")]
    found = sides([SCALE, OTHER], later, settings=versions)
    assert found.empty, difference_text(found)
    assert Change("option clc of every kernel", None, "False") in found.context
    assert "context: version of triton 3.5.1 → 3.9.0; option clc of every" in "\n".join(
        headline_text(found, width=200)
    )


def test_an_option_that_someone_chose_is_a_change_of_each_kernel(sides):
    later = [replace(each, options=(("clc", "False"),)) for each in (SCALE, OTHER)]
    found = sides([SCALE, OTHER], later)
    assert [changed_names(kernel.variants[0].changes) for kernel in found.kernels] == [
        ["option clc"]
    ] * 2
