/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of RedisBloom and of the Redis module in files: what DUMP replies, and a key of an RDB file.
 *
 * The value of a module's type in an RDB file, and the same with a footer as the reply to DUMP:
 *
 *     7 | number of the type | fields | 0          | version, u16 LE | checksum, u64 LE
 *       value in an RDB file                         in a DUMP only
 *
 *     number of the type      nine letters of 6 bits each, and 10 bits of the encoding version
 *     field                   its type (2 a number, 4 a double, 5 a string), and the value; see rdb.c
 *
 * The letters are those of base64 for URLs. module_value.c has the types. redisbloom_dump.c and
 * redisbloom_cuckoo_dump.c have the fields of RedisBloom's, module_value.c those of the module's own.
 *
 * A key of the module's own types has a .tamis file. A copy of it is a filter of format tamis. It is only
 * read, since a key that is added to it would not get into the server. It is not written here.
 *
 * An example: BF.RESERVE f 0.01 3 NONSCALING, then BF.ADD f a:
 *
 *     07  81 3016e5a289bef804         MBbloom--, encoding version 4
 *     02 01  02 01  02 0d  02 00      1 item, 1 sub-filter, options 13, no expansion
 *     02 03  04 7b14ae47e17a843f      capacity 3, rate 0.01
 *     02 07  04 88168ac58c2b2340      7 hashes, 9.585 bits for each item
 *     02 4040  02 00                  64 bits, not a power of two
 *     05 08 0044008800100120          8 bytes of bits
 *     02 01  00                       1 item; end
 *
 * A file that is written has the version of Redis 4, the oldest with such values. So every server since then
 * takes it: redis-cli -x RESTORE f 0 < FILE.
 *
 * Checks. The checksum comes first, for all bytes. What the fields say is checked by the readers of the
 * dumps, as if it came from a server. Memory for a bit array is allocated when its string is there: a file of
 * n bytes takes at most 264 n, if it is compressed.
 *
 * Invariants:
 * 1. A file that is read and written again has the same fields. Only version, compression and so the checksum
 *    may differ.
 * 2. encoded_size and encode write by the same code, so that the sizes agree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "filter/compat/redisbloom_filter.h"
#include "filter/filter_int.h"
#include "format/module_value.h"
#include "format/rdb.h"

enum { FOOTER = 10, WRITTEN_VERSION = 8 };

/* ---- types ---- */

/* Reads the number of a module's type, and sets *version to the encoding version in it. */
static tamis__value_type read_type(tamis__rdb *from, uint32_t *version) {
    const uint64_t number = tamis__rdb_number(from);
    *version = (uint32_t)(number & ((1U << TAMIS__VALUE_VERSION_BITS) - 1));
    return from->bad ? TAMIS__VALUE_OTHER : tamis__value_type_of(number);
}

/* ---- reading ---- */

/* Fields of a value. */
typedef struct fields {
    tamis__rdb from;
    const char *name; /* of the file, for messages */
    const tamis_open_options *options;
    const tamis_allocator *memory;
    size_t align;     /* of blocks of bytes */
    uint64_t refused; /* size of a block that could not be allocated; 0: none */
} fields;

static fields fields_of(const tamis__rdb *from, const char *name, const tamis_open_options *options) {
    return (fields){.from = *from,
                    .name = name,
                    .options = options,
                    .memory = options->allocator,
                    .align = _Alignof(uint64_t)};
}

static bool read_number(void *context, uint64_t *value) {
    fields *f = context;
    const uint64_t type = tamis__rdb_number(&f->from);
    *value = tamis__rdb_number(&f->from);
    return !f->from.bad && (type == TAMIS__RDB_UNSIGNED || type == TAMIS__RDB_SIGNED);
}

static bool read_real(void *context, double *value) {
    fields *f = context;
    const uint64_t type = tamis__rdb_number(&f->from);
    *value = tamis__rdb_double(&f->from);
    return !f->from.bad && type == TAMIS__RDB_DOUBLE;
}

static void *read_bytes(void *context, size_t *size) {
    fields *f = context;
    const uint64_t type = tamis__rdb_number(&f->from);
    const tamis__rdb_string string = tamis__rdb_string_read(&f->from);
    if (f->from.bad || type != TAMIS__RDB_STRING || !string.bytes || string.size == 0)
        return NULL;
    uint8_t *block = tamis__alloc(f->memory, (size_t)string.size, f->align);
    if (!block) {
        f->refused = string.size;
        return NULL;
    }
    if (!tamis__rdb_string_decode(&string, block)) {
        tamis__free(f->memory, block, (size_t)string.size);
        return NULL;
    }
    *size = (size_t)string.size;
    return block;
}

