/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis info: what a filter is, was made for, and has in it.
 *
 *     header, metadata, plan --> print_maker, print_promise     what its maker chose
 *     info of the body --------> print_body, print_content      what is in it, and its rate now
 *
 * If a block of the body is damaged, only the first part is shown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <tamis/compat/redisbloom_cuckoo.h>
#include <tamis/experimental/compressed.h>
#include <tamis/experimental/window.h>
#include <tamis/file.h>

#include "cli/cli.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_window.h"
#include "cli/input/cli_key.h"
#include "cli/server/cli_server.h"

static const cli_option options[] = {
    {.id = CLI_OPT_JSON,
     .name = "json",
     .type = CLI_FLAG,
     .help = "Print each filter as a JSON object on a line."},
    {.name = NULL},
};

static const struct {
    cli_field file, format, compression, kind, scheme, seed, version, created, labels, user_data, key_type,
        ignore_case, trim, capacity, fpr, estimated, bits, probes, slot_bits, memory, memory_limit;
    cli_window_fields times;
    cli_field subfilters, expansion;
    cli_field whole, added, fill, counters_saturated, keys, load, fpr_live, false_present, saturated;
} fields = {
    .file = {"file", NULL, CLI_STRING, "The name, as given; bytes that are not UTF-8 are shown as ?."},
    .format = {"format", "format", CLI_STRING,
               "tamis, guava, dcso or redisbloom; on a server redis- and the layout. A key of RedisBloom is "
               "redisbloom, one of the Redis module's own types tamis."},
    .compression = {"compression", NULL, CLI_STRING | CLI_NULL, "gzip, zstd, lz4, xz or bzip2; null = none."},
    .kind = {"kind", NULL, CLI_STRING, "classic, blocked, fingerprint, exact, window, counting or cuckoo."},
    .scheme = {"scheme", "scheme", CLI_STRING, "The hash, see tamis-hash(1); sip = keyed by a secret."},
    .seed = {"seed", NULL, CLI_STRING, "Seed of xxh3, in decimal, as text because it has 64 bits; else 0."},
    .version = {"version", "version", CLI_STRING,
                "The filter's own version, given by --data-version, in decimal, as text; 0 = none."},
    .created = {"created", "created", CLI_INTEGER | CLI_NULL,
                "Seconds since 1970-01-01 UTC; null = not known."},
    .labels = {"labels", "labels", CLI_OBJECT_OF_STRINGS, "An object with its labels and their values."},
    .user_data = {"user_data", "user data", CLI_INTEGER, "Bytes of user data, which DCSO files may have."},
    .key_type = {"key_type", "key type", CLI_STRING | CLI_NULL,
                 "The --type that it was built with; null = not stored."},
    .ignore_case = {"ignore_case", "key text", CLI_BOOLEAN | CLI_NULL,
                    "true: it was built with --ignore-case and lookups use it; null = not stored."},
    .trim = {"trim", NULL, CLI_BOOLEAN | CLI_NULL,
             "true: it was built with --trim and lookups use it; null = not stored."},
    .capacity = {"capacity", "capacity", CLI_INTEGER | CLI_NULL,
                 "Keys that it was made for; 0 = it grows, null = not known."},
    .fpr = {"fpr", "promised rate", CLI_NUMBER | CLI_NULL,
            "Promised rate of wrong answers, 0 to 1; null = none is recorded."},
    .estimated =
        {"estimated", NULL, CLI_BOOLEAN,
         "true: capacity and fpr were computed from bits and probes, because the file stores neither."},
    .bits = {"bits", "bits", CLI_INTEGER,
             "Bits of a classic, blocked, counting (4 for a counter) or cuckoo filter; else 0."},
    .probes = {"probes", NULL, CLI_INTEGER, "Bits or counters of a key in such a filter."},
    .slot_bits = {"slot_bits", "slots", CLI_INTEGER,
                  "Bits of a slot of fingerprint, exact, cuckoo or window; else 0."},
    .memory = {"memory", "filter memory", CLI_INTEGER,
               "Bytes of memory that the filter takes, in this process or on its server."},
    .memory_limit = {"memory_limit", NULL, CLI_INTEGER, "Bytes that it may grow to; 0 = no limit."},
    .times.window = {"window", "window", CLI_INTEGER | CLI_NULL,
                     "Milliseconds for which a key counts; null = not a window, as in the next four."},
    .times.step = {"step", NULL, CLI_INTEGER | CLI_NULL, "Milliseconds of a step."},
    .times.lateness = {"lateness", NULL, CLI_INTEGER | CLI_NULL,
                       "Milliseconds by which a key may be older than the newest."},
    .times.newest = {"newest", "newest key", CLI_INTEGER | CLI_NULL,
                     "Largest time of all keys, in milliseconds since 1970-01-01 UTC; null = no key yet."},
    .times.refresh = {"refresh", NULL, CLI_BOOLEAN | CLI_NULL,
                      "true: the window of a key begins again each time it comes."},
    .subfilters = {"subfilters", "sub-filters", CLI_INTEGER | CLI_NULL,
                   "Sub-filters of a filter of RedisBloom, or of kind cuckoo if it grows; null = another "
                   "filter, as in the next one."},
    .expansion = {"expansion", NULL, CLI_INTEGER | CLI_NULL,
                  "Size of its next sub-filter over that of the newest; 0 = there will be none."},
    .whole = {"whole", NULL, CLI_BOOLEAN,
              "false: a block is damaged, and the values that are computed from bits are null."},
    .added = {"added", NULL, CLI_INTEGER | CLI_NULL,
              "Adds that were answered \"new\"; null = on a server, which does not count them."},
    .fill = {"fill", "fill", CLI_NUMBER | CLI_NULL,
             "Share of the bits that are set, or of the counters above 0, 0 to 1; null = kinds without such "
             "bits."},
    .counters_saturated = {"counters_saturated", NULL, CLI_INTEGER | CLI_NULL,
                           "Counters at 15, which stay there, so that the keys that have them cannot be "
                           "removed; null = not of kind counting."},
    .keys = {"keys", "keys", CLI_NUMBER | CLI_NULL,
             "Estimated number of distinct keys, in a window those of its steps; null = all bits are set, so "
             "no estimate is possible."},
    .load = {"load", NULL, CLI_NUMBER | CLI_NULL,
             "keys divided by capacity; null = it grows, or capacity is not known."},
    .fpr_live = {"fpr_live", "rate now", CLI_NUMBER | CLI_NULL,
                 "Current rate of wrong answers, computed from the content."},
    .false_present = {"false_present", NULL, CLI_NUMBER | CLI_NULL,
                      "Expected number of adds that were answered \"present\" though new."},
    .saturated = {"saturated", "saturated", CLI_BOOLEAN, "true: it holds more keys than it was made for."},
};

