/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Names of counters, from a template and a record:
 *
 *     clicks:{day}:{json:/page}        {"page": "/a b", ...}  -->  clicks:2026-11-28:/a%20b
 *
 *     {month} {day} {hour}     2026-11, 2026-11-28, 2026-11-28T13: the time of the record in UTC
 *     {kafka:key}              its key in Kafka
 *     {kafka:header:NAME}      its last header of this name
 *     {json:/page} ...         a part of its value: tamis/experimental/extract.h
 *
 * Different values give different names. Letters, digits, - . _ ~ / and bytes from 0x80 of a value stay; any
 * other byte is written %XX. Call the ASCII bytes that a value never has, apart from %, separators: : | , and
 * so on. A segment is what lies between separators. It has at most one part, so a name has the values as they
 * were: the template is split at the same separators. Values cannot make the hash tag of a cluster either,
 * since braces are written %7B and %7D.
 *
 * Two templates could give equal names if they have the same separators, and if no pair of segments without
 * parts differs. Such templates are refused.
 *
 * A template has an extractor of its own: a record that lacks the page still counts in clicks:{day}.
 *
 * The template of a sum or of a distinct count ends with = and one more part, which is not in the name:
 *
 *     bytes:{day}={json:/bytes}        {"bytes": 512}  -->  512 for bytes:2026-11-28
 *
 * The integers of a sum are from -(2^53 - 1) to 2^53 - 1, which all JSON libraries keep. So a single wrong
 * one cannot fill a counter of 64 bits. Whether a record is malformed depends on the record alone (K2 of
 * docs/KAFKA-COUNT-PROTOCOL.md), hence never on the sum so far.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "kafka/kafka_client.h"
#include "kafka/kafka_template.h"

enum { PARTS_MAX = 32, PART = 1 /* stands for a part in `skeleton` */ };

#define INTEGER_MAX ((INT64_C(1) << 53) - 1)

typedef enum part_kind { LITERAL, VALUE, KEY, HEADER, MONTH, DAY, HOUR } part_kind;

typedef struct part {
    part_kind kind;
    const char *text; /* LITERAL: its bytes; HEADER: the name */
    size_t size;      /* of `text` */
    size_t value;     /* VALUE: its number among the values of the extractor */
} part;

struct kafka_template {
    tamis_allocator allocator;
    kafka_adds adds;
    part added; /* unless adds is KAFKA_ADDS_ONE: the part with what is added */
    const char *text;
    char *bytes; /* copy of the text, with parts as C strings */
    size_t bytes_size;
    part parts[PARTS_MAX];
    size_t part_count;
    const char *values[PARTS_MAX]; /* parts of the extractor */
    size_t value_count;
    bool has_time;              /* a part is a time */
    char *skeleton;             /* the text with a byte for each part */
    tamis_extractor *extractor; /* NULL: no part is in the value */
    tamis_extraction found[TAMIS__KAFKA_BATCH];
    tamis_key *extracted; /* value_count for each of the records that were read */
};

/* ---- bytes ---- */

static bool is_kept(unsigned char byte) {
    return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte != '\0' && strchr("-._~/", byte));
}

static bool is_separator(unsigned char byte) {
    return !is_kept(byte) && byte != '%' && byte > PART;
}

/* Returns the size of the segment at `text`. */
static size_t segment_size(const char *text) {
    size_t size = 0;

    while (text[size] != '\0' && !is_separator((unsigned char)text[size]))
        size++;
    return size;
}

bool tamis__kafka_template_conflicts(const kafka_template *a, const kafka_template *b) {
    const char *first = a->skeleton, *second = b->skeleton;

    for (;; first++, second++) {
        const size_t first_size = segment_size(first), second_size = segment_size(second);
        if (!memchr(first, PART, first_size) && !memchr(second, PART, second_size) &&
            (first_size != second_size || memcmp(first, second, first_size) != 0))
            return false;
        first += first_size;
        second += second_size;
        if (*first != *second)
            return false;
        if (*first == '\0')
            return true;
    }
}

/* ---- parsing ---- */

const char *tamis__kafka_template_word(const kafka_template *template) {
    static const char *const words[] = {
        [KAFKA_ADDS_ONE] = "count", [KAFKA_ADDS_NUMBER] = "sum", [KAFKA_ADDS_ELEMENT] = "distinct"};

    return words[template->adds];
}

const char *tamis__kafka_template_text(const kafka_template *template) {
    return template->text;
}

bool tamis__kafka_template_has_time(const kafka_template *template) {
    return template->has_time;
}

static tamis_status refuse(const kafka_template *template, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s '%.150s': %s", tamis__kafka_template_word(template),
                       template->text, why);
}

