import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import t from 'tap'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { record } from '../postgres/record.ts'
import { aDatabase } from '../stack/databases.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { command } from './command.ts'

const database = await aDatabase(t)
const replay = (...args: string[]) => command(['replay', ...args], { DATABASE_URL: database.url })

t.test('replay names what differs with exit code 1, and puts it back on demand', async (t) => {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  const [locator] = await record(pool, [{ eventId: 'a' }])
  await pool.end()
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query('DELETE FROM notifications.notification_log')
  await client.end()

  t.same(await replay('--verify', '--json'), {
    code: 1,
    stdout:
      `{"kind":"missing","locator":"${locator}","eventId":"a"}\n` +
      '{"kind":"summary","entries":1,"erased":0,"differences":1,"restored":0,"left":1}\n',
    stderr: '',
  })
  t.match(await replay('--rebuild'), { code: 0, stdout: /: 1 difference, 1 row restored, 0 left\n$/ })
  t.same(await replay('--verify'), { code: 0, stdout: '1 entry compared: no difference\n', stderr: '' })
})

t.test('a reader that stops reading ends it quietly', async (t) => {
  const child = spawn(process.execPath, [MAIN, 'replay', '--verify'], {
    env: { ...EXECUTABLE_ENV, DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)])
  t.same({ code, stderr }, { code: 1, stderr: '' })
})