/* Everything that `tamis info` prints about a filter. */
typedef struct info_report {
    const char *path;
    const tamis_filter *filter;
    tamis_compression compression; /* compression of the file */
    tamis_metadata metadata;
    tamis_filter_info info;
    bool whole; /* the file passed verification; otherwise statistics from the bits are left out */
} info_report;

enum { LABEL_COLUMN = 14 };

static bool is_bloom(const info_report *report) {
    return tamis_kind_is_bloom(tamis_filter_plan(report->filter)->kind);
}

/* True if the number of keys that the filter was made for is known. A growing filter has none. */
static bool has_capacity(const info_report *report) {
    return report->info.capacity > 0 && cli_filter_promises(tamis_filter_plan(report->filter));
}

/* Number of keys divided by the capacity; 0 without a capacity. */
static double load_factor(const info_report *report) {
    return has_capacity(report) ? report->info.cardinality / (double)report->info.capacity : 0;
}

static bool is_counting(const info_report *report) {
    return report->info.kind == TAMIS_KIND_COUNTING;
}

/* Number of counters: 4 bits each. */
static uint64_t counters(const info_report *report) {
    return tamis_filter_plan(report->filter)->bits / 4;
}

/* Share of the bits that are set, or of the counters above 0. */
static double fill_ratio(const info_report *report) {
    const uint64_t bits = tamis_filter_plan(report->filter)->bits;
    return (double)report->info.ones / (double)(is_counting(report) ? counters(report) : bits);
}

__attribute__((format(printf, 3, 4))) static void row(FILE *out, const char *label, const char *format, ...) {
    va_list arguments;

    fprintf(out, "  %-*s", LABEL_COLUMN, label);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fputc('\n', out);
}

