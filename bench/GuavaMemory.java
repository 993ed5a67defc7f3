/* SPDX-License-Identifier: BSD-2-Clause */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** The Java program of memory.py: GuavaMemory KEYS RATE does the same as bench_memory.c and prints a row in the same form.
 * Everything is run once before it is timed, so that it is compiled. */
public final class GuavaMemory {
    private static double add(BloomFilter<Long> filter, long keys) {
        long start = System.nanoTime();
        for (long i = 0; i < keys; i++) {
            filter.put(i);
        }
        return (double) (System.nanoTime() - start) / keys;
    }

    /** Nanoseconds a key, and the number of keys found. */
    private static double[] ask(BloomFilter<Long> filter, long from, long keys) {
        long start = System.nanoTime(), found = 0;
        for (long i = from; i < from + keys; i++) {
            if (filter.mightContain(i)) {
                found++;
            }
        }
        return new double[] {(double) (System.nanoTime() - start) / keys, found};
    }

    public static void main(String[] arguments) throws IOException {
        long keys = Long.parseLong(arguments[0]);
        double rate = Double.parseDouble(arguments[1]);
        String row = "";
        for (int run = 0; run < 2; run++) {
            BloomFilter<Long> filter = BloomFilter.create(Funnels.longFunnel(), keys, rate);
            double added = add(filter, keys);
            double[] hit = ask(filter, 0, keys), miss = ask(filter, keys, keys);
            if (hit[1] != keys) {
                throw new IllegalStateException("a key that was put is not found");
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            filter.writeTo(bytes);
            row = String.join("\t", "Guava", arguments[1], "" + added, "nan", "" + hit[0], "" + miss[0],
                    "" + 8.0 * bytes.size() / keys, "" + miss[1] / keys);
        }
        System.out.println(row);
    }
}
