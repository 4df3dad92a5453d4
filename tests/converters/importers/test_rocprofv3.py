"""rocprofv3's tables: names of columns in any case, registers, and agents of the table beside."""

import pytest

from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.converters.importers.rocprofv3 import vector_registers
from kvtrace.converters.importers.rows import NONE
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import write_rocprofv3_csv, write_rocprofv3_json

AGENTS = (
    '"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Name","Product_Name"\n'
    '0,0,"CPU",0,"cpu","AMD EPYC"\n'
    '3,3,"GPU",304,"gfx942","AMD Instinct MI300X"\n'
    '4,4,"GPU",304,"gfx942","AMD Instinct MI300X"\n'
)


@pytest.mark.parametrize("changed", [str, str.title, str.upper, str.lower])
def test_names_of_columns_may_be_in_any_case(changed, tmp_path):
    path = write_rocprofv3_csv(tmp_path)
    header, *lines = path.read_text().split("\n")
    path.write_text("\n".join((changed(header), *lines)))

    import_files([path], tmp_path / "out")

    first, *_ = plain_rows(open_trace(tmp_path / "out").table("gpu_kernels"))
    assert (first["registers"], first["shared_bytes"], first["stream"]) == (28, 512, 3)
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [8, 1, 1]
    assert [first[f"block_{axis}"] for axis in "xyz"] == [256, 1, 1]


@pytest.mark.parametrize(("cut", "fields"), [(("512,0,", ""), 20), (("512,", "512,7,"), 23)])
def test_a_table_of_rows_that_do_not_fit_its_header_is_refused(cut, fields, tmp_path):
    path = write_rocprofv3_csv(tmp_path)
    path.write_text(path.read_text().replace(*cut))
    with pytest.raises(BadSource, match=rf"\(line 2 has {fields}, and the header 22\)"):
        import_files([path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_devices_are_named_by_the_table_of_agents_beside(tmp_path):
    path = write_rocprofv3_csv(tmp_path)
    (tmp_path / "100_agent_info.csv").write_text(AGENTS)

    import_files([path], tmp_path / "out")

    trace = open_trace(tmp_path / "out")
    assert [device["name"] for device in trace.runs[0].devices] == ["AMD Instinct MI300X"] * 2
    kernels = plain_rows(trace.table("gpu_kernels"))
    assert {row["device"] for row in kernels} == {1}  # `Agent 4` is the second GPU


def test_records_that_are_not_imported_are_counted(tmp_path):
    path = write_rocprofv3_json(tmp_path)
    added = '"rccl_api": [{}, {}], "marker_api": [{'
    path.write_text(path.read_text().replace('"marker_api": [{"kind"', added + '"kind"'))

    (run,) = import_files([path], tmp_path / "out")

    assert {kind: count for kind, count in run.left_out.items() if count} == {"rccl_api": 2}


@pytest.mark.parametrize(
    ("facts", "architecture", "registers"),
    [
        ({"vgpr_count": "24", "accum_vgpr_count": "4"}, None, 28),
        ({"arch_vgpr_count": 24, "accum_vgpr_count": 24}, "gfx908", 24),
        ({"arch_vgpr_count": 24}, "gfx942", 24),
        ({}, None, NONE),
    ],
)
def test_registers_are_vector_registers_with_accumulators(facts, architecture, registers):
    assert vector_registers(facts, architecture) == registers
