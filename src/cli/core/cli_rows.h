/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_ROWS_H
#define TAMIS_CLI_CORE_CLI_ROWS_H

/*
 * Options that several commands share, as rows for their tables. An option has the same id in every
 * command. So one function parses a group of options (records, plan, report, metadata) for all commands:
 * cli_stream.h, cli_extract.h, cli_filter.h, cli_metadata.h. If a command lacks an option of the group,
 * the option counts as not given.
 */
#include <tamis/experimental/stream.h>
#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/core/cli_choice.h"
#include "cli/input/cli_key.h"

#define CLI_EXBIBYTE (UINT64_C(1) << 60)
#define CLI_TIME_MAX (UINT64_C(50000) * 86400000) /* 50000d, within TAMIS_WINDOW_MAX */

/* ---- keys in records: cli_extract.h ---- */

#define CLI_ROW_KEY                                                                                          \
    {                                                                                                        \
        .id = CLI_OPT_KEY, .name = "key", .type = CLI_TEXT, .value = "PART", .fallback = "line",             \
        .help = "Part of a record that is its key: line, field:N, bytes:FROM-TO, csv:NAME, csv:N, "          \
                "json:/POINTER or regex:PATTERN; may be repeated.",                                          \
        .more = "Records are compared by their keys alone, and printed whole. The notes explain each part, " \
                "and how several parts make one key. --type and --hex say what the text of the key means; "  \
                "they cannot be used with several parts.",                                                   \
        .many = true                                                                                         \
    }
#define CLI_ROW_DELIMITER                                                                                    \
    {                                                                                                        \
        .id = CLI_OPT_DELIMITER, .name = "delimiter", .type = CLI_TEXT, .value = "BYTE",                     \
        .help = "Delimiter of fields: a byte, tab, comma, semicolon, pipe, space or nul; by default a tab, " \
                "and a comma in CSV.",                                                                       \
        .more = "\\t is a tab too, and \\0 is nul. Columns of CSV can be quoted, other fields cannot."       \
    }
#define CLI_ROW_TRIM                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_TRIM, .name = "trim", .type = CLI_FLAG,                                                \
        .help = "Remove blanks from both ends of a key, or of each of its parts.",                           \
        .more = "Blanks are space, tab, newline, vertical tab, form feed and carriage return. A .tamis "     \
                "file stores this option, as it does --ignore-case."                                         \
    }
#define CLI_ROW_IGNORE_CASE                                                                                  \
    {                                                                                                        \
        .id = CLI_OPT_IGNORE_CASE, .name = "ignore-case", .type = CLI_FLAG,                                  \
        .help = "Ignore the case of letters in keys: Ada and ADA are equal.",                                \
        .more = "It uses the full case folding of Unicode, for all languages in UTF-8; bytes that are not "  \
                "UTF-8 stay as they are. A .tamis file stores this option of build and of dedup --filter: "  \
                "commands that read the file then use it by themselves. It is refused if keys are added to " \
                "a file that was made without it. Files of other programs and filters on servers do not "    \
                "store it, so give it every time."                                                           \
    }
#define CLI_ROWS_EXTRACT CLI_ROW_KEY, CLI_ROW_DELIMITER, CLI_ROW_TRIM, CLI_ROW_IGNORE_CASE

/* ---- records ---- */

#define CLI_ROW_HEADER                                                                                       \
    {                                                                                                        \
        .id = CLI_OPT_HEADER, .name = "header", .type = CLI_FLAG,                                            \
        .help = "The first record of every FILE is a header, not a record.",                                 \
        .more = "The header of the first FILE is written once to every output; those of the others must be " \
                "equal to it. csv:NAME implies --header."                                                    \
    }
#define CLI_ROW_MISSING                                                                                      \
    {                                                                                                        \
        .id = CLI_OPT_MISSING, .name = "missing", .type = CLI_CHOICE, .value = "ACTION", .fallback = "pass", \
        .choices = cli_missing,                                                                              \
        .help = "For a record without a key: pass it on without a lookup, drop it, or fail.",                \
        .more = "A record that is passed on goes where records go that are not in the filter, but is not "   \
                "counted with them. Without this option, a remark counts records without a key, and a run "  \
                "in which no record has a key fails, because --key must be wrong. Output files and filters " \
                "stay as they were then, but records written to a pipe cannot be taken back. With this "     \
                "option, the summary counts them, and a remark says if no record had a key. Needs --key."    \
    }
