// node test/soak/look-ups.ts
// Look-ups whose answers may be another party's: from a server that sends one answer in 500 twice, 0.1, 1, 2 and 20 ms later
// (DUPLICATED look-ups each, 12,000), and through nginx and haproxy that rotate connections, reload and restart (PROXIED, 60,000
// each). Exits 1 if a party gets the address of another or is wrongly not found, though answers name their party, or if a
// look-up through a proxy fails without a restart. Proxies that are not installed are left out.
import { createServer } from 'node:http'
import { pino } from 'pino'
import { createPartyClient, type PartyClient } from '../../src/service/contacts/client.ts'
import { mapAddresses } from '../../src/service/decide/party/channel.ts'
import { numberFrom } from '../stack/environment.ts'
import { close, listen } from '../stack/listen.ts'
import { HAPROXY, isInstalled, nginx, type ProxyKind, startProxy } from '../stack/proxy.ts'
import { startDuplicating } from './duplicating-server.ts'
import { result, say } from './report.ts'

const DELAYS_MS = [0.1, 1, 2, 20]
const BATCH_COUNT = 1_000
/** A proxy reloads, or restarts, while one batch in so many is looked up. */
const RELOAD_ONE_IN = 4
const RESTART_ONE_IN = 19

interface Tally {
  lookUps: number
  /** Given the address of another. */
  wrong: number
  /** Said not to exist. */
  silenced: number
  unresolved: number
  /** Unresolved while the proxy was not restarting. */
  failed: number
  /** Counts of failed look-ups. */
  readonly errors: Set<string>
}

const PROXIES: readonly ProxyKind[] = [nginx(100), nginx(1_000), HAPROXY]

const findings: Record<string, boolean> = {}
const duplicatedCount = numberFrom('DUPLICATED', 12_000)
for (const names of [true, false]) {
  for (const delayMs of DELAYS_MS) {
    const server = await startDuplicating(names, delayMs)
    const tally = await lookUpAll(server.url, duplicatedCount, async () => false)
    server.stop()
    judge(`answers sent again after ${delayMs} ms`, names, tally)
  }
}
const proxiedCount = numberFrom('PROXIED', 60_000)
for (const proxy of PROXIES) {
  if (!(await isInstalled(proxy))) {
    say(`${proxy.program} is not installed (Debian package ${proxy.program}): left out`)
    continue
  }
  for (const names of [true, false]) {
    const tally = await throughProxy(proxy, names)
    judge(proxy.name, names, tally)
    findings[`${proxy.name}, ${names ? 'named' : 'not named'}: none failed`] = tally.failed === 0
  }
}
result(findings)

/** Without names nothing tells a surplus answer: wrong ones are only reported. */
function judge(what: string, names: boolean, tally: Tally): void {
  const { lookUps, wrong, silenced, unresolved, failed, errors } = tally
  const where = `${what}, ${names ? 'named' : 'not named'}`
  say(
    `${where}: of ${lookUps} look-ups ${wrong} wrong, ${silenced} wrongly not found, ${unresolved} unresolved, ${failed} of them without a restart ${[...errors].join(', ')}`,
  )
  findings[`${where}: nobody is wrongly not found`] = silenced === 0
  if (names) findings[`${where}: nobody is given the address of another`] = wrong === 0
}

async function lookUpAll(
  url: string,
  count: number,
  /** Resolves to true if it refused connections. */
  meanwhile: (batch: number) => Promise<boolean>,
): Promise<Tally> {
  const parties = createPartyClient({
    baseUrl: url,
    connectionCountMax: 32,
    echo: ['/partyLocator'],
    addresses: mapAddresses((address) => [`/${address}`]),
    deadlineMs: 5_000,
    tlsFiles: {},
    isProxied: false,
    credential: null,
    log: pino({ enabled: false }),
  })
  const tally: Tally = { lookUps: 0, wrong: 0, silenced: 0, unresolved: 0, failed: 0, errors: new Set() }
  for (let batch = 0; batch * BATCH_COUNT < count; batch++) {
    const locators = Array.from(
      { length: BATCH_COUNT },
      (_, i) => `${i % 20 === 0 ? 'unknown' : 'PTY'}-${batch}-${i}`,
    )
    const unresolvedBefore = tally.unresolved
    const [, refused] = await Promise.all([lookUpBatch(parties, locators, tally), meanwhile(batch)])
    if (refused) tally.errors.clear()
    else tally.failed += tally.unresolved - unresolvedBefore
  }
  await parties.close()
  return tally
}

async function lookUpBatch(parties: PartyClient, locators: readonly string[], tally: Tally): Promise<void> {
  for (const [party, contact] of await parties.lookUp(locators)) {
    tally.lookUps++
    if (contact.state === 'unresolved') {
      tally.unresolved++
      tally.errors.add(contact.error)
    } else if (contact.state === 'not found') tally.silenced += party.startsWith('PTY') ? 1 : 0
    else tally.wrong += contact.email === `${party}@example.org` ? 0 : 1
  }
}

async function throughProxy(kind: ProxyKind, names: boolean): Promise<Tally> {
  const backend = createServer((request, response) => {
    const party = request.url?.split('/').pop() ?? ''
    if (party.startsWith('unknown')) response.statusCode = 404
    response.end(JSON.stringify({ ...(names && { partyLocator: party }), email: `${party}@example.org` }))
  })
  const proxy = await startProxy(kind, await listen(backend))
  try {
    return await lookUpAll(proxy.url, proxiedCount, async (batch) => {
      const restarts = batch % RESTART_ONE_IN === RESTART_ONE_IN - 1
      if (restarts) await proxy.restart()
      else if (batch % RELOAD_ONE_IN === 0) proxy.reload()
      return restarts
    })
  } finally {
    await proxy.close()
    await close(backend)
  }
}
