/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_SCRATCH_H
#define TAMIS_TEST_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- amount of work: TAMIS_TEST_SCALE=full|sanitizer|quick|torture, full if not set ---- */

/* Returns one of three numbers, chosen by the scale; `full` under torture. */
uint64_t test_scale(uint64_t full, uint64_t sanitizer, uint64_t quick);
bool test_is_torture(void);
/* The same for tests that do more at scale `torture`; they say `ctest: torture`. */
uint64_t test_scale_torture(uint64_t torture, uint64_t full, uint64_t sanitizer, uint64_t quick);

/* ---- random numbers: the same everywhere for a seed (splitmix64) ---- */

/* Returns TAMIS_TEST_SEED, or `fallback`, and prints it, so that a failure can be repeated. */
uint64_t test_seed(uint64_t fallback);
uint64_t test_random(uint64_t *state);
uint64_t test_below(uint64_t *state, uint64_t bound); /* 0..bound-1, nearly uniform */

/* ---- time ---- */

void pause_ms(uint64_t ms);

/* ---- bytes ---- */

typedef struct test_bytes {
    unsigned char *data; /* NULL only when empty */
    size_t size;
    size_t capacity;
} test_bytes;

void bytes_add(test_bytes *bytes, const void *data, size_t size);
void bytes_clear(test_bytes *bytes); /* frees the bytes */
bool bytes_equal(const test_bytes *bytes, const test_bytes *other);
/* The same, and prints to stderr where they differ. */
bool bytes_check(const char *what, const test_bytes *got, const test_bytes *expected);

/* ---- temporary directories ---- */

/* Makes a directory in TMPDIR, or in /tmp, whose name begins with `name`, and stores its path in `path`.
 * Returns false, with errno set, if it cannot be made or its path does not fit. */
bool temporary_directory(char *path, size_t size, const char *name);

/* ---- the scratch directory of the test, emptied and removed by scratch_remove ---- */

void scratch_make(void);
/* The same in a file system in memory, if there is one: for thousands of renames. */
void scratch_make_in_memory(void);
void scratch_remove(void);
/* The same as cmocka fixtures. */
int scratch_set_up(void **state);
int scratch_tear_down(void **state);
/* Removes its files. */
void scratch_clear(void);
/* Returns the path of a name in it. Static storage for the last 16 calls. */
const char *scratch(const char *name);
/* Returns the number of names in it, dot files included. */
size_t scratch_entries(void);
/* Returns a name in it that begins with a dot (a temporary file that was left), or NULL. */
const char *scratch_hidden(void);

/* Write and read whole files. Abort on failure. */
void file_write(const char *path, const void *data, size_t size);
void file_read(const char *path, test_bytes *into);
bool file_is(const char *path, const char *text); /* true if the file has exactly that text */
bool file_exists(const char *path);

#endif
