/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/guard/guard_scan_time.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

enum { HOUR_MINUTES = 60, DAY_MINUTES = 1440, DAY_MS = 86400000 };

int tamis__guard_scan_minute(const char *text) {
    if (strlen(text) != 5 || text[2] != ':')
        return -1;
    for (int i = 0; i < 5; i++)
        if (i != 2 && !isdigit((unsigned char)text[i]))
            return -1;
    const int hour = (text[0] - '0') * 10 + text[1] - '0', minute = (text[3] - '0') * 10 + text[4] - '0';
    return hour < DAY_MINUTES / HOUR_MINUTES && minute < HOUR_MINUTES ? hour * HOUR_MINUTES + minute : -1;
}

int64_t tamis__guard_next_scan(int minute, int64_t now) {
    const time_t seconds = (time_t)(now / 1000);
    struct tm today;
    if (!localtime_r(&seconds, &today))
        return now + DAY_MS;
    for (int day = 0; day < 3; day++) { /* mktime makes a valid date of the 32nd */
        struct tm date = {.tm_year = today.tm_year,
                          .tm_mon = today.tm_mon,
                          .tm_mday = today.tm_mday + day,
                          .tm_hour = minute / HOUR_MINUTES,
                          .tm_min = minute % HOUR_MINUTES,
                          .tm_isdst = -1};
        const time_t next = mktime(&date);
        if (next != (time_t)-1 && (int64_t)next * 1000 > now)
            return (int64_t)next * 1000;
    }
    return now + DAY_MS;
}
