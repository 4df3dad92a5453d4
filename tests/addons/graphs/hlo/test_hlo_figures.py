import numpy as np

from kvtrace.addons.graphs.hlo import trace

X = np.zeros((8, 16), np.float32)
W = np.zeros((16, 32), np.float32)


def figures(function, *arrays):
    graph = trace(function).specialize(*arrays)
    return graph, graph.figures()


def test_bytes_and_flops_equal_those_counted_by_hand():
    graph, counted = figures(lambda x, w: np.maximum(x @ w, 0.0).sum(axis=0), X, W)
    by_opcode = {op.opcode: counted.ops[index] for index, op in enumerate(graph.ops)}

    assert by_opcode["dot_general"].flops == 2 * 8 * 16 * 32
    assert by_opcode["dot_general"].read_bytes == X.nbytes + W.nbytes
    assert by_opcode["dot_general"].written_bytes == 8 * 32 * 4
    assert by_opcode["maximum"].flops == 8 * 32
    assert by_opcode["reduce"].flops == 8 * 32
    assert counted.flops == 2 * 8 * 16 * 32 + 2 * 8 * 32
    assert counted.boundary_bytes == X.nbytes + W.nbytes + 32 * 4
    assert counted.bytes > counted.boundary_bytes


def test_ops_that_move_or_rename_have_no_flops():
    _, counted = figures(lambda x: np.concatenate([x.T, x.reshape(16, 8)])[::2], X)
    _, renamed = figures(lambda x: x.reshape(-1).reshape(4, 32), X)

    assert counted.flops == 0
    assert (renamed.bytes, renamed.flops) == (0, 0)


def test_live_memory_counts_values_from_their_op_to_their_last_use():
    def chain(x):
        for _ in range(5):
            x = x + x  # each value is used by the next alone
        return x

    def fan(x):
        parts = [x * float(number) for number in range(2, 7)]
        return parts[0] + parts[1] + parts[2] + parts[3] + parts[4]

    _, chained = figures(chain, X)
    graph, fanned = figures(fan, X)

    assert chained.peak_live_bytes == 3 * X.nbytes  # the input, a value and the next
    assert fanned.peak_live_bytes > 6 * X.nbytes
    assert graph.ops[fanned.peak_op].opcode in ("multiply", "add")


def test_a_result_written_into_an_input_needs_no_further_memory():
    def in_place(x):
        x += 1.0

    _, written = figures(in_place, X)
    _, apart = figures(lambda x: x + 1.0, X)

    assert written.peak_live_bytes == apart.peak_live_bytes - X.nbytes


def test_a_constant_of_one_value_counts_one_element_of_memory():
    _, added = figures(lambda x: x + 1.0, X)
    _, counted = figures(lambda x: (x + 1.0, np.ones_like(x)), X)

    assert added.peak_live_bytes == 2 * X.nbytes + 4
    assert counted.peak_live_bytes >= 3 * X.nbytes
