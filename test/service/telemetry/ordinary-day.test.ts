import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { stringify } from 'yaml'
import type { Attempt } from '../../../src/service/decide/attempt/attempt.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import type { Backlog } from '../../../src/service/model/backlog.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { createMetrics } from '../../../src/service/telemetry/registry.ts'
import { createRandom, type Random } from '../../stack/random.ts'
import { aMessage, anAnswered, committedAt } from '../build.ts'
import { anAttempt, NOT_FOUND } from '../decide/attempt/build.ts'
import { metricSources } from './build.ts'
import { NO_PROMTOOL, promtool } from './promtool.ts'

const ALERTS = fileURLToPath(new URL('../../../src/service/telemetry/alerts.yaml', import.meta.url))
const at = (hour: number, minute: number) => hour * 60 + minute
const END = at(24, 0)

/** Events a minute: by day and night, in one run each night, and four a day. */
const TOPICS: Readonly<Record<string, (minute: number) => number>> = {
  claims: (minute) => (minute >= at(7, 0) ? 14 : 3),
  billing: (minute) => (minute >= at(2, 0) && minute < at(2, 15) ? 400 : 0),
  complaints: () => 4 / END,
}

/** The primary goes down with one of the replicas, whose partitions the other one takes over. */
const FAIL_OVER = { from: at(3, 20), to: at(3, 22) }
/** A release replaces one replica after the other. */
const PODS = [
  { instance: 'a-1', slot: 0, release: '1', from: 0, to: at(14, 0) },
  { instance: 'b-1', slot: 1, release: '1', from: 0, to: FAIL_OVER.from },
  { instance: 'b-2', slot: 1, release: '1', from: FAIL_OVER.to, to: at(14, 3) },
  { instance: 'a-2', slot: 0, release: '2', from: at(14, 1), to: END },
  { instance: 'b-3', slot: 1, release: '2', from: at(14, 4), to: END },
]
type Pod = (typeof PODS)[number]

const isDown = (minute: number) => minute >= FAIL_OVER.from && minute < FAIL_OVER.to
/** The first replica reads one topic that is quiet at the time of the fail-over, and another one after it. */
const slotOf = (topic: string, minute: number) =>
  topic === (minute < FAIL_OVER.to ? 'complaints' : 'billing') ? 0 : 1

/** Parties are told in their order, so that families of four are told together: half of their members share an address. */
const household = (random: Random, party: number) => (random.chance(0.5) ? party - (party % 4) : party)

/** Answers leave out addresses that they do not have: a fifth have no email, most no phone, and a few are notes. */
function aContact(random: Random, party: number): Contact {
  if (random.chance(0.05)) return NOT_FOUND
  const [email, phone] = [random.chance(0.8), random.chance(0.25)]
  const written = random.chance(0.02) ? 'on paper only' : null
  return anAnswered({
    ...(email ? { email: written ?? `member-${household(random, party)}@example.com` } : {}),
    ...(phone ? { phone: written ?? `+1 555 ${household(random, party)}` } : {}),
  })
}

/** One customer has a third of the claims, half of them about one loss. A tenth are rejected, half of these without a reason. */
function anEvent(topic: string, random: Random, partyLocator: string, contact: Contact): Attempt {
  const { decision, origin } = anAttempt('event')
  const isLarge = random.chance(0.33)
  const eventType = random.chance(0.1) ? 'claim.rejected' : 'claim.paid'
  const id = String(random.below(1_000_000))
  const locator = isLarge && random.chance(0.5) ? 'CLM-1' : `CLM-${id}`
  const party = contact.state === 'not found' ? 'not found' : 'found'
  const isSent = contact.state === 'found' && contact.email !== null
  return anAttempt(`event-${id}`, {
    eventType,
    partyLocator: isLarge ? 'party-of-many' : partyLocator,
    contact: isLarge ? anAnswered({ email: 'many@example.com' }) : contact,
    variables: { eventType, locator, reason: random.chance(0.5) ? 'late' : null },
    origin: { ...origin, topic },
    status: isSent ? 'SENT' : 'SKIPPED',
    decision: { ...decision, facts: { ...decision.facts, party } },
  })
}

