import { useEffect, useRef, useState } from 'preact/hooks'
import UPlot from 'uplot'
import { colourOf, type Dimension, type Table } from './series.ts'
import { counted, markName, numberOf, stepName, visible } from './text.ts'

const HEIGHT_PX = 260

/** Entries over time as stacked bars, with the counts under the pointer below. A table shows the same numbers. */
export function Chart({ table, stepS, dimension }: { table: Table; stepS: number; dimension: Dimension }) {
  const container = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | null>(null)
  const scheme = useColorScheme()

  useEffect(() => {
    const box = container.current
    if (box === null) return
    const plot = new UPlot(optionsOf(table, stepS, dimension, box, setAt), stacked(table), box)
    const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT_PX }))
    resized.observe(box)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [table, stepS, dimension, scheme])

  const names = table.series.map(({ name, total }) => `${numberOf(total)} ${visible(name)}`)
  return (
    <>
      <div
        ref={container}
        class="chart"
        role="img"
        aria-label={`Bar chart over time, ${counted(table.startsS.length, 'interval', 'intervals')}: ${names.join(', ')}`}
      />
      <p class="readout" aria-hidden="true">
        {at === null ? 'Hover over a bar to see its counts.' : readout(table, stepS, at)}
      </p>
    </>
  )
}

function readout({ startsS, series }: Table, stepS: number, at: number): string {
  const startS = startsS[at] ?? 0
  const counts = series
    .filter(({ counts }) => counts[at])
    .map(({ name, counts }) => `${visible(name)} ${numberOf(counts[at] ?? 0)}`)
  const span = `${stepName(startS, stepS)} – ${stepName(startS + stepS, stepS)}`
  return `${span}:  ${counts.length === 0 ? 'none' : counts.join(', ')}`
}

/**
 * Stacks each series on those before it. The topmost comes first: it is drawn first, and the others cover it. Empty
 * bars are not drawn: they would show through at the edges of the bars that cover them.
 */
function stacked({ startsS, series }: Table): UPlot.AlignedData {
  const sums = startsS.map(() => 0)
  const levels = series.map(({ counts }) =>
    counts.map((count, i) => {
      const level = (sums[i] ?? 0) + count
      sums[i] = level
      return count === 0 ? null : level
    }),
  )
  return [[...startsS], ...levels.reverse()]
}

function optionsOf(
  { series }: Table,
  stepS: number,
  dimension: Dimension,
  box: HTMLElement,
  point: (at: number | null) => void,
): UPlot.Options {
  const style = getComputedStyle(box)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: colour('faint'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1, size: 4 },
    font: `12px ${style.fontFamily}`,
  }
  const bars = UPlot.paths.bars?.({ size: [0.9, 40], align: 1 })
  const drawn = series.map(({ name }, i) => {
    const fill = colour(colourOf(dimension, name, i))
    return {
      label: name,
      fill,
      stroke: fill,
      width: 0,
      ...(bars && { paths: bars }),
      points: { show: false },
    }
  })
  return {
    width: box.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { range: (_, min, max) => [min, max + stepS] },
      y: { range: (_, __, max) => [0, Math.max(max * 1.08, 1)] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        values: (_, ticks, __, ___, incrS) => ticks.map((tickS) => markName(tickS, incrS)),
      },
      { ...axis, size: 56, incrs: WHOLE, values: (_, ticks) => ticks.map(numberOf) },
    ],
    series: [{}, ...drawn.reverse()],
    hooks: { setCursor: [(plot) => point(stepUnder(plot, stepS))] },
  }
}

/** The index of the step under the pointer; null if there is none. */
function stepUnder(
  { cursor: { left = -1 }, data: [startsS], posToVal }: UPlot,
  stepS: number,
): number | null {
  const at = Math.floor((posToVal(left, 'x') - (startsS[0] ?? 0)) / stepS)
  return left < 0 || at < 0 || at >= startsS.length ? null : at
}

/** Counts are whole numbers. */
const WHOLE = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 8 }, (_, i) => digit * 10 ** i))
  .sort((a, b) => a - b)

function useColorScheme(): boolean {
  const [query] = useState(() => matchMedia('(prefers-color-scheme: dark)'))
  const [isDark, setDark] = useState(query.matches)
  useEffect(() => {
    const follow = () => setDark(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [query])
  return isDark
}
