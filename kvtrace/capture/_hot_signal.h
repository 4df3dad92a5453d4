/* Deferral of SIGTERM and SIGABRT until the journal has all records. Included only by _hot.c.
 *
 * SIGABRT: CUDA's driver ends a process so once it has written a dump of a GPU fault. The handler
 * wakes a Python thread and holds the aborting thread until that is done, then lets the handler act
 * that was there before. A thread that aborts while it holds the interpreter's lock, which the
 * Python thread needs, is held for BEGIN_SECONDS only.
 *
 * SIGTERM: The handler is installed only if the program leaves SIGTERM at the default, and below Python
 * (signal.getsignal returns the same as before), so a handler that the program sets replaces it. The
 * handler runs in any thread, even while Python is in a long call. It wakes a Python thread, which
 * flushes; a thread without Python ends the process by the default action after the flush, or after
 * PATIENCE_SECONDS. Until then a thread that launches is held before the launch, which would be lost.
 * A second SIGTERM, or one in a forked child, acts at once.
 *
 * Owns the handlers and their semaphores, of the process. Handlers and the threads that they wake hold no
 * lock, and use nothing but semaphores, and flags of one word; all else is written under Python's lock.
 */
#ifndef KVTRACE_HOT_SIGNAL_H
#define KVTRACE_HOT_SIGNAL_H

#include <Python.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 5, STEPS_IN_SECOND = 500, STACK_BYTES = 256 << 10 };

static volatile pid_t watching; /* the process whose threads wait for SIGTERM */
static volatile sig_atomic_t asked;
static volatile pid_t ending; /* the process that a SIGTERM is about to end */
static sem_t asked_to_end, to_flush, flushed;

/* Both functions are safe in a handler: signal-safety(7). */
static void end_by_default(void) {
  struct sigaction plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &plain, NULL);
  kill(getpid(), SIGTERM);
}

static void on_sigterm(int number) {
  (void)number;
  int before = errno;
  if (watching != getpid() || asked) {
    end_by_default();
  } else {
    asked = 1;
    ending = getpid();
    sem_post(&asked_to_end);
  }
  errno = before;
}

static void *end_after_flush(void *nothing) {
  while (sem_wait(&asked_to_end)) {
  }
  sem_post(&to_flush);
  struct timespec step = {0, 1000000000 / STEPS_IN_SECOND};
  for (int i = 0; i < PATIENCE_SECONDS * STEPS_IN_SECOND && sem_trywait(&flushed); i++)
    nanosleep(&step, NULL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
  end_by_default();
  return nothing;
}

/* Holds a launch that would come after the last flush. Call with the interpreter's lock. */
static void hold_if_ending(void) {
  if (!ending || ending != getpid()) return; /* a forked child goes on */
  Py_BEGIN_ALLOW_THREADS;
  for (;;) poll(NULL, 0, -1);
  Py_END_ALLOW_THREADS;
}

static int start_thread(void *(*work)(void *), void *given) {
  pthread_attr_t small;
  pthread_t thread;
  sigset_t every, before;
  if (pthread_attr_init(&small)) return -1;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before); /* this thread must not get the program's signals */
  int failed = pthread_attr_setstacksize(&small, STACK_BYTES) ||
               pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED) ||
               pthread_create(&thread, &small, work, given);
  if (!failed) pthread_setname_np(thread, "kvtrace-thread"); /* by which forks know it: threads.py */
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&small);
  return failed ? -1 : 0;
}

enum { BEGIN_SECONDS = 1, ABORT_SECONDS = 40 };

static volatile pid_t watching_abort; /* the process whose thread waits for SIGABRT */
static volatile sig_atomic_t aborting, abort_began;
static sem_t abort_to_flush, abort_flushed;
static struct sigaction before_abort;

static void on_sigabrt(int number) {
  int before = errno;
  if (watching_abort == getpid() && !aborting) {
    aborting = 1;
    sem_post(&abort_to_flush);
    for (int i = 0; i < ABORT_SECONDS * STEPS_IN_SECOND && sem_trywait(&abort_flushed); i++) {
      if (!abort_began && i >= BEGIN_SECONDS * STEPS_IN_SECOND) break;
      poll(NULL, 0, 1000 / STEPS_IN_SECOND);
    }
  }
  sigaction(SIGABRT, &before_abort, NULL);
  if (before_abort.sa_flags & SA_SIGINFO || before_abort.sa_handler != SIG_DFL) raise(number);
  errno = before; /* abort() ends the process by the default action if this returns */
}

static PyObject *watch_abort(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  struct sigaction ours;
  if (watching_abort == getpid()) Py_RETURN_FALSE;
  int is_inherited = watching_abort != 0; /* by a fork: the handler is there already */
  sem_init(&abort_to_flush, 0, 0);
  sem_init(&abort_flushed, 0, 0);
  aborting = abort_began = 0;
  watching_abort = getpid();
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = on_sigabrt;
  sigemptyset(&ours.sa_mask);
  if (!is_inherited && sigaction(SIGABRT, &ours, &before_abort)) {
    watching_abort = 0;
    Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

static PyObject *await_abort(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  Py_BEGIN_ALLOW_THREADS;
  while (sem_wait(&abort_to_flush)) {
  }
  Py_END_ALLOW_THREADS;
  abort_began = 1;
  Py_RETURN_NONE;
}

static PyObject *abort_may_end(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  sem_post(&abort_flushed);
  Py_RETURN_NONE;
}

static PyObject *watch_sigterm(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  struct sigaction found, ours;
  if (watching == getpid() || sigaction(SIGTERM, NULL, &found)) Py_RETURN_FALSE;
  int is_ours = !(found.sa_flags & SA_SIGINFO) && found.sa_handler == on_sigterm;
  int is_default = !(found.sa_flags & SA_SIGINFO) && found.sa_handler == SIG_DFL;
  if (!is_default && !is_ours) Py_RETURN_FALSE;
  sem_init(&asked_to_end, 0, 0);
  sem_init(&to_flush, 0, 0);
  sem_init(&flushed, 0, 0);
  asked = 0;
  if (start_thread(end_after_flush, NULL)) Py_RETURN_FALSE;
  watching = getpid();
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = on_sigterm;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  if (is_default) sigaction(SIGTERM, &ours, NULL);
  Py_RETURN_TRUE;
}

static PyObject *await_sigterm(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  Py_BEGIN_ALLOW_THREADS;
  while (sem_wait(&to_flush)) {
  }
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

static PyObject *sigterm_may_end(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  if (watching == getpid() && asked) sem_post(&flushed);
  watching = 0; /* the next one acts at once */
  Py_RETURN_NONE;
}

static PyMethodDef signal_functions[] = {
    {"watch_sigterm", watch_sigterm, METH_NOARGS,
     "Make SIGTERM wait for a flush; false if the program handles it, or it is watched already."},
    {"await_sigterm", await_sigterm, METH_NOARGS, "Return when a SIGTERM was received."},
    {"sigterm_may_end", sigterm_may_end, METH_NOARGS,
     "Let SIGTERM end the process, a pending one and later ones: all is flushed."},
    {"watch_abort", watch_abort, METH_NOARGS,
     "Make SIGABRT wait until `abort_may_end`; false if it does already."},
    {"await_abort", await_abort, METH_NOARGS, "Return when a thread of the process aborts."},
    {"abort_may_end", abort_may_end, METH_NOARGS, "Let the abort end the process."},
    {NULL, NULL, 0, NULL}};

#endif
