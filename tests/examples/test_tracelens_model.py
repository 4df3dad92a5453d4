"""examples/tracelens_model.py gives TraceLens the work that kvtrace derives for each launch."""

import json
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kvtrace.addons.join.kineto import CONVERTER
from kvtrace.converters.timeline.call_work import derived_calls
from kvtrace.schema.trace import Selection, select_runs
from tests.support.imported_file import imported_file
from tests.support.tree import ROOT

EXAMPLE = ROOT / "examples" / "tracelens_model.py"
RECORDING = ROOT / "tests" / "fixtures" / "h200" / "llama_liger_cached"


@pytest.fixture
def model() -> ModuleType:
    """The example as TraceLens loads it."""
    return imported_file(EXAMPLE, "tracelens_model")


@pytest.fixture(scope="module")
def selection() -> Selection:
    """The run of the recording that has launches."""
    everything = select_runs(RECORDING, every=True)
    runs = [run for run in everything.runs if everything.trace.table("launches", [run]).num_rows]
    return select_runs(RECORDING, runs[0].run_id)


@pytest.fixture(scope="module")
def events(selection: Selection, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The events of the converted recording."""
    path = tmp_path_factory.mktemp("converted") / "shaped.pt.trace.json"
    CONVERTER.convert(selection, path, {})
    document: dict[str, Any] = json.loads(path.read_bytes())
    return list(document["traceEvents"])


@pytest.mark.costly("imports another package and all of its models")
def test_each_operator_has_the_work_of_its_call(
    model: ModuleType, selection: Selection, events: list[dict[str, Any]]
) -> None:
    """FLOPs and bytes of every launch are those derived; launches without are not modeled."""
    model.tree_postprocess_extension(SimpleNamespace(events=events))
    work = derived_calls(selection.trace, selection.runs[0]).work
    assert work
    operators = [event for event in events if event["cat"] == "cpu_op"]
    modeled = [event for event in operators if event["args"]["kvtrace call"] in work]
    assert modeled
    assert {event["name"] for event in modeled} == set(model.perf_model_extension)
    for event in modeled:
        known, launch = work[event["args"]["kvtrace call"]], model.RecordedTriton(event, arch=None)
        assert launch.flops() == known.flops
        if known.unknown:
            assert launch.bytes() is None
        elif known.unique_bytes is not None:
            assert launch.bytes() == known.unique_bytes
        assert launch.get_maf_type() == (
            "matrix" if 2 * known.dot_flops > known.flops else "vector"
        )
        assert launch.category == "triton"


def test_imported_operators_are_left_to_tracelens(model: ModuleType) -> None:
    own = {"cat": "cpu_op", "name": "aten::mm", "args": {"Input Dims": [[2, 2], [2, 2]]}}
    model.tree_postprocess_extension(SimpleNamespace(events=[own, {"ph": "M"}]))
    assert model.perf_model_extension == {}
