import pg from 'pg'
import t from 'tap'
import {
  type ArrayElement,
  type ArrayType,
  binaryArray,
} from '../../../../src/service/store/sql/binary-array.ts'
import { createDatabase } from '../../../stack/databases.ts'

const database = await createDatabase()
const client = new pg.Client(database.url)
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
})

/** The elements as PostgreSQL understood them, each as text. */
async function roundTrip(type: ArrayType, values: readonly ArrayElement[]): Promise<(string | null)[]> {
  const { rows } = await client.query(`SELECT $1::${type}[]::text[] AS elements`, [
    binaryArray(type, values, (value) => value),
  ])
  return rows[0].elements
}

t.test('text arrives unchanged, whatever characters it has', async (t) => {
  const values = ['', 'NULL', 'a,b', '{}', '"quoted"', 'back\\slash', 'line\nbreak', 'é', '漢字', '😀', null]
  t.strictSame(await roundTrip('text', values), values)
})

t.test('jsonb arrives as the value of its text', async (t) => {
  const found = await roundTrip('jsonb', ['{"a":"\\"é\\\\"}', '[]', null])
  t.strictSame(found, ['{"a": "\\"é\\\\"}', '[]', null])
})

t.test('numbers arrive up to the ends of their range, also as digits', async (t) => {
  t.strictSame(await roundTrip('int4', ['-2147483648', 0, null]), ['-2147483648', '0', null])
  t.strictSame(await roundTrip('int8', [2n ** 63n - 1n, -1, '7']), ['9223372036854775807', '-1', '7'])
  t.strictSame(await roundTrip('text', []), [])
})

t.test('NUL is refused', async (t) => {
  await t.rejects(roundTrip('text', ['a\0b']), { code: '22021' })
})
