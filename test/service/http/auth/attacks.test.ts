import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { parseSigningKey } from '../../../../src/service/http/auth/signing-key.ts'
import { buildApp } from '../../../../src/service/http/public.ts'
import { createLog } from '../../../../src/service/telemetry/log.ts'
import { listen } from '../../../stack/listen.ts'
import fc from '../../../stack/properties.ts'
import { anyTokensOf, dependencies } from '../fixture.ts'
import { attacks, type Key, paddedHash, segment, signedBy } from './attacks.ts'

const claims = { sub: 'x', exp: Math.floor(Date.now() / 1000) + 600, scope: 'admin' }

function rsaKey(kid: string, modulusLength = 2_048, publicExponent = 65_537): Key {
  return { kid, ...generateKeyPairSync('rsa', { modulusLength, publicExponent }) }
}

function ellipticKey(kid: string, namedCurve = 'P-256'): Key {
  return { kid, ...generateKeyPairSync('ec', { namedCurve }) }
}

const jwkOf = ({ kid, publicKey }: Key, more: object = {}) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  ...more,
})

/** An app whose identity provider publishes these keys; returns the status of a token. */
async function appTrusting(t: Test, keys: readonly object[]) {
  const provider = createServer((_request, response) => void response.end(JSON.stringify({ keys })))
  const keySetUrl = `http://127.0.0.1:${await listen(provider)}`
  const app = buildApp(dependencies({ log: createLog('silent'), tokens: anyTokensOf({ keySetUrl }) }).all)
  t.teardown(async () => {
    await app.close()
    provider.close()
  })
  return async (token: string) =>
    (await app.inject({ url: '/log/list', headers: { authorization: `Bearer ${token}` } })).statusCode
}

const rsa = rsaKey('rsa')
const elliptic = ellipticKey('elliptic')
const foreign = rsaKey('foreign')

t.test('every known attack on a signature gets a 401', async (t) => {
  const statusOf = await appTrusting(t, [jwkOf(rsa), jwkOf(elliptic)])
  t.equal(await statusOf(signedBy(rsa, claims)), 200)
  t.equal(await statusOf(signedBy(elliptic, claims)), 200)
  for (const [what, token] of attacks({ claims, rsa, elliptic, foreign }))
    t.equal(await statusOf(token), 401, what)
})

t.test('a token with another character, or with other parts, gets a 401', async (t) => {
  const statusOf = await appTrusting(t, [jwkOf(rsa), jwkOf(elliptic)])
  for (const key of [rsa, elliptic]) {
    const token = signedBy(key, claims)
    const characters = fc.constantFrom(
      ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/=~ ',
    )
    const edited = fc
      .tuple(fc.integer({ min: 1, max: token.length }), characters, fc.constantFrom(0, 1))
      .map(([at, character, deleted]) => token.slice(0, at) + character + token.slice(at + deleted))
    // Base64url has several spellings of the last byte; only one of them is canonical.
    const last = characters.map((character) => token.slice(0, -1) + character)
    const parts = [...token.split('.'), '', segment(claims), `${token.split('.')[1]}=`]
    const shuffled = fc.array(fc.constantFrom(...parts), { maxLength: 4 }).map((some) => some.join('.'))
    const isRefused = async (changed: string) => changed === token || (await statusOf(changed)) === 401
    await fc.assert(fc.asyncProperty(fc.oneof(edited, last, shuffled), isRefused), { numRuns: 500 })
  }
})

/** A signing key, and how its published form differs from a usable one. */
const UNFIT: Record<string, () => [Key, object?]> = {
  'a key for encryption': () => [rsa, { use: 'enc' }],
  'a key whose use is unknown': () => [rsa, { use: 'x' }],
  'a key that encrypts': () => [rsa, { key_ops: ['encrypt'] }],
  'a key that signs only': () => [rsa, { key_ops: ['sign'] }],
  'a key for no operation': () => [rsa, { key_ops: [] }],
  'a key whose operations are no list': () => [rsa, { key_ops: 'verify' }],
  'a key for another algorithm of its kind': () => [rsa, { alg: 'RS384' }],
  'a key for key encryption': () => [rsa, { alg: 'RSA-OAEP-256' }],
  'an RSA key said to be for ES256': () => [rsa, { alg: 'ES256' }],
  'an RSA key of 1,024 bits': () => [rsaKey('short', 1_024)],
  'an RSA key of 2,047 bits': () => [rsaKey('short', 2_047)],
  'an RSA key with exponent 3': () => [rsaKey('three', 2_048, 3)],
  'a key with its private half published': () => [rsa, rsa.privateKey.export({ format: 'jwk' })],
  'a key on P-256 for ES384': () => [elliptic, { alg: 'ES384' }],
  'a key on P-384 for ES256': () => [ellipticKey('long', 'P-384'), { alg: 'ES256' }],
  'a key on secp256k1': () => [ellipticKey('koblitz', 'secp256k1')],
  'a key on secp256k1 for ES256': () => [ellipticKey('koblitz', 'secp256k1'), { alg: 'ES256' }],
  'a point that is not on its curve': () => [elliptic, { y: Buffer.alloc(32, 1).toString('base64url') }],
  'a key without its kind': () => [rsa, { kty: undefined }],
}
t.test('a key that is unsuitable for signatures verifies no token, and other keys still do', async (t) => {
  for (const [what, make] of Object.entries(UNFIT)) {
    const [key, changes] = make()
    const statusOf = await appTrusting(t, [jwkOf(key, changes), jwkOf(foreign)])
    t.equal(await statusOf(signedBy(key, claims)), 401, what)
    t.equal(await statusOf(signedBy(foreign, claims)), 200, what)
  }
  t.equal(parseSigningKey(jwkOf(rsa, { e: 'AQAC' })), null, 'an even exponent')
})

t.test('an RSA key with exponent 1, or with few bits, verifies no token', async (t) => {
  // With exponent 1 the padded hash is its own signature: anyone can make it.
  for (const e of ['AQ', 'AQAA', 'Ag', 'AA']) {
    const statusOf = await appTrusting(t, [jwkOf(rsa, { e })])
    const input = signedBy(rsa, claims).split('.').slice(0, 2).join('.')
    t.equal(await statusOf(`${input}.${paddedHash(input).toString('base64url')}`), 401, e)
    t.equal(await statusOf(signedBy(rsa, claims)), 401, e)
  }
})
