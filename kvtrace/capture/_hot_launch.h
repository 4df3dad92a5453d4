/* Wrappers of launching methods: the wrapper, the wrapper bound to its owner, and the replacement of
 * a callable grid. Included only by _hot.c.
 *
 * Owns references to what is wrapped, in each object, under Python's lock. */
#ifndef KVTRACE_HOT_LAUNCH_H
#define KVTRACE_HOT_LAUNCH_H

#include "_hot_record.h"
#include "_hot_signal.h"

typedef struct {
  OWNER_HEAD
  recorder *recorder;
  PyObject *function, *adapter;
  PyObject *uncommon; /* method for methods that use `self.launchers`; NULL for others */
  descrgetfunc bind;
} launch_function;

/* A launch in flight: callable and arguments. */
typedef struct {
  launch_function *by;
  PyObject *self, *callable;
  PyObject *args, *kwargs; /* kwargs may be NULL */
  Py_ssize_t first;        /* index of the kernel's first argument: 1 if args contain self */
} launching;

typedef struct {
  OWNER_HEAD
  launch_function *launch;
  PyObject *self;
  PyObject *method; /* the function, bound */
} bound_launch;

typedef struct {
  PyObject_HEAD
  PyObject *function, *given;
} grid_probe;

static PyTypeObject *launch_type, *bound_type, *probe_type;
static PyObject *name_launchers, *name_stream; /* interned */

/* A callable grid's replacement, which keeps what the grid gives; NULL with an exception. */
static grid_probe *probe_new(PyObject *grid) {
  grid_probe *probe = PyObject_New(grid_probe, probe_type);
  if (!probe) return NULL;
  Py_INCREF(grid);
  probe->function = grid;
  probe->given = NULL;
  return probe;
}

static PyObject *call_observed(launching *launch, PyObject *grid, int warmup) {
  recorder *recorder = launch->by->recorder;
  PyObject *adapter = launch->by->adapter, *kwargs = launch->kwargs;
  PyObject *kernel;
  int64_t enter, leave;
  if (Py_TYPE(grid) == &PyTuple_Type || !PyCallable_Check(grid)) {
    enter = now();
    kernel = PyObject_Call(launch->callable, launch->args, kwargs);
    leave = now();
    Py_INCREF(grid);
  } else {
    grid_probe *probe = probe_new(grid);
    PyObject *given = probe ? PyDict_Copy(kwargs) : NULL;
    if (!given || PyDict_SetItem(given, name_grid, (PyObject *)probe)) {
      Py_XDECREF(given);
      Py_XDECREF((PyObject *)probe);
      recorder->dropped++;
      return report(recorder) ? NULL : PyObject_Call(launch->callable, launch->args, kwargs);
    }
    enter = now();
    kernel = PyObject_Call(launch->callable, launch->args, given);
    leave = now();
    Py_DECREF(given);
    grid = probe->given;
    Py_XINCREF(grid);
    Py_DECREF(probe);
  }
  if (!kernel) {
    Py_XDECREF(grid);
    return NULL;
  }
  int failed = 0;
  if (kernel == Py_None) {
    /* a hook of Triton's took the launch over */
  } else if (warmup) {
    struct kernel compiled;
    failed = kernel_known(recorder, adapter, launch->self, kernel, &compiled);
  } else if (grid) {
    failed = record(recorder, adapter, launch->self, kernel, grid, launch->args, launch->first,
                    kwargs, NULL, enter, leave);
  }
  Py_XDECREF(grid);
  if (failed && report(recorder)) {
    Py_DECREF(kernel);
    return NULL;
  }
  return kernel;
}

/* Wraps a method that returns the kernel, with the keyword arguments grid and warmup. */
static PyObject *call_returning(launching *launch) {
  PyObject *grid = NULL, *warmup = NULL;
  if (launch->kwargs) {
    grid = PyDict_GetItemWithError(launch->kwargs, name_grid);
    warmup = PyDict_GetItemWithError(launch->kwargs, name_warmup);
  }
  int warm = warmup == Py_False ? 0 : warmup ? PyObject_IsTrue(warmup) : -1;
  if (!grid || warm < 0) {
    if (drop_exception()) return NULL; /* any other the function itself raises */
    return PyObject_Call(launch->callable, launch->args, launch->kwargs);
  }
  Py_INCREF(grid);
  PyObject *result = call_observed(launch, grid, warm);
  Py_DECREF(grid);
  return result;
}

/* The owner's only launcher; NULL without an exception while there are several. */
static PyObject *chosen(PyObject *owner) {
  PyObject *launchers = PyObject_GetAttr(owner, name_launchers);
  if (!launchers) return NULL;
  Py_ssize_t count = PyObject_Length(launchers);
  PyObject *launcher = count == 1 ? PySequence_GetItem(launchers, 0) : NULL;
  Py_DECREF(launchers);
  return launcher;
}

static PyObject *call_uncommon(launching *launch) {
  PyObject *bound = NULL, *uncommon = launch->by->uncommon;
  if (!launch->first) {
    descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(uncommon), Py_tp_descr_get);
    bound = bind(uncommon, launch->self, (PyObject *)Py_TYPE(launch->self));
    if (!bound) return NULL;
  }
  PyObject *result = PyObject_Call(bound ? bound : uncommon, launch->args, launch->kwargs);
  Py_XDECREF(bound);
  return result;
}

/* Inspects a launch before it is made, if it is due; kvtrace's failures are counted. -1: another
 * exception stays set for the program. */
static int64_t looked(look *self, PyObject *args, Py_ssize_t first, PyObject *stream_given) {
  if (self->wait) {
    self->wait--;
    return 0;
  }
  void *stream = NULL;
  given_stream(stream_given, &stream);
  Py_INCREF((PyObject *)self);
  int64_t number = look_now(self, args, first, stream);
  if (number < 0 && !report(self->recorder)) number = 0;
  Py_DECREF((PyObject *)self);
  return number;
}

