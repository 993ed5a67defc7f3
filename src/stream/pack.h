/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_PACK_H
#define TAMIS_STREAM_PACK_H

#include "store/filter_file.h"

/* Writes a filter as one gzip member without time and name. */
tamis__wrap tamis__pack_gzip;

#endif
