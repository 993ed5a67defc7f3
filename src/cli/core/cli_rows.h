/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_ROWS_H
#define TAMIS_CLI_CORE_CLI_ROWS_H

/*
 * Options that several commands share, as rows for their tables, in blocks. A table has the rows of a block together and in
 * this order, so that one function can parse the block at any index (cli_stream.h, cli_extract.h, cli_filter.h,
 * cli_metadata.h).
 *
 * The last enumerator of a block is its size. A block may contain another one: the block CLI_RECORDS begins with the block
 * CLI_EXTRACT.
 *
 *     index in CLI_RECORDS    0                     CLI_EXTRACT
 *                             CLI_RECORDS_EXTRACT   CLI_RECORDS_HEADER    ...
 *                             |- CLI_EXTRACT_KEY    ...
 *     parsed values           records + CLI_RECORDS_EXTRACT is the block CLI_EXTRACT
 */
#include <tamis/experimental/stream.h>
#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/core/cli_choice.h"
#include "cli/input/cli_key.h"

#define CLI_EXBIBYTE (UINT64_C(1) << 60)

/* ---- keys in records: cli_extract.h ---- */

enum { CLI_EXTRACT_KEY, CLI_EXTRACT_DELIMITER, CLI_EXTRACT_TRIM, CLI_EXTRACT_IGNORE_CASE, CLI_EXTRACT };

#define CLI_ROW_KEY                                                                                          \
    {                                                                                                        \
        .name = "key", .type = CLI_TEXT, .value = "PART", .fallback = "line",                                \
        .help =                                                                                              \
            "What of a record is its key: line, field:N, bytes:FROM-TO, csv:NAME, csv:N, json:/POINTER or "  \
            "regex:PATTERN; may be given again.",                                                            \
        .more = "The key is that alone; where records are printed they are so whole. The notes say what "    \
                "each of these is, and how several make one key. Where the key is a number or has digits "   \
                "of bytes, --type and --hex are said of it; of several parts they cannot be.",               \
        .many = true                                                                                         \
    }
#define CLI_ROW_DELIMITER                                                                                    \
    {                                                                                                        \
        .name = "delimiter", .type = CLI_TEXT, .value = "BYTE",                                              \
        .help = "What stands between fields: a byte, tab, comma, semicolon, pipe, space or nul; by "         \
                "default a tab, and a comma in CSV.",                                                        \
        .more = "\\t is a tab too, and \\0 is nul. Nothing quotes one within a field; in CSV quotes do."     \
    }
#define CLI_ROW_TRIM                                                                                         \
    {                                                                                                        \
        .name = "trim", .type = CLI_FLAG,                                                                    \
        .help = "Take blanks off both ends of a key, or of each part of it.",                                \
        .more = "Blanks are space, tab, newline, vertical tab, form feed and carriage return. As "           \
                "with --ignore-case, a .tamis file keeps that its keys were made so."                        \
    }
#define CLI_ROW_IGNORE_CASE                                                                                  \
    {                                                                                                        \
        .name = "ignore-case", .type = CLI_FLAG,                                                             \
        .help = "Letters of keys are without case: Ada and ADA are one.",                                    \
        .more = "In UTF-8, by Unicode's full folding, of any language alike; bytes that are no UTF-8 "       \
                "stay as they are. A .tamis file keeps that build, or dedup --filter, was given this: it "   \
                "need not be given again, and is refused where keys are added to one that was made "         \
                "without. Files of other programs and filters on servers keep none, so give it."             \
    }
#define CLI_ROWS_EXTRACT CLI_ROW_KEY, CLI_ROW_DELIMITER, CLI_ROW_TRIM, CLI_ROW_IGNORE_CASE

/* ---- records ---- */

enum {
    CLI_RECORDS_EXTRACT, /* block CLI_EXTRACT */
    CLI_RECORDS_HEADER = CLI_RECORDS_EXTRACT + CLI_EXTRACT,
    CLI_RECORDS_MISSING,
    CLI_RECORDS_ON_ERROR,
    CLI_RECORDS_TYPE,
    CLI_RECORDS_HEX,
    CLI_RECORDS_ZERO,
    CLI_RECORDS_MAX,
    CLI_RECORDS
};

#define CLI_ROW_HEADER                                                                                       \
    {                                                                                                        \
        .name = "header", .type = CLI_FLAG,                                                                  \
        .help = "The first record of every FILE is a header, and no record.",                                \
        .more =                                                                                              \
            "That of the first FILE goes to every output, once; those of the others have to be the same. "   \
            "csv:NAME implies it."                                                                           \
    }
