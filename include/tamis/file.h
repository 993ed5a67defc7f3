/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILE_H
#define TAMIS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The forms in which a filter is kept as bytes. The numbers never change. */
typedef enum tamis_format {
    TAMIS_FORMAT_AUTO = 0,  /* reading: seen from the bytes; writing: tamis */
    TAMIS_FORMAT_TAMIS = 1, /* our own, docs/FORMAT.md: every kind and scheme */
    TAMIS_FORMAT_GUAVA = 2, /* BloomFilter.writeTo(): kind classic, scheme guava64 or guava32 */
    TAMIS_FORMAT_DCSO = 3   /* DCSO bloom, version 1, not compressed: kind classic, scheme fnv-dcso */
} tamis_format;

/* "auto", "tamis", "guava", "dcso"; NULL for a number that is no format. */
TAMIS_API const char *tamis_format_name(tamis_format format);
/* The format of that name. TAMIS_E_INVALID names the ones there are. */
TAMIS_API tamis_status tamis_format_parse(const char *name, tamis_format *format, tamis_error *err);

/* ---- what a filter says of itself ---- */

#define TAMIS_LABELS_MAX 4096 /* labels a filter has at the most, with names of 1 to 255 bytes */

/* What the keys of a filter were made of: the filter has their bytes alone. */
typedef enum tamis_key_type {
    TAMIS_KEYS_UNTOLD = 0,
    TAMIS_KEYS_BYTES = 1,
    TAMIS_KEYS_UTF8 = 2,  /* text, and so its bytes */
    TAMIS_KEYS_UTF16 = 3, /* text, as UTF-16, the low byte first */
    TAMIS_KEYS_INT32 = 4, /* two's complement, the low byte first */
    TAMIS_KEYS_INT64 = 5
} tamis_key_type;

/* Added to the type: what was done to each key before it was one, and has to be done to what is asked. */
enum {
    TAMIS_KEYS_FOLDED = 0x100,  /* letters without case: tamis_extractor_options.ignore_case */
    TAMIS_KEYS_TRIMMED = 0x200, /* no blanks at its ends: .trim */
    TAMIS_KEYS_MADE = TAMIS_KEYS_FOLDED | TAMIS_KEYS_TRIMMED
};

/* UTF-8 without control characters; names are unique. */
typedef struct tamis_label {
    const char *name, *value;
} tamis_label;

typedef struct tamis_about {
    uint32_t struct_size;
    tamis_format format; /* it was read in; TAMIS for one made here */
    uint64_t version;    /* whoever made it counts; 0: none */
    int64_t created;     /* seconds since 1970 UTC; 0: not known, or, for one never saved, when it is saved */
    const tamis_label *labels; /* by name */
    size_t label_count;
    const void *data; /* dcso: the user data of the file */
    size_t data_size;
    /* tamis: a tamis_key_type, with TAMIS_KEYS_FOLDED and _TRIMMED, or a number of a later version. A union looks at
     * it, and nothing else here does */
    uint32_t key_type;
} tamis_about;

/* clang-format off */
#define TAMIS_ABOUT_INIT {sizeof(tamis_about), TAMIS_FORMAT_AUTO, 0, 0, NULL, 0, NULL, 0, TAMIS_KEYS_UNTOLD}
/* clang-format on */

/* Fills *about; what it points to is the filter's, until the next tamis_filter_about_set or reload, or its end. */
TAMIS_API tamis_status tamis_filter_about_get(const tamis_filter *filter, tamis_about *about,
                                              tamis_error *err);
/* Replaces all of it but `format`, also in a filter that was opened to be asked only: no file changes before a save.
 * Strings and data are copied. TAMIS_E_INVALID names the label that is not as said above; nothing is changed on
 * failure. */
TAMIS_API tamis_status tamis_filter_about_set(tamis_filter *filter, const tamis_about *about,
                                              tamis_error *err);

/* ---- bytes in memory ---- */

typedef struct tamis_open_options {
    uint32_t struct_size;
    tamis_format format; /* AUTO: seen from the bytes */
    /* A file: read whole and verified, into memory of the filter's own, so that keys can be added; else mapped, shared with
     * who maps it too, and each block is verified before it is first used. */
    bool writable;
    /* For scheme sip: the one it was made with, else TAMIS_E_MISMATCH; without any, a keyed filter can be described,
     * verified, united and copied, but not asked by key (TAMIS_E_MISMATCH). */
    const void *secret;
    size_t secret_size;
    const tamis_allocator *allocator; /* NULL: the default */
    /* Classic, blocked (TAMIS_E_UNSUPPORTED for others): this handle takes keys past the capacity, as tamis_filter_options
     * says, and its copies do; no file keeps that. Without it a fresh key there is TAMIS_E_FULL, from the first on if the
     * file is past its capacity, whatever program made it; but for a .tamis file made with overfill, and a Guava file that
     * tells no capacity. */
    bool overfill;
    /* For writable filters, and for tamis_filter_decode: many threads may add and ask at once, as in tamis_filter_options.
     * A file does not keep this: set it at each opening. Many threads may ask a read-only filter in any case.
     * TAMIS_E_UNSUPPORTED with bkdr31 and bkdr63. */
    bool concurrent;
} tamis_open_options;

/* clang-format off */
#define TAMIS_OPEN_OPTIONS_INIT \
    {sizeof(tamis_open_options), TAMIS_FORMAT_AUTO, false, NULL, 0, NULL, false, false}
/* clang-format on */

