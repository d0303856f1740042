// make bench-backtest
// Dispatch while one back-test after the other runs in the workbench, beside dispatch alone, round by round in turn.
// EVENTS (a round) and ROUNDS set the sizes. Exits 1 where an outcome is wrong or no back-test ran.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService } from '../stack/service.ts'
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { ratioOf, runInTurn } from './in-turn.ts'
import { cellOf, format, tableOf } from './report.ts'
import type { Measured } from './round.ts'
import type { Side } from './sides.ts'

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 100_000)
const WARM_UP_PART = 0.3
const PAUSE_AFTER_FAILURE_MS = 200

endWithSignals()

const table = await readFile(new URL('../../rules/dispatch.csv', import.meta.url), 'utf8')
let pageCount = 0

/** One back-test after the other, until `signal` ends the one under way. */
async function backTest(url: string, signal: AbortSignal): Promise<void> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ table, days: 30 }),
    signal,
  }
  while (!signal.aborted) {
    try {
      const response = await fetch(`${url}/console/data/workbench/backtest`, request)
      for await (const chunk of response.body ?? []) {
        pageCount += Buffer.from(chunk).toString().split('"progress"').length - 1
      }
      if (!response.ok) await sleep(PAUSE_AFTER_FAILURE_MS)
    } catch {
      if (!signal.aborted) await sleep(PAUSE_AFTER_FAILURE_MS)
    }
  }
}

const sideOf = (name: 'back-tested' | 'alone'): Side => ({
  name,
  start: async (env) => {
    const service = await startService({ ...env, LOG_LEVEL: 'info', MANAGEMENT_PORT: '0' })
    const { url } = await service.logged(/^the management listener is up$/)
    const stop = new AbortController()
    const backTests = name === 'alone' ? Promise.resolve() : backTest(String(url), stop.signal)
    return {
      pid: service.pid,
      exited: service.exited.then(({ code, signal }) => `ended with ${signal ?? code}`),
      stop: async () => {
        stop.abort()
        await backTests
        return service.stop()
      },
    }
  },
})
const sides = { tested: sideOf('back-tested'), alone: sideOf('alone') }
const contacts = await startContacts()
const { results, faults } = await runInTurn(sides, {
  roundCount,
  warmUpPart: WARM_UP_PART,
  eventCount,
  comparedCount: 0,
  contacts,
  brokers,
}).finally(contacts.stop)
if (pageCount === 0) faults.push('no back-test ran')

const ratio = ratioOf(results.tested, results.alone)
const row = (title: string, of: (measured: Measured) => number | null) => [
  title,
  cellOf(results.tested.map(of), 0),
  cellOf(results.alone.map(of), 0),
]
process.stdout.write(
  [
    `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'beside back-tests', 'alone'],
      row('events/s', ({ eventsPerSecond }) => eventsPerSecond),
      row('peak memory, MB', ({ peakMemoryMb }) => peakMemoryMb),
      row('CPU µs/event, the process', ({ cpu }) => cpu.process),
      row('CPU µs/event, PostgreSQL', ({ cpu }) => cpu.postgres),
    ]),
    '',
    `beside back-tests : alone = ${format(ratio, 2)}; pages of a back-test: ${pageCount}`,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n'),
)
process.exitCode = faults.length === 0 ? 0 : 1
