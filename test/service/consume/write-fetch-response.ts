export interface WrittenPartition {
  /** Kafka's error code. */
  readonly error?: number
  readonly bytes?: Buffer
  readonly aborted?: readonly (readonly [producerId: bigint, firstOffset: bigint])[]
}

/** A fetch response for one topic, as a broker writes it (https://kafka.apache.org/protocol#The_Messages_Fetch). */
export function writeFetchResponse(
  version: number,
  partitions: readonly WrittenPartition[],
  readReplica = -1,
): Buffer {
  return Buffer.concat([
    int(70, 4),
    ...(version >= 7 ? [int(0, 2), int(0, 4)] : []),
    int(1, 4),
    int(6, 2),
    Buffer.from('claims'),
    int(partitions.length, 4),
    ...partitions.flatMap(({ error = 0, bytes, aborted = [] }, partition) => [
      int(partition, 4),
      int(error, 2),
      long(100n),
      long(90n),
      ...(version >= 5 ? [long(1n)] : []),
      int(aborted.length, 4),
      ...aborted.flatMap(([producerId, firstOffset]) => [long(producerId), long(firstOffset)]),
      ...(version >= 11 ? [int(readReplica, 4)] : []),
      int(bytes?.length ?? -1, 4),
      bytes ?? Buffer.alloc(0),
    ]),
  ])
}

function int(value: number, byteCount: number): Buffer {
  const bytes = Buffer.alloc(byteCount)
  bytes.writeIntBE(value, 0, byteCount)
  return bytes
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
