"""Runs PTX kernels as text, thread by thread, on memory that refuses what was not given to it.

Enough of PTX's chapter 9 for kvtrace's own kernels: machines without a GPU can show what those do.
Blocks run one after the other, in an order that a test can choose.

`kvtrace.evaluate.ptx` cannot run them, and need not learn to: it computes snippets of inline
assembly for all lanes at once, in registers alone. These kernels load and store, branch thread by
thread, wait at barriers and meet in atomics.
"""

import ctypes
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

Registers = dict[str, int]
_ALL = (1 << 64) - 1


class Memory:
    """Spans of bytes at addresses, with what lies beside them out of bounds."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, bytearray]] = []

    def add(self, address: int, content: bytes) -> None:
        self._spans.append((address, bytearray(content)))

    def _at(self, address: int, size: int) -> tuple[bytearray, int]:
        for base, held in self._spans:
            if base <= address and address + size <= base + len(held):
                return held, address - base
        raise AssertionError(f"{size} bytes at {address:#x} are no memory")

    def read(self, address: int, size: int) -> int:
        assert address % size == 0, "misaligned"
        held, offset = self._at(address, size)
        return int.from_bytes(held[offset : offset + size], "little")

    def write(self, address: int, size: int, value: int) -> None:
        assert address % size == 0, "misaligned"
        held, offset = self._at(address, size)
        held[offset : offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def bytes(self, address: int, size: int) -> bytes:
        held, offset = self._at(address, size)
        return bytes(held[offset : offset + size])


class ProcessMemory(Memory):
    """The process's own memory at its addresses, of which nothing is checked."""

    def read(self, address: int, size: int) -> int:
        assert address % size == 0, "misaligned"
        return int.from_bytes(ctypes.string_at(address, size), "little")

    def write(self, address: int, size: int, value: int) -> None:
        assert address % size == 0, "misaligned"
        content = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        ctypes.memmove(address, content, size)


@lru_cache
def parsed(text: str, kernel: str) -> tuple[list[tuple[str, str, list[str]]], dict[str, int]]:
    """Return a kernel's statements (guard, instruction, operands) and where its labels stand."""
    body = re.search(rf"\.entry {kernel}\(.*?\)\s*\{{(.*?)\n\}}", text, re.DOTALL)
    assert body is not None
    statements, labels = [], {}
    for line in body[1].split("\n"):
        line = line.split("//")[0].strip().rstrip(";")
        if not line or line.startswith("."):
            continue
        if line.endswith(":"):
            labels[line[:-1]] = len(statements)
            continue
        guard, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
        name, _, operands = rest.strip().partition(" ")
        split = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+", operands)
        statements.append((guard[1:], name, split))
    return statements, labels


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_ARITHMETIC: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mad": lambda a, b, c: a * b + c,
    "rem": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "min": min,
    "max": max,
    "shl": lambda a, b: a << b if b < 64 else 0,
    "shr": lambda a, b: a >> b,
    "mov": lambda a: a,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


