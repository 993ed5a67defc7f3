/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REQUEST_REDIS_REQUESTS_H
#define TAMIS_STORE_REDIS_REQUEST_REDIS_REQUESTS_H

#include <string.h>

#include "store/redis/topology/redis_topology.h"

/*
 * Requests to the servers of a URI:
 *
 *     requests    many commands in pipelines, to all servers at once     redis_run.c
 *     command     a single one                                           redis_command.c
 *     step        compare and write at one instant                       redis_step.c, redis_transaction.c
 *     scan        the Redis keys that match a pattern                    redis_scan.c
 */

/* ---- pipelined requests ---- */

#define TAMIS__NO_SLOT UINT32_MAX

/*
 * Pipelined commands, each with its reply. A run survives a lost connection, a server that is loading its
 * data, and a server that is no longer the master. Commands without a reply are sent again, until no reply
 * has arrived for patience_ns. So a command may be carried out twice, and every command here must tolerate
 * that.
 */
typedef struct tamis__requests {
    size_t count;
    void *context;
    /* Writes command i to the pipeline. Returns false without writing if there is no such command; i then
     * counts as answered. */
    bool (*put_command)(void *context, size_t i, tamis__connection *conn);
    /* Processes the reply to command i; error replies are handled before. resent: the command was sent
     * more than once, so an earlier sending may have carried it out. A failure ends the run, such as
     * TAMIS_E_IO for a reply that this command cannot have. */
    tamis_status (*accept_reply)(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err);
    const char *what; /* the filter's name, for messages */
    /* Returns the slot of command i (tamis__redis_slot), or TAMIS__NO_SLOT if there is no such command.
     * Not called, and may be NULL, if there is only one slot. */
    uint32_t (*slot)(void *context, size_t i);
    /* Barriers, in ascending order; 0: none. The commands from a barrier on must be carried out after all
     * commands before it. If tamis__redis_keeps_order, they share one pipeline (see any_retried).
     * Otherwise they are put once all commands before the barrier are answered. */
    size_t barriers[2];
    /* If not NULL, and replicas= is in the URI, the run ends when that many replicas have confirmed its
     * writes (redis_wait.c). Set to true if a connection ended before that: a failover may lose the
     * writes, so run it again. The caller sets it to false first. */
    bool *unconfirmed;
    /* If not NULL, called for an error reply to a command that was sent once: it was not carried out. An
     * error reply that ends the run then does so when all commands under way are answered. */
    void (*note_refusal)(void *context, size_t i);
    /* If not NULL, set when an error reply ends the run: true if tamis__redis_is_denied holds for that
     * reply. */
    bool *denied;
    /* All commands are steps (see below), which become transactions if scripts are forbidden. */
    bool is_steps;
    /* If not NULL, called once if there was no reply for five seconds and the run goes on waiting. `why` is
     * the message of the last error; empty: none. */
    void (*on_wait)(void *context, const char *why);
} tamis__requests;

/* Sends all commands and processes all replies. *any_retried (may be NULL) matters if
 * tamis__redis_keeps_order. Then a command was sent again, so commands behind a barrier may have been
 * carried out before one ahead of it. */
tamis_status tamis__requests_run(tamis_redis *redis, const tamis__requests *requests, bool *any_retried,
                                 tamis_error *err);

/* Runs steps one after the other, each as a transaction: see redis_transaction.c. */
tamis_status tamis__requests_transact(tamis_redis *redis, const tamis__requests *requests, tamis_error *err);

/* One command, which must tolerate being carried out twice. */
typedef struct tamis__command {
    tamis_redis *redis;
    const char *what; /* as in tamis__requests */
    uint32_t slot;
    const tamis_key *words;
    size_t count;
    char *to; /* buffer for a string reply; NULL: none is expected */
    size_t buffer_size;
    int64_t integer; /* integer reply, or -1 for another reply */
    size_t size;     /* size of the string reply in `to` */
    /* True to wait, even after a command that only reads, until replicas= replicas have all that the
     * server had when it carried out the command. */
    bool waits_for_replicas;
} tamis__command;

tamis_status tamis__command_run(tamis__command *command, tamis_error *err);

enum { TAMIS__REDIS_INFO = (16 << 10) + 1 };
/* Fetches a section of INFO from the only server. Empty if the user may not send INFO. */
tamis_status tamis__redis_info(tamis_redis *redis, const char *what, const char *section,
                               char info[TAMIS__REDIS_INFO], tamis_error *err);

/* Returns TAMIS_E_IO with the message for a reply that this command cannot have. */
tamis_status tamis__redis_bad_reply(const tamis_redis *redis, const char *what, tamis_error *err);

/* ---- steps ---- */

static inline tamis_key tamis__redis_word(const char *text) {
    return (tamis_key){text, strlen(text)};
}

/*
 * A step changes shared state on a server, or does nothing. A script compares values on the server with
 * those that the sender expects, and carries out its writes only if all are equal. A step that arrives
 * late or twice finds other values and does nothing. See docs/REDIS-LAYOUT.md, Steps.
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

/* A step that runs as a transaction: its limits and its result. See redis_transaction.c. */
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

/* Puts a step as one command of a pipeline. Its reply is 1, or 0 if a condition failed and nothing was
 * written. */
void tamis__step_put(const tamis__step *step, tamis__connection *conn);

/* ---- scans ---- */

/* A selection of Redis keys, and the function that gets them. */
typedef struct tamis__scan {
    const char *pattern; /* glob pattern of SCAN MATCH */
    size_t pattern_size;
    const char *type; /* type of SCAN TYPE, such as "hash" */
    /* Gets a key. May be called more than once with the same key. */
    tamis_status (*add_key)(void *context, const char *key, size_t size, tamis_error *err);
    void *context;
    size_t slot_suffix; /* size of the end of a key's name that does not count for its slot */
    /* Called after each page. A failure ends the scan. May be NULL. */
    tamis_status (*after_page)(void *context, tamis_error *err);
} tamis__scan;

/* Scans every server, one after the other. May miss keys that are created, deleted or moved to another server
 * meanwhile. TAMIS_E_REFUSED: the user may not run SCAN. */
tamis_status tamis__redis_scan(tamis_redis *redis, const tamis__scan *scan, tamis_error *err);

#endif
