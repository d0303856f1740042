import { once } from 'node:events'
import { connect } from 'node:net'

const PRODUCE = 0
const VERSION = 7

/**
 * Makes the broker append these record batches unchanged to a partition that it leads, by Produce requests of version 7: any
 * client would split or refuse some of them. Returns the offset of the first. Rejects where the broker refuses them.
 */
export async function produceRaw(
  brokers: string,
  topic: string,
  partition: number,
  batches: Buffer,
): Promise<number> {
  const [host = '', port = ''] = (brokers.split(',')[0] ?? '').split(':')
  const socket = connect(Number(port), host)
  await once(socket, 'connect')
  try {
    const request = Buffer.concat([
      integers([PRODUCE, 2], [VERSION, 2], [1, 4]),
      text('test'),
      // No transaction, acknowledged by all replicas within 30 s; one topic, of it one partition.
      integers([-1, 2], [-1, 2], [30_000, 4], [1, 4]),
      text(topic),
      integers([1, 4], [partition, 4], [batches.length, 4]),
      batches,
    ])
    socket.write(Buffer.concat([integers([request.length, 4]), request]))
    const [response] = (await once(socket, 'data')) as [Buffer]
    const errorAt = 4 + 4 + 4 + 2 + Buffer.byteLength(topic) + 4 + 4
    const error = response.readInt16BE(errorAt)
    if (error !== 0) throw new Error(`the broker refuses it with error ${error}`)
    return Number(response.readBigInt64BE(errorAt + 2))
  } finally {
    socket.destroy()
  }
}

function integers(...given: (readonly [value: number, byteCount: number])[]): Buffer {
  const parts = given.map(([value, byteCount]) => {
    const bytes = Buffer.alloc(byteCount)
    bytes.writeIntBE(value, 0, byteCount)
    return bytes
  })
  return Buffer.concat(parts)
}

function text(value: string): Buffer {
  return Buffer.concat([integers([Buffer.byteLength(value), 2]), Buffer.from(value)])
}
