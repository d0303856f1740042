import { hrefOf } from './route.ts'
import { colourOf, type Dimension, labelOf, type Table } from './series.ts'
import { numberOf, stepName } from './text.ts'

export interface ChartProps {
  readonly table: Table
  readonly stepS: number
  readonly dimension: Dimension
}

/**
 * Entries over time as stacked bars. Each bar's tooltip has its counts, and it links to its entries. Screen readers get the
 * table.
 */
export function Chart({ table, stepS, dimension }: ChartProps) {
  const { startsS, series } = table
  const sums = startsS.map((_, i) => series.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0))
  const most = Math.max(2, ...sums)
  const top = most + (most % 2)
  const percentOf = (count: number) => `${(100 * count) / top}%`
  const iso = (atS: number) => new Date(atS * 1_000).toISOString()
  return (
    <div class="chart" aria-hidden="true">
      {[0, top / 2, top].map((level) => (
        <span key={level} class="level" style={{ bottom: percentOf(level) }}>
          {numberOf(level)}
        </span>
      ))}
      {startsS.map((startS, i) => (
        <a
          key={startS}
          class="bar"
          tabIndex={-1}
          href={hrefOf(['log'], { from: iso(startS), to: iso(startS + stepS) })}
          title={[
            `${stepName(startS, stepS)} – ${stepName(startS + stepS, stepS)}`,
            ...series
              .filter(({ counts }) => counts[i])
              .map(({ name, counts }) => `${labelOf(dimension, name)} ${numberOf(counts[i] ?? 0)}`),
          ].join('\n')}
        >
          {series.map(({ name, counts }, index) => (
            <div
              key={name}
              style={{ height: percentOf(counts[i] ?? 0), background: colourOf(dimension, name, index) }}
            />
          ))}
        </a>
      ))}
      {MARKS.map((part) => (
        <span key={part} class="mark" style={{ left: `${100 * part}%` }}>
          {stepName(startsS[Math.floor(part * startsS.length)] ?? 0, stepS)}
        </span>
      ))}
    </div>
  )
}

/** Positions of labels on the time axis, from its start (0) to its end (1). */
const MARKS = [0, 0.25, 0.5, 0.75]
