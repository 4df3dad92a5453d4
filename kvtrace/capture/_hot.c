/* The launch hot path in C: the same as hot.py, which says what it does and is tested against it.
 *
 * Stable Python ABI (3.11), so one build serves every later version. Tensors are read through
 * DLPack's C exchange API (dlpack.h, version 1.3: `__dlpack_c_exchange_api__` on the tensor type, a
 * capsule named "dlpack_exchange_api"), which fills a DLTensor from a Python tensor without torch's
 * headers and without keeping the tensor alive.
 *
 * Threads: every function here runs with the GIL held, and that is what makes the shared state safe.
 * Python may run inside a callback (a new kernel or call, an uncommon argument) and so let other
 * threads in; nothing that was looked up before a callback is used after it. A build of Python
 * without the GIL cannot load this extension, and uses hot.py.
 *
 * Identity: the metadata of a launch is written as 64-bit words. Equal words mean an equal call; the
 * table compares all of them, so that two calls whose hashes collide stay two.
 */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_hot_key.h"
#include "_hot_state.h"
#include "_hot_tables.h"

typedef struct {
  PyObject_HEAD
  recorder *recorder;
  PyObject *function, *adapter;
  PyObject *uncommon; /* of what launches by `self.launchers`; NULL for what returns its kernel */
  descrgetfunc bind;
} launch_function;

/* A launch that is under way: what is called, and with what. */
typedef struct {
  launch_function *by;
  PyObject *self, *callable;
  PyObject *args, *kwargs; /* kwargs may be NULL */
  Py_ssize_t first;        /* where the kernel's arguments begin in args: 1 where self is in them */
} launching;

typedef struct {
  PyObject_HEAD
  launch_function *launch;
  PyObject *self;
} bound_launch;

typedef struct {
  PyObject_HEAD
  PyObject *function, *given;
} grid_probe;

static PyTypeObject *recorder_type, *launch_type, *bound_type, *probe_type;
static PyObject *name_new_kernel, *name_new_call, *name_launchers, *name_stream; /* interned */

/* ---- recording -------------------------------------------------------------------------------- */

SELDOM static int kernel_new(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                             struct kernel *out) {
  PyObject *facts = PyObject_CallMethodObjArgs(adapter, name_new_kernel, owner, object, NULL);
  if (!facts) return -1;
  long long id;
  int kind, device;
  int parsed = PyArg_ParseTuple(facts, "Lii", &id, &kind, &device);
  Py_DECREF(facts);
  if (!parsed) return -1;
  *out = (struct kernel){.object = object, .id = id, .device_kind = kind, .device = device};
  if (kernel_find(self, object)) return 0; /* another thread was quicker */
  PyObject *unlist = PyObject_GetAttrString((PyObject *)self, "_kernel_died");
  if (!unlist) return -1;
  out->reference = PyWeakref_NewRef(object, unlist);
  Py_DECREF(unlist);
  if (!out->reference) { /* kept alive, or its address could become another's */
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    Py_INCREF(object);
    out->reference = object;
  }
  if (kernels_reserve(self)) {
    Py_DECREF(out->reference);
    return -1;
  }
  kernel_put(self, *out);
  return 0;
}

/* Gives the entry by value: the table may change with any callback. */
static int kernel_known(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                        struct kernel *out) {
  struct kernel *found = kernel_find(self, object);
  if (!found) return kernel_new(self, adapter, owner, object, out);
  *out = *found;
  return 0;
}

