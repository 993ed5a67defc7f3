/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_CONVERT_H
#define TAMIS_FILTER_FINGERPRINT_CONVERT_H

#include "filter/filter_int.h"

/*
 * Grows a table with a capacity: to at least twice the lines, and to wider slots if its rate needs them. Both
 * tables are in memory meanwhile. No other thread may use the table.
 *
 * TAMIS_E_FULL: the filter is frozen, growth would exceed the memory limit, or no slots keep the rate.
 * TAMIS_E_NOMEM. On failure the table is unchanged.
 */
tamis_status tamis__fingerprint_regrow(tamis_filter *filter, tamis_error *err);

/* tamis_filter_union of two tables with equal hashers. */
tamis_status tamis__fingerprint_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

#endif
