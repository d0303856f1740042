import { type Spread, spreadOf } from './report.ts'
import { type Measured, type RoundOptions, runRound } from './round.ts'
import type { Side } from './sides.ts'

export interface InTurnOptions extends Omit<RoundOptions, 'side' | 'seed' | 'warmUpCount'> {
  readonly roundCount: number
  /** Of as many events as are measured. */
  readonly warmUpPart: number
}

/** Runs two sides round by round, each first in every other one. `faults` names round and side. */
export async function runInTurn<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  { roundCount, warmUpPart, ...options }: InTurnOptions,
): Promise<{ results: Readonly<Record<Name, Measured[]>>; faults: string[] }> {
  const names = Object.keys(sides) as Name[]
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Measured[]>
  const faults: string[] = []
  for (let round = 1; round <= roundCount; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const warmUpCount = Math.ceil(options.eventCount * warmUpPart)
      const measured = await runRound({ ...options, side: sides[name], seed: round, warmUpCount })
      results[name].push(measured)
      faults.push(...measured.faults.map((fault) => `round ${round}, ${name}: ${fault}`))
      const rate = Math.round(measured.eventsPerSecond)
      process.stderr.write(`round ${round} of ${roundCount}, ${name}: ${rate} events/s\n`)
    }
  }
  return { results, faults }
}

/** How many times that of the other, round by round. */
export function ratioOf(
  ones: readonly Measured[],
  others: readonly Measured[],
  of: (measured: Measured) => number | null = ({ eventsPerSecond }) => eventsPerSecond,
): Spread {
  return spreadOf(
    ones.map((one, round) => {
      const other = others[round]
      return (of(one) ?? Number.NaN) / ((other && of(other)) ?? Number.NaN)
    }),
  )
}