SELDOM static int call_new(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                           const struct key *key, uint64_t hash, PyObject *args, Py_ssize_t first,
                           PyObject *kwargs, int64_t *out) {
  PyObject *id = PyLong_FromLongLong((int64_t)key->words[0]);
  PyObject *grid = Py_BuildValue("(LLL)", (long long)key->words[1], (long long)key->words[2],
                                 (long long)key->words[3]);
  PyObject *given = kwargs ? kwargs : PyDict_New();
  PyObject *values = PyTuple_GetSlice(args, first, PyTuple_Size(args));
  PyObject *made = NULL;
  if (kwargs) Py_INCREF(kwargs);
  if (id && grid && given && values)
    made = PyObject_CallMethodObjArgs(adapter, name_new_call, owner, object, id, grid, values,
                                      given, NULL);
  Py_XDECREF(id);
  Py_XDECREF(grid);
  Py_XDECREF(given);
  Py_XDECREF(values);
  if (!made) return -1;
  *out = PyLong_AsLongLong(made);
  Py_DECREF(made);
  if (*out == -1 && PyErr_Occurred()) return -1;
  if (call_find(self, key, hash)) return 0; /* another thread was quicker */
  return call_remember(self, key, hash, *out);
}

static int call_known(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                      const struct key *key, PyObject *args, Py_ssize_t first, PyObject *kwargs,
                      int64_t *out) {
  struct kernel *kernel = kernel_find(self, object);
  if (kernel && kernel->last_length == key->count &&
      !memcmp(self->arena + kernel->last_offset, key->words, key->count * 8)) {
    *out = kernel->last_call;
    return 0;
  }
  uint64_t hash = key_hash(key);
  struct call *found = call_find(self, key, hash);
  if (!found) return call_new(self, adapter, owner, object, key, hash, args, first, kwargs, out);
  *out = found->id;
  if (kernel) {
    kernel->last_call = found->id;
    kernel->last_offset = found->offset;
    kernel->last_length = found->length;
  }
  return 0;
}

static int record(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                  PyObject *grid, PyObject *args, Py_ssize_t first, PyObject *kwargs, int64_t enter,
                  int64_t leave) {
  struct kernel kernel;
  if (kernel_known(self, adapter, owner, object, &kernel)) return -1;
  if (kernel.id < 0) return 0;
  struct key key;
  int64_t call;
  key_begin(&key);
  key.words[key.count++] = (uint64_t)kernel.id;
  int failed = key_grid(&key, grid) || key_arguments(self, &key, args, first, kwargs) ||
               call_known(self, adapter, owner, object, &key, args, first, kwargs, &call);
  key_end(&key);
  if (failed) return -1;
  if (call < 0) return 0;
  void *stream = NULL;
  if ((kernel.device_kind == DL_CUDA || kernel.device_kind == DL_ROCM) && self->exchange &&
      self->exchange->current_stream(kernel.device_kind, kernel.device, &stream)) {
    PyErr_Clear();
    stream = NULL;
  }
  append_row(self, call, enter, leave, kernel.device_kind ? kernel.device : -1, stream);
  return 0;
}

/* Hands an exception of ours to `problem`. What is no Exception (Ctrl-C) goes on to the program:
 * -1 then, with the exception set. */
SELDOM static int report(recorder *self) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace && value) PyException_SetTraceback(value, trace);
  PyObject *done = value ? PyObject_CallFunctionObjArgs(self->problem, value, NULL) : NULL;
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  if (done) {
    Py_DECREF(done);
    return 0;
  }
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyErr_Clear();
  return 0;
}

/* ---- wrapping --------------------------------------------------------------------------------- */

static PyObject *call_observed(launching *launch, PyObject *grid, int warmup) {
  recorder *recorder = launch->by->recorder;
  PyObject *adapter = launch->by->adapter, *kwargs = launch->kwargs;
  PyObject *kernel;
  grid_probe *probe = NULL;
  int64_t enter, leave;
  if (!PyCallable_Check(grid)) {
    enter = now();
    kernel = PyObject_Call(launch->callable, launch->args, kwargs);
    leave = now();
    Py_INCREF(grid);
  } else {
    PyObject *given = PyDict_Copy(kwargs);
    probe = PyObject_New(grid_probe, probe_type);
    if (!given || !probe) {
      Py_XDECREF(given);
      Py_XDECREF((PyObject *)probe);
      return NULL;
    }
    Py_INCREF(grid);
    probe->function = grid;
    probe->given = NULL;
    if (PyDict_SetItem(given, name_grid, (PyObject *)probe)) {
      Py_DECREF(given);
      Py_DECREF(probe);
      return NULL;
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
                    kwargs, enter, leave);
  }
  Py_XDECREF(grid);
  if (failed && report(recorder)) {
    Py_DECREF(kernel);
    return NULL;
  }
  return kernel;
}