/* Returns the end of a part that begins behind a brace: braces in it are in pairs. NULL: there is no end. */
static char *find_part_end(char *text) {
    size_t depth = 1;

    for (; *text != '\0'; text++) {
        depth += *text == '{';
        depth -= *text == '}';
        if (depth == 0)
            return text;
    }
    return NULL;
}

static part parse_part(kafka_template *template, const char *text) {
    static const char header[] = "kafka:header:";
    static const struct {
        const char *name;
        part_kind kind;
    } known[] = {{"kafka:key", KEY}, {"month", MONTH}, {"day", DAY}, {"hour", HOUR}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            template->has_time = template->has_time || known[i].kind != KEY;
            return (part){.kind = known[i].kind};
        }
    if (strncmp(text, header, strlen(header)) == 0)
        return (part){.kind = HEADER, .text = text + strlen(header), .size = strlen(text) - strlen(header)};
    template->values[template->value_count] = text;
    return (part){.kind = VALUE, .value = template->value_count++};
}

static tamis_status add_part(kafka_template *template, part added, tamis_error *err) {
    const size_t used = strlen(template->skeleton);

    if (template->part_count == PARTS_MAX)
        return refuse(template, "has too many parts; give fewer", err);
    if (added.kind == HEADER && added.size == 0)
        return refuse(template, "a header has no name; give {kafka:header:NAME}", err);
    if (added.kind == LITERAL)
        memcpy(template->skeleton + used, added.text, added.size);
    else
        template->skeleton[used] = PART;
    template->parts[template->part_count++] = added;
    return TAMIS_OK;
}

static tamis_status parse(kafka_template *template, tamis_error *err) {
    for (const char *pos = template->bytes; *pos != '\0'; pos++)
        if ((unsigned char)*pos < ' ' || *pos == 0x7f)
            return refuse(template, "has a control byte; leave it out", err);
    for (char *pos = template->bytes; *pos != '\0';) {
        const size_t size = strcspn(pos, "{}");
        if (size > 0 &&
            add_part(template, (part){.kind = LITERAL, .text = pos, .size = size}, err) != TAMIS_OK)
            return err->status;
        pos += size;
        if (*pos == '\0')
            break;
        char *end = *pos == '{' ? find_part_end(pos + 1) : NULL;
        if (!end)
            return refuse(template, "a brace has no partner; write parts as {day} or {json:/page}", err);
        *end = '\0';
        if (template->value_count == PARTS_MAX || end == pos + 1)
            return refuse(template, "has an empty part, or too many; write parts as {day} or {json:/page}",
                          err);
        const part added = parse_part(template, pos + 1);
        if (added.kind == VALUE && !strchr(pos + 1, ':') && strcmp(pos + 1, "line") != 0)
            return refuse(template,
                          "a part is not known; give {month}, {day}, {hour}, {kafka:key}, "
                          "{kafka:header:NAME}, {line} or a part of the value as {json:/page}",
                          err);
        if (add_part(template, added, err) != TAMIS_OK)
            return err->status;
        pos = end + 1;
    }
    return TAMIS_OK;
}

/* Removes "={json:/amount}" from the end, the part with what is added. */
static tamis_status split_added(kafka_template *template, tamis_error *err) {
    if (template->adds == KAFKA_ADDS_ONE)
        return TAMIS_OK;
    part *last = template->part_count >= 2 ? &template->parts[template->part_count - 1] : NULL;
    if (!last || last->kind < VALUE || last->kind >= MONTH || last[-1].kind != LITERAL ||
        last[-1].text[last[-1].size - 1] != '=')
        return refuse(
            template,
            template->adds == KAFKA_ADDS_NUMBER
                ? "does not end with a part to add up; give NAME={PART} as bytes:{day}={json:/bytes}"
                : "does not end with a part whose values count; give NAME={PART} as "
                  "users:{day}={json:/user}",
            err);
    template->added = *last;
    template->part_count -= last[-1].size > 1 ? 1 : 2;
    last[-1].size--;
    template->skeleton[strlen(template->skeleton) - 2] = '\0';
    return TAMIS_OK;
}

static tamis_status check_segments(const kafka_template *template, tamis_error *err) {
    const char *pos = template->skeleton;

    if (*pos == '\0')
        return refuse(template, "has no name; give one as clicks:{day}", err);
    for (;; pos++) {
        const size_t size = segment_size(pos);
        const char *first = memchr(pos, PART, size);
        if (first && memchr(first + 1, PART, size - (size_t)(first + 1 - pos)))
            return refuse(template, "nothing separates two of its parts; put a colon between them", err);
        pos += size;
        if (*pos == '\0')
            return TAMIS_OK;
    }
}

/* ---- the extractor ---- */

