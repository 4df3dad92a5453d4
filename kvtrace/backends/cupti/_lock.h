/* The lock of a C file that torch or CUPTI calls in any thread, with or without Python's lock.
 *
 * Owns the lock. It protects the file's state, except what its first lines name. It is held for copies and
 * allocations, never while Python runs or is waited for. A fork waits for it, so that a child, which
 * lacks the thread that may hold it, finds it free and the state whole. Each file that includes this
 * has a lock of its own. */
#ifndef KVTRACE_LOCK_H
#define KVTRACE_LOCK_H

#include <Python.h>

#include <pthread.h>

#include "../../capture/_layouts.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&lock)
#define UNLOCK() pthread_mutex_unlock(&lock)

static void before_fork(void) { LOCK(); }
static void after_fork(void) { UNLOCK(); }

/* Prepares the module at its import: `in_child` unlocks, and forgets what is of the parent. -1 with an
 * exception. A module may be imported again, the handlers stay. */
static int begin_module_once(void (*in_child)(void)) {
  static int begun;
  if (checked_at_import()) return -1;
  if (begun) return 0;
  if (pthread_atfork(before_fork, after_fork, in_child)) {
    PyErr_SetString(PyExc_OSError, "forks cannot be followed");
    return -1;
  }
  begun = 1;
  return 0;
}

#endif
