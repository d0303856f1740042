import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import t from 'tap'
import { startCollector } from '../service/telemetry/collector.ts'
import { ask } from '../stack/ask.ts'
import { makeCertificates } from '../stack/certificates.ts'
import { startForwardProxy } from '../stack/forward-proxy.ts'
import { CLIENT, startIdentityProvider } from '../stack/identity-provider.ts'
import { close, listen } from '../stack/listen.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { spawned } from './command.ts'

const [certificates, idp, collector, proxy] = await Promise.all([
  makeCertificates(),
  startIdentityProvider(),
  startCollector(),
  startForwardProxy(),
])
const { cert, key, ca } = certificates
const server = createServer({ cert, key, ca: await readFile(ca, 'utf8') }, (_request, response) => {
  response.setHeader('content-type', 'application/json').end('{"email":"member@example.com","phone":null}')
})
const port = await listen(server, 'localhost')
const world = await aWorld(t)
t.teardown(() =>
  Promise.all([certificates.remove(), idp.stop(), collector.stop(), close(server), proxy.stop()]),
)

/** No name server knows it: only the proxy leads there. */
const behindProxy = (url: string) => url.replace('127.0.0.1', 'behind-the-proxy.invalid')
const host = (url: string) => new URL(behindProxy(url)).host
const env = {
  ...world.env,
  HTTP_PROXY: proxy.url,
  HTTPS_PROXY: proxy.url,
  POLICY_ADMIN_URL: `https://localhost:${port}`,
  POLICY_ADMIN_CA_FILE: ca,
  POLICY_ADMIN_TOKEN_URL: behindProxy(`${idp.issuer}/token`),
  POLICY_ADMIN_CLIENT_ID: CLIENT.id,
  POLICY_ADMIN_CLIENT_SECRET: CLIENT.secret,
  IDP_JWKS_URI: behindProxy(idp.keySetUrl),
  OTEL_ENDPOINT: behindProxy(collector.url),
}
const ALL = [
  `CONNECT localhost:${port}`,
  `POST ${host(idp.issuer)}`,
  `GET ${host(idp.issuer)}`,
  `POST ${host(collector.url)}`,
]
const sent = async () => world.sql(`SELECT FROM notifications.notification_log WHERE status = 'SENT'`)
const doctor = async (more: Record<string, string> = {}) => {
  const { stdout } = await spawned(['doctor', '--json'], { ...env, ...more })
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; remedy: string }[] }
  return (name: string) => checks.find((check) => check.name === name)
}

t.test('policy administration, tokens, keys and traces go through the proxy', async (t) => {
  const service = await world.spawn(env)
  await world.publish([anEvent()])
  await until(async () => (await sent()).length === 1, { what: 'a message to be sent' })
  t.match(
    await ask(`${service.url}/preferences/party-1`, {
      headers: { authorization: `Bearer ${await idp.token()}` },
    }),
    { status: 404 },
    'nothing is on file, and the token is valid',
  )
  await until(() => ALL.every((one) => proxy.asked.includes(one)), {
    what: `the proxy to be asked for ${ALL}`,
  })
  await service.stop()
})

t.test('doctor takes the same way', async (t) => {
  proxy.asked.length = 0
  const check = await doctor()
  for (const name of ['identity provider', 'collector']) t.match(check(name), { status: 'ok' }, name)
  t.match(check('policy administration'), { status: 'warning' }, 'it does not name the party')
  t.strictSame(
    ALL.filter((one) => !proxy.asked.includes(one)),
    [],
  )
})

t.test('what NO_PROXY names is reached directly, and a refusal names the proxy', async (t) => {
  proxy.refuse()
  const remedy = /the proxy of HTTPS_PROXY.*NO_PROXY/
  t.match((await doctor())('policy administration'), { status: 'failed' })
  const keyed = await doctor({ IDP_JWKS_URI: `https://localhost:${port}/jwks`, POLICY_ADMIN_TOKEN_URL: '' })
  for (const name of ['policy administration', 'identity provider'])
    t.match(keyed(name), { status: 'failed', remedy }, name)
  const direct = { NO_PROXY: 'localhost', POLICY_ADMIN_TOKEN_URL: '' }
  t.match((await doctor(direct))('policy administration'), { status: 'warning' })
})
