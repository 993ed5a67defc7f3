/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A library for LD_PRELOAD that ends or stops a process at a chosen call of librdkafka, or of send(), so that
 * every step of the protocol is reached, not only those that take long. KAFKA_FAULT is FUNCTION:FAULT:N, for
 * the Nth call of the function, or for each call if N is 0:
 *
 *     before    SIGKILL in front of the call
 *     after     SIGKILL behind it
 *     lost      the call is made, but the caller gets an error, as if the answer had been lost
 *     pause     SIGSTOP in front of the call, which is made after SIGCONT
 *
 * Function cut is the request to remove records. If it is lost, it is not made. `after` waits until it was carried
 * out.
 *
 * Function member returns the id of the member. If it is lost, there is none.
 *
 * Function delivery is the callback that reports the delivery of a record. If it is lost, it reports a
 * time-out.
 *
 * Functions script and redis are the sending of scripts and of other commands to a Redis. If they are lost, the
 * connection ends behind them.
 */
#include <dlfcn.h>
#pragma GCC visibility push(default) /* so that its functions are replaced by those here */
#include <librdkafka/rdkafka.h>
#include <sys/socket.h>
#pragma GCC visibility pop
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *fault_of(const char *function) {
    static int calls;
    const char *given = getenv("KAFKA_FAULT"), *colon, *second;
    const size_t size = strlen(function);

    if (!given || strncmp(given, function, size) != 0 || given[size] != ':')
        return "";
    colon = given + size + 1;
    second = strchr(colon, ':');
    if (!second || (++calls != atoi(second + 1) && atoi(second + 1) != 0))
        return "";
    return colon;
}

static int is_fault(const char *fault, const char *name) {
    return strncmp(fault, name, strlen(name)) == 0;
}

static void die_if(int condition) {
    if (condition)
        kill(getpid(), SIGKILL);
}

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

/* Calls the real function. ISO C has no cast from an object pointer to a function pointer. */
#define CALL(result, function, ...)                                                                          \
    do {                                                                                                     \
        void *found_ = real(#function);                                                                      \
        __typeof__(function) *call_;                                                                         \
        memcpy(&call_, &found_, sizeof call_);                                                               \
        die_if(is_fault(fault, "before"));                                                                   \
        if (is_fault(fault, "pause"))                                                                        \
            raise(SIGSTOP);                                                                                  \
        result = call_(__VA_ARGS__);                                                                         \
        die_if(is_fault(fault, "after"));                                                                    \
    } while (0)

static rd_kafka_error_t *lose(const char *fault, rd_kafka_error_t *error) {
    if (!is_fault(fault, "lost") || error)
        return error;
    return rd_kafka_error_new(RD_KAFKA_RESP_ERR__FAIL, "the answer was lost");
}

rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *handle, int milliseconds) {
    const char *fault = fault_of("init");
    rd_kafka_error_t *error;

    CALL(error, rd_kafka_init_transactions, handle, milliseconds);
    return error;
}

rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *handle) {
    const char *fault = fault_of("begin");
    rd_kafka_error_t *error;

    CALL(error, rd_kafka_begin_transaction, handle);
    return lose(fault, error);
}

rd_kafka_error_t *rd_kafka_produceva(rd_kafka_t *handle, const rd_kafka_vu_t *parts, size_t count) {
    const char *fault = fault_of("produce");
    rd_kafka_error_t *error;

    CALL(error, rd_kafka_produceva, handle, parts, count);
    return error;
}

rd_kafka_resp_err_t rd_kafka_flush(rd_kafka_t *handle, int milliseconds) {
    const char *fault = fault_of("flush");
    rd_kafka_resp_err_t code;

    CALL(code, rd_kafka_flush, handle, milliseconds);
    return code;
}

rd_kafka_error_t *rd_kafka_send_offsets_to_transaction(rd_kafka_t *handle,
                                                       const rd_kafka_topic_partition_list_t *offsets,
                                                       const rd_kafka_consumer_group_metadata_t *group,
                                                       int milliseconds) {
    const char *fault = fault_of("offsets");
    rd_kafka_error_t *error;

    CALL(error, rd_kafka_send_offsets_to_transaction, handle, offsets, group, milliseconds);
    return lose(fault, error);
}

rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *handle, int milliseconds) {
    const char *fault = fault_of("commit");
    rd_kafka_error_t *error;

    CALL(error, rd_kafka_commit_transaction, handle, milliseconds);
    return lose(fault, error);
}

