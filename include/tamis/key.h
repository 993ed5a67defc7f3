/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KEY_H
#define TAMIS_KEY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes whose membership is asked: a view, any bytes, any length (0 included). `data` may be NULL
 * when `size` is 0. The library never keeps the pointer past the call. */
typedef struct tamis_key {
    const void *data;
    size_t size;
} tamis_key;

/* What an add or a contains says of one key. Never mixed with errors. */
typedef uint8_t tamis_answer;
enum {
    TAMIS_FRESH = 0,  /* certainly not present before */
    TAMIS_SEEN = 1,   /* present, or a false positive at the filter's rate */
    TAMIS_UNKNOWN = 2 /* not asked, the filter being full, or a server's answer was lost */
};

#ifdef __cplusplus
}
#endif
#endif