#define CLI_ROW_ON_ERROR                                                                                     \
    {                                                                                                        \
        .id = CLI_OPT_ON_ERROR, .name = "on-error", .type = CLI_CHOICE, .value = "ACTION",                   \
        .fallback = "fail", .choices = cli_on_error,                                                         \
        .help = "For a malformed record: fail, skip it, or pass it on without a lookup.",                    \
        .more = "The error names file, line and byte; the records before it are answered. If records were "  \
                "skipped or passed on, remarks at the end give their number and the position of the first. " \
                "Needs --key. A text that does not match --type or --hex always ends the run. So skip and "  \
                "pass are refused with these options, except for records of CSV and JSON."                   \
    }
#define CLI_ROW_ZERO                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_ZERO_TERMINATED, .name = "zero-terminated", .letter = 'z', .type = CLI_FLAG,           \
        .help = "Records end with a zero byte, not a newline."                                               \
    }
#define CLI_ROW_MAX_RECORD                                                                                   \
    {                                                                                                        \
        .id = CLI_OPT_MAX_RECORD, .name = "max-record", .type = CLI_SIZE, .value = "SIZE",                   \
        .fallback = "1GiB", .min = 1, .max = CLI_EXBIBYTE,                                                   \
        .help = "Refuse longer records. Memory grows to the longest record read."                            \
    }

/* `what` is the word for a key: "key". */
#define CLI_ROW_TYPE(what)                                                                                   \
    {                                                                                                        \
        .id = CLI_OPT_TYPE, .name = "type", .type = CLI_CHOICE, .value = "TYPE", .fallback = "bytes",        \
        .choices = cli_key_types, .help = "Type of a " what ": bytes, utf8, utf16, int32 or int64.",         \
        .more = "bytes are hashed as they are. utf8 is the same for text, and refuses bytes that are not "   \
                "UTF-8. utf16 is text in UTF-8 too, but is hashed as UTF-16LE, like a String of Java. "      \
                "int32 and int64 are decimal numbers, hashed as 4 or 8 bytes in little-endian order. A "     \
                "sign and leading zeros are allowed, so 7, +7 and 007 are one key; blanks are not. These "   \
                "are the bytes of Guava's byteArrayFunnel, stringFunnel(UTF_8), unencodedCharsFunnel, "      \
                "integerFunnel and longFunnel. A .tamis file and a filter of layout tamis on a server "      \
                "store their type: it need not be given again, and another type is refused. Other files "    \
                "and layouts do not store it, so give it every time."                                        \
    }
/* `what` is the word for keys: "Keys". */
#define CLI_ROW_HEX(what)                                                                                    \
    {                                                                                                        \
        .id = CLI_OPT_HEX, .name = "hex", .type = CLI_FLAG,                                                  \
        .help = what " are hexadecimal digits, two for each byte.",                                          \
        .more = "Records are printed unchanged. Upper and lower case are the same key."                      \
    }

/* The whole block. `what` and `these` are the words for a key and for keys: "key", "Keys". */
#define CLI_ROWS_RECORDS(what, these)                                                                        \
    CLI_ROWS_EXTRACT, CLI_ROW_HEADER, CLI_ROW_MISSING, CLI_ROW_ON_ERROR, CLI_ROW_TYPE(what),                 \
        CLI_ROW_HEX(these), CLI_ROW_ZERO, CLI_ROW_MAX_RECORD

/* ---- input and output of records ---- */

#define CLI_ROW_FILES_FROM                                                                                   \
    {                                                                                                        \
        .id = CLI_OPT_FILES_FROM, .name = "files-from", .type = CLI_FILE, .value = "LIST",                   \
        .help = "Also read the files listed in the file LIST, after the FILEs; - is standard input; may be " \
                "repeated.",                                                                                 \
        .more = "LIST has one name per line. If it contains a zero byte, each name ends with one, as find "  \
                "-print0 writes them. Empty lines are ignored. A LIST that is compressed or has no names "   \
                "is an error.",                                                                              \
        .many = true                                                                                         \
    }
#define CLI_ROW_THREADS                                                                                      \
    {                                                                                                        \
        .id = CLI_OPT_THREADS, .name = "threads", .type = CLI_COUNT, .value = "N", .min = 1,                 \
        .max = TAMIS_STREAM_THREADS_MAX,                                                                     \
        .help = "Number of threads, 1 to 256; by default one for each available processor.",                 \
        .more = "Available are the processors that this process may run on (taskset -c 0-3 leaves four). "   \
                "Some threads read and write, the others find keys and query the filter. The output is the " \
                "same for any number. Batches that are read ahead, one for each thread and four more, take " \
                "half a megabyte each, or 64 MiB in all if records are long."                                \
    }