static PyObject *call_chosen(launching *launch, PyObject *stream, PyObject *launcher, int64_t number) {
  int64_t enter = now();
  PyObject *result = PyObject_Call(launch->callable, launch->args, launch->kwargs);
  int64_t leave = now();
  if (!result) return NULL;
  Py_XINCREF(launcher);
  if (!launcher) launcher = chosen(launch->self);
  int failed = !launcher && PyErr_Occurred();
  if (launcher) {
    if (number) thread_facts.contents = number; /* else the number of copies within the call */
    failed = record(launch->by->recorder, launch->by->adapter, launch->self, launcher, NULL,
                    launch->args, launch->first, NULL, stream, enter, leave);
  }
  Py_XDECREF(launcher);
  if (failed && report(launch->by->recorder)) Py_CLEAR(result);
  return result;
}

/* Wraps a method `run(self, *args, stream)` that launches by one of `self.launchers`. A launcher with
 * an entry is read before the call; otherwise the launchers are read after it. */
static PyObject *call_choosing(launching *launch) {
  PyObject *stream = NULL, *kwargs = launch->kwargs;
  if (kwargs) stream = PyDict_GetItemWithError(kwargs, name_stream);
  if (!stream) {
    if (drop_exception()) return NULL; /* the function itself says what is missing */
    return PyObject_Call(launch->callable, launch->args, kwargs);
  }
  if (PyDict_Size(kwargs) > 1) return call_uncommon(launch);
  PyObject *launcher = chosen(launch->self);
  struct kernel *kernel = launcher ? kernel_find(launch->by->recorder, launcher) : NULL;
  if (drop_exception()) return NULL; /* any other the function itself raises */
  if (kernel && kernel->apart) {
    Py_DECREF(launcher);
    return call_uncommon(launch);
  }
  if (!kernel) Py_CLEAR(launcher);
  Py_INCREF(stream); /* the dictionary is the program's */
  int64_t number = 0;
  if (kernel && kernel->look && kernel->look != Py_None)
    number = looked((look *)kernel->look, launch->args, launch->first, stream);
  PyObject *result = number < 0 ? NULL : call_chosen(launch, stream, launcher, number);
  Py_XDECREF(launcher);
  Py_DECREF(stream);
  return result;
}

static PyObject *launch_recorded(launching *launch) {
  renew_thread_facts();
  thread_facts.contents = 0; /* of an earlier launch that failed after its copies */
  if (launch->by->uncommon) return call_choosing(launch);
  void *outer = thread_facts.launching;
  thread_facts.launching = launch->self;
  PyObject *result = call_returning(launch);
  thread_facts.launching = outer;
  return result;
}

static PyObject *launch(launching *launch) {
  recorder *recorder = launch->by->recorder;
  if (!recorder->active) {
    recorder->dropped += recorder->ending;
    return PyObject_Call(launch->callable, launch->args, launch->kwargs);
  }
  hold_if_ending();
  int64_t new_ns = recorder->new_ns, begin = begin_timing(recorder);
  PyObject *result = launch_recorded(launch);
  if (begin) end_timing(recorder, begin, new_ns);
  return result;
}

/* Called as `type.run(owner, …)`, which is also how Python calls a method (METHOD_DESCRIPTOR). */
static PyObject *launch_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  launch_function *function = (launch_function *)self;
  if (Py_SIZE(args) < 1) return PyObject_Call(function->function, args, kwargs);
  launching under_way = {function, PyTuple_GetItem(args, 0), function->function, args, kwargs, 1};
  return launch(&under_way);
}

static PyObject *launch_get(PyObject *self, PyObject *object, PyObject *type) {
  launch_function *by = (launch_function *)self;
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  PyObject *method = by->bind(by->function, object, type ? type : (PyObject *)Py_TYPE(object));
  if (!method) return NULL;
  PyObject *references[] = {self, object, method};
  PyObject *made = owner_new(bound_type, sizeof(bound_launch), 3, references);
  return instead(by->recorder, made, method);
}

static PyObject *attribute_or(PyObject *self, PyObject *name, PyObject *other) {
  PyObject *value = PyObject_GenericGetAttr(self, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(other, name);
}

static PyObject *launch_attribute(PyObject *self, PyObject *name) {
  return attribute_or(self, name, ((launch_function *)self)->function);
}

static PyObject *launch_doc(PyObject *self, void *unused) {
  (void)unused;
  return PyObject_GetAttrString(((launch_function *)self)->function, "__doc__");
}

static int launch_clear(PyObject *self) {
  /* A wrapper that is still called while it is being collected needs its function and recorder. */
  Py_CLEAR(((launch_function *)self)->adapter);
  return 0;
}

static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  bound_launch *bound = (bound_launch *)self;
  launching under_way = {bound->launch, bound->self, bound->method, args, kwargs, 0};
  return launch(&under_way);
}

static PyObject *bound_attribute(PyObject *self, PyObject *name) {
  return attribute_or(self, name, (PyObject *)((bound_launch *)self)->launch);
}

static PyObject *probe_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  grid_probe *probe = (grid_probe *)self;
  PyObject *given = PyObject_Call(probe->function, args, kwargs);
  if (!given) return NULL;
  PyObject *before = probe->given;
  Py_INCREF(given);
  probe->given = given;
  Py_XDECREF(before);
  return given;
}

static void probe_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(((grid_probe *)self)->function);
  Py_XDECREF(((grid_probe *)self)->given);
  PyObject_Free(self);
  Py_DECREF(type);
}

#endif
