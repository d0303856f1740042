import type { Config } from '../../service/config/config.ts'
import type { TokenPrefix } from '../../service/config/variables.ts'
import { listCodes, UNREACHABLE_CODES } from '../../service/text/error-codes.ts'

/** Remedies by the code of an error, or a nested table by the codes of its causes. `other`: for any other error. */
export interface Remedies {
  readonly [code: string]: string | Remedies
  readonly other: string
}

/** A problem with its remedy, found by the check itself. */
export class Problem extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

export interface Warning {
  readonly warning: string
  readonly remedy: string
}

export interface Options {
  /** The file of a token to check. */
  readonly token?: string
}

export interface Check {
  readonly name: string
  /** Prefix of variables; the check is skipped if one of them is wrong. */
  readonly prefix: string
  /** Required checks: this one is skipped unless they pass. */
  readonly after?: readonly string[]
  /** Resolves to the finding, or to null if not configured; rejects with the problem. */
  readonly run: (config: Config, options: Options) => Promise<string | Warning | null>
  /** Remedies for errors other than a `Problem`, which has its own. */
  readonly remedies: Remedies
  /** The code of an error whose dependency gives it none. */
  readonly readCode?: (error: Error) => string | null
}

export const RUN_AGAIN = 'check that all brokers can be reached from here, and run the command `doctor` again'
export const CHECK_FILE = 'correct the variable, or the file and its permissions'

/** The remedy for an error with these codes, from the outermost error in. */
export function remedyFor(codes: readonly string[], remedies: Remedies): string {
  for (const [index, code] of codes.entries()) {
    const found = Object.hasOwn(remedies, code) ? remedies[code] : undefined
    if (typeof found === 'string') return found
    if (found !== undefined) return remedyFor(codes.slice(index + 1), found)
  }
  return remedies.other
}

export function chooseRemedy(check: Pick<Check, 'remedies' | 'readCode'>, error: unknown): string {
  return error instanceof Problem ? error.remedy : remedyFor(listCodes(error, check.readCode), check.remedies)
}

export function certificateRemedies(expired: string, otherName: string, untrusted: string) {
  return {
    CERT_HAS_EXPIRED: expired,
    ERR_TLS_CERT_ALTNAME_INVALID: otherName,
    UNTRUSTED_CERTIFICATE: untrusted,
  }
}

/** undici's codes for a proxy that refuses a tunnel, and for one that fails. */
export const PROXY_REMEDIES = Object.fromEntries(
  ['UND_ERR_ABORTED', 'UND_ERR_PRX_CONN', 'UND_ERR_PRX_TLS'].map((code) => [
    code,
    'the proxy of HTTPS_PROXY does not let the connection through: have it allow this host, or add the host to NO_PROXY',
  ]),
)

export function unreachable(remedy: string) {
  return Object.fromEntries(UNREACHABLE_CODES.map((code) => [code, remedy]))
}

export function tokenRemedies(prefix: TokenPrefix) {
  return {
    TOKEN_REFUSED: `check ${prefix}CLIENT_ID, ${prefix}CLIENT_SECRET (or its file) and ${prefix}SCOPE at the identity provider`,
    TOKEN_ENDPOINT: {
      ...certificateRemedies(
        `renew the certificate of the host in ${prefix}TOKEN_URL`,
        `name the host in ${prefix}TOKEN_URL as its certificate does`,
        'set NODE_EXTRA_CA_CERTS to the authority of the token endpoint',
      ),
      other: `check ${prefix}TOKEN_URL, and that this machine can reach it`,
    },
  }
}
