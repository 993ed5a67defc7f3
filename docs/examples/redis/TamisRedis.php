<?php
// SPDX-License-Identifier: BSD-2-Clause
// A filter in a Redis, layout `tamis` of docs/REDIS-LAYOUT.md (PHP 8.1 or later, 64 bits, with php-redis):
//     $seen = new TamisRedis($redis, 'seen');
//     $seen->add(['alice', 'bob']);          // [true, true]: certainly absent before
//     $seen->contains(['alice', 'carol']);   // [true, false]: absent for certain
// A call is one round trip: give some hundred keys at once. One that throws may be repeated; an add that is repeated may
// find its own bits, and then answers false though nobody else added the key.

final class TamisRedis {
    private string $config, $plan, $scheme, $generation;
    private int $seed = 0, $blocks, $probes, $partition;

    public function __construct(private Redis $redis, string $name) {
        if (!preg_match('/^[^{}]{1,512}$/sD', $name))
            throw new InvalidArgumentException("$name: a name has 1 to 512 bytes and no brace");
        $this->config = "tamis:{{$name}}";
        [[$plan, $state]] = $this->run([['HMGET', $this->config, 'plan', 'state']]);
        if (!is_string($plan))
            throw new RuntimeException("$name: there is no such filter");
        preg_match_all('/([^ =]+)=([^ ]*)/', $this->plan = $plan, $words);
        $said = array_combine($words[1], $words[2]);
        foreach (str_split($said['seed']) as $digit) // up to 2^64 - 1
            $this->seed = self::add64(self::mul64($this->seed, 10)[1], (int)$digit);
        [$this->scheme, $this->generation] = [$said['scheme'], $said['generation']];
        [$this->blocks, $this->probes] = [intdiv((int)$said['bits'], 512), (int)$said['probes']];
        $this->partition = (int)$said['partition'];
        $layout = preg_match('/^layout=([12]) kind=blocked scheme=(xxh3|guava64) /', $plan, $found) ? (int)$found[1] : 0;
        if (!$layout || $said['bits'] % 512 || $this->blocks < 1 || $this->probes < 1 || $this->probes > 255 ||
            $this->partition < 1 || $this->partition > ($layout === 1 ? 8388607 : 8388604))
            throw new RuntimeException("$name: this client cannot read it: $plan");
        if ($layout === 1 && $state !== "ready $this->generation")
            throw new RuntimeException("$name: of layout 1 and not ready: wait for its maker, or drop it and make it again");
    }

    /** High and low half of the product of two unsigned numbers of 64 bits. */
    private static function mul64(int $a, int $b): array {
        for ([$n, $sum, $carry] = [0, array_fill(0, 8, 0), 0]; $n < 16; $n++)
            $sum[($n >> 2) + ($n & 3)] += ($a >> 16 * ($n >> 2) & 0xffff) * ($b >> 16 * ($n & 3) & 0xffff);
        for ($n = 0; $n < 8; $n++, $carry >>= 16)
            $sum[$n] = ($carry += $sum[$n]) & 0xffff;
        [$a, $b, $c, $d, $e, $f, $g, $h] = $sum;
        return [$h << 48 | $g << 32 | $f << 16 | $e, $d << 48 | $c << 32 | $b << 16 | $a];
    }
    private static function add64(int $a, int $b): int {
        $low = ($a & 0xffffffff) + ($b & 0xffffffff);
        return ($a >> 32) + ($b >> 32) + ($low >> 32) << 32 | $low & 0xffffffff;
    }
    /** Partition, block in it, positions in the block. */
    private function place(string $key): array {
        if ($this->scheme === 'xxh3')
            ['y' => $y, 'x' => $x] = unpack('Jy/Jx', hash('xxh128', $key, true, ['seed' => $this->seed]));
        else
            ['x' => $x, 'y' => $y] = unpack('Jx/Jy', hash('murmur3f', $key, true));
        for ($j = 0; $j < $this->probes; $j++) {
            $u = $j % 7 ? $u : self::add64($x, self::mul64(intdiv($j, 7), -0x61c8864680b583eb)[1]);
            $v = $j % 7 ? $v : self::mul64($u ^ ($u >> 32 & 0xffffffff), -0xae502812aa7333)[1];
            $at[] = ($v ^ ($v >> 32 & 0xffffffff)) >> 55 - $j % 7 * 9 & 511;
        }
        $block = self::mul64($y, $this->blocks)[0];
        return [intdiv($block, $this->partition), $block % $this->partition, $at];
    }
    private function key(int $i): string { return substr($this->config, 0, -1) . ":$this->generation:$i}:bits"; }
    private function end(int $i): int { return 64 * min($this->partition, $this->blocks - $i * $this->partition); }
    private function footer(int $i): string { return str_pad("tamis-footer 1 $this->generation $i", 64, "\0"); }
    private function run(array $commands): array {
        $this->redis->clearLastError();
        $batch = $this->redis->multi(Redis::PIPELINE);
        array_walk($commands, fn($command) => $batch->rawCommand(...$command));
        $replies = $batch->exec();
        if (!is_array($replies) || $this->redis->getLastError() !== null)
            throw new RuntimeException('redis: ' . ($this->redis->getLastError() ?? 'no answer'));
        return $replies;
    }
    private function ask(array $places, callable $command, bool $adds): array {
        $touched = array_unique(array_column($places, 0));
        $footer = fn($i) => ['GETRANGE', $this->key($i), $this->end($i), $this->end($i) + 63];
        $plan = ['HMGET', $this->config, 'plan', 'next'];
        $replies = $this->run([...array_map($command, $places), ...array_map($footer, $touched), $plan]);
        if (([$plan, $next] = array_pop($replies))[0] !== $this->plan || ($adds && $next))
            throw new RuntimeException('the filter was ' . (!$plan ? 'dropped' : 'replaced, or is being resized'));
        foreach (array_reverse($touched) as $i)
            if (array_pop($replies) !== $this->footer($i))
                throw new RuntimeException("the filter is damaged: partition $i is gone or cut short");
        return $replies;
    }
    public function add(array $keys): array {
        $set = fn($place) => fn($p) => ['SET', 'u1', $place[1] * 512 + $p, 1];
        return array_map(fn($old) => in_array(0, $old, true), $this->ask(array_map($this->place(...), $keys), fn($place) =>
            ['BITFIELD', $this->key($place[0]), ...array_merge(...array_map($set($place), $place[2]))], true));
    }
    public function contains(array $keys): array {
        $places = array_map($this->place(...), $keys);
        $get = fn($place) => ['GETRANGE', $this->key($place[0]), $place[1] * 64, $place[1] * 64 + 63];
        $has = fn($bits, $p) => (ord($bits[$p >> 3]) & 0x80 >> ($p & 7)) !== 0;
        return array_map(fn($bits, $place) => !in_array(false, array_map(fn($p) => $has($bits, $p), $place[2]), true),
            $this->ask($places, $get, false), $places);
    }
}
