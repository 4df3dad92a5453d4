/* Rows of operations and allocations as columns, for operator_rows.py. Included only by _operators.c.
 *
 * Owns what was taken and not given to Python yet, under Python's lock: no thread of torch's adds to it.
 */
#ifndef KVTRACE_MEMORY_COLUMNS_H
#define KVTRACE_MEMORY_COLUMNS_H

#include <stddef.h>

/* A new bytes object of 64-bit integers: a field of each of `count` structures. */
static PyObject *column(const void *structures, size_t count, size_t size, size_t field) {
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int64_t)));
  if (!bytes) return NULL;
  char *to = PyBytes_AsString(bytes);
  const char *from = (const char *)structures + field;
  for (size_t i = 0; i < count; i++, from += size)
    memcpy(to + i * sizeof(int64_t), from, sizeof(int64_t));
  return bytes;
}

#define ROW_COLUMN(name) column(taken, count, sizeof *taken, offsetof(struct row, name))
#define ALLOCATION_COLUMN(name) \
  column(taken, count, sizeof *taken, offsetof(struct allocation, name))

static PyObject *operation_columns(const struct row *taken, size_t count,
                                   const struct words *addresses) {
  PyObject *offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((count + 1) * sizeof(int32_t)));
  if (!offsets) return NULL;
  int32_t *to = (int32_t *)(void *)PyBytes_AsString(offsets), sum = 0;
  for (size_t i = 0; i < count; i++) {
    to[i] = sum;
    sum += (int32_t)taken[i].addresses;
  }
  to[count] = sum;
  return Py_BuildValue("(NNNNNNy#)", ROW_COLUMN(operation), ROW_COLUMN(begin), ROW_COLUMN(end),
                       ROW_COLUMN(thread), ROW_COLUMN(graph), offsets,
                       addresses->data ? (char *)addresses->data : "",
                       (Py_ssize_t)(addresses->count * sizeof(int64_t)));
}

static PyObject *allocation_columns(const struct allocation *taken, size_t count) {
  return Py_BuildValue("(NNNNNNN)", ALLOCATION_COLUMN(address), ALLOCATION_COLUMN(bytes),
                       ALLOCATION_COLUMN(begin), ALLOCATION_COLUMN(end), ALLOCATION_COLUMN(thread),
                       ALLOCATION_COLUMN(stack), ALLOCATION_COLUMN(device));
}

/* What Python gets at once. Where no memory is left to give it, it stays for the next time. */
static struct {
  struct row *rows;
  struct allocation *allocations;
  struct words addresses;
  struct text unique, stacks;
  size_t row_count, allocation_count;
  long long lost;
  int is_left;
} taken;

static void taken_free(void) {
  free(taken.rows);
  free(taken.allocations);
  free(taken.addresses.data);
  free(taken.unique.data);
  free(taken.stacks.data);
  memset(&taken, 0, sizeof taken);
}

/* Takes all that was recorded; with `all` also memory that is not freed. */
static void take_recorded(int all) {
  LOCK();
  if (all && alive) close_alive();
  taken.rows = rows;
  taken.allocations = allocations;
  taken.addresses = values;
  taken.unique = operators;
  taken.stacks = news;
  taken.row_count = rows_waiting;
  taken.allocation_count = allocations_waiting;
  taken.lost = lost_calls + stacks_lost;
  taken.is_left = 1;
  rows = NULL;
  allocations = NULL;
  values = (struct words){0};
  operators = news = (struct text){0};
  rows_waiting = allocations_waiting = 0;
  lost_calls = stacks_lost = 0;
  UNLOCK();
}

static PyObject *take(PyObject *module, PyObject *all) {
  (void)module;
  int takes_all = PyObject_IsTrue(all), was_left = taken.is_left;
  if (takes_all < 0) return NULL;
  if (!was_left) take_recorded(takes_all);
  PyObject *result = Py_BuildValue(
      "(y#y#NNLO)", taken.stacks.data ? taken.stacks.data : "", (Py_ssize_t)taken.stacks.size,
      taken.unique.data ? taken.unique.data : "", (Py_ssize_t)taken.unique.size,
      operation_columns(taken.rows, taken.row_count, &taken.addresses),
      allocation_columns(taken.allocations, taken.allocation_count), taken.lost,
      was_left ? Py_True : Py_False);
  if (result) taken_free();
  return result;
}

#endif
