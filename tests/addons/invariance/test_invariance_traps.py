"""Kernels that are not what they seem: no row that varies is invariant, no other bits the same."""

from collections.abc import Callable

import pytest
import triton
import triton.language as tl

from corpus import load
from corpus.questions.row_traps import RowKernel
from corpus.questions.version_traps import KernelVersions, launched
from kvtrace.addons.invariance.contracts import contracts_of
from kvtrace.addons.invariance.output_results import OutputResult
from kvtrace.addons.invariance.over import output_answers
from kvtrace.addons.invariance.results import invariance_of
from kvtrace.addons.invariance.text import invariance_lines, versions_text
from kvtrace.addons.invariance.versions import OutputMeaning, same_meaning
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import Selection
from tests.addons.invariance.inputs import tensor
from tests.support.tiers import some

Recorded = Callable[[Callable[[], object]], Selection]
ROWS: tuple[RowKernel, ...] = load("row_traps")
VERSIONS: tuple[KernelVersions, ...] = load("version_traps")

#: What a witness shows; of other varying kernels, reasons are enough.
WITNESSED = (
    "a factor of 1 / M by the host", "a grid of M // 4 tiles", "a mask that ends one row early",
    "columns up to 3 M", "a store that the tile's maximum decides", "dropout by the flat offset",
    "row 7 times 1.0000002", "five elements too few",
)  # fmt: skip


def trap(name: str) -> RowKernel:
    (found,) = (each for each in ROWS if each.name == name)
    return found


def pair(name: str) -> KernelVersions:
    (found,) = (each for each in VERSIONS if each.name == name)
    return found


