/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of Redis as bytes: RDB files, and what DUMP replies.
 *
 * A file has the entries of all databases, one after the other. Between them are opcodes with their operands,
 * such as the number of a database or the time at which a key expires:
 *
 *     REDIS0011 | opcode | opcode | type key value | opcode | type key value | ... | 255 | checksum
 *
 * Nothing says where an entry is, so a file is read from its beginning. Values of other keys are skipped by
 * their structure: nothing of them is decoded or kept.
 *
 * The first two bits of a number say how many bytes it has. A string begins with such a number:
 *
 *     00nnnnnn                 6 bits               11000000, 11000001, 11000010   integer of 1, 2, 4 bytes
 *     01nnnnnn 1 byte          14 bits              11000011 stored size, size     LZF
 *     10000000 4 bytes         32 bits, big-endian
 *     10000001 8 bytes         64 bits, big-endian  all others: none
 *
 * Most values are some parts, a count, and then parts that are repeated as often as the count says. `types`
 * below has the parts as letters. For example a hash is "" and "ss": no parts before the count, then two
 * strings for each field. Streams are nested, and have a function.
 *
 * LZF. A byte below 32 is followed by as many literal bytes and one. Any other one refers back:
 *
 *     lllooooo oooooooo           copy l + 2 bytes from o + 1 bytes before
 *     111ooooo llllllll oooooooo  copy l + 9 bytes
 *
 * So three bytes give at most 264. A string that claims to be larger is refused before memory is allocated.
 *
 * Checksum: CRC-64 of Jones, reflected, over all bytes before it; 0 if the server wrote none (rdbchecksum
 * no). Eight tables take eight bytes at a time. They are made again for each file, which takes some
 * microseconds.
 *
 * Hostile bytes. Each count is followed by at least one byte for each part, and a read past the end stops
 * every loop. So the time is linear in the size of the file, whatever its counts say.
 *
 * Sources: RDB format, LZF and CRC-64 of Redis, up to version 8 (RDB version 12).
 */
#include "format/rdb.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"

/* ---- checksums ---- */

#define CRC_POLYNOMIAL UINT64_C(0x95ac9329ac4bc9b5)

void tamis__crc64_init(tamis__crc64 *crc) {
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? CRC_POLYNOMIAL : 0);
        crc->table[0][i] = value;
    }
    for (int t = 1; t < 8; t++)
        for (size_t i = 0; i < 256; i++) {
            const uint64_t value = crc->table[t - 1][i];
            crc->table[t][i] = crc->table[0][value & 0xff] ^ value >> 8;
        }
    crc->value = 0;
}

void tamis__crc64_update(tamis__crc64 *crc, const void *bytes, size_t size) {
    const uint8_t *pos = bytes, *end = pos + size;
    uint64_t value = crc->value;
    for (; end - pos >= 8; pos += 8) {
        const uint64_t word = value ^ tamis__load64le(pos);
        value = 0;
        for (unsigned i = 0; i < 8; i++)
            value ^= crc->table[7 - i][word >> 8 * i & 0xff];
    }
    for (; pos < end; pos++)
        value = crc->table[0][(value ^ *pos) & 0xff] ^ value >> 8;
    crc->value = value;
}

/* ---- numbers and strings ---- */

/* Returns the next `size` bytes and moves behind them. NULL: there are fewer. */
static const uint8_t *next_bytes(tamis__rdb *from, uint64_t size) {
    if (from->bad || size > (uint64_t)(from->end - from->pos)) {
        from->bad = true;
        return NULL;
    }
    const uint8_t *bytes = from->pos;
    from->pos += size;
    return bytes;
}

static uint8_t next_byte(tamis__rdb *from) {
    const uint8_t *byte = next_bytes(from, 1);
    return byte ? *byte : 0;
}

