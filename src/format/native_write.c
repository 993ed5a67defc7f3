/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Writes .tamis files (docs/FORMAT.md), from front to back: an emitter takes the bytes in order.
 *
 * The header comes first but contains checksums_sum, the checksum of the block checksums, and these need the
 * whole body. So the body is read twice:
 *
 *     1. layout_of        compute the sizes of header, sections and body
 *     2. checksum_blocks  read the body, compute the block checksums
 *     3. put_header       fields, sections, checksums_sum, header_sum
 *     4. emit             header, zeros, body, block checksums
 *
 *     pass 1   body ---> XXH3 of each 64 KiB ---> block checksums ---> checksums_sum -.
 *                                                                                     v
 *              fields, sections --------------------------------------------------> header ---> header_sum
 *
 *     pass 2   emitter <--- header | zeros | body | block checksums
 *
 * Why not write the body first and go back to the header: an emitter may be a pipe or a compressor, which
 * cannot go back. The memory for a file of any size is then that of its header and its block checksums,
 * 1/8192 of the body. A body of a table lies in several blocks of memory (one for each partition); walk_body
 * emits them in order, in both passes.
 *
 * Checksums of blocks do not depend on how the body is divided. block_hasher takes pieces of any size and
 * closes a block after each 64 KiB, and once more at the end for a shorter last block.
 *
 *     pieces   |  partition 0  | partition 1 |      partition 2       |  ...
 *     blocks   | block 0 (64 KiB) | block 1 (64 KiB) | block 2 (64 KiB) | ... | last |
 *
 * The sections, in the order in which they are written. Each has 8 bytes of type and size, its bytes, and
 * zeros to a multiple of 8:
 *
 *     section      written if                                   bytes
 *     ----------   ------------------------------------------   -------------------------------------
 *     label        there are labels, once for each              2 + name + value
 *     union        a Bloom filter was merged                    16: counts at the last union
 *     data         a DCSO file had user data                    as many as there
 *     keys         the type of the keys is known                4
 *     frozen       a table refuses keys past its capacity       0
 *     partitions   the kind is fingerprint, exact or window     24 for each: lines, entries, coverage
 *     split        a partition of a growing table was split     32: a bit for each first partition
 *     tables       a cuckoo filter that grows                   16 for each: buckets, entries
 *     window       the kind is window                           40, and 8 for each kept step of each table
 *
 * Sizes (layout_of). header_size is 256 and the sections. The body begins at the next multiple of 4096, so
 * that a mapped body begins on a page. body_size is that of all extents, rounded up to 64: only a Bloom
 * filter needs that. A filter whose sections exceed 1 MiB is refused (NATIVE_HEADER_MAX).
 *
 * An example: a blocked filter of 1 GiB with one label of 10 bytes.
 *
 *     header_size   256 + 8 + 16               280
 *     body_offset   next multiple of 4096      4096
 *     body_size                                1073741824
 *     checksums     16384 blocks               131072
 *     file_size                                1073876992
 *     memory        280 + 131072 bytes, in one allocation; the body is read twice and never copied
 *
 * Order within put_header. checksums_sum needs the block checksums, header_sum everything else in the header.
 * So header_sum is the last field that is written, and whoever adds a field puts it before that line.
 *
 * The order of the sections has no meaning for a reader. It is fixed only so that equal filters give equal
 * bytes.
 *
 * Reals are written by their bits (IEEE 754, little-endian), so that a reader gets exactly the number that
 * was written.
 *
 * Between both passes the filter must not change; the caller locks it (tamis__filter_lock_content).
 *
 * Damage while writing is not noticed here. The emitter may write to a file, and the file is complete only
 * when its last byte is. A reader refuses a file that is shorter than file_size. Replacing a file as a whole
 * is the task of the store (store/file/temp_file.c).
 *
 * Invariants:
 * 1. A filter that is itself in a file is verified first: damaged bytes must not get valid checksums.
 * 2. layout_of and put_sections go through the same conditions, so the sections fill exactly the computed
 *    size.
 * 3. Equal filters give equal bytes: labels are sorted, and unused bytes are zero.
 */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "filter/block_verifier.h"
