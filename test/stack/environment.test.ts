import { join } from 'node:path'
import t from 'tap'
import { createDatabase, onServer } from './databases.ts'
import { requireCreateDb, requireWritable } from './environment.ts'

t.test('a folder that cannot be written is named, with the remedy', async (t) => {
  const folder = t.testdir({ file: '' })
  const inFile = join(folder, 'file', 'cache')
  await t.rejects(requireWritable(inFile), /cannot be written \(ENOTDIR\): work in a checkout/)
  await requireWritable(join(folder, 'cache'))
})

t.test('a DATABASE_URL without CREATEDB is named, with the remedy', async (t) => {
  const database = await createDatabase()
  const role = `nobody_${process.pid}`
  await onServer(database.url, (client) => client.query(`CREATE ROLE ${role} LOGIN`))
  t.teardown(async () => {
    await onServer(database.url, (client) => client.query(`DROP ROLE ${role}`))
    await database.drop()
  })
  await requireCreateDb(database.url)
  const url = Object.assign(new URL(database.url), { username: role }).href
  await t.rejects(requireCreateDb(url), new RegExp(`ALTER ROLE ${role} CREATEDB, or unset DATABASE_URL`))
})
