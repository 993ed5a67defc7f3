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

/* File formats of a filter. The numbers never change. */
typedef enum tamis_format {
    TAMIS_FORMAT_AUTO = 0,  /* reading: detected from the bytes; writing: tamis */
    TAMIS_FORMAT_TAMIS = 1, /* our own format, docs/FORMAT.md: every kind and scheme */
    TAMIS_FORMAT_GUAVA = 2, /* Guava's BloomFilter.writeTo(): classic, scheme guava64 or guava32 */
    TAMIS_FORMAT_DCSO = 3,  /* DCSO bloom, version 1, uncompressed: classic, scheme fnv-dcso */
    /* Filters of RedisBloom: the reply to DUMP, or a key of an RDB file (see tamis_filter_open). They are
     * only looked up, reported, and saved again in this format: as a reply to DUMP, for RESTORE.
     * Reading: keys of the Redis module's own types too (tamis/experimental/module_value.h). Such a filter has
     * format tamis, in which it can be saved. It is only read, since its server would not get its changes; a
     * copy of it can be changed */
    TAMIS_FORMAT_REDISBLOOM = 4
} tamis_format;

/* Returns the name of a format: "auto", "tamis", "guava", "dcso" or "redisbloom"; NULL for any other number.
 * The string is static. */
TAMIS_API const char *tamis_format_name(tamis_format format);
/* Finds a format by its name. TAMIS_E_INVALID: no such format; the message lists all names. */
TAMIS_API tamis_status tamis_format_parse(tamis_format *format, const char *name, tamis_error *err);

/* ---- metadata of a filter ---- */

#define TAMIS_LABELS_MAX 4096 /* largest number of labels; a name has 1 to 255 bytes */

/* A label of a filter: UTF-8 without control characters. Names are unique. */
typedef struct tamis_label {
    const char *name, *value;
} tamis_label;

/* Metadata of a filter. */
typedef struct tamis_metadata {
    uint32_t struct_size;
    tamis_format format; /* format of the file that was read; TAMIS for a new filter */
    uint64_t version;    /* version number from the maker of the filter; 0: none */
    /* Time of creation, in seconds since 1970 UTC. 0: unknown; in a filter that was never saved: set when
     * it is saved. */
    int64_t created;
    const tamis_label *labels; /* sorted by name */
    size_t label_count;
    const void *data; /* dcso: user data of the file */
    size_t data_size;
    /* tamis: a tamis_key_type with its flags, or a number of a later version. The library compares it in a
     * union, and when a handle on a server follows a filter that was replaced. */
    uint32_t key_type;
} tamis_metadata;

#define TAMIS_METADATA_INIT TAMIS__INIT(tamis_metadata, )

/* Returns the metadata. The filter owns what *metadata points to. It is valid until the next
 * tamis_filter_metadata_set, reload, or the end of the filter. */
TAMIS_API tamis_status tamis_filter_metadata_get(const tamis_filter *filter, tamis_metadata *metadata,
                                                 tamis_error *err);
/*
 * Replaces all metadata except `format`. Strings and data are copied. This also works for a filter that was
 * opened read-only, since no file changes before a save. TAMIS_E_INVALID: a label breaks the rules above; the
 * message names it. Nothing is changed on failure.
 */
TAMIS_API tamis_status tamis_filter_metadata_set(tamis_filter *filter, const tamis_metadata *metadata,
                                                 tamis_error *err);

/* ---- bytes in memory ---- */

typedef struct tamis_open_options {
    uint32_t struct_size;
    tamis_format format; /* AUTO: detected from the bytes */
    /* For files. True: the whole file is read and verified into private memory, and keys can be added.
     * False: the file is mapped, shared with other processes, and each block is verified before its first
     * use. */
    bool writable;
    /* For scheme sip: the secret of the filter, TAMIS_E_SECRET if it is another. Without a secret, a keyed
     * filter can be described, verified, merged and copied, but key lookups return TAMIS_E_SECRET. */
    const void *secret;
    size_t secret_size;
    const tamis_allocator *allocator; /* NULL: the default */
    /* Allow over capacity (classic, blocked; TAMIS_E_UNSUPPORTED for others), as in tamis_filter_options.
     * It holds for this handle and its copies, and no file stores it. Without it, an absent key above the
     * capacity is TAMIS_E_FULL, whatever program made the file. Two exceptions accept such keys: a .tamis
     * file made with this option, and a Guava file that stores no capacity. */
    bool allow_over_capacity;
    /* Allow many threads to add and look up at once, as in tamis_filter_options, for writable filters and
     * tamis_filter_decode. A file does not store it: set it at each opening. Lookups in a read-only filter
     * may always run in many threads. TAMIS_E_UNSUPPORTED with bkdr31 and bkdr63. */
    bool concurrent;
} tamis_open_options;

#define TAMIS_OPEN_OPTIONS_INIT TAMIS__INIT(tamis_open_options, )

/* Returns the number of bytes that tamis_filter_encode writes. TAMIS_E_UNSUPPORTED: the format cannot
 * represent this filter. */
TAMIS_API tamis_status tamis_filter_encoded_size(const tamis_filter *filter, tamis_format format,
                                                 uint64_t *size, tamis_error *err);
/* Writes the filter to `bytes`. `size` must be exactly tamis_filter_encoded_size (TAMIS_E_RANGE). Equal
 * filters give equal bytes, except for `created`. O(memory). */
TAMIS_API tamis_status tamis_filter_encode(const tamis_filter *filter, tamis_format format, void *bytes,
                                           uint64_t size, tamis_error *err);