/* Name of the key type; NULL if none is stored. */
static const char *key_type(const tamis_metadata *metadata) {
    const uint32_t type = metadata->key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED;

    if (type > TAMIS_KEYS_INT64)
        return "unknown";
    return type == TAMIS_KEYS_UNSPECIFIED ? NULL : cli_key_types[type - 1];
}

static void print_maker(FILE *out, const info_report *report) {
    const tamis_metadata *metadata = &report->metadata;
    const bool compressed = report->compression != TAMIS_COMPRESSION_NONE;
    const bool has_checksums =
        metadata->format == TAMIS_FORMAT_TAMIS || metadata->format == TAMIS_FORMAT_REDISBLOOM;
    const char *checksums = has_checksums ? "" : ", which has no checksums";
    const tamis_hasher *hasher = tamis_filter_hasher(report->filter);
    const tamis_scheme scheme = tamis_hasher_scheme(hasher);
    time_t created = (time_t)metadata->created;
    struct tm parts;
    char text[64];

    if (cli_server_format(report->filter))
        row(out, fields.format.label, "%s", cli_server_format(report->filter));
    else
        row(out, fields.format.label, "%s%s%s", tamis_format_name(metadata->format),
            compressed ? ", compressed with " : checksums,
            compressed ? tamis_compression_name(report->compression) : "");
    if (scheme == TAMIS_SCHEME_XXH3)
        row(out, fields.scheme.label, "xxh3, seed %" PRIu64, tamis_hasher_seed(hasher));
    else
        row(out, fields.scheme.label, "%s%s", tamis_scheme_name(scheme),
            scheme == TAMIS_SCHEME_SIP ? ", keyed: lookups need its secret" : "");
    if (metadata->version != 0)
        row(out, fields.version.label, "%" PRIu64, metadata->version);
    if (metadata->created != 0 && gmtime_r(&created, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) > 0)
        row(out, fields.created.label, "%s", text);
    for (size_t i = 0; i < metadata->label_count; i++)
        row(out, i == 0 ? fields.labels.label : "", "%s=%s", metadata->labels[i].name,
            metadata->labels[i].value);
    if ((metadata->key_type & ~(uint32_t)TAMIS_KEYS_NORMALIZED) > TAMIS_KEYS_BYTES)
        row(out, fields.key_type.label, "%s", key_type(metadata));
    if ((metadata->key_type & TAMIS_KEYS_NORMALIZED) != 0)
        row(out, fields.ignore_case.label, "%s",
            (metadata->key_type & TAMIS_KEYS_NORMALIZED) == TAMIS_KEYS_NORMALIZED ? "without case, trimmed"
            : metadata->key_type & TAMIS_KEYS_FOLDED                              ? "without case"
                                                                                  : "trimmed");
    if (metadata->data_size > 0)
        row(out, fields.user_data.label, "%zu bytes", metadata->data_size);
}

/* The sub-filters of a filter of RedisBloom, or of a cuckoo filter of ours that grows. */
typedef struct chain {
    uint64_t count;
    uint32_t expansion;   /* 0: there will be no further one */
    uint32_t bucket_size; /* of a cuckoo filter of RedisBloom; 0: not one */
} chain;

/* Finds the sub-filters. False: the filter has none. */
static bool find_chain(const info_report *report, chain *found) {
    tamis_redisbloom_info bloom = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_redisbloom_cuckoo_info cuckoo = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;

    *found = (chain){0};
    if (tamis_redisbloom_of(report->filter)) {
        tamis_redisbloom_info_get(tamis_redisbloom_of(report->filter), &bloom, NULL);
        *found = (chain){.count = bloom.subfilters, .expansion = bloom.expansion};
    } else if (tamis_redisbloom_cuckoo_of(report->filter)) {
        tamis_redisbloom_cuckoo_info_get(tamis_redisbloom_cuckoo_of(report->filter), &cuckoo, NULL);
        *found = (chain){cuckoo.tables, cuckoo.expansion, cuckoo.bucket_size};
    } else if (report->info.subfilters > 0) {
        *found = (chain){.count = report->info.subfilters, .expansion = 2};
    }
    return found->count > 0;
}

