import {
  constants,
  createHash,
  createHmac,
  createSign,
  type KeyObject,
  privateEncrypt,
  sign,
} from 'node:crypto'

/** A token's claims, and the keys that the provider publishes: an RSA key of 2,048 bits and one on P-256. */
export interface Target {
  readonly claims: object
  readonly rsa: Key
  readonly elliptic: Key
  /** Published by nobody. */
  readonly foreign: Key
}

export interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token that must be accepted; so its spoilt siblings are refused for what was spoilt, and for nothing else. */
export function signedBy({ kid, privateKey }: Key, claims: object, header: object = {}): string {
  const isElliptic = privateKey.asymmetricKeyType === 'ec'
  const input = `${segment({ alg: isElliptic ? 'ES256' : 'RS256', kid, ...header })}.${segment(claims)}`
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' as const }
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/**
 * What must be refused: the classes of the vectors json_web_signature_test.json of Project Wycheproof
 * (https://github.com/C2SP/wycheproof), made again over good claims, and those of RFC 8725.
 */
export function attacks(target: Target): Map<string, string> {
  return new Map([
    ...spoilt('RSA', target.rsa, target),
    ...spoilt('EC', target.elliptic, target),
    ...confusions(target),
    ...headers(target),
    ...paddings(target),
    ...saltLengths(target),
    ...ellipticSignatures(target),
  ])
}

type Attacks = [string, string][]

/** A good token with parts missing, doubled, changed or written otherwise. */
function spoilt(kind: string, key: Key, { claims }: Target): Attacks {
  const [head = '', payload = '', signature = ''] = signedBy(key, claims).split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const flipped = (at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte))
  const text = (spelled: Uint8Array) => Buffer.from(spelled).toString('base64url')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const unused = alphabet[alphabet.indexOf(signature.at(-1) ?? '') + 1] ?? ''
  const all: Record<string, string> = {
    'the first byte of the signature changed': `${head}.${payload}.${text(flipped(0))}`,
    'the last byte of the signature changed': `${head}.${payload}.${text(flipped(bytes.length - 1))}`,
    'a byte after the signature': `${head}.${payload}.${text(Buffer.concat([bytes, Buffer.alloc(1)]))}`,
    'a zero before the signature': `${head}.${payload}.${text(Buffer.concat([Buffer.alloc(1), bytes]))}`,
    'a truncated signature': `${head}.${payload}.${text(bytes.subarray(0, -1))}`,
    'a signature of zeros': `${head}.${payload}.${text(Buffer.alloc(bytes.length))}`,
    'bits of no meaning set in the signature': `${head}.${payload}.${signature.slice(0, -1)}${unused}`,
    'no signature': `${head}.${payload}.`,
    'no signature and no separator': `${head}.${payload}`,
    'no payload': `${head}..${signature}`,
    'no payload and no separator': `${head}.${signature}`,
    'no header': `.${payload}.${signature}`,
    'no header and no separator': `${payload}.${signature}`,
    'a payload alone': payload,
    'an empty fourth part': `${head}.${payload}.${signature}.`,
    'a fourth part': `${head}.${payload}.${signature}.${signature}`,
    'another payload': `${head}.${segment({ ...claims, sub: 'admin' })}.${signature}`,
    'another header': `${segment({ alg: 'RS512', kid: key.kid })}.${payload}.${signature}`,
    'header and payload exchanged': `${payload}.${head}.${signature}`,
    padding: `${head}.${payload}.${signature}==`,
    'padding in the payload': `${head}.${payload}=.${signature}`,
    'the plain base64 alphabet': `${head}.${payload}.+/${signature.slice(2)}`,
    'a space in the signature': `${head}.${payload}.${signature.slice(0, 9)} ${signature.slice(9)}`,
    'a foreign character in the payload': `${head}.${payload.slice(0, 9)}~${payload.slice(9)}.${signature}`,
    'JSON serialization': segment({ payload, signatures: [{ protected: head, signature }] }),
  }
  return Object.entries(all).map(([what, token]) => [`${kind}: ${what}`, token])
}

/** Another algorithm than the key's. */
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

