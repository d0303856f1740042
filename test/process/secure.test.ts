import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { migrate } from '../../src/operations/migrate/apply-migrations.ts'
import { scrape } from '../stack/ask.ts'
import { makeCertificates } from '../stack/certificates.ts'
import { freePort } from '../stack/free-port.ts'
import { ADMIN_SCOPE, AUDIENCE, CLIENT, startIdentityProvider } from '../stack/identity-provider.ts'
import { SESSION_MS } from '../stack/kafka/apache.ts'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import type { Service } from '../stack/service.ts'
import { grant, revoke } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const PASSWORD = 'pa55word'
const certificates = await makeCertificates()
t.teardown(() => certificates.remove())
const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const secure = {
  ...certificates,
  port: await freePort(),
  username: 'notifications',
  password: PASSWORD,
  tokens: { ...idp, audience: AUDIENCE },
}
const [kafka, postgres] = await Promise.all([
  startKafka({ log: () => {}, secure }),
  startPostgres({ tls: certificates }),
])
t.teardown(() => Promise.all([kafka.close(), postgres.close()]))
process.env.MQ_BROKERS = kafka.brokers
process.env.DATABASE_URL = postgres.url
const skip = kafka.kind === 'mock' && 'the mock broker has no TLS'

const world = await aWorld(t, { partitionCount: 1 })
await world.sql(`CREATE ROLE secure SUPERUSER LOGIN PASSWORD '${PASSWORD}'`)

/** URL of the world's database for a user who must use TLS. */
function databaseUrl(host: string, parameters: string): string {
  const url = new URL(world.databaseUrl)
  url.username = 'secure'
  url.password = PASSWORD
  url.hostname = host
  url.search = parameters
  return url.href
}

const ON_TLS = { MQ_BROKERS: `localhost:${secure.port}`, MQ_SSL: 'true', MQ_SSL_CA_FILE: certificates.ca }
const SECURE_BROKER = { ...ON_TLS, MQ_SASL_USERNAME: secure.username, MQ_SASL_PASSWORD: PASSWORD }
const doctor = (env: Record<string, string>) => command(['doctor'], { ...world.env, ...env })
/** Longer than a busy machine keeps a member from its heartbeats. */
const STAYS = { MQ_SESSION_TIMEOUT: '30s' }

/** Waits until the service says that it waits for the broker for this reason; a slow answer may be one, too. */
const waitsBecause = ({ lines }: Service, reason: RegExp) =>
  until(
    () => lines.some((line) => /^waiting for the broker/.test(line.msg) && reason.test(JSON.stringify(line))),
    { what: `the service to wait because of ${reason}` },
  )

// The first test mostly waits for the end of its session.
t.jobs = 3

const BY_TOKEN = {
  ...ON_TLS,
  MQ_SASL_MECHANISM: 'OAUTHBEARER',
  MQ_SASL_TOKEN_URL: `${idp.issuer}/token`,
  MQ_SASL_CLIENT_ID: CLIENT.id,
  MQ_SASL_CLIENT_SECRET: CLIENT.secret,
  MQ_SASL_SCOPE: ADMIN_SCOPE,
  MQ_SASL_EXTENSIONS: 'logicalCluster=lkc-1,identityPoolId=pool-1',
}

const byToken = t.test(
  'a service with an access token goes on after its first session',
  { skip },
  async (t) => {
    const world = await aWorld(t, { partitionCount: 1 })
    const service = await world.serve({ ...BY_TOKEN, ...STAYS })
    const isLogged = async () => {
      const event = anEvent()
      await world.publish([event])
      await world.caughtUp()
      t.match(onlyRowOf(await rowsOf(world, 'notification_log'), event), { status: 'SENT' })
    }
    const startedMs = performance.now()
    await isLogged()
    // The broker would have disconnected it by then; kafkajs does not log a new log-in.
    await sleep(SESSION_MS + 1_000 - (performance.now() - startedMs))
    await isLogged()
    const joined = service.lines.filter(({ msg }) => msg === 'joined the consumer group')
    t.equal(joined.length, 1, 'it kept its membership')
    const warned = service.lines.filter(({ level, kafkajs }) => level === 'warn' && kafkajs !== undefined)
    t.strictSame(warned, [], 'no connection was closed')
    t.equal(await service.stop(), 0)
    t.notMatch(JSON.stringify(service.lines) + service.stderr.join(), CLIENT.secret)
    t.match(await command(['doctor'], { ...world.env, ...BY_TOKEN }), {
      stdout: /^ok +broker +1 broker, TLS, logged in by OAUTHBEARER$/m,
    })
  },
)

