/* Everything that kvtrace's C assumes of objects whose layout other projects decide.
 *
 * Owns nothing. Each part says where the layout comes from, with which versions it was checked by hand,
 * and what checks it in each process before anything is read by it. Where a check fails, the fast path
 * that needs it is given up: the program and the recording of its launches go on. The tests of `tests/capture`,
 * `tests/backends/cupti` and `tests/addons/memory/recording` run the checks with each Python of CI, and
 * each torch of `requirements/bounds.py`.
 */
#ifndef KVTRACE_LAYOUTS_H
#define KVTRACE_LAYOUTS_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- CPython's objects ------------------------------------------------------------------------
 *
 * Of the stable ABI, for which all of this is built: an object begins with its count of references and
 * its type, and one with a size (tuple, list) goes on with that, which Py_SIZE reads. A Python without the
 * interpreter's lock lays objects out in another way, and looks for no file with this ABI's name.
 *
 * Source: Include/object.h. Checked: CPython 3.11.7, 3.12.1, 3.13.0.
 * Check: `checked_at_import`; else Python's recorder, without the device's timeline and operators.
 */
#ifdef Py_GIL_DISABLED
#error "kvtrace's C relies on the interpreter's lock; setup.py builds none for such a Python"
#endif
enum { OBJECT_BYTES = sizeof(PyObject), SIZE_OFFSET = offsetof(PyVarObject, ob_size) };

static int objects_are_known(void) {
  PyObject *bytes = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__basicsize__");
  PyObject *tuple = PyTuple_New(3), *list = PyList_New(5);
  int known = 0;
  if (bytes && tuple && list && PyLong_AsLong(bytes) == OBJECT_BYTES) {
    Py_ssize_t sizes[2];
    memcpy(&sizes[0], (char *)tuple + SIZE_OFFSET, sizeof sizes[0]);
    memcpy(&sizes[1], (char *)list + SIZE_OFFSET, sizeof sizes[1]);
    known = sizes[0] == 3 && sizes[1] == 5 && Py_SIZE(tuple) == 3 && Py_TYPE(list) == &PyList_Type;
  }
  Py_XDECREF(bytes);
  Py_XDECREF(tuple);
  Py_XDECREF(list);
  return known;
}

/* Refuses the import with an exception, -1, where objects are laid out in another way, and outside of the
 * main interpreter: what C files have is of the process. */
static int checked_at_import(void) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get())) {
    PyErr_SetString(PyExc_ImportError, "this module is for the main interpreter only");
    return -1;
  }
  if (objects_are_known()) return 0;
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_ImportError, "this Python lays its objects out in another way");
  return -1;
}

/* ---- CPython's frames, code objects, texts and bytes -------------------------------------------
 *
 * Offsets in bytes, which frames.py searches for. `indirect` is -1, or where the frame's address lies in
 * what the thread's state points to. The last three bits of a frame's code may be a tag, a tuple of bytes
 * has its size in the third word as a text has its length.
 *
 * Source: pycore_frame.h, pystate.h, code.h, unicodeobject.h, bytesobject.h. Checked: CPython 3.11.7,
 * 3.12.1, 3.13.0.
 * Check: frames.py compares frames that are read so with Python's own; else launches of libraries and
 * operators have no stack.
 */
struct frame_layout {
  Py_ssize_t frame, indirect, code, previous, instruction, correction;
  Py_ssize_t file, function, table, first_line, instructions;
  Py_ssize_t text, length, state, ascii, bytes;
};
enum { TYPE_OFFSET = sizeof(Py_ssize_t), TAGS = 7 };

/* ---- CPython's garbage collector ---------------------------------------------------------------
 *
 * Its counts lie beside the addresses of gc.garbage and gc.callbacks, in the first words of the
 * interpreter's state. Offsets are in words before and behind the address of gc.garbage: between the
 * generations and the garbage lie a pointer (up to 3.13), the frozen generation, three generations'
 * statistics (from 3.15 on a pointer to them), a flag and (from 3.15 on) a frame.
 *
 * Source: _gc_runtime_state in pycore_gc.h, from 3.14 on pycore_interp_structs.h. Checked: CPython 3.11.7,
 * 3.12.1, 3.13.0, 3.14.8, 3.14.10 (3.14.0 to 3.14.4 have another collector, see collector.py), 3.15.0.
 * Check: `find_collector` compares thresholds, and makes 1,000 lists old; else the recording's objects
 * count as the program's.
 */