/* Around a method that returns the kernel: grid and warmup are among its keyword arguments. */
static PyObject *call_returning(launching *launch) {
  PyObject *grid = NULL, *warmup = NULL;
  if (launch->kwargs) {
    grid = PyDict_GetItemWithError(launch->kwargs, name_grid);
    warmup = PyDict_GetItemWithError(launch->kwargs, name_warmup);
  }
  int warm = warmup ? PyObject_IsTrue(warmup) : -1;
  if (!grid || warm < 0) {
    PyErr_Clear(); /* the function itself says what is wrong */
    return PyObject_Call(launch->callable, launch->args, launch->kwargs);
  }
  Py_INCREF(grid);
  PyObject *result = call_observed(launch, grid, warm);
  Py_DECREF(grid);
  return result;
}

/* Records with the launcher that the owner has chosen; while there are several, it was a trial. */
static int record_chosen(launching *launch, int64_t enter, int64_t leave) {
  PyObject *launchers = PyObject_GetAttr(launch->self, name_launchers);
  if (!launchers) return -1;
  Py_ssize_t count = PyObject_Length(launchers);
  PyObject *launcher = count == 1 ? PySequence_GetItem(launchers, 0) : NULL;
  Py_DECREF(launchers);
  if (!launcher) return count < 0 || count == 1 ? -1 : 0;
  int failed = record(launch->by->recorder, launch->by->adapter, launch->self, launcher, NULL,
                      launch->args, launch->first, NULL, enter, leave);
  Py_DECREF(launcher);
  return failed;
}

/* Around a method `run(self, *args, stream)` that launches with the one of `self.launchers`. */
static PyObject *call_choosing(launching *launch) {
  PyObject *stream = NULL, *kwargs = launch->kwargs;
  if (kwargs) stream = PyDict_GetItemWithError(kwargs, name_stream);
  if (!stream) {
    PyErr_Clear(); /* the function itself says what is missing */
    return PyObject_Call(launch->callable, launch->args, kwargs);
  }
  if (PyDict_Size(kwargs) > 1) {
    PyObject *bound = NULL, *uncommon = launch->by->uncommon;
    if (!launch->first) {
      descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(uncommon), Py_tp_descr_get);
      bound = bind(uncommon, launch->self, (PyObject *)Py_TYPE(launch->self));
      if (!bound) return NULL;
    }
    PyObject *result = PyObject_Call(bound ? bound : uncommon, launch->args, kwargs);
    Py_XDECREF(bound);
    return result;
  }
  int64_t enter = now();
  PyObject *result = PyObject_Call(launch->callable, launch->args, kwargs);
  int64_t leave = now();
  if (!result) return NULL;
  if (record_chosen(launch, enter, leave) && report(launch->by->recorder)) {
    Py_DECREF(result);
    return NULL;
  }
  return result;
}

static PyObject *launch(launching *launch) {
  if (!launch->by->recorder->active)
    return PyObject_Call(launch->callable, launch->args, launch->kwargs);
  return launch->by->uncommon ? call_choosing(launch) : call_returning(launch);
}

/* Called as `type.run(owner, …)`, which is also how Python calls a method (METHOD_DESCRIPTOR). */
static PyObject *launch_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  launch_function *function = (launch_function *)self;
  if (PyTuple_Size(args) < 1) return PyObject_Call(function->function, args, kwargs);
  launching under_way = {function, PyTuple_GetItem(args, 0), function->function, args, kwargs, 1};
  return launch(&under_way);
}

static PyObject *launch_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  bound_launch *bound = PyObject_GC_New(bound_launch, bound_type);
  if (!bound) return NULL;
  Py_INCREF(self);
  Py_INCREF(object);
  bound->launch = (launch_function *)self;
  bound->self = object;
  PyObject_GC_Track(bound);
  return (PyObject *)bound;
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

