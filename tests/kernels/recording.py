"""An observer that records its events."""

from kvtrace.evaluate import Access, Observer, OutOfBounds


class Recorder(Observer):
    def __init__(self):
        self.accesses: list[Access] = []
        self.defects: list[OutOfBounds] = []
        self.ops: dict[str, tuple[int, int, int]] = {}
        self.loops: list[list[int]] = []

    def op(self, op, executions, elements, flops):
        before = self.ops.get(op.name, (0, 0, 0))
        self.ops[op.name] = (before[0] + executions, before[1] + elements, before[2] + flops)

    def access(self, access):
        self.accesses.append(access)

    def out_of_bounds(self, defect):
        self.defects.append(defect)

    def loop(self, op, trips):
        self.loops.append(trips.tolist())

    def summary(self):
        """Return the accesses without their functions, which cannot be compared."""
        return [
            (
                access.op.index,
                access.kind,
                access.argument,
                access.element_bytes,
                access.executions,
                access.lanes,
                access.active,
                access.lowest,
                access.highest,
                access.certain,
            )
            for access in self.accesses
        ]

    def total(self, kind, field="active"):
        return sum(getattr(access, field) for access in self.accesses if access.kind == kind)
