import t from 'tap'
import { retryCommand } from '../../src/operations/requests/retry.ts'
import { openPool } from '../../src/service/store/connection/pool.ts'
import type { World } from '../../src/terminal/world.ts'
import { OPTED_OUT, somePreferences } from '../service/build.ts'
import { giveUp, record, UNRESOLVED } from '../service/store/record.ts'
import { recordTo } from '../stack/record-recipients.ts'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'
import { command, worldOf } from './command.ts'

const world = await aWorld(t, { partitionCount: 1 })
const pool = await openPool({ databaseUrl: world.databaseUrl, connectionCountMax: 2 })
t.teardown(() => pool.end())
const service = await world.serve()
/** A command that asks needs nothing else. */
const env = { DATABASE_URL: world.databaseUrl }
const BECAUSE = ['--because', 'an outage', '--by', 'alice', '--yes']
const NOT_FOUND = { contact: { state: 'not found' } } as const

const retry = (...args: string[]) => command(['retry', ...args], env)
const requests = (...args: string[]) => command(['requests', ...args], env)
const rowOf = async (locator: string) =>
  (await world.sql('SELECT * FROM notifications.notification_log WHERE locator = $1', [locator]))[0]
const decisionsOf = (locator: string) =>
  world.sql('SELECT * FROM notifications.decision WHERE locator = $1 ORDER BY attempt', [locator])
/** All that a request may write. */
const written = async () =>
  Promise.all(
    ['notification_log', 'decision', 'request'].map((table) =>
      world.sql(`SELECT * FROM notifications.${table}`),
    ),
  )
const recorded = async (...given: Parameters<typeof record>[1]) => (await record(pool, given)).map(String)

/** The idempotency keys of the messages that senders were handed since the last call. */
let handedOver: string[] = []
recordTo((_, messages) => handedOver.push(...messages.map(({ idempotencyKey }) => idempotencyKey)))
function takeKeys(): string[] {
  const keys = handedOver.sort()
  handedOver = []
  return keys
}

