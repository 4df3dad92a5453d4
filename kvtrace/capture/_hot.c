/* The launch hot path in C: same behavior as hot.py, whose comments describe it; tests compare both.
 *
 * Stable Python ABI (3.11), so one build serves every later version. Tensors are read through
 * DLPack's C exchange API (dlpack.h, version 1.3: `__dlpack_c_exchange_api__` on the tensor type, a
 * capsule named "dlpack_exchange_api"), which fills a DLTensor from a Python tensor without torch's
 * headers and without keeping the tensor alive.
 *
 * Owns what _hot_state.h names, and the types, of which the process has one each, under Python's lock:
 * every function here runs with it, but those of _hot_spool.h and _hot_signal.h that say otherwise. Python may
 * run inside a callback (a new kernel or call, an uncommon argument) and so let other threads run; no
 * pointer that was looked up before a callback is used after the callback. A build of Python without
 * the GIL cannot load this extension, and uses hot.py.
 *
 * Identity: the metadata of a launch is written as 64-bit words. Equal words mean an equal call; the
 * table compares all words, so two calls whose hashes collide stay distinct.
 */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_hot_collector.h"
#include "_hot_direct.h"
#include "_hot_rows.h"
#include "_hot_spool.h"

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
  self->addresses.noted = NOT_KEPT;
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
  void *block = self->kernel_block;
  self->kernels = self->kernel_block = NULL;
  self->kernel_slots = self->kernel_used = 0;
  for (size_t i = 0; i < slots; i++)
    if (kernels[i].object && kernels[i].object != GONE) {
      Py_XDECREF(kernels[i].reference);
      Py_XDECREF(kernels[i].look);
    }
  PyMem_Free(block);
  calls_clear(self);
  rows_clear(self);
  addresses_clear(&self->addresses);
}

static int recorder_traverse(PyObject *object, visitproc visit, void *arg) {
  recorder *self = (recorder *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->describe);
  Py_VISIT(self->problem);
  Py_VISIT(self->capsule);
  Py_VISIT(self->tensor_types);
  for (size_t i = 0; i < self->kernel_slots; i++)
    if (self->kernels[i].object && self->kernels[i].object != GONE) {
      Py_VISIT(self->kernels[i].reference);
      Py_VISIT(self->kernels[i].look);
    }
  for (size_t i = 0; i < CONSTANTS; i++) Py_VISIT(self->constants[i].object);
  for (size_t i = 0; i < self->kind_count; i++) Py_VISIT(self->kinds[i].type);
  return 0;
}

static int recorder_clear(PyObject *object) {
  recorder *self = (recorder *)object;
  self->active = 0;
  spool_end(self, 0);
  forget(self);
  for (size_t i = 0; i < CONSTANTS; i++) {
    Py_CLEAR(self->constants[i].object);
    Py_CLEAR(self->constants[i].identity);
  }
  self->constant_count = 0;
  while (self->kind_count) {
    struct kind kind = self->kinds[--self->kind_count];
    Py_DECREF((PyObject *)kind.type);
    Py_XDECREF(kind.fields);
  }
  return 0;
}

static void recorder_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  recorder *self = (recorder *)object;
  PyObject_GC_UnTrack(object);
  recorder_clear(object);
  PyMem_Free(self->spare);
  PyMem_Free(self->addresses.counts);
  PyMem_Free(self->addresses.values);
  for (size_t i = 0; i < NAME_SLOTS; i++) Py_XDECREF(self->name_slots[i].object);
  Py_XDECREF(self->names);
  Py_XDECREF(self->describe);
  Py_XDECREF(self->problem);
  Py_XDECREF(self->capsule);
  Py_XDECREF(self->tensor_types);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

/* `Recorder.wrap(function, adapter)` and `Recorder.wrap_choosing(function, adapter, uncommon)`. */
static PyObject *recorder_wrap(PyObject *self, PyObject *args) {
  PyObject *function, *adapter, *uncommon = NULL;
  if (!PyArg_ParseTuple(args, "OO|O:wrap", &function, &adapter, &uncommon)) return NULL;
  descrgetfunc bind = (descrgetfunc)PyType_GetSlot(Py_TYPE(function), Py_tp_descr_get);
  if (!bind || (uncommon && !PyType_GetSlot(Py_TYPE(uncommon), Py_tp_descr_get))) {
    PyErr_SetString(PyExc_TypeError, "only a function that can be a method is wrapped");
    return NULL;
  }
  PyObject *references[] = {self, function, adapter, uncommon};
  launch_function *launch = owner_new(launch_type, sizeof *launch, 4, references);
  if (launch) launch->bind = bind;
  return (PyObject *)launch;
}

