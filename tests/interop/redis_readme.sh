#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# README's filter that C, Java and PHP share: its lines as they stand there, over a Redis of our own, and what they print is
# what stands behind them.
set -u
jar=${TAMIS_GUAVA_JAR-/usr/share/java/guava.jar}
command -v java >/dev/null && command -v javac >/dev/null && [ -e "$jar" ] || { echo "skipped: no JDK or no $jar"; exit 77; }
php -r 'exit(extension_loaded("redis") ? 0 : 1);' 2>/dev/null || { echo "skipped: no PHP with php-redis"; exit 77; }
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
# shellcheck source=tests/support/redis.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
clients=$TAMIS_SOURCE_DIR/docs/examples/redis

fail() {
    echo "redis_readme: $*"
    exit 1
}

# lines LANGUAGE: those of its block in the section, for our server; the block in the language's own file is not looked at.
section=$(sed -n '/^## Shared with other systems/,/^## Measured/p' "$TAMIS_SOURCE_DIR/README.md")
lines() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" <<<"$section" | grep -v '^```' | sed "s/localhost/127.0.0.1/; s/6379/$redis_port/"; }
# promised LANGUAGE: what stands in the comment of its last line.
promised() { lines "$1" | tail -n 1 | sed -E 's,.*(//|/\*) (.*),\2,; s, \*/$,,'; }

redis_start
cd "$work" || exit 2
[ "$({ lines c && lines java && lines php; } | wc -l)" = 10 ] || fail "not ten lines"

cat >main.c <<END
#include <stdio.h>
#include <tamis/redis.h>
#include <tamis/tamis.h>
int main(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *seen = NULL;
    tamis_answer answer = TAMIS_UNKNOWN;
$(lines c)
    puts(answer == TAMIS_FRESH ? "TAMIS_FRESH" : err.text);
    tamis_filter_free(seen);
    return 0;
}
END
cc -Wall -Wextra -Werror -I "$TAMIS_SOURCE_DIR/include" main.c -o main -L "$TAMIS_BUILD_DIR" "-Wl,-rpath,$TAMIS_BUILD_DIR" \
    -ltamis-redis -ltamis || fail "the lines of C do not compile"
[ "$(./main 2>&1 | tee out)" = "$(promised c)" ] || fail "C: $(cat out), not $(promised c)"

cat >Main.java <<END
import java.util.Arrays;
public class Main {
    public static void main(String[] args) throws Exception {
$(lines java)
    }
}
END
javac -d java -cp "$jar" Main.java "$clients/TamisRedis.java" || fail "the lines of Java do not compile"
[ "$(java -cp "$jar:java" Main 2>&1 | tee out)" = "$(promised java)" ] || fail "Java: $(cat out), not $(promised java)"

{ echo "<?php require '$clients/TamisRedis.php';" && lines php; } >main.php
[ "$(php main.php 2>&1 | tee out)" = "$(promised php)" ] || fail "PHP: $(cat out), not $(promised php)"
