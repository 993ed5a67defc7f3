// SPDX-License-Identifier: BSD-2-Clause
import com.google.common.hash.Funnels;
import com.google.common.hash.Hashing;
import com.google.common.primitives.Longs;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;

/**
 * JavaLayout PORT NAME N P SECONDS add|ask: a filter as a published Java class keeps it, with Guava's hash and a Java
 * client of Redis. Elements are lines of standard input; those go out all of whose bits were set.
 */
public class JavaLayout {
    private static long[] offsets(String element, long bits, int probes) {
        byte[] hash = Hashing.murmur3_128().hashObject(element, Funnels.stringFunnel(StandardCharsets.UTF_8)).asBytes();
        long first = Longs.fromBytes(hash[7], hash[6], hash[5], hash[4], hash[3], hash[2], hash[1], hash[0]);
        long second = Longs.fromBytes(hash[15], hash[14], hash[13], hash[12], hash[11], hash[10], hash[9], hash[8]);
        long[] found = new long[probes];
        for (int i = 0; i < probes; i++, first += second) found[i] = (first & Long.MAX_VALUE) % bits;
        return found;
    }

    public static void main(String[] args) throws Exception {
        String key = "bf:" + args[1];
        int n = Integer.parseInt(args[2]);
        int bits = (int) (-n * Math.log(Double.parseDouble(args[3])) / (Math.log(2) * Math.log(2)));
        int probes = Math.max(1, (int) Math.round((double) bits / n * Math.log(2)));
        boolean adds = args[5].equals("add");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        try (Jedis redis = new Jedis("127.0.0.1", Integer.parseInt(args[0]))) {
            for (String element; (element = in.readLine()) != null; ) {
                Pipeline pipe = redis.pipelined();
                for (long offset : offsets(element, bits, probes)) {
                    if (adds) pipe.setbit(key, offset, true);
                    else pipe.getbit(key, offset);
                }
                if (adds) pipe.expire(key, Long.parseLong(args[4]));
                List<Object> old = pipe.syncAndReturnAll().subList(0, probes);
                if (Collections.frequency(old, false) == 0) out.append(element).append('\n');
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