t.beforeEach(async () => {
  takeKeys()
  await world.sql(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.erasure, notifications.request,
      notifications.projection_checkpoints, notifications.notification_preferences`)
})

t.test('a retry says that it waits for the end of a hold, and that nothing fits', async (t) => {
  const [locator = ''] = await recorded({ eventId: 'skipped', ...NOT_FOUND })
  await command(['hold', '--because', 'a test', '--by', 'bob', '--yes'], env)
  let said = ''
  const write = (_: string, text: string) => {
    said += text
  }
  const terminal = worldOf(write, { env })
  const retried = retryCommand(terminal).parseAsync([locator, ...BECAUSE], { from: 'user' })
  await until(() => said.includes('waits: '), { what: 'the reason' })
  await command(['resume', '--because', 'it was a test', '--yes'], env)
  await retried
  t.equal(terminal.exitCode, 0)
  t.match(said, /request \d+ waits: held by bob since .* because a test\. `requests cancel \d+` ends it/)
  t.match(await retry('--since', '1d', '--reason', 'none of these', ...BECAUSE), {
    code: 0,
    stdout: /^request \d+ done: nothing fits its filter$/m,
  })
})

t.test('the deadline of a Job ends the command, and the request stays', async (t) => {
  const [locator = ''] = await recorded({ eventId: 'skipped', ...NOT_FOUND })
  await command(['hold', '--because', 'a test', '--yes'], env)
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>()
  const listeners = new Map<string, () => void>()
  let said = ''
  const write = (_: string, text: string) => {
    said += text
  }
  const job: World = {
    ...worldOf(write, { env, exit }),
    once: (signal, listener) => listeners.set(signal, listener),
  }
  const ended = retryCommand(job).parseAsync([locator, ...BECAUSE], { from: 'user' })
  await until(async () => said.includes('waits: held by'), { what: 'the reason' })
  listeners.get('SIGTERM')?.()
  t.equal(await exited, 143)
  t.match(said, /request \d+ stays/)
  await command(['resume', '--because', 'it was a test', '--yes'], env)
  await ended
  t.match(await world.sql(`SELECT state FROM notifications.request WHERE kind = 'retry'`), [
    { state: 'done' },
  ])
})

t.test('a retry requires a selection, a reason and a confirmation', async (t) => {
  const locator = 'NTF-01900000-0000-7000-8000-000000000001'
  await recorded({ eventId: 'skipped', ...NOT_FOUND })
  const before = await written()
  const wrong = [
    [2, BECAUSE, /give locators, or --since/],
    [2, ['--since', '1d', '--yes'], /--because is missing/],
    [2, ['--since', '1d', '--yes', '--because', 'x'.repeat(501)], /at most 500 characters/],
    [2, [locator, '--since', '1d', ...BECAUSE], /not both/],
    [2, ['CLM-1', ...BECAUSE], /A locator is NTF- and a UUID/],
    [1, [locator, ...BECAUSE], `no log entry has the locator ${locator}`],
    [2, ['--since', '1d', '--because', 'x'], /use --yes/],
  ] as const
  for (const [code, args, stderr] of wrong) t.match(await retry(...args), { code, stderr })
  t.strictSame(await written(), before)
})

t.test('a dry run counts the entries by their reasons, and asks for nothing', async (t) => {
  const [givenUp = '', , , waiting = ''] = await recorded(
    { eventId: 'given-up', contact: UNRESOLVED },
    { eventId: 'skipped', ...NOT_FOUND },
    { eventId: 'opted-out', partyLocator: 'party-2', preferences: OPTED_OUT },
    { eventId: 'waiting', contact: UNRESOLVED },
    { eventId: 'sent' },
  )
  await giveUp(pool, [givenUp])
  const before = await written()
  const { code, stdout, stderr } = await retry('--since', '1d', '--dry-run')
  t.equal(code, 0)
  t.match(stdout, /^3 items\n {2}1 {2}/)
  for (const reason of ['contact could not be resolved: HTTP 500', 'party not found', 'event type opted out'])
    t.match(stdout, new RegExp(`^ {2}1 {2}${reason}$`, 'm'))
  t.match(
    stderr,
    /^Failed entries that wait .*\nDry run, nothing was requested: retry of all log entries not told/,
  )
  t.match(
    (await retry(waiting, '--dry-run')).stdout,
    /1 {2}would be left unchanged: the service still retries it by itself/,
  )
  t.strictSame(await written(), before)
})

t.test(
  'the service decides entries again, sends them once, and each decision names its request',
  async (t) => {
    const [givenUp = '', skipped = '', sent = ''] = await recorded(
      { eventId: 'given-up', contact: UNRESOLVED },
      { eventId: 'skipped', ...NOT_FOUND, eventType: 'claim.rejected', reason: 'late' },
      { eventId: 'sent' },
    )
    await giveUp(pool, [givenUp])
    await world.sql(`UPDATE notifications.notification_log SET subject = 'Stored' WHERE locator = $1`, [
      givenUp,
    ])
    const asked = await retry('--since', '1d', ...BECAUSE)
    t.match(asked, {
      code: 0,
      stdout: /^request (\d+) done: 2 sent\n.*\n {2}asked for by alice at .*: an outage/,
    })
    const id = asked.stdout.split(' ')[1] as string
    t.strictSame(takeKeys(), ['given-up/1', 'skipped/1'])
    t.match(await rowOf(givenUp), { status: 'SENT', attempt_count: 4, subject: 'Stored' })
    t.match(await rowOf(skipped), {
      status: 'SENT',
      attempt_count: 1,
      failure_reason: null,
      body: /CLM-1.*late/s,
    })
    const variables = { eventType: 'claim.rejected', locator: 'CLM-1', reason: 'late' }
    t.match(await decisionsOf(skipped), [
      { attempt: 0, outcome: 'SKIP', retried_by: null, request_id: null, template_revision: null },
      {
        ...{
          attempt: 1,
          outcome: 'SEND',
          receipt: String,
          retried_by: 'alice',
          retried_because: 'an outage',
        },
        ...{ request_id: id, variables, template_revision: /^[0-9a-f]{64}$/, topic: 'claims' },
      },
    ])
    const why = await command(['why', skipped], env)
    t.match(why.stdout, /retry 1: SEND by email .*\n {2}retried by alice: an outage\n/)
    const listed = await fetch(`${service.url}/log/list?request=${id}`)
    t.strictSame(
      ((await listed.json()) as { items: { locator: string }[] }).items.map(({ locator }) => locator).sort(),
      [givenUp, skipped].sort(),
      'the log lists the entries of a request',
    )

    const again = await retry(givenUp, sent, '--json', ...BECAUSE)
    t.equal(again.code, 1, 'what was named was left unchanged')
    t.match(JSON.parse(again.stdout), { state: 'done', counts: { unchanged: 2 }, by: 'alice' })
    t.strictSame(takeKeys(), [])
    t.match(await requests('list'), {
      code: 0,
      stdout: /request \d+ done: 2 left unchanged .*\n.*done: 2 sent/,
    })
    t.match(await requests('show', id), { code: 0, stdout: asked.stdout })
    t.match(await requests('cancel', id), { code: 1, stderr: `request ${id} is done already\n` })
  },
)

t.test('what may not be sent stays unchanged, each with its sentence', async (t) => {
  const [optedOut = '', erased = '', sent = '', waiting = '', givenUp = ''] = await recorded(
    { eventId: 'opted-out', partyLocator: 'party-2', preferences: OPTED_OUT },
    { eventId: 'erased', partyLocator: 'party-3', ...NOT_FOUND },
    { eventId: 'sent' },
    { eventId: 'waiting', contact: UNRESOLVED },
    { eventId: 'opted-out-since', partyLocator: 'party-2', contact: UNRESOLVED },
  )
  await giveUp(pool, [givenUp])
  await world.sql(
    `INSERT INTO notifications.notification_preferences VALUES ('party-2', null, null, 'EMAIL', '["claim.paid"]')`,
  )
  await world.sql(`INSERT INTO notifications.erasure (party_locator, erased_by) VALUES ('party-3', 'bob')`)
  const rows = () => world.sql('SELECT * FROM notifications.notification_log ORDER BY locator')
  const before = await rows()
  const { code, stdout } = await retry(optedOut, erased, sent, waiting, givenUp, ...BECAUSE, '--json')
  t.equal(code, 1)
  const { unchanged } = JSON.parse(stdout) as { unchanged: { item: string; reason: string }[] }
  t.strictSame(Object.fromEntries(unchanged.map(({ item, reason }) => [item, reason])), {
    [optedOut]: 'it would be skipped again: event type opted out',
    [givenUp]: 'it would be skipped again: event type opted out',
    [erased]: 'it was erased, or its party was',
    [sent]: 'it was sent',
    [waiting]: 'the service still retries it by itself',
  })
  t.strictSame(await rows(), before)
  t.strictSame(takeKeys(), [])
})

t.test('filters choose by time, event type, rule and reason', async (t) => {
  const preferences = somePreferences({ optedOutEvents: new Set(['claim.approved']) })
  const [older = ''] = await recorded(
    { eventId: 'older', ...NOT_FOUND },
    { eventId: 'newer', ...NOT_FOUND },
    { eventId: 'other', eventType: 'claim.approved', preferences },
  )
  await world.sql(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 days' WHERE locator = $1`,
    [older],
  )
  const choices: readonly [args: string[], count: number, reason: string][] = [
    [['--since', '3d', '--until', '1d'], 1, 'party not found'],
    [['--since', '1d', '--rule', 'party-not-found'], 1, 'party not found'],
    [['--since', '3d', '--event-type', 'claim.approved'], 1, 'event type opted out'],
    [['--since', '3d', '--reason', 'party not'], 2, 'party not found'],
    [['--since', '3d', '--party', 'party-1', '--event-id', 'older'], 1, 'party not found'],
    [['--since', '3d', '--reference', 'CLM-1', '--rule', 'party-not-found'], 2, 'party not found'],
    [
      ['--since', '3d', '--status', 'SKIPPED', '--channel', 'EMAIL', '--event-id', 'other'],
      1,
      'event type opted out',
    ],
  ]
  for (const [args, count, reason] of choices) {
    const { stdout } = await retry(...args, '--dry-run', '--json')
    t.match(JSON.parse(stdout), { count, isMore: false, groups: [{ reason, count }] }, args.join(' '))
  }
})

