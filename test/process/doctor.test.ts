import { cpSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import t from 'tap'
import { doctorCommand } from '../../src/operations/doctor/doctor.ts'
import { encodeSubscription } from '../../src/service/consume/assigner.ts'
import { STATED_FACT_LIST } from '../../src/service/decide/event/stated-facts.ts'
import { openDatabase } from '../service/store/fixtures.ts'
import { startCollector } from '../service/telemetry/collector.ts'
import { createDatabase } from '../stack/databases.ts'
import { ADMIN_SCOPE, AUDIENCE, startIdentityProvider } from '../stack/identity-provider.ts'
import { close, listen } from '../stack/listen.ts'
import { joinByNewProtocol } from '../stack/new-protocol-member.ts'
import { createTopics, withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command, spawned, worldOf } from './command.ts'

const world = await aWorld(t, { partitionCount: 1 })
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker has neither transactions nor KIP-848'

interface Finding {
  readonly name: string
  readonly status: string
  readonly detail: string
  readonly remedy: string | null
}

async function doctor(env: Record<string, string>, run = command) {
  const { code, stdout, stderr } = await run(['doctor', '--json'], { ...world.env, ...env })
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] }
  const statuses = Object.fromEntries(checks.map(({ name, status }) => [name, status]))
  const find = (name: string) => checks.find((check) => check.name === name)
  return { code, ok, statuses, find, stdout, stderr }
}

/** Waits until this check has this status: a group that takes a member in has no partitions for a while. */
const judged = (status: string, name: string, env: Record<string, string>) =>
  until(
    async () => {
      const found = (await doctor(env)).find(name)
      return found?.status === status && found
    },
    { what: `${name} to be ${status}`, intervalMs: 500 },
  )

/** The statuses of these checks. */
const are = (status: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, status]))
const OF_DATABASE = ['database', 'schema', 'partitions', 'log']
const ALL_WELL = {
  ...are(
    'ok',
    'rules',
    'configuration',
    'broker',
    'topics',
    'envelope map',
    ...OF_DATABASE,
    'policy administration',
  ),
  'identity provider': 'skipped',
}

