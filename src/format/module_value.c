/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of the Redis module's own types, and the types of all keys of a Redis that have filters.
 *
 *     type of the key          made by                         value
 *     -----------------------  ------------------------------  --------------------------------------------
 *     MBbloom--, MBbloomCF     BF and CF commands              a filter of RedisBloom (redisbloom_dump.c,
 *                                                              redisbloom_cuckoo_dump.c)
 *     TAMISload, TAMISloCF     BF.LOADCHUNK, CF.LOADCHUNK      chunks of one; others are missing
 *     TAMISflt1                BF.RESERVE with KIND            a filter, or the beginning of its image
 *     TAMISwin1                TW.RESERVE                      a window, or the beginning of its image
 *     TAMIS, and others        a later version of the module   not known here
 *
 * A value of TAMISflt1 or TAMISwin1 is a .tamis file, the image, with one or two numbers before it (see
 * tamis/experimental/module_value.h). This file checks the numbers and the kind. The loader of .tamis files
 * checks the rest.
 *
 * Callers. The module gets the fields of a value from the server. The library reads them from an RDB file or
 * a DUMP (redisbloom_file.c). Both use the same two functions to read the fields and to decode the image:
 *
 *     module     source of the server --+--> tamis_module_value_read --> image --+--> filter of the key
 *     library    source of the bytes ---'                                        `--> copy, which is only read
 *
 * Why two functions? BF.LOADIMAGE has an image without fields. And the module frees bytes of the server in
 * another way than the aligned memory of a filter.
 *
 * Invariants:
 * 1. A value that is read here has at least one byte of an image, and not more than the whole.
 * 2. No secret, no counts and no refresh get into the module, whatever the bytes say.
 */
#include "format/module_value.h"

#include <inttypes.h>
#include <string.h>

#include "base/versioned.h"
#include "filter/filter_int.h"

/* ---- types ---- */

enum { NAME = 9 }; /* letters of the name of a module's type */

static const char *const names[] = {
    [TAMIS__VALUE_CHAIN] = "MBbloom--",        [TAMIS__VALUE_CUCKOO] = "MBbloomCF",
    [TAMIS__VALUE_CHAIN_CHUNKS] = "TAMISload", [TAMIS__VALUE_CUCKOO_CHUNKS] = "TAMISloCF",
    [TAMIS__VALUE_FILTER] = "TAMISflt1",       [TAMIS__VALUE_WINDOW] = "TAMISwin1",
};

tamis__value_type tamis__value_type_named(const char *name, size_t size) {
    static const char ours[] = {'T', 'A', 'M', 'I', 'S'};
    if (size != NAME)
        return TAMIS__VALUE_OTHER;
    for (tamis__value_type type = TAMIS__VALUE_CHAIN; type <= TAMIS__VALUE_WINDOW; type++)
        if (memcmp(name, names[type], NAME) == 0)
            return type;
    return memcmp(name, ours, sizeof ours) == 0 ? TAMIS__VALUE_NEWER : TAMIS__VALUE_OTHER;
}

/* The alphabet of base64url: each letter of a name is 6 bits of its number. */
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

uint64_t tamis__value_type_number(tamis__value_type type) {
    uint64_t number = 0;
    for (const char *letter = names[type]; *letter; letter++)
        number = number << 6 | (uint64_t)(strchr(letters, *letter) - letters);
    return number << TAMIS__VALUE_VERSION_BITS;
}

tamis__value_type tamis__value_type_of(uint64_t number) {
    char name[NAME];
    number >>= TAMIS__VALUE_VERSION_BITS;
    for (int i = NAME - 1; i >= 0; i--, number >>= 6)
        name[i] = letters[number & 63];
    return tamis__value_type_named(name, NAME);
}

tamis_status tamis__value_type_check(tamis__value_type type, const char *name, tamis_error *err) {
    switch (type) {
    case TAMIS__VALUE_CHAIN_CHUNKS:
    case TAMIS__VALUE_CUCKOO_CHUNKS:
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: chunks of the filter are missing, so it answers nothing yet; load them by "
                           "%s.LOADCHUNK",
                           name, type == TAMIS__VALUE_CHAIN_CHUNKS ? "BF" : "CF");
    case TAMIS__VALUE_NEWER:
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: a type of a newer version of the Redis module; use a newer tamis", name);
    default:
        return TAMIS_OK;
    }
}

const char *tamis_module_type_name(tamis_module_type type) {
    return type == TAMIS_MODULE_FILTER   ? names[TAMIS__VALUE_FILTER]
           : type == TAMIS_MODULE_WINDOW ? names[TAMIS__VALUE_WINDOW]
                                         : NULL;
}

/* ---- fields ---- */

