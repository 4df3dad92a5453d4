/* State of a recorder, and objects that own references. Included only by _hot.c.
 *
 * Owns what a recorder has, under Python's lock; its chunks and newest rows are also the spool's. */
#ifndef KVTRACE_HOT_STATE_H
#define KVTRACE_HOT_STATE_H

#include <Python.h>

#include <structmember.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_layouts.h"

/* Sections for rarely executed code, so that a launch loads less code into the caches, and for code of
 * the journal's thread, which is optimized like that of launches. */
#define SELDOM __attribute__((cold, noinline))
#define JOURNALS __attribute__((noinline, section(".text.journal")))
#define PREFETCH(address) __builtin_prefetch(address)

/* Drops an exception that kvtrace's question to an object of the program has raised; returns 0. -1:
 * another one, as Ctrl-C's, stays set for the program. */
SELDOM static int drop_exception(void) {
  if (!PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyErr_Clear();
  return 0;
}

/* ---- objects that own references ---------------------------------------------------------------- */

/* Such an object begins with OWNER_HEAD (how many) and the references, each of which may be NULL. */
#define OWNER_HEAD PyObject_HEAD size_t owned;

/* Read as a pointer to a type of objects elsewhere. */
typedef PyObject *reference __attribute__((may_alias));

struct owner {
  OWNER_HEAD
  reference references[];
};

/* A new object of `size` bytes that the collector tracks: it owns `owned` references, and its other fields are 0. */
static inline void *owner_new(PyTypeObject *type, size_t size, size_t owned, PyObject *const *references) {
  struct owner *made = PyObject_GC_New(struct owner, type);
  if (!made) return NULL;
  memset((char *)made + sizeof(PyObject), 0, size - sizeof(PyObject));
  made->owned = owned;
  for (size_t i = 0; i < owned; i++) {
    Py_XINCREF(references[i]);
    made->references[i] = references[i];
  }
  PyObject_GC_Track(made);
  return made;
}

static int owner_traverse(PyObject *object, visitproc visit, void *arg) {
  struct owner *self = (struct owner *)object;
  Py_VISIT(Py_TYPE(object));
  for (size_t i = 0; i < self->owned; i++) Py_VISIT(self->references[i]);
  return 0;
}

static void owner_free(PyObject *object) {
  struct owner *self = (struct owner *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  for (size_t i = 0; i < self->owned; i++) Py_XDECREF(self->references[i]);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

/* ---- one launch, of the fields that schema/spool.py lists ------------------------------------- */

/* setup.py defines LAUNCH_FIELDS(wide, narrow): wide(enter) wide(exit) … narrow(phase). */
#define WIDE_FIELD(name) int64_t name;
#define NARROW_FIELD(name) int32_t name;
struct row {
  LAUNCH_FIELDS(WIDE_FIELD, NARROW_FIELD)
};

enum { GRAPH_CAPTURE = 3 };
enum { ROWS_IN_CHUNK = 2048, ROWS_LIMIT = 1 << 22 };

/* All but the last are full. */
struct chunk {
  struct chunk *next;
  struct row rows[ROWS_IN_CHUNK];
};

/* The newest launches, in memory that outlives the process; see _hot_spool.h. */
enum { NEWEST_ROWS = 16384 };
struct newest {
  int64_t first, end; /* numbers of the first launch, and of the next one */
  int64_t kind;       /* FRAME_LAUNCHES, which names the layout of rows */
  int64_t unused[5];
  struct row rows[NEWEST_ROWS]; /* a launch is at its number, modulo NEWEST_ROWS */
};

/* A prime, so that every position of a program's period is timed. */
enum { TIMED_EACH = 31, INTERRUPTED = 1000000 };

/* ---- the recorder's state --------------------------------------------------------------------- */

/* One cache line with all that a launch of a stored call reads here, except the call's words. */
struct kernel {
  PyObject *object;    /* address only, not owned; NULL: never used, GONE: removed */
  PyObject *reference; /* owned: a weak reference that unlists it, or the kernel itself */
  PyObject *look; /* owned: inspects launches; None: no inspection; NULL: undecided */
  int64_t id;
  int64_t last_call;     /* the kernel's last call found in the table */
  size_t last_offset;    /* position of that call's words in the arena */
  uint32_t last_length;  /* number of these words; 0: no call yet */
  int32_t device;
  int16_t device_kind;
  int16_t apart; /* its launches go to `uncommon` */
};
#define GONE ((PyObject *)1)
enum { CACHE_LINE = 64 };

struct call {
  uint64_t hash;
  int64_t id;
  size_t offset, length; /* words in the arena; length 0: free */
};

struct constant {
  PyObject *object;   /* owned, so that its address stays its own */
  PyObject *identity; /* owned bytes */
};
enum { CONSTANTS = 256 };

struct name {
  PyObject *object; /* owned, so that its address stays its own */
  int64_t number;
};
enum { NAME_SLOTS = 256, NAMES_LIMIT = 4096 };

/* A type of arguments: tensors that are read as torch's, tuples and lists, and types that are
 * distinguished by fields. */
struct kind {
  PyTypeObject *type; /* owned, so that its address stays its own */
  PyObject *fields;   /* owned tuple of names, or NULL */
  char is_sequence;
};
enum { KINDS = 64 };

/* Addresses of the launches of the waiting rows, one after the other; see _hot_addresses.h. */
struct addresses {
  int32_t *counts; /* of each row */
  int64_t *values;
  size_t rows, row_room, used, room;
  size_t lacking; /* rows that found no memory */
  int32_t noted;  /* addresses of the launch that is recorded next; -1: none */
};

/* Fields that every launch reads come first, to touch few cache lines. */
typedef struct {
  PyObject_HEAD
  char active, keeps_addresses;
  char ending; /* with the process: launches that are not recorded any more are dropped ones */
  int until_timed; /* launches before the next one that is timed */
  PyTypeObject *fast_types[2];
  dl_exchange *exchange;
  int (*capture_info)(void *stream, int *status, uint64_t *graph, void *, void *, void *);
  struct kernel *kernels; /* aligned to a cache line within `kernel_block` */
  size_t kernel_slots;
  uint64_t *arena;
  struct row *row, *row_end; /* next row to write, and end of its chunk */
  struct newest *newest;     /* NULL: no memory outlives the process */
  struct call *calls;
  size_t call_slots, call_count;
  size_t kernel_used, arena_used, arena_size;
  void *kernel_block;
  struct chunk *first, *last, *spare;
  int64_t pending; /* rows of the chunks before the last */
  int64_t max_calls, dropped, overflows;
  struct spool *spool; /* NULL: none */
  int64_t drained;     /* rows that were taken since the spool began */
  PyObject *describe, *problem, *capsule, *tensor_types;
  PyObject *names; /* text of a keyword → its number */
  size_t constant_count, name_count, kind_count;
  struct kind kinds[KINDS];
  struct addresses addresses;
  /* Time of recording in the program's threads: of one launch in TIMED_EACH, and all new kernels. */
  int64_t timed, timed_ns, quickest_ns, new_ns;
  struct name name_slots[NAME_SLOTS];
  struct constant constants[CONSTANTS];
} recorder;

#endif