t.test('on a terminal nothing of what people and producers wrote is obeyed', async (t) => {
  await world.sql(
    `INSERT INTO notifications.request (kind, target, requested_by, because) VALUES ('hold', '{}', 'o', $1)`,
    ['x\u001b[2J\u009b2J\u202e'],
  )
  for (const args of [[], ['--json']]) {
    const written: string[] = []
    const { promise: exited, resolve: exit } = Promise.withResolvers<number>()
    const terminal = worldOf((_, text) => written.push(text), { isTTY: true, env: world.env, exit })
    await doctorCommand(terminal).parseAsync(args, { from: 'user' })
    await exited
    t.match(written.join(''), /because x\\u001b\[2J\\u009b2J\\u202e/)
    t.notMatch(written.join(''), /(?!\n)\p{Cc}|\p{Cf}/u)
  }
  await world.sql('DELETE FROM notifications.request')
})

t.test('a check without faults says so, with exit code 0', async (t) => {
  t.match(await doctor({}), { code: 0, ok: true, statuses: ALL_WELL, stderr: '' })
  const { code, stdout } = await command(['doctor'], world.env)
  t.equal(code, 0)
  t.match(stdout, /^ok +database +PostgreSQL \d+/m)
  t.match(stdout, /^ok +log +0 .*, 0 .*, 0 /m)
})

t.test('unintentionally open routes are a warning, an unusable key set is a fault', async (t) => {
  t.match((await doctor({ HOST: '0.0.0.0' })).find('identity provider'), {
    status: 'warning',
    detail: /^HOST /,
    remedy: /^set IDP_JWKS_URI/,
  })

  const idp = await startIdentityProvider()
  t.teardown(() => idp.stop())
  const found = await doctor({ IDP_JWKS_URI: idp.keySetUrl })
  t.match(found, { code: 0, ok: true, statuses: { configuration: 'warning', 'identity provider': 'ok' } })
  const { detail } = found.find('configuration') ?? {}
  for (const name of ['IDP_JWKS_URI', 'IDP_AUDIENCE', 'IDP_ADMIN_SCOPE']) t.match(detail, `${name} is `)
  const { stdout } = await command(['doctor'], { ...world.env, IDP_JWKS_URI: idp.keySetUrl })
  t.match(stdout, /^warning +configuration +valid$/m)
  t.match(stdout, /^All checks passed, with warnings\.$/m)

  idp.be((_request, response) => void response.end('{"keys":[{"kty":"oct","k":"AAAA"}]}'))
  t.match((await doctor({ IDP_JWKS_URI: idp.keySetUrl })).find('identity provider'), {
    status: 'failed',
    detail: /1 key/,
    remedy: /src\/service\/http\/README\.md/,
  })
})

t.test('a token in a file is checked, too', async (t) => {
  const idp = await startIdentityProvider()
  t.teardown(() => idp.stop())
  const env = { ...world.env, IDP_JWKS_URI: idp.keySetUrl, IDP_ISSUER: idp.issuer, IDP_AUDIENCE: AUDIENCE }
  const file = join(t.testdir({ token: await idp.token(ADMIN_SCOPE) }), 'token')
  const { code, stdout } = await command(['doctor', '--json', '--token', file], env)
  t.equal(code, 0)
  t.match(JSON.parse(stdout).checks.at(-1), { name: 'token', status: 'ok', detail: /^accepted/ })
})

t.test('the collector and the clocks are asked', async (t) => {
  const collector = await startCollector()
  t.teardown(collector.stop)
  const idp = await startIdentityProvider()
  t.teardown(() => idp.stop())
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, IDP_JWKS_URI: idp.keySetUrl }
  t.match((await doctor(env)).statuses, { collector: 'ok', clocks: 'ok' })
  idp.be((_request, response) => {
    const date = new Date(Date.now() - 900_000).toUTCString()
    response.setHeader('date', date).end('{"keys":[]}')
  })
  const found = await doctor({ OTEL_ENDPOINT: 'http://127.0.0.1:1', IDP_JWKS_URI: idp.keySetUrl })
  t.match(found.find('collector'), { status: 'failed', remedy: /OTEL_ENDPOINT/ })
  // Its time is compared with the middle of the request, which may be slow.
  t.match(found.find('clocks'), { status: 'failed', detail: /identity provider: (89\d|90\d) s behind/ })
})

t.test('doctor warns, once a party has a contact, if responses do not name their party', async (t) => {
  const found = async () => (await doctor({})).find('policy administration')
  t.match(await found(), { status: 'ok', detail: /first contact/ })
  await world.serve()
  await world.publish([anEvent({ partyLocator: 'party-1' })])
  await world.caughtUp()
  t.match(await found(), {
    status: 'warning',
    remedy: /POLICY_ADMIN_ECHO/,
  })
  world.policyAdministration.nameParties()
  t.match(await found(), { status: 'ok', detail: /and names the party/, remedy: null })
})