static tamis_redisbloom_source source_of(fields *f) {
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    source.context = f;
    source.number = read_number;
    source.real = read_real;
    source.bytes = read_bytes;
    return source;
}

/* Adds the name of the file to the error of a reader of fields, which may lack memory and not know it. */
static tamis_status fail_fields(const fields *f, const tamis_error *why, tamis_error *err) {
    return f->refused ? tamis__fail_nomem(err, f->name, (size_t)f->refused)
                      : tamis__fail(err, why->status, 0, "%s: %s", f->name, why->text);
}

/* Reads the end of a value. */
static tamis_status read_end(fields *f, tamis_error *err) {
    const uint64_t last = tamis__rdb_number(&f->from);
    return !f->from.bad && last == TAMIS__RDB_END
               ? TAMIS_OK
               : tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: has no end of its fields; dump the filter again",
                             f->name);
}

static tamis_status read_redisbloom(tamis_filter **filter, fields *f, tamis__value_type type,
                                    uint32_t version, tamis_error *err) {
    const tamis_redisbloom_source source = source_of(f);
    tamis__redisbloom_pair made = {NULL, NULL};
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status =
        type == TAMIS__VALUE_CHAIN
            ? tamis_redisbloom_rdb_read(&made.chain, version, &source, f->memory, &why)
            : tamis_redisbloom_cuckoo_rdb_read(&made.cuckoo, version, &source, f->memory, &why);
    if (status != TAMIS_OK)
        return fail_fields(f, &why, err);
    status = read_end(f, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_free(made.chain);
        tamis_redisbloom_cuckoo_free(made.cuckoo);
        return status;
    }
    return tamis__redisbloom_filter_create(filter, &made, f->memory, err);
}

/* Makes a filter, which is only read, of a value of the module's own types. It takes the block over if it
 * can. */
static tamis_status copy_image(tamis_filter **filter, const fields *f, tamis_module_type type,
                               const tamis_module_value *value, tamis_error *err) {
    size_t block_size = value->loaded;
    const tamis__encoded_bytes image = {
        .bytes = value->image, .size = value->loaded, .name = f->name, .block_size = &block_size};
    tamis_filter *created;
    const tamis_status status = tamis__module_value_decode(&created, type, &image, f->options, err);
    if (block_size > 0)
        tamis__free(f->memory, value->image, block_size);
    if (status != TAMIS_OK)
        return status;
    created->read_only = true;
    *filter = created;
    return TAMIS_OK;
}

static tamis_status read_own(tamis_filter **filter, fields *f, tamis_module_type type, uint32_t version,
                             tamis_error *err) {
    const tamis_redisbloom_source source = source_of(f);
    tamis_module_value value = TAMIS_MODULE_VALUE_INIT;
    tamis_error why = TAMIS_ERROR_INIT;
    f->align = TAMIS__LINE;
    tamis_status status = tamis_module_value_read(&value, version, &source, f->memory, &why);
    if (status != TAMIS_OK)
        return fail_fields(f, &why, err);
    status = read_end(f, err);
    if (status == TAMIS_OK && value.loaded < value.image_size)
        status =
            tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                        "%s: %zu of the %" PRIu64 " bytes of the filter are loaded, so it answers "
                        "nothing yet; load the others by %s.LOADIMAGE",
                        f->name, value.loaded, value.image_size, type == TAMIS_MODULE_WINDOW ? "TW" : "BF");
    if (status == TAMIS_OK)
        return copy_image(filter, f, type, &value, err);
    tamis__free(f->memory, value.image, value.loaded);
    return status;
}

/* Makes a filter of the fields of a value, and leaves `f` at the end of the value. */
static tamis_status read_value(tamis_filter **filter, fields *f, tamis_error *err) {
    uint32_t version;
    const tamis__value_type type = read_type(&f->from, &version);
    const tamis_status status = tamis__value_type_check(type, f->name, err);
    if (status != TAMIS_OK)
        return status;
    switch (type) {
    case TAMIS__VALUE_CHAIN:
    case TAMIS__VALUE_CUCKOO:
        return read_redisbloom(filter, f, type, version, err);
    case TAMIS__VALUE_FILTER:
        return read_own(filter, f, TAMIS_MODULE_FILTER, version, err);
    case TAMIS__VALUE_WINDOW:
        return read_own(filter, f, TAMIS_MODULE_WINDOW, version, err);
    default:
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: is not a filter of RedisBloom; give a key that BF.RESERVE, BF.ADD, "
                           "CF.RESERVE, CF.ADD or TW.RESERVE made",
                           f->name);
    }
}

