/* Wrapper of `CompiledKernel.__getitem__`, which returns a launcher of a compiled kernel over a grid.
 * Included only by _hot.c.
 *
 * Owns references to the recorder, the adapter and the kernel, in each object, under Python's lock. */
#ifndef KVTRACE_HOT_DIRECT_H
#define KVTRACE_HOT_DIRECT_H

#include "_hot_property.h"

typedef struct {
  OWNER_HEAD
  recorder *recorder;
  PyObject *function, *adapter;
} launch_getter;

typedef struct {
  OWNER_HEAD
  launch_getter *by;
  PyObject *launch, *kernel, *grid;
} direct_launch;

static PyTypeObject *getter_type, *direct_type;
static PyObject *name_src, *name_fn; /* interned */

/* The owner of a launch: the kernel's function, by which Triton launches, or else the kernel; only its
 * address counts. NULL with an exception. */
static void *owner_of(PyObject *kernel) {
  PyObject *source = PyObject_GetAttr(kernel, name_src);
  PyObject *function = source ? PyObject_GetAttr(source, name_fn) : NULL;
  void *owner = function && function != Py_None ? function : kernel;
  int failed = drop_exception();
  Py_XDECREF(function);
  Py_XDECREF(source);
  return failed ? NULL : owner;
}

static PyObject *direct_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  direct_launch *self = (direct_launch *)object;
  recorder *recorder = self->by->recorder;
  /* A launcher may outlive the window of the recording. */
  if (!recorder->active) {
    recorder->dropped += recorder->ending;
    return PyObject_Call(self->launch, args, kwargs);
  }
  hold_if_ending();
  renew_thread_facts();
  int64_t new_ns = recorder->new_ns, begin = begin_timing(recorder);
  void *owner = owner_of(self->kernel);
  if (!owner) return NULL;
  thread_facts.contents = 0;
  void *outer = thread_facts.launching;
  thread_facts.launching = owner;
  int64_t enter = now();
  PyObject *result = PyObject_Call(self->launch, args, kwargs);
  int64_t leave = now();
  thread_facts.launching = outer;
  if (!result) return NULL;
  if (record(recorder, self->by->adapter, self->kernel, self->kernel, self->grid, args, 0, NULL, NULL,
             enter, leave) &&
      report(recorder))
    Py_CLEAR(result);
  if (begin) end_timing(recorder, begin, new_ns);
  return result;
}

static PyObject *getter_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  launch_getter *self = (launch_getter *)object;
  PyObject *launch = PyObject_Call(self->function, args, kwargs);
  if (!launch || Py_SIZE(args) != 2) return launch;
  PyObject *references[] = {object, launch, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1)};
  PyObject *direct = owner_new(direct_type, sizeof(direct_launch), 4, references);
  return instead(self->recorder, direct, launch);
}

static PyObject *getter_get(PyObject *object, PyObject *kernel, PyObject *type) {
  launch_getter *self = (launch_getter *)object;
  if (!kernel || kernel == Py_None) {
    Py_INCREF(object);
    return object;
  }
  /* Bound methods of functions; their type binds the wrapper as well. */
  descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(self->function), Py_tp_descr_get);
  PyObject *bound = bind(self->function, kernel, type);
  if (!bound) return NULL;
  PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(bound), object, kernel, NULL);
  return instead(self->recorder, made, bound);
}

/* `Recorder.wrap_getitem(function, adapter)`. */
SELDOM static PyObject *recorder_wrap_getitem(PyObject *object, PyObject *args) {
  PyObject *function, *adapter;
  if (!PyArg_ParseTuple(args, "OO:wrap_getitem", &function, &adapter)) return NULL;
  if (!PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get)) {
    PyErr_SetString(PyExc_TypeError, "only a function that can be a method is wrapped");
    return NULL;
  }
  PyObject *references[] = {object, function, adapter};
  return owner_new(getter_type, sizeof(launch_getter), 3, references);
}

static PyMemberDef getter_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(launch_getter, function), READONLY,
     "the function that gives what launches"},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot getter_slots[] = {{Py_tp_dealloc, owner_free},
                                     {Py_tp_traverse, owner_traverse},
                                     {Py_tp_call, getter_call},
                                     {Py_tp_descr_get, getter_get},
                                     {Py_tp_members, getter_members},
                                     {0, NULL}};

static PyType_Slot direct_slots[] = {{Py_tp_dealloc, owner_free},
                                     {Py_tp_traverse, owner_traverse},
                                     {Py_tp_call, direct_call},
                                     {Py_tp_doc, "Launches a compiled kernel, which is recorded."},
                                     {0, NULL}};

#endif
