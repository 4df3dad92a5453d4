/* Wrapper of `CompiledKernel.__getitem__`, which returns a launcher of a compiled kernel over a grid.
 * Included only by _hot.c. */
#ifndef KVTRACE_HOT_DIRECT_H
#define KVTRACE_HOT_DIRECT_H

#include "_hot_property.h"

typedef struct {
  PyObject_HEAD
  recorder *recorder;
  PyObject *function, *adapter;
} launch_getter;

typedef struct {
  PyObject_HEAD
  launch_getter *by;
  PyObject *launch, *kernel, *grid;
} direct_launch;

static PyTypeObject *getter_type, *direct_type;
static PyObject *name_src, *name_fn; /* interned */

/* The owner of a launch: the kernel's function, by which Triton launches, or else the kernel. */
static void *owner_of(PyObject *kernel) {
  PyObject *source = PyObject_GetAttr(kernel, name_src);
  PyObject *function = source ? PyObject_GetAttr(source, name_fn) : NULL;
  void *owner = function && function != Py_None ? function : kernel;
  PyErr_Clear();
  Py_XDECREF(function); /* the kernel keeps a reference */
  Py_XDECREF(source);
  return owner;
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
  thread_facts.contents = 0;
  void *outer = thread_facts.launching;
  thread_facts.launching = owner_of(self->kernel);
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
  direct_launch *direct = PyObject_GC_New(direct_launch, direct_type);
  if (!direct) {
    Py_DECREF(launch);
    return NULL;
  }
  direct->by = self;
  direct->launch = launch;
  direct->kernel = PyTuple_GetItem(args, 0);
  direct->grid = PyTuple_GetItem(args, 1);
  Py_INCREF(object);
  Py_INCREF(direct->kernel);
  Py_INCREF(direct->grid);
  PyObject_GC_Track(direct);
  return (PyObject *)direct;
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
  PyObject *made = bound ? PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(bound), object, kernel,
                                                        NULL)
                         : NULL;
  Py_XDECREF(bound);
  return made;
}

static PyObject *getter_wrapped(PyObject *self, void *unused) {
  (void)unused;
  PyObject *function = ((launch_getter *)self)->function;
  Py_INCREF(function);
  return function;
}

static int getter_traverse(PyObject *object, visitproc visit, void *arg) {
  launch_getter *self = (launch_getter *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->recorder);
  Py_VISIT(self->function);
  Py_VISIT(self->adapter);
  return 0;
}

static void getter_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  launch_getter *self = (launch_getter *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF((PyObject *)self->recorder);
  Py_XDECREF(self->function);
  Py_XDECREF(self->adapter);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static int direct_traverse(PyObject *object, visitproc visit, void *arg) {
  direct_launch *self = (direct_launch *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->by);
  Py_VISIT(self->launch);
  Py_VISIT(self->kernel);
  Py_VISIT(self->grid);
  return 0;
}

static void direct_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  direct_launch *self = (direct_launch *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF((PyObject *)self->by);
  Py_XDECREF(self->launch);
  Py_XDECREF(self->kernel);
  Py_XDECREF(self->grid);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

/* `Recorder.wrap_getitem(function, adapter)`. */
SELDOM static PyObject *recorder_wrap_getitem(PyObject *object, PyObject *args) {
  PyObject *function, *adapter;
  if (!PyArg_ParseTuple(args, "OO:wrap_getitem", &function, &adapter)) return NULL;
  if (!PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get)) {
    PyErr_SetString(PyExc_TypeError, "only a function that can be a method is wrapped");
    return NULL;
  }
  launch_getter *self = PyObject_GC_New(launch_getter, getter_type);
  if (!self) return NULL;
  Py_INCREF(object);
  Py_INCREF(function);
  Py_INCREF(adapter);
  self->recorder = (recorder *)object;
  self->function = function;
  self->adapter = adapter;
  PyObject_GC_Track(self);
  return (PyObject *)self;
}

static PyGetSetDef getter_attributes[] = {
    {"__wrapped__", getter_wrapped, NULL, "the function that gives what launches", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot getter_slots[] = {{Py_tp_dealloc, getter_free},
                                     {Py_tp_traverse, getter_traverse},
                                     {Py_tp_call, getter_call},
                                     {Py_tp_descr_get, getter_get},
                                     {Py_tp_getset, getter_attributes},
                                     {0, NULL}};

static PyType_Slot direct_slots[] = {{Py_tp_dealloc, direct_free},
                                     {Py_tp_traverse, direct_traverse},
                                     {Py_tp_call, direct_call},
                                     {Py_tp_doc, "Launches a compiled kernel, which is recorded."},
                                     {0, NULL}};

#endif
