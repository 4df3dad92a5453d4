"""Runs of any kernels and launches, as a strategy draws them."""

from hypothesis import strategies as st

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000
#: A process id that no process can have.
DEAD = (1 << 22) + 1
MAYBE_TIME = st.one_of(st.none(), st.integers(0, 60))
KERNELS = st.lists(
    st.tuples(st.sampled_from("abc"), MAYBE_TIME, MAYBE_TIME), min_size=1, max_size=4
)
#: call, enter, duration, thread, phase, and duration on the device.
LAUNCHES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 60),
        st.one_of(st.none(), st.integers(0, 30)),
        st.one_of(st.none(), st.integers(1, 2)),
        st.sampled_from([None, "run", "autotune", "warmup", "graph_capture"]),
        st.one_of(st.none(), st.integers(0, 9)),
        st.booleans(),
    ),
    max_size=30,
)
#: Executions of no launch, as of libraries and replayed graphs: call, start, duration and name.
OTHERS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 5)),
        st.integers(0, 130),
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from(["gemm", "Memcpy"]),
    ),
    max_size=10,
)


def written(folder, runs, others=(), sampled=(), killed=()):
    """Write runs of kernels and launches, and return the trace.

    `others` has the `OTHERS` of each run. Runs whose numbers are in `sampled` have rows that stand
    for one to three launches; those in `killed` are not sealed by their program, but recovered.
    """
    for number, (kernels, launches) in enumerate(runs):
        writer = RunWriter(folder, f"r{number}")
        writer.append_rows(
            "kernels",
            [
                {
                    "kernel_id": index,
                    "name": name,
                    "module": "m",
                    "compile_begin": None if compiled is None else EPOCH + compiled,
                    "load_begin": None if loaded is None else EPOCH + loaded,
                }
                for index, (name, compiled, loaded) in enumerate(kernels)
            ],
        )
        calls = [{"call_id": c, "kernel_id": c % len(kernels)} for c in range(6)]
        writer.append_rows("calls", calls)
        rows, executions = [], []
        weights = [1 + row % 3 for row in range(99)] if number in sampled else [None] * 99
        for seq, (call, enter, took, thread, phase, ran, told) in enumerate(launches):
            left = None if took is None else EPOCH + enter + took
            rows.append(
                {"seq": seq, "call_id": call, "enter": EPOCH + enter, "exit": left}
                | {"thread": thread, "phase": phase, "weight": weights[seq]}
            )
            if ran is not None:
                executions.append(
                    {"record": seq, "launch_seq": seq, "call_id": call if told else None}
                    | {"start": EPOCH + 100 + seq, "end": EPOCH + 100 + seq + ran}
                    | {"weight": weights[seq]}
                )
        for record, (call, start, ran, name) in enumerate(others[number] if others else (), 50):
            executions.append(
                {"record": record, "call_id": call, "name": name, "weight": weights[record]}
                | {"kind": "copy" if name == "Memcpy" else None, "bytes": 8 * record}
                | {"graph_id": None if call is None else 1, "start": EPOCH + start}
                | {"end": None if ran is None else EPOCH + start + ran}
            )
        writer.append_rows("launches", rows)
        writer.append_rows("gpu_kernels", executions)
        if number in killed:
            writer.append_rows("runs", [{"run_id": f"r{number}", "pid": DEAD}])
            writer.flush()
            writer.close()
        else:
            writer.seal({"ending": "exit"})
    if killed:
        recover(folder)
    return open_trace(folder)