enum { WHOLE = 0, INCOMPLETE = 1 }; /* first field of a value */

static tamis_status fail_missing(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "module: a field is missing or out of range; the dump is damaged, dump the key again");
}

static tamis_status read_fields(tamis_module_value *value, const tamis_redisbloom_source *from,
                                const tamis_allocator *memory, tamis_error *err) {
    uint64_t state, image_size = 0;
    size_t size = 0;
    if (!from->number(from->context, &state) || state > INCOMPLETE ||
        (state == INCOMPLETE && !from->number(from->context, &image_size)))
        return fail_missing(err);
    void *image = from->bytes(from->context, &size);
    if (!image)
        return fail_missing(err);
    if (state == WHOLE)
        image_size = size;
    if (size == 0 || image_size > INT64_MAX || (state == INCOMPLETE && size >= image_size)) {
        tamis__free(memory, image, size);
        return fail_missing(err);
    }
    value->image_size = image_size;
    value->loaded = size;
    value->image = image;
    return TAMIS_OK;
}

tamis_status tamis_module_value_read(tamis_module_value *value, uint32_t version,
                                     const tamis_redisbloom_source *source, const tamis_allocator *allocator,
                                     tamis_error *err) {
    tamis_redisbloom_source from = TAMIS_REDISBLOOM_SOURCE_INIT;
    tamis_module_value created = TAMIS_MODULE_VALUE_INIT;
    const tamis_allocator memory = tamis__allocator_resolve(allocator);
    tamis_status status = tamis__check_struct(value, "TAMIS_MODULE_VALUE_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__read_struct(&from, sizeof from, source, "TAMIS_REDISBLOOM_SOURCE_INIT", err);
    if (status == TAMIS_OK && version != TAMIS_MODULE_RDB_VERSION)
        status = tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                             "module: encoding version %" PRIu32 " is not %d; use a newer tamis", version,
                             TAMIS_MODULE_RDB_VERSION);
    if (status == TAMIS_OK)
        status = read_fields(&created, &from, &memory, err);
    if (status == TAMIS_OK)
        tamis__write_struct(value, &created, sizeof created);
    return status;
}

/* ---- images ---- */

/* Checks that a decoded filter may be a value of the type. `name` begins the message. */
static tamis_status check_kind(const tamis_filter *filter, tamis_module_type type, const char *name,
                               tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const bool counts = plan->kind == TAMIS_KIND_COUNTING || plan->kind == TAMIS_KIND_CUCKOO;
    if (counts || (plan->kind == TAMIS_KIND_WINDOW) != (type == TAMIS_MODULE_WINDOW))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: kind %s: %s does not have it; %s", name,
                           tamis_kind_name(plan->kind), tamis_module_type_name(type),
                           plan->kind == TAMIS_KIND_WINDOW ? "load it by TW.LOADIMAGE"
                           : counts                        ? "use CF commands"
                                                           : "load it by BF.LOADIMAGE");
    if (plan->scheme == TAMIS_SCHEME_SIP)
        return tamis__fail(err, TAMIS_E_SECRET, 0,
                           "%s: scheme sip: the server does not have the secret; make one of scheme xxh3",
                           name);
    if (plan->refresh) /* TW.ADD neither refreshes items that are present nor sends them to replicas */
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "%s: a window with refresh; make one without it",
                           name);
    return TAMIS_OK;
}

/* Makes a decoded filter the caller's, if the type may have it. */
static tamis_status accept(tamis_filter **filter, tamis_filter *decoded, tamis_module_type type,
                           const char *name, tamis_error *err) {
    const tamis_status status = check_kind(decoded, type, name, err);
    if (status == TAMIS_OK)
        *filter = decoded;
    else
        tamis_filter_free(decoded);
    return status;
}

tamis_status tamis__module_value_decode(tamis_filter **filter, tamis_module_type type,
                                        const tamis__encoded_bytes *source, const tamis_open_options *options,
                                        tamis_error *err) {
    tamis_filter *decoded;
    const tamis_status status = tamis__format_native.decode(&decoded, source, options, err);
    return status == TAMIS_OK ? accept(filter, decoded, type, source->name, err) : status;
}

tamis_status tamis_module_value_decode(tamis_filter **filter, tamis_module_type type, const void *image,
                                       uint64_t size, const tamis_allocator *allocator, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_filter *decoded;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_TAMIS;
    options.allocator = allocator;
    if (!tamis_module_type_name(type))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "type %d: no such type; see tamis/experimental/module_value.h", (int)type);
    const tamis_status status = tamis_filter_decode(&decoded, image, size, &options, err);
    return status == TAMIS_OK ? accept(filter, decoded, type, "filter", err) : status;
}
