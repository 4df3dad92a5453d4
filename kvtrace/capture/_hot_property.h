/* The property `CompiledKernel.run`, read by Triton during a launch; see backends/triton/launchers.py.
 * Included only by _hot.c.
 *
 * Owns references to Triton's property and the recorder, in each object, under Python's lock. */
#ifndef KVTRACE_HOT_PROPERTY_H
#define KVTRACE_HOT_PROPERTY_H

#include "_hot_launch.h"

/* Number of a launcher's arguments before the kernel's arguments, and index of the stream. */
enum { BEFORE_VALUES = 9, STREAM_PLACE = 3 };

typedef struct {
  OWNER_HEAD
  recorder *recorder;
  PyObject *plain; /* Triton's own property */
  PyObject *first; /* called with a new kernel: returns its look, or None */
  descrgetfunc bind;
} launcher_property;

static PyTypeObject *property_type;
static PyObject *name_watch; /* interned */

/* A launcher that inspects the launch first. */
static PyObject *look_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  look *self = (look *)object;
  if (!self->launcher) {
    PyErr_SetString(PyExc_TypeError, "there is no launcher to call");
    return NULL;
  }
  int64_t number = 0;
  if (Py_SIZE(args) == BEFORE_VALUES + self->count && self->recorder->active)
    number = looked(self, args, BEFORE_VALUES, PyTuple_GetItem(args, STREAM_PLACE));
  if (number < 0) return NULL;
  PyObject *result = PyObject_Call(self->launcher, args, kwargs);
  thread_facts.contents = number;
  return result;
}

/* The look of the kernel's launches, or None if there is none: a new reference; NULL with an exception. */
SELDOM static PyObject *look_by_attribute(launcher_property *self, PyObject *kernel) {
  PyObject *found = PyObject_GetAttr(kernel, name_watch);
  if (!found) {
    if (drop_exception()) return NULL;
    found = PyObject_CallFunctionObjArgs(self->first, kernel, NULL);
    PyObject *decided = found ? PyObject_GetAttr(kernel, name_watch) : NULL;
    Py_XDECREF(decided);
    if (!found) return NULL;
    if (!decided && drop_exception()) Py_CLEAR(found);
    if (!decided) return found; /* undecided so far */
  }
  struct kernel *known = kernel_find(self->recorder, kernel);
  if (known && !known->look && (found == Py_None || Py_TYPE(found) == look_type)) {
    Py_INCREF(found);
    known->look = found;
  }
  return found;
}

static PyObject *property_get(PyObject *object, PyObject *kernel, PyObject *type) {
  launcher_property *self = (launcher_property *)object;
  if (!kernel || kernel == Py_None) {
    Py_INCREF(object);
    return object;
  }
  void *launching = thread_facts.launching;
  if (launching && self->recorder->active) {
    struct kernel *known = kernel_find(self->recorder, kernel);
    PyObject *found = known ? known->look : NULL;
    Py_XINCREF(found);
    if (!found) found = look_by_attribute(self, kernel);
    if (!found && report(self->recorder)) return NULL;
    look *due = found && Py_TYPE(found) == look_type ? (look *)found : NULL;
    if (due && due->owner == launching) {
      if (!due->wait) return found;
      due->wait--;
    }
    Py_XDECREF(found);
  }
  return self->bind(self->plain, kernel, type);
}

static int property_set(PyObject *object, PyObject *kernel, PyObject *value) {
  launcher_property *self = (launcher_property *)object;
  descrsetfunc set = (descrsetfunc)PyType_GetSlot(Py_TYPE(self->plain), Py_tp_descr_set);
  if (set) return set(self->plain, kernel, value);
  PyErr_SetString(PyExc_AttributeError, "the launcher cannot be set");
  return -1;
}

static PyObject *property_getter(PyObject *object, void *unused) {
  (void)unused;
  return PyObject_GetAttrString(object, "__get__");
}

/* `Recorder.watched_property(plain, first)`. */
SELDOM static PyObject *recorder_watched_property(PyObject *object, PyObject *args) {
  PyObject *plain, *first;
  if (!PyArg_ParseTuple(args, "OO:watched_property", &plain, &first)) return NULL;
  descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(plain), Py_tp_descr_get);
  if (!bind) {
    PyErr_SetString(PyExc_TypeError, "only a property is replaced");
    return NULL;
  }
  PyObject *references[] = {object, plain, first};
  launcher_property *self = owner_new(property_type, sizeof *self, 3, references);
  if (self) self->bind = bind;
  return (PyObject *)self;
}

static PyType_Slot look_slots[] = {{Py_tp_dealloc, look_free},
                                   {Py_tp_traverse, owner_traverse},
                                   {Py_tp_clear, look_clear},
                                   {Py_tp_methods, look_methods},
                                   {Py_tp_call, look_call},
                                   {Py_tp_doc, "Looks at launches of a kernel, when their turn comes."},
                                   {0, NULL}};

static PyGetSetDef property_attributes[] = {
    {"fget", property_getter, NULL, "what gives the launcher of a kernel", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot property_slots[] = {{Py_tp_dealloc, owner_free},
                                       {Py_tp_traverse, owner_traverse},
                                       {Py_tp_descr_get, property_get},
                                       {Py_tp_descr_set, property_set},
                                       {Py_tp_getset, property_attributes},
                                       {0, NULL}};

#endif
