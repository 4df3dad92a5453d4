"""Which launches an execution may come from, by what is known of both."""

from kvtrace.addons.join.sides import FOREIGN, Look, number_looks

GRID = (4, 1, 1)


def test_block_and_shared_memory_distinguish_variants() -> None:
    calls = {0: Look("f", GRID, 64, 0), 1: Look("f", GRID, 128, 0), 2: Look("f", GRID, 128, 512)}
    ran = [Look("f", GRID, 128, 512), Look("f", GRID, 64, 0), Look("f", GRID, 128, 0)]
    found = number_looks(calls, ran)
    assert found.executions == [found.calls[2], found.calls[0], found.calls[1]]
    assert len(set(found.calls.values())) == 3
    assert not found.uncertain


def test_kernel_with_another_name_or_grid_is_foreign() -> None:
    found = number_looks(
        {0: Look("f", GRID)}, [Look("g", GRID), Look("f", (5, 1, 1)), Look("f", GRID)]
    )
    assert found.executions == [FOREIGN, FOREIGN, 0]


def test_kernel_compiled_again_is_matched_by_name_and_grid() -> None:
    calls = {0: Look("f", GRID, 128, 512), 1: Look("g", GRID, 128, 512)}
    found = number_looks(calls, [Look("f", GRID, 128, 1024), Look("g", GRID, 128, 512)])
    assert found.executions == [found.calls[0], found.calls[1]]
    assert found.uncertain == {found.calls[0]}


def test_properties_unknown_on_one_side_are_not_compared() -> None:
    calls = {0: Look("f", GRID, None, 512), 1: Look("f", GRID, 128, 1024)}
    found = number_looks(calls, [Look("f", GRID, 128, 512), Look("f", GRID, 128, 1024)])
    assert found.executions == [found.calls[0], found.calls[1]]


def test_rocprof_names_a_kernel_by_its_descriptor() -> None:
    assert number_looks({0: Look("f", GRID)}, [Look("f.kd", GRID)]).executions == [0]


def test_times_without_grids_are_matched_by_name_as_uncertain() -> None:
    calls = {0: Look("f", GRID), 1: Look("f", (8, 1, 1)), 2: Look("g", GRID)}
    found = number_looks(calls, [Look("f", None), Look("g", GRID)])
    assert found.calls[0] == found.calls[1] == found.executions[0]
    assert found.executions[1] == found.calls[2]
    assert found.uncertain == {found.executions[0]}