static PyObject *launch_wrapped(PyObject *self, void *unused) {
  (void)unused;
  PyObject *function = ((launch_function *)self)->function;
  Py_INCREF(function);
  return function;
}

static PyObject *launch_doc(PyObject *self, void *unused) {
  (void)unused;
  return PyObject_GetAttrString(((launch_function *)self)->function, "__doc__");
}

static int launch_traverse(PyObject *self, visitproc visit, void *arg) {
  launch_function *function = (launch_function *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(function->recorder);
  Py_VISIT(function->function);
  Py_VISIT(function->adapter);
  Py_VISIT(function->uncommon);
  return 0;
}

static int launch_clear(PyObject *self) {
  /* A wrapper that is still called while it is being collected needs its function and recorder. */
  Py_CLEAR(((launch_function *)self)->adapter);
  return 0;
}

static void launch_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  launch_function *function = (launch_function *)self;
  PyObject_GC_UnTrack(self);
  Py_XDECREF((PyObject *)function->recorder);
  Py_XDECREF(function->function);
  Py_XDECREF(function->adapter);
  Py_XDECREF(function->uncommon);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  bound_launch *bound = (bound_launch *)self;
  launch_function *by = bound->launch;
  PyObject *method = by->bind(by->function, bound->self, (PyObject *)Py_TYPE(bound->self));
  if (!method) return NULL;
  launching under_way = {by, bound->self, method, args, kwargs, 0};
  PyObject *result = launch(&under_way);
  Py_DECREF(method);
  return result;
}

static PyObject *bound_attribute(PyObject *self, PyObject *name) {
  return attribute_or(self, name, (PyObject *)((bound_launch *)self)->launch);
}

static PyObject *bound_self(PyObject *self, void *unused) {
  (void)unused;
  Py_INCREF(((bound_launch *)self)->self);
  return ((bound_launch *)self)->self;
}

static PyObject *bound_function(PyObject *self, void *unused) {
  (void)unused;
  PyObject *function = (PyObject *)((bound_launch *)self)->launch;
  Py_INCREF(function);
  return function;
}

static int bound_traverse(PyObject *self, visitproc visit, void *arg) {
  bound_launch *bound = (bound_launch *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(bound->launch);
  Py_VISIT(bound->self);
  return 0;
}

static void bound_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  bound_launch *bound = (bound_launch *)self;
  PyObject_GC_UnTrack(self);
  Py_XDECREF((PyObject *)bound->launch);
  Py_XDECREF(bound->self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
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

/* ---- the recorder's methods ------------------------------------------------------------------- */

static int use_exchange(recorder *self, PyObject *types) {
  Py_ssize_t count = PyTuple_Size(types);
  if (count < 0 || count > 2) {
    PyErr_SetString(PyExc_TypeError, "tensor_types is a tuple of at most two types");
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *type = PyTuple_GetItem(types, i);
    if (!PyType_Check(type)) {
      PyErr_SetString(PyExc_TypeError, "tensor_types holds types");
      return -1;
    }
    self->fast_types[i] = (PyTypeObject *)type;
  }
  if (!count) return 0;
  PyObject *first = PyTuple_GetItem(types, 0);
  self->capsule = PyObject_GetAttrString(first, "__dlpack_c_exchange_api__");
  if (!self->capsule) return -1;
  self->exchange = PyCapsule_GetPointer(self->capsule, "dlpack_exchange_api");
  if (!self->exchange) return -1;
  while (self->exchange && self->exchange->version.major > 1)
    self->exchange = self->exchange->older;
  if (!self->exchange || self->exchange->version.major != 1 || !self->exchange->view ||
      !self->exchange->current_stream) {
    PyErr_SetString(PyExc_RuntimeError, "the tensor type has no DLPack exchange API of version 1");
    return -1;
  }
  return 0;
}

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"describe", "problem", "tensor_types", "max_calls", "capture_info", NULL};
  PyObject *describe, *problem, *types;
  long long max_calls, capture_info = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!L|L:Recorder", names, &describe, &problem,
                                   &PyTuple_Type, &types, &max_calls, &capture_info))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  recorder *self = (recorder *)allocate(type, 0); /* zeroed */
  if (!self) return NULL;
  Py_INCREF(describe);
  Py_INCREF(problem);
  Py_INCREF(types);
  self->describe = describe;
  self->problem = problem;
  self->tensor_types = types;
  self->max_calls = max_calls > 0 ? max_calls : 1;
  *(void **)&self->capture_info = (void *)(intptr_t)capture_info;
  self->active = 1;
  self->names = PyDict_New();
  if (!self->names || use_exchange(self, types)) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

