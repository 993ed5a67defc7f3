/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/input/cli_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_text.h"

const char *const cli_key_types[] = {
    [CLI_KEY_BYTES] = "bytes", [CLI_KEY_UTF8] = "utf8",   [CLI_KEY_UTF16] = "utf16",
    [CLI_KEY_INT32] = "int32", [CLI_KEY_INT64] = "int64", NULL};
/* tamis_key_type has the same types, but from 1: 0 is TAMIS_KEYS_UNSPECIFIED. */
_Static_assert(CLI_KEY_BYTES + 1 == TAMIS_KEYS_BYTES && CLI_KEY_INT64 + 1 == TAMIS_KEYS_INT64,
               "a type of a file, less 1, is a cli_key_type");

enum {
    QUOTED_SIZE = 60, /* bytes of a text that an error quotes */
    CAPACITY_MIN = 4096
};

struct cli_key_maker {
    cli_key_form form;
    tamis_sink *sink;
    unsigned char *bytes; /* decoded hexadecimal digits of one key */
    size_t capacity;
    tamis_key *lines; /* texts without a carriage return at the end */
    size_t line_capacity;
};

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
static tamis_status apply_normalization(cli_key_form *form, uint32_t its, const char *path, bool grows,
                                        tamis_error *err) {
    uint32_t less = form->normalization & ~its, more = its & ~form->normalization;

    if (less && grows)
        return cli_fail(err, "%.300s: its keys were made without %s; leave it out, or build another filter",
                        path, option_of(less));
    if ((less & ~form->normalization_given) || (more && form->normalization_known))
        return cli_fail(err, "%.300s: its keys were made with%s %s, unlike those before; query it alone",
                        path, more ? "" : "out", option_of(more ? more : less & ~form->normalization_given));
    form->normalization |= its;
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
    uint32_t type;
    cli_key_type its;

    if (key_type == TAMIS_KEYS_UNSPECIFIED || form->hex)
        return TAMIS_OK;
    if (key_type == UINT32_MAX) /* the plan of a filter on a server has an unknown type */
        return form->given ? TAMIS_OK
                           : cli_fail(err,
                                      "%.300s: its keys are of a type that this tamis does not know; use a "
                                      "newer one, or give --hex",
                                      path);
    type = key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
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
    its = (cli_key_type)(type - 1); /* tamis_key_type has the same order, from 1 */
    if (!form->given) {
        form->type = its;
        form->given = true;
        return TAMIS_OK;
    }
    if (its == form->type || (its <= CLI_KEY_UTF8 && form->type <= CLI_KEY_UTF8)) /* equal bytes */
        return TAMIS_OK;
    return cli_fail(err, "%.300s: its keys are of type %s, not %s; give --type %s, or leave it out", path,
                    cli_key_types[its], cli_key_types[form->type], cli_key_types[its]);
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
    uint32_t type = key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;
    bool typed = type != TAMIS_KEYS_UNSPECIFIED;

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
    uint32_t type = a & ~(uint32_t)TAMIS_KEYS_NORMALIZED, its = b & ~(uint32_t)TAMIS_KEYS_NORMALIZED;

    return ((a ^ b) & TAMIS_KEYS_NORMALIZED) == 0 &&
           (type == its || (type <= TAMIS_KEYS_UTF8 && its <= TAMIS_KEYS_UTF8));
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

/* Replaces the subject and the remedy in the library's "key 0: why; what to do", since the library knows no
 * options. */
static tamis_status fail_text(cli_key_position position, const tamis_key *text, tamis_error *err) {
    char why[sizeof err->text];
    int length;
    const char *reason = cli_why(err, &length);

    snprintf(why, sizeof why, "%.*s", length, reason);
    cli_key_fail(position, text, why, err);
    cli_remedy(err, "give UTF-8, or --type bytes");
    return err->status;
}

/* ---- one key ---- */

static tamis_status reserve_bytes(cli_key_maker *maker, size_t size, tamis_error *err) {
    size_t capacity = 2 * size > CAPACITY_MIN ? 2 * size : CAPACITY_MIN;
    unsigned char *bytes;

    if (size <= maker->capacity)
        return TAMIS_OK;
    bytes = realloc(maker->bytes, capacity);
    if (!bytes)
        return cli_fail_nomem("keys", err);
    maker->bytes = bytes;
    maker->capacity = capacity;
    return TAMIS_OK;
}

/* Decodes hexadecimal digits into the maker's memory. */
static tamis_status unhex(cli_key_maker *maker, const tamis_key *text, tamis_key *key,
                          cli_key_position position, tamis_error *err) {
    const unsigned char *digits = text->data;
    char why[160];

    if (reserve_bytes(maker, text->size / 2, err) != TAMIS_OK)
        return err->status;
    *key = (tamis_key){maker->bytes, text->size / 2};
    for (size_t i = 0; i < text->size; i++) {
        int value = cli_text_hex_digit((char)digits[i]);
        if (value < 0) {
            snprintf(
                why, sizeof why,
                "byte 0x%02X at offset %zu is not a hexadecimal digit; give two digits for each byte, or "
                "leave --hex out",
                digits[i], i);
            return cli_key_fail(position, text, why, err);
        }
        if (i % 2 == 0 && i + 1 < text->size)
            maker->bytes[i / 2] = (unsigned char)(value << 4);
        else if (i % 2 != 0)
            maker->bytes[i / 2] = (unsigned char)(maker->bytes[i / 2] | value);
    }
    if (text->size % 2 == 0)
        return TAMIS_OK;
    snprintf(why, sizeof why, "an odd number of hexadecimal digits, %zu; give two for each byte", text->size);
    return cli_key_fail(position, text, why, err);
}

/* Reads the whole text as a decimal number with an optional sign. */
static tamis_status read_integer(const tamis_key *text, int64_t min, int64_t max, int64_t *value,
                                 cli_key_position position, tamis_error *err) {
    const unsigned char *bytes = text->data;
    bool negative = text->size > 0 && bytes[0] == '-';
    uint64_t limit = negative ? (uint64_t)max + 1 : (uint64_t)max, number = 0;
    size_t i = text->size > 0 && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0, first = i;
    char reason[80], why[200];

    for (; i < text->size && bytes[i] >= '0' && bytes[i] <= '9'; i++) {
        unsigned next = (unsigned)(bytes[i] - '0');
        /* After an overflow the loop goes on: if a byte that is not a digit follows, that is the error to
         * report. */
        number = number > (limit - next) / 10 ? UINT64_MAX : number * 10 + next;
    }
    if (i > first && i == text->size && number <= limit) {
        *value = (int64_t)(negative ? 0 - number : number);
        return TAMIS_OK;
    }
    if (i < text->size)
        snprintf(reason, sizeof reason, "not a whole number at offset %zu (byte 0x%02X)", i, bytes[i]);
    snprintf(why, sizeof why, "%s; give one from %" PRId64 " to %" PRId64 ", in decimal",
             i < text->size ? reason
             : i == first   ? "not a whole number"
                            : "out of range",
             min, max);
    return cli_key_fail(position, text, why, err);
}

/* Removes the carriage return of a Windows line. With --hex it stays, so that it is reported as no digit. */
static tamis_key line_of(const cli_key_maker *maker, tamis_key text) {
    if (maker->form.strip_cr && !maker->form.hex && text.size > 0 &&
        ((const char *)text.data)[text.size - 1] == '\r')
        text.size--;
    return text;
}

/* Puts one key into the sink. Text that is not UTF-8 is reported later, by tamis_sink_keys. */
static tamis_status put_key(cli_key_maker *maker, const tamis_key *text, cli_key_position position,
                            tamis_error *err) {
    tamis_sink *sink = maker->sink;
    tamis_key key = line_of(maker, *text);
    int64_t value = 0;

    if (maker->form.hex && unhex(maker, text, &key, position, err) != TAMIS_OK)
        return err->status;
    switch (maker->form.type) {
    case CLI_KEY_BYTES:
        tamis_sink_put_bytes(sink, key.data, key.size);
        break;
    case CLI_KEY_UTF8:
        tamis_sink_put_utf8(sink, key.data, key.size);
        break;
    case CLI_KEY_UTF16:
        tamis_sink_put_text(sink, key.data, key.size);
        break;
    case CLI_KEY_INT32:
        if (read_integer(&key, INT32_MIN, INT32_MAX, &value, position, err) != TAMIS_OK)
            return err->status;
        tamis_sink_put_int32(sink, (int32_t)value);
        break;
    case CLI_KEY_INT64:
        if (read_integer(&key, INT64_MIN, INT64_MAX, &value, position, err) != TAMIS_OK)
            return err->status;
        tamis_sink_put_int64(sink, value);
        break;
    }
    tamis_sink_end_key(sink);
    return TAMIS_OK;
}

/* ---- batches of keys ---- */

tamis_status cli_key_maker_create(cli_key_maker **maker, cli_key_form form, tamis_error *err) {
    cli_key_maker *made = calloc(1, sizeof *made);

    if (!made)
        return cli_fail_nomem("keys", err);
    made->form = form;
    if (tamis_sink_create(&made->sink, NULL, err) != TAMIS_OK) {
        free(made);
        return err->status;
    }
    *maker = made;
    return TAMIS_OK;
}

void cli_key_maker_free(cli_key_maker *maker) {
    if (!maker)
        return;
    tamis_sink_free(maker->sink);
    free(maker->bytes);
    free(maker->lines);
    free(maker);
}

/* Puts the first `count` texts again. They are known to be good. */
static tamis_status remake_keys(cli_key_maker *maker, const tamis_key *texts, size_t count,
                                cli_key_position first, const tamis_key **keys, size_t *made,
                                tamis_error *err) {
    tamis_sink_clear(maker->sink);
    for (size_t i = 0; i < count; i++)
        if (put_key(maker, &texts[i], cli_key_position_of(first, i), err) != TAMIS_OK)
            return err->status;
    return tamis_sink_keys(maker->sink, keys, made, err);
}

/* After a text that is not UTF-8 the sink has no keys at all. This finds the text and makes the keys before
 * it. */
static tamis_status make_before(cli_key_maker *maker, const tamis_key *texts, size_t count,
                                cli_key_position first, const tamis_key **keys, size_t *made,
                                tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    size_t i = 0;

    for (; i < count; i++) {
        tamis_sink_clear(maker->sink);
        put_key(maker, &texts[i], cli_key_position_of(first, i), err);
        status = tamis_sink_keys(maker->sink, keys, made, &why);
        if (status != TAMIS_OK)
            break;
    }
    *made = 0;
    if (status == TAMIS_E_INVALID && remake_keys(maker, texts, i, first, keys, made, err) != TAMIS_OK)
        return err->status;
    *err = why;
    return status == TAMIS_E_INVALID ? fail_text(cli_key_position_of(first, i), &texts[i], err) : err->status;
}

/* Makes keys that differ from their texts only in the size, so no bytes are copied. */
static tamis_status make_lines(cli_key_maker *maker, const tamis_key *texts, size_t count,
                               const tamis_key **keys, size_t *made, tamis_error *err) {
    if (count > maker->line_capacity) {
        free(maker->lines);
        maker->lines = calloc(count, sizeof *maker->lines);
        maker->line_capacity = maker->lines ? count : 0;
        if (!maker->lines)
            return cli_fail_nomem("records", err);
    }
    for (size_t i = 0; i < count; i++)
        maker->lines[i] = line_of(maker, texts[i]);
    *keys = maker->lines;
    *made = count;
    return TAMIS_OK;
}

tamis_status cli_key_make(cli_key_maker *maker, const tamis_key *texts, size_t count, cli_key_position first,
                          const tamis_key **keys, size_t *made, tamis_error *err) {
    tamis_error sink_err = TAMIS_ERROR_INIT;
    tamis_status status;
    size_t good = 0;
    tamis_status code = TAMIS_OK;

    *made = 0;
    if (cli_key_is_plain(maker->form)) {
        *keys = texts;
        *made = count;
        return TAMIS_OK;
    }
    if (maker->form.type == CLI_KEY_BYTES && !maker->form.hex)
        return make_lines(maker, texts, count, keys, made, err);
    tamis_sink_clear(maker->sink);
    while (good < count && code == TAMIS_OK) {
        code = put_key(maker, &texts[good], cli_key_position_of(first, good), err);
        good += code == TAMIS_OK;
    }
    if (code != TAMIS_OK && err->status == TAMIS_E_NOMEM)
        return err->status;
    status = tamis_sink_keys(maker->sink, keys, made, &sink_err);
    if (status == TAMIS_E_INVALID)
        return make_before(maker, texts, good, first, keys, made, err);
    if (status == TAMIS_OK)
        return code;
    if (status == TAMIS_E_NOMEM) /* the sink names a key by its number in the batch */
        return cli_fail_nomem("keys", err);
    *err = sink_err;
    return err->status;
}