static void print_chain(FILE *out, const info_report *report) {
    char count[CLI_TEXT_NUMBER];
    chain found;

    if (!find_chain(report, &found))
        return;
    cli_text_count(count, sizeof count, found.count);
    if (found.expansion == 0)
        row(out, fields.subfilters.label, "%s, and no further one", count);
    else if (found.expansion == 1)
        row(out, fields.subfilters.label, "%s, a further one is as large", count);
    else
        row(out, fields.subfilters.label, "%s, a further one is %" PRIu32 " times as large", count,
            found.expansion);
}

/* Prints capacity and promised rate. For a file that stores neither, says what they are derived from. */
static void print_promise(FILE *out, const info_report *report) {
    const tamis_plan *plan = tamis_filter_plan(report->filter);
    const bool guava = report->metadata.format == TAMIS_FORMAT_GUAVA;
    char count[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];

    cli_text_real(rate, sizeof rate, plan->fpr);
    if (!cli_filter_promises(plan) && cli_filter_is_redisbloom(report->filter)) {
        row(out, fields.capacity.label, "%s keys, if no slot stays free",
            cli_text_count(count, sizeof count, plan->capacity));
        row(out, fields.fpr.label, "none: RedisBloom promises none for a cuckoo filter");
        return;
    }
    if (!cli_filter_promises(plan)) {
        const double min_keys = floor(tamis_bloom_half_full_keys((double)plan->bits, plan->probes + 0.5));
        row(out, fields.capacity.label,
            "not known: so many bits with one probe a key may be meant for %s keys or any more",
            cli_text_count(count, sizeof count, (uint64_t)fmax(1, min_keys)));
        row(out, fields.fpr.label, "none: the file has none, and none follows from one probe a key");
        return;
    }
    if (plan->capacity == 0)
        row(out, fields.capacity.label, "grows with its keys");
    else
        row(out, fields.capacity.label, "%s%s key%s", guava ? "at most " : "",
            cli_text_count(count, sizeof count, plan->capacity), plan->capacity == 1 ? "" : "s");
    if (plan->kind == TAMIS_KIND_EXACT)
        row(out, fields.fpr.label, "n/2^128 with n keys");
    else
        row(out, fields.fpr.label, "%s%s%s", rate,
            guava ? " (the file has neither: both follow from bits and probes)" : "",
            tamis_scheme_is_uniform(plan->scheme)
                ? ""
                : " (claimed: the hashes are poor, and the real rate is higher)");
}

static void print_window(FILE *out, const info_report *report, const tamis_plan *plan) {
    char text[CLI_WINDOW_TEXT];
    const int64_t newest = tamis_window_newest(report->filter);

    row(out, fields.times.window.label, "%s", cli_window_text(text, plan));
    if (newest >= 0)
        row(out, fields.times.newest.label, "at %" PRId64 " ms since 1970", newest);
    row(out, fields.slot_bits.label, "of %" PRIu32 " bits", plan->slot_bits);
}

static void print_body(FILE *out, const info_report *report) {
    const tamis_plan *plan = tamis_filter_plan(report->filter);
    char text[CLI_TEXT_NUMBER], limit[CLI_TEXT_NUMBER];
    chain found;

    print_chain(out, report);
    if (find_chain(report, &found) && found.bucket_size > 0)
        row(out, fields.slot_bits.label, "of 8 bits, %" PRIu32 " a bucket", found.bucket_size);
    else if (is_counting(report))
        row(out, "counters", "%s of 4 bits, %" PRIu32 " probe%s a key",
            cli_text_count(text, sizeof text, counters(report)), plan->probes, plan->probes == 1 ? "" : "s");
    else if (is_bloom(report))
        row(out, fields.bits.label, "%s, %" PRIu32 " probe%s a key",
            cli_text_count(text, sizeof text, plan->bits), plan->probes, plan->probes == 1 ? "" : "s");
    else if (plan->kind == TAMIS_KIND_WINDOW)
        print_window(out, report, plan);
    else if (plan->kind == TAMIS_KIND_CUCKOO)
        row(out, fields.slot_bits.label, "of %" PRIu32 " bits, 4 a bucket", plan->slot_bits);
    else
        row(out, fields.slot_bits.label, "of %" PRIu32 " bits, %u buckets a line", plan->slot_bits,
            1u << plan->home_bits);
    cli_text_bytes(text, sizeof text, report->info.memory);
    if (plan->memory_limit != 0)
        row(out, fields.memory.label, "%s, may grow to %s", text,
            cli_text_bytes(limit, sizeof limit, plan->memory_limit));
    else
        row(out, cli_server_format(report->filter) ? "server memory" : fields.memory.label, "%s", text);
}

