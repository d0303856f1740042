import t from 'tap'
import { endOffsets, withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command, jsonLines } from './command.ts'

const skip = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no transactions'
const world = await aWorld(t)
const { claims, enrollment } = world.topics

const audit = (...args: string[]) => command(['audit', ...args], world.env)
const LOG = 'notifications.notification_log'

/** The findings, by place, and the summary. */
async function auditJson(...args: string[]) {
  const { code, stdout, stderr } = await audit('--json', ...args)
  const lines = jsonLines(stdout)
  const placeOf = ({ partition, offset }: { partition: number; offset: string }) =>
    partition * 100 + Number(offset)
  const findings = lines.filter(({ kind }) => kind !== 'summary').sort((a, b) => placeOf(a) - placeOf(b))
  return { code, stderr, findings, summary: lines.at(-1) }
}

/** Two producers whose transactions overlap in one partition. The second one is aborted. */
async function publishTransactions() {
  const ids = ['kept', 'aborted'].map((name) => `${claims}-${name}`)
  await withTransactions(world.brokers, ids, async (producers) => {
    const [first, second] = await Promise.all(producers.map((producer) => producer.transaction()))
    for (let count = 0; count < 2; count++) {
      for (const transaction of [first, second])
        await transaction?.send({ topic: claims, messages: [{ value: anEvent().value, partition: 1 }] })
    }
    await first?.commit()
    await second?.abort()
  })
  await until(async () => (await endOffsets(world.brokers, claims))[1] === 7, { what: 'both to be ended' })
}

const [first, second, third, fourth] = [0, 1, 2, 3].map((i) => ({
  ...anEvent({ partyLocator: `party-${i}` }),
  partition: 0,
})) as [Sent, Sent, Sent, Sent]
type Sent = ReturnType<typeof anEvent> & { partition: number }

t.before(async () => {
  if (skip) return
  const service = await world.serve()
  await world.publish([first, second, third, fourth, { value: '{"no": "event"}', partition: 0 }])
  await world.caughtUp()
  await world.publish([
    { ...first, partition: 1 },
    { ...second, topic: 'billing' },
    { ...anEvent({ partyLocator: '' }), topic: 'billing', partition: 1 },
    { ...anEvent(), topic: 'enrollment', partition: 0 },
    { ...anEvent(), topic: 'enrollment', partition: 0 },
  ])
  await publishTransactions()
  await world.caughtUp()
  await service.stop()
  await world.publish([{ ...anEvent(), partition: 0 }])
})

t.test('each message is counted by what became of it', { skip }, async (t) => {
  const { code, findings, summary } = await auditJson()
  t.strictSame({ code, findings }, { code: 0, findings: [] })
  t.match(summary, {
    sound: true,
    rows: 9,
    duplicates: 2,
    rejected: 1,
    aborted: 2,
    waiting: 1,
    missing: 0,
    removed: 0,
  })
  const { stdout } = await audit('--topic', claims)
  t.match(stdout, `${claims}/0  offsets 0 to 5, processed up to 4\n${claims}/1  `)
  t.match(
    stdout,
    /^11 messages read\n +6 {2}rows .*\n +1 {2}duplicates.*\n +1 {2}kept as rejected messages\n +2 {2}aborted .*\n +1 {2}not yet consumed\nEvery message is accounted for\.$/m,
  )
})

t.test('only the requested topic or time is read', { skip }, async (t) => {
  await world.sql(`DELETE FROM ${LOG} WHERE event_id = $1`, [third.eventId])
  t.match(await auditJson('--since', '1h'), { code: 1, summary: { rows: 8, missing: 1 } })
  t.match(await auditJson('--until', '1h'), { code: 0, summary: { rows: 0 } })
  t.match(await auditJson('--topic', enrollment), { code: 0, summary: { rows: 2 } })
})

t.test('a missing topic is reported with its remedy', { skip }, async (t) => {
  t.match(await audit('--topic', 'nowhere'), {
    code: 1,
    stderr: /^the broker has no topic nowhere, .*grant READ\n$/,
  })
  const nobody = await command(['audit'], { ...world.env, MQ_BROKERS: '127.0.0.1:1' })
  t.match(nobody, { code: 1, stderr: /^the brokers of MQ_BROKERS cannot be used .*`doctor`/ })
})