static tamis_status create_extractor(kafka_template *template, const tamis_extractor_options *extract,
                                     tamis_error *err) {
    tamis_extractor_options options =
        extract ? *extract : (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_error why = TAMIS_ERROR_INIT;
    const size_t size = TAMIS__KAFKA_BATCH * (template->value_count + 1) * sizeof *template->extracted;

    if (!template->has_time)
        options.time = NULL;
    options.parts = template->values;
    options.part_count = template->value_count;
    options.allocator = &template->allocator;
    if (template->value_count == 0 && !options.time)
        return TAMIS_OK;
    const tamis_status status = tamis_extractor_create(&template->extractor, &options, &why);
    if (status != TAMIS_OK)
        return tamis__fail(err, status, why.sys_errno, "%s '%.100s': %s",
                           tamis__kafka_template_word(template), template->text,
                           why.text + (strncmp(why.text, "key '", 5) == 0 ? strlen("key ") : 0));
    if (tamis_extractor_wants_header(template->extractor))
        return refuse(template, "a column has a name, but records of Kafka have no header; give csv:N", err);
    if (template->value_count > 0 &&
        tamis_extractor_value_count(template->extractor) != template->value_count)
        return refuse(template, "an expression has several groups; give each a part of its own", err);
    template->extracted = tamis__alloc(&template->allocator, size, _Alignof(tamis_key));
    return template->extracted ? TAMIS_OK : tamis__fail_nomem(err, "values", size);
}

tamis_status tamis__kafka_template_create(kafka_template **template, kafka_adds adds, const char *text,
                                          const tamis_extractor_options *extract, tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(extract ? extract->allocator : NULL);
    kafka_template *created = tamis__alloc(&allocator, sizeof *created, _Alignof(kafka_template));
    tamis_status status = TAMIS_OK;

    if (!created)
        return tamis__fail_nomem(err, "template", sizeof *created);
    created->allocator = allocator;
    created->adds = adds;
    created->text = text;
    created->bytes_size = strlen(text) + 1;
    created->bytes = tamis__alloc(&allocator, created->bytes_size, 1);
    created->skeleton = tamis__alloc(&allocator, created->bytes_size, 1);
    if (!created->bytes || !created->skeleton)
        status = tamis__fail_nomem(err, "template", created->bytes_size);
    if (status == TAMIS_OK) {
        memcpy(created->bytes, text, created->bytes_size);
        status = parse(created, err);
    }
    if (status == TAMIS_OK)
        status = split_added(created, err);
    if (status == TAMIS_OK)
        status = check_segments(created, err);
    if (status == TAMIS_OK)
        status = create_extractor(created, extract, err);
    if (status != TAMIS_OK) {
        tamis__kafka_template_free(created);
        return status;
    }
    *template = created;
    return TAMIS_OK;
}

void tamis__kafka_template_free(kafka_template *template) {
    if (!template)
        return;
    const tamis_allocator allocator = template->allocator;
    tamis_extractor_free(template->extractor);
    tamis__free(&allocator, template->extracted,
                TAMIS__KAFKA_BATCH * (template->value_count + 1) * sizeof *template->extracted);
    tamis__free(&allocator, template->bytes, template->bytes_size);
    tamis__free(&allocator, template->skeleton, template->bytes_size);
    tamis__free(&allocator, template, sizeof *template);
}

/* ---- records ---- */

tamis_status tamis__kafka_template_read(kafka_template *template, rd_kafka_message_t *const *messages,
                                        size_t count, tamis_error *err) {
    tamis_key records[TAMIS__KAFKA_BATCH];

    if (!template->extractor)
        return TAMIS_OK;
    for (size_t i = 0; i < count; i++)
        records[i] = (tamis_key){messages[i]->payload ? messages[i]->payload : "", messages[i]->len};
    return tamis_extractor_values(template->extractor, records, count, template->found, template->extracted,
                                  err);
}

/* Appends bytes of a value, or of the template, to the name. False: the name is too long. */
static bool append_bytes(kafka_counter *counter, const void *bytes, size_t size, bool is_value) {
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < size; i++) {
        if (counter->size + 3 > sizeof counter->name)
            return false;
        if (!is_value || is_kept(byte[i])) {
            counter->name[counter->size++] = (char)byte[i];
            continue;
        }
        counter->name[counter->size++] = '%';
        counter->name[counter->size++] = digits[byte[i] >> 4];
        counter->name[counter->size++] = digits[byte[i] & 15];
    }
    return true;
}

/* Sets the end of the shortest time in the name. */
static void end_period(kafka_counter *counter, part_kind kind, struct tm begin) {
    struct tm end = {.tm_year = begin.tm_year, .tm_mon = begin.tm_mon, .tm_mday = begin.tm_mday};

    if (kind == MONTH) {
        end.tm_mon++;
        end.tm_mday = 1;
    } else if (kind == DAY) {
        end.tm_mday++;
    } else {
        end.tm_hour = begin.tm_hour + 1;
    }
    const int64_t milliseconds = (int64_t)timegm(&end) * 1000;
    if (counter->period_end == 0 || milliseconds < counter->period_end)
        counter->period_end = milliseconds;
}

