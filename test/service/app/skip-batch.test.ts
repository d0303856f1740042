import t from 'tap'
import { inspectAll } from '../../../src/service/app/skip-batch.ts'
import { inspect } from '../../../src/service/consume/inspect-partition.ts'
import { CorrectableError } from '../../../src/service/text/faults.ts'
import { type WrittenBatch, writeBatch } from '../consume/records/write-batch.ts'

const batch = (baseOffset: number, count: number, more: Partial<WrittenBatch> = {}) =>
  writeBatch({ baseOffset, records: Array.from({ length: count }, () => ({ value: 'v' })), ...more })

/** With a wrong checksum, and what else is done to it. */
function damaged(bytes: Buffer, damage: (bytes: Buffer) => void = () => {}): Buffer {
  bytes.writeUInt32BE(7, 17)
  damage(bytes)
  return bytes
}

const lastOf = (bytes: Buffer) => bytes.readBigInt64BE(0) + BigInt(bytes.readInt32BE(23))

/** Inspects offsets 0 to `to`. The broker returns one segment per fetch. */
function inspectTo(to: number, ...segments: Buffer[][]) {
  return inspectAll(
    (from) =>
      inspect(async (bytesMax) => {
        const isIn = ([first]: Buffer[]) => first !== undefined && first.readBigInt64BE(0) <= from
        const found = segments.findLast(isIn)?.filter((bytes) => lastOf(bytes) >= from) ?? []
        const size = Math.max(bytesMax, found[0]?.length ?? 0)
        return { error: null, bytes: Buffer.concat(found).subarray(0, size), aborted: [] }
      }, from),
    0n,
    BigInt(to),
  )
}

t.test('readable batches are never skipped', async (t) => {
  const refused = (offset: number) =>
    new CorrectableError(`nothing was skipped: offset ${offset} can be read`)
  await t.rejects(inspectTo(3, [damaged(batch(0, 3)), batch(3, 2)]), refused(3))
  const endless = damaged(batch(0, 3), (bytes) => bytes.writeInt32BE(1_000, 23))
  await t.rejects(inspectTo(4, [endless, batch(3, 2)]), refused(3), 'behind a last offset that is damaged')
  const long = damaged(batch(0, 3), (bytes) => bytes.writeInt32BE(10_000, 8))
  await t.rejects(inspectTo(4, [long, batch(3, 2)]), refused(3), 'behind a length that is damaged')
  const large = damaged(batch(0, 1, { records: [{ value: Buffer.alloc(2_000_000) }] }))
  await t.rejects(inspectTo(4, [large, batch(1, 4)]), refused(1), 'behind more than is fetched at once')
  await t.rejects(inspectTo(9, [damaged(batch(0, 3))], [batch(3, 9)]), refused(3), 'in another segment')
  await t.rejects(inspectTo(3, [batch(0, 3, { codec: 7 }), batch(3, 2)]), refused(3), 'undecodable')
})

t.test('unreadable batches are skipped, each reported once', async (t) => {
  const endless = damaged(batch(0, 3), (bytes) => bytes.writeInt32BE(1_000, 23))
  const { details, bytes } = await inspectTo(2, [endless, batch(3, 2)])
  t.match([details, bytes.length], [[/its checksum is wrong/], 1])
  t.equal((await inspectTo(2, [damaged(batch(0, 3))])).details.length, 1)
  const undecodable = () => batch(3, 2, { codec: 7 })
  t.match((await inspectTo(4, [damaged(batch(0, 3)), undecodable()])).details, [/checksum/, /codec 7/])
  t.match((await inspectTo(4, [damaged(batch(0, 3))], [undecodable()])).details, [/checksum/, /codec 7/])
})

t.test('no offset beyond the end is skipped', async (t) => {
  await t.rejects(inspectTo(3, [damaged(batch(0, 3))]), {
    message: /the partition has nothing from offset 3 on/,
  })
})