t.test('each fault is reported with its remedy, and the other checks continue', async (t) => {
  const empty = await createDatabase()
  t.teardown(() => empty.drop())
  type Told = Record<string, readonly [detail: RegExp, remedy: RegExp]>
  const cases: [env: Record<string, string>, told: Told, others: Record<string, string>][] = [
    [
      {
        MQ_BROKERS: '127.0.0.1:1',
        DATABASE_URL: 'postgres://u:pa55word@127.0.0.1:1/x',
        POLICY_ADMIN_URL: 'http://127.0.0.1:1',
        IDP_JWKS_URI: 'http://127.0.0.1:1/keys',
      },
      {
        broker: [/ECONNREFUSED/, /MQ_BROKERS/],
        database: [/ECONNREFUSED/, /DATABASE_URL/],
        'policy administration': [/ECONNREFUSED/, /POLICY_ADMIN_URL/],
        'identity provider': [/ECONNREFUSED/, /IDP_JWKS_URI/],
      },
      {
        configuration: 'warning',
        ...are('skipped', 'topics', 'envelope map', 'consumer group', ...OF_DATABASE.slice(1)),
      },
    ],
    [
      { MQ_TOPICS: 'no-such-topic', DATABASE_URL: empty.url },
      { topics: [/no-such-topic/, /MQ_TOPICS/], schema: [/lacks 0001/, /`migrate`/] },
      are('skipped', 'envelope map', 'partitions', 'log'),
    ],
    [
      { MQ_TOPICS: `${world.topics.claims}s` },
      { topics: [/did you mean "claims/, /correct MQ_TOPICS/] },
      are('skipped', 'envelope map'),
    ],
  ]
  const all = cases.map(async ([env, told, others]) => {
    const found = await doctor(env)
    const failed = Object.fromEntries(Object.keys(told).map((name) => [name, 'failed']))
    t.match(found, { code: 1, ok: false, statuses: { ...ALL_WELL, ...others, ...failed } })
    for (const [name, [detail, remedy]] of Object.entries(told))
      t.match(found.find(name), { detail, remedy }, name)
    t.notMatch(found.stdout + found.stderr, 'pa55word')
  })
  await Promise.all(all)
})

t.test('topics that are there and not read are named', async (t) => {
  const { claims, billing, enrollment } = world.topics
  const others = await Promise.all([1, 2, 3, 4].map(() => createTopics(world.brokers, 1)))
  const found = (await doctor({ MQ_TOPICS: claims })).find('topics')
  t.match(found, { status: 'ok', detail: new RegExp(`^${claims}\nnot in MQ_TOPICS, and not read: `) })
  const lines = found?.detail.split('\n').slice(1) ?? []
  const names = lines.flatMap((line) => line.replace(/^.*: |,$/g, '').split(', '))
  for (const topic of [billing, enrollment, ...others.flatMap(Object.values)])
    t.ok(names.includes(topic), 'however many there are')
  t.notOk(names.some((name) => name === claims || name.startsWith('_')))
  t.ok(lines.every((line) => line.replace(/^.*: /, '').split(', ').length <= 10))
  t.notMatch((await doctor({})).find('topics')?.detail, new RegExp(`not read: .*(${billing}|${enrollment})`))
})

t.test('a faulty variable skips only the checks that depend on it', async (t) => {
  const found = await doctor({ DATABASE_URL: 'mysql://u:pa55word@db/x', PORT: 'x' })
  t.match(found, {
    code: 1,
    statuses: { ...ALL_WELL, configuration: 'failed', ...are('skipped', ...OF_DATABASE) },
  })
  t.match(found.find('configuration')?.detail, /DATABASE_URL must be[\s\S]*PORT must be/)
  t.notMatch(found.stdout, 'pa55word')
})

/** What a replica of another rule table tells its group. */
const BUILD = {
  version: '1.1.0',
  ruleTableRevision: 'a'.repeat(64),
  envelopeMapRevision: null,
  startedMs: Date.now(),
  replica: null,
}

t.test('partitions that no member of the group reads are a fault', async (t) => {
  // Other groups on one database are a fault of their own.
  const own = await aWorld(t, { partitionCount: 1 })
  const { groupId } = own
  const { claims, billing } = own.topics
  const subscription = encodeSubscription(Object.values(own.topics), BUILD)
  const leader = new kafkajs.Kafka({
    brokers: [own.brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  }).consumer({
    groupId,
    partitionAssigners: [
      (config) => ({ ...kafkajs.PartitionAssigners.roundRobin(config), protocol: () => subscription }),
    ],
  })
  const joined = new Promise((resolve) => leader.on('consumer.group_join', resolve))
  await leader.connect()
  t.teardown(() => leader.disconnect())
  await leader.subscribe({ topics: Object.values(own.topics) })
  await leader.run({ eachMessage: async () => {} })
  await joined
  // kafkajs's assigner gives partitions of any topic to any member, such as the one before this version.
  const service = await own.serve({ MQ_TOPICS: claims })
  t.match(await service.logged(/partitions of topics that it does not read/), { level: 'warn' })
  t.match(await judged('failed', 'consumer group', own.env), {
    detail: new RegExp(`no member of ${groupId} reads `),
    remedy: /give each list its own MQ_GROUP_ID/,
  })
  await leader.disconnect()
  await service.stop()
  await Promise.all([own.serve({ MQ_TOPICS: claims }), own.serve({ MQ_TOPICS: billing })])
  await judged('warning', 'consumer group', { ...own.env, MQ_TOPICS: claims })
})

t.test('two rule tables in one group are named at once', async (t) => {
  const own = await aWorld(t, { partitionCount: 1 })
  const service = await own.serve()
  await service.logged(/^joined the consumer group$/)
  const protocol = () => encodeSubscription(Object.values(own.topics), BUILD)
  const other = new kafkajs.Kafka({ brokers: [own.brokers], logLevel: kafkajs.logLevel.NOTHING }).consumer({
    groupId: own.groupId,
    partitionAssigners: [(config) => ({ ...kafkajs.PartitionAssigners.roundRobin(config), protocol })],
  })
  const joined = new Promise((resolve) => other.on('consumer.group_join', resolve))
  await other.connect()
  t.teardown(() => other.disconnect())
  await other.subscribe({ topics: Object.values(own.topics) })
  await other.run({ eachMessage: async () => {} })
  await joined
  t.match(await judged('warning', 'consumer group', own.env), {
    detail:
      /replicas have different versions, rule tables, envelope maps or topics since .*rule table aaaaaaaaaaaa on 1 replica/,
    remedy: /finish the rollout/,
  })
})

for (const kind of ['alone', 'beside a replica'] as const)
  t.test(
    `a member of the new group protocol is named as a stranger (${kind})`,
    { skip: SKIP_MOCK },
    async (t) => {
      const own = await aWorld(t, { partitionCount: 1 })
      const { claims } = own.topics
      if (kind !== 'alone') {
        const service = await own.serve()
        await service.logged(/^joined the consumer group$/)
      }
      await joinByNewProtocol(own.brokers, own.groupId, [claims])
      const found = await judged('failed', 'consumer group', own.env)
      t.match(found, {
        detail: new RegExp(
          `another program is in the consumer group ${own.groupId}: stranger on 127\\.0\\.0\\.1, which has `,
        ),
        remedy: /a group of its own/,
      })
      if (kind === 'alone') t.match(found.detail, `${claims}/0`)
    },
  )

t.test('a fault of the envelope map is reported once', async (t) => {
  const house = t.testdir({})
  cpSync(new URL('../first/rules', import.meta.url), join(house, 'rules'), { recursive: true })
  writeFileSync(join(house, 'rules/envelope.json'), '{"eventId": "id"}')
  // In a process of its own, which reads the house at its start.
  const { code, stdout } = await spawned(['doctor', '--json'], { ...world.env, HOUSE: house })
  t.equal(code, 1)
  const failed = JSON.parse(stdout).checks.filter(({ status }: Finding) => status === 'failed')
  t.match(failed, [{ name: 'rules', detail: /envelope/ }])
  t.equal(failed.length, 1)
})

t.test('a server that does not answer is given up', async (t) => {
  const silent = createServer(() => {})
  t.teardown(() => close(silent))
  const url = `http://127.0.0.1:${await listen(silent)}`
  const frozen = createTcpServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        if (data.length === 8) socket.write('N')
        else if (data[0] === 0) socket.write(LOGGED_IN)
      })
  })
  t.teardown(() => frozen.close())
  const databaseUrl = `postgres://user:password@127.0.0.1:${await listen(frozen)}/database`
  const [found, { find }] = await Promise.all([
    doctor({ POLICY_ADMIN_URL: url, POLICY_ADMIN_DEADLINE: '200ms', IDP_JWKS_URI: url }),
    doctor({ DATABASE_URL: databaseUrl }, spawned),
  ])
  const failed = are('failed', 'policy administration', 'identity provider')
  t.match(found, { code: 1, statuses: { ...ALL_WELL, configuration: 'warning', ...failed } })
  t.match(find('database'), { status: 'failed', detail: /no response within 15 s/, remedy: /DATABASE_URL/ })
})

