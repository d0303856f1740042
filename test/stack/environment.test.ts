import { spawnSync } from 'node:child_process'
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

const NO_NAMESPACES =
  spawnSync('unshare', ['-rm', 'true']).status !== 0 && 'unshare cannot make a mount namespace'

t.test('a read-only checkout is named before anything is installed', { skip: NO_NAMESPACES }, (t) => {
  const script = `set -e; mount -t tmpfs none "$1"; cp Makefile package*.json "$1"; mount -o remount,ro "$1"; make -C "$1" install`
  const { status, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', script, 'sh', t.testdir({})], {
    encoding: 'utf8',
  })
  t.equal(status, 2)
  t.match(stderr, /^\/.* cannot be written: work in a checkout that belongs to you/m)
  t.end()
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
