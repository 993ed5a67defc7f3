/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_ABOUT_H
#define TAMIS_FILTER_ABOUT_H

#include "filter/filter_int.h"

tamis_status tamis__about_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
void tamis__about_clear(tamis_filter *filter);

/* Whether two key types of tamis_about do not contradict each other: one rule then makes the keys of both, *both. */
bool tamis__key_types_join(uint32_t one, uint32_t other, uint32_t *both);

#endif