/** PostgreSQL's messages AuthenticationOk and ReadyForQuery. */
const LOGGED_IN = Buffer.from('520000000800000000' + '5a0000000549', 'hex')

t.test('what is wrong with all of a few newest messages of a topic is a warning', async (t) => {
  const ofTwo = [anEvent({ partyLocator: undefined }), anEvent({ partyLocator: '..' })]
  const inSchema = { value: JSON.stringify({ schema: {}, payload: JSON.parse(anEvent().value) }) }
  await world.publish([
    ...ofTwo.map(({ value }) => ({ value, topic: 'billing' as const })),
    { ...inSchema, topic: 'enrollment' },
    { value: 'not JSON', topic: 'enrollment' },
    { value: null, topic: 'enrollment', key: 'a tombstone' },
  ])
  const { code, find } = await doctor({})
  const { status, detail = '', remedy } = find('envelope map') ?? {}
  t.match({ code, status, remedy }, { code: 0, status: 'warning', remedy: /rules\/envelope\.json/ })
  const { billing, enrollment } = world.topics
  const facts = STATED_FACT_LIST.map(([, { place }]) => `, ${place} in 0`).join('')
  const text = `in 0, /payload/locator in 0, /payload/reason in 0${facts}`
  t.strictSame(detail.split('\n'), [
    `${billing}, newest 2 messages: /eventId in 2, /eventType in 2, /partyLocator in 0, /payload/locator in 2, /payload/reason in 0${facts}; 1 event type: claim.paid`,
    '  "partyLocator" (/partyLocator) was found in 0 of 2 messages',
    `${enrollment}, newest 2 messages: /eventId in 0, /eventType in 0, /partyLocator ${text}; the value is not valid JSON`,
    ...['eventId', 'eventType', 'partyLocator'].map(
      (field) => `  "${field}" (/${field}) was found in 0 of 2 messages`,
    ),
  ])
})

