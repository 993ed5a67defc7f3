/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_RDB_H
#define TAMIS_FORMAT_RDB_H

/* Bytes of Redis: the values in RDB files and in replies to DUMP. rdb.c has the picture. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* ---- checksums ---- */

/* The checksum of Redis, CRC-64, of bytes that come in pieces. tamis__crc64_init begins one. `value` is the
 * checksum of the bytes so far. */
typedef struct tamis__crc64 {
    uint64_t table[8][256];
    uint64_t value;
} tamis__crc64;

void tamis__crc64_init(tamis__crc64 *crc);
void tamis__crc64_update(tamis__crc64 *crc, const void *bytes, size_t size);

/* ---- reading ---- */

/* A range of bytes that is read from its beginning. A read past the end sets `bad`. From then on all reads
 * give 0, NULL or nothing. */
typedef struct tamis__rdb {
    const uint8_t *pos, *end;
    bool bad;
} tamis__rdb;

/* A string as it is stored. */
typedef struct tamis__rdb_string {
    const uint8_t *bytes; /* NULL: an integer */
    uint64_t stored;      /* number of `bytes` */
    uint64_t size;        /* size of the string */
    int64_t integer;
    bool is_compressed; /* with LZF */
} tamis__rdb_string;

/* Types of the fields of a module's value. */
enum {
    TAMIS__RDB_END = 0,
    TAMIS__RDB_SIGNED = 1,
    TAMIS__RDB_UNSIGNED = 2,
    TAMIS__RDB_FLOAT = 3,
    TAMIS__RDB_DOUBLE = 4,
    TAMIS__RDB_STRING = 5
};
enum { TAMIS__RDB_MODULE = 7 }; /* type of a value that has the number of a module's type, and fields */

/* Reads a number: a length, the number of a module's type, or an integer field. */
uint64_t tamis__rdb_number(tamis__rdb *from);
double tamis__rdb_double(tamis__rdb *from);
/* Reads where a string is. */
tamis__rdb_string tamis__rdb_string_read(tamis__rdb *from);
/* Decodes a string of bytes to string->size bytes at `to`. False: it is damaged. */
bool tamis__rdb_string_decode(const tamis__rdb_string *string, uint8_t *to);

/* ---- files ---- */

enum { TAMIS__RDB_HEADER = 9 }; /* "REDIS" and four digits */

/* True if the bytes begin as an RDB file does. */
bool tamis__rdb_is_file(const uint8_t *bytes, uint64_t size);

/* An entry of a file. */
typedef struct tamis__rdb_entry {
    tamis__rdb_string key;
    uint8_t type;     /* of the value */
    tamis__rdb value; /* from the value to the end of the file */
} tamis__rdb_entry;

/* True if this is the entry that is looked for. */
typedef bool tamis__rdb_select(void *context, const tamis__rdb_entry *entry);

/*
 * Finds the first entry that `select` accepts, in all databases of a file.
 *
 * - TAMIS_E_NOT_FOUND: there is none.
 * - TAMIS_E_DAMAGED: the checksum differs, or the file is cut short.
 * - TAMIS_E_UNSUPPORTED: a value before the entry has a type that is not known.
 */
tamis_status tamis__rdb_find(const tamis__encoded_bytes *source, tamis__rdb_select *select, void *context,
                             tamis__rdb_entry *found, tamis_error *err);

/* ---- writing ---- */

enum { TAMIS__RDB_NUMBER_MAX = 9 }; /* bytes of the longest number */
/* Writes a number, and returns its size. */
size_t tamis__rdb_number_write(uint8_t to[TAMIS__RDB_NUMBER_MAX], uint64_t number);

#endif
