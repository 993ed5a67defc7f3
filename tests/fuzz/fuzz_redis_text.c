/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Texts from outside. Byte 0 of the input selects what the rest is:
 *
 *     0  a URI       1  a name with parameters       2, 3  the plan of a filter or of a family, layout tamis
 *     4  the description of a Codis proxy in ZooKeeper
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout/layout_tamis.h"
#include "store/redis/topology/proxy_watch.h"
#include "support/fault.h"

static fault_memory memory;
static tamis_allocator allocator;

static void check(bool holds) {
    if (!holds)
        abort();
}

static void check_failed(tamis_status status, tamis_status expected, const tamis_error *err) {
    check(status == expected && err->status == status && *err->text && !strchr(err->text, '\n'));
}

/* ---- URIs ---- */

/* Shows the URI in a buffer of that size. */
static void show(const char *text, size_t buffer_size) {
    char *to = malloc(buffer_size);
    check(to);
    check(tamis_redis_uri_show(text, to, buffer_size) < buffer_size && strlen(to) < buffer_size);
    free(to);
}

/* A shown URI does not contain its password, unless another part of it is the same text. */
static void password_is_hidden(const tamis__redis_uri *uri, const char *text) {
    const char *host = strrchr(text, '@');
    if (!uri->password || strlen(uri->password) < 4 || strstr("redis+cluster://sentinel:zk", uri->password))
        return;
    check(host);
    if (!strstr(host, uri->password))
        check(!strstr(uri->shown, uri->password) && !strstr(uri->shown_name, uri->password));
}

static void check_parameters(tamis__redis_uri *uri) {
    static const char name[] = "none that was read"; /* the names passed to the parser are constants */
    tamis_error unused = TAMIS_ERROR_INIT;
    tamis_status used = tamis__redis_uri_check_used(uri, &unused);
    if (used != TAMIS_OK)
        check_failed(used, TAMIS_E_INVALID, &unused);
    for (size_t i = 0; i < uri->parameter_count; i++) {
        tamis_error err = TAMIS_ERROR_INIT;
        uint64_t count = 5, ms = 0;
        double rate = 0.5;
        uri->parameters[i].name = name;
        tamis_status status =
            tamis__redis_uri_count(uri, name, (tamis__count_range){2, 1 << 20}, &count, &err);
        if (status != TAMIS_OK)
            check_failed(status, TAMIS_E_INVALID, &err);
        check(count >= 2 && count <= 1 << 20);
        status = tamis__redis_uri_rate(uri, name, &rate, &err);
        if (status != TAMIS_OK)
            check_failed(status, TAMIS_E_INVALID, &err);
        check(rate > 0 && rate < 1);
        status = tamis__redis_uri_time(uri, name, &ms, &err);
        if (status != TAMIS_OK)
            check_failed(status, TAMIS_E_INVALID, &err);
        check(ms <= UINT64_C(1) << 50);
        uri->parameters[i].name = "";
    }
    check(tamis__redis_uri_check_used(uri, NULL) == TAMIS_OK);
}

static void read_uri(const char *text, bool is_name) {
    tamis__redis_uri uri;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = is_name ? tamis__redis_uri_parse_name(&uri, text, &allocator, &err)
                                  : tamis__redis_uri_parse(&uri, text, &allocator, &err);
    if (status == TAMIS_OK) {
        check(is_name ? uri.address_count == 0
                      : uri.address_count >= 1 && uri.address_count <= TAMIS__REDIS_ADDRESSES);
        for (size_t i = 0; i < uri.address_count; i++)
            check(*uri.addresses[i].host);
        check(!uri.name || uri.name_size < uri.block_size);
        password_is_hidden(&uri, text);
        check_parameters(&uri);
        status = tamis__redis_uri_server(&uri, &err);
        check(status != TAMIS_OK || !uri.name);
    }
    if (status != TAMIS_OK)
        check_failed(status, TAMIS_E_INVALID, &err);
    tamis__redis_uri_release(&uri);
    show(text, 1 + strlen(text) % 16);
    show(text, 300);
}

/* ---- plans ---- */

/* A parsed plan, written again, has the same text. */
static void comes_back(tamis_filter *filter, const tamis__parsed_plan *reported) {
    tamis__redis_filter *remote = tamis__redis_of(filter);
    char text[TAMIS__REDIS_PLAN];
    tamis__parsed_plan again;
    tamis_scheme scheme;
    if (reported->has_secret || tamis_scheme_parse(&scheme, reported->scheme, NULL) != TAMIS_OK)
        return;
    tamis_hasher_options hashing = TAMIS_HASHER_OPTIONS_INIT;
    hashing.scheme = TAMIS_SCHEME_XXH3; /* takes any seed */
    hashing.seed = reported->seed;
    check(tamis_hasher_create(&filter->hasher, &hashing, NULL) == TAMIS_OK);
    const tamis__partitions partitions =
        tamis__partitions_of(remote, reported->generation, reported->bits, reported->partition);
    filter->plan.scheme = scheme;
    filter->plan.bits = reported->bits;
    filter->plan.probes = (uint32_t)reported->probes;
    filter->plan.capacity = reported->expect;
    filter->plan.fpr = reported->fpr;
    tamis__plan_text_write(filter, &partitions, text);
    check(tamis__plan_text_read(remote, text, &again, NULL) == TAMIS_OK);
    check(again.seed == reported->seed && again.partition == reported->partition &&
          again.bits == reported->bits && again.generation == reported->generation &&
          again.probes == reported->probes && again.expect == reported->expect &&
          again.fpr == reported->fpr && strcmp(again.scheme, reported->scheme) == 0);
}

static void read_plan(const char *text, bool is_family) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter;
    tamis__parsed_plan reported;
    check(tamis__redis_name(&filter, NULL, "redis://127.0.0.1:1/n", &allocator, NULL) == TAMIS_OK);
    tamis__redis_of(filter)->is_family = is_family;
    tamis_status status = tamis__plan_text_read(tamis__redis_of(filter), text, &reported, &err);
    if (status == TAMIS_OK)
        comes_back(filter, &reported);
    else
        check_failed(status, status == TAMIS_E_MISMATCH ? status : TAMIS_E_DAMAGED, &err);
    tamis_filter_free(filter);
}

/* ---- proxies ---- */

static void read_proxy(const char *data, size_t size) {
    tamis__proxy proxy;
    bool is_online = true;
    const bool is_proxy = tamis__proxy_read(&proxy, &is_online, data, size);
    check(is_proxy || !is_online);
    if (is_proxy)
        check(memchr(proxy.host, '\0', sizeof proxy.host) && *proxy.host && proxy.port > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    const uint8_t what = data[0] % 5;
    char *text = malloc(size); /* exactly its size, and a NUL */
    check(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    allocator = fault_memory_allocator(&memory);
    if (what < 2)
        read_uri(text, what == 1);
    else if (what < 4)
        read_plan(text, what == 3);
    else
        read_proxy(text, size - 1);
    free(text);
    check(memory.live_blocks == 0);
    return 0;
}
