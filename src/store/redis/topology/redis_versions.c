/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <openssl/crypto.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "store/redis/topology/proxy_watch.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *tamis_redis_library_version(const char *library) {
    if (strcmp(library, "hiredis") == 0)
        return TEXT(HIREDIS_MAJOR) "." TEXT(HIREDIS_MINOR) "." TEXT(HIREDIS_PATCH);
    if (strcmp(library, "openssl") == 0)
        return OpenSSL_version(OPENSSL_VERSION_STRING);
    if (strcmp(library, "zookeeper") == 0)
        return tamis__zookeeper_version();
    return NULL;
}
