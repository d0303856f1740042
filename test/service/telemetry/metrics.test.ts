import { readFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import type { Attempt, FirstAttempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { Delivery } from '../../../src/service/decide/attempt/delivery.ts'
import type { RecordedFacts } from '../../../src/service/decide/decision/facts.ts'
import type { RejectedMessage } from '../../../src/service/decide/event/rejected-message.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import type { Backlog } from '../../../src/service/model/backlog.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { createMetrics } from '../../../src/service/telemetry/registry.ts'
import { aFound, aMessage, committedAt } from '../build.ts'
import { anAttempt } from '../decide/attempt/build.ts'
import { IDLE, metricSources } from './build.ts'
import { readExposition } from './exposition.ts'
import { NO_PROMTOOL, promtool } from './promtool.ts'

const BACKLOG: Backlog = {
  assignedCount: 2,
  brokerReachable: true,
  databaseReachable: true,
  partitions: [
    { topic: 'claims', partition: 3, messageCount: 7, oldestAgeS: 12.5 },
    { topic: 'claims', partition: 4, messageCount: 0, oldestAgeS: 0 },
  ],
  waitingByPartition: new Map([['claims/3', 19]]),
  waitingByTopic: new Map([['claims', 19]]),
  failedRows: { waiting: 4, givenUp: 5, expired: 6 },
}

/** Reads the metrics, each time with this backlog. */
function theMetrics(heldTopics = async () => ['claims']) {
  let backlog = BACKLOG
  const blocked = [{ topic: 'claims', partition: 3, reason: 'locked' as const }]
  const metrics = createMetrics({
    ...metricSources(),
    topics: ['claims', 'billing'],
    rules: [{ id: 'no-party', outcome: 'FAIL' }],
    backlog: async () => backlog,
    heldTopics,
    readState: () => ({
      ...IDLE,
      connections: [{ pool: 'http', acquired: 1, idle: 2, waiters: 3 }],
      // Until the first scrape.
      blocked: blocked.splice(0),
      clockAheadMs: -1_500,
      foreign: [{ id: 'other' }],
      isPolicyAdministrationDown: true,
    }),
  })
  const read = async (change: Partial<Backlog> = {}) => {
    backlog = { ...BACKLOG, ...change }
    return readExposition((await metrics.expose()).text)
  }
  return { metrics, read }
}

function aJournal() {
  const written: string[] = []
  const log = createLog('info', { write: (line) => void written.push(line) })
  return { log, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

const committed = (inserted: Attempt[], rejected: RejectedMessage[] = []) =>
  committedAt(1_000n, { inserted, rejected })
const batchOf = (count: number, minute = 0) => ({
  topic: 'claims',
  partition: 0,
  expectedCheckpoint: -1n,
  lastOffset: BigInt(count) - 1n,
  lastMessage: null,
  messages: Array.from({ length: count }, (_, i) => ({
    ...aMessage(BigInt(i)),
    timestampMs: BigInt(minute * 60_000),
  })),
})

t.test('a scrape does not wait for holds that the database does not tell', async (t) => {
  const { read } = theMetrics(() => new Promise(() => {}))
  t.equal((await read()).value('notifications_database_reachable'), 1)
})

t.test('a row whose sender failed is counted as FAILED', async (t) => {
  const { metrics, read } = theMetrics()
  const attempt = anAttempt('a', { status: 'FAILED' })
  await metrics.stage('batch', batchOf(1), async () => committed([attempt]))
  await metrics.stage('retry', [], async () => ({ attempts: [attempt] }))
  const { value } = await read()
  const labels = { status: 'FAILED', channel: 'EMAIL', rule: 'send-email' }
  t.equal(value('notifications_outcomes_total', labels), 1)
  t.equal(value('notifications_retries_total', labels), 1)
})

t.test('a failed row that has had all its attempts is counted as given up', async (t) => {
  const { metrics, read } = theMetrics()
  const attempts = [
    anAttempt('a', { status: 'FAILED', attemptCount: 2 }),
    anAttempt('b', { status: 'FAILED', attemptCount: 3 }),
    anAttempt('c', { status: 'SENT', attemptCount: 3 }),
  ]
  t.equal((await read()).value('notifications_given_up_total'), 0)
  await metrics.stage('retry', [], async () => ({ attempts }))
  t.equal((await read()).value('notifications_given_up_total'), 1)
  await metrics.stage('batch', batchOf(3), async () => committed(attempts))
  t.equal((await read()).value('notifications_given_up_total'), 2)
})

t.test('lost messages are counted by topic, from 0', async (t) => {
  const { metrics, read } = theMetrics()
  metrics.countLost('claims', 2n)
  const { value } = await read()
  t.equal(value('notifications_lost_messages_total', { topic: 'claims' }), 2)
  t.equal(value('notifications_lost_messages_total', { topic: 'billing' }), 0)
})

t.test('the outcomes of each rule count from 0, so that their first increase is noticed', async (t) => {
  const { value } = await theMetrics().read()
  t.equal(value('notifications_outcomes_total', { status: 'FAILED', channel: 'EMAIL', rule: 'no-party' }), 0)
})

t.test('invented event types create no new series', async (t) => {
  const { metrics, read } = theMetrics()
  const attempts = ['x.1', 'x.2', '__proto__', 'constructor'].map((eventType) =>
    anAttempt(eventType, { eventType }),
  )
  await metrics.stage('batch', batchOf(4), async () => committed(attempts))
  const { families, value } = await read()
  t.equal(families.get('notifications_events_total')?.metrics.length, 1)
  t.equal(
    value('notifications_events_total', {
      ...{ event_type: 'other', status: 'SENT' },
      ...{ topic: 'claims', party: 'found' },
    }),
    4,
  )
})

t.test('the results of a batch are counted: rows, duplicates, rejected messages', async (t) => {
  const { metrics, read } = theMetrics()
  const rejected = [
    { message: aMessage(), rejection: { code: 'not-json' as const, error: 'the value is not valid JSON' } },
  ]
  const done = { ...committed([anAttempt('a')], rejected), tombstoneCount: 1 }
  await metrics.stage('batch', batchOf(5), async () => done)
  await metrics.stage('batch', batchOf(9), async () => ({ kind: 'moved' as const, checkpoint: 1n }))
  const failing = () => metrics.stage('batch', batchOf(9), () => Promise.reject(new Error('no database')))
  await t.rejects(failing())
  const { value, observed } = await read()
  t.equal(value('notifications_duplicates_total'), 2)
  t.equal(value('notifications_tombstones_total'), 1)
  t.equal(value('notifications_rejected_messages_total', { code: 'not-json' }), 1)
  t.equal(value('notifications_rejected_messages_total', { code: 'empty' }), 0)
  for (const result of ['committed', 'moved', 'failed']) {
    t.equal(value('notifications_batches_total', { result }), 1, result)
  }
  t.equal(observed('notifications_batch_messages'), 1)
  t.equal(observed('notifications_batch_duration_seconds'), 3)
})

t.test('a stage is timed whether it succeeds or fails, and passes its result on', async (t) => {
  const { metrics, read } = theMetrics()
  t.equal(await metrics.stage('look_up', [], async () => 4), 4)
  await t.rejects(
    metrics.stage('look_up', [], () => Promise.reject(new Error('no database'))),
    /no database/,
  )
  t.equal((await read()).observed('notifications_stage_duration_seconds', '{stage="look_up"}'), 2)
})

t.test('messages are counted by channel and by the answer of its sender', async (t) => {
  const { metrics, read } = theMetrics()
  const deliveries = new Map<string, Delivery>([
    ['a', { receipt: 'r', error: null }],
    ['b', { receipt: null, error: 'full' }],
    ['c', { receipt: null, error: 'it hung', isUnknown: true }],
    ['d', { receipt: null, error: 'EMAIL deferred: quota', isDeferred: true }],
    ['e', { receipt: null, error: null }],
  ])
  const messages = [...deliveries.keys()].map((locator) => {
    const channel = locator === 'e' ? ('IN_APP' as const) : ('EMAIL' as const)
    return { locator, channel, idempotencyKey: locator, to: null, subject: 's', body: 'b' }
  })
  await metrics.stage('send', messages, async () => deliveries)
  const { value } = await read()
  for (const answer of ['accepted', 'refused', 'unknown', 'deferred']) {
    t.equal(value('notifications_sends_total', { channel: 'EMAIL', answer }), 1, answer)
    t.equal(value('notifications_sends_total', { channel: 'SMS', answer }), 0, answer)
  }
})

t.test('contacts are counted by the result of their look-up', async (t) => {
  const { metrics, read } = theMetrics()
  const contacts = new Map<string, Contact>([
    ['a', aFound()],
    ['b', { state: 'not found' }],
    ['c', { state: 'not found' }],
    ['d', { state: 'unresolved', error: 'x', costsNoAttempt: false }],
  ])
  t.equal(await metrics.stage('contacts', ['a', 'b', 'c', 'd'], async () => contacts), contacts)
  const { value } = await read()
  t.strictSame(
    ['found', 'not found', 'unresolved'].map((state) =>
      value('notifications_contact_lookups_total', { state }),
    ),
    [1, 2, 1],
  )
})

const NOT_FOUND: Contact = { state: 'not found' }

/** An attempt for an event whose party was found, or not. */
function ofParty(
  id: string,
  party: RecordedFacts['party'],
  change: Partial<Pick<FirstAttempt, 'partyLocator' | 'eventType' | 'variables' | 'contact'>> = {},
): Attempt {
  const { decision } = anAttempt(id)
  const own = {
    partyLocator: `party-of-${id}`,
    contact: forParty(id, aFound()),
    variables: { eventType: 'claim.paid', locator: `CLM-of-${id}`, reason: null },
  }
  return anAttempt(id, { ...own, ...change, decision: { ...decision, facts: { ...decision.facts, party } } })
}

t.test('a share of unknown parties is judged by topic, of the newest fifty', async (t) => {
  const { metrics, read } = theMetrics()
  const { log, lines } = aJournal()
  const gauge = async () =>
    (await read()).value('notifications_data_fault', { fault: 'not-found', topic: 'claims' })
  const pass = async (found: number, notFound: number) => {
    const parties = [...Array(found).fill('found'), ...Array(notFound).fill('not found')]
    await metrics.stage('batch', batchOf(parties.length), async () =>
      committed(parties.map((party, i) => ofParty(`event-${i}`, party))),
    )
    await metrics.logMinute(log)
  }
  for (let minute = 0; minute < 10; minute++) await pass(19, 1)
  t.equal(await gauge(), undefined, 'one in twenty')
  for (let minute = 0; minute < 10; minute++) await pass(7, 3)
  t.equal(await gauge(), 1, 'three in ten, ten a minute')
  t.match(lines().at(-1), { fault: 'not-found', topic: 'claims', remedy: /partyLocator/ })
  for (let minute = 0; minute < 10; minute++) await pass(10, 0)
  t.equal(await gauge(), 0)
})

t.test('one unknown party says nothing, however many events name none', async (t) => {
  const { metrics } = theMetrics()
  const { log, lines } = aJournal()
  await metrics.stage('batch', batchOf(10), async () =>
    committed(Array.from({ length: 10 }, (_, i) => ofParty(`event-${i}`, i === 0 ? 'not found' : 'missing'))),
  )
  await metrics.logMinute(log)
  t.notOk(lines().some(({ level, fault }) => level === 'warn' && fault === 'not-found'))
})

/** The same contact with addresses of this party alone in place of the usual ones. */
const forParty = (party: string, contact: Contact): Contact =>
  contact.state !== 'found'
    ? contact
    : {
        ...contact,
        ...(contact.email === aFound().email && { email: `${party}@example.com` }),
        ...(contact.phone !== null && { phone: `+1 555 ${party}` }),
      }
const ONE_EMAIL = aFound({ email: 'info@insurer.example' })
const ONE_CLAIM = { eventType: 'claim.paid', locator: 'CLM-1', reason: null }
const NO_PLACE: Contact = { ...aFound({ email: null }), without: ['email'] }

/** What two batches of so many events look like, the events and contacts of it, and the fault that is logged. */
const DATA: readonly [
  title: string,
  count: number,
  Partial<Pick<FirstAttempt, 'partyLocator' | 'eventType' | 'variables'>>,
  Contact,
  fault: string | null,
  isAlert: boolean,
][] = [
  ['events with parties and texts', 10, {}, aFound(), null, false],
  ['no event names a party', 10, { partyLocator: null }, aFound(), 'no-party', true],
  ['no event names a party, five a minute', 5, { partyLocator: null }, aFound(), 'no-party', true],
  ['no event names a party, three a minute', 3, { partyLocator: null }, aFound(), 'no-party', false],
  ['none of two or four names a party', 2, { partyLocator: null }, aFound(), null, false],
  ['no event has a type with a text', 10, { eventType: '1.0' }, aFound(), 'no-text', true],
  ['no party is found', 10, {}, NOT_FOUND, 'not-found', true],
  ['no answer has the place of an email', 100, {}, NO_PLACE, 'no-email-place', true],
  ['fifteen answers lack the place of an email', 15, {}, NO_PLACE, 'no-email-place', true],
  ['few answers lack the place of an email', 7, {}, NO_PLACE, null, false],
  ['all emails are null', 15, {}, aFound({ email: null, phone: '+1 555 1' }), 'no-email-on-file', true],
  ['answers leave out phones that nobody needs', 99, {}, { ...aFound(), without: ['phone'] }, null, false],
  [
    'no answer has the place of a phone',
    100,
    {},
    { ...aFound(), without: ['phone'] },
    'no-phone-place',
    true,
  ],
  ['no email is one', 100, {}, aFound({ email: 'PTY-1' }), 'no-email', true],
  ['all have one email', 100, {}, ONE_EMAIL, 'one-email', true],
  ['all events name one party', 20, { partyLocator: 'party-1' }, aFound(), 'one-party', true],
  ['all events are about one claim', 20, { variables: ONE_CLAIM }, aFound(), 'one-reference', true],
  ['no text that gives a reason has one', 20, { eventType: 'claim.rejected' }, aFound(), 'no-reason', true],
  ['the types are in another letter case', 10, { eventType: 'Claim.Paid' }, aFound(), 'other-case', true],
]
for (const [title, count, change, contact, fault, isAlert] of DATA) {
  t.test(`the data is judged each minute: ${title}`, async (t) => {
    const { metrics, read } = theMetrics()
    const { log, lines } = aJournal()
    let minute = 0
    const pass = async (
      change: Partial<Pick<FirstAttempt, 'partyLocator' | 'eventType' | 'variables'>>,
      contact: Contact,
    ) => {
      const ids = Array.from({ length: count }, (_, i) => `event-${minute}-${i}`)
      const party = change.partyLocator === null ? 'missing' : contact.state
      const events = ids.map((id) => ofParty(id, party, { contact: forParty(id, contact), ...change }))
      for (let from = 0; from < count; from += 50) {
        const some = events.slice(from, from + 50)
        await metrics.stage('batch', batchOf(some.length, minute), async () => committed(some))
      }
      minute++
      await metrics.logMinute(log)
    }
    await pass(change, contact)
    await pass(change, contact)
    const isTold = (msg: unknown) => /^the data looks/.test(String(msg))
    const told = () => lines().flatMap(({ level, fault, msg }) => (isTold(msg) ? `${level} ${fault}` : []))
    t.strictSame(told(), fault === null ? [] : [`warn ${fault}`], 'once')
    const topic = /^(?:no|one)-(email|phone)/.exec(fault ?? '')?.[1] ?? 'claims'
    const inForce = () => metrics.dataFaults().map(({ subject }) => subject)
    t.strictSame(inForce(), fault === null ? [] : [`${fault} of ${topic}`], 'for the console')
    const gauge = async () => (await read()).value('notifications_data_fault', { fault: `${fault}`, topic })
    t.equal(await gauge(), isAlert ? 1 : undefined)
    const right = { eventType: 'claim.rejected', locator: 'CLM-2', reason: 'late' }
    if (fault === 'no-reason')
      await metrics.stage('batch', batchOf(1), async () =>
        committed([ofParty('other', 'found', { eventType: 'claim.rejected', variables: right })]),
      )
    for (let i = 0; i < 10; i++) await pass({}, aFound())
    t.strictSame(told().slice(1), fault === null ? [] : [`info ${fault}`])
    t.strictSame(inForce(), [])
    if (isAlert) t.equal(await gauge(), 0)
  })
}

t.test('many events of one customer at once may be wrong, and are no fault', async (t) => {
  const { metrics } = theMetrics()
  const { log, lines } = aJournal()
  const ofOne = Array.from({ length: 60 }, (_, i) => ofParty(`e-${i}`, 'found', { partyLocator: 'party-1' }))
  const pass = async (some: Attempt[], minute: number) => {
    await metrics.stage('batch', batchOf(some.length, minute), async () => committed(some))
    await metrics.logMinute(log)
  }
  await pass(ofOne.slice(0, 40), 0)
  await pass(ofOne.slice(40), 0)
  const may = /^the first events of a topic may be wrong: 40 of 40 events of claims name the same party/
  t.match(lines(), [{ level: 'info', fault: 'one-party', remedy: /"partyLocator"/, msg: may }])
  await pass(
    Array.from({ length: 60 }, (_, i) => ofParty(`f-${i}`, 'found')),
    1,
  )
  await pass(ofOne, 2)
  t.equal(lines().filter(({ fault }) => fault).length, 1)
  t.strictSame(metrics.dataFaults(), [])
})

t.test('of a large batch, the fields and addresses of fifty events are judged', async (t) => {
  const { metrics, read } = theMetrics()
  const events = Array.from({ length: 120 }, (_, i) => ofParty(`event-${i}`, 'found'))
  await metrics.stage('batch', batchOf(120), async () => committed(events))
  const { value } = await read()
  const reference = { topic: 'claims', field: 'locator', found: 'named' }
  t.equal(value('notifications_event_fields_total', reference), 50)
  const email = { address: 'email', found: 'address', needed: 'yes' }
  t.equal(value('notifications_contact_addresses_total', email), 50)
})

t.test('a customer without an email address says once that there is none', async (t) => {
  const { metrics, read } = theMetrics()
  const contact = aFound({ email: null })
  const ofOne = Array.from({ length: 60 }, (_, i) =>
    ofParty(`e-${i}`, 'found', { partyLocator: 'party-1', contact }),
  )
  for (const one of ofOne) await metrics.stage('batch', batchOf(1), async () => committed([one]))
  const labels = { address: 'email', found: 'blank', needed: 'yes' }
  t.equal((await read()).value('notifications_contact_addresses_total', labels), 1)
})

t.test('a fault of few answers a minute is told once, and stays until an answer is right', async (t) => {
  const { metrics, read } = theMetrics()
  const { log, lines } = aJournal()
  let minute = 0
  const pass = async (contact: Contact) => {
    const ids = Array.from({ length: 14 }, (_, i) => `event-${minute}-${i}`)
    await metrics.stage('batch', batchOf(14, minute++), async () =>
      committed(ids.map((id) => ofParty(id, 'found', { contact: forParty(id, contact) }))),
    )
    await metrics.logMinute(log)
  }
  const labels = { fault: 'no-email-place', topic: 'email' }
  for (let minute = 0; minute < 31; minute++) await pass(NO_PLACE)
  t.equal(lines().filter(({ fault }) => fault).length, 1)
  t.equal((await read()).value('notifications_data_fault', labels), 1)
  await pass(aFound())
  await pass(aFound())
  t.match(lines().at(-1), { level: 'info', fault: 'no-email-place' })
  t.equal((await read()).value('notifications_data_fault', labels), 0)
})

t.test('a topic that is named like an address is judged for itself', async (t) => {
  const { metrics } = theMetrics()
  const { log } = aJournal()
  const events = Array.from({ length: 20 }, (_, i) => {
    const one = ofParty(`event-${i}`, 'missing', { partyLocator: null })
    return { ...one, origin: { ...one.origin, topic: 'email' } }
  })
  await metrics.stage('batch', { ...batchOf(20), topic: 'email' }, async () => committed(events))
  const answers = Array.from({ length: 20 }, (_, i) => ofParty(`event-${i}`, 'found', { contact: NO_PLACE }))
  await metrics.stage('batch', batchOf(20), async () => committed(answers))
  await metrics.logMinute(log)
  const found = metrics.dataFaults().map(({ subject }) => subject)
  t.strictSame(found.sort(), ['no-email-place of email', 'no-party of email'])
})

t.test('each minute logs what was rejected, FAILED and SKIPPED, by reason, and else nothing', async (t) => {
  const { metrics } = theMetrics()
  const { log, lines } = aJournal()
  await metrics.logMinute(log)
  t.strictSame(lines(), [])
  const rejection = { code: 'not-json' as const, error: 'x' }
  const rejected = Array.from({ length: 3 }, () => ({ message: aMessage(), rejection }))
  const attempts = (['SENT', 'FAILED', 'SKIPPED', 'SKIPPED'] as const).map((status) =>
    anAttempt(status, { status }),
  )
  await metrics.stage('batch', batchOf(7), async () => committed(attempts, rejected))
  await metrics.logMinute(log)
  const rule = 'send-email'
  t.match(lines(), [
    { level: 'warn', code: { 'not-json': 3 }, msg: /^3 messages rejected/ },
    { level: 'warn', rule: { [rule]: 1 }, msg: /^1 event FAILED/ },
    { level: 'warn', rule: { [rule]: 2 }, msg: /^2 events SKIPPED/ },
  ])
  await metrics.logMinute(log)
  t.equal(lines().length, 3)
})

/** Events, how many of them are skipped, messages without a row, and what is logged about them. */
const FIRST_MINUTES: readonly (readonly [number, number, number, number, ...RegExp[]])[] = [
  [9, 0, 0, 0],
  [10, 5, 0, 0, /^info the first events of a topic look right/],
  [10, 6, 0, 0],
  [4, 0, 0, 0],
  [10, 0, 1, 0, /^warn 1 message rejected/],
  [1, 0, 119, 0, /^warn 119 messages rejected/],
  [10, 0, 0, 10, /^info the first events of a topic look right/],
  [10, 0, 0, 11, /^warn the data looks wrong: 11 of 21 messages were duplicates/],
  [1, 0, 0, 8],
]
t.test('what the first minute says of its messages is true of all of them', async (t) => {
  for (const [eventCount, skippedCount, rejectedCount, duplicateCount, ...told] of FIRST_MINUTES) {
    const { metrics } = theMetrics()
    const { log, lines } = aJournal()
    const rejection = { code: 'conflict' as const, error: 'x' }
    const rejected = Array.from({ length: rejectedCount }, () => ({ message: aMessage(), rejection }))
    const attempts = Array.from({ length: eventCount }, (_, i) =>
      anAttempt(`event-${i}`, {
        partyLocator: `party-${i}`,
        variables: { ...ONE_CLAIM, locator: `CLM-${i}` },
        status: i < skippedCount ? 'SKIPPED' : 'SENT',
      }),
    )
    const batch = batchOf(eventCount + rejectedCount + duplicateCount)
    await metrics.stage('batch', batch, async () => committed(attempts, rejected))
    await metrics.logMinute(log)
    const found = lines().map(({ level, msg }) => `${level} ${msg}`)
    t.match(
      found.filter((line) => !line.includes('SKIPPED')),
      told,
      `${[eventCount, skippedCount, rejectedCount, duplicateCount]}`,
    )
    t.equal(found.length, told.length + Math.min(skippedCount, 1))
  }
})

t.test('event ids that many messages share are a fault until most have their own', async (t) => {
  const { metrics, read } = theMetrics()
  const { log, lines } = aJournal()
  const fault = async () =>
    (await read()).value('notifications_data_fault', { fault: 'repeated-id', topic: '' })
  const minute = async (eventCount: number, duplicateCount: number) => {
    const attempts = Array.from({ length: eventCount }, (_, i) =>
      anAttempt(`event-${i}`, { partyLocator: `party-${i}` }),
    )
    await metrics.stage('batch', batchOf(eventCount + duplicateCount), async () => committed(attempts))
    await metrics.logMinute(log)
  }
  await minute(10, 30)
  t.equal(await fault(), undefined, 'a producer may repeat some')
  await minute(10, 30)
  t.equal(await fault(), 1)
  t.match(metrics.dataFaults(), [{ subject: 'repeated-id', text: /60 of 80 messages/, remedy: /"eventId"/ }])
  for (const few of [0, 20]) await minute(0, few)
  t.equal(await fault(), 1, 'few say nothing else')
  await minute(60, 3)
  t.equal(await fault(), 0)
  t.strictSame(
    metrics.dataFaults().filter(({ subject }) => subject === 'repeated-id'),
    [],
  )
  t.match(
    lines().filter(({ fault }) => fault === 'repeated-id'),
    [
      { level: 'warn', msg: /30 of 40 messages/, remedy: /if checkpoints were moved back/ },
      { level: 'info', msg: 'the data looks right again' },
    ],
  )
})

t.test('events of two minutes are judged by what was rejected in either', async (t) => {
  const { metrics } = theMetrics()
  const { log, lines } = aJournal()
  const rejected = [{ message: aMessage(), rejection: { code: 'conflict' as const, error: 'x' } }]
  for (const some of [rejected, []]) {
    const attempts = Array.from({ length: 6 }, (_, i) => anAttempt(`event-${i}`))
    await metrics.stage('batch', batchOf(6 + some.length), async () => committed(attempts, some))
    await metrics.logMinute(log)
  }
  t.match(lines(), [{ level: 'warn', msg: /^1 message rejected/ }])
  t.equal(lines().length, 1)
})

t.test('the backlog is read when metrics are requested', async (t) => {
  const { read } = theMetrics()
  const { value } = await read()
  const place = { topic: 'claims', partition: '3' }
  t.equal(value('notifications_consumer_lag_messages', place), 7)
  t.equal(value('notifications_oldest_unprocessed_event_age_seconds', place), 12.5)
  t.equal(value('notifications_failed_rows', { state: 'waiting' }), 4)
  t.equal(value('notifications_failed_rows', { state: 'given_up' }), 5)
  t.equal(value('notifications_expired_rows'), 6)
  t.equal(value('notifications_database_pool_waiters', { pool: 'http' }), 3)
  t.equal(value('notifications_consumer_joined', { group: 'ours' }), 1)
  t.equal(value('notifications_partition_blocked', { ...place, reason: 'locked' }), 1)
  t.equal(value('notifications_assigned_partitions'), 2)
  t.equal(value('notifications_policy_administration_down'), 1)
  t.equal(value('notifications_hold', { topic: 'claims' }), 1)
  t.equal(value('notifications_held_events', { topic: 'claims' }), 19)
  const labels = { version: '1.2.3', rule_table_revision: 'abc', envelope_map_revision: 'map' }
  t.equal(value('notifications_build_info', labels), 1)

  const partitions = BACKLOG.partitions.slice(1)
  const { value: later } = await read({
    ...{
      partitions,
      failedRows: null,
      assignedCount: null,
      brokerReachable: false,
      databaseReachable: false,
    },
  })
  t.equal(later('notifications_consumer_lag_messages', place), undefined, 'what is not known is left out')
  t.equal(later('notifications_consumer_lag_messages', { ...place, partition: '4' }), 0)
  t.equal(later('notifications_oldest_unprocessed_event_age_seconds', place), undefined)
  t.equal(later('notifications_failed_rows', { state: 'waiting' }), undefined)
  t.equal(later('notifications_expired_rows'), undefined)
  t.equal(later('notifications_consumer_joined', { group: 'ours' }), 0)
  t.equal(later('notifications_partition_blocked', { ...place, reason: 'locked' }), undefined)
  t.equal(later('notifications_hold', { topic: 'claims' }), 1, 'a hold lasts until it is known to have ended')
  for (const name of ['assigned_partitions', 'broker_reachable', 'database_reachable'])
    t.equal(later(`notifications_${name}`), 0, name)
})

const file = (name: string) =>
  readFile(new URL(`../../../src/service/telemetry/${name}`, import.meta.url), 'utf8')

t.test('the text is valid', async (t) => {
  const { metrics, read } = theMetrics()
  await metrics.stage('batch', batchOf(1), async () => committed([anAttempt('a')]))
  const { families } = await read()
  t.ok(families.size > 30)
  for (const { name, help, type } of families.values()) {
    t.ok(help, `${name} says what it is`)
    t.equal(type === 'COUNTER', name.endsWith('_total'), name)
  }
  await t.test('for promtool', { skip: NO_PROMTOOL }, async (t) => {
    t.equal(await promtool(['check', 'metrics'], (await metrics.expose()).text), '')
  })
})

t.test('every alert links to its section of the page', async (t) => {
  const { groups } = parse(await file('alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  t.ok(rules.length > 5)
  const sections = [...(await file('README.md')).matchAll(/^### (Notifications\w+)$/gm)].map(
    ([, name]) => name,
  )
  t.strictSame(
    sections,
    rules.map(({ alert }) => alert),
  )
  for (const { alert, annotations } of rules) {
    t.equal(annotations.runbook, `src/service/telemetry/README.md#${alert.toLowerCase()}`)
  }
})

t.test('the alerts are valid for promtool', { skip: NO_PROMTOOL }, async (t) => {
  const alerts = new URL('../../../src/service/telemetry/alerts.yaml', import.meta.url).pathname
  t.equal(await promtool(['check', 'rules', alerts]), '')
})
