/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_NATIVE_READ_H
#define TAMIS_FORMAT_NATIVE_READ_H

/*
 * Reading .tamis files, in the order of the checks: native_header.c, native_sections.c, native_read.c.
 */
#include <string.h>

#include "base/bytes.h"
#include "filter/filter_int.h"
#include "format/format.h"
#include "format/native.h"

#define NATIVE_REMEDY "restore the file from a copy, or build it anew"

/* The fields of a header. */
typedef struct native_header {
    const tamis__encoded_bytes *source;
    uint64_t field[NATIVE_FIELD_COUNT];
    double fpr, fpr_predicted, false_present, covered;
} native_header;

/* The contents of the sections. */
typedef struct native_sections {
    tamis_label *labels;
    size_t label_count, label_capacity;
    tamis__body_extent *extents;
    size_t extent_count;
    const uint8_t *split; /* section "split": a bit for each first partition; NULL: none was split */
    const uint8_t *data;
    size_t data_size;
    bool has_union;
    uint64_t union_added;
    double union_false_present;
    uint32_t key_type;
    bool frozen;
    const uint8_t *window; /* section "window"; NULL: none */
    uint32_t window_size;
    char *text; /* free memory for the texts of labels, NUL-terminated */
} native_sections;

typedef struct native_section {
    uint32_t type, size;
    const uint8_t *bytes;
} native_section;

static inline bool native_is_window(const native_header *h) {
    return h->field[NATIVE_kind] == TAMIS_KIND_WINDOW;
}

static inline double native_load_real(const uint8_t *from) {
    uint64_t bits = tamis__load64le(from);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* native_header.c: loads and checks the header of a source that has at least NATIVE_HEADER bytes. */
tamis_status tamis__native_read_header(native_header *h, tamis_error *err);
/* native_header.c: TAMIS_E_DAMAGED: the source is shorter than `wanted` bytes. */
tamis_status tamis__native_fail_cut(const native_header *h, uint64_t wanted, const char *what,
                                    tamis_error *err);
/* native_header.c: TAMIS_E_DAMAGED unless `value` is from 0 to `max`. */
tamis_status tamis__native_check_real(const native_header *h, const char *name, double value, double max,
                                      tamis_error *err);

/* native_sections.c: reads the sections. Labels, extents and text of *to have enough capacity. */
tamis_status tamis__native_read_sections(const native_header *h, native_sections *to, tamis_error *err);
/* native_sections.c: TAMIS_E_DAMAGED: a section is wrong. */
tamis_status tamis__native_fail_section(const native_header *h, const native_section *s, const char *why,
                                        tamis_error *err);

#endif