#include "filter/filter_int.h"
#include "filter/window/window.h"
#include "format/native.h"
#include "hash/hasher.h"

typedef struct layout {
    uint64_t header_size, body_offset, body_size, extent_bytes, partitions, split, tables;
    uint64_t blocks;
} layout;

static bool is_bloom(const tamis_filter *filter) {
    return tamis_kind_is_bloom(filter->plan.kind);
}

/* True for filters with partitions, or with several tables. */
static bool is_table(const tamis_filter *filter) {
    return !is_bloom(filter) && filter->plan.kind != TAMIS_KIND_CUCKOO;
}

static uint64_t round_up(uint64_t size, uint64_t to) {
    return (size + to - 1) / to * to;
}

static uint64_t section_size(uint64_t bytes) {
    return 8 + round_up(bytes, 8);
}

static uint64_t label_bytes(const tamis_label *label) {
    return 2 + strlen(label->name) + strlen(label->value);
}

/* Limits the estimate of wrong answers to the range of its field. A small filter with very many adds would
 * exceed it. */
static double bounded_false_present(double mistaken) {
    return mistaken > 0 ? fmin(mistaken, NATIVE_COUNT_MAX) : 0;
}

/* Reads the counts at the last union. False if there was no union. */
static bool get_union_counts(const tamis_filter *filter, uint64_t *added, double *mistaken) {
    if (!is_bloom(filter))
        return false;
    *mistaken = tamis__bloom_union_counts(filter, added);
    return *added || *mistaken > 0;
}

static bool is_window(const tamis_filter *filter) {
    return filter->plan.kind == TAMIS_KIND_WINDOW;
}

/* Bytes of the counts of one table of a window. */
static uint64_t window_counts_bytes(const tamis_filter *filter) {
    return 8 * (uint64_t)tamis__window_shape_of(&filter->plan).kept;
}

static layout layout_of(const tamis_filter *filter) {
    const tamis_metadata *metadata = &filter->metadata.fields;
    layout l = {.header_size = NATIVE_HEADER};
    tamis__body_extent extent;
    uint64_t added;
    double mistaken;
    for (size_t i = 0; filter->ops->body_extent(filter, i, &extent); i++) {
        l.extent_bytes += extent.size;
        l.partitions += is_table(filter);
        l.split += extent.split;
        l.tables += extent.buckets > 0;
    }
    for (size_t i = 0; i < metadata->label_count; i++)
        l.header_size += section_size(label_bytes(&metadata->labels[i]));
    if (metadata->data_size)
        l.header_size += section_size(metadata->data_size);
    if (metadata->key_type)
        l.header_size += section_size(4);
    if (filter->frozen)
        l.header_size += section_size(0);
    if (l.partitions)
        l.header_size += section_size(24 * l.partitions);
    if (l.split)
        l.header_size += section_size(NATIVE_SPLIT_BYTES);
    if (l.tables)
        l.header_size += section_size(NATIVE_TABLE_BYTES * l.tables);
    if (is_window(filter))
        l.header_size += section_size(NATIVE_WINDOW_COUNTS + l.partitions * window_counts_bytes(filter));
    if (get_union_counts(filter, &added, &mistaken))
        l.header_size += section_size(16);
    l.body_offset = round_up(l.header_size, NATIVE_BODY_ALIGN);
    l.body_size = round_up(l.extent_bytes, TAMIS__LINE);
    l.blocks = tamis__block_count(l.body_size);
    return l;
}

static uint64_t file_size(const layout *l) {
    return l->body_offset + l->body_size + 8 * l->blocks;
}

