import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadEnvelopeMaps, mapOf } from '../../src/service/decide/event/envelope-map.ts'
import { messageByMap } from '../stack/by-map.ts'
import type { TopicName } from '../stack/topics.ts'
import { aWorld } from '../stack/world.ts'
import { spawned } from './command.ts'

const world = await aWorld(t)
const { claims, billing, enrollment } = world.topics

/** The example of src/service/consume/README.md, for the topics of this test. */
const page = readFileSync(new URL('../../src/service/consume/README.md', import.meta.url), 'utf8')
const example = /^\{\n {2}"eventId": "\/id".*?^\}$/ms.exec(page)?.[0] ?? ''
const source = example.replace('"billing"', `"${billing}"`).replace('"enrollment"', `"${enrollment}"`)
const maps = loadEnvelopeMaps(source)

const house = t.testdir({})
cpSync(new URL('../first/rules', import.meta.url), join(house, 'rules'), { recursive: true })
writeFileSync(join(house, 'rules/envelope.json'), source)
const env = { ...world.env, HOUSE: house }

function event(topic: TopicName, number: number) {
  const eventId = `${topic}-${number}`
  const about = { partyLocator: `party-${number}`, locator: `CLM-${number}`, reason: 'see party-0' }
  return {
    topic,
    ...messageByMap(mapOf(maps, world.topics[topic]), { eventId, eventType: 'claim.paid', ...about }),
  }
}

t.test('one service reads three topics in three forms, each by its map', async (t) => {
  const topics = Object.keys(world.topics) as TopicName[]
  const forms = topics.map((topic) => event(topic, 0))
  t.match(forms, [
    { value: /^\{"id":"claims-0","type":"claim.paid","data":\{"member"/, headers: {} },
    { value: /^\{"member"/, headers: { ce_id: 'billing-0', ce_type: 'claim.paid' } },
    { value: /^"\{\\"member\\"/, headers: { id: 'enrollment-0', eventType: 'claim.paid' } },
  ])
  const service = await world.spawn({ HOUSE: house })
  await world.publish([
    ...topics.flatMap((topic) => [0, 1].map((i) => event(topic, i))),
    { ...event('claims', 2), topic: 'billing' },
    { ...event('enrollment', 3), headers: {} },
  ])
  await world.caughtUp()
  const rows = await world.sql(
    'SELECT event_id, party_locator, status FROM notifications.notification_log ORDER BY event_id',
  )
  t.strictSame(
    rows,
    topics
      .sort()
      .flatMap((topic) =>
        [0, 1].map((i) => ({ event_id: `${topic}-${i}`, party_locator: `party-${i}`, status: 'SENT' })),
      ),
  )
  t.match(await world.sql('SELECT topic, error FROM notifications.rejected_message ORDER BY topic'), [
    { topic: billing, error: 'eventId (header:ce_id) is missing' },
    { topic: enrollment, error: 'eventId (header:id) is missing' },
  ])
  await service.stop()

  t.match(await spawned(['audit'], env), {
    code: 0,
    stdout: / 6 {2}rows that agree.* 2 {2}kept as rejected.*accounted for/s,
  })
  const [{ locator } = {}] = await world.sql(
    `SELECT locator FROM notifications.notification_log WHERE event_id = 'billing-1'`,
  )
  const rejectedOf = (party: string) => spawned(['erase', '--party', party, '--dry-run'], env)
  t.match(await rejectedOf('party-3'), { stdout: /, 1 rejected message of/ })
  t.match(await rejectedOf('party-0'), {
    stdout: /, 0 rejected messages of .*Not erased: 2 places with party-0/s,
  })
  t.match(await spawned(['why', locator], env), { stdout: /party locator at \/member, locator at \/claim/ })
})

t.test('a map or a setting without effect is a warning of the service, the map also of doctor', async (t) => {
  const MQ_TOPICS = [claims, `${billing}s`].join()
  const said = `a map for the topic "${billing}", which is not in MQ_TOPICS; did you mean "${billing}s"?`
  const service = await world.spawn({ HOUSE: house, MQ_TOPICS, RETRY_INTERVAL: '1h' })
  for (const warning of [/has a map/, /RETRY_INTERVAL has no effect/])
    t.equal((await service.logged(warning)).level, 'warn')
  await service.stop()
  const { code, stdout } = await spawned(['doctor'], { ...env, MQ_TOPICS: [claims, enrollment].join() })
  t.equal(code, 0)
  t.match(stdout, `a map for the topic "${billing}", which is not in MQ_TOPICS`)
  t.ok(service.lines.some(({ msg }) => msg.includes(said)))
})
