/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

/* The core library as a whole. Streams, Redis and compressed files have headers of their own. */

#include <tamis/alloc.h>
#include <tamis/dedup.h>
#include <tamis/file.h>
#include <tamis/filter.h>
#include <tamis/funnel.h>
#include <tamis/guava.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/plan.h>
#include <tamis/state.h>
#include <tamis/status.h>
#include <tamis/version.h>

#endif