tamis_status tamis__native_size(const tamis_filter *filter, uint64_t *size, tamis_error *err) {
    layout l = layout_of(filter);
    if (l.header_size > NATIVE_HEADER_MAX)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "labels and user data: take %llu bytes, and a file stores at most %d; give fewer or shorter ones",
            (unsigned long long)l.header_size, NATIVE_HEADER_MAX);
    *size = file_size(&l);
    return TAMIS_OK;
}

/* ---- the header ---- */

static void put_field(uint8_t *header, native_field field, uint64_t value) {
#define NATIVE_FIELD_POSITION(name, offset, width, min, max) {offset, width},
    static const struct {
        uint16_t offset;
        uint8_t width;
    } positions[] = {NATIVE_FIELDS(NATIVE_FIELD_POSITION)};
#undef NATIVE_FIELD_POSITION
    uint8_t *to = header + positions[field].offset;
    if (positions[field].width == 4)
        tamis__store32le(to, (uint32_t)value);
    else
        tamis__store64le(to, value);
}

static void put_real(uint8_t *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tamis__store64le(to, bits);
}

/* Writes the header of a section. Returns where its bytes go, and moves *offset behind them. */
static uint8_t *put_section(uint8_t **offset, uint32_t type, uint64_t size) {
    uint8_t *bytes = *offset + 8;
    tamis__store32le(*offset, type);
    tamis__store32le(*offset + 4, (uint32_t)size);
    *offset += section_size(size);
    return bytes;
}

static void put_label(uint8_t **offset, const tamis_label *label) {
    const size_t name = strlen(label->name);
    uint8_t *to = put_section(offset, NATIVE_SECTION_LABEL, label_bytes(label));
    to[0] = (uint8_t)name;
    to[1] = (uint8_t)(name >> 8);
    memcpy(to + 2, label->name, name);
    memcpy(to + 2 + name, label->value, strlen(label->value));
}

static void put_split(const tamis_filter *filter, uint8_t *bits) {
    tamis__body_extent extent;
    for (size_t i = 0, n = 0; filter->ops->body_extent(filter, i, &extent);
         i += extent.split ? NATIVE_SPLIT_IN : 1, n++)
        bits[n / 8] |= (uint8_t)(extent.split << n % 8);
}

static void put_window(const tamis_filter *filter, const layout *l, uint8_t **offset) {
    const uint64_t bytes = window_counts_bytes(filter);
    uint8_t *to = put_section(offset, NATIVE_SECTION_WINDOW, NATIVE_WINDOW_COUNTS + l->partitions * bytes);
    tamis__store64le(to + NATIVE_WINDOW, filter->plan.window);
    tamis__store64le(to + NATIVE_WINDOW_STEP, filter->plan.step);
    tamis__store64le(to + NATIVE_WINDOW_LATENESS, filter->plan.lateness);
    tamis__store64le(to + NATIVE_WINDOW_NEWEST, (uint64_t)tamis_window_newest(filter));
    tamis__store64le(to + NATIVE_WINDOW_REFRESH, filter->plan.refresh);
    for (uint64_t i = 0; i < l->partitions; i++)
        for (uint64_t n = 0; n < bytes / 8; n++)
            tamis__store64le(to + NATIVE_WINDOW_COUNTS + i * bytes + 8 * n,
                             tamis__window_count(filter, (size_t)i, (uint32_t)n));
}

