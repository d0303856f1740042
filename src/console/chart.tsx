import { useState } from 'preact/hooks'
import { colourOf, type Dimension, labelOf, type Table } from './series.ts'
import { counted, markName, numberOf, stepName } from './text.ts'

export interface ChartProps {
  readonly table: Table
  readonly stepS: number
  readonly dimension: Dimension
}

/** Entries over time as stacked bars, with the counts under the pointer below. A table shows the same numbers. */
export function Chart({ table, stepS, dimension }: ChartProps) {
  const { startsS, series } = table
  const [at, setAt] = useState<number | null>(null)
  const sums = startsS.map((_, i) => series.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0))
  const levels = levelsFor(Math.max(...sums))
  const percentOf = (count: number) => `${(100 * count) / (levels.at(-1) ?? 1)}%`
  const totals = series.map(({ name, total }) => `${numberOf(total)} ${labelOf(dimension, name)}`)
  const point = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect()
    setAt(Math.floor(((clientX - left) / width) * startsS.length))
  }
  return (
    <>
      <div
        class="chart"
        role="img"
        aria-label={`Bar chart over time, ${counted(startsS.length, 'interval', 'intervals')}: ${totals.join(', ')}`}
        onPointerMove={point}
        onPointerLeave={() => setAt(null)}
      >
        {levels.map((level) => (
          <span key={level} class="level" style={{ bottom: percentOf(level) }}>
            {numberOf(level)}
          </span>
        ))}
        {startsS.map((startS, i) => (
          <div key={startS} class={i === at ? 'bar is-pointed-at' : 'bar'}>
            {series.map(({ name, counts }, index) => (
              <div
                key={name}
                style={{ height: percentOf(counts[i] ?? 0), background: colourOf(dimension, name, index) }}
              />
            ))}
          </div>
        ))}
        {marksOf(startsS).map(({ index, name }) => (
          <span key={index} class="mark" style={{ left: `${(100 * index) / startsS.length}%` }}>
            {name}
          </span>
        ))}
      </div>
      <p class="readout" aria-hidden="true">
        {at === null ? 'Hover over a bar to see its counts.' : readout(table, stepS, dimension, at)}
      </p>
    </>
  )
}

function readout({ startsS, series }: Table, stepS: number, dimension: Dimension, at: number): string {
  const startS = startsS[at] ?? 0
  const counts = series
    .filter(({ counts }) => counts[at])
    .map(({ name, counts }) => `${labelOf(dimension, name)} ${numberOf(counts[at] ?? 0)}`)
  const span = `${stepName(startS, stepS)} – ${stepName(startS + stepS, stepS)}`
  return `${span}:  ${counts.length === 0 ? 'none' : counts.join(', ')}`
}

const LEVEL_COUNT_MAX = 4

/** Round numbers from 0 to at least `max`. */
function levelsFor(max: number): number[] {
  const digits = 10 ** Math.floor(Math.log10(Math.max(max, 1)))
  const apart = [0.1, 0.2, 0.5, 1, 2, 5]
    .map((factor) => Math.max(1, factor * digits))
    .find((each) => max / each <= LEVEL_COUNT_MAX)
  const step = apart ?? digits
  return Array.from({ length: Math.ceil(Math.max(max, 1) / step) + 1 }, (_, i) => i * step)
}

/** Distances between labels on the time axis, in seconds. */
const APART_S = [60, 300, 900, 3_600, 14_400, 86_400, 432_000]
const MARK_COUNT_MAX = 7

/** Labels for the first step of each minute, hour, day or so, except where there is no room beside it. */
function marksOf(startsS: readonly number[]): { readonly index: number; readonly name: string }[] {
  const lengthS = (startsS.at(-1) ?? 0) - (startsS[0] ?? 0)
  const apartS = APART_S.find((each) => lengthS / each <= MARK_COUNT_MAX) ?? lengthS
  const turnOf = (startS = 0) =>
    Math.floor((startS - new Date(startS * 1_000).getTimezoneOffset() * 60) / apartS)
  return startsS.flatMap((startS, index) =>
    index > 0 && index < 0.85 * startsS.length && turnOf(startS) !== turnOf(startsS[index - 1])
      ? [{ index, name: markName(startS, apartS) }]
      : [],
  )
}
