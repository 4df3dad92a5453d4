/* Conversion of launch rows to columns; same behavior as schema/hot_rows.py. Included only by _hot.c.
 *
 * Owns nothing: bytes in, new objects out, under Python's lock. */
#ifndef KVTRACE_HOT_ROWS_H
#define KVTRACE_HOT_ROWS_H

#include "_hot_state.h"

#include <string.h>

enum { GRAPH_SHIFT = 8, PHASE_MASK = (1 << GRAPH_SHIFT) - 1 };
/* Nanoseconds by which ends of launches may be out of order without a clock set back. */
#define UNEVEN_NS 10000000

/* A new bytes object with the memory `*content`; NULL if memory is lacking. */
static PyObject *new_bytes(size_t size, void *content) {
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  if (bytes) *(char **)content = PyBytes_AsString(bytes);
  return bytes;
}

/* Whether a time is before another one, by more than what a clock that is not set back does. */
static int is_before(int64_t time, int64_t other) {
  return time < other && (uint64_t)other - (uint64_t)time > UNEVEN_NS;
}

/* The rows of a buffer, which may begin anywhere: aligned ones, copied to `*copy` if need be. NULL
 * with an exception. */
static const struct row *aligned_rows(const Py_buffer *given, struct row **copy) {
  *copy = NULL;
  if (!((uintptr_t)given->buf % _Alignof(struct row))) return given->buf;
  *copy = PyMem_Malloc((size_t)given->len + 1);
  if (!*copy) PyErr_NoMemory();
  return *copy ? memcpy(*copy, given->buf, (size_t)given->len) : NULL;
}

/* Each field of rows as a column; the phase without the graph's number, and no end before its begin. */
JOURNALS static PyObject *launch_columns(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer given;
  long long first, last;
  if (!PyArg_ParseTuple(args, "y*LL:launch_columns", &given, &first, &last)) return NULL;
  struct row *copy;
  const struct row *rows = aligned_rows(&given, &copy);
  if (!rows) {
    PyBuffer_Release(&given);
    return NULL;
  }
  size_t count = (size_t)given.len / sizeof(struct row), made = 0;
#define WIDE_COLUMN(name) int64_t *name;
#define NARROW_COLUMN(name) int32_t *name;
#define ONE(name) +1
  struct {
    LAUNCH_FIELDS(WIDE_COLUMN, NARROW_COLUMN)
  } column;
  int64_t *seqs = NULL, *graphs = NULL;
  PyObject *columns = PyTuple_New(0 LAUNCH_FIELDS(ONE, ONE)), *result = NULL;
  PyObject *seq = new_bytes(count * 8, &seqs), *graph = new_bytes(count * 8, &graphs);
  if (!columns || !seq || !graph) goto end;
#define MAKE(name)                                                                 \
  PyObject *bytes_of_##name = new_bytes(count * sizeof *column.name, &column.name); \
  if (!bytes_of_##name || PyTuple_SetItem(columns, (Py_ssize_t)made++, bytes_of_##name)) goto end;
  LAUNCH_FIELDS(MAKE, MAKE)
  int captured = 0, stepped_back = 0;
  for (size_t i = 0; i < count; i++) {
    const struct row *row = rows + i;
    stepped_back |= is_before(row->exit, last) || is_before(row->exit, row->enter);
    last = row->exit;
#define COPY(name) column.name[i] = row->name;
    LAUNCH_FIELDS(COPY, COPY)
    if (row->exit < row->enter) column.exit[i] = row->enter;
    column.phase[i] = row->phase & PHASE_MASK;
    captured |= column.phase[i] == GRAPH_CAPTURE;
    seqs[i] = first + (int64_t)i;
    graphs[i] = row->phase >> GRAPH_SHIFT;
  }
  result = Py_BuildValue("(OOOOO)", columns, seq, graph, captured ? Py_True : Py_False,
                         stepped_back ? Py_True : Py_False);
end:
  Py_XDECREF(columns);
  Py_XDECREF(seq);
  Py_XDECREF(graph);
  PyMem_Free(copy);
  PyBuffer_Release(&given);
  return result;
}

static PyMethodDef row_functions[] = {
    {"launch_columns", launch_columns, METH_VARARGS, "Columns of rows; see hot_rows.py."},
    {NULL, NULL, 0, NULL}};

#endif