static void put_sections(const tamis_filter *filter, const layout *l, uint8_t *offset) {
    const tamis_metadata *metadata = &filter->metadata.fields;
    uint64_t added;
    double mistaken;
    tamis__body_extent extent;
    for (size_t i = 0; i < metadata->label_count; i++)
        put_label(&offset, &metadata->labels[i]);
    if (get_union_counts(filter, &added, &mistaken)) {
        uint8_t *to = put_section(&offset, NATIVE_SECTION_UNION, 16);
        tamis__store64le(to, added);
        put_real(to + 8, bounded_false_present(mistaken));
    }
    if (metadata->data_size)
        memcpy(put_section(&offset, NATIVE_SECTION_DATA, metadata->data_size), metadata->data,
               metadata->data_size);
    if (metadata->key_type)
        tamis__store32le(put_section(&offset, NATIVE_SECTION_KEYS, 4), metadata->key_type);
    if (filter->frozen)
        put_section(&offset, NATIVE_SECTION_FROZEN, 0);
    uint8_t *row = l->partitions ? put_section(&offset, NATIVE_SECTION_PARTITIONS, 24 * l->partitions) : NULL;
    for (size_t i = 0; row && filter->ops->body_extent(filter, i, &extent); i++, row += 24) {
        tamis__store64le(row, extent.size / TAMIS__LINE);
        tamis__store64le(row + 8, extent.entries);
        put_real(row + 16, extent.covered);
    }
    if (l->split)
        put_split(filter, put_section(&offset, NATIVE_SECTION_SPLIT, NATIVE_SPLIT_BYTES));
    row = l->tables ? put_section(&offset, NATIVE_SECTION_TABLES, NATIVE_TABLE_BYTES * l->tables) : NULL;
    for (size_t i = 0; row && filter->ops->body_extent(filter, i, &extent); i++, row += NATIVE_TABLE_BYTES) {
        tamis__store64le(row, extent.buckets);
        tamis__store64le(row + 8, extent.entries);
    }
    if (is_window(filter))
        put_window(filter, l, &offset);
}

static void put_header(const tamis_filter *filter, const layout *l, const uint8_t *checksums,
                       uint8_t *header) {
    const tamis_plan *plan = &filter->plan;
    const tamis_metadata *metadata = &filter->metadata.fields;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    if (is_bloom(filter)) /* without reading its bits */
        info.false_present = tamis__bloom_false_present(filter);
    else
        filter->ops->estimate(filter, &info);
    memcpy(header, native_magic, NATIVE_MAGIC);
    put_field(header, NATIVE_format, NATIVE_FORMAT);
    put_field(header, NATIVE_header_size, l->header_size);
    put_field(header, NATIVE_file_size, file_size(l));
    put_field(header, NATIVE_body_offset, l->body_offset);
    put_field(header, NATIVE_body_size, l->body_size);
    put_field(header, NATIVE_block_size, TAMIS__BLOCK);
    put_field(header, NATIVE_checksums_sum, XXH3_64bits(checksums, (size_t)(8 * l->blocks)));
    put_field(header, NATIVE_kind, (uint64_t)plan->kind);
    put_field(header, NATIVE_scheme, (uint64_t)plan->scheme);
    put_field(header, NATIVE_seed, filter->hasher->seed);
    put_field(header, NATIVE_secret_print, filter->hasher->secret_fingerprint);
    put_field(header, NATIVE_capacity, plan->capacity);
    put_field(header, NATIVE_bits, plan->bits);
    put_field(header, NATIVE_probes, plan->probes);
    put_field(header, NATIVE_slot_bits, plan->slot_bits);
    put_field(header, NATIVE_home_bits, plan->home_bits);
    put_field(header, NATIVE_partitions,
              is_window(filter)  ? l->partitions
              : is_table(filter) ? plan->partitions
                                 : 0);
    put_field(header, NATIVE_memory_limit, plan->memory_limit);
    put_field(header, NATIVE_added, filter->added);
    put_field(header, NATIVE_flags,
              (filter->saturated ? NATIVE_SATURATED : 0u) |
                  (filter->allow_over_capacity ? NATIVE_ALLOW_OVER_CAPACITY : 0u));
    put_field(header, NATIVE_version, metadata->version);
    put_field(header, NATIVE_created, (uint64_t)metadata->created);
    put_real(header + NATIVE_FPR, plan->fpr);
    put_real(header + NATIVE_FPR_PREDICTED, plan->fpr_predicted);
    put_real(header + NATIVE_FALSE_PRESENT, bounded_false_present(info.false_present));
    put_real(header + NATIVE_COVERED, info.fpr_live);
    put_sections(filter, l, header + NATIVE_HEADER);
    put_field(header, NATIVE_header_sum, native_header_checksum(header, l->header_size));
}