/** A replica, with the product's own metrics and judges. */
function startReplica({ release }: Pod) {
  let backlog: Backlog | null = null
  const metrics = createMetrics({
    ...metricSources(),
    ruleTableRevision: release,
    topics: Object.keys(TOPICS),
    rules: [{ id: 'email', outcome: 'SEND' }],
    backlog: async () => backlog as Backlog,
  })
  const log = createLog('info', { write: () => {} })
  return {
    fail: () =>
      metrics.stage('batch', aBatch(1), () => Promise.reject(new Error('no database'))).catch(() => {}),
    process: async (topic: string, minute: number, random: Random, count: number) => {
      const first = random.below(100_000)
      const byParty = new Map(
        Array.from({ length: count }, (_, i) => [`party-${first + i}`, aContact(random, first + i)]),
      )
      const inserted = [...byParty].map(([party, contact]) => anEvent(topic, random, party, contact))
      // A producer repeats a message now and then.
      const batch = aBatch(count + Number(random.chance(0.05)), topic, minute)
      await metrics.stage('batch', batch, async () => committedAt(0n, { inserted }))
    },
    scrape: async (now: Backlog) => {
      backlog = now
      await metrics.logMinute(log)
      return (await metrics.expose()).text
    },
  }
}
const aBatch = (messageCount: number, topic = 'claims', minute = 0) => ({
  topic,
  partition: 0,
  expectedCheckpoint: -1n,
  lastOffset: 0n,
  lastMessage: null,
  messages: Array.from({ length: messageCount }, (_, i) => ({
    ...aMessage(),
    timestampMs: BigInt(Math.floor((minute + i / messageCount) * 60_000)),
  })),
})

/** What Prometheus stores of a day, of the metrics that the alerts read. */
async function recordDay(seed: number, alerts: string) {
  const random = createRandom(seed)
  const replicas = new Map<Pod, ReturnType<typeof startReplica>>()
  const series = new Map<string, string[]>()
  const record = (name: string, labels: string, minute: number, value: string) => {
    const key = `${name}{${labels}}`
    const values = series.get(key) ?? Array<string>(minute).fill('_')
    series.set(key, values)
    while (values.length < minute) values.push('stale')
    values.push(value)
  }
  const read = new Set(alerts.match(/\b(notifications|process|nodejs)_\w+/g))
  const waiting: Record<string, number> = {}
  for (let minute = 0; minute < END; minute++) {
    const pods = PODS.filter(({ from, to }) => from <= minute && minute < to)
    for (const [topic, rate] of Object.entries(TOPICS)) {
      const mean = rate(minute)
      waiting[topic] =
        (waiting[topic] ?? 0) +
        Math.floor(mean / 2) +
        random.below(Math.floor(mean) + 1) +
        Number(random.chance(mean % 1))
    }
    for (const pod of pods) {
      const replica = replicas.get(pod) ?? startReplica(pod)
      replicas.set(pod, replica)
      const owned = Object.keys(TOPICS).filter(
        (topic) => pods.length === 1 || slotOf(topic, minute) === pod.slot,
      )
      for (const topic of owned) {
        const count = waiting[topic] ?? 0
        if (count > 0 && isDown(minute)) await replica.fail()
        else if (count > 0) {
          await replica.process(topic, minute, random, count)
          waiting[topic] = 0
        }
      }
      const text = await replica.scrape({
        assignedCount: owned.length,
        brokerReachable: true,
        databaseReachable: !isDown(minute),
        partitions: owned.map((topic) => {
          const messageCount = waiting[topic] ?? 0
          return { topic, partition: 0, messageCount, oldestAgeS: messageCount > 0 ? 60 : 0 }
        }),
        waitingByPartition: new Map(),
        waitingByTopic: new Map(),
        failedRows: isDown(minute) ? null : { waiting: 0, givenUp: 0, expired: 0 },
      })
      const own = `namespace="insurer",job="notifications",instance="${pod.instance}"`
      record('up', own, minute, '1')
      record('process_start_time_seconds', own, minute, String(pod.from * 60))
      for (const [, name = '', labels = '', value = ''] of text.matchAll(
        /^(notifications_\w+)(?:\{(.*)\})? (\S+)$/gm,
      ))
        if (read.has(name)) record(name, labels === '' ? own : `${labels},${own}`, minute, value)
    }
  }
  return [...series].map(([name, values]) => ({ series: name, values: [...values, 'stale'].join(' ') }))
}

t.test('an ordinary day raises no alert', { skip: NO_PROMTOOL }, async (t) => {
  const alerts = await readFile(ALERTS, 'utf8')
  const seed = Number(process.env.SEED ?? 1)
  const test = {
    interval: '1m',
    input_series: await recordDay(seed, alerts),
    promql_expr_test: [
      {
        expr: `count by (alertname, instance, fault, topic) (count_over_time(ALERTS{alertstate="firing"}[1d]))`,
        eval_time: `${END - 1}m`,
        exp_samples: [],
      },
    ],
  }
  const dir = t.testdir({
    'test.yaml': stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests: [test] }),
  })
  t.equal(await promtool(['test', 'rules', join(dir, 'test.yaml')]), '', `seed ${seed}`)
})