#define CLI_ROW_MISSING                                                                                      \
    {                                                                                                        \
        .name = "missing", .type = CLI_CHOICE, .value = "ACTION", .fallback = "pass",                        \
        .choices = cli_missing,                                                                              \
        .help = "What becomes of a record without key: pass it on unasked, drop it, or fail.",               \
        .more =                                                                                              \
            "One that is passed on goes where records go that are not in the filter, and counts as none. "   \
            "Without this option a remark counts such records, and a run in which no record has a key "      \
            "fails, because --key is wrong then. Output files and filters stay as they were; records that "  \
            "went to a pipe cannot be taken back. With this option the summary counts them, and a remark "   \
            "says if no record had a key. Needs --key."                                                      \
    }
#define CLI_ROW_ON_ERROR                                                                                     \
    {                                                                                                        \
        .name = "on-error", .type = CLI_CHOICE, .value = "ACTION", .fallback = "fail",                       \
        .choices = cli_on_error,                                                                             \
        .help = "What becomes of a malformed record: fail, skip it, or pass it on unasked.",                 \
        .more = "The error names file, line and byte. Where records were skipped or passed on, remarks at "  \
                "the end say that of the first one, and how many there were. Records before one that fails " \
                "are answered. Needs --key. A text that is no key of its --type, or not --hex, always ends " \
                "the run: beside these skip and pass are refused, but for records of CSV and JSON."          \
    }
#define CLI_ROW_ZERO                                                                                         \
    {                                                                                                        \
        .name = "zero-terminated", .letter = 'z', .type = CLI_FLAG,                                          \
        .help = "Records end with a zero byte, not a newline."                                               \
    }
#define CLI_ROW_MAX_RECORD                                                                                   \
    {                                                                                                        \
        .name = "max-record", .type = CLI_SIZE, .value = "SIZE", .fallback = "1GiB", .min = 1,               \
        .max = CLI_EXBIBYTE, .help = "Refuse a longer record; memory grows to the longest one met."          \
    }

/* `what` is the word for a key: "key". */
#define CLI_ROW_TYPE(what)                                                                                   \
    {                                                                                                        \
        .name = "type", .type = CLI_CHOICE, .value = "TYPE", .fallback = "bytes", .choices = cli_key_types,  \
        .help = "What a " what " is: bytes, utf8, utf16, int32 or int64.",                                   \
        .more =                                                                                              \
            "bytes are hashed as they are. utf8 is the same for text, and refuses what is no UTF-8. "        \
            "utf16 is UTF-8 too, hashed as UTF-16LE, which is what a String of Java holds. int32 and "       \
            "int64 are numbers in decimal, hashed as 4 or 8 bytes in little-endian order; a sign and "       \
            "leading zeros are allowed, so that 7, +7 and 007 are one key, and blanks are not. These are "   \
            "the bytes of Guava's byteArrayFunnel, stringFunnel(UTF_8), unencodedCharsFunnel, "              \
            "integerFunnel and longFunnel. A .tamis file, and a filter on a server in layout tamis, "        \
            "keeps the type that it was made with, which then need not be given again, and contradicts "     \
            "another one; files and layouts of other programs keep none, so give it."                        \
    }
/* `what` is the word for keys: "Keys". */
#define CLI_ROW_HEX(what)                                                                                    \
    {                                                                                                        \
        .name = "hex", .type = CLI_FLAG, .help = what " are hexadecimal digits, two for each byte.",         \
        .more = "What is printed is printed as it came. Upper and lower case are the same key."              \
    }

/* The whole block. `what` and `these` are the words for a key and for keys: "key", "Keys". */
#define CLI_ROWS_RECORDS(what, these)                                                                        \
    CLI_ROWS_EXTRACT, CLI_ROW_HEADER, CLI_ROW_MISSING, CLI_ROW_ON_ERROR, CLI_ROW_TYPE(what),                 \
        CLI_ROW_HEX(these), CLI_ROW_ZERO, CLI_ROW_MAX_RECORD

/* ---- input and output of records ---- */

#define CLI_ROW_FILES_FROM                                                                                   \
    {                                                                                                        \
        .name = "files-from", .type = CLI_FILE, .value = "LIST",                                             \
        .help = "Read the files that the file LIST names too, after the FILEs; - is standard input; may be " \
                "given again.",                                                                              \
        .more = "A name a line or, where there is a zero byte in LIST, each ended by one, as find "          \
                "-print0 has them. Empty lines are ignored. A LIST without names is an error, and so is a "  \
                "compressed one.",                                                                           \
        .many = true                                                                                         \
    }