/* ---- the body ---- */

static const uint8_t zeros[NATIVE_BODY_ALIGN];

/* Emits the body, piece by piece, with zeros up to the end of the last line. */
static tamis_status walk_body(const tamis_filter *filter, const layout *l, const tamis__emitter *emitter,
                              tamis_error *err) {
    tamis__body_extent extent;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; status == TAMIS_OK && filter->ops->body_extent(filter, i, &extent); i++)
        status = emitter->emit(emitter->context, extent.bytes, (size_t)extent.size, err);
    if (status == TAMIS_OK && l->body_size > l->extent_bytes)
        status = emitter->emit(emitter->context, zeros, (size_t)(l->body_size - l->extent_bytes), err);
    return status;
}

/* Computes the checksums of blocks from bytes that come in pieces of any size. */
typedef struct block_hasher {
    XXH3_state_t *state;
    size_t in; /* bytes of the present block so far */
    uint8_t *checksums;
} block_hasher;

static void close_block(block_hasher *s) {
    tamis__store64le(s->checksums, XXH3_64bits_digest(s->state));
    s->checksums += 8;
    s->in = 0;
    XXH3_64bits_reset(s->state);
}

static tamis_status checksum_bytes(void *context, const void *bytes, size_t size, tamis_error *err) {
    block_hasher *s = context;
    const uint8_t *offset = bytes;
    (void)err;
    while (size) {
        const size_t chunk = TAMIS__BLOCK - s->in < size ? TAMIS__BLOCK - s->in : size;
        XXH3_64bits_update(s->state, offset, chunk);
        s->in += chunk;
        offset += chunk;
        size -= chunk;
        if (s->in == TAMIS__BLOCK)
            close_block(s);
    }
    return TAMIS_OK;
}

static tamis_status checksum_blocks(const tamis_filter *filter, const layout *l, uint8_t *checksums,
                                    tamis_error *err) {
    block_hasher s = {XXH3_createState(), 0, checksums};
    if (!s.state)
        return tamis__fail_nomem(err, "checksums of blocks", sizeof(XXH64_canonical_t));
    XXH3_64bits_reset(s.state);
    tamis_status status = walk_body(filter, l, &(tamis__emitter){checksum_bytes, &s}, err);
    if (s.in)
        close_block(&s);
    XXH3_freeState(s.state);
    return status;
}

tamis_status tamis__native_encode(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err) {
    layout l = layout_of(filter);
    size_t size = (size_t)(l.header_size + 8 * l.blocks);
    tamis_status status = tamis_filter_verify(filter, err); /* damaged bytes must not get valid checksums */
    if (status != TAMIS_OK)
        return status;
    uint8_t *header = tamis__alloc(&filter->allocator, size, 8);
    if (!header)
        return tamis__fail_nomem(err, "header", size);
    uint8_t *checksums = header + l.header_size;
    status = checksum_blocks(filter, &l, checksums, err);
    if (status == TAMIS_OK) {
        put_header(filter, &l, checksums, header);
        status = out->emit(out->context, header, (size_t)l.header_size, err);
    }
    if (status == TAMIS_OK && l.body_offset > l.header_size)
        status = out->emit(out->context, zeros, (size_t)(l.body_offset - l.header_size), err);
    if (status == TAMIS_OK)
        status = walk_body(filter, &l, out, err);
    if (status == TAMIS_OK)
        status = out->emit(out->context, checksums, (size_t)(8 * l.blocks), err);
    tamis__free(&filter->allocator, header, size);
    return status;
}
