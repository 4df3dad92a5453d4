"""Hand-made traces of what happened to memory: times in ns from `EPOCH`, sizes in bytes."""

from kvtrace.schema.content import stack_row
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import EPOCH


def stack(line):
    return stack_row([("/home/user/model.py", line, None, "forward")])


def tensor(role, size, device=0, offset=0):
    return {
        "role": role, "dtype": "fp32", "device": device, "shape": [(size - offset) // 4],
        "strides": [1], "offset_bytes": offset, "storage_bytes": size,
    }  # fmt: skip


def given(size, offset=0, device="cuda:0"):
    """An argument of a kernel: a tensor in a storage of some bytes."""
    return {
        "name": "x_ptr", "kind": "tensor", "dtype": "fp32", "device": device,
        "shape": [(size - offset) // 4], "strides": [1], "offset_bytes": offset,
        "storage_bytes": size, "alias_group": 0,
    }  # fmt: skip


def write(folder, *, operators, calls, events, marks=()):
    """Write a run.

    operators: name, line of model.py and tensors of each; calls: the arguments of each, whose
    kernel is named scale; events: ("operator", time, number, addresses), ("launch", time, call,
    addresses), or ("allocation", begin, end, address, size, line), of torch's allocator where the
    line is None; marks: name, begin, end.
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
        "marks": [
            {"mark_id": n, "name": name, "begin": EPOCH + begin, "end": EPOCH + end, "thread": 1}
            for n, (name, begin, end) in enumerate(marks)
        ],
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


A, B, C, W, D = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000
#: Blocks of torch's allocator, with their ends.
BLOCKS = (
    ("allocation", 5, 68, A, 1024, None),
    ("allocation", 25, 65, B, 4096, None),
    ("allocation", 45, 55, C, 4096, None),
    ("allocation", 69, None, A, 1024, None),
)


def small_program(folder, *, frees):
    """Write a run of two steps on two devices, with the blocks of torch's allocator or without.

    On device 0, A (1,000 bytes) is made at 10 and last used at 52, W (2,000, made by nobody) is
    used from 20 to 52, B (4,000) is made at 30 and used until 50, when C (4,000) is made of it. A
    is made again at 70.
    """
    return write(
        folder,
        operators=[
            ("aten::empty.memory_format", 12, [tensor("created", 1000)]),
            ("aten::zeros", 20, [tensor("created", 4000)]),
            ("aten::mul.Tensor", 30, [tensor("read", 4000), tensor("created", 4000)]),
            ("aten::ones", 40, [tensor("created", 500, device=1)]),
            ("aten::ones", 41, [tensor("created", 80_000, device=None)]),
        ],
        calls=[[given(1000), given(2000)], [given(4000)]],
        events=[
            *(BLOCKS if frees else ()),
            ("operator", 10, 0, [A]),
            ("operator", 14, 3, [D]),
            ("operator", 16, 4, [0x60000]),
            ("launch", 20, 0, [A, W]),
            ("operator", 30, 1, [B]),
            ("launch", 40, 1, [B]),
            ("operator", 50, 2, [B, C]),
            ("launch", 52, 0, [A, W]),
            ("operator", 70, 0, [A]),
        ],
        marks=[("step", 0, 29), ("step", 30, 60), ("step", 61, 90), ("loss", 44, 56)],
    )
