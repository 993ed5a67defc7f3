/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_ABOUT_H
#define TAMIS_FILTER_ABOUT_H

#include "filter/filter_int.h"

tamis_status tamis__about_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
void tamis__about_clear(tamis_filter *filter);

#endif