static bool append_time(kafka_counter *counter, part_kind kind, int64_t milliseconds) {
    const time_t seconds = (time_t)(milliseconds / 1000 - (milliseconds % 1000 < 0));
    struct tm time;
    char text[40];

    if (!gmtime_r(&seconds, &time))
        return false;
    end_period(counter, kind, time);
    const size_t size = strftime(text, sizeof text,
                                 kind == MONTH ? "%Y-%m"
                                 : kind == DAY ? "%Y-%m-%d"
                                               : "%Y-%m-%dT%H",
                                 &time);
    return size > 0 && append_bytes(counter, text, size, false);
}

/* Finds the time of a record. False: it has none. */
static bool find_time(const kafka_template *template, const rd_kafka_message_t *message, size_t i,
                      int64_t *milliseconds) {
    rd_kafka_timestamp_type_t type;

    if (template->extractor && tamis_extractor_has_time(template->extractor)) {
        *milliseconds = template->found[i].time;
        return true;
    }
    *milliseconds = rd_kafka_message_timestamp(message, &type);
    return type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && *milliseconds >= 0;
}

/* Finds the value of a part other than a time. `data` is NULL if the record has none. */
static tamis_key find_value(const kafka_template *template, const part *wanted,
                            const rd_kafka_message_t *message, size_t i) {
    switch (wanted->kind) {
    case LITERAL:
        return (tamis_key){wanted->text, wanted->size};
    case VALUE:
        return template->extracted[i * tamis_extractor_value_count(template->extractor) + wanted->value];
    case KEY:
        return (tamis_key){message->key, message->key_len};
    case HEADER:
        return tamis__kafka_last_header(message, wanted->text);
    case MONTH:
    case DAY:
    case HOUR:
        break;
    }
    return (tamis_key){NULL, 0};
}

/* Reads an integer: digits, maybe with a minus sign. */
static bool parse_integer(tamis_key text, int64_t *integer) {
    const char *digits = text.data;
    const bool is_negative = text.size > 0 && digits[0] == '-';
    int64_t value = 0;

    if (text.size == is_negative)
        return false;
    for (size_t i = is_negative; i < text.size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = 10 * value + (digits[i] - '0');
        if (value > INTEGER_MAX)
            return false;
    }
    *integer = is_negative ? -value : value;
    return true;
}

/* Finds what the record adds. */
static void find_added(const kafka_template *template, const rd_kafka_message_t *message, size_t i,
                       kafka_counter *counter) {
    const tamis_key value = find_value(template, &template->added, message, i);

    if (!value.data) {
        counter->outcome = TAMIS_KEY_MISSING;
    } else if (template->adds == KAFKA_ADDS_ELEMENT) {
        counter->element = value;
    } else if (!parse_integer(value, &counter->count)) {
        counter->outcome = TAMIS_KEY_MALFORMED;
        counter->why = "adds no integer from -(2^53 - 1) to 2^53 - 1";
        counter->pos = SIZE_MAX;
    }
}

void tamis__kafka_template_find(const kafka_template *template, const rd_kafka_message_t *message, size_t i,
                                kafka_counter *counter) {
    int64_t milliseconds = 0;
    bool fits = true;

    counter->size = 0;
    counter->count = 1;
    counter->element = (tamis_key){0};
    counter->period_end = 0;
    counter->outcome = template->extractor ? template->found[i].outcome : TAMIS_KEY_FOUND;
    counter->why = template->extractor ? template->found[i].why : NULL;
    counter->pos = template->extractor ? template->found[i].pos : 0;
    if (template->extractor && !message->payload)
        counter->outcome = TAMIS_KEY_MISSING; /* a tombstone */
    if (template->has_time && counter->outcome == TAMIS_KEY_FOUND &&
        !find_time(template, message, i, &milliseconds))
        counter->outcome = TAMIS_KEY_MISSING;
    for (size_t k = 0; k < template->part_count && fits && counter->outcome == TAMIS_KEY_FOUND; k++) {
        const part *own = &template->parts[k];
        if (own->kind >= MONTH) {
            fits = append_time(counter, own->kind, milliseconds);
            continue;
        }
        const tamis_key value = find_value(template, own, message, i);
        if (value.data)
            fits = append_bytes(counter, value.data, value.size, own->kind != LITERAL);
        else
            counter->outcome = TAMIS_KEY_MISSING;
    }
    if (!fits) {
        counter->outcome = TAMIS_KEY_MALFORMED;
        counter->why = "gives a name of a counter that is too long";
        counter->pos = SIZE_MAX;
    }
    if (template->adds != KAFKA_ADDS_ONE && counter->outcome == TAMIS_KEY_FOUND)
        find_added(template, message, i, counter);
}
