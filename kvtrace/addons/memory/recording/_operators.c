/* Calls of torch's operators, and memory that generated code allocates, without Python on the way.
 *
 * torch calls `operator_begins` and `operator_ends` around each operator of its dispatcher, in the
 * calling thread, which may or may not hold Python's lock (at::addGlobalCallback of
 * ATen/record_function.h). Boxed arguments live until `operator_begins` returns, results are there in
 * `operator_ends`. Tensors are read as memory (_layout.h).
 *
 * An operator of the namespace `aten` hides the operators that it calls itself; others, which a
 * program registers, may launch kernels and call operators that matter. An operator on a tensor without
 * memory (fake, meta and sparse tensors, wrappers of other tensors) is neither recorded nor does it hide.
 *
 * The caching allocators of devices call `_allocator.h` at each allocation and free.
 *
 * The metadata of a call's tensors is a key of 64-bit words. Unique calls are numbered by two hashes of
 * it, and copied for Python when first seen; a call itself is a row and a data pointer for each tensor.
 *
 * Owns the rows that wait for Python, under its lock (`_lock.h`), and of each thread the operators under
 * way, which only that thread reads. Whether calls are recorded is written under Python's lock, and read
 * without: a call more or less is no harm.
 */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include "../../../backends/cupti/_frames.h"

#include <unistd.h>

#include "_layout.h"

enum {
  LEVELS = 128,           /* operators within operators, of a thread; more are not recorded */
  ROWS_LIMIT = 1 << 20,   /* rows that wait to be taken; more are counted and lost */
  VALUES_LIMIT = 1 << 24, /* data pointers of these */
  CERTAIN_FRAMES = 16, /* of an allocation's stack: each costs 5 ns */
};

/* Words of a tensor in a key, before sizes and strides: its position, as PLACE, and its metadata. */
enum { HEAD_WORDS = 5, RESULT = 1 << 30, NO_ITEM = 0x3fffffff };

struct words {
  int64_t *data;
  size_t count, room;
};

/* An operator under way. Its tensors' words and pointers begin at those numbers of the thread's. */
struct under_way {
  const char *function; /* address of torch's RecordFunction, which identifies the call */
  const char *schema;
  int64_t begin;
  size_t words, pointers;
  int64_t arguments;
  char recorded, hides;
};

struct thread {
  int level, hidden; /* operators under way; of these, how many hide */
  int64_t id;
  struct words words;
  struct words pointers; /* of each tensor: data pointer, storage */
  struct words freed;    /* addresses of memory that operators under way have freed */
  struct under_way calls[LEVELS];
};

static __thread struct thread *own_thread;
static pthread_key_t threads;

struct row {
  int64_t operation, begin, end, thread, graph;
  uint32_t addresses;
};

struct allocation {
  int64_t address, bytes, begin, end, thread, stack, device; /* -1: not known */
};

static int recording;      /* whether calls are recorded */
static int64_t graph;      /* number of the graph that is being captured; -1: none */
static struct row *rows;
static struct words values;
static struct allocation *allocations;
static uint32_t rows_waiting, allocations_waiting;
static long long lost_calls;

static void free_thread(void *given) {
  struct thread *thread = given;
  own_thread = NULL; /* other destructors may still call operators */
  free(thread->words.data);
  free(thread->pointers.data);
  free(thread->freed.data);
  free(thread);
}

static struct thread *this_thread(void) {
  if (own_thread) return own_thread;
  struct thread *thread = calloc(1, sizeof *thread);
  if (!thread) return NULL;
  thread->id = (int64_t)thread_number();
  if (pthread_setspecific(threads, thread)) {
    free(thread);
    return NULL;
  }
  return own_thread = thread;
}

static int64_t *more(struct words *words, size_t count) {
  if (words->count + count > words->room) {
    size_t room = (words->count + count) * 2 + 256;
    int64_t *grown = realloc(words->data, room * sizeof *grown);
    if (!grown) return NULL;
    words->data = grown;
    words->room = room;
  }
  words->count += count;
  return words->data + words->count - count;
}

