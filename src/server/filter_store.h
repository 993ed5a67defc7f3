/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_FILTER_STORE_H
#define TAMIS_SERVER_FILTER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#include "server/server_config.h"

/*
 * Filters with names, each with a state (tamis/experimental/state.h) in a directory. Commands run in batches.
 * The adds of a batch are committed together, and only then the commands have their results. Used by one
 * thread at a time.
 */
typedef struct filter_store filter_store;
typedef struct named_filter named_filter;

enum {
    FILTER_FILE_MAX = 255,    /* bytes of a file name */
    FILTER_LATENCY_STEPS = 18 /* step i: at most 100 us * 2^i; the last one: all others */
};

typedef enum filter_verb { FILTER_RESERVE, FILTER_ADD, FILTER_EXISTS, FILTER_INFO, FILTER_CARD } filter_verb;

/* Properties of a new filter. */
typedef struct filter_creation {
    double rate;
    uint64_t capacity;
    uint32_t expansion; /* 0: the filter does not grow */
} filter_creation;

/* Numbers of one filter. */
typedef struct filter_numbers {
    uint64_t capacity, memory, keys;
    uint32_t expansion;
} filter_numbers;

/* One command. The caller fills it to `items`, with zeros behind. */
typedef struct filter_command {
    struct filter_command *next;
    filter_verb verb;
    tamis_key name;
    filter_creation creation; /* of FILTER_RESERVE */
    size_t count;             /* of the items of FILTER_ADD and FILTER_EXISTS */
    const tamis_key *items;
    tamis_answer *answers; /* room for `count` of them */

    size_t done;            /* answered items; FILTER_ADD: the next one has the error, if there is one */
    const char *error;      /* NULL, or the error as the client gets it */
    bool is_whole;          /* the error is that of the whole command */
    bool is_found;          /* FILTER_INFO, FILTER_CARD: there is such a filter */
    filter_numbers numbers; /* of FILTER_INFO and FILTER_CARD */
    named_filter *filter;   /* filter that it has used, or NULL */
    char *message;          /* memory of `error`, from malloc(), or NULL */
} filter_command;

/* Numbers of all filters. */
typedef struct filter_stats {
    uint64_t filters, keys, memory;
    uint64_t added, present, lookups; /* items; `present`: of adds */
    uint64_t commits, failed_commits, commit_us;
    uint64_t commit_steps[FILTER_LATENCY_STEPS];
} filter_stats;

/* Makes the directory, if its parent exists, and reads the names in it. The caller owns *store until
 * tamis__filter_store_close. `log` gets lines for a person, with their context; NULL: none.
 * TAMIS_E_IO: the directory cannot be made or read. TAMIS_E_BUSY: another store has it open. */
tamis_status tamis__filter_store_open(filter_store **store, const server_filters *settings,
                                      const tamis_allocator *memory,
                                      void (*log)(void *context, const char *line), void *context,
                                      tamis_error *err);
/* Opens the state of each name, which reads its keys. One that fails is logged, and each use tries again. */
void tamis__filter_store_load(filter_store *store);
/* Runs a list of commands in order, commits, and sets their results. Adds whose commit failed have an error. */
void tamis__filter_store_run(filter_store *store, filter_command *first);
/* Frees the message of a command. */
void tamis__filter_command_release(filter_command *command);
void tamis__filter_store_stats(const filter_store *store, filter_stats *stats);
void tamis__filter_store_close(filter_store *store);

/* ---- filter_names.c ---- */

/* Encodes a name as a file name. False: it would be too long. */
bool tamis__filter_name_encode(char file[FILTER_FILE_MAX + 1], tamis_key name);
/* Decodes a file name. False: it is not the encoding of a name. */
bool tamis__filter_name_decode(char name[FILTER_FILE_MAX], size_t *size, const char *file);

#endif