t.test('a message keeps its idempotency key unless the last attempt certainly sent nothing', async (t) => {
  const locators = await recorded(
    { eventId: 'refused', sendError: 'no mailbox' },
    { eventId: 'unknown', sendError: 'no answer' },
  )
  await giveUp(pool, locators)
  await world.sql(`UPDATE notifications.decision SET unknown_attempt = 1 WHERE event_id = 'unknown'`)
  t.match(await retry('--since', '1d', ...BECAUSE), { code: 0, stdout: /done: 2 sent/ })
  t.strictSame(takeKeys(), ['refused/2', 'unknown/1'])
})

t.test('a request that meets the beginning of an outage waits, and uses up no attempt', async (t) => {
  const parties = Array.from({ length: 25 }, (_, i) => `party-${i}`)
  const locators = await recorded(
    ...parties.map((partyLocator) => ({ eventId: partyLocator, partyLocator, contact: UNRESOLVED })),
  )
  await giveUp(pool, locators)
  world.policyAdministration.mode('down')
  t.teardown(() => world.policyAdministration.mode('ok'))
  const asked = retry('--since', '1d', ...BECAUSE)
  const isJudged = async () => {
    const [request] = await world.sql('SELECT note, ended_at FROM notifications.request')
    return (request?.note ?? request?.ended_at ?? null) !== null
  }
  await until(isJudged, { what: 'the request to be paused' })
  world.policyAdministration.mode('ok')
  t.match(await asked, { code: 0, stdout: /done: 25 sent/ })
  t.strictSame(await world.sql('SELECT DISTINCT attempt_count FROM notifications.notification_log'), [
    { attempt_count: 4 },
  ])
})