/** Headers that name another key, or ask for what we do not do. */
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

/** SHA-256's DigestInfo (RFC 8017, 9.2) in other encodings, as a careless verifier would take them. */
function paddings({ claims, rsa }: Target): Attacks {
  const input = `${segment({ alg: 'RS256', kid: rsa.kid })}.${segment(claims)}`
  const hash = createHash('sha256').update(input).digest()
  const oid = Buffer.from('0609608648016503040201', 'hex')
  const none = Buffer.from('0500', 'hex')
  const algorithm = tlv(0x30, Buffer.concat([oid, none]))
  const good = Buffer.concat([algorithm, tlv(0x04, hash)])
  const parts: Record<string, [Uint8Array, (changed: Uint8Array) => Uint8Array]> = {
    DigestInfo: [tlv(0x30, good), (changed) => changed],
    algorithm: [algorithm, (changed) => tlv(0x30, Buffer.concat([changed, tlv(0x04, hash)]))],
    OID: [
      oid,
      (changed) => tlv(0x30, Buffer.concat([tlv(0x30, Buffer.concat([changed, none])), tlv(0x04, hash)])),
    ],
    parameters: [
      none,
      (changed) => tlv(0x30, Buffer.concat([tlv(0x30, Buffer.concat([oid, changed])), tlv(0x04, hash)])),
    ],
    digest: [tlv(0x04, hash), (changed) => tlv(0x30, Buffer.concat([algorithm, changed]))],
  }
  const token = (encoded: Uint8Array, padded: Uint8Array = pkcs1(encoded)) =>
    `${input}.${rawRsa(rsa.privateKey, padded).toString('base64url')}`
  const made: Attacks = []
  for (const [part, [bytes, within]] of Object.entries(parts)) {
    for (const [change, changed] of Object.entries(miscoded(Buffer.from(bytes)))) {
      made.push([`a ${part} with ${change}`, token(within(changed))])
    }
  }
  const encoded = tlv(0x30, good)
  const other: Record<string, Uint8Array> = {
    'the hash alone': pkcs1(hash),
    'block type 2': pkcs1(encoded, 2),
    'zeros as padding': pkcs1(encoded, 1, 0),
    'short padding and garbage behind': Buffer.concat([
      Buffer.from([0, 1, ...Array(8).fill(255), 0]),
      encoded,
      Buffer.alloc(256 - 11 - encoded.length, 7),
    ]),
  }
  return [
    ...made,
    ...Object.entries(other).map(([what, padded]): [string, string] => [what, token(encoded, padded)]),
  ]
}

/** One tag, length and value, wrongly encoded in all the ways that parsers were seen to let pass. */
function miscoded(bytes: Buffer): Record<string, Buffer> {
  const [tag = 0, length = 0] = bytes
  const value = bytes.subarray(2)
  const withLength = (...octets: number[]) => Buffer.concat([Buffer.from([tag, ...octets]), value])
  const ones = (count: number) => Array<number>(count).fill(0xff)
  return {
    'a long-form length': withLength(0x81, length),
    'a leading 0 in its length': withLength(0x82, 0, length),
    'a length that is 1 too great': withLength(length + 1),
    'a length that is 1 too small': withLength(length - 1),
    'a length over 2^32': withLength(0x85, 1, 0, 0, 0, length),
    'a length over 2^64': withLength(0x89, 1, 0, 0, 0, 0, 0, 0, 0, length),
    'a length of 2^31 - 1': withLength(0x84, 0x7f, ...ones(3)),
    'a length of 2^64 - 1': withLength(0x88, ...ones(8)),
    'an indefinite length': withLength(0x80),
    'an indefinite length and its end': Buffer.concat([withLength(0x80), Buffer.alloc(2)]),
    'its tag only': Buffer.from([tag]),
    'nothing of it': Buffer.alloc(0),
    'another tag': Buffer.concat([Buffer.from([tag ^ 1]), bytes.subarray(1)]),
    'an application tag': Buffer.concat([Buffer.from([tag | 0x40]), bytes.subarray(1)]),
    'NULL in its place': Buffer.from(tag === 5 ? '0400' : '0500', 'hex'),
    'zeros appended': tlv(tag, Buffer.concat([value, Buffer.alloc(2)])),
    'zeros after it': Buffer.concat([bytes, Buffer.alloc(2)]),
    'garbage appended': tlv(tag, Buffer.concat([value, Buffer.from('0500', 'hex')])),
    'garbage before it': Buffer.concat([Buffer.from('0500', 'hex'), bytes]),
    ...(value.length > 0 && {
      'no value': Buffer.from([tag, 0]),
      'its last byte gone': tlv(tag, value.subarray(0, -1)),
      'its first byte changed': tlv(
        tag,
        Buffer.concat([Buffer.from([(value[0] ?? 0) ^ 0x40]), value.subarray(1)]),
      ),
    }),
  }
}

