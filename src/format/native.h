/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_NATIVE_H
#define TAMIS_FORMAT_NATIVE_H

/*
 * The .tamis file, format 1. docs/FORMAT.md is the norm; this header has its tables, for reader and writer.
 *
 *     0            header_size            body_offset       body_offset + body_size    file_size
 *     +-----------+----------------------+-----------------+--------------------------+
 *     | header,   | zeros                | body            | block checksums,         |
 *     | sections  |                      |                 | 8 bytes each             |
 *     +-----------+----------------------+-----------------+--------------------------+
 *
 * - Header: 256 bytes of fixed fields, then sections (labels, partitions, ...), each with type and size.
 * - Body: the bits or lines, as in memory. It begins at a multiple of 4096, so that a mapped file can be used
 *   in place.
 * - Block checksums: one for each 64 KiB of the body.
 *
 * The checksums form a chain, so nothing is used unverified. header_sum covers the header, the header covers
 * the block checksums (checksums_sum), and these cover the body. A reader may verify each block when it first
 * uses it (filter/block_verifier.h).
 *
 *     header_sum --covers--> header, sections --contain--> checksums_sum --covers--> block checksums --> body
 *
 * The 256 bytes of the header, in rows of 32:
 *
 *     0     magic (8)      format, header_size   header_sum             file_size
 *     32    body_offset    body_size             block_size, features   checksums_sum
 *     64    kind, scheme   seed                  secret_print           capacity
 *     96    fpr            bits                  probes, slot_bits      home_bits, partitions
 *     128   memory_limit   added                 false_present          flags
 *     160   version        created               fpr_predicted          covered
 *     192   zeros
 *
 * Why header_sum skips itself: it is at byte 16, within the bytes that it covers. The checksum of bytes 0
 * to 15 is the seed for that of bytes 24 to the end (native_header_checksum).
 *
 * An example: tamis build --kind classic --scheme xxh3 --expect 3 --fpr 0.01 --label team=mail, with the
 * keys 1, 2, 3. Words of 8 bytes, as they are in the file:
 *
 *     0000  8954414d49530d0a  magic                      0058  0300000000000000  capacity 3
 *     0008  0100000028010000  format 1, header 296       0060  7b14ae47e17a843f  fpr 0.01
 *     0010  0fae05dbd18dc433  header_sum                 0068  4000000000000000  bits 64
 *     0018  4810000000000000  file_size 4168             0070  0600000000000000  probes 6
 *     0020  0010000000000000  body_offset 4096           0088  0300000000000000  added 3
 *     0028  4000000000000000  body_size 64               0090  bc2c2093e6401c3f  false_present 0.00011
 *     0030  0000010000000000  block_size 65536           00a8  5bf7046b00000000  created
 *     0038  d8549f8c09a55bdb  checksums_sum              00b0  50e20756e143303f  fpr_predicted 0.00025
 *     0040  0100000001000000  classic, xxh3
 *
 *     0100  010000000a000000 04007465616d6d61 696c000000000000     section label, 10 bytes: "team", "mail"
 *     0118  0400000004000000 0100000000000000                      section keys, 4 bytes: 1, bytes
 *     1000  4b900043328a0200 and 56 zeros                          the 64 bits, rounded up to a line
 *     1040  305b39b5e9db261f                                       checksum of block 0
 *
 * Why fields are a table (NATIVE_FIELDS): the reader, the writer and the range checks are made from the same
 * rows, so they cannot disagree.
 *
 * Later versions: unknown sections are skipped, unless they are critical (bit 31 of the type). A bit in
 * `features` makes older readers refuse the file. Every format keeps magic, format number, header_size and
 * header_sum at their places.
 */
#include <stdint.h>
#include <xxhash.h>

#include "format/format.h"
#include "plan/plan_int.h"

enum {
    NATIVE_HEADER = 256,
    NATIVE_HEADER_MAX = 1 << 20,
    NATIVE_BODY_ALIGN = 4096,
    NATIVE_FORMAT = 1,
    NATIVE_MAGIC = 8
};

#define NATIVE_COUNT_MAX 0x1p63 /* max. value of false_present */

static const uint8_t native_magic[NATIVE_MAGIC] = {0x89, 'T', 'A', 'M', 'I', 'S', '\r', '\n'};

/* The integer fields of the header: name, offset, width in bytes, minimum and maximum. The reals follow
 * below; native_header.c checks their ranges. */
