/** A partition, by its topic and its number there. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}