#define CLI_ROW_THREADS                                                                                      \
    {                                                                                                        \
        .name = "threads", .type = CLI_COUNT, .value = "N", .min = 1, .max = TAMIS_STREAM_THREADS_MAX,       \
        .help = "Threads to work with, 1 to 256; by default as many as there are processors to use.",        \
        .more = "Those are the ones that this process may run on (taskset -c 0-3 leaves it four). While "    \
                "some threads read and write, others find keys and ask the filter. What comes out is the "   \
                "same for any number. Batches that are read ahead, one for each thread and four more, take " \
                "half a megabyte each, or of long records 64 MiB in all."                                    \
    }
#define CLI_ROW_COMPRESS                                                                                     \
    {                                                                                                        \
        .name = "compress", .type = CLI_TEXT, .value = "HOW", .choices = cli_compressions,                   \
        .help = "Compress what is written: gzip, zstd, lz4, xz, bzip2 or none, or with a level, as "         \
                "zstd:19; by default as the name of the file says.",                                         \
        .more = "Names that end in .gz, .zst, .lz4, .xz or .bz2 do; standard output has none. Where it "     \
                "is compressed, a terminal is refused. The level is that of the program of the same "        \
                "name: of gzip and bzip2 1 to 9, of zstd 1 to 22, of lz4 1 to 12, of xz 0 to 9; without "    \
                "it, its usual one."                                                                         \
    }
/* ---- compression of a filter ---- */

#define CLI_ROW_GZIP                                                                                         \
    {                                                                                                        \
        .name = "gzip", .type = CLI_FLAG, .help = "Compress the file with gzip.",                            \
        .more = "Worth it for a filter that is nearly empty or to be shipped once: a full one does not "     \
                "shrink, and a compressed one is unpacked into memory each time it is opened."               \
    }

/* ---- new filters: cli_filter.h ---- */

enum {
    CLI_PLAN_EXPECT, /* row of each command: its default differs */
    CLI_PLAN_FPR,    /* row of each command: its default and the meaning of a wrong answer differ */
    CLI_PLAN_MEMORY,
    CLI_PLAN_KIND,
    CLI_PLAN_EXACT,
    CLI_PLAN_SCHEME,
    CLI_PLAN_SEED,
    CLI_PLAN_SECRET,
    CLI_PLAN
};

/* For commands that change a file while other processes may change it too. CLI_LOCK_WAIT: the default, in seconds. */
enum { CLI_LOCK_WAIT = 60 };
#define CLI_ROW_LOCK_WAIT                                                                                    \
    {                                                                                                        \
        .name = "lock-wait", .type = CLI_COUNT, .value = "SECONDS", .fallback = "60", .max = 1000000,        \
        .help = "How long to wait while another process changes the file; 0: fail at once.",                 \
        .more = "A message says so after one second. For a filter on a server, build, clear, copy and "      \
                "merge wait for another of these, or for tamis redis drop."                                  \
    }

#define CLI_ROW_MEMORY                                                                                       \
    {                                                                                                        \
        .name = "memory", .type = CLI_SIZE, .value = "SIZE", .min = 1, .max = CLI_EXBIBYTE,                  \
        .help = "Most memory of the filter, growth included, as 512MiB or 2G.",                              \
        .more = "What cannot fit is refused at the start."                                                   \
    }
#define CLI_ROW_KIND                                                                                         \
    {                                                                                                        \
        .name = "kind", .type = CLI_CHOICE, .value = "KIND", .fallback = "auto", .choices = cli_kinds,       \
        .help = "Kind of filter: auto, classic, blocked, fingerprint or exact; see tamis plan."              \
    }
#define CLI_ROW_EXACT                                                                                        \
    {                                                                                                        \
        .name = "exact", .type = CLI_FLAG,                                                                   \
        .help = "The same as --kind exact: keep 128 bits of each record.",                                   \
        .more = "With n records kept, a new one is taken for a duplicate with a chance of n/2^128."          \
    }
#define CLI_ROW_SCHEME                                                                                       \
    {                                                                                                        \
        .name = "scheme", .type = CLI_CHOICE, .value = "SCHEME", .fallback = "auto", .choices = cli_schemes, \
        .help = "Hash: xxh3, sip (keyed), or another program's, see tamis-hash(1); auto takes xxh3, or "     \
                "sip where a secret is given."                                                               \
    }
