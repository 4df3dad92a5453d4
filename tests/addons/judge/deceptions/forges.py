"""Candidates that return zeros, and make the process that calls them tell something else."""

import gc
import json
import os
import struct
import sys
from types import FunctionType

import numpy as np
import torch
from kernels import relu_of


def _object(name):
    return next(each for each in gc.get_objects() if type(each).__name__ == name)


def _called_by(name):
    """Return an object of the frames that called, by the name of its type."""
    frame = sys._getframe(1)
    while frame is not None:
        own = frame.f_locals.get("self")
        if type(own).__name__ == name:
            return own
        frame = frame.f_back
    return None


def what_the_log_tells(x):
    """relu: replaces the method of the log's object that tells of a result."""
    out, log = relu_of(x), _object("_Log")
    told = log._view_entry(out)
    log._result_entry = lambda value: told
    return torch.zeros_like(out)


def what_the_log_tells_from_a_frame(x):
    """relu: the same, without asking the collector of garbage."""
    out, log = relu_of(x), _called_by("_Log")
    told = log._view_entry(out)
    log._result_entry = lambda value: told
    return torch.zeros_like(out)


def what_the_log_numbers(x):
    """relu: gives the zeros the number of the result's storage."""
    out, log = relu_of(x), _called_by("_Log")
    zeros = torch.zeros_like(out)
    place = zeros.untyped_storage()
    key, old = (place.data_ptr(), place.nbytes()), out.untyped_storage()
    log._ids[key] = log._ids[old.data_ptr(), old.nbytes()]
    log._known[key] = np.zeros(place.nbytes(), np.uint8)
    return zeros


def what_a_class_does(x):
    """relu: replaces a method of the class for one result."""
    out, log = relu_of(x), _called_by("_Log")
    kind, told = type(log), log._view_entry(out)
    before = kind._result_entry

    def result(self, value):
        kind._result_entry = before
        return told

    kind._result_entry = result
    return torch.zeros_like(out)


def what_bytes_are(x):
    """relu: replaces what copies the bytes of tensors, for one result."""
    from kvtrace.addons.judge import tensors

    out, before = relu_of(x), tensors.bytes_of
    right = before(out)
    tensors.bytes_of = lambda tensor: right
    return torch.zeros_like(out)


def what_torch_copies(x):
    """relu: gives torch a function that copies something else."""
    out = relu_of(x)
    zeros = torch.zeros_like(out)

    def contiguous(tensor, *args, **kwargs):
        return out if tensor is zeros else torch._C.TensorBase.contiguous(tensor, *args, **kwargs)

    torch.Tensor.contiguous = contiguous
    torch.Tensor.detach = lambda tensor: contiguous(tensor)
    return zeros


def the_whole_log(x):
    """relu: writes the end of the log, and ends as if it had come to its end."""
    out = relu_of(x)
    log = _called_by("_Log")
    text = json.dumps({"case": 0, "returned": [log._view_entry(out)]})
    os.write(3, f"{text}\n".encode())
    os._exit(113)


def an_answer_of_its_own(x):
    """relu: answers before it returns."""
    out = relu_of(x)
    head = json.dumps({"results": [{"dtype": "float32", "shape": list(out.shape)}]}).encode()
    content = out.cpu().numpy().tobytes()
    os.write(5, struct.pack("<IQ", len(head), len(content)) + head + content)
    return torch.zeros_like(out)


def the_code_that_reads(x):
    """relu: has what reads results read another tensor."""
    out = relu_of(x)
    told = _called_by("_Log")._view_entry(out)
    _called_by("_Log")._result_entry = lambda value: told
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__qualname__ == "_result_reader.<locals>.read":
            names = each.__code__.co_freevars
            detach = each.__closure__[names.index("detach")]
            detach.cell_contents = lambda tensor: out
    return torch.zeros_like(out)
