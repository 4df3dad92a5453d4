/* Choice of launches, and of their arguments, whose contents are recorded; same behavior as
 * backends/compiled_kernels/contents_to_copy.py, which has the reasons. Included only by _hot.c.
 *
 * Owns the targets of each kernel and the schedule of its looks, under Python's lock. */
#ifndef KVTRACE_HOT_LOOK_H
#define KVTRACE_HOT_LOOK_H

#include "_hot_looks.h"

/* A tensor among a launch's arguments: position in the signature, index among the arguments, and
 * indices within tuples. */
struct target {
  int place;
  Py_ssize_t index;
  PyObject *within; /* owned tuple; NULL: the argument itself */
};

/* Schedule of a kernel's inspected launches, and the tensors to copy. For Triton's launches
 * the object is also the launcher that records contents before it calls Triton's launcher. */
typedef struct {
  OWNER_HEAD
  recorder *recorder;
  looks *looks;
  PyObject *watch, *launcher; /* launcher: NULL with `wrap_choosing` */
  void *owner;                /* the owner that a launch must have */
  Py_ssize_t count;           /* number of the launcher's own arguments */
  int64_t wait, taken, refused;
  char settled;
  size_t target_count;
  struct target *targets;
} look;

static PyTypeObject *look_type;

/* ---- schedule --------------------------------------------------------------------------------- */

/* 1 if each launch has to be inspected before it runs: which tensors it writes is not known yet. */
static int is_early(const look *self) {
  return !self->settled && self->taken < self->looks->most_early;
}

/* Sets the number of launches to skip, which grows with each inspected launch. */
static void look_took(look *self, int on_host) {
  const looks *by = self->looks;
  self->taken++;
  if (on_host) return; /* only the time budget limits copies of host memory */
  if (self->refused) self->refused--;
  int64_t beyond = self->taken - by->in_a_row, distance = 1;
  if (beyond >= 0 && !is_early(self)) {
    int64_t doublings = beyond / by->step + 1;
    distance = doublings < 40 ? 1ll << doublings : by->farthest;
  }
  if (distance < 1ll << self->refused) distance = 1ll << self->refused;
  self->wait = (distance < by->farthest ? distance : by->farthest) - 1;
}

static void look_refused(look *self, int in_trials) {
  if (in_trials) {
    self->wait = self->looks->in_trials;
    return;
  }
  self->looks->refused++;
  if (self->refused < self->looks->most_refused) self->refused++;
  self->wait = (1ll << self->refused) - 1;
}

/* The value of a target among a launch's arguments; borrowed, NULL if there is none. */
static PyObject *target_value(const struct target *target, PyObject *args, Py_ssize_t first) {
  if (first + target->index >= Py_SIZE(args)) return NULL;
  PyObject *value = PyTuple_GetItem(args, first + target->index);
  for (Py_ssize_t i = 0; target->within && i < Py_SIZE(target->within); i++) {
    Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GetItem(target->within, i)); /* not negative */
    int is_list = PyList_Check(value);
    if (!is_list && !PyTuple_Check(value)) return NULL;
    if (index >= Py_SIZE(value)) return NULL;
    value = is_list ? PyList_GetItem(value, index) : PyTuple_GetItem(value, index);
  }
  return value;
}

/* -1 with an exception. */
static int is_on_host(looks *self, PyObject *value) {
  dl_tensor seen;
  PyObject *tensor = tensor_of(self, value);
  int found = tensor && !self->exchange->view(tensor, &seen) &&
              (seen.device.type == DL_CPU || seen.device.type == self->host_kind);
  Py_XDECREF(tensor);
  return drop_exception() ? -1 : found;
}

/* Inspects a launch before it is made, when the wait is over. */
static int64_t look_now(look *self, PyObject *args, Py_ssize_t first, void *stream) {
  looks *by = self->looks;
  if (!self->target_count) {
    self->wait = by->farthest;
    return 0;
  }
  int64_t begin = elapsed();
  PyObject *values[TARGETS_LIMIT];
  int places[TARGETS_LIMIT], on_host = 1;
  size_t count = 0;
  for (size_t i = 0; i < self->target_count; i++) {
    PyObject *value = target_value(&self->targets[i], args, first);
    if (!value) continue;
    Py_INCREF(value); /* other threads may run, and change a list of them */
    places[count] = self->targets[i].place;
    values[count++] = value;
  } /* from here on other threads may run, and change the targets */
  for (size_t i = 0; i < count && on_host > 0; i++) on_host = is_on_host(by, values[i]);
  int trial = !on_host && thread_facts.generation == generation &&
              thread_facts.phase == AUTOTUNE_PHASE;
  int64_t number = 0;
  if (on_host < 0) {
    number = -1;
  } else if (!self->taken || (!trial && (is_early(self) || has_time(by)))) {
    look_took(self, on_host);
    number = take(by, values, places, count, stream, self->watch, 0);
  } else {
    look_refused(self, trial);
  }
  for (size_t i = 0; i < count; i++) Py_DECREF(values[i]);
  by->spent += elapsed() - begin;
  return number;
}