def judged(one: RowKernel, recorded: Recorded) -> OutputResult:
    runs = recorded(lambda: [one.launch(rows, rows // 2) for rows in one.sizes])
    outputs = [each for each in invariance_of(runs).outputs if each.output == "out"]
    return min(outputs, key=lambda each: each.verdict == "proven")


def compared(one: KernelVersions, recorded: Recorded) -> OutputMeaning:
    calls = []
    for kernel in (one.before, one.after):
        runs = recorded(lambda kernel=kernel: launched(one, kernel, one.inputs[0]))  # type: ignore[misc]
        (call,) = calls_of(runs.trace, runs.runs[0])
        assert isinstance(call, Call)
        calls.append(call)
    (found,) = same_meaning(*calls)
    return found


@pytest.mark.parametrize(
    "one", some([each for each in ROWS if each.varies], 6), ids=lambda o: o.name
)
def test_kernel_whose_rows_vary_is_never_proven_invariant(
    one: RowKernel, recorded: Recorded
) -> None:
    found = judged(one, recorded)

    assert found.verdict in ("violation", "depends", "unknown")
    assert found.reasons


@pytest.mark.parametrize(
    "one", some([each for each in ROWS if not each.varies], 5), ids=lambda o: o.name
)
def test_kernel_whose_rows_are_the_same_is_no_violation(one: RowKernel, recorded: Recorded) -> None:
    assert judged(one, recorded).verdict not in ("violation", "depends")


@pytest.mark.parametrize("name", WITNESSED)
def test_varying_kernel_has_a_witness_with_two_values(name: str, recorded: Recorded) -> None:
    found = judged(trap(name), recorded)

    assert found.verdict == "violation"
    assert found.witness is not None
    assert len(set(found.witness.values)) == 2


@pytest.mark.parametrize(
    "name", ["blocks aligned to the packed tensor", "where the row begins, as a number"]
)
def test_use_of_a_rows_begin_is_a_dependence_on_other_rows(name: str, recorded: Recorded) -> None:
    found = judged(trap(name), recorded)

    assert any("where its data begin, which other rows decide" in why.what for why in found.reasons)


def test_only_integers_that_do_not_move_with_the_data_are_assumed(recorded: Recorded) -> None:
    moving = judged(trap("blocks from where the row begins"), recorded)
    chosen = judged(trap("an embedding with padding"), recorded)

    assert (moving.verdict, moving.assumed) == ("proven", ())
    assert (chosen.verdict, chosen.assumed) == ("proven", ("tokens",))
    runs = recorded(lambda: [trap("an embedding with padding").launch(n, 1) for n in (5, 8)])
    text = " ".join("\n".join(invariance_lines(invariance_of(runs), 200)).split())
    assert "assumed: a row's entries of tokens do not depend on other rows" in text


@triton.jit
def _moved(x, places, y, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    place = tl.load(places + row)
    tl.store(y + row * BLOCK + at, tl.load(x + place * BLOCK + at))


@pytest.mark.parametrize("is_repeated", [False, True])
def test_rows_in_another_order_are_assumed_to_be_selected_once(
    recorded: Recorded, is_repeated: bool
) -> None:
    def launch() -> None:
        for rows in (3, 5):
            x = tensor(rows, 16, seed=1)
            places = tensor(rows, seed=2).argsort().int() * (not is_repeated)
            _moved[(rows,)](x, places, tensor(rows, 16, seed=3), 16)

    results = invariance_of(recorded(launch))
    text = " ".join("\n".join(invariance_lines(results, 200)).split())

    assert ("places select inside the row, or a row that no other row selects" in text) != (
        is_repeated
    )
    assert (results.outputs[0].verdict == "proven") != is_repeated


def test_compile_options_that_change_with_the_batch_are_in_the_verdict(recorded: Recorded) -> None:
    summed = judged(trap("num_warps by M, for a sum"), recorded)
    mapped = trap("num_warps by M, elementwise")
    runs = recorded(lambda: [mapped.launch(rows, 0) for rows in mapped.sizes])
    text = "\n".join(invariance_lines(invariance_of(runs), 200))

    assert summed.verdict == "depends"
    assert any("num_warps 1 or 2" in why.what for why in summed.reasons)
    assert "invariant; by its IR, compiled with num_warps 1 or 2" in text


@triton.jit
def _scaled(x, y, scale, BLOCK: tl.constexpr):
    # kvtrace: invariant over scale
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + at, tl.load(x + row * BLOCK + at) * scale)


def test_contract_may_name_a_float_argument(recorded: Recorded) -> None:
    x = tensor(4, 16, seed=1)
    runs = recorded(lambda: _scaled[(4,)](x, x.clone(), 0.5, 16))
    found = invariance_of(runs)

    (answer,) = output_answers(found, contracts_of(runs.trace, runs.runs), None)

    assert found.outputs[0].scalars == ("scale",)
    assert answer.answer.verdict == "violation"
    assert "scale = 0.5" in answer.answer.text


@triton.jit
def _unrolled(x, y, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    for part in tl.static_range(2):
        place = row * 2 * BLOCK + part * BLOCK + at
        tl.store(y + place, tl.load(x + place))


def test_rows_of_the_invariance_table_are_distinct(recorded: Recorded) -> None:
    x = tensor(4, 32, seed=1)
    found = invariance_of(recorded(lambda: _unrolled[(4,)](x, x.clone(), 16)))

    rows = [line for line in invariance_lines(found, 200) if line.startswith("_unrolled ")]

    assert len(rows) == len(found.outputs) == len(set(rows)) == 2


def test_invariance_text_has_no_internal_names(recorded: Recorded) -> None:
    one = trap("rows in reverse")
    runs = recorded(lambda: [one.launch(rows, 0) for rows in one.sizes])
    text = "\n".join(invariance_lines(invariance_of(runs), 200))

    assert "[byte 4 * i1" in text
    assert not any(word in text for word in ("Quotient(", "i1048576", "4194304]", "lane["))


# -- two versions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one",
    some([each for each in VERSIONS if "sorted" not in each.name], 8),
    ids=lambda o: o.name,
)
def test_answer_about_two_versions_is_never_stronger_than_the_truth(
    one: KernelVersions, recorded: Recorded
) -> None:
    meaning = compared(one, recorded).meaning

    wrong = {
        "differs": {"same", "equal", "reassociated", "exact"},
        "exact": {"same", "equal", "reassociated"},
        "sums": {"same", "equal"},
        "bits": {"violation"},
    }[one.truth]
    assert meaning not in wrong


def test_all_elements_of_two_versions_are_compared_and_counted(recorded: Recorded) -> None:
    found = compared(pair("a loop unrolled"), recorded)

    assert (found.meaning, found.compared_count, found.elements) == ("equal", 1600, 1600)
    assert "1,600 of 1,600 elements were compared" in " ".join(versions_text(found))
    assert compared(pair("one element apart"), recorded).meaning == "violation"


def test_maximum_of_minima_differs_from_minimum_of_maxima(recorded: Recorded) -> None:
    found = compared(pair("min and max exchanged"), recorded)

    assert found.meaning == "violation"
    assert "NaN" in found.inputs


def test_variance_in_one_pass_loses_its_digits_far_from_zero(recorded: Recorded) -> None:
    found = compared(pair("variance in one pass"), recorded)
    text = " ".join(versions_text(found))

    assert (found.meaning, found.inputs) == ("violation", "numbers around 10,000")
    assert found.witness is not None
    assert found.witness.ulps > 1e6
    assert "on numbers around 10,000" in text


def test_versions_with_two_values_are_a_violation_not_unknown(recorded: Recorded) -> None:
    for name in ("rounded to bfloat16", "two floats exchanged"):
        found = compared(pair(name), recorded)
        assert found.meaning == "violation"
        assert found.witness is not None


def test_texts_of_two_different_trees_differ(recorded: Recorded) -> None:
    for name in ("eps of three rows", "no label ignored", "a running sum backwards"):
        found = compared(pair(name), recorded)
        assert found.first != found.second
        text = f"{found.first} {found.second}"
        assert not any(word in text for word in ("Attribute(", "Quotient(", "lane["))


@pytest.mark.costly("searches to its limit; other traps stay")
def test_comparison_of_two_sorts_ends_within_its_time_limit(recorded: Recorded) -> None:
    import time

    one = pair("sorted by the negatives")
    calls = []
    for kernel in (one.before, one.after):
        runs = recorded(lambda kernel=kernel: launched(one, kernel, one.inputs[0]))  # type: ignore[misc]
        calls += [call for call in calls_of(runs.trace, runs.runs[0]) if isinstance(call, Call)]
    begin = time.process_time()

    (found,) = same_meaning(*calls)

    assert time.process_time() - begin < 20
    assert found.meaning != "violation"
