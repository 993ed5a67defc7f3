/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUZZ_COMMAND_H
#define TAMIS_FUZZ_COMMAND_H

/*
 * Runs the command inside a fuzzer. It works in a scratch directory, and its standard files are in memory.
 * These properties of every run are checked:
 *
 * - The exit status is 0, 1 or 2. With 2 the last line on standard error is the error, "tamis: ...". There
 *   are few such lines, and none has a control byte.
 * - With 2 every file is unchanged, byte for byte, except that `clear` clears several files one by one.
 * - The directory has no temporary file, and no descriptor stays open but the pipe of the signals.
 * - Output for people has no control bytes.
 *
 * A violation prints the command line and its output, and aborts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/scratch.h"

enum { COMMAND_WORDS = 64 };

/* Output of the last run. */
extern test_bytes command_out, command_err;
/* True if the last run asked for a block of more than 64 MiB, which is always refused here. */
extern bool command_is_expensive;
/* True: standard input is a pipe, else a file. */
extern bool command_is_piped;

/* Empties the directory. The first call makes it. */
void command_start(void);
/* Returns a checksum of all names and contents in the directory. */
uint64_t command_files(void);

/* Runs "tamis" with these words, ended by NULL. Returns the exit status. */
int command_run(const void *input, size_t size, const char *const *words);
#define COMMAND(...) command_run(NULL, 0, (const char *const[]){__VA_ARGS__, NULL})

/* Reports a violation, for instance "check: a key is absent", if `holds` is false. */
void command_check(bool holds, const char *what);
/* True if standard error of the last run contains this text. */
bool command_said(const char *text);

#endif
