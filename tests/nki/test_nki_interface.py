"""Names and forms of the public interfaces that programs use around and inside of kernels."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.nki.newer.isa as nisa2
import kvtrace.nki.newer.language as nl2
import kvtrace.nki.older.language as nl
from kvtrace.nki import newer
from tests.nki.conftest import Run

ROWS = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


# -- outside of kernels -----------------------------------------------------------------------


def test_an_array_is_cast_outside_of_kernels() -> None:
    values = np.array([[0.1, 2.5, -3.5], [200, 7, -1]])

    assert nl.static_cast(values, nl.bfloat16).dtype == ml_dtypes.bfloat16
    assert np.array_equal(nl.static_cast(values, np.float32), values.astype(np.float32))
    assert np.array_equal(nl.static_cast(values, nl.float16), values.astype(np.float16))
    assert nl.static_cast(values, nl.int8).tolist() == [[0, 2, -4], [127, 7, -1]]


def test_a_tile_is_cast_in_a_kernel(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(out, value=nl.static_cast(nl.load(x), nl.int32))
        return out

    assert np.array_equal(run_older(kernel, ROWS).result, ROWS.astype(np.int32))


# -- classes that kernels pass around ---------------------------------------------------------


class Sizes(nl2.NKIObject):
    rows: int
    columns: int = 64
    count = 3


class Named(Sizes):
    name: str = "x"

    def __post_init__(self) -> None:
        self.total = self.rows * self.columns


@dataclass
class Plain(nl2.NKIObject):
    rows: int
    columns: int = 64


def test_fields_are_given_by_place_and_by_name() -> None:
    sizes = Named(2, name="y")

    assert (sizes.rows, sizes.columns, sizes.name, sizes.total) == (2, 64, "y", 128)
    assert Sizes(rows=1, columns=2).columns == 2
    assert vars(Plain(1, columns=3)) == {"rows": 1, "columns": 3}
    assert nl2.NKIObject(free=1).free == 1  # type: ignore[attr-defined]


def test_fields_are_given_once_and_all_of_them() -> None:
    with pytest.raises(TypeError, match="rows twice"):
        Sizes(1, rows=2)
    with pytest.raises(TypeError, match="2 fields, not 3"):
        Sizes(1, 2, 3)
    with pytest.raises(TypeError, match="not given rows"):
        Sizes()


# -- names ------------------------------------------------------------------------------------


def test_modes_and_types_are_found_where_programs_look_for_them() -> None:
    assert newer.isa.constants.oob_mode is nisa2.oob_mode
    assert newer.isa.constants.dge_mode.hwdge is nisa2.dge_mode.hwdge
    assert nisa2.dma_engine.gpsimd_dma is not nisa2.dma_engine.dma
    assert newer.dtype.float8_e4m3fn_x4 is nl2.float8_e4m3fn_x4
    with pytest.raises(AttributeError, match=r"nki\.dtype\.complex64 is not there"):
        newer.dtype.complex64  # noqa: B018


# -- views ------------------------------------------------------------------------------------


def test_a_shape_may_be_named(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        assert x.reshape(shape=(64, 128)).shape == x.reshape((64, 128)).shape == (64, 128)
        out = nl2.ndarray((128, 8, 8), x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(out, x.reshape(shape=(128, 8, 8)))
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, ROWS.reshape(128, 8, 8))