/* Counts a call or an allocation that is not recorded. Does not hold the lock. */
static void lose(void) {
  LOCK();
  lost_calls++;
  UNLOCK();
}

/* Adds a row. Holds the lock. */
static void add_allocation_row(const struct allocation *allocation) {
  if (!allocations) allocations = malloc(ROWS_LIMIT * sizeof *allocations);
  if (allocations && allocations_waiting < ROWS_LIMIT)
    allocations[allocations_waiting++] = *allocation;
  else
    lost_calls++;
}

/* ---- a call's tensors ------------------------------------------------------------------------- */

/* The number of the first tensor of the call, from 1, with the same storage; 0: none. */
static int64_t alias_of(const struct thread *thread, const struct under_way *call,
                        const char *storage) {
  for (size_t i = call->pointers; i < thread->pointers.count; i += 2)
    if (thread->pointers.data[i + 1] == (int64_t)(intptr_t)storage)
      return (int64_t)(i - call->pointers) / 2 + 1;
  return 0;
}

/* Adds a tensor to the running call. 0: it has no memory, though elements, or memory is lacking. */
static int add_tensor(struct thread *thread, struct under_way *call, const char *impl,
                      int64_t place, int64_t item) {
  struct tensor tensor;
  if (!read_tensor(impl, &tensor)) return tensor.numel <= 0;
  if (!tensor.data && tensor.numel > 0) return 0;
  size_t dimensions = (size_t)tensor.dimensions;
  int64_t alias = alias_of(thread, call, tensor.storage);
  int64_t *to = more(&thread->words, HEAD_WORDS + 2 * dimensions);
  int64_t *pointers = to ? more(&thread->pointers, 2) : NULL;
  if (!pointers) {
    lose();
    return 0;
  }
  to[0] = place | item << 32;
  to[1] = (int64_t)tensor.dtype | tensor.dimensions << 8 | (device_of(tensor.storage) + 1) << 32;
  to[2] = alias;
  to[3] = tensor.offset_bytes;
  to[4] = tensor.storage_bytes;
  memcpy(to + HEAD_WORDS, tensor.sizes, dimensions * sizeof *to);
  memcpy(to + HEAD_WORDS + dimensions, strides_of(&tensor), dimensions * sizeof *to);
  pointers[0] = (int64_t)(intptr_t)tensor.data;
  pointers[1] = (int64_t)(intptr_t)tensor.storage;
  return 1;
}

/* Adds the tensors of boxed values from number `i` on; 0 as `add_tensor`. */
static int add_values(struct thread *thread, struct under_way *call, const char *values,
                      int64_t i, int64_t count, int64_t results) {
  for (; i < count; i++) {
    const char *value = values + i * VALUE_BYTES;
    unsigned int tag = tag_of(value);
    if (tag == torch_at.tensor_tag) {
      if (!add_tensor(thread, call, pointer(value, 0), i | results, NO_ITEM)) return 0;
    } else if (tag == torch_at.list_tag) {
      const char *list = pointer(value, 0);
      const char *item = pointer(list, torch_at.items);
      const char *end = pointer(list, torch_at.items + (Py_ssize_t)sizeof(void *));
      for (int64_t n = 0; item && item < end; n++, item += VALUE_BYTES)
        if (tag_of(item) == torch_at.tensor_tag &&
            !add_tensor(thread, call, pointer(item, 0), i | results, n))
          return 0;
    }
  }
  return 1;
}

#include "_allocator.h"
#include "_unique.h"

static void add_row(const struct thread *thread, const struct under_way *call, uint32_t number,
                    int64_t end) {
  size_t count = (thread->pointers.count - call->pointers) / 2;
  LOCK();
  name_made(thread->words.data + call->words, thread->words.count - call->words,
            thread->pointers.data + call->pointers);
  if (!rows) rows = malloc(ROWS_LIMIT * sizeof *rows);
  int64_t *to = NULL;
  if (number && rows && rows_waiting < ROWS_LIMIT && values.count + count <= VALUES_LIMIT)
    to = more(&values, count);
  if (to) {
    for (size_t i = 0; i < count; i++) to[i] = thread->pointers.data[call->pointers + 2 * i];
    rows[rows_waiting++] = (struct row){.operation = number - 1, .begin = call->begin, .end = end,
                                        .thread = thread->id, .graph = graph,
                                        .addresses = (uint32_t)count};
  } else {
    lost_calls++;
  }
  UNLOCK();
}

