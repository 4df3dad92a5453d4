"""What a kernel is: a name in a module or, of a generated kernel, a name and a source text."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from kvtrace.converters.info.info import read_overview
from kvtrace.converters.report import report_data
from kvtrace.figures.identity import (
    SOURCE,
    KernelKey,
    kernel_rows,
    key_of,
    names_apart,
    with_source,
)
from kvtrace.schema.trace import open_trace

H200 = Path(__file__).parents[1] / "fixtures" / "h200"


@dataclass(frozen=True)
class Row:
    name: str
    module: str | None = None
    file: str | None = None


def test_kernel_identity_is_the_same_in_python_arrow_and_sql():
    known = ("m", None), ("k", None), ("hash", None), ("a.py", None)
    names = ("module", "name", "source_artifact", "file")
    rows = [dict(zip(names, values, strict=True)) for values in product(*known)]
    k = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))

    sources = with_source(k)["source"].to_pylist()

    assert duckdb.sql(f"SELECT {SOURCE} FROM k").fetchall() == [(each,) for each in sources]
    assert [key_of(row) for row in rows] == [
        KernelKey(row["module"] or "", row["name"] or "", source or "")
        for row, source in zip(rows, sources, strict=True)
    ]
    assert set(sources) == {None, "hash", "a.py"}


@pytest.mark.costly("a recorded trace of four ranks; keys by hand stay by day")
def test_a_generated_kernel_is_one_on_all_ranks_whose_files_differ():
    trace = open_trace(H200 / "llama_ranks")
    rows = kernel_rows(trace, trace.runs, ["name", "source", "file"]).to_pylist()
    kernels = {(row["name"], row["source"]) for row in rows}

    assert len({(row["name"], row["file"]) for row in rows}) == 46
    assert len(kernels) == len(read_overview(trace, trace.runs).kernels) == 23
    assert len(report_data(trace, trace.runs, "t", "t").kernels) == 23


def test_generated_kernels_of_one_name_with_different_sources_are_distinct():
    trace = open_trace(H200 / "planted" / "recompiles")
    kernels = read_overview(trace, trace.runs).kernels

    assert sum(k.name == "triton_poi_fused_mul_sin_0" for k in kernels) == 10
    assert len(set(names_apart(kernels))) == len(kernels)


def test_kernels_of_one_name_are_shown_with_module_or_file():
    generated = f"/cache/aa/c{'a' * 51}.py"
    rows = [Row("k", "one"), Row("k", "two"), Row("k", None, generated), Row("gemm", None, "a.py")]

    assert names_apart([*rows, Row("k", None, "run.py"), Row("k")]) == [
        "k (one)", "k (two)", "k (caaaaaaa)", "gemm", "k (run)", "k",
    ]  # fmt: skip
