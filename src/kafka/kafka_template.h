/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_TEMPLATE_H
#define TAMIS_KAFKA_KAFKA_TEMPLATE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/extract.h>

#include "base/failure.h"

/* A template of names of counters, such as "clicks:{day}:{json:/page}", and what a record adds to its
 * counter. kafka_template.c has its rules. */
typedef struct kafka_template kafka_template;

typedef enum kafka_adds {
    KAFKA_ADDS_ONE,    /* count: 1 */
    KAFKA_ADDS_NUMBER, /* sum: the integer of the part behind the name, "bytes:{day}={json:/bytes}" */
    KAFKA_ADDS_ELEMENT /* distinct: the value of that part, to a HyperLogLog */
} kafka_adds;

enum { TAMIS__KAFKA_COUNTER = 1024 /* longest name of a counter */ };

/* Parses a template. Of *extract all but the parts is used. The caller owns *template until
 * tamis__kafka_template_free, which accepts NULL. The text stays until then. */
tamis_status tamis__kafka_template_create(kafka_template **template, kafka_adds adds, const char *text,
                                          const tamis_extractor_options *extract, tamis_error *err);
void tamis__kafka_template_free(kafka_template *template);
/* Returns the word for what the template adds: "count", "sum" or "distinct"; and its text. */
const char *tamis__kafka_template_word(const kafka_template *template);
const char *tamis__kafka_template_text(const kafka_template *template);
/* True if names of counters have a time. */
bool tamis__kafka_template_has_time(const kafka_template *template);
/* True if the two templates could give equal names. */
bool tamis__kafka_template_conflicts(const kafka_template *a, const kafka_template *b);

/* Reads the values of up to TAMIS__KAFKA_BATCH records that were polled together. They stay valid until
 * the next call, if the records do. */
tamis_status tamis__kafka_template_read(kafka_template *template, rd_kafka_message_t *const *messages,
                                        size_t count, tamis_error *err);

/* The counter of a record and what it gets, or why the record has none. */
typedef struct kafka_counter {
    uint8_t outcome; /* tamis_extracted */
    const char *why; /* for TAMIS_KEY_MALFORMED */
    size_t pos;      /* for TAMIS_KEY_MALFORMED: the byte in the value; SIZE_MAX: none */
    /* The rest is set for TAMIS_KEY_FOUND. */
    int64_t period_end; /* end of the time in the name, in unix ms; 0: the name has no time */
    int64_t count;      /* number to add, unless the counter is a HyperLogLog */
    tamis_key element;  /* value to add to a HyperLogLog, valid as long as the values; else `data` is NULL */
    size_t size;        /* of the name */
    char name[TAMIS__KAFKA_COUNTER];
} kafka_counter;

/* Finds the counter of record i of those that tamis__kafka_template_read has read. */
void tamis__kafka_template_find(const kafka_template *template, const rd_kafka_message_t *message, size_t i,
                                kafka_counter *counter);

#endif
