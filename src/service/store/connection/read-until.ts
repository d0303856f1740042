import type { CommonQueryMethods, DatabasePool } from 'slonik'

/**
 * Reads until the signal is aborted: then the connection is closed, which ends a running query within a second
 * (`client_connection_check_interval`), and the result rejects. A read that is still waiting for a connection never starts.
 */
export async function readUntil<Result>(
  signal: AbortSignal,
  pool: DatabasePool,
  read: (connection: CommonQueryMethods) => Promise<Result>,
): Promise<Result> {
  const gone = rejectOnAbort(signal)
  const result = await pool.connect(async (connection) =>
    // A handler that throws would cost this unused connection.
    signal.aborted ? null : { value: await Promise.race([read(connection), gone]) },
  )
  return result === null ? gone : result.value
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  promise.catch(() => {})
  return promise
}
