import { once } from 'node:events'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { spawned as command } from './command.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Nobody is asked before the rule table and the envelope map are found to be good. */
const NOWHERE = {
  DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db',
  MQ_BROKERS: '127.0.0.1:1',
  POLICY_ADMIN_URL: 'http://127.0.0.1:1',
}

/** A copy of what `serve` reads, to be spoilt. */
const copy = t.testdir({})
for (const part of ['src', 'rules', 'db', 'package.json'])
  await cp(join(ROOT, part), join(copy, part), { recursive: true })
await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))

t.test(
  'every fault of the configuration is told at once, without a secret, and the exit code is 1',
  async (t) => {
    const { code, stdout, stderr } = await command(['serve'], {
      DATABASE_URL: 'mysql://root:pa55word@db/x',
      MQ_BROKERS: 'user:pa55word@broker',
      MQ_TOPICS: 'claims,claims',
      PORT: 'many',
      RETRY_MAX_ATTEMPTS: '-1',
      SHUTDOWN_GRACE: 'soon',
      POLICY_ADMIN_URL: 'ftp://admin:pa55word@policy',
    })
    t.equal(code, 1)
    t.equal(stdout, '')
    const lines = stderr.trimEnd().split('\n')
    t.match(lines[0], /The configuration is not valid/)
    t.same(
      lines
        .slice(1)
        .map((line) => line.trim().split(' ')[0])
        .sort(),
      [
        'DATABASE_URL',
        'MQ_BROKERS',
        'MQ_TOPICS',
        'POLICY_ADMIN_URL',
        'PORT',
        'RETRY_MAX_ATTEMPTS',
        'SHUTDOWN_GRACE',
      ],
    )
    t.notMatch(stderr, /pa55word/)
    t.notMatch(stderr, /\.ts:\d/, 'no stack: it is nobody’s bug')
  },
)

t.test('what is required and missing is named by serve and by migrate', async (t) => {
  t.match(await command(['serve'], {}), {
    code: 1,
    stderr: /DATABASE_URL is required.*MQ_BROKERS is required.*POLICY_ADMIN_URL is required/s,
  })
  const migrate = await command(['migrate'], {})
  t.match(migrate, { code: 1, stderr: /DATABASE_URL is required/ })
  t.notMatch(migrate.stderr, /MQ_BROKERS/)
})

const SPOILT: readonly (readonly [
  what: string,
  file: string,
  change: (text: string) => string,
  said: RegExp,
])[] = [
  [
    'a rule table with a fault',
    'dispatch.csv',
    (text) => text.replace(',not found,', ',not fuond,'),
    /"not fuond".*did you mean "not found"/,
  ],
  [
    'a rule table that breaks its promises',
    'dispatch.csv',
    (text) => text.replace(/^opted-out,.*\n/m, ''),
    /^the promises have 1 fault:\n {2}row 2: "A party that opted out .* promises not SEND, but it is/,
  ],
  ['an envelope map with a fault', 'envelope.json', () => '{ "partyLocator": "no pointer" }', /no pointer/],
]

for (const [what, file, change, said] of SPOILT) {
  t.test(`${what} ends the process with 1, naming it`, async (t) => {
    const path = join(copy, 'rules', file)
    const sound = await readFile(path, 'utf8')
    await writeFile(path, change(sound))
    const { code, stdout, stderr } = await command(['serve'], NOWHERE, join(copy, 'src', 'main.ts'))
    await writeFile(path, sound)
    t.match({ code, stderr }, { code: 1, stderr: said })
    t.notMatch(stdout, /listening/)
  })
}

t.test('a port that is taken ends the process with 1', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  t.match(await command(['serve'], { ...NOWHERE, PORT: port }), { code: 1, stderr: /the port is in use/ })
})

t.test('an event whose fields are in headers can be tried', async (t) => {
  const map = {
    eventId: 'header:ce_id',
    eventType: 'header:ce_type',
    partyLocator: '/party',
    locator: '/claim',
    reason: '/why',
  }
  await writeFile(join(copy, 'rules/envelope.json'), JSON.stringify(map))
  const file = join(t.testdir({ 'value.json': '{"party": "PTY-1", "claim": "CLM-7"}' }), 'value.json')
  const headers = ['--header', 'ce_id=1', '--header', 'ce_type=claim.paid']
  const tryIt = (...args: string[]) =>
    command(['rules', 'try', '--event', file, ...args], {}, join(copy, 'src/main.ts'))
  t.match(await tryIt(...headers), { code: 0, stdout: /^SEND by EMAIL.*CLM-7/s })
  t.match(await tryIt(), { code: 2, stderr: /eventId \(header:ce_id\) is missing/ })
  t.match(await tryIt('--header', 'no value'), { code: 2, stderr: /Write it as name=value/ })
})
