import { COUNT_WINDOW_NAMES, COUNT_WINDOWS, type CountWindow } from '../../core/log/count-windows.ts'
import type { LogCounts } from '../../core/log/log-counts.ts'
import { Chart, type ChartProps } from '../chart.tsx'
import { Table } from '../list.tsx'
import { Links, State, Title } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { colourOf, DIMENSIONS, type Dimension, labelOf, nameOfStatus, REST, tableOf } from '../series.ts'
import { counted, numberOf, stepName } from '../text.ts'
import { useData } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const EVERY_MS = 10_000

const WINDOWS: Readonly<Record<CountWindow, string>> = {
  '15m': '15 minutes',
  '1h': '1 hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
}
const NAMES: Readonly<Record<Dimension, string>> = {
  status: 'Status',
  reason: 'Reason',
  eventType: 'Event type',
}

/** Counts of recent entries, refreshed while shown. The address contains the period and the grouping. */
export function OverviewView({ query }: Visit) {
  const window = COUNT_WINDOW_NAMES.find((name) => name === query.window) ?? '24h'
  const by = DIMENSIONS.find((name) => name === query.by) ?? 'status'
  const link = (name: string, chosen: Visit['query'], isCurrent: boolean) => ({
    name,
    href: hrefOf([], { window, by, ...chosen }),
    isCurrent,
  })
  const loaded = useData<LogCounts>(['counts'], { window }, EVERY_MS)
  return (
    <>
      <Title name="Overview" />
      <div class="toolbar">
        <Links
          label="Period"
          of={COUNT_WINDOW_NAMES.map((name) => link(WINDOWS[name], { window: name }, name === window))}
        />
        <Links label="Group by" of={DIMENSIONS.map((name) => link(NAMES[name], { by: name }, name === by))} />
      </div>
      <State of={loaded} />
      {loaded.data !== null && <Shown counts={loaded.data} dimension={by} />}
    </>
  )
}

function Shown({ counts, dimension }: { counts: LogCounts; dimension: Dimension }) {
  const from = COUNT_WINDOW_NAMES.find((name) => COUNT_WINDOWS[name].stepS === counts.stepS)
  // From the data, since the period just chosen may not have been counted yet.
  const window = from === undefined ? '' : WINDOWS[from]
  const givenUp = counts.counts.reduce((sum, count) => sum + count.givenUp, 0)
  const table = tableOf(counts, dimension)
  const { total, series } = tableOf(counts, 'status')
  return (
    <>
      <ul class="tiles" aria-label={`Entries in the last ${window}, by status`}>
        {[{ name: 'All', total }, ...series].map(({ name, total }) => (
          <li key={name}>
            <a
              class="card tile"
              style={{ '--mark': name === 'All' ? 'var(--primary)' : `var(--${name.toLowerCase()})` }}
              href={hrefOf(['log'], { status: name === 'All' ? '' : name, from })}
            >
              {nameOfStatus(name)} <strong>{numberOf(total)}</strong>
            </a>
          </li>
        ))}
      </ul>
      {givenUp > 0 && (
        <p>
          Of the failed entries,{' '}
          <a href={hrefOf(['log'], { status: 'FAILED', notTold: 'true', from })}>
            {numberOf(givenUp)} are given up
          </a>
          {': no retry is due any more.'}
        </p>
      )}
      {!counts.complete && (
        <p class="notice">
          Only the newest {numberOf(total)} entries are counted, from {stepName(counts.fromS, 3_600)} on. For
          longer periods, see the metrics dashboard.
        </p>
      )}
      <section class="card" aria-labelledby="chart">
        <h2 id="chart">
          Entries by {NAMES[dimension].toLowerCase()}, last {window}
        </h2>
        {table.total === 0 ? (
          <p class="faint">
            {total === 0 ? 'No entries in this period.' : 'All entries were sent or recorded.'}
          </p>
        ) : (
          <Chart table={table} stepS={counts.stepS} dimension={dimension} />
        )}
        <Totals table={table} dimension={dimension} from={from} />
        <Steps table={table} stepS={counts.stepS} dimension={dimension} />
      </section>
    </>
  )
}

/** The legend of the chart, with totals; each links to its entries. */
function Totals({ table, dimension, from }: Omit<ChartProps, 'stepS'> & { from: CountWindow | undefined }) {
  return (
    <ul class="legend">
      {table.series.map(({ name, total }, index) => (
        <li key={name} style={{ '--mark': colourOf(dimension, name, index) }}>
          {name === REST ? (
            name
          ) : (
            <a href={hrefOf(['log'], { [dimension]: name, from })}>
              <bdi>{labelOf(dimension, name)}</bdi>
            </a>
          )}{' '}
          <span class="faint">{counted(total, 'entry', 'entries')}</span>
        </li>
      ))}
    </ul>
  )
}

/** The numbers of the chart, the newest first. */
function Steps({ table: { startsS, series }, stepS, dimension }: ChartProps) {
  return (
    <details>
      <summary>Show as a table</summary>
      <Table
        label="Entries over time"
        columns={['From', ...series.map(({ name }) => [labelOf(dimension, name), 'number'] as const)]}
        rows={startsS
          .map((startS, i) => ({
            key: startS,
            cells: {
              ...Object.fromEntries(
                series.map(({ name, counts }) => [labelOf(dimension, name), numberOf(counts[i] ?? 0)]),
              ),
              From: stepName(startS, stepS),
            },
          }))
          .reverse()}
      />
    </details>
  )
}
