<?php
// SPDX-License-Identifier: BSD-2-Clause
// redis_bits.php PORT add|check COUNT BATCH BITS PROBES: the bits of a published PHP class in a Redis (layout php1), by
// php-redis, BATCH elements a pipeline. Elements and what is printed are those of bench_redis.c.

const FIRST = 10000000;
const MASK = 0x7fffffff;

function seeds($probes)
{
    $seeds = [31];
    while (count($seeds) < $probes) {
        for ($seed = 0, $i = 0; $i < count($seeds) + 2; $i++) {
            $seed = $seed * 10 + ($i % 2 ? 3 : 1);
        }
        $seeds[] = $seed;
    }
    return $seeds;
}

function bkdr($key, $seed)
{
    for ($hash = 0, $i = 0; $i < strlen($key); $i++) {
        $hash = (((int) floatval($hash * $seed) & MASK) + ord($key[$i])) & MASK;
    }
    return $hash;
}

function cpu_seconds()
{
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']
        + 1e-6 * ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']);
}

[, $port, $what, $count, $batch, $bits, $probes] = $argv;
$adds = $what == 'add';
$keys = [];
for ($i = 0; $i < $count; $i++) {
    $keys[] = (string) ($adds ? FIRST + $i : ($i % 2 ? 5 * FIRST + $i : FIRST + $i / 2));
}
$seeds = seeds((int) $probes);
$redis = new Redis();
$redis->connect('127.0.0.1', (int) $port);
$found = 0;
$wall = microtime(true);
$cpu = cpu_seconds();
for ($from = 0; $from < $count; $from += $batch) {
    $some = array_slice($keys, $from, (int) $batch);
    $pipeline = $redis->multi(Redis::PIPELINE);
    foreach ($some as $key) {
        foreach ($seeds as $seed) {
            $offset = bkdr($key, $seed) % (int) $bits;
            $adds ? $pipeline->setBit('seen', $offset, true) : $pipeline->getBit('seen', $offset);
        }
    }
    foreach (array_chunk($pipeline->exec(), (int) $probes) as $i => $old) {
        $has_all = array_sum($old) == $probes;
        if (!$has_all && !$adds && ($from + $i) % 2 == 0) {
            fwrite(STDERR, "redis_bits.php: an element that was added is not found\n");
            exit(2);
        }
        $found += $has_all;
    }
}
printf("%.6f %.6f %d\n", microtime(true) - $wall, cpu_seconds() - $cpu, $found);
