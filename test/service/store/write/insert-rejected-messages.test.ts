import { hash } from 'node:crypto'
import t from 'tap'
import { VALUE_BYTES_MAX } from '../../../../src/service/decide/event/parse-event.ts'
import type { RejectedMessage } from '../../../../src/service/decide/event/rejected-message.ts'
import { insertRejectedMessages } from '../../../../src/service/store/write/insert-rejected-messages.ts'
import { aMessage } from '../../build.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
t.beforeEach(() => client.query('TRUNCATE notifications.rejected_message'))

const NOT_JSON = { code: 'not-json', error: 'no' } as const
const insert = (...rejected: RejectedMessage[]) =>
  insertRejectedMessages(pool, { topic: 'claims', partition: 0 }, rejected)
const stored = async () =>
  (await client.query('SELECT * FROM notifications.rejected_message ORDER BY "offset"')).rows

t.test('a rejected message is stored whole, once', async (t) => {
  const message = {
    offset: 0n,
    key: Buffer.from([0, 255]),
    value: Buffer.from([0xff, 0, 1]),
    headers: { 'h\0': [Buffer.from('x'), Buffer.from([0xff])] },
  }
  const rejected = [
    { message, rejection: NOT_JSON },
    { message: aMessage(1n, null), rejection: NOT_JSON },
  ]
  await insert(...rejected)
  await insert(...rejected)
  const rows = await stored()
  t.match(rows, [
    { key: message.key, value: message.value, headers: { 'h\uFFFD': ['eA==', '/w=='] } },
    { key: null, value: null },
  ])
  t.equal(rows.length, 2)
})

t.test('a value that is too large is stored as its first bytes and its hash', async (t) => {
  const value = Buffer.alloc(VALUE_BYTES_MAX + 1, 'x')
  await insert({ message: { ...aMessage(0n), value }, rejection: { code: 'too-large', error: 'too large' } })
  const [row] = await stored()
  t.equal(row.value.length, 65_536)
  t.equal(row.error, `too large; stored: its first 65536 bytes and its SHA-256 ${hash('sha256', value)}`)
})

t.test('headers and keys that are too large are stored truncated', async (t) => {
  const megabyte = Buffer.alloc(1024 * 1024, 'x')
  const headers = { a: [Buffer.from('1')], b: Array.from({ length: 200 }, () => megabyte) }
  const key = Buffer.alloc(VALUE_BYTES_MAX + 1)
  await insert({ message: { ...aMessage(0n), key, headers }, rejection: NOT_JSON })
  const [row] = await stored()
  t.equal(row.key.length, 65_536)
  t.strictSame([row.headers.a, row.headers.b.length], [['MQ=='], 15])
  t.match(row.error, /^no; stored: of the key its first 65536 bytes and .*; not stored: 185 of its headers$/)
})
