"""Hand-made traces of what happened to memory: times in ns from `EPOCH`, sizes in bytes."""

from kvtrace.schema.content import stack_row
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import EPOCH


def stack(line):
    return stack_row([("/home/user/model.py", line, None, "forward")])


def tensor(role, size):
    return {
        "role": role, "dtype": "fp32", "device": 0, "shape": [size // 4], "strides": [1],
        "offset_bytes": 0, "storage_bytes": size,
    }  # fmt: skip


def given(size):
    """An argument of a kernel: a tensor in a storage of some bytes."""
    return {
        "name": "x_ptr", "kind": "tensor", "dtype": "fp32", "device": "cuda:0",
        "shape": [size // 4], "strides": [1], "offset_bytes": 0, "storage_bytes": size,
        "alias_group": 0,
    }  # fmt: skip


def write(folder, *, operators, calls, events):
    """Write a run.

    operators: name, line of model.py and tensors of each; calls: the arguments of each, whose
    kernel is named scale; events: ("operator", time, number, addresses), ("launch", time, call,
    addresses), or ("allocation", begin, end, address, size, line), of torch's allocator where the
    line is None.
    """
    lines = {line for _, line, _ in operators}
    lines |= {event[5] for event in events if event[0] == "allocation" and event[5] is not None}
    rows = {
        "stacks": [stack(line) for line in sorted(lines)],
        "kernels": [{"kernel_id": 0, "name": "scale", "origin": "jit", "target": "cuda:90"}],
        "calls": [
            {"call_id": n, "kernel_id": 0, "grid_x": 1, "grid_y": 1, "grid_z": 1, "args": arguments}
            for n, arguments in enumerate(calls)
        ],
        "operators": [
            {
                "operator_id": n,
                "name": name,
                "tensors": tensors,
                "stack_id": stack(line)["stack_id"],
            }
            for n, (name, line, tensors) in enumerate(operators)
        ],
        "launches": [],
        "operations": [],
        "allocations": [],
    }
    for event in events:
        match event:
            case ("operator", time, number, addresses):
                rows["operations"].append(
                    {"record": len(rows["operations"]), "operator_id": number, "thread": 1,
                     "begin": EPOCH + time - 6, "end": EPOCH + time, "addresses": addresses}
                )  # fmt: skip
            case ("launch", time, call, addresses):
                rows["launches"].append(
                    {"seq": len(rows["launches"]), "call_id": call, "enter": EPOCH + time,
                     "exit": EPOCH + time + 1, "thread": 1, "phase": "run", "addresses": addresses}
                )  # fmt: skip
            case ("allocation", begin, end, address, size, line):
                rows["allocations"].append(
                    {"record": len(rows["allocations"]), "address": address, "bytes": size,
                     "begin": EPOCH + begin, "end": None if end is None else EPOCH + end,
                     "device": 0, "thread": 1,
                     "stack_id": None if line is None else stack(line)["stack_id"]}
                )  # fmt: skip
    writer = RunWriter(folder, "20260102T030405-0001")
    for table, listed in rows.items():
        if listed:
            writer.append_rows(table, listed)
    writer.seal({"run_id": writer.run_id, "started": EPOCH, "ended": EPOCH + 1000})
    return open_trace(folder)


A, B = 0x10000, 0x20000
