/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_KEY_H
#define TAMIS_CLI_INPUT_CLI_KEY_H

#include <tamis/experimental/key_maker.h>
#include <tamis/file.h>
#include <tamis/hash.h>

#include "cli/cli.h"

/* How the text of a key becomes its bytes: the index into cli_key_types. */
typedef enum cli_key_type {
    CLI_KEY_BYTES,
    CLI_KEY_UTF8,
    CLI_KEY_UTF16,
    CLI_KEY_INT32,
    CLI_KEY_INT64
} cli_key_type;

extern const char *const cli_key_types[];

/* How texts become keys. All zeros: a key is the bytes of its text. */
typedef struct cli_key_form {
    cli_key_type type;
    bool hex;      /* true: texts are hexadecimal digits (--hex) */
    bool given;    /* true: set by --type, --hex or an earlier filter, so the next filter must agree */
    bool strip_cr; /* true: a carriage return at the end of a text is not part of the key */
    /* How texts are normalised first: bits of TAMIS_KEYS_NORMALIZED. */
    uint32_t normalization;
    uint32_t normalization_given; /* the bits of it that options set */
    bool normalization_known;     /* true: a filter has set `normalization` */
} cli_key_form;

/* Position of a key, for errors. */
typedef struct cli_key_position {
    const char *input;            /* name of the input; NULL: not shown */
    const char *word;             /* "record" of an input, "key" of the command line */
    uint64_t number;              /* number of the key, from 1; with record_index: of the first record */
    const uint32_t *record_index; /* key i belongs to record number + record_index[i]; NULL: to number + i */
} cli_key_position;

/* cli_key_position_of: returns the position of key `i` alone. cli_key_position_after: the position of the
 * keys from `i` on. */
cli_key_position cli_key_position_of(cli_key_position first, size_t i);
cli_key_position cli_key_position_after(cli_key_position first, size_t i);

/* Fills *err with "input: record 7 'text': why". `why` ends with "; what to do". Returns err->status. */
tamis_status cli_key_fail(cli_key_position position, const tamis_key *text, const char *why,
                          tamis_error *err);

/* Parses --type and --hex. Error: they contradict each other. */
tamis_status cli_key_configure(cli_key_form *form, const cli_value *type, const cli_value *hex,
                               tamis_error *err);

/* Adapts lines to scheme fnv-dcso: like the bloom program of DCSO, a line is without a carriage return at
 * its end. Changes nothing for another scheme or if `terminator` is not a newline. */
void cli_key_fit(cli_key_form *form, tamis_scheme scheme, int terminator);

/* Sets in *form the key type and normalisation that the filter stores, unless options set them. `path` is
 * the name of the filter for errors; `grows` means that keys are added to it. Error: they contradict each
 * other, so lookups would not find existing keys. Then pass form->normalization to
 * cli_extract_apply_normalization. */
tamis_status cli_key_apply_filter(cli_key_form *form, const tamis_filter *filter, const char *path,
                                  bool grows, tamis_error *err);
/* Like cli_key_apply_filter, for a tamis_key_type with bits of TAMIS_KEYS_NORMALIZED. */
tamis_status cli_key_apply_type(cli_key_form *form, uint32_t key_type, const char *path, bool grows,
                                tamis_error *err);
/* Reads the key type that the filter stores: a tamis_key_type with bits of TAMIS_KEYS_NORMALIZED. */
tamis_status cli_key_type_stored(const tamis_filter *filter, uint32_t *key_type, tamis_error *err);
/* Returns the tamis_key_type of keys in this form, with bits of TAMIS_KEYS_NORMALIZED. */
uint32_t cli_key_type_of(cli_key_form form);
enum { CLI_KEY_RULE = 80 };
/* Returns the options that make keys of this type, such as "--type int32 --trim", or "unspecified". The
 * result may be in `text`, which has CLI_KEY_RULE bytes. */
const char *cli_key_rule(char *text, uint32_t key_type);
/* True if both key types encode a text to the same bytes. No type means raw bytes. */
bool cli_key_types_equal(uint32_t a, uint32_t b);
/* Stores the key type of this form in the metadata of the filter. */
tamis_status cli_key_store_form(cli_key_form form, tamis_filter *filter, tamis_error *err);

/* True if keys are the bytes of their texts, so that no tamis_key_maker is needed. */
bool cli_key_is_plain(cli_key_form form);

/* Creates the maker of keys in this form. */
tamis_status cli_key_maker_create(tamis_key_maker **maker, cli_key_form form, tamis_error *err);

/* Rewrites the error of tamis_key_maker_make for users: the position of the text and the options instead of a
 * number in the batch. `text` is the one that the maker refused. Returns err->status. */
tamis_status cli_key_explain(cli_key_position position, const tamis_key *text, tamis_error *err);

#endif
