import type { RequestListener } from 'node:http'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createKeySet, NoKeysError } from '../../../../src/service/http/auth/key-set.ts'
import { createLog } from '../../../../src/service/telemetry/log.ts'
import { startIdentityProvider } from '../../../stack/identity-provider.ts'
import { until } from '../../../stack/until.ts'
import { documentedApp } from '../documented.ts'
import { anyTokensOf, dependencies } from '../fixture.ts'

/** A key set with its own provider and a clock that only the test moves. */
async function world(t: Test) {
  const idp = await startIdentityProvider()
  const logged: string[] = []
  const clock = { nowMs: 0 }
  const log = createLog('info', { write: (line) => void logged.push(line) })
  const keySet = createKeySet(idp.keySetUrl, log, () => clock.nowMs)
  t.teardown(() => idp.stop())
  t.teardown(() => keySet.stop())
  const keyOf = async (header: Parameters<typeof keySet.findKeys>[0]) =>
    (await keySet.findKeys(header))[0] ?? null
  const known = () => keyOf({ kid: idp.key().kid, alg: 'RS256' })
  const unknown = (i = 0) => keyOf({ kid: `unknown-${i}`, alg: 'RS256' })
  return { idp, keySet, clock, logged, keyOf, known, unknown }
}

const answer =
  (status: number, body: string, headers = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)

const BAD_SETS: Record<string, RequestListener> = {
  'an error': answer(503, '{"keys":[]}'),
  'no JSON': answer(200, '<html>'),
  'a list': answer(200, '[]'),
  'an object without keys': answer(200, '{}'),
  'keys that are no list': answer(200, '{"keys":{}}'),
}

t.test('finds a key by id and algorithm', async (t) => {
  const { idp, keyOf, known } = await world(t)
  t.match(await known(), /^-----BEGIN PUBLIC KEY-----/)
  t.equal(await keyOf({ kid: idp.key().kid, alg: 'RS512' }), null)
  t.equal(await keyOf({ alg: 'RS256' }), null)
  t.equal(await keyOf({ kid: '\ud800', alg: 'RS256' }), null)
})

t.test('a key without an id or an algorithm is found for a token of its type', async (t) => {
  const { idp, keyOf } = await world(t)
  const { kty, n, e } = idp.key().privateJwk
  idp.be(answer(200, JSON.stringify({ keys: [{ kty, n, e, alg: null }] })))
  t.not(await keyOf({ alg: 'RS256' }), null)
  t.not(await keyOf({ alg: 'PS512' }), null)
  t.equal(await keyOf({ kid: 'a', alg: 'RS256' }), null)
})

t.test('1,000 unknown ids within 10 s cause at most 2 requests', async (t) => {
  const { idp, clock, known, unknown } = await world(t)
  await known()
  const before = idp.keySetRequestCount()
  for (let i = 0; i < 1_000; i++) {
    clock.nowMs = 60_000 + i * 10
    t.equal(await unknown(i), null)
  }
  t.ok(idp.keySetRequestCount() - before <= 2, `${idp.keySetRequestCount() - before} requests`)
  t.ok(idp.keySetRequestCount() > before, 'but they are asked for')
})

t.test('a new key is found despite a flood of unknown ids', async (t) => {
  const { idp, clock, known, unknown } = await world(t)
  await known()
  await idp.rotate()
  for (let i = 0; i < 100; i++) {
    clock.nowMs += 100
    await unknown(i)
  }
  t.not(await known(), null, 'it came with the answer to one of them')
})

t.test('a withdrawn key is refused within 5 minutes, even if no other key is requested', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { idp, keySet, keyOf, clock } = await world(t)
  const { kid } = idp.key()
  const withdrawn = () => keyOf({ kid, alg: 'RS256' })
  keySet.start()
  t.not(await withdrawn(), null)
  await idp.rotate()
  clock.nowMs += 4 * 60_000
  t.not(await withdrawn(), null)
  mock.timers.tick(4 * 60_000)
  await until(async () => (await withdrawn()) === null, { what: 'the key to be refused' })
  t.equal(idp.keySetRequestCount(), 2)
})

t.test('a key set without a usable key withdraws the only key within 5 minutes, and is logged', async (t) => {
  for (const changes of [[], [{ use: 'enc' }], [{ key_ops: ['encrypt', 'wrapKey'] }], [{ n: undefined }]]) {
    const { idp, clock, logged, known } = await world(t)
    t.not(await known(), null)
    const { kty, n, e, kid } = idp.key().privateJwk
    const keys = changes.map((change) => ({ kty, n, e, kid, ...change }))
    idp.be(answer(200, JSON.stringify({ keys })))
    clock.nowMs += 5 * 60_000
    t.equal(await known(), null)
    t.match(logged.at(-1), /no key that is fit for signatures: all tokens are refused/)
    idp.be('up')
    clock.nowMs += 6_000
    t.not(await known(), null, 'until there is one again')
  }
})

