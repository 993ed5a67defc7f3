/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_METADATA_H
#define TAMIS_FILTER_METADATA_H

#include "filter/filter_int.h"

/* Copies the metadata of a filter. */
tamis_status tamis__metadata_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
/* Removes and frees the metadata. */
void tamis__metadata_clear(tamis_filter *filter);

/* True if two key types of tamis_metadata are compatible: one rule then makes the keys of both filters.
 * *joined is that rule. */
bool tamis__key_types_join(uint32_t a, uint32_t b, uint32_t *joined);

#endif
