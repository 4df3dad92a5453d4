/* Allocations of an extension, linked with --wrap: those in a range of numbers fail. */
#include <stdlib.h>

long long allocations_fail_first, allocations_fail_last, allocations_made;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);

static int fails(void) {
  long long number = ++allocations_made;
  return number >= allocations_fail_first && number <= allocations_fail_last;
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  return fails() ? NULL : __real_realloc(memory, size);
}
