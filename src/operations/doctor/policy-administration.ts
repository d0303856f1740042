import { createParties } from '../../service/app/clients.ts'
import type { Config } from '../../service/config/config.ts'
import { CLIENT_CERTIFICATE, LOOK_UP_REMEDIES } from '../../service/contacts/look-up-remedies.ts'
import { distinctParties } from '../../service/decide/attempt/attempt.ts'
import {
  DATA_FAULTS,
  type DataFault,
  FAULTY_COUNT_MIN,
} from '../../service/decide/data-faults/data-faults.ts'
import { createAddressFinder, type FoundAddress } from '../../service/decide/data-faults/find-addresses.ts'
import {
  type AddressFinding,
  countAddresses,
  judgeAddresses,
} from '../../service/decide/data-faults/judge-addresses.ts'
import { judgeParties } from '../../service/decide/data-faults/judge-events.ts'
import { ADDRESSES, DEFAULT_CHANNEL } from '../../service/decide/party/channel.ts'
import type { Contact, Contacts } from '../../service/decide/party/contact.ts'
import type { PreferencesByParty } from '../../service/decide/party/preferences.ts'
import { listLogEntries } from '../../service/store/read/list-log-entries.ts'
import { readPreferences } from '../../service/store/read/read-preferences.ts'
import { createLog } from '../../service/telemetry/log.ts'
import { withTimeout } from '../../service/time/with-timeout.ts'
import { withPool } from './database.ts'
import { readMaps, readSamples } from './newest-messages.ts'
import {
  CHECK_FILE,
  type Check,
  certificateRemedies,
  PROXY_REMEDIES,
  Problem,
  type Remedies,
  remedyFor,
  tokenRemedies,
  type Warning,
} from './remedies.ts'

/** Maximum time that a check waits for an optional server. */
const OTHERS_MAX_MS = 4_000
/** Per topic. */
const PARTY_COUNT = 20
/** No party has this locator; a 404 is as good as a 200. */
const PARTY_LOCATOR = 'notifications-doctor'

const CLOSED_CONNECTION =
  'it closed the connection without an answer. If it speaks TLS, set POLICY_ADMIN_URL to its https:// URL; else look into its log: some do so after a client certificate (POLICY_ADMIN_CERT_FILE) that they do not trust'
const POLICY_ADMIN_CA =
  'set POLICY_ADMIN_CA_FILE to the authority that signed it; if it is set, compare the host name in POLICY_ADMIN_URL'

const POLICY_ADMIN_REMEDIES: Remedies = {
  ...LOOK_UP_REMEDIES,
  ...tokenRemedies('POLICY_ADMIN_'),
  TLS_FILES: {
    ENOENT: CHECK_FILE,
    EACCES: CHECK_FILE,
    EISDIR: CHECK_FILE,
    other: 'compare the key with the certificate: it must be its key, without a passphrase',
  },
  SECRET_FILE: CHECK_FILE,
  ...certificateRemedies('ask its owners to renew its certificate', POLICY_ADMIN_CA, POLICY_ADMIN_CA),
  TLS_REFUSED: CLIENT_CERTIFICATE,
  UND_ERR_SOCKET: CLOSED_CONNECTION,
  ECONNRESET: CLOSED_CONNECTION,
  ...PROXY_REMEDIES,
  ERR_SSL_WRONG_VERSION_NUMBER: 'correct the port of POLICY_ADMIN_URL, or set its http:// URL',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'correct the port of POLICY_ADMIN_URL, or set its http:// URL',
  other: 'check POLICY_ADMIN_URL, with its path, and whether that service is up',
}

export const policyAdministrationCheck: Check = {
  name: 'policy administration',
  prefix: 'POLICY_ADMIN_',
  run: async (config) => {
    const parties = createParties(config, createLog('silent'))
    try {
      const { known, byTopic } = await partiesToAsk(config)
      const contacts = await parties.lookUp(known.length === 0 ? [PARTY_LOCATOR] : known)
      const found = [...contacts.values()]
      const isAnyFound = found.some(({ state }) => state === 'found')
      // A single party may cause an error.
      for (const contact of found)
        if (contact.state === 'unresolved' && (contact.wrongParty || !isAnyFound))
          throw new Problem(contact.error, remedyFor(contact.codes ?? [], POLICY_ADMIN_REMEDIES))
      if (known.length === 0) return describeNaming(parties.namesParty())
      const faults = isAnyFound
        ? judgeData(config, byTopic, contacts, await readKnownPreferences(config, known))
        : [allUnknown(known, config.policyAdministration.baseUrl)]
      if (faults.length === 0) return describeNaming(parties.namesParty())
      const warning = faults.map(({ detail }) => detail).join('\n')
      const remedy = [...new Set(faults.map(({ code }) => DATA_FAULTS[code]))].join('; ')
      if (faults.some(({ isSure }) => isSure)) throw new Problem(warning, remedy)
      return { warning, remedy }
    } finally {
      await parties.close()
    }
  },
  remedies: POLICY_ADMIN_REMEDIES,
}

