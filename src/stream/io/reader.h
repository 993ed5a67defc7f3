/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_READER_H
#define TAMIS_STREAM_IO_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <tamis/key.h>

#include "base/memory.h"
#include "stream/codec/decompressor.h"
#include "stream/io/change_reports.h"
#include "stream/io/poll_loop.h"
#include "stream/io/rotation.h"

/*
 * Reads the inputs one after the other and cuts them into records. Nothing is copied: a batch is an array of
 * views into a read buffer.
 */
typedef struct tamis__reader_setup {
    const char *const *inputs; /* borrowed while the reader lives */
    size_t input_count;        /* 0: standard input */
    size_t first_input;        /* index of inputs[0] among those of the run */
    uint64_t max_record;
    size_t read_size;  /* initial size of a buffer, at least 1 */
    size_t batch_size; /* largest number of records in a batch, at least 1 */
    size_t batches;    /* largest number of batches in use at once, at least 1 */
    unsigned char terminator;
    bool follow;                    /* follow the last one of `inputs` */
    tamis__change_reports *reports; /* for `follow`; borrowed */
    /* A compressed input is not followed, but read to its end. False: it is an error. */
    bool reads_compressed;
    bool stops_when_removed; /* a followed file that was removed, and has no successor, ends after a while */
    /* A followed file that has lost its name ends the reading, and one that was truncated fails with
     * TAMIS_E_CHANGED. The caller goes on with another reader. */
    bool stops_when_left;
    bool header;              /* the first record of an input is a header, which messages do not count */
    bool skips_bom;           /* skip a byte order mark at the start of an input */
    bool csv;                 /* terminators within quotes do not end a record */
    unsigned char delimiter;  /* CSV delimiter */
    bool defers_unterminated; /* leave a last record without terminator, in regular uncompressed files */
    bool defers_cut; /* leave such a record in pipes too: their writer may have been killed within it */
    /* Start position in each input, as an earlier reader left it; NULL: begin at the start. Borrowed. */
    const struct tamis__reader_start {
        bool skipped;    /* finished earlier: do not open this input */
        uint64_t offset; /* decompressed bytes to skip, whole records; ignored if not a regular file */
        uint64_t records, lines; /* records skipped, with the header; line ends skipped, for CSV */
    } * from;
    /* Called for each opened input before it is read. An error ends the reading. May be NULL. */
    tamis_status (*opened)(void *context, size_t input, int fd, const struct stat *st, tamis_error *err);
    /* Called when a byte order mark of `bytes` bytes was skipped. May be NULL. */
    void (*bom_skipped)(void *context, size_t input, uint64_t bytes);
    /* Called when the last record of an input was left, because it has no terminator. May be NULL. */
    void (*deferred)(void *context, size_t input);
    /* Called with messages for people about the followed input. May be NULL. */
    void (*remark)(void *context, const char *message);
    void *context; /* argument of the four functions */
    /* Counter of bytes read from the files, compressed or not; without those skipped by `from`. May be
     * NULL. */
    uint64_t *bytes_read;
    uint64_t *read_time; /* timers (clock.h); may be NULL */
    uint64_t *split_time;
} tamis__reader_setup;

/* A followed file that was left, if it is open. */
typedef struct tamis__previous_file {
    bool open;
    int fd;
    off_t size;                 /* bytes of it that were read */
    struct timespec written_at; /* its position in the order of rotation; 0: not known */
} tamis__previous_file;

enum { TAMIS__LAST_BYTES = 64 /* bytes kept to notice that a file was overwritten */ };

/* A buffer that batches are views into. */
typedef struct tamis__read_buffer {
    unsigned char *bytes; /* NULL: not allocated */
    size_t capacity;
    size_t batches; /* batches with views into it */
} tamis__read_buffer;

/*
 * Consecutive records in a buffer, each followed by its terminator:
 *
 *     begin                                                   end
 *     | record 0 | term. | record 1 | term. | record 2 | term. |
 *     records[0]         records[1]         records[2]
 *
 * Valid until tamis__reader_give_back.
 */
typedef struct tamis__record_batch {
    tamis__read_buffer *buffer;
    tamis_key *records;
    size_t count;
    struct tamis__reader *reader; /* owner of the buffer; set by tamis__reader_set_next */
    const char *input;            /* name of the input, for messages */
    uint64_t first;               /* number of the first record in its input, from 1 */
    uint64_t line;                /* number of its first line, if records are lines */
    uint64_t offset;              /* offset of `begin` in the decompressed input */
    const unsigned char *begin, *end;
    bool has_bom;      /* first batch of an input that began with a byte order mark */
    bool restarted;    /* the followed file was truncated and is read again from its start */
    bool unterminated; /* the last record has no terminator */
} tamis__record_batch;

typedef enum tamis__reader_event {
    TAMIS__READER_RECORDS, /* the batch has at least one record */
    /* No whole record is left, and the input would block or the followed file has ended: flush, then wait. */
    TAMIS__READER_IDLE,
    TAMIS__READER_END /* all inputs have ended */
} tamis__reader_event;

