"""Requests to the driver as CUPTI reports them to `_requests.c`, made by ctypes."""

import ctypes

from kvtrace.backends.cupti import _requests

LAUNCH, STREAM_SYNCHRONIZE, ALLOCATE = (1, 307), (2, 131), (1, 243)


class Asked(ctypes.Structure):
    """CUpti_CallbackData of cupti_callbacks.h."""

    _fields_ = [
        ("site", ctypes.c_uint32), ("function", ctypes.c_char_p), ("parameters", ctypes.c_void_p),
        ("result", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("context", ctypes.c_void_p),
        ("context_number", ctypes.c_uint32), ("own", ctypes.POINTER(ctypes.c_uint64)),
        ("correlation", ctypes.c_uint32),
    ]  # fmt: skip


class Allocation(ctypes.Structure):
    """cuMemAlloc_v2_params of generated_cuda_meta.h."""

    _fields_ = [("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def callback_of(native):
    """The function of the C module that CUPTI calls."""
    arguments = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(Asked)
    return ctypes.CFUNCTYPE(None, *arguments)(native.CALLBACK)


CALLBACK = callback_of(_requests)


def ask(function, correlation=0, parameters=None, result=0):
    """Enter and leave a function of the driver, as CUPTI reports it, without Python's lock."""
    own = ctypes.c_uint64()
    given = None if parameters is None else ctypes.addressof(parameters)
    returned = ctypes.c_int(result)
    asked = Asked(own=ctypes.pointer(own), correlation=correlation, parameters=given)
    asked.result = ctypes.addressof(returned)
    for site in (0, 1):
        asked.site = site
        CALLBACK(None, *function, ctypes.byref(asked))