static void print_content(FILE *out, const info_report *report) {
    const tamis_filter_info *info = &report->info;
    char text[CLI_TEXT_NUMBER], count[CLI_TEXT_NUMBER], added[80] = "";

    if (is_counting(report))
        row(out, fields.fill.label, "%.1f %% of its counters are above 0, %s %s saturated",
            100 * fill_ratio(report), cli_text_count(count, sizeof count, info->counters_saturated),
            info->counters_saturated == 1 ? "is" : "are");
    else if (is_bloom(report))
        row(out, fields.fill.label, "%.1f %% of its bits are set", 100 * fill_ratio(report));
    if (info->added > 0 && info->kind != TAMIS_KIND_CUCKOO) /* its copies are the keys */
        snprintf(added, sizeof added, "; %s %s new when added",
                 cli_text_count(count, sizeof count, info->added), info->added == 1 ? "was" : "were");
    if (!isfinite(info->cardinality))
        row(out, fields.keys.label, "unknown, all bits are set%s", added);
    else if (has_capacity(report))
        row(out, fields.keys.label, "about %s, %.1f %% of its capacity%s",
            cli_text_expected(text, sizeof text, info->cardinality), 100 * load_factor(report), added);
    else
        row(out, fields.keys.label, "about %s%s", cli_text_expected(text, sizeof text, info->cardinality),
            added);
    row(out, fields.fpr_live.label, "%s", cli_text_real(text, sizeof text, info->fpr_live));
    row(out, fields.saturated.label, "%s",
        info->saturated ? "yes: more keys came than it was made for" : "no");
}

static void print_text(FILE *out, const info_report *report) {
    cli_text_print(out, report->path);
    fprintf(out, ": filter of kind %s\n", tamis_kind_name(report->info.kind));
    print_maker(out, report);
    print_promise(out, report);
    print_body(out, report);
    if (report->whole)
        print_content(out, report);
}

static json_t *labels_object(const tamis_metadata *metadata) {
    json_t *labels = json_object();

    for (size_t i = 0; i < metadata->label_count; i++)
        cli_json_label(labels, metadata->labels[i].name, metadata->labels[i].value);
    return labels;
}

static void put_plan(json_t *object, const info_report *report) {
    const tamis_plan *plan = tamis_filter_plan(report->filter);
    chain found;

    cli_json_integer_or_null(object, &fields.capacity,
                             cli_filter_promises(plan) || cli_filter_is_redisbloom(report->filter),
                             plan->capacity);
    cli_json_number(object, &fields.fpr, cli_filter_promises(plan) ? plan->fpr : NAN);
    cli_json_boolean(object, &fields.estimated, report->metadata.format == TAMIS_FORMAT_GUAVA);
    cli_json_integer(object, &fields.bits, plan->bits);
    cli_json_integer(object, &fields.probes, plan->probes);
    cli_json_integer(object, &fields.slot_bits, plan->slot_bits);
    cli_json_integer(object, &fields.memory, report->info.memory);
    cli_json_integer(object, &fields.memory_limit, plan->memory_limit);
    cli_window_json(object, &fields.times, report->filter);
    const bool has_chain = find_chain(report, &found);
    cli_json_integer_or_null(object, &fields.subfilters, has_chain, found.count);
    cli_json_integer_or_null(object, &fields.expansion, has_chain, found.expansion);
}

static void put_content(json_t *object, const info_report *report) {
    const tamis_filter_info *info = &report->info;

    cli_json_boolean(object, &fields.whole, report->whole);
    cli_json_integer_or_null(object, &fields.added, !cli_server_format(report->filter), info->added);
    cli_json_number(object, &fields.fill, report->whole && is_bloom(report) ? fill_ratio(report) : NAN);
    cli_json_integer_or_null(object, &fields.counters_saturated, report->whole && is_counting(report),
                             info->counters_saturated);
    cli_json_number(object, &fields.keys, report->whole ? info->cardinality : NAN);
    cli_json_number(object, &fields.load, report->whole && has_capacity(report) ? load_factor(report) : NAN);
    cli_json_number(object, &fields.fpr_live, report->whole ? info->fpr_live : NAN);
    cli_json_number(object, &fields.false_present, report->whole ? info->false_present : NAN);
    cli_json_boolean(object, &fields.saturated, info->saturated);
}

