/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of options of tamis kafka. All actions share it; cmd_kafka.c refuses an option that an action
 * does not have. Most options are members of a struct of the library, which names them in its messages. So
 * kafka_name_option replaces that name by the option and its value.
 */
#include "cli/cmd/kafka/kafka_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/core/cli_choice.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"

const cli_option kafka_options[] = {
    {.id = KAFKA_BROKERS,
     .name = "brokers",
     .type = CLI_TEXT,
     .value = "HOST:PORT,...",
     .help = "Some brokers of the cluster (required); the others are found by them."},
    {.id = KAFKA_GROUP,
     .name = "group",
     .type = CLI_TEXT,
     .value = "GROUP",
     .help = "Consumer group (required). Processes with the same group share the partitions.",
     .more = "The brokers keep the offsets of the group in FROM. With dedup, the topic "
             "GROUP.FROM.tamis-state has the keys seen; it is made at the first start. All processes of a "
             "group have the same options, except --instance."},
    {.id = KAFKA_FROM,
     .name = "from",
     .type = CLI_TEXT,
     .once = true,
     .value = "TOPIC",
     .help = "Topic to read (required)."},
    {.id = KAFKA_TO,
     .name = "to",
     .type = CLI_TEXT,
     .value = "TOPIC|URI",
     .help = "dedup: topic for the first record of each key; repartition: for all records; check: for absent "
             "keys; count: redis://HOST:PORT of the counters (required).",
     .more =
         "check needs it only without --present-to. Records keep key, value, headers and timestamp, and "
         "their partition if the topic has as many as FROM. The topic must exist. A URI may also begin with "
         "rediss, redis+sentinel, redis+cluster or redis+shard; its parameters are in tamis-redis(1)."},
    {.id = KAFKA_DUPLICATES_TO,
     .name = "duplicates-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "dedup: topic for all other records; without it they are dropped."},
    {.id = KAFKA_DEAD_LETTERS_TO,
     .name = "dead-letters-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "Topic for malformed records; without it the command fails at the first one.",
     .more = "A header tamis.error says why and where. Records without a key go there too with --missing "
             "fail. Not with count."},
    {.id = KAFKA_FILTER,
     .name = "filter",
     .type = CLI_TEXT,
     .value = "FILTER",
     .help = "check: file or URI of the filter in which keys are looked up (required)."},
    {.id = KAFKA_PRESENT_TO,
     .name = "present-to",
     .type = CLI_TEXT,
     .value = "TOPIC",
     .help = "check: topic for records whose key is in the filter; without it they are dropped.",
     .more = "--to is for the others; one of the two is enough. A key that is not in the filter is taken for "
             "one that is at the rate of the filter."},
    {.id = KAFKA_COUNT,
     .name = "count",
     .type = CLI_TEXT,
     .value = "TEMPLATE",
     .many = true,
     .help = "count: names of counters, as clicks:{day}:{json:/page}; may be repeated.",
     .more = "Each record adds 1 to one counter of each TEMPLATE. {month}, {day} and {hour} are its time in "
             "UTC, {kafka:key} its key in Kafka, and {kafka:header:NAME} its last header with this name. "
             "{json:/POINTER}, {csv:N}, {field:N}, {bytes:FROM-TO}, {regex:PATTERN} and {line} are parts of "
             "its value. Between two of them must be a colon, or another sign that values cannot have: of a "
             "value, bytes other than letters, digits, - . _ ~ / and those of UTF-8 are written %XX."},
    {.id = KAFKA_SUM,
     .name = "sum",
     .type = CLI_TEXT,
     .value = "TEMPLATE={PART}",
     .many = true,
     .help = "count: add the integer in PART to a counter, as bytes:{day}={json:/bytes}; may be repeated.",
     .more = "It is from -(2^53 - 1) to 2^53 - 1, in digits; a record with anything else there is malformed, "
             "see --on-error. A counter that would exceed 64 bits ends the run before it is changed."},
    {.id = KAFKA_DISTINCT,
     .name = "distinct",
     .type = CLI_TEXT,
     .value = "TEMPLATE={PART}",
     .many = true,
     .help = "count: count the different values of PART, as users:{day}={json:/user}; may be repeated.",
     .more = "The counter is a HyperLogLog of Redis, of at most 12 KiB: PFCOUNT gives the number, with a "
             "standard error of 0.81%, and PFMERGE joins several."},
    {.id = KAFKA_EXPIRE,
     .name = "expire",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "count: Redis removes a counter of a {month}, {day} or {hour} TIME after the end of it; others "
             "stay.",
     .more = "A late record does not bring back a counter that was removed. TIME applies to the counters "
             "that get records from then on."},
    {.id = CLI_OPT_KEY,
     .name = "key",
     .type = CLI_TEXT,
     .value = "PART",
     .fallback = "line",
     .many = true,
     .help = "The key of a record: line (the whole value), a part of the value as for tamis dedup, kafka:key "
             "or kafka:header:NAME; may be repeated. Not with count.",
     .more =
         "Parts of the value are field:N, bytes:FROM-TO, csv:N, json:/POINTER and regex:PATTERN. kafka:key "
         "is the key of the record in Kafka, kafka:header:NAME its last header with this name; they cannot "
         "be joined with other parts. For dedup the same key must always be in the same partition of FROM: "
         "give its producers this key, or a key that depends on it alone, or repartition the topic first."},
    CLI_ROW_DELIMITER,
    {.id = CLI_OPT_TRIM,
     .name = "trim",
     .type = CLI_FLAG,
     .help = "Remove blanks from both ends of a key, or of each of its parts."},
    {.id = CLI_OPT_IGNORE_CASE,
     .name = "ignore-case",
     .type = CLI_FLAG,
     .help = "Ignore the case of letters in keys: Ada and ADA are equal."},
    {.id = CLI_OPT_MISSING,
     .name = "missing",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "pass",
     .choices = cli_missing,
     .help = "For a record without a key: pass it on to TO without a lookup, drop it, or fail.",
     .more = "A tombstone, whose value is NULL, has no key unless --key is kafka:key or kafka:header:NAME. "
             "With count: for a record that lacks a value of a TEMPLATE, drop (the default) or fail; it "
             "still counts in the others."},
    {.id = CLI_OPT_ON_ERROR,
     .name = "on-error",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "fail",
     .choices = cli_on_error,
     .help = "For a malformed record: fail, skip it, or pass it on to TO without a lookup (not with count).",
     .more = "The error names partition and offset; the records before it are committed."},
    {.id = CLI_OPT_EXPECT,
     .name = "expect",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of distinct keys in a partition; without it its filter grows as keys come."},
    CLI_ROW_DUPLICATE_RATE("key"),
    {.id = CLI_OPT_MEMORY,
     .name = "memory",
     .type = CLI_SIZE,
     .value = "SIZE",
     .min = 1,
     .max = CLI_EXBIBYTE,
     .help = "Maximum memory of the filter of a partition, growth included, as in 512MiB or 2G.",
     .more = "Keys of the open transaction come on top: at most a million, which take up to 64 MB in all "
             "partitions "
             "together."},
    {.id = KAFKA_WINDOW,
     .name = "window",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "Forget keys after TIME, as in 30m, 24h or 7d: a record is a duplicate if its key came within "
             "TIME before it.",
     .more = "Times are those of the records in Kafka (see --time), so a member that catches up answers as "
             "one that was never behind. They are compared in whole steps: a key counts for TIME, and for at "
             "most one step more. State, memory and the time of a restore are those of the keys of one "
             "window; --expect is their number in a partition."},
    {.id = KAFKA_STEP,
     .name = "step",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: the precision of times; by default a 24th of the window."},
    {.id = KAFKA_TIME,
     .name = "time",
     .type = CLI_TEXT,
     .value = "PART",
     .help = "With --window, or for {day} and the like: where the time of a record is in its value, in the "
             "forms of --key; without it, Kafka's time of the record counts.",
     .more = "A time is unix seconds or milliseconds, or RFC 3339. A record without such a time is "
             "malformed, see --on-error; one whose value is NULL counts as one without a key. With --window, "
             "a record whose time is ahead of the clock of this host is treated as late."},
    {.id = KAFKA_LATENESS,
     .name = "lateness",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: how much older than the newest record of the partition another may be: at most "
             "4 steps, by default one; 1ms means none."},
    {.id = KAFKA_LATE,
     .name = "late",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "pass",
     .choices = cli_late,
     .help = "With --window: for a record that is older than --lateness allows: pass it on to TO without a "
             "lookup, or drop it."},
    CLI_ROW_KIND,
    CLI_ROW_EXACT,
    CLI_ROW_SEED,
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Key the hash with the bytes of FILE (16 to 4096), so that an attacker cannot aim keys at the "
             "filter."},
    {.id = KAFKA_INSTANCE,
     .name = "instance",
     .type = CLI_TEXT,
     .value = "NAME",
     .help = "Name of this process in the group, the same at each start and different from all others.",
     .more = "A process that is started again then gets its partitions back at once, and ends the "
             "transaction that it left open. Without it, the group notices its end after session.timeout.ms, "
             "and the open transaction ends after transaction.timeout.ms."},
    {.id = KAFKA_STANDBY,
     .name = "standby",
     .type = CLI_FLAG,
     .help =
         "dedup: keep the keys of all other partitions in memory too, for when they come to this process.",
     .more =
         "It reads their state while they write it, so that almost nothing is left to read then. The "
         "memory is that of the filters of all partitions of FROM. A process more than FROM has partitions "
         "is a spare one."},
    {.id = KAFKA_COMMIT_EVERY,
     .name = "commit-every",
     .type = CLI_TIME,
     .value = "TIME",
     .fallback = "1s",
     .min = 1,
     .max = KAFKA_COMMIT_MAX,
     .help = "How long a transaction is open, or a batch is added up in memory. Readers of TO get records "
             "when their transaction is committed.",
     .more = "Below 100ms there is no gain: a broker commits a transaction in some tens of milliseconds. The "
             "time is at most half of transaction.timeout.ms, which is 60 s."},
    {.id = KAFKA_UNTIL_END,
     .name = "until-end",
     .type = CLI_FLAG,
     .help = "Stop when the partitions of this process were read to the end that they had when it got them."},
    {.id = KAFKA_SETTING,
     .name = "setting",
     .letter = 'X',
     .type = CLI_TEXT,
     .value = "NAME=VALUE",
     .many = true,
     .help = "Setting of librdkafka, as security.protocol=ssl; may be repeated.",
     .more = "Its file CONFIGURATION.md has all of them. Settings that the promise depends on are refused."},
    {.id = KAFKA_CONFIG,
     .name = "config",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "File with such settings, one name=value a line; --setting wins.",
     .more = "For passwords, which other users of this host could see in a command line. A line that begins "
             "with # is a comment."},
    {.id = KAFKA_METRICS,
     .name = "metrics",
     .type = CLI_TEXT,
     .value = "FILE|ADDRESS",
     .help = "Write current statistics for Prometheus to FILE every second, or serve them at ADDRESS.",
     .more = "As for tamis dedup: ADDRESS is [HOST:]PORT. See METRICS."},
    CLI_ROW_STATS,
    {.id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG, .help = "status: print one JSON object."},
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

const cli_conflict kafka_conflicts[] = {
    {CLI_OPT_EXACT, CLI_OPT_FPR, "exact accepts no rate"},
    {KAFKA_WINDOW, CLI_OPT_KIND, "a window is a kind of its own"},
    {KAFKA_WINDOW, CLI_OPT_EXACT, "a window keeps fingerprints"},
    {.why = NULL},
};

/* Names that options have in the library. An option that is not given is not the subject of a message. */
static const struct {
    const char *word;
    int id;
} words[] = {{"brokers", KAFKA_BROKERS},
             {"group", KAFKA_GROUP},
             {"from", KAFKA_FROM},
             {"to", KAFKA_TO},
             {"duplicates_to", KAFKA_DUPLICATES_TO},
             {"duplicates_to", KAFKA_PRESENT_TO},
             {"dead_letters_to", KAFKA_DEAD_LETTERS_TO},
             {"instance", KAFKA_INSTANCE},
             {"count", KAFKA_COUNT},
             {"sum", KAFKA_SUM},
             {"distinct", KAFKA_DISTINCT},
             {"expire", KAFKA_EXPIRE},
             {"key", CLI_OPT_KEY},
             {"time", KAFKA_TIME},
             {"false-positive rate", CLI_OPT_FPR},
             {"window", KAFKA_WINDOW},
             {"step", KAFKA_STEP},
             {"lateness", KAFKA_LATENESS},
             {"commit_ms", KAFKA_COMMIT_EVERY}};

void kafka_name_option(const cli_value *values, tamis_error *err) {
    const tamis_error original = *err;

    if (err->status != TAMIS_E_INVALID && err->status != TAMIS_E_RANGE)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const cli_option *option = cli_option_of(kafka_options, words[i].id);
        const cli_value *value = &values[words[i].id];
        const char *rest = original.text + strlen(words[i].word);
        const char *text = value->given ? value->text : option->fallback;
        if (strncmp(original.text, words[i].word, strlen(words[i].word)) != 0 || !strchr(" :", *rest) ||
            !text)
            continue;
        if (option->many) /* the message has the value */
            snprintf(err->text, sizeof err->text, "--%s%.*s", option->name,
                     (int)(sizeof err->text - sizeof "--" - strlen(option->name)), rest);
        else
            cli_subject(err, "--%s '%.150s'", option->name, text);
        return;
    }
}