/*
 * Creates a filter from bytes. All bytes are verified and copied, so the caller may free them afterwards.
 * Keys can be added (TAMIS_CAN_ADD), unless the filter is a key of a Redis: options.writable counts as true.
 * The caller owns *filter.
 *
 * - TAMIS_E_FORMAT: the bytes have no known format.
 * - TAMIS_E_DAMAGED: the bytes are cut short or changed, or have impossible parameters. The message names the
 *   field, its value and its bounds, or the block.
 * - TAMIS_E_SECRET: the secret is another. TAMIS_E_MISMATCH: the filter was made without a secret.
 */
TAMIS_API tamis_status tamis_filter_decode(tamis_filter **filter, const void *bytes, uint64_t size,
                                           const tamis_open_options *options, tamis_error *err);

/* ---- files ---- */

/*
 * Opens the filter in a file. The caller owns *filter. A filter of RedisBloom or of the Redis module in an RDB
 * file is named FILE#KEY; a file that has this name itself comes first.
 *
 * If options.writable is false, the file is mapped:
 *
 * - Only the header of a .tamis file is read at once, whatever its size. Files of other programs are read
 *   whole.
 * - Calls that would change the filter return TAMIS_E_UNSUPPORTED.
 * - A lookup in a damaged block returns TAMIS_E_DAMAGED, never an answer. So does a lookup after another
 *   program wrote into the file, which is detected by size and modification time, once for 1024 keys.
 * - Replace a file by rename, as tamis_filter_save does. If a program cuts the file short, a later access
 *   ends the process with SIGBUS, as with every mapping. If you cannot rule that out, open it writable.
 *
 * Errors: those of tamis_filter_decode, and TAMIS_E_IO.
 */
TAMIS_API tamis_status tamis_filter_open(tamis_filter **filter, const char *path,
                                         const tamis_open_options *options, tamis_error *err);

/*
 * Locks a file, existing or not, for a program that opens it, changes the filter and saves it. Until
 * tamis_file_unlock no other process can lock the file or save to it, while this process can. Readers are not
 * affected.
 *
 * - TAMIS_E_BUSY: another process holds the lock; the message names the process, its host and since when. In
 *   one process a file has one lock only.
 * - TAMIS_E_UNSUPPORTED: the file system has no locks. TAMIS_E_IO.
 *
 * The lock binds only programs that use this library. The system releases it when the process ends, in
 * whatever way. While the lock is held, a file ".NAME.tamis-lock" lies beside the file. The caller owns
 * *lock. Any thread may call it.
 */
typedef struct tamis_lock tamis_lock;
TAMIS_API tamis_status tamis_file_lock(tamis_lock **lock, const char *path, tamis_error *err);
TAMIS_API void tamis_file_unlock(tamis_lock *lock);

/*
 * Saves the filter to a file, atomically. It writes a temporary file with the permissions of the old one,
 * syncs it and renames it. So at every instant, even after a power loss, the name refers to the complete old
 * file or the complete new one. A full disk is noticed before the old file is touched. Sets `created` if it
 * is 0.
 *
 * - TAMIS_E_IO: writing failed; the old file is unchanged.
 * - TAMIS_E_BUSY: another process holds the lock (tamis_file_lock) or is saving to the file now; the message
 *   names it.
 * - TAMIS_E_CHANGED: the file has changed since this filter was opened from it; nothing is saved (see below).
 *
 * Lost updates: a filter that was opened from a file, or copied from such a filter, has the contents of that
 * moment. Meanwhile the name may refer to another file, or the file may have been written to. Saving under
 * the same name would lose those changes. Hence TAMIS_E_CHANGED. Programs that all lock the file before they
 * open it do not get this error from each other. A program that ignores the lock may replace the file between
 * the last check and the rename; that change is lost unnoticed. A file that was deleted is created again.
 * After a save the filter counts as opened from the new file. Saves under other names are not checked.
 *
 * A process that is killed during a save may leave a file ".NAME.tamis-..." beside the file. The next save
 * removes it.
 */
TAMIS_API tamis_status tamis_filter_save(tamis_filter *filter, const char *path, tamis_error *err);
/* Like tamis_filter_save, in another format. */
TAMIS_API tamis_status tamis_filter_save_as(tamis_filter *filter, const char *path, tamis_format format,
                                            tamis_error *err);

/*
 * Like tamis_filter_save_as, for a new file: TAMIS_E_CHANGED if the file exists, even if it appears while
 * this one is written. Nothing is replaced. Exception: if the file system has no rename without
 * replacement, a file that appears between the last check and the rename is replaced.
 */
TAMIS_API tamis_status tamis_filter_save_new(tamis_filter *filter, const char *path, tamis_format format,
                                             tamis_error *err);

/*
 * Opens the file again if it was replaced since it was opened. *changed (may be NULL) says whether it was.
 * The file is found by the name under which it was opened, and the secret is the same.
 *
 * - Other threads may look up keys meanwhile. Each batch is answered entirely by the old file or entirely by
 *   the new one.
 * - On failure the old file stays in use, also if the new file is not a filter or has another secret.
 * - TAMIS_E_UNSUPPORTED: the filter is not an opened file, or it was opened writable: its added keys would be
 *   lost.
 * - The hasher stays valid. If the new file has another scheme or seed, hashes made for the old file are
 *   refused.
 * - The plan behind tamis_filter_plan changes. Threads that look up keys meanwhile use tamis_filter_info_get
 *   instead.
 */
TAMIS_API tamis_status tamis_filter_reload(tamis_filter *filter, bool *changed, tamis_error *err);

/* Verifies all blocks of an opened file that are not verified yet. TAMIS_E_DAMAGED: the message names the
 * first bad block and the number of bad blocks. A filter in memory returns TAMIS_OK at once. O(memory). */
TAMIS_API tamis_status tamis_filter_verify(const tamis_filter *filter, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
