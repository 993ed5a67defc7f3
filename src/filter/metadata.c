/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The metadata of a filter: labels, version, creation time, format, key type and user data.
 *
 * Labels, their strings and the user data are in one block of memory. A change builds a new block and then
 * replaces the old one, so a failure leaves the metadata unchanged:
 *
 *     block   | label 0 | label 1 | ... | name 0, value 0, name 1, value 1, ... | user data |
 *               `- pointers ------------^                                         ^
 *               fields.labels                                                     fields.data
 *
 * Why one block: a change needs one allocation, so there is one place where it can fail. A copy of a filter
 * copies the metadata by the same function that sets it (tamis__metadata_copy).
 *
 * Validation decodes UTF-8 byte by byte (text_size). It refuses what a reader in another language might
 * refuse or show wrongly. That is overlong forms, surrogates, code points above U+10FFFF, and the control
 * characters below U+0020 and from U+007F to U+009F. So every label can be printed on a line of its own.
 *
 * Key types. A filter may know what its keys are made of (TAMIS_KEYS_...). It has a type in the low bits, and
 * flags for how each key was normalized (case, blanks). For a union the two must agree:
 *
 *     a                b                common type     reason
 *     ---------------  ---------------  -------------   ----------------------------------------
 *     any              the same         that one
 *     unspecified      any              the other       an unspecified type is compatible with all
 *     bytes            UTF-8 text       bytes           UTF-8 text is its bytes
 *     other types      another one      none            one text would give two different keys
 *     other flags      whatever type    none            one text would give two different keys
 *
 * "Unspecified" in the second row has no flags either. A filter with flags but without a type is
 * compatible with any type that has the same flags.
 *
 * Reading metadata returns pointers into the block (tamis_filter_metadata_get). They are valid until the
 * metadata is set again, or the filter is freed or swapped for a newer file.
 *
 * Invariants:
 * 1. Labels are sorted by name, and no name occurs twice. Saved files are therefore the same for any order of
 *    labels.
 * 2. Names have 1 to 255 bytes and values at most 65535: UTF-8 without control characters, as docs/FORMAT.md
 *    requires.
 * 3. All pointers in metadata.fields are NULL or point into the block.
 */
#include "filter/filter_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/versioned.h"

enum { NAME_MAX_BYTES = 255, SHOWN = 60 };
#define VALUE_MAX_BYTES 65535u

/* Size of a text in bytes. SIZE_MAX if it is not UTF-8 or has a control character. */
static size_t text_size(const char *text) {
    const uint8_t *next = (const uint8_t *)text;
    while (*next) {
        uint32_t point = *next, more = point < 0x80 ? 0 : point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
        static const uint32_t min[] = {0x20, 0x80, 0x800, 0x10000};
        if ((point >= 0x80 && point < 0xc2) || point > 0xf4)
            return SIZE_MAX;
        if (more)
            point &= 0x3fu >> more;
        next++;
        for (uint32_t i = 0; i < more; i++, next++) {
            if ((*next & 0xc0) != 0x80)
                return SIZE_MAX;
            point = point << 6 | (*next & 0x3f);
        }
        if (point < min[more] || point == 0x7f || (point >= 0x80 && point < 0xa0) || point > 0x10ffff ||
            (point >= 0xd800 && point < 0xe000))
            return SIZE_MAX;
    }
    return (size_t)(next - (const uint8_t *)text);
}

/* Makes the message for an invalid name. Shows the beginning of the name in ASCII, or the number of the
 * label if the name is empty. */
static tamis_status refuse_name(const char *name, size_t i, tamis_error *err) {
    char shown[SHOWN + 3] = "'";
    size_t size = 1;
    for (; name && name[size - 1] && size <= SHOWN; size++)
        shown[size] = name[size - 1] >= 0x20 && name[size - 1] < 0x7f ? name[size - 1] : '?';
    if (size == 1)
        snprintf(shown, sizeof shown, "%zu", i);
    else
        shown[size] = '\'';
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "label %s: its name is not of 1 to 255 bytes of UTF-8 without control characters; give "
        "it another",
        shown);
}

static tamis_status check_label(const tamis_label *label, size_t i, tamis_error *err) {
    const size_t name = label->name ? text_size(label->name) : SIZE_MAX;
    const size_t value = label->value ? text_size(label->value) : SIZE_MAX;
    if (name < 1 || name > NAME_MAX_BYTES)
        return refuse_name(label->name, i, err);
    if (value > VALUE_MAX_BYTES)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "label '%.100s': its value has a control character, is no UTF-8 or is longer than "
                           "65535 bytes; give it "
                           "another",
                           label->name);
    return TAMIS_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const tamis_label *)a)->name, ((const tamis_label *)b)->name);
}

static char *append_text(char **next, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*next, text, size);
    *next += size;
    return copy;
}

/* Copies the strings and the data to the block, after the labels. */
static void copy_content(tamis__metadata *created, const tamis_metadata *from) {
    tamis_label *labels = created->block;
    char *next = (char *)(labels + from->label_count);
    for (size_t i = 0; i < from->label_count; i++) {
        labels[i].name = append_text(&next, from->labels[i].name);
        labels[i].value = append_text(&next, from->labels[i].value);
    }
    if (from->data_size)
        memcpy(next, from->data, from->data_size);
    created->fields.labels = labels;
    created->fields.data = from->data_size ? next : NULL;
}

static tamis_status check_metadata(const tamis_metadata *metadata, size_t *size, tamis_error *err) {
    if (metadata->label_count > TAMIS_LABELS_MAX)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "labels: %zu are more than %d; give fewer",
                           metadata->label_count, TAMIS_LABELS_MAX);
    *size = metadata->label_count * sizeof(tamis_label) + metadata->data_size;
    for (size_t i = 0; i < metadata->label_count; i++) {
        const tamis_status status = check_label(&metadata->labels[i], i, err);
        if (status != TAMIS_OK)
            return status;
        *size += strlen(metadata->labels[i].name) + strlen(metadata->labels[i].value) + 2;
    }
    return TAMIS_OK;
}

static tamis_status check_unique(const tamis__metadata *metadata, tamis_error *err) {
    const tamis_label *labels = metadata->fields.labels;
    for (size_t i = 1; i < metadata->fields.label_count; i++)
        if (strcmp(labels[i - 1].name, labels[i].name) == 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0, "label '%.100s': is there twice; give it one value",
                               labels[i].name);
    return TAMIS_OK;
}

static void replace_metadata(tamis_filter *filter, const tamis__metadata *created) {
    tamis__free(&filter->allocator, filter->metadata.block, filter->metadata.block_size);
    filter->metadata = *created;
}

tamis_status tamis_filter_metadata_set(tamis_filter *filter, const tamis_metadata *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis__metadata created = {TAMIS_METADATA_INIT, NULL, 0};
    tamis_status status = tamis__read_struct(&metadata, sizeof metadata, given, "TAMIS_METADATA_INIT", err);
    if (status == TAMIS_OK)
        status = check_metadata(&metadata, &created.block_size, err);
    if (status != TAMIS_OK)
        return status;
    created.fields = metadata;
    created.fields.format = filter->metadata.fields.format;
    created.fields.labels = NULL;
    created.fields.data = NULL;
    if (created.block_size) {
        created.block = tamis__alloc(&filter->allocator, created.block_size, _Alignof(tamis_label));
        if (!created.block)
            return tamis__fail_nomem(err, "labels", created.block_size);
        copy_content(&created, &metadata);
        qsort(created.block, metadata.label_count, sizeof(tamis_label), by_name);
        status = check_unique(&created, err);
    }
    if (status == TAMIS_OK)
        replace_metadata(filter, &created);
    else
        tamis__free(&filter->allocator, created.block, created.block_size);
    return status;
}

tamis_status tamis_filter_metadata_get(const tamis_filter *filter, tamis_metadata *metadata,
                                       tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_metadata fields;
    tamis_status status = tamis__check_struct(metadata, "TAMIS_METADATA_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_enter(filter);
    fields = filter->metadata.fields;
    tamis__filter_leave(filter);
    fields.struct_size = sizeof fields;
    if (fields.format == TAMIS_FORMAT_AUTO)
        fields.format = TAMIS_FORMAT_TAMIS;
    tamis__write_struct(metadata, &fields, sizeof fields);
    return TAMIS_OK;
}

tamis_status tamis__metadata_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    tamis_metadata metadata = from->metadata.fields;
    metadata.struct_size = sizeof metadata;
    to->metadata.fields.format = metadata.format;
    return tamis_filter_metadata_set(to, &metadata, err);
}

void tamis__metadata_clear(tamis_filter *filter) {
    replace_metadata(filter, &(tamis__metadata){TAMIS_METADATA_INIT, NULL, 0});
}

/* A filter without a stored type is compatible with any type. UTF-8 text is its bytes, so UTF-8 and bytes
 * are compatible, and the common type is bytes. Types whose keys were normalized in different ways (case,
 * blanks) are not compatible. */
bool tamis__key_types_join(uint32_t a, uint32_t b, uint32_t *joined) {
    static const uint32_t normalized = TAMIS_KEYS_NORMALIZED;
    const bool unspecified =
        (a & ~normalized) == TAMIS_KEYS_UNSPECIFIED || (b & ~normalized) == TAMIS_KEYS_UNSPECIFIED;
    if (a == b || a == TAMIS_KEYS_UNSPECIFIED || b == TAMIS_KEYS_UNSPECIFIED) {
        *joined = a | b;
        return true;
    }
    if (((a ^ b) & normalized) != 0)
        return false;
    if (!unspecified && ((a & ~normalized) > TAMIS_KEYS_UTF8 || (b & ~normalized) > TAMIS_KEYS_UTF8))
        return false;
    *joined = unspecified ? a | b : TAMIS_KEYS_BYTES | (a & normalized);
    return true;
}
