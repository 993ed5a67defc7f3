# SPDX-License-Identifier: BSD-2-Clause
# The published transcript: "meow" becomes "lgow" by two bits.
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
redis_command set word meow
tamis bitmap get "$redis_uri/word" 7 14
tamis bitmap set "$redis_uri/word" 7=0
tamis bitmap set "$redis_uri/word" 14
redis_command get word
tamis bitmap get "$redis_uri/word" 7 14
tamis bitmap count "$redis_uri/word"