/* ---- a look, for Python ----------------------------------------------------------------------- */

static void targets_free(struct target *targets, size_t count) {
  for (size_t i = 0; i < count; i++) Py_XDECREF(targets[i].within);
  PyMem_Free(targets);
}

/* Replaces the targets by a sequence of (place, (index, index within, …)). */
static int look_set_targets(look *self, PyObject *listed) {
  PyObject *held = PySequence_Tuple(listed);
  if (!held) return -1;
  size_t count = (size_t)Py_SIZE(held);
  struct target *made = count > TARGETS_LIMIT ? NULL : PyMem_Calloc(count + 1, sizeof *made);
  if (!made) {
    if (count > TARGETS_LIMIT)
      PyErr_SetString(PyExc_ValueError, "too many arguments to look at");
    else
      PyErr_NoMemory();
    Py_DECREF(held);
    return -1;
  }
  int failed = 0;
  for (size_t i = 0; i < count && !failed; i++) {
    PyObject *path;
    failed = !PyArg_ParseTuple(PyTuple_GetItem(held, (Py_ssize_t)i), "iO!", &made[i].place,
                               &PyTuple_Type, &path);
    if (failed) break;
    made[i].index = Py_SIZE(path) ? PyLong_AsSsize_t(PyTuple_GetItem(path, 0)) : -1;
    if (Py_SIZE(path) > 1) made[i].within = PyTuple_GetSlice(path, 1, Py_SIZE(path));
    for (Py_ssize_t at = 0; at < Py_SIZE(path); at++)
      failed |= PyLong_AsSsize_t(PyTuple_GetItem(path, at)) < 0;
    failed |= made[i].index < 0 || PyErr_Occurred() != NULL;
    if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such argument");
  }
  Py_DECREF(held);
  if (failed) {
    targets_free(made, count);
    return -1;
  }
  struct target *before = self->targets;
  size_t count_before = self->target_count;
  self->targets = made;
  self->target_count = count;
  targets_free(before, count_before);
  return 0;
}

/* Replaces the targets by those computed from the kernel's IR. */
static PyObject *look_settle(PyObject *object, PyObject *listed) {
  look *self = (look *)object;
  if (look_set_targets(self, listed)) return NULL;
  self->settled = 1;
  Py_RETURN_NONE;
}

/* Inspects a launch with these arguments if it is due; returns the number of the copy. */
static PyObject *look_at(PyObject *object, PyObject *args) {
  look *self = (look *)object;
  PyObject *given;
  long long stream;
  if (!PyArg_ParseTuple(args, "O!L:at", &PyTuple_Type, &given, &stream)) return NULL;
  int64_t number = 0;
  if (self->wait)
    self->wait--;
  else
    number = look_now(self, given, 0, (void *)(intptr_t)stream);
  return number < 0 ? NULL : PyLong_FromLongLong(number);
}

static int look_clear(PyObject *object) {
  look *self = (look *)object;
  PyObject *watch = self->watch; /* calls during garbage collection still need the rest */
  Py_INCREF(Py_None);
  self->watch = Py_None;
  Py_XDECREF(watch);
  return 0;
}

static void look_free(PyObject *object) {
  look *self = (look *)object;
  PyObject_GC_UnTrack(object);
  targets_free(self->targets, self->target_count);
  owner_free(object);
}

/* `Recorder.look(looks, watch, targets, launcher=None, count=0, owner=0)`. */
SELDOM static PyObject *recorder_look(PyObject *object, PyObject *args) {
  PyObject *by, *watch, *targets, *launcher = NULL;
  Py_ssize_t count = 0;
  unsigned long long owner = 0;
  if (!PyArg_ParseTuple(args, "O!OO|OnK:look", looks_type, &by, &watch, &targets, &launcher, &count,
                        &owner))
    return NULL;
  PyObject *references[] = {object, by, watch, launcher == Py_None ? NULL : launcher};
  look *self = owner_new(look_type, sizeof *self, 4, references);
  if (!self) return NULL;
  self->count = count;
  self->owner = (void *)(uintptr_t)owner;
  if (look_set_targets(self, targets)) Py_CLEAR(self);
  return (PyObject *)self;
}

static PyMethodDef look_methods[] = {
    {"settle", look_settle, METH_O,
     "Replace the targets by the given ones, computed from the kernel's IR."},
    {"at", look_at, METH_VARARGS,
     "Inspect a launch if it is due; return the copies' number, or 0."},
    {NULL, NULL, 0, NULL}};

#endif
