// java -cp <jars> ReadCommitted.java <brokers> <topic>:<partition>:<from>:<end> …
// Prints topic, partition, offset, key and value of each committed message from each offset to before each end, in order
// within a partition: what Kafka's own client makes of them. Keys and values are in base64; - stands for none.
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

class ReadCommitted {
  public static void main(String[] args) {
    Map<String, Object> config = Map.of(
        "bootstrap.servers", args[0], "isolation.level", "read_committed", "enable.auto.commit", false,
        // It would begin at the end of a partition that it cannot read, and say nothing.
        "auto.offset.reset", "none");
    try (var consumer = new KafkaConsumer<>(config, new ByteBufferDeserializer(), new ByteBufferDeserializer())) {
      Map<TopicPartition, Long> ends = new HashMap<>();
      Map<TopicPartition, Long> starts = new HashMap<>();
      for (String range : List.of(args).subList(1, args.length)) {
        String[] parts = range.split(":");
        var partition = new TopicPartition(parts[0], Integer.parseInt(parts[1]));
        starts.put(partition, Long.parseLong(parts[2]));
        ends.put(partition, Long.parseLong(parts[3]));
      }
      consumer.assign(ends.keySet());
      starts.forEach(consumer::seek);
      var out = new StringBuilder();
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (var message : consumer.poll(Duration.ofMillis(100))) {
          var partition = new TopicPartition(message.topic(), message.partition());
          if (message.offset() >= ends.get(partition)) continue;
          out.append(message.topic()).append(' ').append(message.partition()).append(' ').append(message.offset());
          out.append(' ').append(text(message.key())).append(' ').append(text(message.value())).append('\n');
        }
      }
      System.out.print(out);
    }
  }

  static String text(ByteBuffer bytes) {
    if (bytes == null) return "-";
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return Base64.getEncoder().encodeToString(copy);
  }
}
