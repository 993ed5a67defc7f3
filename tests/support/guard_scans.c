/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard_scans.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 << 10 };

static tamis_status add(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    scan_result *result = context;
    const struct mallinfo2 memory = mallinfo2();
    (void)err;
    if (memory.uordblks + memory.hblkhd > result->peak_bytes)
        result->peak_bytes = memory.uordblks + memory.hblkhd;
    for (size_t i = 0; i < count; i++) {
        if (result->fail_at && result->count >= result->fail_at)
            return result->status;
        result->count++;
        if (result->text.size + keys[i].size > KEPT)
            continue;
        bytes_add(&result->text, keys[i].data, keys[i].size);
        bytes_add(&result->text, "\n", 1);
    }
    return TAMIS_OK;
}

tamis_guard_scan scan_into(scan_result *result) {
    return (tamis_guard_scan){add, result};
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *scan_keys(const tamis_guard_source *source, void *session, bool is_new) {
    static char text[KEPT];
    char *keys[1024];
    size_t count = 0;
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_status status = (is_new ? source->scan_new : source->scan)(session, &scan, &err);

    if (status != TAMIS_OK) {
        fprintf(stderr, "scan: %s\n", err.text);
        abort();
    }
    bytes_add(&result.text, "", 1);
    char *next = NULL;
    for (char *key = strtok_r((char *)result.text.data, "\n", &next); key && count < 1024;
         key = strtok_r(NULL, "\n", &next))
        keys[count++] = key;
    qsort(keys, count, sizeof *keys, compare);
    text[0] = 0;
    for (size_t i = 0, used = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? " %s" : "%s", keys[i]);
    bytes_clear(&result.text);
    return text;
}

const char *load_bytes(const tamis_guard_source *source, void *session, tamis_key key, uint32_t timeout_ms,
                       tamis_error *err) {
    static char text[KEPT];
    tamis_guard_row row = {0};
    const tamis_status status = source->load(session, key, timeout_ms, &row, err);

    if (status != TAMIS_OK) {
        tamis__guard_blob_release(row.blob);
        return tamis_status_name(status);
    }
    if (!row.blob)
        return "(none)";
    const tamis_key value = tamis__guard_blob_bytes(row.blob);
    const size_t size = value.size < sizeof text ? value.size : sizeof text - 1;
    memcpy(text, value.data, size);
    text[size] = 0;
    tamis__guard_blob_release(row.blob);
    return text;
}

const char *load_text(const tamis_guard_source *source, void *session, const char *key) {
    return load_bytes(source, session, (tamis_key){key, strlen(key)}, 10000, NULL);
}
