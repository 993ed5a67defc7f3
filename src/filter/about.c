/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The metadata of a filter: labels, version, creation time, format, key type and user data.
 *
 * Labels, their strings and the user data are in one block of memory. A change builds a new block and then
 * replaces the old one, so a failure leaves the metadata unchanged:
 *
 *     block   | label 0 | label 1 | ... | name 0, value 0, name 1, value 1, ... | user data |
 *               `- pointers ------------^                                         ^
 *               about.told.labels                                    about.told.data
 *
 * Invariants:
 * 1. Labels are sorted by name, and no name occurs twice. Saved files are therefore the same for any order of
 *    labels.
 * 2. Names have 1 to 255 bytes and values at most 65535: UTF-8 without control characters, as docs/FORMAT.md
 *    requires.
 * 3. All pointers in about.told are NULL or point into the block.
 */
#include "filter/about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/versioned.h"

enum { NAME_MAX_BYTES = 255, SHOWN = 60 };
#define VALUE_MAX_BYTES 65535u

/* Size of a text in bytes. SIZE_MAX if it is not UTF-8 or has a control character. */
static size_t text_size(const char *text) {
    const uint8_t *at = (const uint8_t *)text;
    while (*at) {
        uint32_t point = *at, more = point < 0x80 ? 0 : point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
        static const uint32_t least[] = {0x20, 0x80, 0x800, 0x10000};
        if ((point >= 0x80 && point < 0xc2) || point > 0xf4)
            return SIZE_MAX;
        if (more)
            point &= 0x3fu >> more;
        at++;
        for (uint32_t i = 0; i < more; i++, at++) {
            if ((*at & 0xc0) != 0x80)
                return SIZE_MAX;
            point = point << 6 | (*at & 0x3f);
        }
        if (point < least[more] || point == 0x7f || (point >= 0x80 && point < 0xa0) || point > 0x10ffff ||
            (point >= 0xd800 && point < 0xe000))
            return SIZE_MAX;
    }
    return (size_t)(at - (const uint8_t *)text);
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
    size_t name = label->name ? text_size(label->name) : SIZE_MAX;
    size_t value = label->value ? text_size(label->value) : SIZE_MAX;
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

static int by_name(const void *one, const void *other) {
    return strcmp(((const tamis_label *)one)->name, ((const tamis_label *)other)->name);
}

static char *put(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

/* Copies the strings and the data to the block, after the labels. */
static void fill(tamis__about *made, const tamis_about *from) {
    tamis_label *labels = made->block;
    char *at = (char *)(labels + from->label_count);
    for (size_t i = 0; i < from->label_count; i++) {
        labels[i].name = put(&at, from->labels[i].name);
        labels[i].value = put(&at, from->labels[i].value);
    }
    if (from->data_size)
        memcpy(at, from->data, from->data_size);
    made->told.labels = labels;
    made->told.data = from->data_size ? at : NULL;
}

static tamis_status check(const tamis_about *about, size_t *size, tamis_error *err) {
    if (about->label_count > TAMIS_LABELS_MAX)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "labels: %zu are more than %d; give fewer",
                           about->label_count, TAMIS_LABELS_MAX);
    *size = about->label_count * sizeof(tamis_label) + about->data_size;
    for (size_t i = 0; i < about->label_count; i++) {
        tamis_status status = check_label(&about->labels[i], i, err);
        if (status != TAMIS_OK)
            return status;
        *size += strlen(about->labels[i].name) + strlen(about->labels[i].value) + 2;
    }
    return TAMIS_OK;
}

static tamis_status check_unique(const tamis__about *about, tamis_error *err) {
    const tamis_label *labels = about->told.labels;
    for (size_t i = 1; i < about->told.label_count; i++)
        if (strcmp(labels[i - 1].name, labels[i].name) == 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0, "label '%.100s': is there twice; give it one value",
                               labels[i].name);
    return TAMIS_OK;
}

static void replace(tamis_filter *filter, const tamis__about *made) {
    tamis__free(&filter->allocator, filter->about.block, filter->about.block_size);
    filter->about = *made;
}

tamis_status tamis_filter_about_set(tamis_filter *filter, const tamis_about *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_about about = TAMIS_ABOUT_INIT;
    tamis__about made = {TAMIS_ABOUT_INIT, NULL, 0};
    tamis_status status = tamis__take_struct(&about, sizeof about, given, "TAMIS_ABOUT_INIT", err);
    if (status == TAMIS_OK)
        status = check(&about, &made.block_size, err);
    if (status != TAMIS_OK)
        return status;
    made.told = about;
    made.told.format = filter->about.told.format;
    made.told.labels = NULL;
    made.told.data = NULL;
    if (made.block_size) {
        made.block = tamis__alloc(&filter->allocator, made.block_size, _Alignof(tamis_label));
        if (!made.block)
            return tamis__fail_nomem(err, "labels", made.block_size);
        fill(&made, &about);
        qsort(made.block, about.label_count, sizeof(tamis_label), by_name);
        status = check_unique(&made, err);
    }
    if (status == TAMIS_OK)
        replace(filter, &made);
    else
        tamis__free(&filter->allocator, made.block, made.block_size);
    return status;
}

tamis_status tamis_filter_about_get(const tamis_filter *filter, tamis_about *about, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_about told;
    tamis_status status = tamis__check_struct(about, "TAMIS_ABOUT_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_enter(filter);
    told = filter->about.told;
    tamis__filter_leave(filter);
    told.struct_size = sizeof told;
    if (told.format == TAMIS_FORMAT_AUTO)
        told.format = TAMIS_FORMAT_TAMIS;
    tamis__give_struct(about, &told, sizeof told);
    return TAMIS_OK;
}

tamis_status tamis__about_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    tamis_about about = from->about.told;
    about.struct_size = sizeof about;
    to->about.told.format = about.format;
    return tamis_filter_about_set(to, &about, err);
}

void tamis__about_clear(tamis_filter *filter) {
    replace(filter, &(tamis__about){TAMIS_ABOUT_INIT, NULL, 0});
}

/* A filter without a stored type is compatible with any type. UTF-8 text is its bytes, so UTF-8 and bytes
 * are compatible, and the common type is bytes. Types whose keys were normalized in different ways (case,
 * blanks) are not compatible. */
bool tamis__key_types_join(uint32_t one, uint32_t other, uint32_t *both) {
    static const uint32_t made = TAMIS_KEYS_MADE;
    const bool untold = (one & ~made) == TAMIS_KEYS_UNTOLD || (other & ~made) == TAMIS_KEYS_UNTOLD;
    if (one == other || one == TAMIS_KEYS_UNTOLD || other == TAMIS_KEYS_UNTOLD) {
        *both = one | other;
        return true;
    }
    if (((one ^ other) & made) != 0)
        return false;
    if (!untold && ((one & ~made) > TAMIS_KEYS_UTF8 || (other & ~made) > TAMIS_KEYS_UTF8))
        return false;
    *both = untold ? one | other : TAMIS_KEYS_BYTES | (one & made);
    return true;
}
