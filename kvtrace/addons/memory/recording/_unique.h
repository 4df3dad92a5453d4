/* Numbers of unique calls, and copies of them for Python. Included only by _operators.c.
 *
 * A unique call is known by two hashes of its operator's address, its tensors' words and its
 * stack.
 *
 * Owns the table of numbers and the copies that Python has not taken, under the lock of _operators.c. */
#ifndef KVTRACE_MEMORY_UNIQUE_H
#define KVTRACE_MEMORY_UNIQUE_H

enum {
  MOST_OPERATORS = 1 << 20,
  NEAR_FRAMES = 6, /* of an operator's stack: a module's call has four of torch's; each costs 5 ns */
};

struct number {
  uint64_t first, second;
  uint32_t number; /* from 1; 0: free */
};

static struct number *numbers;
static size_t number_slots;
static uint32_t operators_known;
static struct text operators; /* unique calls since Python last took them */

static struct number *number_slot(uint64_t first, uint64_t second) {
  size_t slot = (size_t)first & (number_slots - 1);
  while (numbers[slot].number && (numbers[slot].first != first || numbers[slot].second != second))
    slot = (slot + 1) & (number_slots - 1);
  return &numbers[slot];
}

static int numbers_grow(void) {
  if (numbers && 2 * (size_t)operators_known < number_slots) return 1;
  struct number *before = numbers;
  size_t slots = number_slots;
  struct number *larger = calloc(slots ? 2 * slots : 1024, sizeof *larger);
  if (!larger) return operators_known + 1 < slots; /* one stays free, for searches to end */
  numbers = larger;
  number_slots = slots ? 2 * slots : 1024;
  for (size_t i = 0; i < slots; i++)
    if (before[i].number) *number_slot(before[i].first, before[i].second) = before[i];
  free(before);
  return 1;
}

/* Copies a unique call for Python; operator_rows.py reads it. Holds the lock. */
static int copy_call(const struct under_way *call, const int64_t *words, size_t count,
                     uint32_t stack, int64_t results) {
  struct text_view name = text_at(call->schema), overload = text_at(call->schema + CXX_STRING);
  size_t before = operators.size;
  if (name.length <= TEXT_LIMIT && overload.length <= TEXT_LIMIT &&
      add_sized(&operators, name.letters, name.length) &&
      add_sized(&operators, overload.letters, overload.length) &&
      add_number(&operators, stack) && add_number(&operators, (uint32_t)call->arguments) &&
      add_number(&operators, (uint32_t)results) &&
      add_sized(&operators, (const char *)words, count * sizeof *words))
    return 1;
  operators.size = before;
  return 0;
}

/* Whether results have no values yet: aten::empty…, aten::new_empty…. */
static int makes_empty(const char *schema) {
  static const char *const beginnings[] = {"aten::empty", "aten::new_empty"};
  struct text_view name = text_at(schema);
  for (int i = 0; i < 2; i++) {
    size_t length = strlen(beginnings[i]);
    if (name.length >= length && !memcmp(name.letters, beginnings[i], length)) return 1;
  }
  return 0;
}

/* The number of a unique call from 1; 0: there are too many. Does not hold the lock. The same call at
 * another line is another one: a finding names the line. Empty memory is often made by a function far
 * below the line that matters. */
static uint32_t operator_number(const struct under_way *call, const int64_t *words, size_t count,
                                int64_t results) {
  uint64_t first = mixed(1, (uint64_t)(uintptr_t)call->schema);
  uint64_t second = mixed(2, count | (uint64_t)results << 32);
  for (size_t i = 0; i + 1 < count; i += 2) {
    first = mixed(first, (uint64_t)words[i]);
    second = mixed(second, (uint64_t)words[i + 1]);
  }
  if (count & 1) first = mixed(first, (uint64_t)words[count - 1]);
  uint32_t stack = stack_number(makes_empty(call->schema) ? DEPTH : NEAR_FRAMES);
  second = mixed(second, stack);
  uint64_t place = mixed(first, second);
  LOCK();
  uint32_t known_number = numbers ? number_slot(place, second)->number : 0;
  UNLOCK();
  if (known_number) return known_number;
  LOCK();
  struct number *slot = numbers_grow() ? number_slot(place, second) : NULL;
  if (slot && !slot->number && operators_known < MOST_OPERATORS &&
      copy_call(call, words, count, stack, results))
    *slot = (struct number){place, second, ++operators_known};
  known_number = slot ? slot->number : 0;
  UNLOCK();
  return known_number;
}

/* Forgets all unique calls. Holds the lock. */
static void forget_operators(void) {
  operators.size = 0;
  operators_known = 0;
  free(numbers);
  numbers = NULL;
  number_slots = 0;
}

#endif