typedef struct tamis__reader {
    tamis__reader_setup setup;
    tamis__poll_loop *loop;
    tamis_allocator memory;
    tamis__read_buffer *buffers;       /* setup.batches + 1 of them */
    tamis__read_buffer *into;          /* buffer that is read into */
    size_t limit;                      /* bytes of it in use; its capacity may be larger */
    size_t start;                      /* offset of the first record not handed out */
    size_t scan;                       /* no terminator between `start` and here */
    size_t end;                        /* end of the bytes read */
    size_t next_input;                 /* index of the input to open next */
    int fd;                            /* open input; -1: none */
    tamis__decompressor *decompressor; /* its decompressor; NULL: not compressed */
    bool has_bom;                      /* a byte order mark was skipped in it */
    bool undecided;                    /* too few bytes read to know whether it is compressed */
    bool borrowed;                     /* fd was open before us and stays open */
    bool may_block;                    /* not a regular file */
    bool waiting;                      /* at the end of the followed file */
    bool has_reports;                  /* the directory of the followed name is in setup.reports */
    bool frees_unused;                 /* unused buffers are freed until the next read */
    bool following;                    /* an earlier file of the followed name was read */
    struct stat last;                  /* that file */
    tamis__rotation_step rotation;     /* of the open file; path "": it was not rotated away */
    bool restarted;                    /* the followed file was truncated or overwritten, and is read again */
    bool unverified;                   /* it may have been overwritten since the last read */
    unsigned char last_bytes[TAMIS__LAST_BYTES]; /* followed file: the last bytes read */
    size_t last_size;
    const char *followed_name;     /* name that the followed file has or had; NULL: that of the input */
    tamis__previous_file previous; /* the followed file before this one, until it grows */
    uint64_t nameless_since;       /* time at which the name lost its file (tamis__now_ns); 0: it has one */
    bool nameless_reported;
    bool removed;               /* the followed file was removed, and its reading has ended */
    bool truncated;             /* bytes that were read are gone: the run must be closed */
    bool replaced;              /* another file comes next; switch to it after this one's end */
    uint64_t replaced_at;       /* time at which another file was first seen under its name; 0: not yet */
    struct timespec written_at; /* last write before replaced_at: its position in the order of rotation */
    uint64_t read_at;           /* time at which bytes of a followed file were last read */
    bool has_local_writers;     /* bytes were read after a report: their writers are on this machine */
    dev_t device;               /* identifies the open file */
    ino_t inode;
    bool skipping;         /* still skipping to setup.from */
    off_t base;            /* offset of the input in its file; an inherited descriptor may not be at 0 */
    const char *name;      /* name of the open input, for messages */
    uint64_t file_offset;  /* decompressed offset of `start` in the input */
    uint64_t file_records; /* records handed out of this input */
    uint64_t file_counted; /* the same without its header, for messages */
    uint64_t file_lines;   /* CSV: line ends handed out */
    uint8_t csv_state;     /* CSV: parser state at `scan` (tamis__split_csv) */
} tamis__reader;

/* Allocates memory, opens nothing. `loop` is borrowed. Call release in any case, after an error too. */
tamis_status tamis__reader_init(tamis__reader *reader, const tamis__reader_setup *setup,
                                tamis__poll_loop *loop, const tamis_allocator *memory, tamis_error *err);
void tamis__reader_release(tamis__reader *reader);

/* Opens the first input, unless it is open. Else the first tamis__reader_next does. */
tamis_status tamis__reader_open(tamis__reader *reader, tamis_error *err);

/*
 * Returns the next event. batch->records is set before: the array for the views, of capacity batch_size. For
 * RECORDS, the rest of *batch is set. At most setup.batches batches may be in use at once.
 *
 * TAMIS_E_INTERRUPTED between two reads if the run is to stop. TAMIS_E_TOO_LONG, TAMIS_E_IO, TAMIS_E_NOMEM,
 * TAMIS_E_DAMAGED, TAMIS_E_UNSUPPORTED (for compressed inputs) with the input and the position in the
 * message. All whole records before the error were returned, and no part of another one.
 */
tamis_status tamis__reader_next(tamis__reader *reader, tamis__record_batch *batch, tamis__reader_event *event,
                                tamis_error *err);

/* Releases a batch. Its views become invalid. */
void tamis__reader_give_back(tamis__reader *reader, const tamis__record_batch *batch);

/* True if the batches in use hold so much memory that some should be released before the next read. */
bool tamis__reader_is_full(const tamis__reader *reader, const tamis__read_buffer *waiting);

/* Bytes counted as read that are in no batch yet; 0 for compressed inputs. */
size_t tamis__reader_ahead(const tamis__reader *reader);

/* Index of the input of the last event, among the inputs of the run; after END that of the last input. */
size_t tamis__reader_input(const tamis__reader *reader);

/* Returns the bytes of the open file that were not read yet, compressed if they are. UINT64_MAX: it is not a
 * regular file. */
uint64_t tamis__reader_bytes_left(const tamis__reader *reader);

/* Call before the first read: the input is a file that has or had the name. `previous` is the file before
 * it. The reader owns it, and reports when it grows. */
void tamis__reader_set_followed(tamis__reader *reader, const char *name, tamis__previous_file previous);

/* True if another file has the name of the followed one, which is read until its writers have closed it. */
bool tamis__reader_is_replaced(const tamis__reader *reader);

/* True if, with setup.stops_when_left, the followed file was left at its end. */
bool tamis__reader_has_left(const tamis__reader *reader);

/* With setup.stops_when_left, after END: returns the file that has lost its name, for the next reader. It is
 * not open if the reading ended otherwise. */
tamis__previous_file tamis__reader_hand_over_previous(tamis__reader *reader);

/* Frees buffers that no batch uses, until the next read. */
void tamis__reader_free_unused(tamis__reader *reader);

/* True if the open file is the followed one: it may grow. */
bool tamis__reader_is_followed(const tamis__reader *reader);

/* True after IDLE at the end of a followed file: wait for setup.reports. False: wait for the input, by
 * tamis__reader_wait. */
bool tamis__reader_is_at_end(const tamis__reader *reader);
/* Call before each wait for setup.reports. */
void tamis__reader_prepare_wait(tamis__reader *reader);
/* Waits after IDLE until the input, a pipe, has something to read. */
tamis_status tamis__reader_wait(tamis__reader *reader, tamis_error *err);

#endif