static bool is_dump(const uint8_t *bytes, uint64_t size) {
    uint32_t version;
    if (size <= 1 + FOOTER || bytes[0] != TAMIS__RDB_MODULE)
        return false;
    tamis__rdb from = {.pos = bytes + 1, .end = bytes + 1 + FOOTER}; /* a number is shorter */
    return read_type(&from, &version) != TAMIS__VALUE_OTHER;
}

static tamis_status decode_dump(tamis_filter **filter, const tamis__encoded_bytes *source,
                                const tamis_open_options *options, tamis_error *err) {
    if (source->size <= 1 + FOOTER)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: %" PRIu64 " bytes are not a reply to DUMP; dump the filter again",
                           source->name, source->size);
    const uint8_t *footer = source->bytes + source->size - FOOTER;
    tamis__crc64 crc;
    tamis__crc64_init(&crc);
    tamis__crc64_update(&crc, source->bytes, (size_t)source->size - 8);
    if (crc.value != tamis__load64le(footer + 2))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: is cut short or changed: its checksum differs; dump the filter again",
                           source->name);
    if (source->bytes[0] != TAMIS__RDB_MODULE)
        return tamis__fail(err, TAMIS_E_FORMAT, 0,
                           "%s: is the dump of another type of Redis; dump a filter of RedisBloom",
                           source->name);
    const tamis__rdb from = {.pos = source->bytes + 1, .end = footer};
    fields f = fields_of(&from, source->name, options);
    tamis_filter *created = NULL;
    const tamis_status status = read_value(&created, &f, err);
    if (status != TAMIS_OK)
        return status;
    if (f.from.pos != footer) {
        tamis_filter_free(created);
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: has further bytes after the filter; dump the filter again", source->name);
    }
    *filter = created;
    return TAMIS_OK;
}

/* ---- keys of an RDB file ---- */

/* The key that is looked for. */
typedef struct wanted {
    const char *name;
    size_t size;
    const tamis_allocator *memory;
    bool refused; /* memory was refused */
} wanted;

static bool has_name(void *context, const tamis__rdb_entry *entry) {
    wanted *key = context;
    const tamis__rdb_string *string = &entry->key;
    char text[24];
    if (!string->bytes)
        return snprintf(text, sizeof text, "%" PRId64, string->integer) == (int)key->size &&
               memcmp(text, key->name, key->size) == 0;
    if (string->size != key->size)
        return false;
    if (!string->is_compressed || key->size == 0)
        return memcmp(string->bytes, key->name, key->size) == 0;
    uint8_t *decoded = tamis__alloc(key->memory, key->size, 1);
    key->refused = key->refused || !decoded;
    const bool is_same =
        decoded && tamis__rdb_string_decode(string, decoded) && memcmp(decoded, key->name, key->size) == 0;
    tamis__free(key->memory, decoded, key->size);
    return is_same || key->refused;
}

static tamis__value_type type_of(const tamis__rdb_entry *entry) {
    tamis__rdb value = entry->value;
    uint32_t version;
    return entry->type == TAMIS__RDB_MODULE ? read_type(&value, &version) : TAMIS__VALUE_OTHER;
}

/* True for a filter whose name can be shown. */
static bool is_example(void *context, const tamis__rdb_entry *entry) {
    const tamis__rdb_string *key = &entry->key;
    const tamis__value_type type = type_of(entry);
    (void)context;
    if (!key->bytes || key->is_compressed || key->size == 0 || key->size > 60 || type == TAMIS__VALUE_OTHER ||
        tamis__value_type_check(type, "", NULL) != TAMIS_OK)
        return false;
    for (uint64_t i = 0; i < key->size; i++)
        if (key->bytes[i] <= ' ' || key->bytes[i] >= 0x7f)
            return false;
    return true;
}

/* Fails with the name of a filter that is in the file. `what` is before it. */
static tamis_status fail_with_example(const tamis__encoded_bytes *source, tamis_status status,
                                      const char *what, tamis_error *err) {
    tamis__rdb_entry example;
    if (tamis__rdb_find(source, is_example, NULL, &example, NULL) != TAMIS_OK)
        return tamis__fail(err, status, 0, "%s: %s; give FILE#KEY, with a filter of RedisBloom as KEY",
                           source->name, what);
    return tamis__fail(err, status, 0, "%s: %s; give FILE#KEY, for example KEY %.*s", source->name, what,
                       (int)example.key.size, (const char *)example.key.bytes);
}

