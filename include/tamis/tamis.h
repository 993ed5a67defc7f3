/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

/*
 * The stable part of the API: filters in memory and in files, and dedup. A program includes what else it
 * needs:
 *
 *     tamis/compat/        filters as other libraries have them: Guava, RedisBloom
 *     tamis/experimental/  may change before 0.2: states, windows, streams, filters in a Redis, Kafka, ...
 */

#include <tamis/alloc.h>
#include <tamis/dedup.h>
#include <tamis/file.h>
#include <tamis/filter.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/plan.h>
#include <tamis/status.h>
#include <tamis/version.h>

#endif
