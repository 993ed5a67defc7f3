// SPDX-License-Identifier: BSD-2-Clause
// Deduplication by Kafka Streams, for bench/kafka.py: a window store of keys, exactly_once_v2. It is the way of Confluent's
// tutorial: a key that the window has is dropped, another one is stored and forwarded.
//
//     StreamsDedup BROKERS FROM TO COUNT DIRECTORY     ends after COUNT records; the store is in DIRECTORY
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

public class StreamsDedup {
    private static final Duration WINDOW = Duration.ofDays(1);
    private static final AtomicLong records = new AtomicLong();

    private static class Dedup implements Processor<byte[], byte[], byte[], byte[]> {
        private ProcessorContext<byte[], byte[]> context;
        private WindowStore<byte[], byte[]> store;

        @Override
        public void init(ProcessorContext<byte[], byte[]> given) {
            context = given;
            store = given.getStateStore("keys");
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            long time = record.timestamp();
            boolean isKnown;
            try (var found = store.fetch(record.key(), time - WINDOW.toMillis(), time + WINDOW.toMillis())) {
                isKnown = found.hasNext();
            }
            if (!isKnown) {
                store.put(record.key(), new byte[0], time);
                context.forward(record);
            }
            records.incrementAndGet();
        }
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, args[2]);
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        properties.put("auto.offset.reset", "earliest");
        var bytes = Serdes.ByteArray();
        Topology topology = new Topology();
        topology.addSource("from", bytes.deserializer(), bytes.deserializer(), args[1]);
        topology.addProcessor("dedup", Dedup::new, "from");
        topology.addStateStore(Stores.windowStoreBuilder(Stores.persistentWindowStore("keys", WINDOW, WINDOW, false), bytes,
            bytes), "dedup");
        topology.addSink("to", args[2], bytes.serializer(), bytes.serializer(), "dedup");
        try (KafkaStreams streams = new KafkaStreams(topology, properties)) {
            streams.start();
            while (records.get() < Long.parseLong(args[3])) {
                Thread.sleep(20);
            }
        } // commits
    }
}
