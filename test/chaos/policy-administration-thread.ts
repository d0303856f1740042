import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { type Behaviour, type Mode, startPolicyAdministration } from '../stack/policy-administration.ts'
import type { PartyAnswer } from './check.ts'

export interface PolicyAdministrationThread {
  readonly url: string
  /** The parties that it was asked about, oldest first. */
  readonly asked: readonly string[]
  /** What it said of each party, oldest first. */
  readonly answers: ReadonlyMap<string, readonly PartyAnswer[]>
  set(partyLocator: string, behaviour: Behaviour | null): void
  mode(mode: Mode): void
  stop(): Promise<void>
}

type Order = { readonly set: [string, Behaviour | null] } | { readonly mode: Mode }
/** `answer` is null when it is asked. */
type Told = readonly [partyLocator: string, answer: PartyAnswer | null]

/** Policy administration on a thread of its own: while the judge works for seconds, look-ups are answered all the same. */
export async function startPolicyAdministrationThread(): Promise<PolicyAdministrationThread> {
  const worker = new Worker(new URL(import.meta.url))
  const answers = new Map<string, PartyAnswer[]>()
  const [url] = (await once(worker, 'message')) as [string]
  const asked: string[] = []
  worker.on('message', ([partyLocator, answer]: Told) => {
    if (answer === null) {
      asked.push(partyLocator)
      return
    }
    const list = answers.get(partyLocator) ?? []
    answers.set(partyLocator, list)
    list.push(answer)
  })
  const order = (order: Order) => worker.postMessage(order)
  return {
    url,
    asked,
    answers,
    set: (...set) => order({ set }),
    mode: (mode) => order({ mode }),
    stop: async () => {
      await worker.terminate()
    },
  }
}

async function serve(port: NonNullable<typeof parentPort>): Promise<void> {
  const tell = (...told: Told) => port.postMessage(told)
  const { url, set, mode } = await startPolicyAdministration({
    onRequest: (partyLocator) => tell(partyLocator, null),
    onAnswer: (partyLocator, status, body) => {
      tell(partyLocator, { atMs: Date.now(), said: isJson(body) ? status : 'malformed' })
    },
  })
  port.on('message', (order: Order) => {
    if ('set' in order) set(...order.set)
    else mode(order.mode)
  })
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

if (!isMainThread && parentPort !== null) await serve(parentPort)
