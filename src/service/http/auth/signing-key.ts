import { createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const
/** Asymmetric algorithms only: with HMAC the public key would be the secret. */
export const ALGORITHMS = [...RSA_ALGORITHMS, 'ES256', 'ES384', 'ES512', 'EdDSA'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

/** The only algorithm of each curve (RFC 7518, 3.4; RFC 8037, 3.1), by OpenSSL's curve names, which Node uses. */
const CURVE_ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** RFC 7518, 3.3. */
const MODULUS_BITS_MIN = 2_048
/** FIPS 186-5, A.1.1: odd, above 2^16 and below 2^256. With exponent 1 any text is its own signature. */
const EXPONENT_MIN = 65_537n
const EXPONENT_END = 1n << 256n

/** A public key that may verify signatures, with its algorithms. */
export interface SigningKey {
  readonly kid: string | undefined
  readonly algorithms: readonly Algorithm[]
  /** SPKI. */
  readonly pem: string
}

const wellFormed = z.string().refine((text) => text.isWellFormed())
const jwk = z.looseObject({
  kid: wellFormed.optional(),
  alg: z.enum(ALGORITHMS).nullish(),
  use: z.literal('sig').optional(),
  key_ops: z
    .array(z.string())
    .refine((operations) => operations.includes('verify'))
    .optional(),
  // Anyone who reads the set could sign with the private key.
  d: z.undefined().optional(),
})

/**
 * Converts a JSON Web Key (RFC 7517). Null if it must not verify signatures: it is for another use, secret (`oct`), unsupported by
 * Node, or too weak.
 */
export function parseSigningKey(found: unknown): SigningKey | null {
  try {
    const { kid, alg, use: _, key_ops: __, ...members } = jwk.parse(found)
    const key = createPublicKey({ key: members, format: 'jwk' })
    const algorithms = listAlgorithms(key).filter((algorithm) => alg == null || algorithm === alg)
    const pem = key.export({ type: 'spki', format: 'pem' }).toString()
    return algorithms.length === 0 ? null : { kid, algorithms, pem }
  } catch {
    return null
  }
}

/** Empty if the key is too weak, or not for signatures. */
function listAlgorithms({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): readonly Algorithm[] {
  const { modulusLength = 0, publicExponent = 0n, namedCurve = '' } = asymmetricKeyDetails
  switch (asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= MODULUS_BITS_MIN && isSane(publicExponent) ? RSA_ALGORITHMS : []
    case 'ec':
      return [CURVE_ALGORITHMS[namedCurve] ?? []].flat()
    case 'ed25519':
    case 'ed448':
      return ['EdDSA']
    default:
      return []
  }
}

function isSane(exponent: bigint): boolean {
  return exponent % 2n === 1n && exponent >= EXPONENT_MIN && exponent < EXPONENT_END
}
