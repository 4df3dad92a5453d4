"""The profile's section of calls that are not tuned for their sizes."""

import json

import pytest

from kvtrace.addons.suite.untuned.section import SECTION, read_untuned
from kvtrace.cli import main
from tests.converters.written_trace import Kernel, Launches, write_trace

AUTOTUNED = """import triton

@triton.autotune(configs=CONFIGS, key=[{key}])
@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK):
    pass
"""
GENERATED = """@triton_heuristics.{heuristic}(
    size_hints={{'x': 128}}, reduction_hint=ReductionHint.INNER, filename=__file__,
    inductor_meta={{'max_autotune': {max_autotune}, 'autotune_hints': set()}},
)
@triton.jit
def triton_red_fused_sum_0(x_ptr, y_ptr, n, BLOCK):
    pass
"""
TRIED = Launches(number=4, device_us=20, phase="autotune")
FASTER = Launches(number=4, device_us=10, phase="autotune")
LARGE = Launches(shape=(50_000,), scalar="50000", number=2, device_us=90)


def rows_of(folder, *kernels, **run):
    selection = write_trace(folder / "trace", kernels, **run)
    return read_untuned(selection.trace, selection.runs)


def autotuned(key, block, *calls, **more):
    return Kernel(
        block=block, calls=calls, file_text=AUTOTUNED.format(key=key), origin="autotune", **more
    )


def test_choice_made_at_other_sizes_is_not_tuned_and_compared_with_the_fastest_there(tmp_path):
    (row,) = rows_of(
        tmp_path, autotuned("'BLOCKS'", 128, TRIED, LARGE), autotuned("'BLOCKS'", 256, FASTER)
    )

    assert (row.kernel, row.state, row.calls, row.launches) == ("scale", "not tuned", 1, 2)
    assert row.why == (
        "tried only at n=1000 (here 50000), x_ptr=[1000] (here [50000]), y_ptr=[1000] (here "
        "[50000]) (key BLOCKS)"
    )
    assert row.configuration == "BLOCK=128"
    assert row.slowdown == pytest.approx(1.0)
    assert row.device_ns == 180_000
    assert row.share == pytest.approx(1.0)  # trials are no work of the program


def test_sizes_that_were_tried_are_tuned(tmp_path):
    small = Launches(number=2, device_us=9)

    assert rows_of(tmp_path, autotuned("'n'", 128, TRIED, small)) == ()


def test_choice_with_another_key_and_no_trial_is_not_known(tmp_path):
    (row,) = rows_of(tmp_path, autotuned("'n'", 128, TRIED, LARGE), autotuned("'n'", 256, FASTER))

    assert row.state == "not known"
    assert "where the key (n) or a dtype differs: the choice came from a cache" in row.why
    assert row.slowdown is None


def test_key_that_the_source_computes_is_not_known(tmp_path):
    (row,) = rows_of(tmp_path, autotuned("*KEYS", 128, TRIED, LARGE))

    assert (row.state, "its source computes its key" in row.why) == ("not known", True)


def test_configuration_that_was_not_tried_is_not_known(tmp_path):
    (row,) = rows_of(
        tmp_path,
        autotuned("'BLOCKS'", 128, TRIED),
        autotuned("'BLOCKS'", 256, FASTER),
        autotuned("'BLOCKS'", 512, LARGE),
    )

    assert (row.state, "none of those that were tried" in row.why) == ("not known", True)


def test_autotuner_without_trials_is_not_known_and_with_one_configuration_not_tuned(tmp_path):
    text = AUTOTUNED.format(key="").replace("CONFIGS", "[triton.Config({'BLOCK': 128})]")
    single = Kernel(name="scale", module="other", file_text=text, calls=(LARGE,))
    cached = autotuned("'n'", 128, LARGE)

    states = {row.module: (row.state, row.why) for row in rows_of(tmp_path, single, cached)}

    assert states["other"][0] == "not tuned"
    assert "a single configuration" in states["other"][1]
    assert states["kernels"][0] == "not known"
    assert "tried nothing in this run" in states["kernels"][1]


def test_run_without_a_gpu_says_nothing_of_its_autotuners(tmp_path):
    (row,) = rows_of(tmp_path, autotuned("'n'", 128, LARGE), settings=[("device", "cpu")])

    assert (row.state, "without a GPU" in row.why) == ("not known", True)


@pytest.mark.parametrize(
    ("heuristic", "max_autotune", "state"),
    [
        ("reduction", "False", "not tuned"),
        ("reduction", "True", "not known"),
        ("persistent_reduction", "False", "not known"),
    ],
)
def test_heuristic_of_inductor_is_not_tuned_if_it_makes_one_configuration(
    tmp_path, heuristic, max_autotune, state
):
    text = GENERATED.format(heuristic=heuristic, max_autotune=max_autotune)
    kernel = Kernel(
        name="triton_red_fused_sum_0",
        module="",
        file_text=text,
        origin="inductor",
        line=text[: text.index("def ")].count("\n") + 1,
        calls=(LARGE,),
    )

    (row,) = rows_of(tmp_path, kernel)

    assert (row.module, row.state) == (None, state)
    assert "Inductor" in row.why


def test_kernel_without_autotuner_is_left_out_unless_its_library_has_a_formula(tmp_path):
    text = "import triton\n@triton.jit\ndef scale(x_ptr, y_ptr, n, BLOCK):\n    pass\n"

    assert rows_of(tmp_path, Kernel(calls=(LARGE,), file_text=text)) == ()


def test_kernel_without_recorded_source_is_not_known(tmp_path):
    (row,) = rows_of(tmp_path, Kernel(calls=(LARGE,)))

    assert (row.state, row.why) == ("not known", "its source was not recorded, and no trial")


def test_profile_has_the_section_as_text_and_as_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    small = Launches(shape=(7,), scalar="7", number=1, device_us=1)
    kernels = [autotuned("'BLOCKS'", 128, TRIED, LARGE), autotuned("'BLOCKS'", 256, FASTER)]
    write_trace(tmp_path / "out", [*kernels, Kernel("rare", "rare", calls=(small,))])

    assert main(["profile", str(tmp_path / "out"), "--whole"]) == 0
    text = capsys.readouterr().out
    assert main(["profile", str(tmp_path / "out"), "--whole", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    lines = [line for line in text.splitlines() if str(tmp_path) not in line]  # a long path
    assert max(map(len, lines)) <= 80
    assert "configuration not tuned for its sizes" in text
    assert "there it took 100.0 % longer" in " ".join(text.split())
    rows = document["untuned"]
    assert [row["kernel"] for row in rows] == ["scale", "rare"]


def test_rows_of_less_than_a_thousandth_are_summed_in_the_text(tmp_path):
    huge = Launches(shape=(50_000,), scalar="50000", number=1, device_us=10_000)
    tiny = Launches(shape=(7,), scalar="7", number=1, device_us=1)
    rows = rows_of(tmp_path, Kernel(calls=(huge,)), Kernel("rare", "rare", calls=(tiny,)))

    lines = SECTION.text(rows, 80)

    assert "… 1 more row of less than 0.1 % each" in lines
    assert not any("rare" in line for line in lines)
