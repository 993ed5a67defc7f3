/* SPDX-License-Identifier: BSD-2-Clause */

import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** The Java program of files.py: GuavaCheck FILTER LINES prints the number of lines that the filter contains, and the
 * seconds of the lookups alone, with both files in memory. */
public final class GuavaCheck {
    public static void main(String[] arguments) throws IOException {
        BloomFilter<byte[]> filter;
        try (InputStream in = new BufferedInputStream(Files.newInputStream(Path.of(arguments[0])), 1 << 16)) {
            filter = BloomFilter.readFrom(in, Funnels.byteArrayFunnel());
        }
        byte[] text = Files.readAllBytes(Path.of(arguments[1]));
        long start = System.nanoTime(), found = 0;
        for (int from = 0, to; from < text.length; from = to + 1) {
            for (to = from; text[to] != '\n'; to++) {
            }
            if (filter.mightContain(Arrays.copyOfRange(text, from, to))) {
                found++;
            }
        }
        System.out.println(found + " " + (System.nanoTime() - start) / 1e9);
    }
}
