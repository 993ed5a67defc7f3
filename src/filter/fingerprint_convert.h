/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_CONVERT_H
#define TAMIS_FILTER_FINGERPRINT_CONVERT_H

#include "filter/filter_int.h"

/*
 * Grows a table that was made for a known number of keys: at least twice the lines, and wider slots if its rate needs them.
 * No other thread may use the table. Meanwhile both tables are in memory.
 *
 * TAMIS_E_FULL: the filter is frozen, growth would pass the memory limit, or no slots keep the rate; TAMIS_E_NOMEM. The
 * filter is then unchanged.
 */
tamis_status tamis__fingerprint_regrow(tamis_filter *filter, tamis_error *err);

/* tamis_filter_union of two tables, whose hashers are equal. */
tamis_status tamis__fingerprint_unite(tamis_filter *into, const tamis_filter *from, tamis_error *err);

#endif