#define NATIVE_FIELDS(X)                                                                                     \
    X(format, 8, 4, NATIVE_FORMAT, NATIVE_FORMAT)                                                            \
    X(header_size, 12, 4, NATIVE_HEADER, NATIVE_HEADER_MAX)                                                  \
    X(header_sum, 16, 8, 0, UINT64_MAX)                                                                      \
    X(file_size, 24, 8, NATIVE_HEADER, INT64_MAX)                                                            \
    X(body_offset, 32, 8, NATIVE_BODY_ALIGN, 2 * NATIVE_HEADER_MAX)                                          \
    X(body_size, 40, 8, TAMIS__LINE, INT64_MAX / 2)                                                          \
    X(block_size, 48, 4, TAMIS__BLOCK, TAMIS__BLOCK)                                                         \
    X(features, 52, 4, 0, 0)                                                                                 \
    X(checksums_sum, 56, 8, 0, UINT64_MAX)                                                                   \
    X(kind, 64, 4, TAMIS_KIND_CLASSIC, TAMIS_KIND_CUCKOO)                                                    \
    X(scheme, 68, 4, TAMIS_SCHEME_XXH3, TAMIS_SCHEME_REDISSON)                                               \
    X(seed, 72, 8, 0, UINT64_MAX)                                                                            \
    X(secret_print, 80, 8, 0, UINT64_MAX)                                                                    \
    X(capacity, 88, 8, 0, TAMIS_EXPECT_MAX)                                                                  \
    X(bits, 104, 8, 0, TAMIS_BITS_MAX)                                                                       \
    X(probes, 112, 4, 0, TAMIS_PROBES_MAX)                                                                   \
    X(slot_bits, 116, 4, 0, 128)                                                                             \
    X(home_bits, 120, 4, 0, 8)                                                                               \
    X(partitions, 124, 4, 0, 256)                                                                            \
    X(memory_limit, 128, 8, 0, UINT64_MAX)                                                                   \
    X(added, 136, 8, 0, INT64_MAX)                                                                           \
    X(flags, 152, 8, 0, 3)                                                                                   \
    X(version, 160, 8, 0, UINT64_MAX)                                                                        \
    X(created, 168, 8, 0, UINT64_MAX)

enum { NATIVE_FPR = 96, NATIVE_FALSE_PRESENT = 144, NATIVE_FPR_PREDICTED = 176, NATIVE_COVERED = 184 };

enum { NATIVE_SATURATED = 1, NATIVE_ALLOW_OVER_CAPACITY = 2 };

/* Types of sections. A reader refuses a file with an unknown type whose highest bit is set, and skips
 * other unknown types. */
#define NATIVE_SECTION_LABEL      UINT32_C(1)
#define NATIVE_SECTION_UNION      UINT32_C(2)
#define NATIVE_SECTION_DATA       UINT32_C(3)
#define NATIVE_SECTION_KEYS       UINT32_C(4)
#define NATIVE_SECTION_FROZEN     UINT32_C(5)
#define NATIVE_SECTION_PARTITIONS UINT32_C(0x80000001)
#define NATIVE_SECTION_SPLIT      UINT32_C(0x80000002)
#define NATIVE_SECTION_WINDOW     UINT32_C(0x80000003)
#define NATIVE_SECTION_TABLES     UINT32_C(0x80000004)
#define NATIVE_SECTION_CRITICAL   UINT32_C(0x80000000)

/* Section "window": its times, then the entries of each kept step of each table, 8 bytes each. */
enum {
    NATIVE_WINDOW = 0, /* 8 bytes, milliseconds, as the next two */
    NATIVE_WINDOW_STEP = 8,
    NATIVE_WINDOW_LATENESS = 16,
    NATIVE_WINDOW_NEWEST = 24,  /* 8 bytes; UINT64_MAX: no key was added */
    NATIVE_WINDOW_REFRESH = 32, /* 8 bytes: 0 or 1 */
    NATIVE_WINDOW_COUNTS = 40
};

/* Section "tables": a row of so many bytes for each table of a cuckoo filter that grows. */
enum { NATIVE_TABLE_BYTES = 16 };

/* Section "split": one bit for each first partition of a growing table. It is set if the partition was
 * split, into NATIVE_SPLIT_IN partitions. */
enum { NATIVE_SPLIT_BYTES = 32, NATIVE_SPLIT_IN = 16 };
_Static_assert(8 * NATIVE_SPLIT_BYTES == 1 << TAMIS__FINGERPRINT_PARTITION_BITS &&
                   NATIVE_SPLIT_IN == 1 << TAMIS__FINGERPRINT_SPLIT_BITS,
               "as the tables have them");

typedef enum native_field {
#define NATIVE_FIELD_ENUM(name, offset, width, min, max) NATIVE_##name,
    NATIVE_FIELDS(NATIVE_FIELD_ENUM)
#undef NATIVE_FIELD_ENUM
        NATIVE_FIELD_COUNT
} native_field;

/* The checksum of the header: the checksum of the bytes before the field is the seed for that of the bytes
 * after it. */
static inline uint64_t native_header_checksum(const uint8_t *bytes, uint64_t header_size) {
    return XXH3_64bits_withSeed(bytes + 24, (size_t)header_size - 24, XXH3_64bits(bytes, 16));
}

/* Size of the file of a filter, and its bytes (native_write.c). */
tamis_status tamis__native_size(const tamis_filter *filter, uint64_t *size, tamis_error *err);
tamis_status tamis__native_encode(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err);

#endif