/* Bytes that tamis_filter_encode writes. TAMIS_E_UNSUPPORTED where the format cannot say what the filter is. */
TAMIS_API tamis_status tamis_filter_encoded_size(const tamis_filter *filter, tamis_format format,
                                                 uint64_t *size, tamis_error *err);
/* Writes the filter to `bytes`, which has room for just so many (TAMIS_E_RANGE else). The same filter gives the same
 * bytes but for `created`. O(memory). */
TAMIS_API tamis_status tamis_filter_encode(const tamis_filter *filter, tamis_format format, void *bytes,
                                           uint64_t size, tamis_error *err);
/*
 * A filter from bytes, all of them verified and copied: `bytes` is the caller's again afterwards, and keys can be added
 * (options.writable is taken as true). *filter is owned by the caller.
 * TAMIS_E_FORMAT: of no format there is; TAMIS_E_DAMAGED: of one, but cut short, changed, or of impossible parameters;
 * the sentence names field, value and bound, or the block. TAMIS_E_MISMATCH: another secret, or none.
 */
TAMIS_API tamis_status tamis_filter_decode(tamis_filter **filter, const void *bytes, uint64_t size,
                                           const tamis_open_options *options, tamis_error *err);

/* ---- files ---- */

/*
 * Opens the filter in a file. Not writable: nothing but the header of a .tamis file is read, whatever its size (files
 * of other programs are read whole), and calls that would change it are refused (TAMIS_E_UNSUPPORTED); a question whose
 * block turns out damaged is an error (TAMIS_E_DAMAGED), never an answer, and so is one after the file was written in
 * place (seen by size and time of change, once for 1024 keys). Files are replaced by rename, as tamis_filter_save does;
 * one that is cut short ends the process by SIGBUS, as every mapping does. Who cannot rule that out opens it writable.
 * Errors of tamis_filter_decode, and TAMIS_E_IO.
 */
TAMIS_API tamis_status tamis_filter_open(tamis_filter **filter, const char *path,
                                         const tamis_open_options *options, tamis_error *err);

/*
 * Holds a file, there or not yet, for who opens it, changes the filter and saves it: meanwhile no other process saves to
 * it or holds it (TAMIS_E_BUSY, the sentence names process, host and since when), this one does. Who reads it is not kept off. It is
 * advice to programs that use this library; the system gives the lock back when the process ends, however it does.
 * *lock is the caller's until tamis_file_unlock (NULL is fine there). In one process only one lock of a file is given.
 * TAMIS_E_IO; TAMIS_E_UNSUPPORTED where the file system has no locks. Any thread.
 * While it is held a file ".NAME.tamis-lock" lies beside it.
 */
typedef struct tamis_lock tamis_lock;
TAMIS_API tamis_status tamis_file_lock(tamis_lock **lock, const char *path, tamis_error *err);
TAMIS_API void tamis_file_unlock(tamis_lock *lock);

/*
 * Puts the filter into the file of that name, atomically: written aside, with the permissions of the file it replaces,
 * synced and renamed, so that at every instant, power loss included, the name stands for the old file or the new one.
 * A full disk is noticed before the old file is touched. Sets `created` where it is 0. TAMIS_E_IO; TAMIS_E_BUSY where
 * another process holds the file by tamis_file_lock, or saves to it just now, and names it. A process that is killed
 * meanwhile may leave ".NAME.tamis-..." beside the file; the next save takes it away.
 *
 * A filter that was opened, or copied from one that was, and is saved under the very name it was opened by, has of that
 * file what was there then. If the name stands for another file since, or the file was written to, that would be lost,
 * so nothing is saved: TAMIS_E_STALE. Programs that hold the file from before they open it (tamis_file_lock) do not do
 * that to each other. What one that knows no lock puts there in the instant between the last look and the rename is lost
 * unseen. A file that is no longer there is made again. After a save the name stands for what was saved. Other names are
 * not looked at.
 */
TAMIS_API tamis_status tamis_filter_save(tamis_filter *filter, const char *path, tamis_error *err);
/* The same in another format. */
TAMIS_API tamis_status tamis_filter_save_as(tamis_filter *filter, const char *path, tamis_format format,
                                            tamis_error *err);

/* The same for a filter that is to be the first of that name: TAMIS_E_STALE if there is a file, also one that comes while
 * this one is written; nothing is replaced. (Where the file system cannot rename so, one that comes between the last
 * look and the rename is.) */
TAMIS_API tamis_status tamis_filter_save_new(tamis_filter *filter, const char *path, tamis_format format,
                                             tamis_error *err);

/*
 * Takes the file anew if it was replaced since it was opened: *changed (may be NULL) says so. Other threads may ask the
 * filter meanwhile: each batch is answered by the old file or by the new one, whole. On failure, also where the new file
 * is no filter or of another secret, the old one stays. TAMIS_E_UNSUPPORTED for a filter that is not an opened file or
 * was opened writable: the keys added to it would be lost. The file is found by the name it was opened by; a secret was
 * copied. The hasher stays valid, but hashes of the old file are refused where the new one has another scheme or seed.
 * What tamis_filter_plan points to changes: threads that ask meanwhile use tamis_filter_info_get.
 */
TAMIS_API tamis_status tamis_filter_reload(tamis_filter *filter, bool *changed, tamis_error *err);

/* Reads every block of an opened file that was not verified before. TAMIS_E_DAMAGED names the first bad block and how
 * many there are. TAMIS_OK at once for a filter in memory. O(memory). */
TAMIS_API tamis_status tamis_filter_verify(const tamis_filter *filter, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
