// node test/stack/with-stack.ts -- node test/soak/audit.ts
// Audits MESSAGES messages (1,000,000) whose rows SQL has filled in, 5 of them deleted by hand: it must name those 5, in flat
// memory. Exits 1 where it does not.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { setInterval } from 'node:timers/promises'
import { numberFrom } from '../stack/environment.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { anEvent, createWorld, type TopicName } from '../stack/world.ts'
import { result, say } from './report.ts'

const TOPICS: readonly TopicName[] = ['claims', 'billing', 'enrollment']
const PARTITION_COUNT = 2
const PARTY_COUNT = 50_021
const PUBLISHED_AT_ONCE = 10_000
const DELETED_COUNT = 5
const SAMPLE_MS = 100
const GROWTH_MAX = 1.3
const PER_SECOND_MIN = 20_000

const count = numberFrom('MESSAGES', 1_000_000)
const world = await createWorld({ partitionCount: PARTITION_COUNT })
try {
  for (let first = 0; first < count; first += PUBLISHED_AT_ONCE) {
    const some = Array.from({ length: Math.min(PUBLISHED_AT_ONCE, count - first) }, (_, i) =>
      messageOf(first + i),
    )
    await world.publish(some)
    if (first % (PUBLISHED_AT_ONCE * 10) === 0) say(`published ${first + some.length} of ${count}`)
  }
  await fillRows()
  say('the log is filled')
  const deleted = Array.from({ length: DELETED_COUNT }, (_, i) =>
    Math.floor(((i + 0.5) * count) / DELETED_COUNT),
  )
  await world.sql('DELETE FROM notifications.notification_log WHERE event_id = ANY($1)', [
    deleted.map((n) => `event-${n}`),
  ])
  const { code, lines, seconds, residentMb } = await audit()
  const summary = lines.at(-1)
  const named = lines
    .slice(0, -1)
    .map(({ kind, topic, partition, offset, eventId }) => [kind, topic, partition, offset, eventId].join(' '))
  const expected = deleted.map((n) => {
    const { topic, partition, offset } = placeOf(n)
    return ['missing', world.topics[topic], partition, offset, `event-${n}`].join(' ')
  })
  const tenth = Math.ceil(residentMb.length / 10)
  const [earlyMb, lateMb] = [
    Math.max(...residentMb.slice(tenth, 2 * tenth)),
    Math.max(...residentMb.slice(-tenth)),
  ]
  const perSecond = Math.round(count / seconds)
  say(
    `${count} messages in ${seconds.toFixed(1)} s: ${perSecond}/s; ${Math.max(...residentMb)} MB resident at most`,
  )
  result({
    [`it names the ${DELETED_COUNT} deleted rows, and exits 1`]:
      code === 1 && JSON.stringify(named.toSorted()) === JSON.stringify(expected.toSorted()),
    'it counts all others as rows': summary?.rows === count - DELETED_COUNT && summary?.differs === 0,
    [`memory stays flat: ${earlyMb} MB after a tenth, ${lateMb} MB at the end`]:
      lateMb <= GROWTH_MAX * earlyMb,
    [`it reads at least ${PER_SECOND_MIN} messages/s: ${perSecond}/s`]: perSecond >= PER_SECOND_MIN,
  })
} finally {
  await world.close()
}

function placeOf(n: number) {
  const topic = TOPICS[n % TOPICS.length] as TopicName
  const ofTopic = Math.floor(n / TOPICS.length)
  return { topic, partition: ofTopic % PARTITION_COUNT, offset: Math.floor(ofTopic / PARTITION_COUNT) }
}

function messageOf(n: number) {
  const { topic, partition } = placeOf(n)
  return { ...anEvent({ eventId: `event-${n}`, partyLocator: `party-${n % PARTY_COUNT}` }), topic, partition }
}

/** The service's rows and decisions for all of them, not ordered by event id. */
async function fillRows(): Promise<void> {
  const topics = `(ARRAY[${TOPICS.map((name) => `'${world.topics[name]}'`).join()}])[n % ${TOPICS.length} + 1]`
  const ofTopic = `n / ${TOPICS.length}`
  const locator = `'NTF-' || lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000'`
  await world.sql(`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, attempt_count, sent_at, last_attempt_at
    )
    SELECT ${locator}, 'event-' || n, 'party-' || n % ${PARTY_COUNT}, 'claim.paid', 'EMAIL', 'SENT',
      'Your claim CLM-1 is paid', 'We have paid your claim CLM-1.', 1, now(), now()
    FROM generate_series(0, ${count - 1}) AS n`)
  await world.sql(`
    INSERT INTO notifications.decision (
      locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, facts, variables,
      rule_table_revision, receipt, topic, partition_id, "offset"
    )
    SELECT ${locator}, 1, 'event-' || n, 'party-' || n % ${PARTY_COUNT}, 'claim.paid', 'SEND', 'EMAIL', 'email',
      '{"party": "found"}', '{"locator": "CLM-1"}', 'x', 'EMAIL:1', ${topics}, ${ofTopic} % ${PARTITION_COUNT},
      ${ofTopic} / ${PARTITION_COUNT}
    FROM generate_series(0, ${count - 1}) AS n`)
  await world.sql(`
    INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
    SELECT topic, partition_id, max("offset") FROM notifications.decision GROUP BY topic, partition_id`)
  await world.sql('VACUUM ANALYZE notifications.notification_log, notifications.decision')
}

/** Audits all that is configured, as an operator would; says how long it took, and its resident memory now and then. */
async function audit() {
  const startedMs = performance.now()
  const child = spawn(MAIN, ['audit', '--json'], {
    env: { ...EXECUTABLE_ENV, ...world.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stopped = new AbortController()
  const residentMb: number[] = []
  const sampling = (async () => {
    for await (const _ of setInterval(SAMPLE_MS, null, { signal: stopped.signal })) {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
      const kb = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]
      if (kb !== undefined) residentMb.push(Math.round(Number(kb) / 1024))
    }
  })().catch(() => {})
  const [[code], stdout] = await Promise.all([once(child, 'close'), text(child.stdout)])
  stopped.abort()
  await sampling
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { code, lines, seconds: (performance.now() - startedMs) / 1_000, residentMb }
}
