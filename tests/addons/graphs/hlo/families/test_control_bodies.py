import numpy as np

from kvtrace.addons.graphs.hlo.families.control import if_, while_
from kvtrace.addons.graphs.hlo.primitives import lift
from tests.addons.graphs.hlo.agreement import agree

X = np.array([1.0, 2.0, 3.0], np.float32)


def test_a_loop_carries_values_and_reads_tensors_from_outside():
    def program(x, limit):
        scale = x * 2
        bound = limit + 0.0

        def condition(total, count):
            return [(total.sum() < bound)]

        def body(total, count):
            return [total + scale, count + 1]

        total, count = while_([x, lift(0)], condition, body)
        return total, count, total + scale

    def by_hand(x, limit):
        total, count = x, 0
        while total.sum() < limit:
            total, count = total + x * 2, count + 1
        return total, count, total + x * 2

    agree(program, X, np.float32(100.0), numpy=by_hand)
    agree(program, X, np.float32(0.0), numpy=by_hand)


def test_loops_and_branches_can_be_nested():
    def program(x):
        def body(value, count):
            def doubled():
                inner = while_([value], lambda v: [v.sum() < 50], lambda v: [v * 2 + x])
                return [inner[0], count + 3]

            return if_(count > 1, doubled, lambda: [value + count.astype(np.float32), count + 1])

        return while_([x, lift(0)], lambda value, count: [count < 9], body)

    def by_hand(x):
        value, count = x, 0
        while count < 9:
            if count > 1:
                while value.sum() < 50:
                    value = value * 2 + x
                count += 3
            else:
                value, count = value + count, count + 1
        return value, count

    agree(program, X, numpy=by_hand)