function allUnknown(known: readonly string[], baseUrl: string): DataFault {
  const url = `${baseUrl}/internal/parties/${encodeURIComponent(known[0] ?? '')}`
  const parties = known.length === 1 ? 'the only party' : `all of ${known.length} parties`
  const detail = `it answers 404 for ${parties} that messages or the log name: GET ${url}`
  return { code: 'not-found', detail, isSure: known.length >= FAULTY_COUNT_MIN }
}

/** Finds data faults of a topic's parties, or of an address. */
function judgeData(
  { policyAdministration }: Config,
  byTopic: ReadonlyMap<string, readonly string[]>,
  contacts: Contacts,
  preferences: PreferencesByParty,
): DataFault[] {
  const members = [...contacts].flatMap(([partyLocator, contact]) => {
    const { preferredChannel = DEFAULT_CHANNEL } = preferences.get(partyLocator) ?? {}
    return contact.state === 'found' ? [{ partyLocator, contact, preferredChannel }] : []
  })
  const found = createAddressFinder(policyAdministration.addresses)(members)
  return [
    ...[...byTopic].flatMap(([topic, parties]) => {
      const count = (state: Contact['state']) =>
        parties.filter((party) => contacts.get(party)?.state === state).length
      return judgeParties(topic, count('found'), count('not found'))
    }),
    ...ADDRESSES.flatMap((address) => {
      const ofAddress = found.filter(({ place }) => place === address)
      const counts = countFound(ofAddress)
      const needed = countFound(ofAddress.filter(({ isNeeded }) => isNeeded))
      return judgeAddresses(address, { newest: counts, needed, ever: counts, everNeeded: needed })
    }),
  ]
}

function countFound(found: readonly FoundAddress[]) {
  return countAddresses((wanted: AddressFinding) => found.filter(({ finding }) => finding === wanted).length)
}

/** Empty if the database does not answer; most members have the default channel. */
async function readKnownPreferences(config: Config, parties: readonly string[]): Promise<PreferencesByParty> {
  const read = withPool(config, (pool) => readPreferences(pool, parties))
  return new Map(await inTime(read.then((preferences) => [...preferences])))
}

/** Only a response that names its party can be verified. */
function describeNaming(namesParty: boolean | null): string | Warning {
  if (namesParty === null) return 'it responds; the first contact will show whether it names the party'
  if (namesParty) return 'it responds and names the party: each response is checked'
  return {
    warning: 'it responds without naming the party: a response for another party would go unnoticed',
    remedy:
      'ask its owners to name the party in each response, or set POLICY_ADMIN_ECHO to the name: see src/service/contacts/README.md',
  }
}

/**
 * A party that got a message, whose answer shows whether it names the party, and some parties of the newest messages, else of the
 * log. Other checks report a broker or a database that does not answer.
 */
async function partiesToAsk(
  config: Config,
): Promise<{ readonly known: readonly string[]; readonly byTopic: ReadonlyMap<string, readonly string[]> }> {
  const list = (filter: { status?: 'SENT' }, limit: number) =>
    inTime(
      withPool(config, async (pool) => {
        const { items } = await listLogEntries(pool, config.retry, filter, { limit, after: null })
        return items.flatMap(({ partyLocator }) => partyLocator ?? [])
      }),
    )
  const samples = inTime(readMaps().then((maps) => readSamples(config, maps)))
  const [notified, logged, read] = await Promise.all([
    list({ status: 'SENT' }, 1),
    list({}, PARTY_COUNT),
    samples,
  ])
  const byTopic = new Map(
    read.map(({ topic, events }) => [topic, distinctParties(events).slice(-PARTY_COUNT)] as const),
  )
  const named = [...byTopic.values()].flat()
  return { known: [...new Set([...notified, ...(named.length > 0 ? named : logged)])], byTopic }
}

/** Empty after a timeout or a failure. */
async function inTime<T>(found: Promise<readonly T[]>): Promise<readonly T[]> {
  return withTimeout(
    OTHERS_MAX_MS,
    found.catch(() => []),
    () => [],
  )
}
