"""Figures of recorded runs that Perfetto's own engine counts in our file, against SQL by hand."""

from pathlib import Path

import pytest

from kvtrace.converters.registry import load_converter
from kvtrace.schema.trace import resolve
from tests.engine.trace_processor import TraceProcessor
from tests.support.hand_tables import tables_of

pytestmark = pytest.mark.process  # the engine runs in node

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


@pytest.fixture(scope="module", params=["llama_graphs", "llama_ranks"])
def exported(request, tmp_path_factory):
    """A trace in the engine, and its tables."""
    folder = tmp_path_factory.mktemp(request.param)
    path = FIXTURES / request.param
    load_converter("perfetto").convert(resolve(str(path)), folder / "file", {})
    with TraceProcessor(folder / "file", folder / "log") as engine:
        yield engine, tables_of(path)


def test_slices_of_each_kind_are_the_rows_of_their_table(exported):
    engine, tables = exported
    shown = {
        kind: (number, ns)
        for kind, number, ns in engine.rows(
            "select category, count(*) as number, sum(dur) as ns from slice group by category"
        )
    }

    for kind, table, begin, end in (
        ("launch", "launches", "enter", '"exit"'),
        ("gpu", "gpu_kernels", "start", '"end"'),
        ("mark", "marks", '"begin"', '"end"'),
    ):
        by_hand = f"SELECT count(*), sum(epoch_ns({end}) - epoch_ns({begin}))::BIGINT FROM {table}"
        assert [shown[kind]] == tables.execute(by_hand).fetchall(), kind
    replays = tables.execute(
        "SELECT count(DISTINCT correlation_id) FROM gpu_kernels WHERE graph_id IS NOT NULL"
    ).fetchone()[0]
    assert shown.get("graph", (0, 0))[0] == replays
    messages = tables.execute("SELECT count(*) FROM messages").fetchone()[0]
    assert shown["message"][0] == messages
    # A compilation has its stages below it, and a load beside it, where they have times.
    compiled = tables.execute(
        "SELECT sum(compile_ns) FILTER (compile_begin IS NOT NULL) + sum(load_ns)"
        " + (SELECT coalesce(sum(s.duration_ns), 0) FROM"
        " (SELECT unnest(stages) AS s FROM kernels WHERE compile_begin IS NOT NULL))"
        "::BIGINT FROM kernels"
    ).fetchone()[0]
    assert shown["compile"][1] == compiled


def test_kernels_have_as_many_slices_and_as_much_time_as_in_the_tables(exported):
    engine, tables = exported
    shown = engine.rows(
        "select name, count(*) as number, sum(dur) as ns from slice where category = 'gpu' "
        "and substr(name, 1, 7) = 'triton_' group by name"
    )

    assert sorted(shown) == sorted(
        tables.execute(
            'SELECT k.name, count(*), sum(epoch_ns(g."end") - epoch_ns(g.start))::BIGINT '
            "FROM gpu_kernels g LEFT JOIN launches l ON l.run = g.run AND l.seq = g.launch_seq "
            "JOIN calls c ON c.run = g.run AND c.call_id = coalesce(g.call_id, l.call_id) "
            "JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id "
            "WHERE substr(k.name, 1, 7) = 'triton_' GROUP BY k.name"
        ).fetchall()
    )
