/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Writes .tamis files (docs/FORMAT.md), from front to back: an emitter takes the bytes in order.
 *
 * The header comes first but contains a checksum of the block sums, and these need the whole body. So the
 * body is read twice:
 *
 *     1. layout_of      compute the sizes of header, sections and body
 *     2. sum_blocks     read the body, compute the block sums
 *     3. put_header     fields, sections, checksum of the sums, checksum of the header
 *     4. emit           header, zeros, body, block sums
 *
 * Between both passes the filter must not change; the caller holds it (tamis__filter_keep).
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
#include "filter/filter_int.h"
#include "filter/guard.h"
#include "format/native.h"
#include "hash/hasher.h"

typedef struct layout {
    uint64_t header_size, body_offset, body_size, part_bytes, partitions, split;
    uint64_t blocks;
} layout;

static bool is_table(const tamis_filter *filter) {
    return !tamis_kind_is_bloom(filter->plan.kind);
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
static double told_wrong(double mistaken) {
    return mistaken > 0 ? fmin(mistaken, NATIVE_COUNT_MAX) : 0;
}

/* Reads the counts at the last union. False if there was no union. */
static bool was_united(const tamis_filter *filter, uint64_t *added, double *mistaken) {
    if (is_table(filter))
        return false;
    *mistaken = tamis__bloom_united(filter, added);
    return *added || *mistaken > 0;
}

static layout layout_of(const tamis_filter *filter) {
    const tamis_about *about = &filter->about.told;
    layout l = {.header_size = NATIVE_HEADER};
    tamis__part part;
    uint64_t added;
    double mistaken;
    for (size_t i = 0; filter->ops->part(filter, i, &part); i++) {
        l.part_bytes += part.size;
        l.partitions += is_table(filter);
        l.split += part.split;
    }
    for (size_t i = 0; i < about->label_count; i++)
        l.header_size += section_size(label_bytes(&about->labels[i]));
    if (about->data_size)
        l.header_size += section_size(about->data_size);
    if (about->key_type)
        l.header_size += section_size(4);
    if (filter->frozen)
        l.header_size += section_size(0);
    if (l.partitions)
        l.header_size += section_size(24 * l.partitions);
    if (l.split)
        l.header_size += section_size(NATIVE_SPLIT_BYTES);
    if (was_united(filter, &added, &mistaken))
        l.header_size += section_size(16);
    l.body_offset = round_up(l.header_size, NATIVE_BODY_ALIGN);
    l.body_size = round_up(l.part_bytes, TAMIS__LINE);
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
            "labels and user data: take %llu bytes, and a file has room for %d; give fewer or shorter ones",
            (unsigned long long)l.header_size, NATIVE_HEADER_MAX);
    *size = file_size(&l);
    return TAMIS_OK;
}

/* ---- the header ---- */

static void put_field(uint8_t *header, native_field field, uint64_t value) {
#define NATIVE_FIELD_PLACE(name, at, width, least, most) {at, width},
    static const struct {
        uint16_t at;
        uint8_t width;
    } places[] = {NATIVE_FIELDS(NATIVE_FIELD_PLACE)};
#undef NATIVE_FIELD_PLACE
    uint8_t *to = header + places[field].at;
    if (places[field].width == 4)
        tamis__store32le(to, (uint32_t)value);
    else
        tamis__store64le(to, value);
}

static void put_real(uint8_t *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tamis__store64le(to, bits);
}

/* Writes the header of a section. Returns where its bytes go, and moves *at behind them. */
static uint8_t *put_section(uint8_t **at, uint32_t type, uint64_t size) {
    uint8_t *bytes = *at + 8;
    tamis__store32le(*at, type);
    tamis__store32le(*at + 4, (uint32_t)size);
    *at += section_size(size);
    return bytes;
}

static void put_label(uint8_t **at, const tamis_label *label) {
    size_t name = strlen(label->name);
    uint8_t *to = put_section(at, NATIVE_SECTION_LABEL, label_bytes(label));
    to[0] = (uint8_t)name;
    to[1] = (uint8_t)(name >> 8);
    memcpy(to + 2, label->name, name);
    memcpy(to + 2 + name, label->value, strlen(label->value));
}

static void put_split(const tamis_filter *filter, uint8_t *bits) {
    tamis__part part;
    for (size_t i = 0, n = 0; filter->ops->part(filter, i, &part); i += part.split ? NATIVE_SPLIT_IN : 1, n++)
        bits[n / 8] |= (uint8_t)(part.split << n % 8);
}

static void put_sections(const tamis_filter *filter, const layout *l, uint8_t *at) {
    const tamis_about *about = &filter->about.told;
    uint64_t added;
    double mistaken;
    tamis__part part;
    for (size_t i = 0; i < about->label_count; i++)
        put_label(&at, &about->labels[i]);
    if (was_united(filter, &added, &mistaken)) {
        uint8_t *to = put_section(&at, NATIVE_SECTION_UNION, 16);
        tamis__store64le(to, added);
        put_real(to + 8, told_wrong(mistaken));
    }
    if (about->data_size)
        memcpy(put_section(&at, NATIVE_SECTION_DATA, about->data_size), about->data, about->data_size);
    if (about->key_type)
        tamis__store32le(put_section(&at, NATIVE_SECTION_KEYS, 4), about->key_type);
    if (filter->frozen)
        put_section(&at, NATIVE_SECTION_FROZEN, 0);
    uint8_t *row = l->partitions ? put_section(&at, NATIVE_SECTION_PARTITIONS, 24 * l->partitions) : NULL;
    for (size_t i = 0; row && filter->ops->part(filter, i, &part); i++, row += 24) {
        tamis__store64le(row, part.size / TAMIS__LINE);
        tamis__store64le(row + 8, part.entries);
        put_real(row + 16, part.covered);
    }
    if (l->split)
        put_split(filter, put_section(&at, NATIVE_SECTION_SPLIT, NATIVE_SPLIT_BYTES));
}