static PyObject *recorder_record(PyObject *self, PyObject *args) {
  PyObject *adapter, *owner, *kernel, *grid, *given, *kwargs;
  long long enter, leave;
  if (!PyArg_ParseTuple(args, "OOOOO!O!LL:record", &adapter, &owner, &kernel, &grid, &PyTuple_Type,
                        &given, &PyDict_Type, &kwargs, &enter, &leave))
    return NULL;
  if (record((recorder *)self, adapter, owner, kernel, grid, given, 0, kwargs, NULL, enter,
             leave))
    return NULL;
  Py_RETURN_NONE;
}

/* What C reads of a tensor; None without an exchange API. */
SELDOM static PyObject *recorder_reads(PyObject *object, PyObject *value) {
  recorder *self = (recorder *)object;
  dl_tensor tensor;
  if (!self->exchange) Py_RETURN_NONE;
  if (self->exchange->view(value, &tensor)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a tensor cannot be viewed");
    return NULL;
  }
  int most = tensor.dimensions > 0 && tensor.dimensions <= MOST_DIMENSIONS ? tensor.dimensions : 0;
  PyObject *shape = PyTuple_New(most), *strides = PyTuple_New(most);
  for (int i = 0; shape && strides && i < most; i++) {
    PyObject *size = PyLong_FromLongLong(tensor.shape[i]);
    PyObject *step = PyLong_FromLongLong(tensor.strides ? tensor.strides[i] : 0);
    if (!size || PyTuple_SetItem(shape, i, size)) Py_CLEAR(shape);
    if (!step || PyTuple_SetItem(strides, i, step)) Py_CLEAR(strides);
  }
  return Py_BuildValue("(KiiiiNN)", (unsigned long long)(uintptr_t)tensor.data + tensor.byte_offset,
                       (int)tensor.device.type, (int)tensor.dtype.code, (int)tensor.dtype.bits,
                       (int)tensor.dtype.lanes, shape, strides);
}

static PyObject *recorder_append(PyObject *self, PyObject *args) {
  long long call, enter, leave, stream = 0;
  int device = -1;
  if (!PyArg_ParseTuple(args, "LLL|iL:append", &call, &enter, &leave, &device, &stream))
    return NULL;
  ((recorder *)self)->addresses.noted = NOT_KEPT;
  append_row((recorder *)self, call, enter, leave, device, (void *)(intptr_t)stream, 0);
  Py_RETURN_NONE;
}

static PyObject *recorder_tag(PyObject *self, PyObject *number) {
  (void)self;
  long long contents = PyLong_AsLongLong(number);
  if (contents == -1 && PyErr_Occurred()) return NULL;
  renew_thread_facts();
  int64_t before = thread_facts.contents;
  thread_facts.contents = contents;
  return PyLong_FromLongLong(before);
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
  spool_lock(self);
  if (self->spool) spool_take(self);
  spool_unlock(self);
  size_t count = (size_t)self->pending + (self->last ? rows_in(self, self->last) : 0);
  PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(struct row)));
  if (!rows) return NULL;
  char *to = PyBytes_AsString(rows);
  for (struct chunk *chunk = self->first; chunk; chunk = chunk->next) {
    size_t size = rows_in(self, chunk) * sizeof(struct row);
    memcpy(to, chunk->rows, size);
    to += size;
  }
  spool_lock(self);
  self->drained += (int64_t)count;
  rows_clear(self);
  spool_unlock(self);
  return rows;
}

static PyObject *recorder_forget(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  spool_end(self, 0);
  forget(self);
  uncounted_renew();
  self->dropped = self->overflows = self->new_ns = self->timed = self->timed_ns = 0;
  self->ending = 0;
  generation++;
  Py_RETURN_NONE;
}

static PyObject *recorder_kernel_died(PyObject *object, PyObject *reference) {
  recorder *self = (recorder *)object;
  for (size_t i = 0; i < self->kernel_slots; i++) {
    if (self->kernels[i].object == NULL || self->kernels[i].object == GONE) continue;
    if (self->kernels[i].reference != reference) continue;
    PyObject *look = self->kernels[i].look;
    self->kernels[i].object = GONE;
    self->kernels[i].reference = self->kernels[i].look = NULL;
    Py_DECREF(reference);
    Py_XDECREF(look);
    break;
  }
  Py_RETURN_NONE;
}

static PyObject *recorder_end(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  self->ending = self->active;
  self->active = 0;
  Py_RETURN_NONE;
}

static PyObject *get_costs(PyObject *object, void *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  return Py_BuildValue("(LLLL)", (long long)self->new_ns, (long long)self->timed,
                       (long long)self->timed_ns, (long long)self->quickest_ns);
}

static PyObject *get_launching(PyObject *self, void *unused) {
  (void)self;
  (void)unused;
  return PyLong_FromVoidPtr(thread_facts.launching);
}

