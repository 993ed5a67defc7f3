/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/versioned.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* Returns the struct_size of a struct; 0 if it is NULL or its size is too small to be valid. */
static uint32_t size_of(const void *any) {
    uint32_t size = 0;
    if (any)
        memcpy(&size, any, sizeof size);
    return size < sizeof size ? 0 : size;
}

/* Largest struct_size of any version. A larger value means an uninitialised struct. */
enum { SIZE_MAX_KNOWN = 4096 };

/* True if the caller was built against a newer header and has set a field that this library does not know. */
static bool has_unknown(const void *given, uint32_t known, size_t size) {
    const unsigned char *bytes = given;
    for (size_t i = size; i < known; i++)
        if (bytes[i])
            return true;
    return false;
}

static void copy_known(void *to, const void *from, size_t size, uint32_t keep) {
    memcpy(to, from, size);
    memcpy(to, &keep, sizeof keep);
}

enum { NAME = 32 }; /* bytes of an argument's name */

/* Derives the name of an argument from its macro: "info" from TAMIS_FILTER_INFO_INIT. */
static const char *argument_name(char name[NAME], const char *init) {
    const char *last_underscore = strrchr(init, '_'), *word_start = last_underscore ? last_underscore : init;
    size_t size = 0;
    while (word_start > init && word_start[-1] != '_')
        word_start--;
    for (; last_underscore && word_start < last_underscore && size + 1 < NAME; word_start++)
        name[size++] = (char)tolower((unsigned char)*word_start);
    name[size] = '\0';
    return name;
}

tamis_status tamis__check_struct(const void *given, const char *init, tamis_error *err) {
    char name[NAME];
    if (!size_of(given))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: NULL or without struct_size; start from %s",
                           argument_name(name, init), init);
    return TAMIS_OK;
}

tamis_status tamis__read_struct(void *to, size_t size, const void *given, const char *init,
                                tamis_error *err) {
    char name[NAME];
    tamis_status status = tamis__check_struct(given, init, err);
    if (status != TAMIS_OK)
        return status;
    uint32_t known = size_of(given);
    if (known > SIZE_MAX_KNOWN)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: struct_size %u is that of no version; start from %s",
                           argument_name(name, init), (unsigned)known, init);
    if (has_unknown(given, known, size))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: a field behind those of this library's %s is set; leave it zero, or use "
                           "the library of that header",
                           argument_name(name, init), init);
    copy_known(to, given, known < size ? known : size, (uint32_t)size);
    return TAMIS_OK;
}

tamis_status tamis__read_options(void *to, size_t size, const void *given, const char *init,
                                 tamis_error *err) {
    return given ? tamis__read_struct(to, size, given, init, err) : TAMIS_OK;
}

void tamis__write_struct(void *to, const void *from, size_t size) {
    const uint32_t known = size_of(to);
    if (known)
        copy_known(to, from, known < size ? known : size, known);
}