static void put_header(const tamis_filter *filter, const layout *l, const uint8_t *sums, uint8_t *header) {
    const tamis_plan *plan = &filter->plan;
    const tamis_about *about = &filter->about.told;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    if (is_table(filter))
        filter->ops->estimate(filter, &info);
    else
        info.false_fresh = tamis__bloom_false_fresh(filter);
    memcpy(header, native_magic, NATIVE_MAGIC);
    put_field(header, NATIVE_format, NATIVE_FORMAT);
    put_field(header, NATIVE_header_size, l->header_size);
    put_field(header, NATIVE_file_size, file_size(l));
    put_field(header, NATIVE_body_offset, l->body_offset);
    put_field(header, NATIVE_body_size, l->body_size);
    put_field(header, NATIVE_block_size, TAMIS__BLOCK);
    put_field(header, NATIVE_sums_sum, XXH3_64bits(sums, (size_t)(8 * l->blocks)));
    put_field(header, NATIVE_kind, (uint64_t)plan->kind);
    put_field(header, NATIVE_scheme, (uint64_t)plan->scheme);
    put_field(header, NATIVE_seed, filter->hasher->seed);
    put_field(header, NATIVE_secret_print, filter->hasher->secret_print);
    put_field(header, NATIVE_capacity, plan->capacity);
    put_field(header, NATIVE_bits, plan->bits);
    put_field(header, NATIVE_probes, plan->probes);
    put_field(header, NATIVE_slot_bits, plan->slot_bits);
    put_field(header, NATIVE_home_bits, plan->home_bits);
    put_field(header, NATIVE_partitions, is_table(filter) ? plan->partitions : 0);
    put_field(header, NATIVE_memory_limit, plan->memory_limit);
    put_field(header, NATIVE_added, filter->added);
    put_field(header, NATIVE_flags,
              (filter->saturated ? NATIVE_SATURATED : 0u) | (filter->overfill ? NATIVE_OVERFILL : 0u));
    put_field(header, NATIVE_version, about->version);
    put_field(header, NATIVE_created, (uint64_t)about->created);
    put_real(header + NATIVE_FPR, plan->fpr);
    put_real(header + NATIVE_FPR_PREDICTED, plan->fpr_predicted);
    put_real(header + NATIVE_FALSE_FRESH, told_wrong(info.false_fresh));
    put_real(header + NATIVE_COVERED, info.fpr_live);
    put_sections(filter, l, header + NATIVE_HEADER);
    put_field(header, NATIVE_header_sum, native_header_sum(header, l->header_size));
}

/* ---- the body ---- */

static const uint8_t zeros[NATIVE_BODY_ALIGN];

/* Emits the body, piece by piece, with zeros up to the end of the last line. */
static tamis_status walk_body(const tamis_filter *filter, const layout *l, const tamis__emitter *take,
                              tamis_error *err) {
    tamis__part part;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; status == TAMIS_OK && filter->ops->part(filter, i, &part); i++)
        status = take->emit(take->context, part.bytes, (size_t)part.size, err);
    if (status == TAMIS_OK && l->body_size > l->part_bytes)
        status = take->emit(take->context, zeros, (size_t)(l->body_size - l->part_bytes), err);
    return status;
}

/* Computes the checksums of blocks from bytes that come in pieces of any size. */
typedef struct summer {
    XXH3_state_t *state;
    size_t in; /* bytes of the present block so far */
    uint8_t *sums;
} summer;

static void close_block(summer *s) {
    tamis__store64le(s->sums, XXH3_64bits_digest(s->state));
    s->sums += 8;
    s->in = 0;
    XXH3_64bits_reset(s->state);
}

static tamis_status sum_bytes(void *context, const void *bytes, size_t size, tamis_error *err) {
    summer *s = context;
    const uint8_t *at = bytes;
    (void)err;
    while (size) {
        size_t some = TAMIS__BLOCK - s->in < size ? TAMIS__BLOCK - s->in : size;
        XXH3_64bits_update(s->state, at, some);
        s->in += some;
        at += some;
        size -= some;
        if (s->in == TAMIS__BLOCK)
            close_block(s);
    }
    return TAMIS_OK;
}

static tamis_status sum_blocks(const tamis_filter *filter, const layout *l, uint8_t *sums, tamis_error *err) {
    summer s = {XXH3_createState(), 0, sums};
    if (!s.state)
        return tamis__fail_nomem(err, "sums of blocks", sizeof(XXH64_canonical_t));
    XXH3_64bits_reset(s.state);
    tamis_status status = walk_body(filter, l, &(tamis__emitter){sum_bytes, &s}, err);
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
    uint8_t *sums = header + l.header_size;
    status = sum_blocks(filter, &l, sums, err);
    if (status == TAMIS_OK) {
        put_header(filter, &l, sums, header);
        status = out->emit(out->context, header, (size_t)l.header_size, err);
    }
    if (status == TAMIS_OK && l.body_offset > l.header_size)
        status = out->emit(out->context, zeros, (size_t)(l.body_offset - l.header_size), err);
    if (status == TAMIS_OK)
        status = walk_body(filter, &l, out, err);
    if (status == TAMIS_OK)
        status = out->emit(out->context, sums, (size_t)(8 * l.blocks), err);
    tamis__free(&filter->allocator, header, size);
    return status;
}
