/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_EXCHANGE_REDIS_STEP_H
#define TAMIS_STORE_REDIS_EXCHANGE_REDIS_STEP_H

#include "store/redis/filter/redis_filter.h"

/*
 * A step changes shared state on a server, or does nothing. A script compares values on the server with those that the
 * sender expects, and carries out its writes only if all are equal. A step that arrives late or twice finds other values
 * and does nothing. See docs/REDIS-LAYOUT.md, Steps, which calls the comparisons guards.
 */
enum { TAMIS__STEP_CONDITIONS = 4, TAMIS__STEP_WRITES = 4, TAMIS__STEP_WORDS = 10 };

typedef struct tamis__step_command {
    tamis_key words[TAMIS__STEP_WORDS]; /* borrowed until the step is sent */
    size_t count;
} tamis__step_command;

typedef struct tamis__step {
    tamis_key keys[3]; /* all Redis keys read or written, in one slot */
    size_t key_count;
    tamis__step_command conditions[TAMIS__STEP_CONDITIONS];
    tamis_key expected[TAMIS__STEP_CONDITIONS]; /* expected reply of each condition, as text; "": missing */
    size_t condition_count;
    tamis__step_command writes[TAMIS__STEP_WRITES]; /* writes that need memory come first: see redis_step.c */
    size_t write_count;
    bool keeps_expiry; /* restore the expiry of keys[0] after the writes */
} tamis__step;

/* Result of a step that runs as a transaction: see redis_transaction.c. */
struct tamis__transaction {
    const tamis__endpoint *endpoint;
    const char *what;           /* the filter's name, for messages */
    uint64_t read_ns, deadline; /* max. wait for one reply; time after which nothing is written */
    tamis_status status;        /* result */
    tamis_error why;            /* message if status is not TAMIS_OK */
    bool is_done;               /* the writes were carried out */
};
/* Runs a step as a transaction on `conn` and waits for its end. The result is in *state. */
void tamis__step_transact(const tamis__step *step, tamis__connection *conn, tamis__transaction *state);

/* The words of a command, as two arguments. */
#define TAMIS__WORDS(...)                                                                                    \
    (const tamis_key[]){__VA_ARGS__}, sizeof((const tamis_key[]){__VA_ARGS__}) / sizeof(tamis_key)

static inline tamis_key tamis__word_of(const void *bytes, size_t size) {
    return (tamis_key){bytes, size};
}

void tamis__step_key(tamis__step *step, tamis_key key);
/* Adds a condition: the reply to this command (GET, HGET, GETRANGE, EXISTS) has to be `expected`. */
void tamis__step_expect(tamis__step *step, tamis_key expected, const tamis_key *words, size_t count);
/* Adds a condition: the string `key` has to be `text`. */
void tamis__step_expect_text(tamis__step *step, tamis_key key, const char *text);
/* Adds a condition: `field` of the hash `key` has to be `text`. */
void tamis__step_expect_field(tamis__step *step, tamis_key key, const char *field, const char *text);
void tamis__step_write(tamis__step *step, const tamis_key *words, size_t count);

/* Puts a step as one command of a pipeline. Its reply is 1, or 0 if a condition failed and nothing was written. */
void tamis__step_put(const tamis__step *step, tamis__connection *conn);

/* Sends a step on the hash, its lock or the copy of its plan. *is_done: the sending that was answered carried out the writes.
 * If the step was sent twice, false may mean that the first sending did. Callers then read the values back. */
tamis_status tamis__step_run(const tamis__redis_filter *rf, const tamis__step *step, bool *is_done,
                             tamis_error *err);
/* Sends a step in the same way. *is_refused: a condition failed and the step was sent only once, so it was not carried out
 * and never will be. */
tamis_status tamis__step_run_once(const tamis__redis_filter *rf, const tamis__step *step, bool *is_refused,
                                  tamis_error *err);

#endif