static tamis_status print_json(FILE *out, const info_report *report, tamis_error *err) {
    const tamis_metadata *metadata = &report->metadata;
    const tamis_hasher *hasher = tamis_filter_hasher(report->filter);
    const bool is_compressed = report->compression != TAMIS_COMPRESSION_NONE;
    const bool is_stored = metadata->key_type != TAMIS_KEYS_UNSPECIFIED;
    json_t *object = json_object();
    char seed[32], version[32]; /* texts: most JSON readers cannot hold 64 bits in a number */

    snprintf(seed, sizeof seed, "%" PRIu64, tamis_hasher_seed(hasher));
    snprintf(version, sizeof version, "%" PRIu64, metadata->version);
    cli_json_string(object, &fields.file, report->path);
    cli_json_string(object, &fields.format,
                    cli_server_format(report->filter) ? cli_server_format(report->filter)
                                                      : tamis_format_name(metadata->format));
    cli_json_string(object, &fields.compression,
                    is_compressed ? tamis_compression_name(report->compression) : NULL);
    cli_json_string(object, &fields.kind, tamis_kind_name(report->info.kind));
    cli_json_string(object, &fields.scheme, tamis_scheme_name(tamis_hasher_scheme(hasher)));
    cli_json_string(object, &fields.seed, seed);
    cli_json_string(object, &fields.version, version);
    cli_json_set(object, &fields.created,
                 metadata->created != 0 ? json_integer(metadata->created) : json_null());
    cli_json_set(object, &fields.labels, labels_object(metadata));
    cli_json_integer(object, &fields.user_data, metadata->data_size);
    cli_json_string(object, &fields.key_type, key_type(metadata));
    cli_json_boolean_or_null(object, &fields.ignore_case, is_stored, metadata->key_type & TAMIS_KEYS_FOLDED);
    cli_json_boolean_or_null(object, &fields.trim, is_stored, metadata->key_type & TAMIS_KEYS_TRIMMED);
    put_plan(object, report);
    put_content(object, report);
    return cli_json_write(object, out, 0, "info", err);
}

/* Verifies a filter of bits first, because its statistics are computed from them. The statistics of a table
 * are in its header, which is verified when the file is opened. */
static tamis_status describe(const cli_args *args, info_report *report, tamis_error *err) {
    const bool reads = tamis_filter_can(report->filter, TAMIS_CAN_UNION) &&
                       tamis_kind_is_bloom(tamis_filter_plan(report->filter)->kind);
    tamis_status status = TAMIS_OK;

    if (reads)
        status = tamis_filter_verify(report->filter, err);
    report->whole = status == TAMIS_OK;
    if (tamis_filter_metadata_get(report->filter, &report->metadata, err) != TAMIS_OK ||
        tamis_filter_info_get(report->filter, &report->info, err) != TAMIS_OK)
        return err->status;
    if (!args->values[CLI_OPT_JSON].given)
        print_text(stdout, report);
    else if (print_json(stdout, report, err) != TAMIS_OK)
        return err->status;
    return status;
}

static tamis_status describe_operand(const cli_args *args, const char *path, bool *negative,
                                     tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];
    info_report report = {.path = cli_server_show(path, shown),
                          .metadata = TAMIS_METADATA_INIT,
                          .info = TAMIS_FILTER_INFO_INIT};
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_open(&filter, &(cli_filter_file){.path = path}, &report.compression, err);

    (void)negative;
    report.filter = filter;
    if (status == TAMIS_OK)
        status = describe(args, &report, err);
    tamis_filter_free(filter);
    return status;
}

static tamis_status run_info(const cli_args *args, bool *negative, tamis_error *err) {
    return cli_file_each(args, describe_operand, negative, err);
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "what a filter is, what it was made for and how full it is",
    .operands = "FILTER...",
    .manual = &cli_manual_info,
    .options = options,
    .fields = CLI_FIELDS(fields),
    .run = run_info,
};