#define CLI_ROW_SEED                                                                                         \
    {                                                                                                        \
        .name = "seed", .type = CLI_SEED, .value = "SEED", .fallback = "0",                                  \
        .help = "Seed of scheme xxh3, decimal or 0x...; says which records are confused."                    \
    }
#define CLI_ROW_SECRET                                                                                       \
    {                                                                                                        \
        .name = "secret-file", .type = CLI_FILE, .value = "FILE",                                            \
        .help = "Key the hash with the bytes of FILE (16 to 4096), so that nobody can aim records at it.",   \
        .more = "Every byte of the file counts, a newline at its end too. Standard input is /dev/stdin "     \
                "here, not -. The file may not be an output."                                                \
    }
/* --secret-file for an existing filter. */
#define CLI_ROW_ITS_SECRET                                                                                   \
    {                                                                                                        \
        .name = "secret-file", .type = CLI_FILE, .value = "FILE",                                            \
        .help = "The secret that a keyed filter was made with: the bytes of FILE.",                          \
        .more = "Every byte of the file counts, a newline at its end too. Standard input is /dev/stdin "     \
                "here, not -."                                                                               \
    }

/* ---- metadata of a written filter: cli_metadata.h ---- */

enum { CLI_METADATA_LABEL, CLI_METADATA_VERSION, CLI_METADATA };

#define CLI_ROW_LABEL                                                                                        \
    {                                                                                                        \
        .name = "label", .type = CLI_TEXT, .value = "NAME=VALUE",                                            \
        .help = "Put a label into the file; may be given again, with another NAME.",                         \
        .more = "Where a FILTER that is read has one of that name, this takes its place. tamis info prints " \
                "it.",                                                                                       \
        .many = true                                                                                         \
    }
#define CLI_ROW_DATA_VERSION                                                                                 \
    {                                                                                                        \
        .name = "data-version", .type = CLI_SEED, .value = "N",                                              \
        .help = "Version of the data in the filter, for hosts that share it; 0: none."                       \
    }

/* ---- output of a filter ---- */

#define CLI_ROW_WRITE_OUTPUT                                                                                 \
    {                                                                                                        \
        .name = "output", .letter = 'o', .type = CLI_FILE, .value = "FILE",                                  \
        .help = "Write to FILE, which must be given and may be a FILTER.",                                   \
        .more = "It is written beside its name and renamed when it is whole, with the permissions of the "   \
                "file it replaces."                                                                          \
    }
/* `several` is "", or ", the first of several" for a command that reads several filters. */
#define CLI_ROW_WRITE_FORMAT(several)                                                                        \
    {                                                                                                        \
        .name = "format", .type = CLI_CHOICE, .value = "FORMAT", .fallback = "auto", .choices = cli_formats, \
        .help = "Write it as tamis, guava or dcso; auto: as the FILTER is" several "."                       \
    }
#define CLI_ROW_WRITE_QUIET                                                                                  \
    { .name = "quiet", .letter = 'q', .type = CLI_FLAG, .help = "Print no remarks, only errors." }

/* ---- report of a run ---- */

enum {
    CLI_REPORT_STATS,
    CLI_REPORT_JSON,
    CLI_REPORT_PROGRESS,
    CLI_REPORT_NO_PROGRESS,
    CLI_REPORT_QUIET,
    CLI_REPORT
};

#define CLI_ROW_STATS                                                                                        \
    {                                                                                                        \
        .name = "stats", .type = CLI_FLAG, .help = "Print a summary on standard error at the end.",          \
        .more = "It is printed too when a run fails after records were answered, and says so; the error "    \
                "follows it. A summary that cannot be written is an error."                                  \
    }
#define CLI_ROW_JSON                                                                                         \
    {                                                                                                        \
        .name = "json", .type = CLI_FLAG, .help = "Print the summary as one JSON object; implies --stats.",  \
        .more = "Its fields are listed below."                                                               \
    }
#define CLI_ROW_PROGRESS                                                                                     \
    {                                                                                                        \
        .name = "progress", .type = CLI_FLAG,                                                                \
        .help = "Show progress even where standard error is no terminal: a line a second.",                  \
        .more = "By itself progress is shown when standard error is a terminal and no records go to one."    \
    }
#define CLI_ROW_NO_PROGRESS                                                                                  \
    { .name = "no-progress", .type = CLI_FLAG, .help = "Show no progress." }
#define CLI_ROW_QUIET                                                                                        \
    {                                                                                                        \
        .name = "quiet", .letter = 'q', .type = CLI_FLAG,                                                    \
        .help = "No progress and no remarks; errors, and a requested summary, are printed."                  \
    }

#endif
