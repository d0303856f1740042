import { CPU_OF, type Measured } from './round.ts'

/** What one benchmark found, as `--json` prints it. */
export interface Report {
  readonly settings: { readonly roundCount: number; readonly eventCount: number }
  /** By the side's name, one element a round. */
  readonly sides: Readonly<Record<string, readonly Measured[]>>
  /** CPU by the side's name with nothing to do, as parts of one core; null where it cannot be known. */
  readonly idle: Readonly<Record<string, number | null>>
  /** How many times the floor's events/s ours are. */
  readonly ratio: Spread
  readonly faults: readonly string[]
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Of the values that could be measured; all NaN where none could. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const median = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2
  return { median, min: at(0), max: at(sorted.length - 1) }
}

/** How many times the others the first ones are, round by round. */
export function ratioOf(some: readonly number[], others: readonly number[]): Spread {
  return spreadOf(some.map((value, round) => value / (others[round] ?? Number.NaN)))
}

export const rateOfEach = (rounds: readonly Pick<Measured, 'eventsPerSecond'>[]) =>
  rounds.map(({ eventsPerSecond }) => eventsPerSecond)

const CPU_WORDS = {
  process: 'the process',
  postgres: 'PostgreSQL',
  contacts: 'policy administration',
  else: 'broker and all else',
}

/** One table for people: medians, and in brackets the least and the most of any round. */
export function describe({ settings, sides, idle, ratio, faults }: Report): string {
  const names = Object.keys(sides)
  const row = (title: string, digits: number, of: (measured: Measured) => number | null) => [
    title,
    ...names.map((name) => cellOf((sides[name] ?? []).map(of), digits)),
  ]
  const table = [
    ['', ...names],
    row('events/s', 0, ({ eventsPerSecond }) => eventsPerSecond),
    ...CPU_OF.map((of) => row(`CPU µs/event, ${CPU_WORDS[of]}`, 0, ({ cpu }) => cpu[of])),
    row('look-ups/event', 3, ({ lookUpsPerEvent }) => lookUpsPerEvent),
    row('peak memory, MB', 0, ({ peakMemoryMb }) => peakMemoryMb),
    ['idle, % of a core', ...names.map((name) => cellOf([percentOf(idle[name])], 2))],
  ]
  return [
    `rounds: ${settings.roundCount}; events a round: ${settings.eventCount.toLocaleString('en')}; medians (least–most)`,
    '',
    ...tableOf(table),
    '',
    `ours : floor = ${format(ratio, 2)}`,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n')
}

function percentOf(part: number | null | undefined): number | null {
  return part == null ? null : part * 100
}

/** The median and, where they differ, the least and the most of what is known. */
export function cellOf(values: readonly (number | null)[], digits: number): string {
  return format(spreadOf(values.filter((value) => value !== null)), digits)
}

/** `0.93 (0.87–1.15)`: the median and, where they differ, the least and the most; a dash where nothing is known. */
export function format({ median, min, max }: Spread, digits: number): string {
  if (Number.isNaN(median)) return '–'
  const text = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return min === max ? text(median) : `${text(median)} (${text(min)}–${text(max)})`
}

/** Lines whose columns stand below each other. */
export function tableOf(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table.map((row) =>
    row
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart((widths[column] ?? 0) + 3),
      )
      .join('')
      .trimEnd(),
  )
}
