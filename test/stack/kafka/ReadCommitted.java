// java -cp <jars> ReadCommitted.java <brokers> <topic> <partition>:<from>-<end> …
// Prints the value of each committed message from each offset to before each end: what Kafka's own client makes of a topic.
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.time.Duration;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

class ReadCommitted {
  public static void main(String[] args) {
    Map<String, Object> config = Map.of(
        "bootstrap.servers", args[0], "isolation.level", "read_committed", "enable.auto.commit", false);
    try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new StringDeserializer())) {
      Map<TopicPartition, Long> ends = new HashMap<>();
      Map<TopicPartition, Long> starts = new HashMap<>();
      for (String range : List.of(args).subList(2, args.length)) {
        String[] parts = range.split("[:-]");
        var partition = new TopicPartition(args[1], Integer.parseInt(parts[0]));
        starts.put(partition, Long.parseLong(parts[1]));
        ends.put(partition, Long.parseLong(parts[2]));
      }
      consumer.assign(ends.keySet());
      starts.forEach(consumer::seek);
      var out = new StringBuilder();
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (var message : consumer.poll(Duration.ofMillis(100))) {
          var partition = new TopicPartition(message.topic(), message.partition());
          if (message.offset() < ends.get(partition)) out.append(message.value()).append('\n');
        }
      }
      System.out.print(out);
    }
  }
}
