/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of help and manual of hash, except those of its options. */
#include "cli/cmd/hash/hash_config.h"

const char *const hash_description[] = {
    "Print the digest of each KEY and the positions it has in a Bloom filter, as tamis and other systems "
    "compute them: to find out why two of them disagree.",
    "KEYs are the operands or, for an operand - and where there is none, the records of standard input, by "
    "default lines without "
    "their newlines (a carriage return stays). An empty one is a key too. What begins with a dash comes "
    "after --, as in tamis hash --type int32 -- -5; a dash alone is --hex 2d.",
    "Each key has a line of output, in order: its digest and, with --bits and --probes, its positions, with "
    "a "
    "tab between. The key itself is not in the line. A scheme without digest prints the hash of each probe "
    "in "
    "its place, in decimal. Where a key is no number or no UTF-8, those before it are answered first.",
    "The digest is the bytes of the hash in its own order: 32 hexadecimal digits, or 16 for fnv-dcso, each "
    "of "
    "its 64-bit words from the lowest byte. Programs that print a hash as a number have it the other way "
    "round: xxh128sum prints the 16 bytes of xxh3 from the last to the first.",
    "Positions begin at 0, come in the order in which the scheme makes them, and may repeat. Which bit "
    "position i is, is the filter's affair: RedisBloom and DCSO take the one of value 1 << i%8 in byte i/8, "
    "Guava "
    "that of 1 << i%64 in long i/64, and bitmaps of Redis number bits from the most significant: 0x80 >> i%8 "
    "in "
    "byte i/8. SETBIT and GETBIT take a position as it is printed here.",
    "When two systems disagree about a key, compare from the left. Digests that differ: other bytes were "
    "hashed (another type or encoding, a newline or blanks too many), or with another hash or seed. The same "
    "digests and other positions: another size, number of probes or way from one to the other, as guava32 "
    "and "
    "guava64 have. The same positions: another bitmap is used, or its bits are counted from the other end.",
    NULL};

const cli_entry hash_schemes[] = {
    {"xxh3", "XXH3 of 128 bits with a seed: what tamis uses unless another scheme is chosen."},
    {"sip", "SipHash-2-4 of 128 bits, keyed by --secret-file: for keys that an adversary chooses."},
    {"guava64", "Guava's default, MURMUR128_MITZ_64: murmur3_x64_128, seed 0."},
    {"guava32", "Guava's older MURMUR128_MITZ_32: the same digest, positions below 2^31."},
    {"bkdr31", "A PHP class over Redis bitmaps, versions 1 and 2: BKDR of 31 bits, a seed for each probe."},
    {"bkdr63", "The same, version 3, of 63 bits, with the low ones lost to rounding."},
    {"redisbloom", "The BF commands of RedisBloom: MurmurHash64A, and again seeded with the result."},
    {"fnv-dcso", "The bloom program of DCSO: FNV-1 of 64 bits."},
    {"redisson",
     "The RBloomFilter of Redisson, a Java client of Redis: HighwayHash of 128 bits with its key."},
    {NULL, NULL}};

const char *const hash_exits[] = {"0",
                                  "All keys were answered.",
                                  "2",
                                  "Error: a bad option, a key that is not of its type, a record that is "
                                  "malformed or has no key, input or output that failed.",
                                  "141",
                                  "The reader of standard output has gone: ended by SIGPIPE, without a word.",
                                  NULL};

/* The first note is about KEY operands; the others are shared by several commands. */
const char *const hash_notes[] = {
    "With --key a KEY is a record, and what is hashed is its key: one without "
    "key, or that is malformed, is an error, unless --missing or --on-error say "
    "that it has no line of output. csv:NAME takes standard input alone: an "
    "operand has no header.",
    CLI_NOTES_EXTRACT, CLI_NOTE_COMPRESSED, NULL};

const cli_example hash_examples[] = {
    {"tamis hash --scheme guava64 --bits 21895 --probes 5 76930242",
     "Where a Redis bitmap made for 3000 keys at 3% keeps this id, by Guava's hash and a size that was not "
     "rounded: bits "
     "17799, 14920, 12041, 12190 and 9311. A filter of Guava itself has 21952 bits, and other positions."},
    {"tamis hash --scheme guava64 42; tamis hash --scheme guava64 --type int64 42",
     "Text and number are other bytes: what one program put with stringFunnel is not found by one that looks "
     "up "
     "with longFunnel."},
    {"tamis hash --scheme redisbloom foo; tamis hash --scheme redisbloom --hex 666f6f0a",
     "foo, and foo with the newline that another program may have left on it."},
    {"tamis hash foo; tamis hash --key json:/id '{\"id\":\"\\u0066oo\"}'",
     "The key of a record, and the same as it is."},
    {"tamis hash --bits 1e6 --probes 7 < a.log > positions; paste positions a.log > table",
     "The lines of a file, each behind its digest and positions."},
    {NULL, NULL}};
