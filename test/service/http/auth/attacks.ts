import { createHash, createHmac, type KeyObject, sign } from 'node:crypto'

/** A token's claims, and the keys that the provider publishes: an RSA key of 2,048 bits and one on P-256. */
export interface Target {
  readonly claims: object
  readonly rsa: Key
  readonly elliptic: Key
  /** Not in any published key set. */
  readonly foreign: Key
}

export interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that must be accepted. The attacks each change one thing in it, so a refusal is due to that change alone. */
export function signedBy({ kid, privateKey }: Key, claims: object, header: object = {}): string {
  return signedText({ kid, privateKey }, JSON.stringify(claims), header)
}

/** Like `signedBy`, with the claims as JSON, which has numbers that no object can hold. */
export function signedText(
  { kid, privateKey }: Pick<Key, 'kid' | 'privateKey'>,
  claims: string,
  header: object = {},
): string {
  const isElliptic = privateKey.asymmetricKeyType === 'ec'
  const input = `${segment({ alg: isElliptic ? 'ES256' : 'RS256', kid, ...header })}.${Buffer.from(claims).toString('base64url')}`
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' as const }
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/**
 * Tokens that must be refused: those named in RFC 8725, and classes of json_web_signature_test.json of Project Wycheproof
 * (https://github.com/C2SP/wycheproof) with valid claims.
 */
export function attacks(target: Target): Map<string, string> {
  return new Map([...confusions(target), ...headers(target)])
}

type Attacks = [string, string][]

/** Tokens with an algorithm that is not the key's. */
function confusions({ claims, rsa, elliptic, foreign }: Target): Attacks {
  const made: Attacks = []
  for (const { kid, publicKey } of [rsa, elliptic]) {
    const payload = segment(claims)
    for (const alg of ['none', 'NONE', 'nOnE', '', null, 0, ['RS256'], undefined]) {
      for (const signature of ['', 'AAAA']) {
        made.push([
          `${kid}: alg ${JSON.stringify(alg)} and signature "${signature}"`,
          `${segment({ alg, kid })}.${payload}.${signature}`,
        ])
      }
    }
    const der = publicKey.export({ type: 'spki', format: 'der' })
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    const jwk = JSON.stringify(publicKey.export({ format: 'jwk' }))
    for (const [form, secret] of Object.entries({ der, pem, trimmed: String(pem).trim(), jwk, empty: '' })) {
      for (const bits of [256, 384, 512]) {
        const input = `${segment({ alg: `HS${bits}`, kid })}.${payload}`
        const mac = createHmac(`sha${bits}`, secret).update(input).digest('base64url')
        made.push([`${kid}: HS${bits} with the public key as ${form}`, `${input}.${mac}`])
      }
    }
  }
  return [
    ...made,
    ['an EC token under the id of the RSA key', signedBy(elliptic, claims, { kid: rsa.kid })],
    ['an RSA token under the id of the EC key', signedBy(rsa, claims, { kid: elliptic.kid })],
    ['RS256 said to be PS256', signedBy(rsa, claims, { alg: 'PS256' })],
    ['RS256 said to be RS512', signedBy(rsa, claims, { alg: 'RS512' })],
    ['ES256 said to be ES384', signedBy(elliptic, claims, { alg: 'ES384' })],
    ['ES256 said to be ES256K', signedBy(elliptic, claims, { alg: 'ES256K' })],
    ['ES256 said to be EdDSA', signedBy(elliptic, claims, { alg: 'EdDSA' })],
    ['a foreign key under a known id', signedBy(foreign, claims, { kid: rsa.kid })],
  ]
}

/** Headers that name another key, or request unsupported features. */
function headers({ claims, rsa, foreign }: Target): Attacks {
  const jwk = { ...foreign.publicKey.export({ format: 'jwk' }), kid: rsa.kid }
  const url = 'http://127.0.0.1:9/keys'
  const kids = [
    '../../dev/null',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    '',
    ' ',
    `${rsa.kid}\0`,
    'x'.repeat(4_000),
  ]
  const ofForeign: Record<string, object> = {
    'an embedded jwk': { kid: rsa.kid, jwk },
    'an embedded jwk under another id': { jwk },
    'a jku': { kid: rsa.kid, jku: url },
    'an x5u': { kid: rsa.kid, x5u: url },
    'an x5c': {
      kid: rsa.kid,
      x5c: [foreign.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')],
    },
    ...Object.fromEntries(kids.map((kid) => [`the id ${JSON.stringify(kid).slice(0, 20)}`, { kid }])),
  }
  const ofOwn: Record<string, object> = {
    'an unknown critical header': { crit: ['exp'], exp: 1 },
    'a critical header that is not there': { crit: ['x'] },
    'a critical header of the standard': { crit: ['alg'] },
    'no critical header at all': { crit: [] },
    'critical headers that are no list': { crit: 'b64' },
    'an unencoded payload': { b64: false, crit: ['b64'] },
  }
  const doubled = signedBy(rsa, claims).split('.')
  doubled[0] = Buffer.from(`{"alg":"RS256","kid":"${rsa.kid}","alg":"none"}`).toString('base64url')
  return [
    ...Object.entries(ofForeign).map(([what, header]): [string, string] => [
      `${what} of a foreign key`,
      signedBy(foreign, claims, header),
    ]),
    ...Object.entries(ofOwn).map(([what, header]): [string, string] => [what, signedBy(rsa, claims, header)]),
    ['alg given twice', doubled.join('.')],
  ]
}

/** An RS256 signature over a text, raised to the public exponent (RFC 8017, 9.2), for a key of 2,048 bits. */
export function paddedHash(input: string): Buffer {
  const prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex')
  const encoded = Buffer.concat([prefix, createHash('sha256').update(input).digest()])
  const padding = Buffer.alloc(256 - 3 - encoded.length, 0xff)
  return Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), encoded])
}