#define CLI_ROW_COMPRESS                                                                                     \
    {                                                                                                        \
        .id = CLI_OPT_COMPRESS, .name = "compress", .type = CLI_TEXT, .value = "HOW",                        \
        .choices = cli_compressions,                                                                         \
        .help = "Compress the output: gzip, zstd, lz4, xz, bzip2 or none, or with a level, as in zstd:19; "  \
                "by default as the name of the file says.",                                                  \
        .more = "Names that end in .gz, .zst, .lz4, .xz or .bz2 select a compression; standard output has "  \
                "none. Compressed output to a terminal is refused. Levels are those of the program of the "  \
                "same name: 1 to 9 for gzip and bzip2, 1 to 22 for zstd, 1 to 12 for lz4, 0 to 9 for xz. "   \
                "Without a level, the program's default is used."                                            \
    }
/* ---- compression of a filter ---- */

#define CLI_ROW_GZIP                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_GZIP, .name = "gzip", .type = CLI_FLAG, .help = "Compress the file with gzip.",        \
        .more = "Useful for a filter that is nearly empty or is shipped once. A full filter does not "       \
                "shrink, and a compressed one is decompressed into memory each time it is opened."           \
    }

/* ---- new filters: cli_filter.h ---- */

/* For commands that change a file while other processes may change it too. */
enum { CLI_LOCK_WAIT_DEFAULT = 60 }; /* seconds */
#define CLI_ROW_LOCK_WAIT                                                                                    \
    {                                                                                                        \
        .id = CLI_OPT_LOCK_WAIT, .name = "lock-wait", .type = CLI_COUNT, .value = "SECONDS",                 \
        .fallback = "60", .max = 1000000,                                                                    \
        .help = "How long to wait while another process changes the file; 0: fail at once.",                 \
        .more = "A message appears after one second. For a filter on a server, build, clear, copy, "         \
                "merge and tamis redis drop, expire, alias and unalias wait for each other."                 \
    }

/* `what` is what a filter of a dedup gets: "record". */
#define CLI_ROW_DUPLICATE_RATE(what)                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_FPR, .name = "fpr", .type = CLI_RATE, .value = "RATE", .fallback = "1e-9",             \
        .rate_min = TAMIS_FPR_MIN, .rate_max = TAMIS_FPR_MAX,                                                \
        .help = "Probability that a new " what " is taken for a duplicate, as 1e-6 or 0.1%."                 \
    }
#define CLI_ROW_MEMORY                                                                                       \
    {                                                                                                        \
        .id = CLI_OPT_MEMORY, .name = "memory", .type = CLI_SIZE, .value = "SIZE", .min = 1,                 \
        .max = CLI_EXBIBYTE, .help = "Maximum memory of the filter, growth included, as in 512MiB or 2G.",   \
        .more = "A filter that cannot fit is refused at the start."                                          \
    }
#define CLI_ROW_KIND                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_KIND, .name = "kind", .type = CLI_CHOICE, .value = "KIND", .fallback = "auto",         \
        .choices = cli_kinds,                                                                                \
        .help = "Kind of filter: auto, classic, blocked, fingerprint or exact; see tamis plan."              \
    }
/* For commands that make filters whose keys may be removed. */
#define CLI_ROW_ANY_KIND                                                                                     \
    {                                                                                                        \
        .id = CLI_OPT_KIND, .name = "kind", .type = CLI_CHOICE, .value = "KIND", .fallback = "auto",         \
        .choices = cli_build_kinds,                                                                          \
        .help = "Kind of filter: auto, classic, blocked, fingerprint, exact, counting or cuckoo; see "       \
                "tamis plan.",                                                                               \
        .more = "Kinds counting and cuckoo are for records that go again: see tamis-remove(1). They count "  \
                "each time that a record is added, counting up to 15 times and cuckoo up to 4. Counting "    \
                "never grows; cuckoo does if --expect is not given. auto never chooses them."                \
    }
#define CLI_ROW_EXACT                                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_EXACT, .name = "exact", .type = CLI_FLAG,                                              \
        .help = "The same as --kind exact: keep 128 bits of each record.",                                   \
        .more = "With n records in the filter, a new record is taken for a duplicate with a probability of " \
                "n/2^128."                                                                                   \
    }
#define CLI_ROW_SCHEME                                                                                       \
    {                                                                                                        \
        .id = CLI_OPT_SCHEME, .name = "scheme", .type = CLI_CHOICE, .value = "SCHEME", .fallback = "auto",   \
        .choices = cli_schemes,                                                                              \
        .help = "Hash: xxh3, sip (keyed), or that of another program, see tamis-hash(1); auto is xxh3, or "  \
                "sip with a secret."                                                                         \
    }
