/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUZZ_COMMAND_H
#define TAMIS_FUZZ_COMMAND_H

/*
 * The command inside a fuzzer: it runs in a scratch folder, and its standard files are memory. After each run is checked
 * what has to hold of any:
 *
 * - The exit status is 0, 1 or 2. With 2 the last line on standard error is the error, "tamis: ..."; such lines are few,
 *   and none has a control byte.
 * - With 2 every file is as it was, byte for byte (but of several files that `clear` takes one after the other).
 * - Nothing lies aside in the folder, and no descriptor stays open but the pipe of the signals.
 * - What is printed for people has no control bytes.
 *
 * A breach shows the command line and what it said, and aborts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/scratch.h"

enum { COMMAND_WORDS = 64 };

/* What the last run printed. */
extern test_bytes command_out, command_err;
/* Whether it was refused a block of more than 64 MiB: nobody gets those here. */
extern bool command_wanted_much;
/* Whether standard input is a pipe, in place of a file. */
extern bool command_is_piped;

/* Empties the folder; at first makes it. */
void command_fresh(void);
/* A sum of all names and contents in it: two that are equal tell the same files. */
uint64_t command_files(void);

/* Runs "tamis" with these words, NULL the last, and answers its exit status. */
int command_run(const void *input, size_t size, const char *const *words);
#define COMMAND(...) command_run(NULL, 0, (const char *const[]){__VA_ARGS__, NULL})

/* A breach, as "check: says absent", where `holds` is false. */
void command_check(bool holds, const char *what);
/* Whether standard error of the last run has this text. */
bool command_said(const char *text);

#endif
