import { type CommonQueryMethods, ConnectionError, type DatabasePool } from 'slonik'

/** @internal Methods of a pool, connection or transaction that run one statement. */
export const QUERY_METHODS = [
  'any',
  'anyFirst',
  'maybeOne',
  'maybeOneFirst',
  'one',
  'oneFirst',
  'query',
] as const satisfies readonly (keyof CommonQueryMethods)[]

/** Longer than any statement may take, so that a caller gives up only if all connections stay busy. */
const WAIT_MS_MAX = 20_000

/**
 * Admits at most `connectionCountMax` callers to the pool; others wait here for at most 20 s, then reject with a ConnectionError.
 * Slonik's own queue stays empty: it loses its waiters if all connections are destroyed while the server hangs.
 */
export function boundedPool(
  pool: DatabasePool,
  connectionCountMax: number,
  waitMsMax = WAIT_MS_MAX,
): DatabasePool {
  const waiting = new Set<() => void>()
  let freeCount = connectionCountMax

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(wake)
        reject(new ConnectionError(`no connection to the database was free within ${waitMsMax / 1_000} s`))
      }, waitMsMax)
      const wake = () => {
        waiting.delete(wake)
        clearTimeout(timer)
        resolve()
      }
      waiting.add(wake)
    })
  }

  /** A freed slot passes to the next waiter. */
  async function inSlot<Result>(work: () => Promise<Result>): Promise<Result> {
    if (freeCount > 0) freeCount--
    else await turn()
    try {
      return await work()
    } finally {
      const [wake] = waiting
      if (wake === undefined) freeCount++
      else wake()
    }
  }

  const methods = [...QUERY_METHODS, 'connect', 'transaction'] as const
  const bounded = methods.map((name) => {
    const call = pool[name] as (...args: unknown[]) => Promise<unknown>
    return [name, (...args: unknown[]) => inSlot(() => call(...args))]
  })
  return Object.assign(Object.create(pool), Object.fromEntries(bounded), {
    state: () => ({ ...pool.state(), waitingClients: waiting.size }),
  })
}
