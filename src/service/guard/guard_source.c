/* SPDX-License-Identifier: BSD-2-Clause */
/* The two functions that a source calls: for the value of a row, and for the keys of a scan. */
#include "service/guard/guard_source.h"

#include "base/failure.h"

tamis_status tamis_guard_row_set(tamis_guard_row *row, const void *data, size_t size, tamis_error *err) {
    TAMIS__NEED(row, err);
    TAMIS__NEED_IF(size, data, err);
    if (size > TAMIS_GUARD_VALUE_MAX)
        return tamis__fail(err, TAMIS_E_TOO_LONG, 0,
                           "row: its value has %zu bytes, the limit is %zu; store large values elsewhere",
                           size, TAMIS_GUARD_VALUE_MAX);

    guard_blob *blob = tamis__guard_blob_create(row->allocator, data ? data : "", size);
    if (!blob)
        return tamis__fail_nomem(err, "value of a row", size);
    tamis__guard_blob_release(row->blob);
    row->blob = blob;
    return TAMIS_OK;
}

tamis_status tamis_guard_scan_add(tamis_guard_scan *scan, const tamis_key *keys, size_t count,
                                  tamis_error *err) {
    TAMIS__NEED(scan, err);
    TAMIS__NEED_IF(count, keys, err);
    return count ? scan->add(scan->context, keys, count, err) : TAMIS_OK;
}
