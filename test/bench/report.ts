import { CPU_OF, type Measured } from './round.ts'

/** The result of one benchmark, as `--json` prints it. */
export interface Report {
  readonly settings: { readonly roundCount: number; readonly eventCount: number }
  /** By the side's name, one element per round. */
  readonly sides: Readonly<Record<string, readonly Measured[]>>
  /** CPU of an idle side by its name, as a share of one core; null if unknown. */
  readonly idle: Readonly<Record<string, number | null>>
  /** Our events/s divided by those of the floor. */
  readonly ratio: Spread
  readonly faults: readonly string[]
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Of the measured values; all NaN without any. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const median = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2
  return { median, min: at(0), max: at(sorted.length - 1) }
}

/** The first values divided by the second, round by round. */
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

/** A table of medians, with minimum and maximum of all rounds in brackets. */
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

/** The median and, if they differ, minimum and maximum of the known values. */
export function cellOf(values: readonly (number | null)[], digits: number): string {
  return format(spreadOf(values.filter((value) => value !== null)), digits)
}

/** `0.93 (0.87–1.15)`: median and, if they differ, minimum and maximum; a dash without values. */
export function format({ median, min, max }: Spread, digits: number): string {
  if (Number.isNaN(median)) return '–'
  const text = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return min === max ? text(median) : `${text(median)} (${text(min)}–${text(max)})`
}

/** Lines with aligned columns. */
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