struct generation {
  void *head[2];
  int threshold, count;
};
enum { GENERATIONS = 3, STATE_WORDS = 2048 };
static const struct collector_layout {
  int generations_before, frozen_before, total_behind;
} collector_layouts[] = {{23, 13, 2}, {22, 13, 5}, {15, 6, 3}};

/* ---- DLPack's tensors --------------------------------------------------------------------------
 *
 * Tensors are read through the table of functions that their type has as `__dlpack_c_exchange_api__`.
 *
 * Source: dlpack.h 1.3. Checked: torch 2.13.0.
 * Check: `use_exchange` asks for version 1; hot_choice.py compares a tensor that is read so with torch's
 * own attributes; else Python's recorder.
 */
enum { DL_CPU = 1, DL_CUDA = 2, DL_ROCM = 10 };

typedef struct {
  int32_t type, index;
} dl_device;

typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} dl_dtype;

typedef struct {
  void *data;
  dl_device device;
  int32_t dimensions;
  dl_dtype dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_exchange {
  struct {
    uint32_t major, minor;
  } version;
  struct dl_exchange *older;
  void *allocate, *export_managed, *import_managed;
  int (*view)(void *object, dl_tensor *out);
  int (*current_stream)(int32_t device_type, int32_t device, void **out);
} dl_exchange;

/* ---- torch's tensors, storages, boxed values and calls of operators ----------------------------
 *
 * Offsets in bytes, which the add-on `memory` searches for (layouts.py). Beside them: boxed values (IValue) are
 * a payload and a tag; a TensorImpl has room for INLINE_DIMENSIONS sizes, and strides behind them.
 *
 * Source: ATen/record_function.h, ATen/core/ivalue.h, c10/core/TensorImpl.h, c10/core/StorageImpl.h,
 * c10/core/impl/SizesAndStrides.h; libstdc++'s std::string. Checked: torch 2.13.0, whose TensorImpl has
 * 176 bytes.
 * Check: layouts.py finds each field at one place, by values that Python knows, and compares the members of
 * torch's callback, which it makes, with torch's header; else no operator is recorded.
 */
struct torch_layout {
  Py_ssize_t inputs, outputs; /* of a RecordFunction: an array's begin and length; a vector's begin and end */
  Py_ssize_t schema, is_schema; /* pointer to the FunctionSchema; whether there is one, a byte */
  Py_ssize_t items; /* of a list: its vector's begin and end */
  Py_ssize_t storage, dimensions, numel, offset, dtype; /* of a TensorImpl */
  Py_ssize_t data, bytes, device; /* of a StorageImpl; of the device its kind and index, a byte each */
  Py_ssize_t tensor; /* of a Python object: its TensorImpl */
  unsigned int tensor_tag, list_tag; /* of a boxed value */
};
enum { INLINE_DIMENSIONS = 5, MOST_DIMENSIONS = 64 };
enum { VALUE_BYTES = 16, TAG_OFFSET = sizeof(void *), CXX_STRING = 32 };

/* ---- torch's hook of allocators, and autograd's nodes ------------------------------------------
 *
 * An object of C++ begins with the address of its table of virtual functions. A pointer that owns a node is
 * a shared one, whose block has the count of owners in its third 32-bit word, or an intrusive one, with the
 * count in the node's second word.
 *
 * Source: the Itanium C++ ABI; c10/core/impl/PyInterpreter.h; torch/csrc/autograd/function.h,
 * c10/util/intrusive_ptr.h. Checked: torch 2.11 (shared), 2.13.0 (intrusive).
 * Check: following.py counts the functions of the table in torch's header, else frees are not recorded;
 * node_stacks.py compares nodes that it makes, else backwards have no stack of their forward.
 */
enum { MOST_FUNCTIONS = 128, SHARED_OWNERS = 2, INTRUSIVE_OWNERS = 1 };

/* ---- CUPTI's callbacks and records -------------------------------------------------------------
 *
 * Source: cupti_callbacks.h, cupti_activity.h of CUDA 12 and 13.
 * Check: library.py knows the lengths of records by CUPTI's version, else there is no device timeline.
 */
struct cupti_callback_data {
  uint32_t site; /* 0: the function is entered, 1: it has returned */
  const char *function;
  const void *parameters;
  void *result;
  const char *symbol;
  void *context;
  uint32_t context_number;
  uint64_t *own; /* 64 bits for the callback's use, from entry to return */
  uint32_t correlation;
};

/* The first field of records (CUpti_ActivityKind), and the bytes that are read of copies and fills of
 * memory, whose first fields have the same layout. */
enum { COPY = 1, FILL = 2, KERNEL = 10, COMMON = 80 };

#endif
