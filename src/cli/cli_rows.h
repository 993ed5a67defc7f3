/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_ROWS_H
#define TAMIS_CLI_ROWS_H

/*
 * Options that several commands take, as rows of their tables, in blocks. A table that has a block has its rows
 * side by side and in this order, so that one function reads the block wherever it stands: cli_stream.h, cli_filter.h,
 * cli_about.h.
 */
#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/cli_choice.h"
#include "cli/cli_key.h"

#define CLI_EXBIBYTE (UINT64_C(1) << 60)

/* ---- what a record is ---- */

enum { CLI_RECORDS_ZERO, CLI_RECORDS_MAX, CLI_RECORDS_TYPE, CLI_RECORDS_HEX, CLI_RECORDS };

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

/* Of what is given: "record". */
#define CLI_ROW_TYPE(what)                                                                                   \
    {                                                                                                        \
        .name = "type", .type = CLI_CHOICE, .value = "TYPE", .fallback = "bytes", .choices = cli_key_types,  \
        .help = "What a " what " is: bytes, utf8, utf16, int32 or int64.",                                   \
        .more =                                                                                              \
            "bytes are hashed as they are. utf8 is the same for text, and refuses what is no UTF-8. "        \
            "utf16 is UTF-8 too, hashed as UTF-16LE, which is what a String of Java holds. int32 and "       \
            "int64 are numbers in decimal, hashed as 4 or 8 bytes in little-endian order; a sign and "       \
            "leading zeros are allowed, so that 7, +7 and 007 are one key, and blanks are not. These "       \
            "are the bytes of Guava's byteArrayFunnel, stringFunnel(UTF_8), unencodedCharsFunnel, "          \
            "integerFunnel and longFunnel. A .tamis file keeps the type that build was given, which then "   \
            "need not be given again, and contradicts another one; files of other programs keep none, so "   \
            "give it."                                                                                       \
    }
/* Of what is given: "Records". */
#define CLI_ROW_HEX(what)                                                                                    \
    {                                                                                                        \
        .name = "hex", .type = CLI_FLAG,                                                                     \
        .help = what " are hexadecimal digits, two for each byte of the key.",                               \
        .more = "What is printed is printed as it came. Upper and lower case are the same key."              \
    }

#define CLI_ROW_DELIMITER                                                                                    \
    {                                                                                                        \
        .name = "delimiter", .type = CLI_TEXT, .value = "BYTE", .fallback = "tab",                           \
        .help = "What stands between the fields that {N} in FILTER takes from a record.",                    \
        .more = "One byte; nothing quotes one within a field. The notes say more of such filters."           \
    }
#define CLI_NOTE_DCSO                                                                                        \
    "For a filter of scheme fnv-dcso, as files of DCSO have it, a carriage return at the end of a line is "  \
    "no part of the key, as bloom of DCSO takes lines; the record keeps it. With --zero-terminated or "      \
    "--hex "                                                                                                 \
    "every byte counts."
#define CLI_NOTE_FAMILY                                                                                      \
    "A FILTER on a server may be a family, one small filter for each user and day, say. In the name of its " \
    "URI {1} stands for the first field of a record, {2} for the second, and so on; its other fields, with " \
    "the delimiters between them, are the key. A record without such a field, or with no other, ends the "   \
    "run when those before it are answered, and so does one that names a filter with no byte, or with more " \
    "than 512. All names of a batch are asked in one round trip. Of layouts java and php1 to php3 each is "  \
    "just the filter of its name, which other programs share and other commands take; of layout tamis the "  \
    "family has one plan, under its name with * for each field, and is what tamis redis drops and expires. " \
    "A filter of a family that is gone reads as one without keys: keep them from eviction. Braces that "     \
    "stand for no field are bytes of the name; one that would is written %7B."

/* ---- how a filter is written ---- */

#define CLI_ROW_GZIP                                                                                         \
    {                                                                                                        \
        .name = "gzip", .type = CLI_FLAG, .help = "Compress the file with gzip.",                            \
        .more = "Worth it for a filter that is nearly empty or to be shipped once: a full one does not "     \
                "shrink, and a compressed one is unpacked into memory each time it is opened."               \
    }

/* ---- what filter is made ---- */

enum {
    CLI_PLAN_EXPECT, /* each command says itself what comes without it */
    CLI_PLAN_FPR,    /* and what a wrong answer is, and its default */
    CLI_PLAN_MEMORY,
    CLI_PLAN_KIND,
    CLI_PLAN_EXACT,
    CLI_PLAN_SCHEME,
    CLI_PLAN_SEED,
    CLI_PLAN_SECRET,
    CLI_PLAN
};

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
/* The same, of a filter that is there. */
#define CLI_ROW_ITS_SECRET                                                                                   \
    {                                                                                                        \
        .name = "secret-file", .type = CLI_FILE, .value = "FILE",                                            \
        .help = "The secret that a keyed filter was made with: the bytes of FILE.",                          \
        .more = "Every byte of the file counts, a newline at its end too. Standard input is /dev/stdin "     \
                "here, not -."                                                                               \
    }

/* ---- what a filter that is written says of itself ---- */

enum { CLI_ABOUT_LABEL, CLI_ABOUT_VERSION, CLI_ABOUT };

#define CLI_ROW_LABEL                                                                                        \
    {                                                                                                        \
        .name = "label", .type = CLI_TEXT, .value = "NAME=VALUE",                                            \
        .help = "Put a label into the file; may be given again, with another NAME.",                         \
        .more = "Where a FILTER that is read has one of that name, this takes its place. tamis info prints " \
                "it.",                                                                                       \
        .many = true                                                                                         \
    }
#define CLI_ROW_FILTER_VERSION                                                                               \
    {                                                                                                        \
        .name = "filter-version", .type = CLI_SEED, .value = "N",                                            \
        .help = "Version of the filter, for whoever ships it; 0 is none."                                    \
    }

/* ---- where a filter that was read is written ---- */

#define CLI_ROW_WRITE_OUTPUT                                                                                 \
    {                                                                                                        \
        .name = "output", .letter = 'o', .type = CLI_FILE, .value = "FILE",                                  \
        .help = "Write to FILE, which must be given and may be a FILTER.",                                   \
        .more = "It is written beside its name and renamed when it is whole, with the permissions of the "   \
                "file it replaces."                                                                          \
    }
/* Of which of several, for a command that reads more than one: ", the first of several". */
#define CLI_ROW_WRITE_FORMAT(several)                                                                        \
    {                                                                                                        \
        .name = "format", .type = CLI_CHOICE, .value = "FORMAT", .fallback = "auto", .choices = cli_formats, \
        .help = "Write it as tamis, guava or dcso; auto: as the FILTER is" several "."                       \
    }
#define CLI_ROW_WRITE_QUIET                                                                                  \
    { .name = "quiet", .letter = 'q', .type = CLI_FLAG, .help = "Print no remarks, only errors." }

/* ---- what is said of a run ---- */

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
        .help = "No progress and no remarks; errors, and a summary asked for, are printed."                  \
    }

#endif