void rd_kafka_ListConsumerGroupOffsets(rd_kafka_t *handle, rd_kafka_ListConsumerGroupOffsets_t **groups,
                                       size_t count, const rd_kafka_AdminOptions_t *options,
                                       rd_kafka_queue_t *queue) {
    const char *fault = fault_of("committed");
    void *found = real("rd_kafka_ListConsumerGroupOffsets");
    __typeof__(rd_kafka_ListConsumerGroupOffsets) *call;

    memcpy(&call, &found, sizeof call);
    die_if(is_fault(fault, "before"));
    if (is_fault(fault, "pause"))
        raise(SIGSTOP);
    call(handle, groups, count, options, queue);
    die_if(is_fault(fault, "after"));
}

rd_kafka_resp_err_t rd_kafka_committed(rd_kafka_t *handle, rd_kafka_topic_partition_list_t *partitions,
                                       int milliseconds) {
    const char *fault = fault_of("committed");
    rd_kafka_resp_err_t code;

    CALL(code, rd_kafka_committed, handle, partitions, milliseconds);
    return code;
}

rd_kafka_resp_err_t rd_kafka_assign(rd_kafka_t *handle, const rd_kafka_topic_partition_list_t *partitions) {
    const char *fault = fault_of("assign");
    rd_kafka_resp_err_t code;

    CALL(code, rd_kafka_assign, handle, partitions);
    return code;
}

char *rd_kafka_memberid(const rd_kafka_t *handle) {
    const char *fault = fault_of("member");
    char *id;

    CALL(id, rd_kafka_memberid, handle);
    if (id && is_fault(fault, "lost"))
        id[0] = '\0';
    return id;
}

int rd_kafka_consume_start_queue(rd_kafka_topic_t *topic, int32_t partition, int64_t offset,
                                 rd_kafka_queue_t *queue) {
    const char *fault = fault_of("read");
    int result;

    CALL(result, rd_kafka_consume_start_queue, topic, partition, offset, queue);
    return result;
}

void rd_kafka_DeleteRecords(rd_kafka_t *handle, rd_kafka_DeleteRecords_t **requests, size_t count,
                            const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue) {
    const char *fault = fault_of("cut");
    void *found = real("rd_kafka_DeleteRecords");
    __typeof__(rd_kafka_DeleteRecords) *call;

    memcpy(&call, &found, sizeof call);
    die_if(is_fault(fault, "before"));
    if (!is_fault(fault, "lost"))
        call(handle, requests, count, options, queue);
    if (is_fault(fault, "after"))
        usleep(3000000);
    die_if(is_fault(fault, "after"));
}

rd_kafka_resp_err_t rd_kafka_commit_queue(rd_kafka_t *handle, const rd_kafka_topic_partition_list_t *offsets,
                                          rd_kafka_queue_t *queue,
                                          void (*callback)(rd_kafka_t *handle, rd_kafka_resp_err_t code,
                                                           rd_kafka_topic_partition_list_t *offsets,
                                                           void *context),
                                          void *context) {
    const char *fault = fault_of("offset");
    rd_kafka_resp_err_t code;

    CALL(code, rd_kafka_commit_queue, handle, offsets, queue, callback, context);
    return is_fault(fault, "lost") ? RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT : code;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    const char *fault = fault_of(memmem(bytes, size, "EVAL", 4) ? "script" : "redis");
    ssize_t sent;

    CALL(sent, send, fd, bytes, size, flags);
    if (is_fault(fault, "lost")) {
        usleep(20000); /* so that the server has carried it out */
        shutdown(fd, SHUT_RDWR);
    }
    return sent;
}

typedef void delivery_callback(rd_kafka_t *handle, const rd_kafka_message_t *message, void *context);
static delivery_callback *report_delivery;

static void on_delivery(rd_kafka_t *handle, const rd_kafka_message_t *message, void *context) {
    rd_kafka_message_t changed = *message;

    if (is_fault(fault_of("delivery"), "lost"))
        changed.err = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
    report_delivery(handle, &changed, context);
}

void rd_kafka_conf_set_dr_msg_cb(rd_kafka_conf_t *conf, delivery_callback *callback) {
    void *found = real("rd_kafka_conf_set_dr_msg_cb");
    __typeof__(rd_kafka_conf_set_dr_msg_cb) *call;

    report_delivery = callback;
    memcpy(&call, &found, sizeof call);
    call(conf, on_delivery);
}
