"""What is said of calls on a timeline: figures by where they come from, findings by their ids."""

import pyarrow as pa

from kvtrace.converters.profile.device_limits import chosen_device
from kvtrace.converters.timeline.call_work import CallWork, DerivedCalls, derived_calls
from kvtrace.schema.trace import resolve
from tests.support.synthetic_trace import build_synthetic_trace

WORK = CallWork(bytes=800, unique_bytes=400, flops=0, unknown=0, best_ns=5.4, bound="memory")


def with_findings(tmp_path, rows):
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=5).path
    opened = resolve(str(trace)).trace
    opened.add_derived(opened.run_ids[0], "sanitizer", {"findings": pa.Table.from_pylist(rows)})
    return derived_calls(opened, opened.runs[0])


def finding(identity, call=3, verdict="violation", rule="race"):
    found = {"finding_id": identity, "call_id": call, "rule": rule, "verdict": verdict}
    return found | {"severity": "error"}


def test_figures_say_whose_limits_they_were_compared_with():
    derived = DerivedCalls({7: WORK}, {}, chosen_device(None, [], ["cuda:90"]))

    assert derived.facts(7) == (
        (
            "derived",
            (
                ("bytes", 800), ("distinct bytes", 400), ("FLOPs", 0), ("bound", "memory"),
                ("time at best ns", 5), ("limits of", "H100 SXM (assumed)"),
            ),
        ),
    )  # fmt: skip
    assert derived.facts(8) == derived.facts(None) == ()


def test_unknown_figures_are_left_out():
    unknown = CallWork(bytes=16, unique_bytes=None, flops=2, unknown=3, best_ns=None, bound=None)

    ((name, figures),) = DerivedCalls({7: unknown}, {}, None).facts(7)

    assert name == "derived"
    assert figures == (("bytes", 16), ("accesses not counted in bytes", 3), ("FLOPs", 2))


def test_findings_are_named_once_errors_first(tmp_path):
    lint = finding("0", rule="overflow") | {"severity": "note"}
    rows = [lint, finding("a"), finding("a"), finding("c", 4, "proven")]

    derived = with_findings(tmp_path, rows)

    assert derived.facts(3) == derived.found(3) == (
        (
            "findings",
            (
                ("a", "error: race (#/findings/a of the report)"),
                ("0", "note: overflow (#/findings/0 of the report)"),
            ),
        ),
    )  # fmt: skip
    assert derived.facts(4) == ()


def test_first_findings_are_named_and_the_rest_are_counted(tmp_path):
    derived = with_findings(tmp_path, [finding(f"v{number}") for number in range(30)])

    ((_, named),) = derived.found(3)

    assert [name for name, _ in named] == [*sorted(f"v{n}" for n in range(30))[:8], "more"]
    assert named[-1] == ("more", 22)
