"""A reader of traces that answers the questions of docs/conformance.md, by kvtrace's own views.

    python examples/readers/reader.py schema/conformance/simple/trace

The views `launch_times` and `execution_times` have the rules: which launches are trials, weights,
and the call of an execution. Other readers follow those rules in their own way (reader.cpp).
"""

import json
import sys

import kvtrace
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import open_trace

RUN = ("group_id", "rank", "world_size", "source")
SPAN = """
    SELECT max(greatest(first, last)) - min(first) FROM (
        SELECT epoch_ns("enter") AS first, epoch_ns("exit") AS last FROM launches
        UNION ALL SELECT epoch_ns("start"), epoch_ns("end") FROM gpu_kernels)
    WHERE first IS NOT NULL AND last IS NOT NULL
"""
LAUNCHES = """
    SELECT {key} AS key, sum(CASE WHEN tuning THEN 0 ELSE weight END) AS launches,
        sum(CASE WHEN tuning THEN weight ELSE 0 END) AS trials
    FROM launch_times LEFT JOIN calls USING (run, call_id) GROUP BY key
"""
EXECUTIONS = """
    SELECT {key} AS key, sum(CASE WHEN tuning THEN 0 ELSE weight END) AS executions,
        sum(CASE WHEN tuning THEN weight ELSE 0 END) AS trial_executions,
        sum(CASE WHEN NOT tuning THEN taken END) AS device_ns
    FROM execution_times LEFT JOIN calls USING (run, call_id)
    WHERE kind IS NULL AND call_id IS NOT NULL GROUP BY key
"""
OTHERS = """
    SELECT name, sum(weight) AS executions, sum(taken) AS device_ns
    FROM execution_times WHERE kind IS NULL AND call_id IS NULL GROUP BY name ORDER BY name
"""
MEMORY = """
    SELECT kind, sum(weight) AS operations, sum(bytes * weight) AS bytes
    FROM execution_times WHERE kind IS NOT NULL GROUP BY kind ORDER BY kind
"""


def answer(folder):
    """Return the answer for the trace in a folder; KvtraceError if it has to be rejected."""
    return {"runs": [run_answer(folder, run) for run in open_trace(folder).run_ids]}


def run_answer(folder, run_id):
    """Return the answer for one run."""
    trace = kvtrace.open(folder, run=run_id)

    def asked(query):
        return [
            {name: int(v) if hasattr(v, "as_integer_ratio") else v for name, v in row.items()}
            for row in trace.sql(query).arrow.to_pylist()
        ]

    def figures(key):
        counts = {}
        for query in (LAUNCHES, EXECUTIONS):
            for row in asked(query.format(key=key)):
                counts.setdefault(row.pop("key"), {}).update(row)
        return counts

    zeros = {"launches": 0, "trials": 0, "executions": 0, "trial_executions": 0, "device_ns": None}
    by_kernel = figures("kernel_id")
    row = trace.runs[0]
    return {
        "run_id": run_id,
        **{name: row[name] for name in RUN},
        **zeros,
        **figures("0").get(0, {}),
        "span_ns": next(iter(asked(SPAN)[0].values())),
        "other_executions": asked(OTHERS),
        "memory_operations": asked(MEMORY),
        "kernels": [
            {
                "kernel_id": kernel["kernel_id"],
                "name": kernel["name"],
                "stages": [stage["stage"] for stage in kernel["stages"] or ()],
                **zeros,
                **by_kernel.get(kernel["kernel_id"], {}),
            }
            for kernel in sorted(trace.kernels, key=lambda row: row["kernel_id"])
        ],
        "calls": [
            {
                "call_id": call["call_id"],
                "kernel_id": call["kernel_id"],
                "grid": [call["grid_x"], call["grid_y"], call["grid_z"]],
                "tensors": [a["shape"] for a in call["args"] or () if a["kind"] == "tensor"],
            }
            for call in sorted(trace.calls, key=lambda row: row["call_id"])
        ],
    }


if __name__ == "__main__":
    try:
        print(json.dumps(answer(sys.argv[1])))
    except KvtraceError as error:
        sys.exit(f"rejected: {error}")
