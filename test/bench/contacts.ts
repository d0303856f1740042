// The stand-in for policy administration in a process of its own, which counts what it is asked.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startPolicyAdministration } from '../stack/policy-administration.ts'

export interface Contacts {
  readonly url: string
  readonly pid: number
  /** Requests so far. */
  requestCount(): Promise<number>
  stop(): void
}

/** Starts the process; it ends with this one. */
export async function startContacts(): Promise<Contacts> {
  const child = fork(fileURLToPath(import.meta.url))
  const [url] = await once(child, 'message')
  return {
    url,
    pid: child.pid ?? 0,
    requestCount: async () => {
      const answer = once(child, 'message')
      child.send('count')
      return (await answer)[0]
    },
    stop: () => child.disconnect(),
  }
}

if (import.meta.main) {
  process.once('disconnect', () => process.exit())
  const { url, requests } = await startPolicyAdministration()
  process.on('message', () => process.send?.(requests.count))
  process.send?.(url)
}
