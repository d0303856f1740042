import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { close, listen } from './listen.ts'

/** The contact of a party; an address that is null is not on file. */
interface Party {
  email: string | null
  phone: string | null
}
export type Behaviour = Party | 'unknown' | 'error' | 'malformed' | 'slow' | 'hanging'
/** `down`: 503 to all; `hang`: answers nobody; `garbled`: 200 with broken JSON to all. */
export type Mode = 'ok' | 'down' | 'hang' | 'garbled'

const PATH_PREFIX = '/internal/parties/'
const PATH_COUNT_MAX = 10_000
const SLOW_MS = 300
/** Long enough that no client meets a connection that closes just as it is used again. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000
const BROKEN_JSON = '{"email":'

/** Any other locator is unknown. */
const BY_PREFIX: Readonly<Record<string, (partyLocator: string) => Behaviour>> = {
  'party-': contactOf,
  'no-email-': (partyLocator) => ({ ...contactOf(partyLocator), email: null }),
  'no-phone-': (partyLocator) => ({ ...contactOf(partyLocator), phone: null }),
  'neither-': () => ({ email: null, phone: null }),
  'error-': () => 'error',
  'malformed-': () => 'malformed',
  'slow-': () => 'slow',
  'hanging-': () => 'hanging',
}

/**
 * A stand-in for policy administration on loopback: `GET /internal/parties/{partyLocator}`. The prefix of the locator decides its
 * answer, so that other processes can use it without set-up: `party-` (email and phone), `no-email-`, `no-phone-`, `neither-`,
 * `error-` (500), `malformed-` (200 with broken JSON), `slow-` (email and phone, after 300 ms), `hanging-` (never); any other is a
 * 404. `onAnswer` hears of each answer just before it is given.
 */
export async function startPolicyAdministration({
  onRequest = () => {},
  onAnswer = () => {},
}: {
  onRequest?: (partyLocator: string) => void
  onAnswer?: (partyLocator: string, status: number, body: string) => void
} = {}) {
  const overrides = new Map<string, Behaviour>()
  const requests = { count: 0, paths: [] as string[] }
  let currentMode: Mode = 'ok'
  let namesParties = false

  /** Null: no answer. */
  async function answerOf(party: string): Promise<[status: number, body: string] | null> {
    if (currentMode === 'down') return [503, '{"error":"down"}']
    if (currentMode === 'garbled') return [200, BROKEN_JSON]
    const behaviour = overrides.get(party) ?? behaviourOf(party)
    if (currentMode === 'hang' || behaviour === 'hanging') return null
    if (behaviour === 'unknown') return [404, '{"error":"not found"}']
    if (behaviour === 'error') return [500, '{"error":"internal error"}']
    if (behaviour === 'malformed') return [200, BROKEN_JSON]
    if (behaviour === 'slow') await sleep(SLOW_MS)
    const contact = behaviour === 'slow' ? contactOf(party) : behaviour
    return [200, JSON.stringify({ ...(namesParties && { partyLocator: party }), ...contact })]
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, async (request, response) => {
    const { url: path = '', method } = request
    requests.count++
    if (requests.paths.push(path) > PATH_COUNT_MAX) requests.paths.shift()
    const party =
      method === 'GET' && path.startsWith(PATH_PREFIX) ? decode(path.slice(PATH_PREFIX.length)) : ''
    onRequest(party)
    const answer = await answerOf(party)
    if (answer === null) return
    const [status, body] = answer
    onAnswer(party, status, body)
    const length = Buffer.byteLength(body)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length }).end(body)
  })

  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    /** `count` of all requests so far; `paths` of the last 10,000, oldest first, still encoded. */
    requests,
    /** Overrides the prefix of this locator; null: not any more. */
    set: (partyLocator: string, behaviour: Behaviour | null): void => {
      if (behaviour === null) overrides.delete(partyLocator)
      else overrides.set(partyLocator, behaviour)
    },
    mode: (mode: Mode): void => {
      currentMode = mode
    },
    /** From now on each contact names its party, in `partyLocator`. */
    nameParties: (): void => {
      namesParties = true
    },
    /** Breaks off what is still open. */
    stop: () => close(server),
  }
}

function behaviourOf(partyLocator: string): Behaviour {
  const [, byPrefix] = Object.entries(BY_PREFIX).find(([prefix]) => partyLocator.startsWith(prefix)) ?? []
  return byPrefix?.(partyLocator) ?? 'unknown'
}

/** Each party has an address and a number of its own. */
function contactOf(partyLocator: string): Party {
  return { email: emailOf(partyLocator), phone: phoneOf(partyLocator) }
}

export function emailOf(partyLocator: string): string {
  return `${partyLocator}@example.com`
}

export function phoneOf(partyLocator: string): string {
  return `+44 20 7946 0000;ext=${Buffer.from(partyLocator).toString('hex')}`
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}
