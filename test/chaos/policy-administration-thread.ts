import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { type Behaviour, type Mode, startPolicyAdministration } from '../stack/policy-administration.ts'
import type { PartyAnswer } from './check.ts'

type Order = { readonly set: [partyLocator: string, Behaviour | null] } | { readonly mode: Mode }
/** `answer` is null when the party is requested. */
type Told = readonly [partyLocator: string, answer: PartyAnswer | null]

/** Policy administration in its own thread, so that it answers while the checker works for seconds. */
export async function startPolicyAdministrationThread() {
  const worker = new Worker(new URL(import.meta.url))
  const [url] = (await once(worker, 'message')) as [string]
  const asked: string[] = []
  const answers = new Map<string, PartyAnswer[]>()
  worker.on('message', ([partyLocator, answer]: Told) => {
    if (answer === null) asked.push(partyLocator)
    else answers.set(partyLocator, [...(answers.get(partyLocator) ?? []), answer])
  })
  const order = (order: Order) => worker.postMessage(order)
  return {
    url,
    /** The requested parties, oldest first. */
    asked: asked as readonly string[],
    /** By party, oldest first. */
    answers: answers as ReadonlyMap<string, readonly PartyAnswer[]>,
    set: (...set: [string, Behaviour | null]) => order({ set }),
    mode: (mode: Mode) => order({ mode }),
    stop: () => worker.terminate(),
  }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const tell = (...told: Told) => port.postMessage(told)
  const { url, set, mode } = await startPolicyAdministration({
    onRequest: (partyLocator) => tell(partyLocator, null),
    onAnswer: (partyLocator, status, body) =>
      tell(partyLocator, { atMs: Date.now(), said: isJson(body) ? status : 'malformed' }),
  })
  port.on('message', (order: Order) => ('set' in order ? set(...order.set) : mode(order.mode)))
  port.postMessage(url)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
