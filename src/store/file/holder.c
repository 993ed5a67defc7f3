/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/file/holder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"

static const char since[] = " since ";

tamis__holder tamis__holder_now(void) {
    tamis__holder holder;
    char host[256] = "", time_text[40] = "";
    const time_t now = (time_t)tamis__now_unix();
    struct tm utc;
    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    for (char *c = host; *c; c++)
        if (*c == '\n')
            *c = ' ';
    if (gmtime_r(&now, &utc))
        strftime(time_text, sizeof time_text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(holder.text, sizeof holder.text, "%ld on %s%s%s", (long)getpid(), host, since, time_text);
    return holder;
}

bool tamis__holder_is_us(const char *text) {
    const tamis__holder us = tamis__holder_now();
    const size_t size = (size_t)(strstr(us.text, since) - us.text);
    return strncmp(text, us.text, size) == 0 && strncmp(text + size, since, sizeof since - 1) == 0;
}
