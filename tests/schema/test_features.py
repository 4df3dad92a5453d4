"""Required features: what a run names, and what a reader that does not know one says."""

import pyarrow as pa
import pytest

from kvtrace.schema.errors import NewerFormat
from kvtrace.schema.features import features_of_rows, features_of_run
from kvtrace.schema.layout import SUMS, TIMES
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id

_LAUNCH = {"seq": [0], "call_id": [0]}
_EXECUTION = {"record": [0], "start": [1], "end": [2]}


def sealed(out, row=None, **tables):
    """The features of a run with one row of each of `tables`."""
    writer = RunWriter(out, new_run_id())
    for name, columns in tables.items():
        writer.append(name, columns)
    writer.seal({"ending": "exit", **(row or {})})
    (run,) = open_trace(out).runs
    return run.required_features


@pytest.mark.parametrize(
    ("feature", "tables"),
    [
        ("weights", {"launches": {**_LAUNCH, "weight": [3]}}),
        ("weights", {"gpu_kernels": {**_EXECUTION, "weight": [3]}}),
        ("trials", {"launches": {**_LAUNCH, "phase": ["autotune"]}}),
        ("trials", {"launches": {**_LAUNCH, "phase": ["warmup"]}}),
        ("graph-replays", {"launches": {**_LAUNCH, "phase": ["graph_capture"]}}),
        ("graph-replays", {"gpu_kernels": {**_EXECUTION, "graph_id": [7]}}),
    ],
)
def test_a_run_requires_what_its_rows_imply(tmp_path, feature, tables):
    assert sealed(tmp_path, **tables) == (feature,)


@pytest.mark.parametrize(
    ("feature", "row"),
    [
        ("weights", {"settings": {"sample": "1/10"}}),
        ("partial", {"settings": {"window": "2s:3s"}}),
        ("partial", {"settings": {"limit": "ring:1000"}}),
        ("partial", {"ending": "limit", "settings": {"limit": "1000"}}),
        ("partial", {"dropped_rows": 2}),
        ("total-times", {"settings": {TIMES: SUMS}}),
    ],
)
def test_a_run_requires_what_its_settings_and_its_end_imply(tmp_path, feature, row):
    assert sealed(tmp_path, row) == (feature,)


def test_a_run_of_plain_launches_requires_nothing(tmp_path):
    launches = {"seq": [0, 1], "call_id": [0, 0], "phase": ["run", None], "weight": [None, None]}

    assert sealed(tmp_path, launches=launches, gpu_kernels=_EXECUTION) == ()


def test_features_that_the_producer_names_are_kept(tmp_path):
    assert sealed(tmp_path, {"required_features": ["partial"]}) == ("partial",)


@pytest.mark.parametrize("words", [3, 300])
def test_only_phases_that_occur_count(words):
    dictionary = pa.array([*(f"phase {n}" for n in range(words)), "autotune"])
    unused = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), dictionary)
    used = pa.DictionaryArray.from_arrays(pa.array([1, words], pa.int32()), dictionary)

    assert features_of_rows("launches", pa.record_batch([unused], ["phase"])) == set()
    assert features_of_rows("launches", pa.record_batch([used], ["phase"])) == {"trials"}


def test_a_killed_run_names_the_features_of_its_journal(tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append("launches", {**_LAUNCH, "phase": ["autotune"]})
    writer.flush()
    (killed,) = open_trace(tmp_path).runs
    writer.close()
    recover(tmp_path)
    (recovered,) = open_trace(tmp_path).runs

    assert killed.required_features == recovered.required_features == ("trials",)


def test_a_run_with_an_unknown_feature_is_refused_and_others_are_read(tmp_path):
    known, unknown = (RunWriter(tmp_path, new_run_id()) for _ in range(2))
    known.seal({"ending": "exit"})
    unknown.seal({"ending": "exit", "required_features": ["telepathy", "weights"]})

    assert open_trace(tmp_path).select(known.run_id)[0].ending == "exit"
    with pytest.raises(NewerFormat, match="requires 'telepathy', which this kvtrace does not know"):
        open_trace(tmp_path).select(unknown.run_id)


def test_a_run_of_an_older_version_requires_nothing():
    assert features_of_run({"required_features": None}) == set()
