import { once } from 'node:events'
import { connect } from 'node:net'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import Encoder from 'kafkajs/src/protocol/encoder.js'

/** ConsumerGroupHeartbeat, which joins a group by the protocol of KIP-848. */
const API_KEY = 68
const CLIENT_ID = 'stranger'
const REBALANCE_MAX_MS = 60_000
/** Length and number of the request. */
const HEADER_BYTES = 8

/** Joins a group as a member that speaks the protocol of KIP-848; it stays for 45 s. Kafka has one broker, its coordinator. */
export async function joinByNewProtocol(
  broker: string,
  groupId: string,
  topics: readonly string[],
): Promise<void> {
  const [host, port] = broker.split(':')
  const socket = connect(Number(port), host)
  const body = new Encoder()
    .writeInt16(API_KEY)
    .writeInt16(0)
    .writeInt32(1)
    .writeString(CLIENT_ID)
    .writeUVarInt(0)
    .writeUVarIntString(groupId)
    .writeUVarIntString('')
    .writeInt32(0)
    .writeUVarIntString(null)
    .writeUVarIntString(null)
    .writeInt32(REBALANCE_MAX_MS)
    .writeUVarInt(topics.length + 1)
  for (const topic of topics) body.writeUVarIntString(topic)
  // No assignor of its own, no partitions yet, no tagged fields.
  body.writeUVarInt(0).writeUVarInt(1).writeUVarInt(0)
  socket.write(new Encoder().writeInt32(body.size()).writeEncoder(body).buffer)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  const decoder = new Decoder(answer.subarray(HEADER_BYTES))
  decoder.readTaggedFields()
  decoder.readInt32()
  const errorCode = decoder.readInt16()
  if (errorCode !== 0)
    throw new Error(`the broker refuses the member: ${errorCode} ${decoder.readUVarIntString()}`)
}