/* ---- torch's callbacks ------------------------------------------------------------------------ */

static int is_of_aten(const char *schema) {
  struct text_view name = text_at(schema);
  return name.length > 6 && !memcmp(name.letters, "aten::", 6);
}

/* The schema of an operator; NULL for what a library records under a name only. */
static const char *schema_of(const char *function) {
  return function[torch_at.is_schema] == 1 ? pointer(function, torch_at.schema) : NULL;
}

/* Whether an operator does not read its first argument: torch.addmm and its like with a beta, the
 * fourth argument, of 0. In place (addmm_), they write it. */
static int leaves_first(const struct under_way *call, const char *inputs) {
  static const char *const names[] = {"aten::_addmm_activation", "aten::addbmm", "aten::addmm",
                                      "aten::addmv", "aten::addr", "aten::baddbmm"};
  struct text_view name = text_at(call->schema), overload = text_at(call->schema + CXX_STRING);
  int is_known = !overload.length || (overload.length == 3 && !memcmp(overload.letters, "out", 3));
  if (call->arguments < 4 || !is_known || word(inputs + 3 * VALUE_BYTES, 0)) return 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (name.length == strlen(names[i]) && !memcmp(name.letters, names[i], name.length)) return 1;
  return 0;
}

static void begin_call(struct thread *thread, struct under_way *call) {
  const char *function = call->function, *schema = schema_of(function);
  if (!schema) return;
  call->schema = schema;
  call->words = thread->words.count;
  call->pointers = thread->pointers.count;
  const char *inputs = pointer(function, torch_at.inputs);
  call->arguments = word(function, torch_at.inputs + (Py_ssize_t)sizeof(void *));
  if (!add_values(thread, call, inputs, leaves_first(call, inputs), call->arguments, 0)) {
    thread->words.count = call->words;
    thread->pointers.count = call->pointers;
    return;
  }
  call->recorded = 1;
  call->hides = (char)is_of_aten(schema);
  thread->hidden += call->hides;
  call->begin = (int64_t)now();
}

static void end_call(struct thread *thread, struct under_way *call) {
  int64_t end = (int64_t)now();
  thread->hidden -= call->hides;
  const char *outputs = pointer(call->function, torch_at.outputs);
  const char *behind = pointer(call->function, torch_at.outputs + (Py_ssize_t)sizeof(void *));
  int64_t results = outputs ? (behind - outputs) / VALUE_BYTES : 0;
  int complete = add_values(thread, call, outputs, 0, results, RESULT);
  size_t count = thread->words.count - call->words;
  if (complete && count && recording)
    add_row(thread, call,
            operator_number(call, thread->words.data + call->words, count, results), end);
  if (thread->freed.count && !thread->hidden) end_freed(thread, end);
  thread->words.count = call->words;
  thread->pointers.count = call->pointers;
}

/* Returns a std::unique_ptr, by a hidden pointer to where it is: in C++'s ABI for x86-64 as the first
 * argument, and returned. */
static void *operator_begins(void **context, const char *function) {
  *context = NULL;
  struct thread *thread = this_thread();
  if (!thread) {
    if (recording) lose();
    return context;
  }
  if (search.thread == (uint64_t)thread->id) search_start(function);
  int level = thread->level++;
  if (level >= LEVELS) return context;
  struct under_way *call = &thread->calls[level];
  call->function = function;
  call->recorded = call->hides = 0;
  if (recording && !thread->hidden) begin_call(thread, call);
  return context;
}