class _Thread:
    def __init__(self, machine: "Launch", thread: int, block: tuple[int, int], shared: Memory):
        self.machine, self.shared = machine, shared
        self.registers: Registers = {
            "%tid.x": thread, "%ctaid.x": block[0], "%ctaid.y": block[1],
            "%nctaid.x": machine.grid[0], "%nctaid.y": machine.grid[1],
        }  # fmt: skip

    def value(self, text: str) -> int:
        if text.startswith("{"):
            low, high = (self.value(each.strip()) for each in text[1:-1].split(","))
            return (low & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
        if text.startswith("%"):
            return self.registers[text]
        return 0 if text in ("check", "box") else int(text, 0) & _ALL

    def address(self, text: str) -> int:
        base, _, offset = text[1:-1].partition("+")
        return self.value(base) + int(offset or 0)

    def run(self) -> Iterator[tuple[int, str, int]]:
        statements, labels = self.machine.statements, self.machine.labels
        at = 0
        while True:
            guard, name, operands = statements[at]
            at += 1
            if guard and bool(self.registers[guard.lstrip("!")]) == guard.startswith("!"):
                continue
            op = name.split(".")[0]
            if op == "ret":
                return
            if op == "bra":
                at = labels[operands[0]]
            elif op == "bar" and "red" in name:
                self.registers[operands[0]] = yield at, name, self.value(operands[2])
            elif op == "bar":
                yield at, name, 0
            elif op == "shfl":
                found = yield at, name, self.value(operands[1])
                lane = self.registers["%tid.x"] ^ self.value(operands[2])
                self.registers[operands[0]] = found[lane]
            elif op != "fence":
                self.step(op, name, operands)

    def step(self, op: str, name: str, operands: list[str]) -> None:
        kind = name.split(".")[-1]
        bits = int(re.sub(r"\D", "", kind) or 1)
        if op == "setp":
            a, b = (self.value(each) for each in operands[1:3])
            a, b = (_signed(n, bits) if kind[0] == "s" else n & ((1 << bits) - 1) for n in (a, b))
            compared = _COMPARED[name.split(".")[1]](a, b)
            also = bool(self.value(operands[3])) if ".and." in name else True
            self.registers[operands[0]] = compared and also
        elif op == "selp":
            a, b, p = map(self.value, operands[1:])
            self.registers[operands[0]] = a if p else b
        elif op in ("ld", "st", "atom", "red"):
            self.memory(op, name, operands, bits)
        else:
            if ".wide" in name:
                bits = 64
            made = _ARITHMETIC[op](*map(self.value, operands[1:])) & ((1 << bits) - 1)
            if operands[0].startswith("{"):
                low, high = (each.strip() for each in operands[0][1:-1].split(","))
                self.registers |= {low: made & 0xFFFFFFFF, high: made >> 32}
            else:
                self.registers[operands[0]] = made

    def memory(self, op: str, name: str, operands: list[str], bits: int) -> None:
        size = bits // 8
        memory = self.shared if ".shared" in name else self.machine.memory
        if op == "ld":
            address = self.address(operands[1])
            if ".param" in name:
                held = self.machine.parameter[address : address + size]
                self.registers[operands[0]] = int.from_bytes(held, "little")
            elif ".v2" in name:
                assert address % 16 == 0, "misaligned"
                for place, register in enumerate(operands[0][1:-1].split(",")):
                    self.registers[register.strip()] = memory.read(address + 8 * place, 8)
            else:
                self.registers[operands[0]] = memory.read(address, size)
        elif op == "st":
            address = self.address(operands[0])
            if ".v2" in name:
                assert address % 16 == 0, "misaligned"
                for place, register in enumerate(operands[1][1:-1].split(",")):
                    memory.write(address + 8 * place, 8, self.value(register.strip()))
            else:
                memory.write(address, size, self.value(operands[1]))
        else:
            self.atomic(memory, name, operands if op == "atom" else ["", *operands], size)

    def atomic(self, memory: Memory, name: str, operands: list[str], size: int) -> None:
        register, place, *given = operands
        address, values = self.address(place), [self.value(each) for each in given]
        before = memory.read(address, size)
        after = {
            "add": lambda: before + values[0],
            "or": lambda: before | values[0],
            "exch": lambda: values[0],
            "inc": lambda: 0 if before >= values[0] else before + 1,
            "cas": lambda: values[1] if before == values[0] else before,
        }[next(part for part in name.split(".") if part in ("add", "or", "exch", "inc", "cas"))]()
        memory.write(address, size, after)
        if register:
            self.registers[register] = before


class Launch:
    """One launch of a kernel of a text."""

    def __init__(
        self, text: str, kernel: str, memory: Memory, grid: tuple[int, int], threads: int,
        parameter: bytes,
    ) -> None:  # fmt: skip
        self.statements, self.labels = parsed(text, kernel)
        self.memory, self.grid, self.threads, self.parameter = memory, grid, threads, parameter

    def run(self, order: Callable[[list[tuple[int, int]]], object] = lambda blocks: None) -> None:
        blocks = [(x, y) for y in range(self.grid[1]) for x in range(self.grid[0])]
        order(blocks)
        for block in blocks:
            self._block(block)

    def _block(self, block: tuple[int, int]) -> None:
        shared = Memory()
        shared.add(0, struct.pack("<Q", 0xDEADBEEF_DEADBEEF))
        threads = [_Thread(self, n, block, shared).run() for n in range(self.threads)]
        given: Sequence[object] = [None] * self.threads
        while True:
            events = [_next(thread, value) for thread, value in zip(threads, given, strict=True)]
            if all(event is None for event in events):
                return
            assert None not in events, "a barrier without some threads"
            assert len({event[:2] for event in events}) == 1, "threads wait at different places"
            name, values = events[0][1], [event[2] for event in events]
            if name.startswith("bar.red"):
                given = [any(values)] * self.threads
            elif name.startswith("shfl"):
                given = [values] * self.threads
            else:
                given = [None] * self.threads


def _next(thread, value):
    try:
        return thread.send(value)
    except StopIteration:
        return None
