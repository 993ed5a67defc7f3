/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How the text of a key becomes its bytes, and that a filter and a run agree about it.
 *
 *     text --trim, fold--> normalised text --type--> bytes of the key --hash--> positions
 *            (extractor)                    (key maker)
 *
 * A key whose bytes were made otherwise is never found, and no error shows it: the filter just answers
 * "absent". So a filter stores how its keys were made (key_type), and a command adopts that:
 *
 *     filter stores   options give   a lookup uses               an add uses
 *     -------------   ------------   -------------------------   --------------------------
 *     nothing         anything       the options                 the options
 *     a type          nothing        the stored type             the stored type
 *     a type          another type   error                       error
 *     no --trim       --trim         the options                 error
 *     --trim          nothing        the stored normalisation    the stored normalisation
 *
 * bytes and utf8 count as one type, since they make the same bytes. --hex gives the bytes themselves, so no
 * stored type matters.
 *
 * Several filters of one lookup must agree, because a key is made once for all of them.
 */
#include "cli/input/cli_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/cli_text.h"

const char *const cli_key_types[] = {
    [CLI_KEY_BYTES] = "bytes", [CLI_KEY_UTF8] = "utf8",   [CLI_KEY_UTF16] = "utf16",
    [CLI_KEY_INT32] = "int32", [CLI_KEY_INT64] = "int64", NULL};
/* tamis_key_type has the same types, but from 1: 0 is TAMIS_KEYS_UNSPECIFIED. */
_Static_assert(CLI_KEY_BYTES + 1 == TAMIS_KEYS_BYTES && CLI_KEY_INT64 + 1 == TAMIS_KEYS_INT64,
               "a type of a file, less 1, is a cli_key_type");

enum { QUOTED_SIZE = 60 /* bytes of a text that an error quotes */ };

tamis_status cli_key_configure(cli_key_form *form, const cli_value *type, const cli_value *hex,
                               tamis_error *err) {
    *form = (cli_key_form){
        .type = (cli_key_type)type->number, .hex = hex->given, .given = type->given || hex->given};
    if (form->hex && form->type != CLI_KEY_BYTES)
        return cli_fail(err,
                        "--hex: contradicts --type %s: digits are the bytes of a key; leave one of them out",
                        type->text);
    return TAMIS_OK;
}

bool cli_key_is_plain(cli_key_form form) {
    return form.type == CLI_KEY_BYTES && !form.hex && !form.strip_cr;
}

void cli_key_fit(cli_key_form *form, tamis_scheme scheme, int terminator) {
    form->strip_cr = scheme == TAMIS_SCHEME_FNV_DCSO && terminator == '\n';
}

static const char *option_of(uint32_t normalization) {
    return normalization & TAMIS_KEYS_FOLDED ? "--ignore-case" : "--trim";
}

/* Adopts the normalisation of keys that a filter stores. Options may add to it for lookups, but not if
 * keys are added to the filter. Several filters must agree. */
static tamis_status apply_normalization(cli_key_form *form, uint32_t stored, const char *path, bool grows,
                                        tamis_error *err) {
    uint32_t less = form->normalization & ~stored, more = stored & ~form->normalization;

    if (less && grows)
        return cli_fail(err, "%.300s: its keys were made without %s; leave it out, or build another filter",
                        path, option_of(less));
    if ((less & ~form->normalization_given) || (more && form->normalization_known))
        return cli_fail(err, "%.300s: its keys were made with%s %s, unlike those before; query it alone",
                        path, more ? "" : "out", option_of(more ? more : less & ~form->normalization_given));
    form->normalization |= stored;
    form->normalization_known = true;
    return TAMIS_OK;
}

tamis_status cli_key_apply_filter(cli_key_form *form, const tamis_filter *filter, const char *path,
                                  bool grows, tamis_error *err) {
    uint32_t key_type = TAMIS_KEYS_UNSPECIFIED;

    if (cli_key_type_stored(filter, &key_type, err) != TAMIS_OK)
        return err->status;
    return cli_key_apply_type(form, key_type, path, grows, err);
}

tamis_status cli_key_apply_type(cli_key_form *form, uint32_t key_type, const char *path, bool grows,
                                tamis_error *err) {
    static const tamis_key_type last = TAMIS_KEYS_INT64;

    if (key_type == TAMIS_KEYS_UNSPECIFIED || form->hex)
        return TAMIS_OK;
    if (key_type == UINT32_MAX) /* the plan of a filter on a server has an unknown type */
        return form->given ? TAMIS_OK
                           : cli_fail(err,
                                      "%.300s: its keys are of a type that this tamis does not know; use a "
                                      "newer one, or give --hex",
                                      path);
    const uint32_t type = key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
    if (type > last)
        return form->given ? TAMIS_OK
                           : cli_fail(err,
                                      "%.300s: its keys are of type %" PRIu32 ", which this tamis does not "
                                      "know; use a newer one, or give --hex",
                                      path, key_type);
    if (apply_normalization(form, key_type & TAMIS_KEYS_NORMALIZED, path, grows, err) != TAMIS_OK)
        return err->status;
    if (type == TAMIS_KEYS_UNSPECIFIED)
        return TAMIS_OK;
    const cli_key_type stored = (cli_key_type)(type - 1); /* tamis_key_type has the same order, from 1 */
    if (!form->given) {
        form->type = stored;
        form->given = true;
        return TAMIS_OK;
    }
    if (stored == form->type || (stored <= CLI_KEY_UTF8 && form->type <= CLI_KEY_UTF8)) /* equal bytes */
        return TAMIS_OK;
    return cli_fail(err, "%.300s: its keys are of type %s, not %s; give --type %s, or leave it out", path,
                    cli_key_types[stored], cli_key_types[form->type], cli_key_types[stored]);
}

