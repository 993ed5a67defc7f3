/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_KEY_H
#define TAMIS_CLI_INPUT_CLI_KEY_H

#include <tamis/file.h>
#include <tamis/funnel.h>
#include <tamis/hash.h>

#include "cli/cli.h"

/* What the text of a key stands for, in the order of cli_key_types. */
typedef enum cli_key_type {
    CLI_KEY_BYTES,
    CLI_KEY_UTF8,
    CLI_KEY_UTF16,
    CLI_KEY_INT32,
    CLI_KEY_INT64
} cli_key_type;

extern const char *const cli_key_types[];

/* How keys are written; all zeros: as the bytes they are. */
typedef struct cli_key_form {
    cli_key_type type;
    bool hex;      /* in hexadecimal digits, of a text too */
    bool given;    /* by --type or --hex; else a filter may say it */
    bool strip_cr; /* a carriage return at the end of a text is none of it */
    /* What is done to each text before: bits of TAMIS_KEYS_MADE. */
    uint32_t made, made_given; /* by options, too */
    bool made_known;           /* a filter has said it, too */
} cli_key_form;

/* Which key an error is about. */
typedef struct cli_key_position {
    const char *input;            /* where it was read; NULL: that goes without saying */
    const char *word;             /* "record" of an input, "key" of the command line */
    uint64_t number;              /* from 1; of several keys, of the first record that they may be of: */
    const uint32_t *record_index; /* key i is of record number + of[i]; NULL: of number + i */
} cli_key_position;

/* That of key `i`, of this one alone, and that of all behind it. */
cli_key_position cli_key_position_of(cli_key_position first, size_t i);
cli_key_position cli_key_position_after(cli_key_position first, size_t i);

/* "input: record 7 'text': why", which ends in "; what to do". */
int cli_key_fail(cli_key_position position, const tamis_key *text, const char *why, tamis_error *err);

/* Makes keys of their texts, batch by batch, in memory that it keeps. */
typedef struct cli_key_maker cli_key_maker;

/* What --type and --hex say of records. CLI_DONE, or CLI_FAILED where they contradict each other. */
int cli_key_configure(cli_key_form *form, const cli_value *type, const cli_value *hex, tamis_error *err);

/* Lines for a filter of scheme fnv-dcso are what the bloom program of DCSO takes for them: those of Windows without the
 * carriage return at their end. Records that end otherwise stay as they are. */
void cli_key_fit(cli_key_form *form, tamis_scheme scheme, int terminator);

/* Puts into *form what the file says of its keys, where no option does; `path` is its name, `grows` says that keys are
 * added to it. CLI_FAILED where these contradict each other: keys would be absent that are there. What is `made` of texts
 * is then for cli_extract_apply_made. */
int cli_key_apply_filter(cli_key_form *form, const tamis_filter *filter, const char *path, bool grows,
                         tamis_error *err);
/* The same of a type that is told otherwise, a tamis_key_type with what is `made`. */
int cli_key_apply_type(cli_key_form *form, uint32_t key_type, const char *path, bool grows, tamis_error *err);
/* What the file says of its keys: a tamis_key_type with what is made of them. */
int cli_key_type_stored(const tamis_filter *filter, uint32_t *key_type, tamis_error *err);
/* The tamis_key_type of keys in this form, with what is made of them. */
uint32_t cli_key_type_of(cli_key_form form);
enum { CLI_KEY_RULE = 80 };
/* Such a type as the options that make those keys, "--type int32 --trim", or "untold". `text` has CLI_KEY_RULE bytes, and
 * may have what is returned. */
const char *cli_key_rule(char *text, uint32_t key_type);
/* Whether by the two the same text makes the same key. Where nothing is told it is its bytes. */
bool cli_key_types_equal(uint32_t a, uint32_t b);
/* Notes in the filter what its keys are made of. */
int cli_key_store_form(cli_key_form form, tamis_filter *filter, tamis_error *err);

/* Whether there is nothing to be made. */
bool cli_key_is_plain(cli_key_form form);

/* *maker is the caller's until freed (NULL is fine there). */
int cli_key_maker_create(cli_key_maker **maker, cli_key_form form, tamis_error *err);
void cli_key_maker_free(cli_key_maker *maker);

/*
 * CLI_DONE: *keys are the `count` keys, the maker's and the texts' until its next call. CLI_FAILED: the first *made of
 * them are, and *err says what is wrong with the next one, `first` being the place of the first; TAMIS_E_NOMEM: none.
 */
int cli_key_make(cli_key_maker *maker, const tamis_key *texts, size_t count, cli_key_position first,
                 const tamis_key **keys, size_t *made, tamis_error *err);

#endif
