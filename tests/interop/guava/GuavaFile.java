/* SPDX-License-Identifier: BSD-2-Clause */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The real Guava's side of files.py: each line of the file named is something to do, with a file of keys (a line of
 * hexadecimal digits each), which are byte arrays to the funnel:
 *
 * <pre>
 *     write STRATEGY N P KEYS OUT      create, put, writeTo
 *     add IN KEYS OUT                  readFrom, put, writeTo
 *     ask IN KEYS OUT                  readFrom, mightContain: 0 or 1, a line each
 * </pre>
 */
public final class GuavaFile {
    private static final Funnel<byte[]> FUNNEL = Funnels.byteArrayFunnel();

    private static List<byte[]> keys(String path) throws IOException {
        List<byte[]> keys = new ArrayList<>();
        for (String hex : Files.readAllLines(Path.of(path))) {
            byte[] key = new byte[hex.length() / 2];
            for (int i = 0; i < key.length; i++) {
                key[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
            }
            keys.add(key);
        }
        return keys;
    }

    /** The strategy is Guava's own business, so the method that takes one is reached by reflection. */
    @SuppressWarnings("unchecked")
    private static BloomFilter<byte[]> create(String strategy, long n, double p) throws Exception {
        Object chosen = null;
        for (Object one : Class.forName("com.google.common.hash.BloomFilterStrategies").getEnumConstants()) {
            if (one.toString().equals(strategy.equals("guava32") ? "MURMUR128_MITZ_32" : "MURMUR128_MITZ_64")) {
                chosen = one;
            }
        }
        for (Method method : BloomFilter.class.getDeclaredMethods()) {
            if (method.getName().equals("create") && method.getParameterCount() == 4) {
                method.setAccessible(true);
                return (BloomFilter<byte[]>) method.invoke(null, FUNNEL, n, p, chosen);
            }
        }
        throw new IllegalStateException("no create() that takes a strategy");
    }

    private static BloomFilter<byte[]> read(String path) throws IOException {
        try (InputStream in = Files.newInputStream(Path.of(path))) {
            BloomFilter<byte[]> filter = BloomFilter.readFrom(in, FUNNEL);
            if (in.read() != -1) {
                throw new IOException(path + ": Guava leaves bytes unread");
            }
            return filter;
        }
    }

    private static void write(BloomFilter<byte[]> filter, String path) throws IOException {
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(path)))) {
            filter.writeTo(out);
        }
    }

    private static void run(String[] w) throws Exception {
        BloomFilter<byte[]> filter = w[0].equals("write")
            ? create(w[1], Long.parseLong(w[2]), Double.parseDouble(w[3]))
            : read(w[1]);
        List<byte[]> keys = keys(w[w.length - 2]);
        String out = w[w.length - 1];
        if (w[0].equals("ask")) {
            StringBuilder answers = new StringBuilder();
            for (byte[] key : keys) {
                answers.append(filter.mightContain(key) ? "1\n" : "0\n");
            }
            Files.writeString(Path.of(out), answers);
            return;
        }
        for (byte[] key : keys) {
            filter.put(key);
        }
        write(filter, out);
    }

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            run(line.split(" "));
        }
    }
}