#define CLI_ROW_SEED                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_SEED, .name = "seed", .type = CLI_SEED, .value = "SEED", .fallback = "0",              \
        .help = "Seed of scheme xxh3, decimal or 0x...; another seed gives other false positives."           \
    }
#define CLI_ROW_SECRET                                                                                       \
    {                                                                                                        \
        .id = CLI_OPT_SECRET_FILE, .name = "secret-file", .type = CLI_FILE, .value = "FILE",                 \
        .help = "Key the hash with the bytes of FILE (16 to 4096), so that an attacker cannot aim records "  \
                "at the filter.",                                                                            \
        .more = "Every byte of the file counts, including a newline at its end. Standard input is "          \
                "/dev/stdin here, not -. FILE may not be an output."                                         \
    }
/* --secret-file for an existing filter. */
#define CLI_ROW_ITS_SECRET                                                                                   \
    {                                                                                                        \
        .id = CLI_OPT_SECRET_FILE, .name = "secret-file", .type = CLI_FILE, .value = "FILE",                 \
        .help = "Secret that a keyed filter was made with: the bytes of FILE.",                              \
        .more = "Every byte of the file counts, including a newline at its end. Standard input is "          \
                "/dev/stdin here, not -."                                                                    \
    }

/* ---- metadata of a written filter: cli_metadata.h ---- */

#define CLI_ROW_LABEL                                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_LABEL, .name = "label", .type = CLI_TEXT, .value = "NAME=VALUE",                       \
        .help = "Store a label in the file; may be repeated with another NAME.",                             \
        .more = "It replaces a label of that NAME in a FILTER that is read. tamis info prints labels.",      \
        .many = true                                                                                         \
    }
#define CLI_ROW_DATA_VERSION                                                                                 \
    {                                                                                                        \
        .id = CLI_OPT_DATA_VERSION, .name = "data-version", .type = CLI_SEED, .value = "N",                  \
        .help = "Version of the data in the filter, for hosts that share it; 0: none."                       \
    }

/* ---- output of a filter ---- */

#define CLI_ROW_WRITE_OUTPUT                                                                                 \
    {                                                                                                        \
        .id = CLI_OPT_OUTPUT, .name = "output", .letter = 'o', .type = CLI_FILE, .value = "FILE",            \
        .help = "Write to FILE (required); FILE may be a FILTER.",                                           \
        .more = "A temporary file in the same directory is renamed to FILE when it is complete, with the "   \
                "permissions of the file it replaces."                                                       \
    }
/* `several` is "", or " named first" for a command that reads several filters. */
#define CLI_ROW_WRITE_FORMAT(several)                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_FORMAT, .name = "format", .type = CLI_CHOICE, .value = "FORMAT", .fallback = "auto",   \
        .choices = cli_formats,                                                                              \
        .help = "Format of FILE: tamis, guava or dcso; auto: that of the FILTER" several "."                 \
    }
#define CLI_ROW_WRITE_QUIET                                                                                  \
    {                                                                                                        \
        .id = CLI_OPT_QUIET, .name = "quiet", .letter = 'q', .type = CLI_FLAG,                               \
        .help = "Print no remarks, only errors."                                                             \
    }

/* ---- report of a run ---- */

#define CLI_ROW_STATS                                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_STATS, .name = "stats", .type = CLI_FLAG,                                              \
        .help = "Print a summary on standard error at the end.",                                             \
        .more = "If a run fails after records were answered, the summary is printed too, and says so; the "  \
                "error follows it. A summary that cannot be written is an error."                            \
    }
#define CLI_ROW_JSON                                                                                         \
    {                                                                                                        \
        .id = CLI_OPT_JSON, .name = "json", .type = CLI_FLAG,                                                \
        .help = "Print the summary as one JSON object; implies --stats.",                                    \
        .more = "Its fields are listed below."                                                               \
    }
#define CLI_ROW_PROGRESS                                                                                     \
    {                                                                                                        \
        .id = CLI_OPT_PROGRESS, .name = "progress", .type = CLI_FLAG,                                        \
        .help = "Show progress even if standard error is not a terminal: one line per second.",              \
        .more = "By default, progress is shown if standard error is a terminal and no records go to one."    \
    }
#define CLI_ROW_NO_PROGRESS                                                                                  \
    { .id = CLI_OPT_NO_PROGRESS, .name = "no-progress", .type = CLI_FLAG, .help = "Show no progress." }
#define CLI_ROW_QUIET                                                                                        \
    {                                                                                                        \
        .id = CLI_OPT_QUIET, .name = "quiet", .letter = 'q', .type = CLI_FLAG,                               \
        .help = "Print no progress and no remarks, only errors and a requested summary."                     \
    }

#endif