static int set_launching(PyObject *self, PyObject *value, void *unused) {
  (void)self;
  (void)unused;
  void *address = value ? PyLong_AsVoidPtr(value) : NULL;
  if (!address && PyErr_Occurred()) return -1;
  thread_facts.launching = address;
  return 0;
}

/* ---- types and module ------------------------------------------------------------------------- */

static PyMethodDef recorder_methods[] = {
    {"wrap", recorder_wrap, METH_VARARGS, "Wrap a method that launches; see hot.Recorder.wrap."},
    {"wrap_choosing", recorder_wrap, METH_VARARGS,
     "Wrap a method that launches with a launcher it chooses; see hot.Recorder.wrap_choosing."},
    {"looks", recorder_looks, METH_VARARGS, "Make the copier of tensors; see copied_contents.py."},
    {"look", recorder_look, METH_VARARGS, "Make the inspector of a kernel's launches."},
    {"wrap_getitem", recorder_wrap_getitem, METH_VARARGS,
     "Wrap a method that returns a launcher; see hot.Recorder.wrap_getitem."},
    {"watched_property", recorder_watched_property, METH_VARARGS,
     "Make the property whose launchers inspect first; see launchers.py."},
    {"record", recorder_record, METH_VARARGS, "Record a launch; see hot.Recorder.record."},
    {"reads", recorder_reads, METH_O,
     "Return (address, device's kind, type's code, bits, lanes, shape, strides) as C reads a tensor."},
    {"append", recorder_append, METH_VARARGS, "Append a launch; see hot.Recorder.append."},
    {"tag", recorder_tag, METH_O, "Set the number of the current launch's copies."},
    {"swap_phase", recorder_swap_phase, METH_O, "Set the thread's phase; return the previous one."},
    {"drain", recorder_drain, METH_NOARGS,
     "Return and remove the waiting launches, as packed rows."},
    {"place", recorder_place, METH_O, "Say where arguments point; see hot.Recorder.place."},
    {"drain_addresses", recorder_drain_addresses, METH_O,
     "Return and remove the addresses of the first launches."},
    {"spool_begin", recorder_spool_begin, METH_VARARGS, "Begin a spool; see spool.py."},
    {"spool_add", recorder_spool_add, METH_O, "Write a frame's content to the spool."},
    {"spool_write", recorder_spool_write, METH_NOARGS,
     "Return once all that was added is written, or after a limited time."},
    {"spool_switch", recorder_spool_switch, METH_NOARGS,
     "Write to the second of the spool's files from now on."},
    {"spool_empty", recorder_spool_empty, METH_NOARGS,
     "Empty the file that was written before the switch."},
    {"spool_end", recorder_spool_end, METH_NOARGS,
     "Write waiting records and close the spool's files."},
    {"end", recorder_end, METH_NOARGS,
     "Stop recording, as the process ends; further launches are counted as dropped."},
    {"forget", recorder_forget, METH_NOARGS, "Forget kernels, calls and launches."},
    {"_kernel_died", recorder_kernel_died, METH_O, "Remove a freed kernel from the table."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef recorder_members[] = {
    {"active", T_BOOL, offsetof(recorder, active), 0, "whether launches are recorded"},
    {"dropped", T_LONGLONG, offsetof(recorder, dropped), READONLY,
     "launches that were not recorded: the store was full, or the process ended"},
    {"overflows", T_LONGLONG, offsetof(recorder, overflows), READONLY,
     "how often the calls were forgotten"},
    {"known_calls", T_PYSSIZET, offsetof(recorder, call_count), READONLY,
     "unique calls that are remembered"},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef recorder_attributes[] = {
    {"keeps_addresses", get_keeps_addresses, set_keeps_addresses,
     "whether the addresses of launches' tensors are kept", NULL},
    {"costs", get_costs, NULL,
     "ns for what is new; launches that were timed, their ns, and ns of the quickest", NULL},
    {"launching", get_launching, set_launching, "whose launch the thread has in flight: its id",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot recorder_slots[] = {{Py_tp_new, recorder_new},
                                       {Py_tp_dealloc, recorder_free},
                                       {Py_tp_traverse, recorder_traverse},
                                       {Py_tp_clear, recorder_clear},
                                       {Py_tp_methods, recorder_methods},
                                       {Py_tp_getset, recorder_attributes},
                                       {Py_tp_members, recorder_members},
                                       {Py_tp_doc, "Maps launches to calls; see hot.Recorder."},
                                       {0, NULL}};

static PyGetSetDef launch_attributes[] = {
    {"__doc__", launch_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef launch_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(launch_function, function), READONLY, "the function that launches"},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot launch_slots[] = {{Py_tp_dealloc, owner_free},
                                     {Py_tp_traverse, owner_traverse},
                                     {Py_tp_clear, launch_clear},
                                     {Py_tp_call, launch_call},
                                     {Py_tp_descr_get, launch_get},
                                     {Py_tp_getattro, launch_attribute},
                                     {Py_tp_getset, launch_attributes},
                                     {Py_tp_members, launch_members},
                                     {0, NULL}};

static PyMemberDef bound_members[] = {
    {"__self__", T_OBJECT, offsetof(bound_launch, self), READONLY, "the owner"},
    {"__func__", T_OBJECT, offsetof(bound_launch, launch), READONLY, "the function"},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot bound_slots[] = {{Py_tp_dealloc, owner_free},
                                    {Py_tp_traverse, owner_traverse},
                                    {Py_tp_call, bound_call},
                                    {Py_tp_getattro, bound_attribute},
                                    {Py_tp_members, bound_members},
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

static PyType_Spec looks_spec = {"kvtrace.capture._hot.Looks", sizeof(looks), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON,
                                 looks_slots};
static PyType_Spec look_spec = {"kvtrace.capture._hot.Look", sizeof(look), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON,
                                look_slots};
static PyType_Spec property_spec = {"kvtrace.capture._hot.LauncherProperty",
                                    sizeof(launcher_property), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON,
                                    property_slots};

static PyType_Spec getter_spec = {"kvtrace.capture._hot.LaunchGetter", sizeof(launch_getter), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON |
                                      Py_TPFLAGS_METHOD_DESCRIPTOR,
                                  getter_slots};
static PyType_Spec direct_spec = {"kvtrace.capture._hot.DirectLaunch", sizeof(direct_launch), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | NOT_MADE_IN_PYTHON,
                                  direct_slots};

static PyTypeObject *recorder_type;

static const struct {
  const char *name;
  PyType_Spec *spec;
  PyTypeObject **type;
} types[] = {
    {"Recorder", &recorder_spec, &recorder_type}, {"LaunchFunction", &launch_spec, &launch_type},
    {"BoundLaunch", &bound_spec, &bound_type},    {"GridProbe", &probe_spec, &probe_type},
    {"Looks", &looks_spec, &looks_type},          {"Look", &look_spec, &look_type},
    {"LaunchGetter", &getter_spec, &getter_type}, {"DirectLaunch", &direct_spec, &direct_type},
    {"LauncherProperty", &property_spec, &property_type},
};

static const struct {
  const char *text;
  PyObject **name;
} names[] = {
    {"grid", &name_grid},
    {"warmup", &name_warmup},
    {"new_kernel", &name_new_kernel},
    {"new_call", &name_new_call},
    {"launchers", &name_launchers},
    {"stream", &name_stream},
    {"_kvtrace_watch", &name_watch},
    {"data_ptr", &read_names[0]},
    {"shape", &read_names[1]},
    {"stride", &read_names[2]},
    {"dtype", &read_names[3]},
    {"device", &read_names[4]},
    {"untyped_storage", &name_storage},
    {"data_ptr", &name_data_ptr},
    {"nbytes", &name_nbytes},
    {"torch._C", &name_torch_core},
    {"DisableTorchFunction", &name_guard},
    {"__enter__", &name_enter},
    {"__exit__", &name_exit},
    {"src", &name_src},
    {"fn", &name_fn},
};

/* Makes types and names, of which the process has one: a module that is imported again has the same. */
static int make_once(PyObject *module) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!*names[i].name && !(*names[i].name = PyUnicode_InternFromString(names[i].text))) return -1;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (!*types[i].type)
      *types[i].type = (PyTypeObject *)PyType_FromModuleAndSpec(module, types[i].spec, NULL);
    if (!*types[i].type ||
        PyModule_AddObjectRef(module, types[i].name, (PyObject *)*types[i].type))
      return -1;
  }
  return 0;
}

#define FIELD_NAME(name) #name " "

static int fill_module(PyObject *module) {
  static int follows_forks;
  if (checked_at_import()) return -1;
  if (!follows_forks && pthread_atfork(NULL, NULL, spools_leave)) {
    PyErr_SetString(PyExc_OSError, "forks cannot be followed");
    return -1;
  }
  follows_forks = 1;
  return make_once(module) || PyModule_AddFunctions(module, row_functions) ||
                 PyModule_AddFunctions(module, collector_functions) ||
                 PyModule_AddStringConstant(module, "FIELDS", LAUNCH_FIELDS(FIELD_NAME, FIELD_NAME))
             ? -1
             : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)(intptr_t)fill_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_hot", "The launch hot path in C; see hot.py.",
    0, signal_functions, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__hot(void) { return PyModuleDef_Init(&definition); }