/* Reads `size` bytes, at most 8, as a big-endian number. */
static uint64_t next_big_endian(tamis__rdb *from, unsigned size) {
    const uint8_t *bytes = next_bytes(from, size);
    uint64_t number = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

enum { CODED = 3 }; /* the first two bits of a string that is not stored as bytes */

/* Reads a number, or the code of a string, as *is_code says. */
static uint64_t number_or_code(tamis__rdb *from, bool *is_code) {
    const uint8_t first = next_byte(from);
    *is_code = first >> 6 == CODED;
    switch (first >> 6) {
    case 0:
    case CODED:
        return first & 0x3f;
    case 1:
        return (uint64_t)(first & 0x3f) << 8 | next_byte(from);
    default:
        break;
    }
    if (first == 0x80)
        return next_big_endian(from, 4);
    if (first == 0x81)
        return next_big_endian(from, 8);
    from->bad = true;
    return 0;
}

uint64_t tamis__rdb_number(tamis__rdb *from) {
    bool is_code;
    const uint64_t number = number_or_code(from, &is_code);
    from->bad = from->bad || is_code;
    return from->bad ? 0 : number;
}

double tamis__rdb_double(tamis__rdb *from) {
    const uint8_t *bytes = next_bytes(from, 8);
    const uint64_t bits = bytes ? tamis__load64le(bytes) : 0;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { INT8 = 0, INT16 = 1, INT32 = 2, LZF = 3, LZF_MAX = 264 };

static tamis__rdb_string read_integer(tamis__rdb *from, unsigned size) {
    const uint8_t *bytes = next_bytes(from, size);
    uint32_t bits = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        bits |= (uint32_t)bytes[i] << 8 * i;
    const uint32_t sign = UINT32_C(1) << (8 * size - 1);
    return (tamis__rdb_string){.integer = (int64_t)(bits & (sign - 1)) - (int64_t)(bits & sign)};
}

tamis__rdb_string tamis__rdb_string_read(tamis__rdb *from) {
    tamis__rdb_string string = {0};
    bool is_code;
    const uint64_t number = number_or_code(from, &is_code);
    if (is_code && number < LZF)
        return read_integer(from, 1U << number);
    if (is_code && number > LZF)
        from->bad = true;
    string.is_compressed = is_code;
    string.stored = is_code ? tamis__rdb_number(from) : number;
    string.size = is_code ? tamis__rdb_number(from) : number;
    string.bytes = next_bytes(from, string.stored);
    if (string.is_compressed && string.size / LZF_MAX > string.stored)
        from->bad = true;
    return from->bad ? (tamis__rdb_string){0} : string;
}

static bool decompress(const uint8_t *from, const uint8_t *end, uint8_t *to, uint8_t *to_end) {
    const uint8_t *begin = to;
    while (from < end) {
        const uint8_t first = *from++;
        size_t size = first >> 5;
        if (size == 0) {
            size = (size_t)first + 1;
            if (size > (size_t)(end - from) || size > (size_t)(to_end - to))
                return false;
            memcpy(to, from, size);
            from += size;
            to += size;
            continue;
        }
        if (size == 7 && from < end)
            size += *from++;
        if (from == end)
            return false;
        const size_t distance = ((size_t)(first & 0x1f) << 8 | *from++) + 1;
        size += 2;
        if (distance > (size_t)(to - begin) || size > (size_t)(to_end - to))
            return false;
        for (; size > 0; size--, to++) /* the ranges may overlap: a byte that was copied is copied again */
            *to = *(to - distance);
    }
    return to == to_end;
}

bool tamis__rdb_string_decode(const tamis__rdb_string *string, uint8_t *to) {
    if (!string->bytes)
        return false;
    if (string->is_compressed)
        return decompress(string->bytes, string->bytes + string->stored, to, to + string->size);
    memcpy(to, string->bytes, (size_t)string->size);
    return true;
}

size_t tamis__rdb_number_write(uint8_t to[TAMIS__RDB_NUMBER_MAX], uint64_t number) {
    const unsigned size = number < 1U << 6 ? 0 : number < 1U << 14 ? 1 : number <= UINT32_MAX ? 4 : 8;
    to[0] = size == 4 ? 0x80 : size == 8 ? 0x81 : size == 1 ? (uint8_t)(0x40 | number >> 8) : (uint8_t)number;
    for (unsigned i = 0; i < size; i++)
        to[1 + i] = (uint8_t)(number >> 8 * (size - 1 - i));
    return 1 + size;
}

/* ---- passing values ---- */

/* Passes one part of a value: s a string, n a number, 8 and 2 bytes (w: 16), t a double as text. */
static void skip_part(tamis__rdb *from, char part) {
    switch (part) {
    case 's':
        (void)tamis__rdb_string_read(from);
        break;
    case 'n':
        (void)tamis__rdb_number(from);
        break;
    case '8':
        (void)next_bytes(from, 8);
        break;
    case 'w':
        (void)next_bytes(from, 16);
        break;
    default: { /* 253 to 255: not a number, and the infinities */
        const uint8_t size = next_byte(from);
        (void)next_bytes(from, size < 253 ? size : 0);
    }
    }
}

static void skip_parts(tamis__rdb *from, const char *parts) {
    for (; *parts && !from->bad; parts++)
        skip_part(from, *parts);
}

/* Skips a count, and the parts that it counts. */
static void skip_list(tamis__rdb *from, const char *parts) {
    for (uint64_t left = tamis__rdb_number(from); left > 0 && !from->bad; left--)
        skip_parts(from, parts);
}

/* Types of values: parts, then a count and the parts that it counts (NULL: none). */
static const struct value_type {
    const char *parts, *counted;
} types[] = {
    [0] = {"s", NULL},   /* string */
    [1] = {"", "s"},     /* list */
    [2] = {"", "s"},     /* set */
    [3] = {"", "st"},    /* sorted set */
    [4] = {"", "ss"},    /* hash */
    [5] = {"", "s8"},    /* sorted set, version 2 */
    [9] = {"s", NULL},   /* hash as zipmap */
    [10] = {"s", NULL},  /* list as ziplist */
    [11] = {"s", NULL},  /* set of integers */
    [12] = {"s", NULL},  /* sorted set as ziplist */
    [13] = {"s", NULL},  /* hash as ziplist */
    [14] = {"", "s"},    /* quicklist */
    [16] = {"s", NULL},  /* hash as listpack */
    [17] = {"s", NULL},  /* sorted set as listpack */
    [18] = {"", "ns"},   /* quicklist, version 2 */
    [20] = {"s", NULL},  /* set as listpack */
    [24] = {"8", "nss"}, /* hash with expiring fields */
    [25] = {"8s", NULL}, /* the same as listpack */
};
enum { STREAM = 15, STREAM_2 = 19, STREAM_3 = 21 };

static void skip_stream(tamis__rdb *from, uint8_t type) {
    const bool has_counts = type != STREAM;
    skip_list(from, "ss");   /* entries in listpacks */
    skip_parts(from, "nnn"); /* length, last id */
    if (has_counts)
        skip_parts(from, "nnnnn"); /* first id, largest deleted id, number of entries ever added */
    for (uint64_t groups = tamis__rdb_number(from); groups > 0 && !from->bad; groups--) {
        skip_parts(from, has_counts ? "snnn" : "snn"); /* name, last id, entries read */
        skip_list(from, "w8n");                        /* pending entries */
        for (uint64_t consumers = tamis__rdb_number(from); consumers > 0 && !from->bad; consumers--) {
            skip_parts(from, type == STREAM_3 ? "s88" : "s8"); /* name, times */
            skip_list(from, "w");                              /* pending entries */
        }
    }
}

/* Skips the fields of a module's value, and their end. */
static void skip_fields(tamis__rdb *from) {
    for (;;) {
        const uint64_t type = tamis__rdb_number(from);
        if (type == TAMIS__RDB_END || from->bad)
            return;
        if (type == TAMIS__RDB_SIGNED || type == TAMIS__RDB_UNSIGNED)
            (void)tamis__rdb_number(from);
        else if (type == TAMIS__RDB_FLOAT)
            (void)next_bytes(from, 4);
        else if (type == TAMIS__RDB_DOUBLE)
            (void)next_bytes(from, 8);
        else if (type == TAMIS__RDB_STRING)
            (void)tamis__rdb_string_read(from);
        else
            from->bad = true;
    }
}

/* Skips a value. False: the type is not known. */
static bool skip_value(tamis__rdb *from, uint8_t type) {
    if (type == TAMIS__RDB_MODULE) {
        (void)tamis__rdb_number(from);
        skip_fields(from);
        return true;
    }
    if (type == STREAM || type == STREAM_2 || type == STREAM_3) {
        skip_stream(from, type);
        return true;
    }
    if (type >= sizeof types / sizeof *types || !types[type].parts)
        return false;
    skip_parts(from, types[type].parts);
    if (types[type].counted)
        skip_list(from, types[type].counted);
    return true;
}

/* ---- files ---- */

/* Opcodes. Each is in the byte where an entry would have its type. */
enum {
    SLOT_INFO = 244,
    FUNCTION = 245,
    MODULE_DATA = 247,
    IDLE = 248,
    FREQUENCY = 249,
    AUXILIARY = 250,
    SIZES = 251,
    EXPIRY_MS = 252,
    EXPIRY = 253,
    DATABASE = 254,
    END = 255
};

/* Skips the operands of an opcode. False: the byte is the type of an entry. */
static bool skip_operands(tamis__rdb *from, uint8_t opcode) {
    switch (opcode) {
    case SLOT_INFO:
        skip_parts(from, "nnn");
        return true;
    case FUNCTION:
        skip_parts(from, "s");
        return true;
    case MODULE_DATA:
        (void)tamis__rdb_number(from);
        skip_fields(from);
        return true;
    case IDLE:
    case DATABASE:
        skip_parts(from, "n");
        return true;
    case FREQUENCY:
        (void)next_byte(from);
        return true;
    case AUXILIARY:
        skip_parts(from, "ss");
        return true;
    case SIZES:
        skip_parts(from, "nn");
        return true;
    case EXPIRY_MS:
        skip_parts(from, "8");
        return true;
    case EXPIRY:
        (void)next_bytes(from, 4);
        return true;
    default:
        return false;
    }
}

bool tamis__rdb_is_file(const uint8_t *bytes, uint64_t size) {
    if (size < TAMIS__RDB_HEADER || memcmp(bytes, "REDIS", 5) != 0)
        return false;
    for (int i = 5; i < TAMIS__RDB_HEADER; i++)
        if (bytes[i] < '0' || bytes[i] > '9')
            return false;
    return true;
}

static tamis_status fail_damaged(const tamis__encoded_bytes *source, const char *what, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: %s; get the file again", source->name, what);
}

enum { CHECKSUM = 8, OLDEST = 8 /* version of Redis 4, the oldest with values of modules */ };

/* Sets *end to the end of the entries. */
static tamis_status verify_checksum(const tamis__encoded_bytes *source, const uint8_t **end,
                                    tamis_error *err) {
    const uint8_t *bytes = source->bytes;
    int version = 0;
    for (int i = TAMIS__RDB_HEADER - 4; i < TAMIS__RDB_HEADER; i++)
        version = 10 * version + bytes[i] - '0';
    if (version < OLDEST)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: RDB version %d has no filters of RedisBloom; give a file of Redis 4 or later",
                           source->name, version);
    if (source->size < TAMIS__RDB_HEADER + 1 + CHECKSUM)
        return fail_damaged(source, "is cut short", err);
    *end = bytes + source->size - CHECKSUM;
    const uint64_t stored = tamis__load64le(*end);
    if (stored == 0)
        return TAMIS_OK;
    tamis__crc64 crc;
    tamis__crc64_init(&crc);
    tamis__crc64_update(&crc, bytes, (size_t)(*end - bytes));
    return crc.value == stored ? TAMIS_OK
                               : fail_damaged(source, "is cut short or changed: its checksum differs", err);
}

tamis_status tamis__rdb_find(const tamis__encoded_bytes *source, tamis__rdb_select *select, void *context,
                             tamis__rdb_entry *found, tamis_error *err) {
    tamis__rdb from = {.pos = source->bytes + TAMIS__RDB_HEADER};
    const tamis_status status = verify_checksum(source, &from.end, err);
    while (status == TAMIS_OK) {
        const uint8_t type = next_byte(&from);
        if (type == END && !from.bad && from.pos == from.end)
            return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "%s: has no such key", source->name);
        if (type == END || from.bad)
            return fail_damaged(source, "is cut short or damaged, or has further bytes behind its end", err);
        if (skip_operands(&from, type))
            continue;
        const tamis__rdb_string key = tamis__rdb_string_read(&from);
        const tamis__rdb_entry entry = {.key = key, .type = type, .value = from};
        if (!from.bad && select(context, &entry)) {
            *found = entry;
            return TAMIS_OK;
        }
        if (!from.bad && !skip_value(&from, type))
            return tamis__fail(
                err, TAMIS_E_UNSUPPORTED, 0,
                "%s: has a value of type %u, which is not known; give the filter alone, as DUMP replies it",
                source->name, type);
    }
    return status;
}
