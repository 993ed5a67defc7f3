/* SPDX-License-Identifier: BSD-2-Clause */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The real Guava's side of keys.py: each line of the file named is something to do, with a file of keys (a line of text
 * each), which become objects of TYPE and go through its funnel:
 *
 * <pre>
 *     put TYPE N P KEYS OUT         create, put, writeTo
 *     add TYPE IN KEYS OUT          readFrom, put, writeTo
 *     ask TYPE IN KEYS OUT          readFrom, mightContain: 0 or 1, a line each
 * </pre>
 */
public final class GuavaKeys {
    private static <T> void run(String[] w, Funnel<? super T> funnel, Function<String, T> parse) throws IOException {
        BloomFilter<T> filter;
        if (w[0].equals("put")) {
            filter = BloomFilter.create(funnel, Long.parseLong(w[2]), Double.parseDouble(w[3]));
        } else {
            try (InputStream in = Files.newInputStream(Path.of(w[2]))) {
                filter = BloomFilter.readFrom(in, funnel);
            }
        }
        List<T> keys = new ArrayList<>();
        for (String line : Files.readString(Path.of(w[w.length - 2])).lines().toList()) {
            keys.add(parse.apply(line));
        }
        Path out = Path.of(w[w.length - 1]);
        if (w[0].equals("ask")) {
            StringBuilder answers = new StringBuilder();
            for (T key : keys) {
                answers.append(filter.mightContain(key) ? "1\n" : "0\n");
            }
            Files.writeString(out, answers);
            return;
        }
        for (T key : keys) {
            filter.put(key);
        }
        try (OutputStream to = new BufferedOutputStream(Files.newOutputStream(out))) {
            filter.writeTo(to);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] w = line.split(" ");
            switch (w[1]) {
                case "int32" -> run(w, Funnels.integerFunnel(), Integer::valueOf);
                case "int64" -> run(w, Funnels.longFunnel(), Long::valueOf);
                case "utf16" -> run(w, Funnels.unencodedCharsFunnel(), text -> text);
                case "utf8" -> run(w, Funnels.stringFunnel(StandardCharsets.UTF_8), text -> text);
                default -> throw new IllegalArgumentException(w[1]);
            }
        }
    }
}
