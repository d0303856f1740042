import { isIP } from 'node:net'
import { ProblemError } from '../problems/problem.ts'
import type { App } from './base.ts'

/**
 * Refuses requests whose `Host` is a name other than these and `localhost`: by DNS rebinding a stranger's page gives its
 * own name the address of this listener, and reads it through the browser of someone who may reach it. A page cannot
 * send an address as `Host` unless it came from there, and probes and Prometheus use addresses.
 */
export function requireHost(app: App, names: readonly string[]): void {
  const allowed = new Set(['localhost', ...names.map((name) => name.toLowerCase())])
  app.addHook('onRequest', async ({ headers: { host } }) => {
    // HTTP/1.0 has none, and no browser speaks it.
    if (host === undefined) return
    const name = host.replace(/:\d*$/, '').toLowerCase().replace(/\.$/, '')
    const address = /^\[(.*)\]$/.exec(name)?.[1] ?? name
    if (isIP(address) !== 0 || allowed.has(name)) return
    throw new ProblemError('misdirected', {
      detail:
        'This listener does not answer to that host name. To allow the name, add it to MANAGEMENT_ALLOWED_HOSTS.',
    })
  })
}
