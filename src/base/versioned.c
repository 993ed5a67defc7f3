/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/versioned.h"

#include <stdint.h>
#include <string.h>

/* The struct_size of a struct; 0 where it cannot even hold that. */
static uint32_t size_of(const void *any) {
    uint32_t size = 0;
    if (any)
        memcpy(&size, any, sizeof size);
    return size < sizeof size ? 0 : size;
}

static void copy_known(void *to, const void *from, size_t size, uint32_t keep) {
    memcpy(to, from, size);
    memcpy(to, &keep, sizeof keep);
}

tamis_status tamis__take_struct(void *to, size_t size, const void *given, const char *init,
                                tamis_error *err) {
    uint32_t known = size_of(given);
    if (!known)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "argument: NULL or without struct_size; start from %s",
                           init);
    copy_known(to, given, known < size ? known : size, (uint32_t)size);
    return TAMIS_OK;
}

tamis_status tamis__take_options(void *to, size_t size, const void *given, const char *init,
                                 tamis_error *err) {
    return given ? tamis__take_struct(to, size, given, init, err) : TAMIS_OK;
}

void tamis__give_struct(void *to, const void *from, size_t size) {
    uint32_t known = size_of(to);
    if (known)
        copy_known(to, from, known < size ? known : size, known);
}
