import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What the stand-in says of a party; an address that is null is not on file. */
export interface Party {
  email: string | null
  phone: string | null
}
export type Behaviour = Party | 'unknown' | 'error' | 'malformed' | 'slow' | 'hanging'
/** `down`: 503 to all; `hang`: answers nobody; `garbled`: 200 with broken JSON to all. */
export type Mode = 'ok' | 'down' | 'hang' | 'garbled'

export type PolicyAdministration = Awaited<ReturnType<typeof startPolicyAdministration>>

const PATH_PREFIX = '/internal/parties/'
const PATH_COUNT_MAX = 10_000
const SLOW_MS = 300
/** So long that no client meets a connection that closes just as it is used again. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000

/** Any other locator is unknown. */
const BY_PREFIX: [prefix: string, behaviour: (partyLocator: string) => Behaviour][] = [
  ['party-', (partyLocator) => ({ email: emailOf(partyLocator), phone: phoneOf(partyLocator) })],
  ['no-email-', (partyLocator) => ({ email: null, phone: phoneOf(partyLocator) })],
  ['no-phone-', (partyLocator) => ({ email: emailOf(partyLocator), phone: null })],
  ['neither-', () => ({ email: null, phone: null })],
  ['error-', () => 'error'],
  ['malformed-', () => 'malformed'],
  ['slow-', () => 'slow'],
  ['hanging-', () => 'hanging'],
]

/**
 * A stand-in for policy administration on loopback: `GET /internal/parties/{partyLocator}`. The prefix of the
 * locator decides what it answers, so that other processes can use it without set-up: `party-` (email and
 * phone), `no-email-`, `no-phone-`, `neither-`, `error-` (500), `malformed-` (200 with broken JSON), `slow-`
 * (email and phone, after 300 ms), `hanging-` (never); `unknown-` and everything else is a 404.
 */
export async function startPolicyAdministration({
  port = 0,
  onRequest = () => {},
  onAnswer = () => {},
}: {
  port?: number
  onRequest?: (partyLocator: string) => void
  /** Told of each answer just before it is given. */
  onAnswer?: (partyLocator: string, status: number, body: string) => void
} = {}) {
  const overrides = new Map<string, Behaviour>()
  const requests = { count: 0, paths: [] as string[] }
  let currentMode: Mode = 'ok'
  let namesParties = false

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    const path = request.url ?? ''
    requests.count++
    if (requests.paths.push(path) > PATH_COUNT_MAX) requests.paths.shift()
    const partyLocator = partyIn(path, request.method)
    onRequest(partyLocator)
    const give: Give = (status, body) => {
      onAnswer(partyLocator, status, body)
      answer(response, status, body)
    }
    if (currentMode === 'down') give(503, '{"error":"down"}')
    else if (currentMode === 'garbled') give(200, '{"email":')
    else if (currentMode === 'ok') answerFor(partyLocator, overrides, namesParties, give)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** `count` of all requests so far; `paths` of the last 10,000, oldest first, as they came (still encoded). */
    requests,
    /** Overrides what the prefix of this locator says; null: not any more. */
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
    stop: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

type Give = (status: number, body: string) => void

/** Empty where the request is for something else. */
function partyIn(path: string, method: string | undefined): string {
  return path.startsWith(PATH_PREFIX) && method === 'GET' ? decode(path.slice(PATH_PREFIX.length)) : ''
}

function answerFor(
  partyLocator: string,
  overrides: Map<string, Behaviour>,
  names: boolean,
  give: Give,
): void {
  const behaviour = overrides.get(partyLocator) ?? behaviourByPrefix(partyLocator)
  if (typeof behaviour === 'object')
    give(200, JSON.stringify({ ...(names && { partyLocator }), ...behaviour }))
  else if (behaviour === 'unknown') give(404, '{"error":"not found"}')
  else if (behaviour === 'error') give(500, '{"error":"internal error"}')
  else if (behaviour === 'malformed') give(200, '{"email":')
  else if (behaviour === 'slow') void answerSlowly(partyLocator, give)
}

async function answerSlowly(partyLocator: string, give: Give): Promise<void> {
  await sleep(SLOW_MS)
  give(200, JSON.stringify({ email: emailOf(partyLocator), phone: phoneOf(partyLocator) }))
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, [
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
  ])
  response.end(body)
}

function behaviourByPrefix(partyLocator: string): Behaviour {
  for (const [prefix, behaviour] of BY_PREFIX) {
    if (partyLocator.startsWith(prefix)) return behaviour(partyLocator)
  }
  return 'unknown'
}

/** Each party has an address and a number of its own. */
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

// In a process of its own: `node test/stack/policy-administration.ts [port]` prints the URL. One that was forked
// ends with its parent.
if (import.meta.main) {
  process.once('disconnect', () => process.exit())
  const { url } = await startPolicyAdministration({
    port: Number(process.argv[2] ?? 0),
  })
  console.log(url)
}
