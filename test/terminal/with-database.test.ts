import t from 'tap'
import { command } from '../process/command.ts'
import { createDatabase } from '../stack/databases.ts'

const COMMANDS = [
  ['why', 'NTF-1'],
  ['rules', 'traffic'],
  ['replay', '--verify'],
  ['rejected', 'list'],
]

t.test('a command names the remedy for a database that is not migrated', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  for (const args of COMMANDS) {
    t.match(
      await command(args, { DATABASE_URL: database.url }),
      {
        code: 1,
        stdout: '',
        stderr:
          /^relation "notifications\.\w+" does not exist: the schema does not match this version: run the command `migrate`\n$/,
      },
      args.join(' '),
    )
  }
})

t.test('a command names the remedy for an unreachable database', async (t) => {
  const DATABASE_URL = 'postgres://127.0.0.1:1/notifications'
  t.strictSame(await command(['why', 'NTF-1'], { DATABASE_URL }), {
    code: 1,
    stdout: '',
    stderr:
      'the database of DATABASE_URL cannot be used (connect ECONNREFUSED 127.0.0.1:1): run the command `doctor` to find out why\n',
  })
})