await t.test('events arrive over TLS after a log-in, and rows are written over TLS', { skip }, async (t) => {
  const service = await world.serve({
    ...SECURE_BROKER,
    MQ_SASL_MECHANISM: 'SCRAM-SHA-512',
    DATABASE_URL: databaseUrl('localhost', `sslmode=verify-full&sslrootcert=${certificates.ca}`),
  })
  const event = anEvent()
  await world.publish([event])
  await world.caughtUp()
  t.match(onlyRowOf(await rowsOf(world, 'notification_log'), event), { status: 'SENT' })
  const connections = await world.sql(
    `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'secure'`,
  )
  t.ok(connections.length > 0)
  t.ok(connections.every(({ ssl }) => ssl))
  t.equal(await service.stop(), 0)
  t.notMatch(JSON.stringify(service.lines) + service.stderr.join(), PASSWORD)

  const MQ_SASL_MECHANISM = 'SCRAM-SHA-256'
  t.match(await doctor({ ...SECURE_BROKER, MQ_SASL_MECHANISM }), {
    stdout: /^ok +broker +1 broker, TLS, logged in by SCRAM-SHA-256$/m,
  })
})

await t.test('a topic without read rights is blocked, alone, until they are granted', { skip }, async (t) => {
  const { claims } = world.topics
  const env = { ...SECURE_BROKER, MQ_SASL_MECHANISM: 'PLAIN' }
  const { username } = secure
  const read = { username, operation: 'READ' } as const
  await grant(kafka.brokers, claims, { username, operation: 'DESCRIBE' })
  const service = await world.serve({ ...env, ...STAYS, MANAGEMENT_PORT: '0' })
  const url = await service.managementUrl()

  async function othersGoOn(): Promise<void> {
    const { eventId, value } = anEvent()
    await world.publish([{ topic: 'billing', value }])
    await isLogged(eventId)
  }
  const isLogged = (eventId: string) =>
    until(async () => (await rowsOf(world, 'notification_log')).some((row) => row.event_id === eventId), {
      what: `the row of ${eventId}`,
    })
  const isHeld = async () => {
    const { value } = await scrape(url)
    return (
      value('notifications_partition_blocked', { topic: claims, partition: '0', reason: 'no-rights' }) === 1
    )
  }

  for (const when of ['before it was assigned', 'while it was consumed']) {
    await until(isHeld, { what: `the metric to say so, ${when}` })
    // It reports this even for an empty topic.
    const { code, stdout } = await doctor(env)
    t.equal(code, 1, when)
    t.match(stdout, new RegExp(`^failed +topics +missing or not readable: ${claims}\\n +→ .* grant`, 'm'))
    const event = anEvent()
    await world.publish([event])
    await othersGoOn()
    await grant(kafka.brokers, claims, read)
    await isLogged(event.eventId)
    await until(async () => !(await isHeld()), { what: 'the metric to say that it goes on' })
    await revoke(kafka.brokers, claims, read)
  }
  await grant(kafka.brokers, claims, read)
  t.equal(service.lines.filter(({ msg }) => msg === 'joined the consumer group').length, 1, 'nobody left')
  t.equal(await service.stop(), 0)
})