static void operator_ends(const char *function, void *context) {
  (void)context;
  struct thread *thread = own_thread;
  if (!thread || !thread->level) return;
  if (search.thread == (uint64_t)thread->id) search_end(function);
  int level = --thread->level;
  if (level >= LEVELS) return;
  struct under_way *call = &thread->calls[level];
  if (call->function != function) { /* it ends in another order: what is under way is not known */
    thread->level = thread->hidden = 0;
    thread->words.count = thread->pointers.count = 0;
    end_freed(thread, (int64_t)now());
    return;
  }
  if (call->recorded) end_call(thread, call);
}

static PyObject *search_begin(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long first, second, result;
  static char name[64];
  const char *given;
  long long count;
  Py_ssize_t list_in;
  int reading, writing;
  if (!PyArg_ParseTuple(arguments, "KKKsLnii", &first, &second, &result, &given, &count, &list_in,
                        &reading, &writing))
    return NULL;
  strncpy(name, given, sizeof name - 1);
  memset(&search, 0, sizeof search);
  search.first = (const char *)(uintptr_t)first;
  search.second = (const char *)(uintptr_t)second;
  search.result = (const char *)(uintptr_t)result;
  search.name = name;
  search.arguments = count;
  search.pipe[0] = reading;
  search.pipe[1] = writing;
  search.list_in = list_in;
  search.inputs = search.outputs = search.schema = search.items = -1;
  search.thread = thread_number();
  Py_RETURN_NONE;
}

static PyObject *search_results(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  search.thread = 0;
  return Py_BuildValue("(nnnnIii)", search.inputs, search.outputs, search.schema, search.items,
                       search.tag, search.starts, search.ends);
}

static PyObject *lay_out_torch(PyObject *module, PyObject *arguments) {
  (void)module;
  Py_buffer sizes;
  if (!PyArg_ParseTuple(arguments, "nnnnnnnnnnnnnnIIy*", &torch_at.inputs, &torch_at.outputs,
                        &torch_at.schema, &torch_at.is_schema, &torch_at.items, &torch_at.storage,
                        &torch_at.dimensions, &torch_at.numel, &torch_at.offset, &torch_at.dtype,
                        &torch_at.data, &torch_at.bytes, &torch_at.device, &torch_at.tensor, &torch_at.tensor_tag,
                        &torch_at.list_tag, &sizes))
    return NULL;
  size_t given = (size_t)sizes.len;
  memcpy(item_bytes, sizes.buf, given < sizeof item_bytes ? given : sizeof item_bytes);
  PyBuffer_Release(&sizes);
  Py_RETURN_NONE;
}

static PyObject *record_calls(PyObject *module, PyObject *flag) {
  (void)module;
  int wanted = PyObject_IsTrue(flag);
  if (wanted < 0) return NULL;
  recording = wanted;
  Py_RETURN_NONE;
}

static PyObject *set_graph(PyObject *module, PyObject *number) {
  (void)module;
  long long wanted = PyLong_AsLongLong(number);
  if (wanted == -1 && PyErr_Occurred()) return NULL;
  graph = wanted;
  Py_RETURN_NONE;
}

/* ---- memory that generated code allocates ----------------------------------------------------- */

static void add_allocation(const struct tensor *tensor) {
  struct thread *thread = tensor->data ? this_thread() : NULL;
  if (!thread) {
    if (tensor->data) lose();
    return;
  }
  struct allocation allocation = {
      .address = (int64_t)(intptr_t)(tensor->data - tensor->offset_bytes),
      .bytes = tensor->storage_bytes,
      .begin = (int64_t)now(),
      .end = -1,
      .thread = thread->id,
      .stack = stack_number(CERTAIN_FRAMES),
      .device = device_of(tensor->storage),
  };
  LOCK();
  struct alive *known = alive_known(allocation.address);
  if (known) { /* its allocator's hook saw it before */
    allocation.begin = known->allocation.begin;
    known->allocation = allocation;
  } else {
    add_allocation_row(&allocation);
  }
  UNLOCK();
}