static void forget(recorder *self) {
  struct kernel *kernels = self->kernels;
  size_t slots = self->kernel_slots;
  self->kernels = NULL;
  self->kernel_slots = self->kernel_used = 0;
  for (size_t i = 0; i < slots; i++)
    if (kernels[i].object && kernels[i].object != GONE) Py_XDECREF(kernels[i].reference);
  PyMem_Free(kernels);
  calls_clear(self);
  rows_clear(self);
}

static int recorder_traverse(PyObject *object, visitproc visit, void *arg) {
  recorder *self = (recorder *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->describe);
  Py_VISIT(self->problem);
  Py_VISIT(self->capsule);
  Py_VISIT(self->tensor_types);
  for (size_t i = 0; i < self->kernel_slots; i++)
    if (self->kernels[i].object && self->kernels[i].object != GONE)
      Py_VISIT(self->kernels[i].reference);
  for (size_t i = 0; i < CONSTANTS; i++) Py_VISIT(self->constants[i].object);
  return 0;
}

static int recorder_clear(PyObject *object) {
  recorder *self = (recorder *)object;
  self->active = 0;
  forget(self);
  for (size_t i = 0; i < CONSTANTS; i++) {
    Py_CLEAR(self->constants[i].object);
    Py_CLEAR(self->constants[i].identity);
  }
  self->constant_count = 0;
  return 0;
}

static void recorder_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  recorder *self = (recorder *)object;
  PyObject_GC_UnTrack(object);
  recorder_clear(object);
  for (size_t i = 0; i < NAME_SLOTS; i++) Py_XDECREF(self->name_slots[i].object);
  Py_XDECREF(self->names);
  Py_XDECREF(self->describe);
  Py_XDECREF(self->problem);
  Py_XDECREF(self->capsule);
  Py_XDECREF(self->tensor_types);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyObject *wrapped(PyObject *self, PyObject *function, PyObject *adapter,
                         PyObject *uncommon) {
  descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get);
  if (!bind || (uncommon && !PyType_GetSlot(Py_TYPE(uncommon), Py_tp_descr_get))) {
    PyErr_SetString(PyExc_TypeError, "only a function that can be a method is wrapped");
    return NULL;
  }
  launch_function *launch = PyObject_GC_New(launch_function, launch_type);
  if (!launch) return NULL;
  Py_INCREF(self);
  Py_INCREF(function);
  Py_INCREF(adapter);
  Py_XINCREF(uncommon);
  launch->recorder = (recorder *)self;
  launch->function = function;
  launch->adapter = adapter;
  launch->uncommon = uncommon;
  launch->bind = bind;
  PyObject_GC_Track(launch);
  return (PyObject *)launch;
}

static PyObject *recorder_wrap(PyObject *self, PyObject *args) {
  PyObject *function, *adapter;
  if (!PyArg_ParseTuple(args, "OO:wrap", &function, &adapter)) return NULL;
  return wrapped(self, function, adapter, NULL);
}

static PyObject *recorder_wrap_choosing(PyObject *self, PyObject *args) {
  PyObject *function, *adapter, *uncommon;
  if (!PyArg_ParseTuple(args, "OOO:wrap_choosing", &function, &adapter, &uncommon)) return NULL;
  return wrapped(self, function, adapter, uncommon);
}

