/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_SCANS_H
#define TAMIS_TEST_GUARD_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/guard/guard_source.h"
#include "support/scratch.h"

/* Keys that a scan of a source returned, each with a line feed, and their number. Only the first 64 KiB are
 * kept. Initialise with zeros. */
typedef struct scan_result {
    test_bytes text;
    size_t count;
    tamis_status status; /* what the scan gets after `fail_at` keys */
    size_t fail_at;      /* 0: never */
    size_t peak_bytes;   /* of memory of the C library, while keys came */
} scan_result;

tamis_guard_scan scan_into(scan_result *result);
/* Runs scan or scan_new, which must succeed, and returns the keys, sorted and with a space in between.
 * Static storage. */
const char *scan_keys(const tamis_guard_source *source, void *session, bool is_new);

/* Returns the value of a row as a string, "(none)" without a row, or the name of the status. Static storage,
 * until the next call. */
const char *load_text(const tamis_guard_source *source, void *session, const char *key);
/* The same for any bytes and any time limit. */
const char *load_bytes(const tamis_guard_source *source, void *session, tamis_key key, uint32_t timeout_ms,
                       tamis_error *err);

#endif
