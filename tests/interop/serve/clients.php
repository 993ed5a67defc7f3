<?php
// SPDX-License-Identifier: BSD-2-Clause
// clients.php PORT: the demo of tamis serve by phpredis.
function same($got, $expected)
{
    if ($got !== $expected) {
        fwrite(STDERR, var_export($got, true) . ' instead of ' . var_export($expected, true) . "\n");
        exit(1);
    }
}

$redis = new Redis();
$redis->connect('127.0.0.1', (int) $argv[1]);
same($redis->get('item:17'), 'item number 17');
same($redis->get('item:0'), false);
same($redis->mget(['item:1', 'item:x', 'item:2']), ['item number 1', false, 'item number 2']);
same($redis->exists('item:1', 'item:2', 'item:x'), 2);
same($redis->ttl('item:1'), -1);
same($redis->ttl('item:x'), -2);
$pipeline = $redis->multi(Redis::PIPELINE);
for ($i = 0; $i < 2000; $i++) {
    $pipeline->get("item:$i");
}
foreach ($pipeline->exec() as $i => $got) {
    same($got, $i >= 1 && $i <= 1000 ? "item number $i" : false);
}
same($redis->rawCommand('GUARD.ADD', 'item:6000'), true);
same($redis->del('item:6000'), 1);
same($redis->get('user:1'), false);
same(strncmp($redis->getLastError(), 'ERR no keyspace has key', 23), 0);
