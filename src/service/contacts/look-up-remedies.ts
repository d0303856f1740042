import { ADDRESSES, addressVariable } from '../decide/party/channel.ts'

export const CLIENT_CERTIFICATE =
  'set POLICY_ADMIN_CERT_FILE and POLICY_ADMIN_KEY_FILE to a client certificate that it accepts, and check POLICY_ADMIN_URL'

/** Remedies by the code of a failed look-up. */
export const LOOK_UP_REMEDIES = {
  WRONG_PARTY:
    'set POLICY_ADMIN_ECHO to the place in responses that names the party, or ask the owners: see src/service/contacts/README.md',
  NO_ADDRESS: `set ${ADDRESSES.map(addressVariable).join(' and ')} to the places of the addresses in its responses`,
  NO_JSON:
    'check POLICY_ADMIN_URL, with its path, and the credential: a login page, or a gateway on the way, may answer in its place',
  ENCODED: 'ask its owners to honour Accept-Encoding: a proxy may compress its responses',
  TLS_EXPECTED: 'set POLICY_ADMIN_URL to its https:// URL',
  HTTP_400: CLIENT_CERTIFICATE,
  HTTP_401:
    'set POLICY_ADMIN_HEADER and its file, or POLICY_ADMIN_TOKEN_URL, as its owners require; if set, check the secret, the scope and the expiry',
  HTTP_403: 'have its owners allow this credential to read parties, or correct POLICY_ADMIN_SCOPE',
  HTTP_429: 'ask its owners for a higher rate limit, or lower POLICY_ADMIN_CONNECTIONS',
} as const satisfies Readonly<Record<string, string>>

const REMEDIES = new Map<string, string>(Object.entries(LOOK_UP_REMEDIES))
const DOCTOR = 'run `doctor` with the same environment: it names the remedy'

/** @param codes of the error and its causes, outermost first */
export function remedyForLookUp(codes: readonly string[]): string {
  const known = codes.find((code) => REMEDIES.has(code))
  return REMEDIES.get(known ?? '') ?? DOCTOR
}
