/* Work that Python's garbage collector does not count. Included only by _hot.c.
 *
 * CPython begins a full collection once what became old since the last one exceeds a quarter of what the
 * last one left, and each takes a fraction of a second in a large program. Modules and caches of the
 * recording become old, too, and would bring the next one forward. So while the recording works, no full
 * collection begins by itself, and afterwards the collector's counts are those of before.
 *
 * The counts have no API. They lie beside the addresses of gc.garbage and gc.callbacks in the
 * interpreter's state, where they are searched for, and tried before use: 1,000 new lists, which a
 * collection makes old, have to appear in the count. The program's settings (gc.disable, gc.freeze,
 * thresholds) are neither read nor changed.
 *
 * Owns where the counts lie, and what they were before the work in progress, under Python's lock.
 */
#ifndef KVTRACE_HOT_COLLECTOR_H
#define KVTRACE_HOT_COLLECTOR_H

#include "_hot_state.h"

#include <string.h>

/* New lists by which the counts are tried. */
enum { TRIED_LISTS = 1000 };
/* What no program makes old between two full collections. */
#define OUT_OF_REACH ((Py_ssize_t)1 << 60)

static struct {
  struct generation *generations;
  void **frozen;
  Py_ssize_t *total, *pending; /* objects that the last full collection left; that became old since */
  int depth;                   /* nested and concurrent pieces of work */
  Py_ssize_t pending_before;
  int counts_before[GENERATIONS];
} collector;

static void uncounted_begin(void) {
  if (!collector.pending || collector.depth++) return;
  for (int i = 0; i < GENERATIONS; i++) collector.counts_before[i] = collector.generations[i].count;
  collector.pending_before = *collector.pending;
  *collector.pending -= OUT_OF_REACH;
}

static void uncounted_end(void) {
  if (!collector.pending || --collector.depth) return;
  if (*collector.pending > -OUT_OF_REACH / 2) return; /* the program called gc.collect() */
  *collector.pending = collector.pending_before;
  for (int i = 0; i < GENERATIONS; i++)
    if (collector.generations[i].count > collector.counts_before[i])
      collector.generations[i].count = collector.counts_before[i];
}

/* Ends the work that other threads of the parent were doing at a fork. */
static void uncounted_renew(void) {
  if (!collector.depth) return;
  collector.depth = 1;
  uncounted_end();
}

/* 1 if new lists appear in the count of what became old; -1 with an exception. */
static int collector_counts(PyObject *gc, const Py_ssize_t *total, const Py_ssize_t *pending) {
  PyObject *lists = PyList_New(0), *collected = NULL;
  for (int i = 0; lists && i < TRIED_LISTS; i++) {
    PyObject *list = PyList_New(0);
    if (!list || PyList_Append(lists, list)) Py_CLEAR(lists);
    Py_XDECREF(list);
  }
  Py_ssize_t total_before = *total, before = *pending;
  if (lists) collected = PyObject_CallMethod(gc, "collect", "i", 1);
  int counts = *total == total_before && *pending >= before + TRIED_LISTS;
  int failed = !collected;
  Py_XDECREF(lists);
  Py_XDECREF(collected);
  return failed ? -1 : counts;
}

/* 1 if the collector's counts have this layout: they are stored; -1 with an exception. */
static int tried(PyObject *gc, void **garbage, const struct collector_layout *layout, const int *limits) {
  struct generation *of = (struct generation *)(garbage - layout->generations_before);
  Py_ssize_t *total = (Py_ssize_t *)(garbage + layout->total_behind), *pending = total + 1;
  Py_ssize_t pending_before = *pending;
  int counts[GENERATIONS];
  for (int g = 0; g < GENERATIONS; g++) {
    if (of[g].threshold != limits[g]) return 0;
    counts[g] = of[g].count;
  }
  int found = collector_counts(gc, total, pending);
  if (found <= 0) return found;
  *pending = pending_before;
  for (int g = 0; g < GENERATIONS; g++) of[g].count = counts[g];
  collector.generations = of;
  collector.frozen = garbage - layout->frozen_before;
  collector.total = total;
  collector.pending = pending;
  return 1;
}

/* Returns whether the counts were found, in this process once. */
static PyObject *find_collector(PyObject *module, PyObject *gc) {
  (void)module;
  if (collector.pending) Py_RETURN_TRUE;
  PyObject *garbage = PyObject_GetAttrString(gc, "garbage");
  PyObject *callbacks = PyObject_GetAttrString(gc, "callbacks");
  PyObject *thresholds = PyObject_CallMethod(gc, "get_threshold", NULL);
  int limits[GENERATIONS], found = 0;
  if (!garbage || !callbacks || !thresholds ||
      !PyArg_ParseTuple(thresholds, "iii", &limits[0], &limits[1], &limits[2]))
    goto done;
  void **word = (void **)PyInterpreterState_Get(), **end = word + STATE_WORDS;
  for (word += collector_layouts[0].generations_before; word < end; word++)
    if (word[0] == garbage && word[1] == callbacks) break;
  for (size_t i = 0; word < end && !found && i < sizeof collector_layouts / sizeof *collector_layouts; i++)
    found = tried(gc, word, &collector_layouts[i], limits);
done:
  Py_XDECREF(garbage);
  Py_XDECREF(callbacks);
  Py_XDECREF(thresholds);
  if (PyErr_Occurred()) return NULL;
  return PyBool_FromLong(found);
}

static PyObject *begin_uncounted(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  uncounted_begin();
  Py_RETURN_NONE;
}

static PyObject *end_uncounted(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  uncounted_end();
  Py_RETURN_NONE;
}

/* Frozen objects of a type; no function of Python's returns them, and none of the program's is called. */
static PyObject *frozen_objects(PyObject *module, PyObject *type) {
  (void)module;
  if (!PyType_Check(type)) {
    PyErr_SetString(PyExc_TypeError, "a type is needed");
    return NULL;
  }
  PyObject *found = PyList_New(0);
  if (!found || !collector.pending) return found;
  for (void **entry = collector.frozen[0]; entry != collector.frozen; entry = entry[0]) {
    PyObject *object = (PyObject *)(entry + 2);
    if (PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)type) && PyList_Append(found, object)) {
      Py_DECREF(found);
      return NULL;
    }
  }
  return found;
}

static PyObject *old_objects(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  if (!collector.pending) Py_RETURN_NONE;
  return Py_BuildValue("(nn)", *collector.total, *collector.pending);
}

static PyMethodDef collector_functions[] = {
    {"find_collector", find_collector, METH_O,
     "find_collector(gc) -> bool: find the counts of Python's garbage collector."},
    {"begin_uncounted", begin_uncounted, METH_NOARGS,
     "Begin work that the collector does not count, and in which no full collection begins."},
    {"end_uncounted", end_uncounted, METH_NOARGS, "End such work."},
    {"frozen_objects", frozen_objects, METH_O,
     "frozen_objects(type) -> list: what gc.freeze() has hidden, of a type and its subtypes."},
    {"old_objects", old_objects, METH_NOARGS,
     "old_objects() -> (int, int) | None: objects that the last full collection left, and objects that\n"
     "became old since; None if the counts were not found."},
    {NULL, NULL, 0, NULL}};

#endif
