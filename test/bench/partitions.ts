// make bench-partitions
// How fast `serve` works off a backlog of three topics of one partition each, beside topics of four each, in turn: a hot
// partition cannot be shared among workers. EVENTS and ROUNDS set the sizes. Exits 1 where an outcome is wrong.
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { format, spreadOf } from './report.ts'
import { runRound } from './round.ts'
import { ours } from './sides.ts'

const FEW = 1
const MANY = 4

const brokers = brokersFromEnvironment()
const eventCount = numberFrom('EVENTS', 100_000)
const roundCount = numberFrom('ROUNDS', 5)
const warmUpCount = Math.ceil(eventCount * 0.1)
endWithSignals()

const ratios: number[] = []
const contacts = await startContacts()
try {
  for (let round = 1; round <= roundCount; round++) {
    const found = new Map<number, number>()
    for (const partitionCount of round % 2 === 0 ? [MANY, FEW] : [FEW, MANY]) {
      const given = { side: ours, seed: round, eventCount, warmUpCount, comparedCount: 0, contacts, brokers }
      const { eventsPerSecond, faults } = await runRound({ ...given, partitionCount })
      if (faults.length > 0) throw new Error(faults.join('; '))
      found.set(partitionCount, eventsPerSecond)
      const rate = Math.round(eventsPerSecond)
      process.stderr.write(`round ${round}, 3 x ${partitionCount} partitions: ${rate} events/s\n`)
    }
    ratios.push((found.get(FEW) ?? Number.NaN) / (found.get(MANY) ?? Number.NaN))
  }
} finally {
  contacts.stop()
}
process.stdout.write(`3 partitions : 12 partitions = ${format(spreadOf(ratios), 2)}\n`)