tamis_status cli_key_type_stored(const tamis_filter *filter, uint32_t *key_type, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;

    if (tamis_filter_metadata_get(filter, &metadata, err) != TAMIS_OK)
        return err->status;
    *key_type = metadata.key_type;
    return TAMIS_OK;
}

uint32_t cli_key_type_of(cli_key_form form) {
    return (form.hex ? TAMIS_KEYS_UNSPECIFIED : (uint32_t)form.type + 1) | form.normalization;
}

const char *cli_key_rule(char *text, uint32_t key_type) {
    const uint32_t type = key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
    const bool typed = type != TAMIS_KEYS_UNSPECIFIED;

    if (type > TAMIS_KEYS_INT64)
        return "a type of a later version";
    if (key_type == TAMIS_KEYS_UNSPECIFIED)
        return "unspecified";
    snprintf(text, CLI_KEY_RULE, "%s%s%s%s", typed ? " --type " : "", typed ? cli_key_types[type - 1] : "",
             key_type & TAMIS_KEYS_FOLDED ? " --ignore-case" : "",
             key_type & TAMIS_KEYS_TRIMMED ? " --trim" : "");
    return text + 1;
}

bool cli_key_types_equal(uint32_t a, uint32_t b) {
    const uint32_t type_a = a & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
    const uint32_t type_b = b & ~(uint32_t)TAMIS_KEYS_NORMALIZED;

    return ((a ^ b) & TAMIS_KEYS_NORMALIZED) == 0 &&
           (type_a == type_b || (type_a <= TAMIS_KEYS_UTF8 && type_b <= TAMIS_KEYS_UTF8));
}

tamis_status cli_key_store_form(cli_key_form form, tamis_filter *filter, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);

    metadata.key_type = cli_key_type_of(form);
    if (status == TAMIS_OK)
        status = tamis_filter_metadata_set(filter, &metadata, err);
    return status;
}

/* ---- errors ---- */

cli_key_position cli_key_position_of(cli_key_position first, size_t i) {
    first.number += first.record_index ? first.record_index[i] : i;
    first.record_index = NULL;
    return first;
}

cli_key_position cli_key_position_after(cli_key_position first, size_t i) {
    if (first.record_index)
        first.record_index += i;
    else
        first.number += i;
    return first;
}

/* "input: record 7 'text': reason; remedy" */
tamis_status cli_key_fail(cli_key_position position, const tamis_key *text, const char *why,
                          tamis_error *err) {
    const unsigned char *bytes = text->data;
    char shown[QUOTED_SIZE + 1];
    size_t size = 0;

    /* Quote printable ASCII only: the text may not be UTF-8, or may be cut within a character. */
    for (; size < QUOTED_SIZE && size < text->size; size++)
        shown[size] = (char)(bytes[size] >= ' ' && bytes[size] <= '~' ? bytes[size] : '?');
    shown[size] = '\0';
    return cli_fail(err, "%.200s%s%s %" PRIu64 " '%s%s': %s", position.input ? position.input : "",
                    position.input ? ": " : "", position.word, position.number, shown,
                    size < text->size ? "..." : "", why);
}

/* ---- keys of texts ---- */

tamis_status cli_key_maker_create(tamis_key_maker **maker, cli_key_form form, tamis_error *err) {
    tamis_key_maker_options options = TAMIS_KEY_MAKER_OPTIONS_INIT;

    options.hex = form.hex;
    /* With --hex the carriage return stays, so that it is reported as no digit. */
    options.strip_cr = form.strip_cr && !form.hex;
    options.key_type = (uint32_t)form.type + 1;
    return tamis_key_maker_create(maker, &options, err);
}

tamis_status cli_key_explain(cli_key_position position, const tamis_key *text, tamis_error *err) {
    const char *remedy = NULL;
    char why[sizeof err->text];
    int length;

    if (err->status == TAMIS_E_NOMEM)
        return cli_fail_nomem("keys", err);
    if (err->status != TAMIS_E_INVALID)
        return err->status;
    snprintf(why, sizeof why, "%s", cli_why(err, &length));
    cli_key_fail(position, text, why, err);
    if (strstr(why, "UTF-8"))
        remedy = "give UTF-8, or --type bytes";
    else if (strstr(why, "not a hexadecimal digit"))
        remedy = "give two digits for each byte, or leave --hex out";
    if (remedy)
        cli_remedy(err, remedy);
    return err->status;
}
