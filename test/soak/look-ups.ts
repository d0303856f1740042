// node test/soak/look-ups.ts
// Look-ups whose answers may be another party's: from a server that sends one answer in 500 twice, 0.1, 1 and 2 ms later
// (DUPLICATED look-ups each, 12,000), and through nginx and haproxy with kept connections and restarts (PROXIED, 50,000). Exits
// 1 where somebody is given the address of another or is wrongly not found, though answers name their party. Proxies that
// are not installed are left out.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { createPartyClient, type PartyClient } from '../../src/party/client.ts'
import { startDuplicating } from '../party/duplicating-server.ts'
import { freePort } from '../stack/free-port.ts'
import { numberFrom, result, say } from './report.ts'

const DELAYS_MS = [0.1, 1, 2]
const BATCH_COUNT = 1_000
/** A proxy is restarted while one batch in so many is looked up. */
const RESTART_ONE_IN = 5

interface Tally {
  lookUps: number
  /** Given the address of another. */
  wrong: number
  /** Said not to exist. */
  silenced: number
  unresolved: number
}

const findings: Record<string, boolean> = {}
const duplicatedCount = numberFrom('DUPLICATED', 12_000)
for (const names of [true, false]) {
  for (const delayMs of DELAYS_MS) {
    const server = await startDuplicating(names, delayMs)
    const tally = await lookUpAll(server.url, duplicatedCount, async () => {})
    server.stop()
    judge(`answers sent again after ${delayMs} ms`, names, tally)
  }
}
const proxiedCount = numberFrom('PROXIED', 50_000)
for (const [name, configOf] of [
  ['nginx', nginxConfig],
  ['haproxy', haproxyConfig],
] as const) {
  if (!(await isInstalled(name))) {
    say(`${name} is not installed (Debian package ${name}): left out`)
    continue
  }
  for (const names of [true, false]) judge(name, names, await throughProxy(name, configOf, names))
}
result(findings)

/** Without names nothing tells an answer too many: what remains is only told. */
function judge(what: string, names: boolean, { lookUps, wrong, silenced, unresolved }: Tally): void {
  const where = `${what}, ${names ? 'named' : 'not named'}`
  say(
    `${where}: of ${lookUps} look-ups ${wrong} wrong, ${silenced} wrongly not found, ${unresolved} unresolved`,
  )
  findings[`${where}: nobody is wrongly not found`] = silenced === 0
  if (names) findings[`${where}: nobody is given the address of another`] = wrong === 0
}

async function lookUpAll(
  url: string,
  count: number,
  meanwhile: (batch: number) => Promise<void>,
): Promise<Tally> {
  const parties = createPartyClient({
    baseUrl: url,
    connectionCountMax: 32,
    pipeliningMax: 16,
    echo: ['/partyLocator'],
    deadlineMs: 5_000,
    log: pino({ enabled: false }),
  })
  const tally: Tally = { lookUps: 0, wrong: 0, silenced: 0, unresolved: 0 }
  for (let batch = 0; batch * BATCH_COUNT < count; batch++) {
    const locators = Array.from(
      { length: BATCH_COUNT },
      (_, i) => `${i % 20 === 0 ? 'unknown' : 'PTY'}-${batch}-${i}`,
    )
    await Promise.all([lookUpBatch(parties, locators, tally), meanwhile(batch)])
  }
  await parties.close()
  return tally
}

async function lookUpBatch(parties: PartyClient, locators: readonly string[], tally: Tally): Promise<void> {
  for (const [party, contact] of await parties.lookUp(locators)) {
    tally.lookUps++
    if (contact.state === 'unresolved') tally.unresolved++
    else if (contact.state === 'not found') tally.silenced += party.startsWith('PTY') ? 1 : 0
    else tally.wrong += contact.email === `${party}@example.org` ? 0 : 1
  }
}

async function throughProxy(
  name: string,
  configOf: (port: number, backendPort: number) => string,
  names: boolean,
): Promise<Tally> {
  const backend = createServer((request, response) => {
    const party = request.url?.split('/').pop() ?? ''
    if (party.startsWith('unknown')) response.statusCode = 404
    response.end(JSON.stringify({ ...(names && { partyLocator: party }), email: `${party}@example.org` }))
  }).listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const directory = await mkdtemp(join(tmpdir(), 'notifications-proxy-'))
  const file = join(directory, 'config')
  const port = await freePort()
  await writeFile(file, configOf(port, (backend.address() as AddressInfo).port))
  const start = () => startProxy(name, name === 'nginx' ? ['-p', directory, '-c', file] : ['-f', file], port)
  let proxy = await start()
  const restart = async () => {
    proxy.kill('SIGTERM')
    await once(proxy, 'exit')
    proxy = await start()
  }
  try {
    return await lookUpAll(`http://127.0.0.1:${port}`, proxiedCount, async (batch) => {
      if (batch % RESTART_ONE_IN === RESTART_ONE_IN - 1) await restart()
    })
  } finally {
    proxy.kill('SIGTERM')
    backend.close()
    backend.closeAllConnections()
    await rm(directory, { recursive: true, force: true })
  }
}

async function startProxy(name: string, args: readonly string[], port: number): Promise<ChildProcess> {
  const proxy = spawn(name, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  while (!(await isListening(port))) await sleep(5)
  return proxy
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return await new Promise((resolve) => {
    socket.once('connect', () => resolve(socket.destroy() !== null))
    socket.once('error', () => resolve(false))
  })
}

function isInstalled(name: string): Promise<boolean> {
  return promisify(execFile)(name, ['-v']).then(
    () => true,
    () => false,
  )
}

function nginxConfig(port: number, backendPort: number): string {
  return `daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off; keepalive_requests 1000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream backend { server 127.0.0.1:${backendPort}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
}

function haproxyConfig(port: number, backendPort: number): string {
  return `global
  maxconn 512
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server one 127.0.0.1:${backendPort}
`
}