t.test('a request that cannot be served waits, and can be cancelled', async (t) => {
  const skip = { topic: 'nowhere', partition: 0, offset: '4' }
  // Times are compared as texts: one in another format would select the same entries again and again.
  const inOtherFormat = { filter: { to: '2999-01-01 00:00:00+00' } }
  await world.sql(
    `INSERT INTO notifications.request (kind, target, requested_by, because)
     VALUES ('skip', $1, 'bob', 'x'), ('retry', $2, 'bob', 'x')`,
    [JSON.stringify(skip), JSON.stringify(inOtherFormat)],
  )
  const [locator = ''] = await recorded({ eventId: 'skipped', ...NOT_FOUND })
  t.match(await retry(locator, ...BECAUSE), { code: 0 }, 'it holds up no other')
  const readOpen = () =>
    world.sql('SELECT id, state, note FROM notifications.request WHERE ended_at IS NULL ORDER BY id')
  const open = await until(
    async () => {
      const found = await readOpen()
      return found[1]?.note && found
    },
    { what: 'the second to be looked at' },
  )
  t.match(open, [{ state: 'waiting' }, { note: /^this version of the service cannot read / }])
  for (const { id } of open) t.match(await requests('cancel', id), { code: 0, stdout: /is cancelled/ })
  await world.sql(`
    INSERT INTO notifications.request (kind, target, requested_by, because) SELECT 'skip', '{}', 'bob', 'x' FROM generate_series(1, 12)`)
  const listed = (await requests('list')).stdout.match(/request \d+/g)?.map((text) => Number(text.slice(8)))
  t.strictSame(
    listed,
    listed?.toSorted((a, b) => b - a),
    'newest first, whatever the digits',
  )
  t.match(await requests('show', '999999'), { code: 1, stderr: 'no request has the id 999999\n' })
})
