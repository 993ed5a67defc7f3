/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_ABOUT_H
#define TAMIS_FILTER_ABOUT_H

#include "filter/filter_int.h"

/* Copies the metadata of a filter. */
tamis_status tamis__about_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
/* Removes and frees the metadata. */
void tamis__about_clear(tamis_filter *filter);

/* True if two key types of tamis_about are compatible: one rule then makes the keys of both filters. *both
 * is that rule. */
bool tamis__key_types_join(uint32_t one, uint32_t other, uint32_t *both);

#endif