t.test('a path of policy administration at which nobody is known is named', async (t) => {
  const own = await aWorld(t, { partitionCount: 1 })
  await own.publish(['party-1', 'party-2'].map((partyLocator) => anEvent({ partyLocator })))
  const POLICY_ADMIN_URL = `${own.policyAdministration.url}/internal`
  t.match((await doctor({ ...own.env, POLICY_ADMIN_URL })).find('policy administration'), {
    status: 'warning',
    detail: `it answers 404 for all of 2 parties that messages or the log name: GET ${POLICY_ADMIN_URL}/internal/parties/party-1`,
    remedy: /check POLICY_ADMIN_URL/,
  })
})

t.test('a place that no answer has, and an address of many members, are faults', async (t) => {
  const own = await aWorld(t, { partitionCount: 1 })
  const parties = Array.from({ length: 20 }, (_, i) => `party-${i}`)
  await own.publish(parties.map((partyLocator) => anEvent({ partyLocator })))
  const ask = async (env: Record<string, string>) => {
    const { stdout } = await command(['doctor', '--json'], { ...own.env, ...env })
    const { checks } = JSON.parse(stdout) as { checks: Finding[] }
    return checks.find(({ name }) => name === 'policy administration')
  }
  t.match(await ask({ POLICY_ADMIN_EMAIL: '/emial' }), {
    status: 'failed',
    detail: 'none of 20 answers of policy administration has the place that POLICY_ADMIN_EMAIL names',
    remedy: /^correct POLICY_ADMIN_EMAIL/,
  })
  for (const party of parties.slice(0, 12))
    own.policyAdministration.set(party, { email: 'info@insurer.example', phone: null })
  t.match(await ask({}), {
    status: 'failed',
    detail: '12 of 20 parties share their email address with at least 4 others',
    remedy: /^hold the messages/,
  })
})