t.test('an answer that is not a key set withdraws no key for 24 hours', async (t) => {
  const { idp, clock, known } = await world(t)
  t.not(await known(), null)
  for (const listener of Object.values(BAD_SETS)) {
    idp.be(listener)
    clock.nowMs += 3_600_000
    t.not(await known(), null)
  }
  clock.nowMs = 24 * 3_600_000 - 1
  t.not(await known(), null)
  clock.nowMs += 1
  await t.rejects(known(), NoKeysError)
  idp.be('up')
  clock.nowMs += 6_000
  t.not(await known(), null)
})

t.test('a known key is found at once while unknown ones are looked up', async (t) => {
  const { idp, clock, known, unknown } = await world(t)
  await known()
  idp.be('hanging')
  clock.nowMs += 6_000
  const flood = Array.from({ length: 1_000 }, (_, i) => unknown(i))
  t.not(await Promise.race([...flood, known()]), null)
})

t.test('known keys stay valid during an outage of the provider, without more requests', async (t) => {
  const { idp, clock, logged, known, unknown } = await world(t)
  await known()
  idp.be('broken')
  const before = idp.keySetRequestCount()
  clock.nowMs = 3_600_000
  for (let i = 0; i < 50; i++) t.equal(await unknown(i), null)
  t.not(await known(), null)
  t.equal(idp.keySetRequestCount() - before, 1)
  t.match(logged.at(-1), /status 500.*the known keys stay valid/)
})

t.test('without keys the service logs so, retries after a pause, and recovers', async (t) => {
  const { idp, clock, logged, known } = await world(t)
  idp.be('broken')
  await t.rejects(known(), NoKeysError)
  await t.rejects(known(), NoKeysError)
  t.equal(idp.keySetRequestCount(), 1)
  t.match(logged.at(-1), /requests that need a token get a 503/)
  idp.be('up')
  clock.nowMs += 6_000
  t.not(await known(), null)
})

t.test('a provider that hangs or answers too slowly is given up', async (t) => {
  const dribbling =
    (status: number): RequestListener =>
    (_, response) => {
      response.writeHead(status)
      const timer = setInterval(() => response.write(' '), 100)
      response.on('close', () => clearInterval(timer))
    }
  const slow = ['hanging', dribbling(200), dribbling(500)] as const
  await Promise.all(
    slow.map(async (behaviour) => {
      const { idp, known } = await world(t)
      idp.be(behaviour)
      await t.rejects(known(), NoKeysError)
    }),
  )
})

t.test('a key set of over 1 MB is not read', async (t) => {
  const { idp, clock, known } = await world(t)
  const { kty, n, e, kid } = idp.key().privateJwk
  const json = JSON.stringify({ keys: [{ kty, n, e, kid }] })
  idp.be(answer(200, json.padEnd(1024 * 1024 + 1)))
  await t.rejects(known(), NoKeysError)
  idp.be(answer(200, json.padEnd(1024 * 1024)))
  clock.nowMs += 6_000
  t.not(await known(), null)
})

t.test('a redirect is not followed', async (t) => {
  const { idp, known } = await world(t)
  const other = await startIdentityProvider()
  t.teardown(() => other.stop())
  idp.be(answer(302, '', { location: other.keySetUrl }))
  await t.rejects(known(), NoKeysError)
  t.equal(other.keySetRequestCount(), 0)
})

t.test('an invalid key does not affect the others', async (t) => {
  const { idp, known } = await world(t)
  const { d: _, p, q, dp, dq, qi, ...jwk } = idp.key().privateJwk
  const broken = [null, { kty: 'RSA', kid: 1 }, { kty: 'XYZ' }, { ...jwk, kid: '\ud800' }]
  idp.be(answer(200, JSON.stringify({ keys: [...broken, { ...jwk, alg: '\ud800' }, jwk] })))
  t.not(await known(), null)
})

t.test('keys are loaded at the start, so that the first request does not wait', async (t) => {
  const { idp, keySet, logged } = await world(t)
  keySet.start()
  await until(() => logged.some((line) => line.includes('the key set is loaded')), { what: 'the keys' })
  t.equal(idp.keySetRequestCount(), 1)
})

t.test('while no key can be loaded, requests get a 503 and open routes still work', async (t) => {
  const { idp } = await world(t)
  idp.be('broken')
  const { all, logged } = dependencies({ tokens: anyTokensOf(idp) })
  const app = documentedApp(all)
  t.teardown(() => app.close())
  const token = await idp.forge()
  const response = await app.inject({ url: '/log/list', headers: { authorization: `Bearer ${token}` } })
  t.equal(response.statusCode, 503)
  t.equal(response.headers['content-type'], 'application/problem+json')
  t.match(response.headers['retry-after'], /^\d+$/)
  t.equal((await app.inject('/log/list')).statusCode, 401, 'no token needs no key')
  t.equal((await app.inject('/healthz')).statusCode, 200)
  t.match(logged.join(''), 'requests that need a token get a 503')
})
