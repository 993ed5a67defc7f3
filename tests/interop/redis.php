<?php
// SPDX-License-Identifier: BSD-2-Clause
// redis.php SOCKET,... VERSION add|ask|clear|places BITS PROBES SERVERS: the filter "seen" in Redis bitmaps as a published
// PHP class keeps it, in its versions 1, 2 and 3, by php-redis, on as many servers as there are sockets. Keys come from standard input, in hexadecimal; for each goes
// out 1 (it was there) or 0, or for `places` "server key=offset ...", which asks no server.

const NAME = 'seen';
const MOST = 4294967296; // bits of a Redis string

function bkdr($key, $n, $mask)
{
    $seed = 31;
    if ($n > 0) {
        for ($seed = 0, $i = 0; $i < $n + 2; $i++) {
            $seed = $seed * 10 + ($i % 2 ? 3 : 1);
        }
    }
    for ($hash = 0, $i = 0; $i < strlen($key); $i++) {
        $hash = (((int) floatval($hash * $seed) & $mask) + ord($key[$i])) & $mask;
    }
    return $hash;
}

class Version1
{
    protected $bits, $probes, $servers;

    public function __construct($bits, $probes, $servers)
    {
        $this->bits = $bits;
        $this->probes = $probes;
        $this->servers = $servers;
    }

    // Of the keys on each server.
    public function parts()
    {
        return [NAME];
    }

    public function server($key)
    {
        return 0;
    }

    // Pairs of Redis key and offset.
    public function bits_of($key)
    {
        $found = [];
        for ($n = 0; $n < $this->probes; $n++) {
            $found[] = [NAME, bkdr($key, $n, 0x7fffffff) % $this->bits];
        }
        return $found;
    }

    public function add($redis, $key)
    {
        $old = 0;
        foreach ($this->bits_of($key) as [$name, $offset]) {
            $old += $redis->setBit($name, $offset, true);
        }
        return $old === $this->probes;
    }

    public function ask($redis, $key)
    {
        $pipe = $redis->multi(Redis::PIPELINE);
        foreach ($this->bits_of($key) as [$name, $offset]) {
            $pipe->getBit($name, $offset);
        }
        return array_sum($pipe->exec()) === $this->probes;
    }
}

class Version2 extends Version1
{
    private function part_count()
    {
        return $this->bits > MOST ? (int) ceil(ceil($this->bits / $this->servers) / MOST) : 1;
    }

    public function parts()
    {
        return array_map(fn ($part) => NAME . '.' . $part, range(0, $this->part_count() - 1));
    }

    public function server($key)
    {
        return crc32($key) % $this->servers;
    }

    public function bits_of($key)
    {
        $name = NAME . '.' . (crc32($key) % $this->part_count());
        return array_map(fn ($found) => [$name, $found[1]], parent::bits_of($key));
    }

    public function add($redis, $key)
    {
        $pipe = $redis->multi(Redis::PIPELINE);
        foreach ($this->bits_of($key) as [$name, $offset]) {
            $pipe->setBit($name, $offset, true);
        }
        return array_sum($pipe->exec()) === $this->probes;
    }
}

class Version3 extends Version2
{
    private $share, $count, $part;

    public function __construct($bits, $probes, $servers)
    {
        parent::__construct($bits, $probes, $servers);
        $this->share = $servers > 1 ? ceil($bits / $servers) : $bits;
        $this->count = $this->share > MOST ? ceil($this->share / MOST) : 1;
        $this->part = $this->share > MOST ? ceil($this->share / $this->count) : $this->share;
    }

    public function parts()
    {
        return array_map(fn ($part) => NAME . ':' . $part, range(0, $this->count - 1));
    }

    public function bits_of($key)
    {
        $found = [];
        for ($n = 0; $n < $this->probes; $n++) {
            $offset = bkdr($key, $n, 0x7fffffffffffffff) % $this->share;
            $found[] = [NAME . ':' . floor($offset / $this->part), $offset % $this->part];
        }
        return $found;
    }
}

[, $sockets, $version, $verb, $bits, $probes, $servers] = $argv;
$class = "Version$version";
$filter = new $class((int) $bits, (int) $probes, (int) $servers);
if ($verb !== 'places') {
    $redis = array_map(function ($socket) {
        $one = new Redis();
        $one->connect($socket);
        return $one;
    }, explode(',', $sockets));
}
if ($verb === 'clear') {
    foreach ($filter->parts() as $name) {
        foreach ($redis as $one) {
            $one->del($name);
        }
    }
    exit;
}
while (($line = fgets(STDIN)) !== false) {
    $key = hex2bin(rtrim($line, "\n"));
    if ($verb === 'places') {
        echo $filter->server($key);
        foreach ($filter->bits_of($key) as [$name, $offset]) {
            echo " $name=$offset";
        }
        echo "\n";
    } else {
        echo $filter->$verb($redis[$filter->server($key)], $key) ? 1 : 0, "\n";
    }
}
