"""Files of tools that have nothing to import: each is named, with what to import instead."""

import json
import pickle

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.registry import BadSource, importer_of

#: How files of each kind begin, as the tools' versions of the module's docstring write them.
BEGINNINGS = {
    "prof.nsys-rep": (b"\x8d\x00binary", "nsys export --type sqlite prof.nsys-rep"),
    "gemm.ncu-rep": (b"NVR\0\x08\x00", "ncu --import gemm.ncu-rep --page raw --csv"),
    "renamed.bin": (b"NVR\0\x08\x00", "a report of Nsight Compute"),
    "results_7.csv": (
        b"Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
        b"Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,"
        b"End_Timestamp,Correlation_ID\n",
        "a table of rocprofv2, the tool before rocprofv3; run the program under `rocprofv3",
    ),
    "results.csv": (
        b"Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,"
        b"accum_vgpr,sgpr,wave_size,sig,obj,DispatchNs,BeginNs,EndNs,CompleteNs,Counters\n",
        "a table of rocprof, the tool before rocprofv2 and rocprofv3",
    ),
    "7_kernel_stats.csv": (b'"Name","Calls"', "import the _kernel_trace.csv beside it"),
    "100_results.pftrace": (
        b"\n\x10",
        "a Perfetto trace; of rocprofv3, import its",
    ),
    "host.xplane.pb": (b"\x0a\x10\x12\x0e/device:GPU:0", "a profile of XLA"),
    "nodes.json": (
        b'{\n  "schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "2026-11-27", "nodes": []}',
        "a Chakra execution trace",
    ),
    "snapshot.pickle": (
        pickle.dumps({"segments": [], "device_traces": [[]]}),
        "a pickle, which is not opened",
    ),
    "onnx.json": (
        b'[\n{"cat" : "Session","pid" :1,"tid" :1,"dur" :256,"ts" :9,"ph" : "X","name" :"run"}]',
        "a profile of ONNX Runtime",
    ),
    "onnx_of_gpu.json": (
        b'[\n{"cat" : "Session","pid" :1,"tid" :1,"dur" :256,"ts" :9,"ph" : "X","name" :"run"},\n'
        b'{"cat" : "Kernel","pid" :1,"tid" :1,"dur" :3,"ts" :9,"ph" : "X","name" :"gemm"}]',
        "a profile of ONNX Runtime",
    ),
    "viz.json": (
        json.dumps({"traceEvents": [{"ph": "X", "cat": "fee", "dur": 2.9}]}).encode(),
        "a trace of VizTracer",
    ),
    "spy.json": (b'[{"args":{"line":1},"cat":"py-spy","name":"f","ph":"B"}]', "py-spy"),
    "speed.json": (
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[]}',
        "a speedscope profile",
    ),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_file_that_has_nothing_to_import_is_named_with_what_has(name, tmp_path, capsys):
    content, words = BEGINNINGS[name]
    tmp_path.joinpath(name).write_bytes(content)
    assert main(["import", str(tmp_path / name), "-o", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert words in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("head", [b"", b"[]", b'{"schema": "mine"}', b"\x80\x04N.", b"segments"])
def test_other_unknown_files_get_no_advice(head, tmp_path):
    with pytest.raises(BadSource, match=r"is not recognized as a file of a tool"):
        importer_of(tmp_path / "unknown.json", head)
