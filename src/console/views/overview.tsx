import { useState } from 'preact/hooks'
import type { BlockedPartitions as Blocked } from '../../core/batch/blocked-partitions.ts'
import { COUNT_WINDOW_NAMES, COUNT_WINDOWS, type CountWindow } from '../../core/log/count-windows.ts'
import type { LogCounts } from '../../core/log/log-counts.ts'
import { Chart } from '../chart.tsx'
import { Nothing, State, staleSince, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { type Table as Counts, colourOf, DIMENSIONS, type Dimension, REST, tableOf } from '../series.ts'
import { counted, numberOf, stepName, visible } from '../text.ts'
import { useData } from '../use-data.ts'
import { go, type Visit } from '../visit.ts'

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

/** Counts of recent entries, refreshed while shown. The address holds the period and the grouping. */
export function OverviewView({ query }: Visit) {
  const window = COUNT_WINDOW_NAMES.find((name) => name === query.window) ?? '24h'
  const dimension = DIMENSIONS.find((name) => name === query.by) ?? 'status'
  const choose = (chosen: { window?: CountWindow; by?: Dimension }) =>
    go(hrefOf([], { window, by: dimension, ...chosen }))
  const [isLive, setLive] = useState(true)
  const loaded = useData<LogCounts>(['counts'], { window }, isLive ? EVERY_MS : null)
  const counts = loaded.data
  return (
    <>
      <Title name="Overview" />
      <div class="toolbar">
        <Choices
          legend="Period"
          name="window"
          of={COUNT_WINDOW_NAMES}
          words={WINDOWS}
          now={window}
          choose={(window) => choose({ window })}
        />
        <Choices
          legend="Group by"
          name="dimension"
          of={DIMENSIONS}
          words={NAMES}
          now={dimension}
          choose={(by) => choose({ by })}
        />
        <button
          type="button"
          class={loaded.problem === null ? 'live' : 'live is-stale'}
          aria-pressed={isLive}
          onClick={() => setLive(!isLive)}
        >
          <span class="dot" aria-hidden="true" />{' '}
          {loaded.problem === null ? 'Live' : (staleSince(loaded) ?? 'No data')}
        </button>
      </div>
      <State of={loaded} />
      <BlockedPartitions />
      {counts !== null && <Shown counts={counts} dimension={dimension} />}
    </>
  )
}

/** Nothing where all partitions of this replica go on. */
function BlockedPartitions() {
  const items = useData<Blocked>(['blocked'], {}, EVERY_MS).data?.items ?? []
  if (items.length === 0) return null
  return (
    <section class="card" aria-labelledby="blocked">
      <h2 id="blocked">Blocked partitions of this replica</h2>
      <Table
        label="Blocked partitions"
        columns={['Partition', ['Offset', 'number'], 'Since', 'Reason', 'What to do']}
        rows={items.map(({ topic, partition, offset, since, reason, remedy }) => ({
          key: `${topic}/${partition}`,
          cells: [`${topic}/${partition}`, offset ?? <Nothing />, <Time of={since} />, reason, remedy],
        }))}
      />
    </section>
  )
}

function Shown({ counts, dimension }: { counts: LogCounts; dimension: Dimension }) {
  const from = COUNT_WINDOW_NAMES.find((name) => COUNT_WINDOWS[name].stepS === counts.stepS)
  // In words. Taken from the data, since the period just chosen may not have been counted yet.
  const window = from === undefined ? '' : WINDOWS[from]
  const givenUp = counts.counts.reduce((sum, count) => sum + count.givenUp, 0)
  const table = tableOf(counts, dimension)
  const byStatus = tableOf(counts, 'status')
  return (
    <>
      <ul class="tiles" aria-label={`Entries in the last ${window}, by status`}>
        <Tile name="All" total={byStatus.total} href={hrefOf(['log'], { from })} />
        {byStatus.series.map(({ name, total }) => (
          <Tile key={name} name={name} total={total} href={hrefOf(['log'], { status: name, from })} />
        ))}
      </ul>
      {givenUp > 0 && (
        <p>
          Of the FAILED entries,{' '}
          <a href={hrefOf(['log'], { status: 'FAILED', notTold: 'true', from })}>
            {numberOf(givenUp)} are given up
          </a>
          {': no retry is due any more.'}
        </p>
      )}
      {!counts.complete && (
        <p class="notice">
          Only the newest {numberOf(byStatus.total)} entries are counted, from {stepName(counts.fromS, 3_600)}{' '}
          on. For longer periods, see the metrics dashboard.
        </p>
      )}
      <section class="card" aria-labelledby="chart">
        <h2 id="chart">
          Entries by {NAMES[dimension].toLowerCase()}, last {window}
        </h2>
        {table.total === 0 ? (
          <p class="faint">
            {byStatus.total === 0 ? 'No entries in this period.' : 'All entries were sent.'}
          </p>
        ) : (
          <Chart table={table} stepS={counts.stepS} dimension={dimension} />
        )}
        <Totals table={table} dimension={dimension} from={from} />
        <details>
          <summary>Show as a table</summary>
          <Steps table={table} stepS={counts.stepS} />
        </details>
      </section>
    </>
  )
}

function Tile({ name, total, href }: { name: string; total: number; href: string }) {
  return (
    <li>
      <a class="tile" style={{ '--mark': `var(--series-${name.toLowerCase()})` }} href={href}>
        <span class="tile-name">{name}</span>
        <span class="tile-total">{numberOf(total)}</span>
      </a>
    </li>
  )
}

/** The legend of the chart, with totals; each leads to its entries. */
function Totals({
  table,
  dimension,
  from,
}: {
  table: Counts
  dimension: Dimension
  from: CountWindow | undefined
}) {
  return (
    <ul class="legend">
      {table.series.map((series, i) => (
        <li key={series.name}>
          <span class="key" style={{ background: colourOf(dimension, series.name, i) }} aria-hidden="true" />
          {series.name === REST ? (
            <Value of={series.name} />
          ) : (
            <a href={hrefOf(['log'], { [dimension]: series.name, from })}>
              <Value of={series.name} />
            </a>
          )}
          <span class="faint">{counted(series.total, 'entry', 'entries')}</span>
        </li>
      ))}
    </ul>
  )
}

function Steps({ table: { startsS, series }, stepS }: { table: Counts; stepS: number }) {
  const rows = startsS
    .map((startS, i) => ({ startS, counts: series.map(({ counts }) => counts[i] ?? 0) }))
    .reverse()
  return (
    <Table
      label="Entries over time"
      columns={['From', ...series.map(({ name }) => [visible(name), 'number'] as const)]}
      rows={rows.map(({ startS, counts }) => ({
        key: startS,
        cells: [
          <span class="nowrap">{stepName(startS, stepS)}</span>,
          ...counts.map((count) => (count === 0 ? <Nothing /> : numberOf(count))),
        ],
      }))}
    />
  )
}

function Choices<Name extends string>({
  legend,
  name,
  of,
  words,
  now,
  choose,
}: {
  legend: string
  name: string
  of: readonly Name[]
  words: Readonly<Record<Name, string>>
  now: Name
  choose: (name: Name) => void
}) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {of.map((each) => (
        <label key={each}>
          <input type="radio" name={name} checked={each === now} onChange={() => choose(each)} />
          <span>{words[each]}</span>
        </label>
      ))}
    </fieldset>
  )
}