static PyObject *recorder_record(PyObject *self, PyObject *args) {
  PyObject *adapter, *owner, *kernel, *grid, *given, *kwargs;
  long long enter, leave;
  if (!PyArg_ParseTuple(args, "OOOOO!O!LL:record", &adapter, &owner, &kernel, &grid, &PyTuple_Type,
                        &given, &PyDict_Type, &kwargs, &enter, &leave))
    return NULL;
  if (record((recorder *)self, adapter, owner, kernel, grid, given, 0, kwargs, enter,
             leave))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *recorder_append(PyObject *self, PyObject *args) {
  long long call, enter, leave, stream = 0;
  int device = -1;
  if (!PyArg_ParseTuple(args, "LLL|iL:append", &call, &enter, &leave, &device, &stream))
    return NULL;
  append_row((recorder *)self, call, enter, leave, device, (void *)(intptr_t)stream);
  Py_RETURN_NONE;
}

static PyObject *recorder_swap_phase(PyObject *self, PyObject *phase) {
  (void)self;
  long wanted = PyLong_AsLong(phase);
  if (wanted == -1 && PyErr_Occurred()) return NULL;
  renew_thread_facts();
  long before = thread_facts.phase;
  thread_facts.phase = (int32_t)wanted;
  return PyLong_FromLong(before);
}

static PyObject *recorder_drain(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(self->pending * sizeof(struct row)));
  if (!rows) return NULL;
  char *to = PyBytes_AsString(rows);
  for (struct chunk *chunk = self->first; chunk; chunk = chunk->next) {
    memcpy(to, chunk->rows, chunk->count * sizeof(struct row));
    to += chunk->count * sizeof(struct row);
  }
  rows_clear(self);
  return rows;
}

static PyObject *recorder_forget(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  forget(self);
  self->dropped = self->overflows = 0;
  generation++;
  Py_RETURN_NONE;
}

static PyObject *recorder_kernel_died(PyObject *object, PyObject *reference) {
  recorder *self = (recorder *)object;
  for (size_t i = 0; i < self->kernel_slots; i++) {
    if (self->kernels[i].object == NULL || self->kernels[i].object == GONE) continue;
    if (self->kernels[i].reference != reference) continue;
    self->kernels[i].object = GONE;
    self->kernels[i].reference = NULL;
    Py_DECREF(reference);
    break;
  }
  Py_RETURN_NONE;
}

static PyObject *get_active(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(((recorder *)self)->active);
}

static int set_active(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  int active = value ? PyObject_IsTrue(value) : 0;
  if (active < 0) return -1;
  ((recorder *)self)->active = (char)active;
  return 0;
}

static PyObject *get_dropped(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(((recorder *)self)->dropped);
}

static PyObject *get_overflows(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(((recorder *)self)->overflows);
}

static PyObject *get_known_calls(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((recorder *)self)->call_count);
}

static PyObject *get_name(PyObject *self, void *unused) {
  (void)self;
  (void)unused;
  return PyUnicode_FromString("native");
}

/* ---- types and module ------------------------------------------------------------------------- */

