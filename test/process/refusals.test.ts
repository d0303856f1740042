import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { spawned } from './command.ts'

/** Nobody is asked before the rule table and the envelope map are found to be good. */
const NOWHERE = {
  DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db',
  MQ_BROKERS: '127.0.0.1:1',
  POLICY_ADMIN_URL: 'http://127.0.0.1:1',
}

/** A folder of rules to be spoilt. */
const HOUSE = t.testdir({})
await cp(new URL('../first/rules', import.meta.url), join(HOUSE, 'rules'), { recursive: true })

/** The message of the only line, which is JSON like the rest of the log. */
function fatal(stderr: string): string {
  const { level, msg } = JSON.parse(stderr)
  return level === 'fatal' ? msg.replace('cannot start: ', '') : stderr
}

t.test('all faults of the configuration are reported at once, without secrets', async (t) => {
  const faulty = {
    DATABASE_URL: 'mysql://root:pa55word@db/x',
    MQ_BROKERS: 'user:pa55word@broker',
    MQ_TOPICS: 'claims,claims',
    PORT: 'many',
    SHUTDOWN_GRACE: 'soon',
  }
  const { code, stdout, stderr } = await spawned(['serve'], faulty)
  t.strictSame({ code, stdout }, { code: 1, stdout: '' })
  const [first, ...lines] = fatal(stderr).split('\n')
  t.match(first, /The configuration is not valid/)
  t.strictSame(
    lines.map((line) => line.trim().split(' ')[0]).sort(),
    [...Object.keys(faulty), 'POLICY_ADMIN_URL'].sort(),
  )
  t.notMatch(stderr, /pa55word/)
  t.notMatch(stderr, /\.ts:\d/, 'no stack: it is nobody’s bug')
})

const SPOILT: readonly (readonly [file: string, change: (text: string) => string, said: RegExp])[] = [
  [
    'dispatch.csv',
    (text) => text.replace(/^opted-out,.*\n/m, ''),
    /^the promises have 1 fault:\n {2}row 2: "We never tell a member about .* promises that nothing is sent, but it is/m,
  ],
  ['envelope.json', () => '{ "partyLocator": "no pointer" }', /no pointer/],
]

for (const [file, change, said] of SPOILT) {
  t.test(`a fault in ${file} ends the process with 1, naming it`, async (t) => {
    const path = join(HOUSE, 'rules', file)
    const sound = await readFile(path, 'utf8')
    await writeFile(path, change(sound))
    const { code, stdout, stderr } = await spawned(['serve'], { ...NOWHERE, HOUSE })
    await writeFile(path, sound)
    t.match({ code, said: fatal(stderr) }, { code: 1, said })
    t.notMatch(stdout, /listening/)
  })
}

t.test('an event whose fields are in headers can be tried', async (t) => {
  const map = { eventId: 'header:ce_id', eventType: 'header:ce_type' }
  const others = { partyLocator: '/party', locator: '/claim', reason: '/why' }
  const topics = { billing: { eventId: '/claim', eventType: '/type' } }
  await writeFile(join(HOUSE, 'rules/envelope.json'), JSON.stringify({ ...map, ...others, topics }))
  const file = join(t.testdir({ 'value.json': '{"party": "PTY-1", "claim": "CLM-7"}' }), 'value.json')
  const tryIt = (...headers: string[]) =>
    spawned(['rules', 'try', '--event', file, ...headers.flatMap((header) => ['--header', header])], {
      HOUSE,
    })
  t.match(await tryIt('ce_id=1', 'ce_type=claim.paid'), { code: 0, stdout: /^SEND by email.*CLM-7/s })
  t.match(await tryIt(), { code: 1, stderr: /eventId \(header:ce_id\) is missing/ })
  const inTopic = (name: string) =>
    spawned(['rules', 'try', '--event', file, '--topic', name, '--header', 'ce_id=1'], { HOUSE })
  t.match(await inTopic('billing'), { code: 1, stderr: /eventType \(\/type\) is missing/ })
  t.match(await inTopic('biling'), {
    code: 1,
    stderr:
      /no map for the topic "biling": the default map.* "billing".*eventType \(header:ce_type\) is missing/s,
  })
  t.match(await tryIt('no value'), { code: 2, stderr: /Write it as name=value/ })
})
