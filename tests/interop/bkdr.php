<?php
// SPDX-License-Identifier: BSD-2-Clause
// bkdr.php 31|63 SEED COUNT PROBES BITS: random keys with the hashes and positions that a published PHP class over Redis
// bitmaps gives them. A line: the key in hexadecimal, then PROBES hashes, then PROBES positions, between tabs.

function seed($n)
{
    $seed = 31;
    if ($n > 0) {
        $seed = 0;
        for ($i = 0; $i < $n + 2; $i++) {
            $seed = $seed * 10 + ($i % 2 ? 3 : 1); // an integer while it fits, then a float
        }
    }
    return $seed;
}

function bkdr($key, $seed, $mask)
{
    $hash = 0;
    for ($i = 0; $i < strlen($key); $i++) {
        $hash = ((int) floatval($hash * $seed) & $mask) + ord($key[$i]);
        $hash = $hash & $mask;
    }
    return $hash;
}

function key_of($i)
{
    // Every length from none to 40 in turn; letters, then any bytes.
    $key = '';
    for ($j = 0; $j < $i % 41; $j++) {
        $key .= chr($i % 2 ? mt_rand(97, 122) : mt_rand(0, 255));
    }
    return $key;
}

[, $bits, $random, $count, $probes, $size] = $argv;
$mask = $bits == 31 ? 0x7fffffff : 0x7fffffffffffffff;
mt_srand((int) $random);
for ($i = 0; $i < $count; $i++) {
    $key = key_of($i);
    $hashes = [];
    $positions = [];
    for ($n = 0; $n < $probes; $n++) {
        $hashes[] = bkdr($key, seed($n), $mask);
        $positions[] = $hashes[$n] % (int) $size;
    }
    echo bin2hex($key), "\t", implode("\t", array_merge($hashes, $positions)), "\n";
}