static tamis_status decode_key(tamis_filter **filter, const tamis__encoded_bytes *source,
                               const tamis_open_options *options, tamis_error *err) {
    if (!source->key)
        return fail_with_example(source, TAMIS_E_FORMAT, "is an RDB file of a Redis, with many keys", err);
    wanted key = {.name = source->key, .size = strlen(source->key), .memory = options->allocator};
    tamis__rdb_entry entry;
    const tamis_status status = tamis__rdb_find(source, has_name, &key, &entry, err);
    if (key.refused)
        return tamis__fail_nomem(err, source->name, key.size);
    if (status == TAMIS_E_NOT_FOUND)
        return fail_with_example(source, status, "the file has no such key", err);
    if (status == TAMIS_OK && type_of(&entry) == TAMIS__VALUE_OTHER)
        return fail_with_example(source, TAMIS_E_FORMAT, "is a key of another type", err);
    if (status != TAMIS_OK)
        return status;
    fields f = fields_of(&entry.value, source->name, options);
    return read_value(filter, &f, err);
}

static bool recognise(const tamis__encoded_bytes *source) {
    return tamis__rdb_is_file(source->bytes, source->size) || is_dump(source->bytes, source->size);
}

static tamis_status decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                           const tamis_open_options *given, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(given->allocator);
    tamis_open_options options = *given;
    options.allocator = &memory;
    const bool is_file = tamis__rdb_is_file(source->bytes, source->size);
    return is_file ? decode_key(filter, source, &options, err) : decode_dump(filter, source, &options, err);
}

/* ---- writing ---- */

/* Where the fields go. */
typedef struct writer {
    const tamis__emitter *out; /* NULL: count only */
    uint64_t size;
    tamis__crc64 crc;
    tamis_status status; /* of the first piece that was refused */
    tamis_error *err;
} writer;

static void write_out(writer *to, const void *bytes, size_t size) {
    if (to->status != TAMIS_OK)
        return;
    to->size += size;
    if (!to->out)
        return;
    tamis__crc64_update(&to->crc, bytes, size);
    to->status = to->out->emit(to->out->context, bytes, size, to->err);
}

static void write_code(writer *to, uint64_t number) {
    uint8_t bytes[TAMIS__RDB_NUMBER_MAX];
    write_out(to, bytes, tamis__rdb_number_write(bytes, number));
}

static void write_number(void *context, uint64_t value) {
    write_code(context, TAMIS__RDB_UNSIGNED);
    write_code(context, value);
}

static void write_real(void *context, double value) {
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &value, sizeof bits);
    tamis__store64le(bytes, bits);
    write_code(context, TAMIS__RDB_DOUBLE);
    write_out(context, bytes, sizeof bytes);
}

static void write_bytes(void *context, const void *bytes, size_t size) {
    write_code(context, TAMIS__RDB_STRING);
    write_code(context, size);
    write_out(context, bytes, size);
}

static tamis_status write_dump(const tamis_filter *filter, writer *to) {
    static const uint8_t first = TAMIS__RDB_MODULE;
    const tamis__redisbloom_pair own = tamis__redisbloom_filter_of(filter);
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    uint8_t footer[FOOTER];
    sink.context = to;
    sink.number = write_number;
    sink.real = write_real;
    sink.bytes = write_bytes;
    tamis__crc64_init(&to->crc);
    write_out(to, &first, 1);
    write_code(to, own.chain
                       ? tamis__value_type_number(TAMIS__VALUE_CHAIN) | TAMIS_REDISBLOOM_RDB_VERSION
                       : tamis__value_type_number(TAMIS__VALUE_CUCKOO) | TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION);
    const tamis_status status = own.chain ? tamis_redisbloom_rdb_write(own.chain, &sink, to->err)
                                          : tamis_redisbloom_cuckoo_rdb_write(own.cuckoo, &sink, to->err);
    if (status != TAMIS_OK)
        return status;
    write_code(to, TAMIS__RDB_END);
    tamis__store16le(footer, WRITTEN_VERSION);
    write_out(to, footer, 2);
    tamis__store64le(footer, to->crc.value);
    write_out(to, footer, 8);
    return to->status;
}

static tamis_status encoded_size(const tamis_filter *filter, uint64_t *size, tamis_error *err) {
    const tamis__redisbloom_pair own = tamis__redisbloom_filter_of(filter);
    writer to = {.err = err};
    if (!own.chain && !own.cuckoo)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "format redisbloom: keeps filters of RedisBloom, and this is none; use format tamis");
    const tamis_status status = write_dump(filter, &to);
    if (status == TAMIS_OK)
        *size = to.size;
    return status;
}

static tamis_status encode(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err) {
    writer to = {.out = out, .err = err};
    return write_dump(filter, &to);
}

const tamis__format tamis__format_redisbloom = {.recognise = recognise,
                                                .decode = decode,
                                                .encoded_size = encoded_size,
                                                .encode = encode,
                                                .is_foreign = true};
