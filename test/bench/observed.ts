// node test/stack/with-stack.ts -- node test/bench/observed.ts [--json]
// What it costs to watch the service: `serve` with its log, metrics scraped once a second and every batch traced to a
// collector, against `serve` with none of it; the same events, each with a trace of its producer, round by round in turn.
// EVENTS (a round) and ROUNDS set the sizes. Exits 1 where an outcome is wrong.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { freePort } from '../stack/free-port.ts'
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { ratioOf, runInTurn } from './in-turn.ts'
import { cellOf, type Spread, tableOf } from './report.ts'
import type { Measured } from './round.ts'
import type { Running, Side, SideEnv } from './sides.ts'

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 50_000)
const WARM_UP_PART = 0.1
const SCRAPE_INTERVAL_MS = 1_000

/** What came out of it all, as `--json` prints it. */
export interface ObservedReport {
  readonly settings: { readonly roundCount: number; readonly eventCount: number }
  readonly sides: Readonly<Record<'observed' | 'unobserved', readonly Measured[]>>
  /** How many times the events/s of the one that nobody watches, in each round. */
  readonly rate: Spread
  /** The same of the CPU of the process, for each event. */
  readonly cpu: Spread
  readonly scrapeCount: number
  readonly traceBytes: number
  readonly faults: readonly string[]
}

endWithSignals()

let scrapeCount = 0
let traceBytes = 0
const collector = createServer((request, response) => {
  request.on('data', (bytes: Buffer) => {
    traceBytes += bytes.length
  })
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
})
collector.listen(0, '127.0.0.1')
await once(collector, 'listening')
const collectorUrl = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`

const unobserved: Side = {
  name: 'unobserved',
  start: async (env) => startServe({ ...env, LOG_LEVEL: 'silent' }),
}
const observed: Side = {
  name: 'observed',
  start: async (env) => {
    const port = await freePort()
    const running = startServe({ ...env, MANAGEMENT_PORT: String(port), OTEL_ENDPOINT: collectorUrl })
    const scraping = setInterval(() => void scrape(`http://127.0.0.1:${port}/metrics`), SCRAPE_INTERVAL_MS)
    void running.exited.then(() => clearInterval(scraping))
    return running
  },
}

/** As it is run, its log to nowhere. */
function startServe(env: SideEnv & Record<string, string>): Running {
  const child = spawn(MAIN, ['serve'], {
    env: { ...EXECUTABLE_ENV, ...env, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => `ended with ${signal ?? code}`)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  void exited.then(() => process.off('exit', kill))
  return {
    pid: child.pid ?? 0,
    exited,
    stop: () => {
      child.kill('SIGTERM')
      return exited
    },
  }
}

async function scrape(url: string): Promise<void> {
  const text = await fetch(url).then(
    (response) => response.text(),
    () => '',
  )
  if (text !== '') scrapeCount++
}

const sides = { observed, unobserved }
const contacts = await startContacts()
const { results, faults } = await runInTurn(sides, {
  roundCount,
  warmUpPart: WARM_UP_PART,
  eventCount,
  comparedCount: eventCount,
  contacts,
  brokers,
  traced: true,
}).finally(() => {
  contacts.stop()
  collector.closeAllConnections()
  collector.close()
})
for (const [i, { rowsHash }] of results.observed.entries()) {
  if (rowsHash !== results.unobserved[i]?.rowsHash)
    faults.push(`round ${i + 1}: the two wrote different rows for the same events`)
}
if (traceBytes === 0) faults.push('nothing was traced')
if (scrapeCount === 0) faults.push('nothing was scraped')

const report: ObservedReport = {
  settings: { roundCount, eventCount },
  sides: results,
  rate: ratioOf(results.observed, results.unobserved),
  cpu: ratioOf(results.observed, results.unobserved, ({ cpu }) => cpu.process),
  scrapeCount,
  traceBytes,
  faults,
}
process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : describe(report))
process.exitCode = faults.length === 0 ? 0 : 1

function describe({ settings, rate, cpu, scrapeCount, traceBytes, faults }: ObservedReport): string {
  const row = (title: string, of: (measured: Measured) => number | null) => [
    title,
    cellOf(results.observed.map(of), 0),
    cellOf(results.unobserved.map(of), 0),
  ]
  return [
    `rounds: ${settings.roundCount}; events a round: ${settings.eventCount.toLocaleString('en')}; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'observed', 'unobserved'],
      row('events/s', ({ eventsPerSecond }) => eventsPerSecond),
      row('CPU µs/event, the process', ({ cpu }) => cpu.process),
      row('peak memory, MB', ({ peakMemoryMb }) => peakMemoryMb),
    ]),
    '',
    `observed : unobserved = ${words(rate)} in events/s, ${words(cpu)} in CPU; ${scrapeCount} scrapes, ` +
      `${Math.round(traceBytes / 1e6)} MB of traces`,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n')
}

function words({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
}