/** What an RS256 signature over a text is, raised to the public exponent (RFC 8017, 9.2), for a key of 2,048 bits. */
export function paddedHash(input: string): Buffer {
  const prefix = Buffer.from('3031300d060960864801650304020105000420', 'hex')
  return pkcs1(Buffer.concat([prefix, createHash('sha256').update(input).digest()]))
}

function tlv(tag: number, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, value.length]), value])
}

function pkcs1(encoded: Uint8Array, type = 1, filler = 0xff): Buffer {
  const padding = Buffer.alloc(256 - 3 - encoded.length, filler)
  return Buffer.concat([Buffer.from([0, type]), padding, Buffer.from([0]), encoded])
}

function rawRsa(key: KeyObject, padded: Uint8Array): Buffer {
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, padded)
}

/** RFC 7518, 3.5: the salt is as long as the hash. */
function saltLengths({ claims, rsa }: Target): Attacks {
  const input = `${segment({ alg: 'PS256', kid: rsa.kid })}.${segment(claims)}`
  return [0, 1, 20, 31, 33, 64].map((saltLength) => {
    const padding = constants.RSA_PKCS1_PSS_PADDING
    const signature = createSign('sha256').update(input).sign({ key: rsa.privateKey, padding, saltLength })
    return [`PS256 with a salt of ${saltLength} bytes`, `${input}.${signature.toString('base64url')}`]
  })
}

/** Of P-256, the order of its base point. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

function ellipticSignatures({ claims, elliptic }: Target): Attacks {
  const good = signedBy(elliptic, claims)
  const input = good.slice(0, good.lastIndexOf('.'))
  const bytes = Buffer.from(good.slice(input.length + 1), 'base64url')
  const hex = (value: bigint, length = 64) => value.toString(16).padStart(length, '0')
  const r = BigInt(`0x${bytes.toString('hex', 0, 32)}`)
  const s = BigInt(`0x${bytes.toString('hex', 32)}`)
  const values = {
    0: 0n,
    1: 1n,
    'n-1': ORDER - 1n,
    n: ORDER,
    'n+1': ORDER + 1n,
    '2^256-1': (1n << 256n) - 1n,
  }
  const edges = Object.entries(values).flatMap(([nameOfR, ofR]) =>
    Object.entries(values).map(
      ([nameOfS, ofS]) => [`r ${nameOfR} and s ${nameOfS}`, hex(ofR) + hex(ofS)] as const,
    ),
  )
  const others: (readonly [string, string])[] = [
    ['r with n added', hex(r + ORDER, 66) + hex(s, 66)],
    ['s with n added', hex(r, 66) + hex(s + ORDER, 66)],
    ['zeros behind', `${hex(r)}${hex(s)}0000`],
    ['zeros before both', hex(r, 66) + hex(s, 66)],
    ['3,000 zeros behind', hex(r) + hex(s) + '00'.repeat(3_000)],
    ['r and s exchanged', hex(s) + hex(r)],
    ['DER instead of two numbers', sign('sha256', Buffer.from(input), elliptic.privateKey).toString('hex')],
  ]
  return [...edges, ...others].map(([what, signature]) => [
    `ES256 with ${what}`,
    `${input}.${Buffer.from(signature, 'hex').toString('base64url')}`,
  ])
}
