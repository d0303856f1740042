import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import t from 'tap'
import { encodeSubscription } from '../../src/service/consume/assigner.ts'
import { scrape } from '../stack/ask.ts'
import { preloading } from '../stack/executable.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker describes no group'
const HOUR_MS = 3_600_000

t.test('doctor names both rule tables of one group, and since when', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const topics = Object.values(world.topics)
  const kafka = new kafkajs.Kafka({ brokers: [world.brokers], logLevel: kafkajs.logLevel.NOTHING })
  const startedMs = Date.now() - HOUR_MS
  for (const ruleTableRevision of ['a'.repeat(64), 'b'.repeat(64)]) {
    const build = { version: '1.0.0', ruleTableRevision, envelopeMapRevision: null, startedMs, replica: null }
    const subscription = encodeSubscription(topics, build)
    const member = kafka.consumer({
      groupId: world.groupId,
      partitionAssigners: [
        (config) => ({ ...kafkajs.PartitionAssigners.roundRobin(config), protocol: () => subscription }),
      ],
    })
    await member.connect()
    t.teardown(() => member.disconnect())
    await member.subscribe({ topics })
    await member.run({ eachMessage: async () => {} })
  }
  const check = async () => {
    const { stdout } = await command(['doctor', '--json'], world.env)
    return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'consumer group')
  }
  const found = await until(
    async () => {
      const one = await check()
      return one.status === 'warning' && one
    },
    { what: 'both members to be in the group' },
  )
  const since = new Date(startedMs).toISOString()
  t.match(found, {
    status: 'warning',
    detail: new RegExp(
      `since ${since}: .*rule table aaaaaaaaaaaa on 1 replica .*rule table bbbbbbbbbbbb on 1`,
    ),
    remedy: /roll it back/,
  })
})

t.test('serve and doctor warn of a superuser, serve of too little memory', async (t) => {
  const world = await aWorld(t)
  const limited = 'process.constrainedMemory = () => 256 * 1024 * 1024'
  const service = await world.spawn(preloading(`data:text/javascript,${encodeURIComponent(limited)}`))
  const superuser = /^the database role \S+ is a superuser/
  t.match(await service.logged(superuser), { level: 'warn', remedy: /db\/grants.sql/ })
  t.match(await service.logged(/^memory is limited to 256 MiB/), { level: 'warn' })
  const { stdout } = await command(['doctor', '--json'], world.env)
  const role = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'role')
  t.match(role, { status: 'warning', detail: superuser, remedy: /notifications_service/ })
})

t.test('serve notices at once that its clock is off', async (t) => {
  const world = await aWorld(t)
  const late = 'const now = Date.now; Date.now = () => now() - 1_200_000'
  const service = await world.spawn({
    MANAGEMENT_PORT: '0',
    ...preloading(`data:text/javascript,${encodeURIComponent(late)}`),
  })
  t.match(await service.logged(/^the clocks differ: database: 1[12]\d\d s ahead of this machine$/), {
    level: 'warn',
    remedy: /time service/,
  })
  const url = await service.managementUrl()
  t.match(await (await fetch(`${url}/console/data/status`)).json(), {
    notices: [{ subject: /clocks/, text: /^the clocks differ/ }],
  })
  const { value } = await scrape(url)
  t.ok((value('notifications_database_clock_ahead_seconds') ?? 0) > 1_000)
})

/** The environment of a process whose minutes are short. */
const OFTEN = preloading(
  `data:text/javascript,${encodeURIComponent(
    'const every = setInterval; globalThis.setInterval = (run, ms) => every(run, ms === 60_000 ? 500 : ms)',
  )}`,
)

t.test('members who are to be told by email and have none are noticed, one without is not', async (t) => {
  const world = await aWorld(t)
  const service = await world.spawn(OFTEN)
  const parties = Array.from({ length: 15 }, (_, i) => `party-${i}`)
  for (const party of parties)
    world.policyAdministration.set(party, { email: null, phone: `+41 44 ${party}` })
  for (let i = 0; i < 20; i++) await world.publish([anEvent({ partyLocator: 'party-0' })])
  await world.caughtUp()
  await sleep(1_000)
  t.notOk(service.lines.some(({ msg }) => /^the data looks wrong/.test(`${msg}`)))
  await world.publish(parties.map((partyLocator) => anEvent({ partyLocator })))
  t.match(await service.logged(/^the data looks wrong: .* told by email/), {
    fault: 'no-email-on-file',
    remedy: /^correct POLICY_ADMIN_EMAIL/,
  })
})

t.test('the console says what looks wrong about the data', async (t) => {
  const world = await aWorld(t)
  const service = await world.spawn({ MANAGEMENT_PORT: '0', ...OFTEN })
  await world.publish(Array.from({ length: 10 }, () => anEvent({ partyLocator: undefined })))
  await service.logged(/^the data looks wrong/)
  const url = await service.managementUrl()
  t.match(await (await fetch(`${url}/console/data/status`)).json(), {
    notices: [{ subject: `no-party of ${world.topics.claims}`, remedy: /"partyLocator"/ }],
  })
})