t.test('a topic with one event of an unknown party is a warning', async (t) => {
  const own = await aWorld(t, { partitionCount: 1 })
  await own.publish([
    ...Array.from({ length: 5 }, () => anEvent()),
    { ...anEvent({ partyLocator: 'nobody' }), topic: 'billing' },
  ])
  t.match((await doctor(own.env)).find('policy administration'), {
    status: 'warning',
    detail: /does not know the party of 1 of 1 event of /,
    remedy: /"partyLocator"/,
  })
})

t.test('messages with the event id of another one are a fault, unless they are erased', async (t) => {
  await world.sql(
    `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
    VALUES ('claims', 0, 0, 'x', '{}', 'conflict', 'x')`,
  )
  // A message of an earlier test may be rejected only now.
  await world.caughtUp()
  const { find } = await doctor({})
  t.match(find('event ids'), { status: 'failed', detail: /^1 message not settled/ })
  const unsettledCount = (detail = '') => Number(/(\d+) rejected messages? not settled/.exec(detail)?.[1])
  const countBefore = unsettledCount(find('log')?.detail)
  await world.sql(
    `UPDATE notifications.rejected_message SET value = NULL, erased_at = now(), erased_sha256 = 'x' WHERE code = 'conflict'`,
  )
  const erased = await doctor({})
  t.match(erased.find('event ids'), { status: 'ok' })
  t.equal(unsettledCount(erased.find('log')?.detail), countBefore - 1)
})

t.test('messages that a first start would process are a fault until somebody decides', async (t) => {
  const { claims, billing, enrollment } = world.topics
  const database = await openDatabase(t)
  const found = async () => (await doctor({ DATABASE_URL: database.url })).find('partitions')
  const set = (offset: number) =>
    database.client.query(
      `INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
        SELECT topic, 0, $2 FROM unnest($1::text[]) AS topic
        ON CONFLICT (topic, partition_id) DO UPDATE SET "offset" = EXCLUDED."offset"`,
      [[billing, enrollment], offset],
    )
  const all = (...counts: string[]) => ({
    status: 'failed',
    detail: `nobody has decided where the first start begins; without a checkpoint all messages will be processed: ${counts.join(', ')}`,
    remedy: /src\/deploy\/README\.md/,
  })
  t.match(await found(), all(`${claims}/0: 1`, `${billing}/0: 2`, `${enrollment}/0: 3`))
  await set(1)
  t.match(await found(), all(`${claims}/0: 1`))
  await set(2)
  t.match(await found(), all(`${claims}/0: 1`))
  await database.client.query(
    `INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset") VALUES ($1, 0, 0)`,
    [claims],
  )
  t.match(await found(), {
    status: 'warning',
    detail: `recreated since their last message was processed, so that all their messages will be processed: ${billing}/0 (the checkpoint lies beyond the end of the partition)`,
  })
})

t.test('a partition behind an open transaction is a warning', { skip: SKIP_MOCK }, async (t) => {
  const { claims } = world.topics
  await withTransactions(world.brokers, [claims], async ([producer]) => {
    const transaction = await producer?.transaction()
    await transaction?.send({ topic: claims, messages: [{ partition: 0, value: 'a' }] })
    t.match((await doctor({})).find('partitions'), {
      status: 'warning',
      detail: new RegExp(`^open transactions hold up ${claims}/0 from offset \\d+ on$`),
      remedy: /find-hanging/,
    })
    await transaction?.abort()
  })
})
