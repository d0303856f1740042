import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { CodedError, readCode } from '../text/error-codes.ts'

/** Time for which an answer is used again: a name that moves is noticed about as soon as without it. */
const FRESH_MS = 1_000
/** Age of a running look-up at which its callers get the last answer, if there is one. */
const PATIENCE_MS = 500
/** Age of a running look-up at which its callers get an error, if there was no answer. Connections give up later. */
const SILENCE_MS_MAX = 2_500
/** Maximum age of an answer that stands for a missing one (RFC 8767 suggests one to three days). */
const STALE_MS_MAX = 24 * 60 * 60_000

type Found = (error: Error | null, addresses: LookupAddress[]) => void
type Lookup = (name: string, options: LookupOptions & { all: true }, found: Found) => void
type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void

interface Name {
  /** The last answer. */
  known: { readonly addresses: LookupAddress[]; readonly atMs: number } | null
  /** Callers that wait for the running look-up, which `isLate` once they have been answered without it. */
  running: { readonly waiting: Set<Found>; isLate: boolean } | null
}

/**
 * @internal Returns a `dns.lookup` with one look-up in flight for each name, so that a name without an answer occupies one thread, however
 * many connections want it. Its answer is used for a second, and for a day while the name servers send none, but not if they say
 * that the name does not exist.
 */
export function createLookup(lookUp: Lookup, monotonicMs: () => number) {
  const names = new Map<string, Name>()

  function find(key: string, host: string, options: LookupOptions, found: Found): void {
    const name = names.get(key) ?? { known: null, running: null }
    names.set(key, name)
    const { known } = name
    if (known !== null && monotonicMs() - known.atMs < FRESH_MS) {
      process.nextTick(found, null, known.addresses)
      return
    }
    name.running ??= start(name, host, options)
    if (name.running.isLate) process.nextTick(answerLate, name, host, found)
    else name.running.waiting.add(found)
  }

  function start(name: Name, host: string, options: LookupOptions): NonNullable<Name['running']> {
    const running = { waiting: new Set<Found>(), isLate: false }
    const late = () => {
      running.isLate = true
      for (const found of take(running.waiting)) answerLate(name, host, found)
    }
    const timer = setTimeout(late, usable(name) === null ? SILENCE_MS_MAX : PATIENCE_MS).unref()
    lookUp(host, { ...options, all: true }, (error, addresses) => {
      clearTimeout(timer)
      name.running = null
      if (error === null) name.known = { addresses, atMs: monotonicMs() }
      else if (readCode(error) === 'ENOTFOUND') name.known = null
      const answer = error === null ? addresses : usable(name)
      for (const found of take(running.waiting)) found(answer === null ? error : null, answer ?? [])
    })
    return running
  }

  function usable({ known }: Name): LookupAddress[] | null {
    return known !== null && monotonicMs() - known.atMs < STALE_MS_MAX ? known.addresses : null
  }

  function answerLate(name: Name, host: string, found: Found): void {
    const addresses = usable(name)
    if (addresses !== null) found(null, addresses)
    else found(new CodedError('EAI_AGAIN', `no name server answers for ${host}`), [])
  }

  return (host: string, given: LookupOptions | number | Callback, last?: Callback): void => {
    const callback = typeof given === 'function' ? given : last
    const options = typeof given === 'object' ? given : { family: typeof given === 'number' ? given : 0 }
    find(JSON.stringify({ ...options, all: true, host }), host, options, (error, addresses) => {
      const [first = { address: '', family: 0 }] = addresses
      if (error !== null || options.all) callback?.(error, addresses)
      else callback?.(null, first.address, first.family)
    })
  }
}

function take<T>(waiting: Set<T>): T[] {
  const taken = [...waiting]
  waiting.clear()
  return taken
}

/**
 * Replaces `dns.lookup`, by which every connection of this process resolves its name, whatever library opens it: database,
 * brokers, policy administration, identity provider, token endpoints, collector, and transports to come.
 */
export function resolveNamesApart(): void {
  Object.assign(dns, { lookup: createLookup(dns.lookup, () => performance.now()) })
}