static PyMethodDef recorder_methods[] = {
    {"wrap", recorder_wrap, METH_VARARGS, "Wrap a method that launches; see hot.Recorder.wrap."},
    {"wrap_choosing", recorder_wrap_choosing, METH_VARARGS,
     "Wrap a method that launches with a launcher it chooses; see hot.Recorder.wrap_choosing."},
    {"record", recorder_record, METH_VARARGS, "Record a launch; see hot.Recorder.record."},
    {"append", recorder_append, METH_VARARGS, "Append a launch; see hot.Recorder.append."},
    {"swap_phase", recorder_swap_phase, METH_O, "Set the thread's phase; return the one before."},
    {"drain", recorder_drain, METH_NOARGS, "Take the launches that wait, as bytes of rows."},
    {"forget", recorder_forget, METH_NOARGS, "Forget kernels, calls and launches."},
    {"_kernel_died", recorder_kernel_died, METH_O, "Forget the number of a kernel that is gone."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef recorder_attributes[] = {
    {"active", get_active, set_active, "whether launches are recorded", NULL},
    {"dropped", get_dropped, NULL, "launches that found no room", NULL},
    {"overflows", get_overflows, NULL, "how often the calls were forgotten", NULL},
    {"known_calls", get_known_calls, NULL, "distinct calls that are remembered", NULL},
    {"name", get_name, NULL, "which hot path this is", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot recorder_slots[] = {{Py_tp_new, recorder_new},
                                       {Py_tp_dealloc, recorder_free},
                                       {Py_tp_traverse, recorder_traverse},
                                       {Py_tp_clear, recorder_clear},
                                       {Py_tp_methods, recorder_methods},
                                       {Py_tp_getset, recorder_attributes},
                                       {Py_tp_doc, "Maps launches to calls; see hot.Recorder."},
                                       {0, NULL}};

static PyGetSetDef launch_attributes[] = {
    {"__wrapped__", launch_wrapped, NULL, "the function that launches", NULL},
    {"__doc__", launch_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot launch_slots[] = {{Py_tp_dealloc, launch_free},
                                     {Py_tp_traverse, launch_traverse},
                                     {Py_tp_clear, launch_clear},
                                     {Py_tp_call, launch_call},
                                     {Py_tp_descr_get, launch_get},
                                     {Py_tp_getattro, launch_attribute},
                                     {Py_tp_getset, launch_attributes},
                                     {0, NULL}};

static PyGetSetDef bound_attributes[] = {{"__self__", bound_self, NULL, "the owner", NULL},
                                         {"__func__", bound_function, NULL, "the function", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot bound_slots[] = {{Py_tp_dealloc, bound_free},
                                    {Py_tp_traverse, bound_traverse},
                                    {Py_tp_call, bound_call},
                                    {Py_tp_getattro, bound_attribute},
                                    {Py_tp_getset, bound_attributes},
                                    {0, NULL}};

static PyType_Slot probe_slots[] = {{Py_tp_dealloc, probe_free},
                                    {Py_tp_call, probe_call},
                                    {Py_tp_doc, "A callable grid that keeps what it gave."},
                                    {0, NULL}};

#define NOT_MADE_IN_PYTHON Py_TPFLAGS_DISALLOW_INSTANTIATION

static PyType_Spec recorder_spec = {"kvtrace.capture._hot.Recorder", sizeof(recorder), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, recorder_slots};
static PyType_Spec launch_spec = {"kvtrace.capture._hot.LaunchFunction", sizeof(launch_function), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON |
                                      Py_TPFLAGS_METHOD_DESCRIPTOR,
                                  launch_slots};
static PyType_Spec bound_spec = {"kvtrace.capture._hot.BoundLaunch", sizeof(bound_launch), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON,
                                 bound_slots};
static PyType_Spec probe_spec = {"kvtrace.capture._hot.GridProbe", sizeof(grid_probe), 0,
                                 Py_TPFLAGS_DEFAULT | NOT_MADE_IN_PYTHON, probe_slots};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_hot",
                                        "The launch hot path in C; see hot.py.", -1, NULL};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
  if (!type) return NULL;
  if (PyModule_AddObjectRef(module, name, type)) {
    Py_DECREF(type);
    return NULL;
  }
  return (PyTypeObject *)type;
}

PyMODINIT_FUNC PyInit__hot(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  name_grid = PyUnicode_InternFromString("grid");
  name_warmup = PyUnicode_InternFromString("warmup");
  name_new_kernel = PyUnicode_InternFromString("new_kernel");
  name_new_call = PyUnicode_InternFromString("new_call");
  name_launchers = PyUnicode_InternFromString("launchers");
  name_stream = PyUnicode_InternFromString("stream");
  recorder_type = add_type(module, &recorder_spec, "Recorder");
  launch_type = add_type(module, &launch_spec, "LaunchFunction");
  bound_type = add_type(module, &bound_spec, "BoundLaunch");
  probe_type = add_type(module, &probe_spec, "GridProbe");
  if (PyErr_Occurred()) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