/* Calls the function, and records the memory of the tensor that it returns. */
static PyObject *call_allocating(PyObject *function, PyObject *args, PyObject *kwargs) {
  PyObject *result = PyObject_Call(function, args, kwargs);
  struct tensor tensor;
  if (result && recording && read_tensor(pointer((const char *)result, torch_at.tensor), &tensor))
    add_allocation(&tensor);
  return result;
}

static PyMethodDef allocating = {"empty_strided", (PyCFunction)(void (*)(void))call_allocating,
                                 METH_VARARGS | METH_KEYWORDS, NULL};

static PyObject *wrap_allocating(PyObject *module, PyObject *function) {
  (void)module;
  return PyCFunction_NewEx(&allocating, function, NULL);
}

/* ---- what Python takes ------------------------------------------------------------------------ */

#include "_columns.h"

static PyObject *forget(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  LOCK();
  forget_stacks();
  rows_waiting = allocations_waiting = 0;
  values.count = 0;
  free(alive);
  alive = NULL;
  alive_places = alive_count = 0;
  lost_calls = 0;
  taken_free();
  graph = -1;
  forget_operators();
  UNLOCK();
  Py_RETURN_NONE;
}

static void after_fork_in_child(void) {
  UNLOCK();
  own_number = 0;
  if (own_thread) own_thread->id = (int64_t)thread_number();
}

static PyMethodDef functions[] = {
    FRAME_FUNCTIONS,
    {"install_hook", install_hook, METH_VARARGS,
     "install_hook(state, flag, device, allocated, freed) -> bool: install the allocators' hook at\n"
     "those addresses; false: there is one. device: c10::cuda::GetDevice. allocated, freed: places of\n"
     "these functions in the hook's table."},
    {"uninstall_hook", uninstall_hook, METH_VARARGS,
     "uninstall_hook(state, flag) -> bool: remove the hook; false: there is another one."},
    {"search_begin", search_begin, METH_VARARGS,
     "search_begin(first, second, result, name, arguments, list_in, reading, writing): from now on\n"
     "look for these tensors and this name in the operators that the thread calls. list_in: -1, or\n"
     "where arguments lie, to look for the tensors in a list. reading, writing: ends of a pipe."},
    {"search_results", search_results, METH_NOARGS,
     "search_results() -> (inputs, outputs, schema, items, tag, starts, ends): what was found."},
    {"lay_out_torch", lay_out_torch, METH_VARARGS,
     "lay_out_torch(...): where torch's fields lie; see layouts.py."},
    {"record_calls", record_calls, METH_O, "record_calls(flag): record, or stop recording."},
    {"set_graph", set_graph, METH_O, "set_graph(number): the graph being captured; -1: none."},
    {"wrap_allocating", wrap_allocating, METH_O,
     "wrap_allocating(function): the function, with the memory of its results recorded."},
    {"take", take, METH_O,
     "take(all) -> (stacks, operators, operations, allocations, lost, is_left): what is new; all: also\n"
     "memory that is not freed. is_left: it is left over from a call that failed, and there may be\n"
     "more. operator_rows.py."},
    {"forget", forget, METH_NOARGS, "forget(): begin again, with nothing seen and no frames."},
    {NULL, NULL, 0, NULL},
};

static int begin_module(PyObject *module) {
  static int has_key;
  if (begin_module_once(after_fork_in_child)) return -1;
  graph = -1;
  if (!has_key && pthread_key_create(&threads, free_thread)) {
    PyErr_SetString(PyExc_OSError, "threads cannot be followed");
    return -1;
  }
  has_key = 1;
  return PyModule_AddIntConstant(module, "INLINE_DIMENSIONS", INLINE_DIMENSIONS) ||
                 PyModule_AddObject(module, "BEGINS", PyLong_FromVoidPtr((void *)(intptr_t)operator_begins)) ||
                 PyModule_AddObject(module, "ENDS", PyLong_FromVoidPtr((void *)(intptr_t)operator_ends))
             ? -1
             : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(intptr_t)begin_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_operators", "Calls of torch's operators, and allocations.",
    0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__operators(void) { return PyModuleDef_Init(&definition); }