await t.test('without rights on its group the service waits and names the group', { skip }, async (t) => {
  const env = { ...SECURE_BROKER, MQ_SASL_MECHANISM: 'PLAIN' }
  const on = { username: secure.username, on: 'GROUP' } as const
  // An ACL for another user leaves this one without rights.
  await grant(kafka.brokers, world.groupId, { ...on, username: 'somebody', operation: 'READ' })
  const service = await world.serve({ ...env, MANAGEMENT_PORT: '0' })
  const url = await service.managementUrl()
  const startup = async () => {
    const response = await fetch(`${url}/startupz`)
    return { status: response.status, body: await response.text() }
  }
  const isJoined = async () => {
    const { value } = await scrape(url)
    return value('notifications_consumer_joined', { group: world.groupId }) === 1
  }
  const remedy = `grant this user READ and DESCRIBE on the consumer group ${world.groupId}`

  for (const operation of [null, 'DESCRIBE'] as const) {
    if (operation !== null) await grant(kafka.brokers, world.groupId, { ...on, operation })
    await until(async () => (await startup()).body.includes(remedy), { what: 'the startup probe to say so' })
    t.equal((await startup()).status, 503)
    t.match(await doctor(env), {
      code: 1,
      stdout: /failed +consumer group .*\n +→ grant this user READ and DESCRIBE/,
    })
  }
  await grant(kafka.brokers, world.groupId, { ...on, operation: 'READ' })
  await until(isJoined, { what: 'it to join' })
  t.match(await doctor(env), { stdout: /ok +consumer group/ })

  await revoke(kafka.brokers, world.groupId, { ...on, operation: 'READ' })
  await until(async () => !(await isJoined()), { what: 'it to be out of the group' })
  t.match(await startup(), { status: 200 }, 'a startup probe does not fail later')
  await grant(kafka.brokers, world.groupId, { ...on, operation: 'READ' })
  await until(isJoined, { what: 'it to join again' })
  t.equal(await service.stop(), 0)
})

// Others change the identity provider.
await byToken

t.test('a service with a wrong password waits until its file is corrected', { skip }, async (t) => {
  const file = join(t.testdir({}), 'password')
  const env = {
    ...SECURE_BROKER,
    MQ_SASL_MECHANISM: 'SCRAM-SHA-512',
    MQ_SASL_PASSWORD: '',
    MQ_SASL_PASSWORD_FILE: file,
  }
  await writeFile(file, 'wr0ng\n')
  const service = await world.serve(env)
  await waitsBecause(service, /authentication failed/i)
  t.notMatch(JSON.stringify(service.lines), 'wr0ng')
  await writeFile(file, `${PASSWORD}\n`)
  await service.logged(/^joined the consumer group$/)
  await service.stop()
})

t.test('doctor explains that the broker refuses an access token', { skip }, async (t) => {
  idp.be(async (_request, response) => {
    const access_token = await idp.forge({ aud: 'another-service' })
    response.end(JSON.stringify({ access_token, token_type: 'Bearer', expires_in: 600 }))
  })
  const refused = await doctor(BY_TOKEN)
  idp.be('up')
  t.match(refused, {
    code: 1,
    stdout: /OAUTHBEARER authentication failed: .*invalid_token.*\n +→ compare issuer, audience and scope/,
  })
  t.notMatch(refused.stdout, CLIENT.secret)
})

t.test('a broker certificate of another authority is not trusted', { skip }, async () => {
  const service = await world.serve({
    ...SECURE_BROKER,
    MQ_SASL_MECHANISM: 'PLAIN',
    MQ_SSL_CA_FILE: certificates.otherCa,
  })
  await waitsBecause(service, /certificate|self-signed|unable to verify/i)
  await service.stop()
})

const CA = `sslrootcert=${certificates.ca}`
const OTHER_CA = `sslrootcert=${certificates.otherCa}`
/** Each line a case: what it shows, the host, the parameters of the URL, and the error, if any. */
const CONNECTIONS = `
without sslmode, TLS is not used, localhost, , no encryption
disable: TLS is not used, localhost, sslmode=disable, no encryption
require: any certificate will do, 127.0.0.1, sslmode=require, made
require with an authority: it must be the right one, 127.0.0.1, sslmode=require&${OTHER_CA}, certificate
verify-ca: the host is not compared, 127.0.0.1, sslmode=verify-ca&${CA}, made
verify-ca: the authority is, localhost, sslmode=verify-ca&${OTHER_CA}, certificate
verify-ca: those that Node knows, localhost, sslmode=verify-ca, certificate
verify-full: all is well, localhost, sslmode=verify-full&${CA}, made
verify-full: the host is compared, 127.0.0.1, sslmode=verify-full&${CA}, altnames|not in the cert
verify-full: the authority is compared, localhost, sslmode=verify-full&${OTHER_CA}, certificate`
for (const line of CONNECTIONS.trim().split('\n')) {
  const [said = '', parameters = '', host = '', ...title] = line.split(', ').reverse()
  t.test(`sslmode ${title.reverse().join(', ')}`, async (t) => {
    const found = await migrate(databaseUrl(host, parameters), { info: () => {} }).then(() => 'made', String)
    t.match(found, new RegExp(said, 'i'))
    t.notMatch(found, PASSWORD)
  })
}
