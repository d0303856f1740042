import { COUNT_WINDOW_NAMES, COUNT_WINDOWS } from '../../../service/model/log/count-windows.ts'
import type { LogCounts } from '../../../service/model/log/log-counts.ts'
import type { ServiceStatus } from '../../../service/model/service-status.ts'
import { Ask, useRefusal } from '../ask.tsx'
import { WINDOWS } from '../list.tsx'
import { Card, Links, State, Title } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { buildTable, chooseColour, nameOfStatus, type Table } from '../series.ts'
import { showBlockedList } from '../status.tsx'
import { describePeriod, formatNumber, stepName } from '../text.ts'
import { useData } from '../use-data.ts'

const EVERY_MS = 10_000

/** Counts of recent entries, refreshed while shown. The address contains the period. */
export function OverviewView({ query }: Route) {
  const window = COUNT_WINDOW_NAMES.find((name) => name === query.window) ?? '24h'
  const loaded = useData<LogCounts>(['counts'], { window }, EVERY_MS)
  const status = useData<ServiceStatus>(['status'], {}, EVERY_MS).data
  return (
    <>
      <Title name="Overview" />
      <div class="hstack">
        <Links
          label="Period"
          links={COUNT_WINDOW_NAMES.map((name) => ({
            name: WINDOWS[name],
            href: buildHref([], { window: name }),
            isCurrent: name === window,
          }))}
        />
        <Hold topics={status?.topics} />
      </div>
      <Open status={status} />
      <State loaded={loaded} />
      {loaded.data !== null && <Counts counts={loaded.data} />}
    </>
  )
}

/** The consequences of a hold. `about` is empty for all messages. */
const describeHold = (about: string) =>
  `No message${about} is sent or retried until the hold ends, not even after a restart. Batches in progress finish first. Events wait in the broker: nothing is skipped or failed. The log, opt-outs and this console go on.`

/** Stops all messages, or those of a topic. */
function Hold({ topics = [] }: Pick<ServiceStatus, 'topics'>) {
  if (useRefusal() !== null) return null
  const narrow = {
    label: 'About events of',
    all: 'all topics',
    options: topics.map((topic) => [topic, `${topic} only`] as const),
    build: (topic: string) => ({
      wanted: { kind: 'hold', topics: [topic] },
      verb: `Hold messages about ${topic}`,
      warning: describeHold(` about events of ${topic}`),
    }),
  }
  return (
    <Ask
      verb="Hold all messages"
      what="send nothing, lose nothing"
      wanted={{ kind: 'hold' }}
      narrow={narrow}
      warning={describeHold('')}
      isDestructive
    />
  )
}

/** Items that wait for a person, whatever the period; empty if there are none. */
function Open({ status }: { status: ServiceStatus | null }) {
  const { totals, blocked = [] } = status ?? {}
  const figures = [
    { name: 'Unreadable messages', total: totals?.rejected ?? 0, mark: 'var(--danger)', href: '#/rejected' },
    {
      name: 'Blocked partitions',
      total: blocked.length,
      mark: 'var(--danger)',
      href: '#/',
      onClick: showBlockedList,
    },
    {
      name: 'Given up',
      total: totals?.givenUp ?? 0,
      mark: 'var(--failed)',
      href: buildHref(['log'], { status: 'FAILED', notTold: 'true' }),
    },
  ].filter(({ total }) => total > 0)
  return figures.length === 0 ? null : <Figures figures={figures} />
}

/** From seconds since 1970. */
const iso = (atS: number) => new Date(atS * 1_000).toISOString()

function Counts({ counts }: { counts: LogCounts }) {
  const { stepS } = counts
  const from = COUNT_WINDOW_NAMES.find((name) => COUNT_WINDOWS[name].stepS === stepS)
  // Taken from the data, since the newly chosen period may not have been counted yet.
  const last = from === undefined ? '' : `, ${WINDOWS[from].toLowerCase()}`
  const givenUp = counts.counts.reduce((sum, count) => sum + count.givenUp, 0)
  const table = buildTable(counts)
  const { total, series } = table
  const totalFigure = { name: 'All', total, mark: 'var(--primary)', href: buildHref(['log'], { from }) }
  const figures = series.map(({ status, total }) => ({
    name: nameOfStatus(status),
    total,
    mark: chooseColour(status),
    href: buildHref(['log'], { status, from }),
  }))
  return (
    <>
      <Figures figures={[totalFigure, ...figures]} />
      {givenUp > 0 && (
        <p>
          Of the failed entries,{' '}
          <a href={buildHref(['log'], { status: 'FAILED', notTold: 'true', from })}>
            {formatNumber(givenUp)} are given up
          </a>
          {': no retry is due any more.'}
        </p>
      )}
      {!counts.complete && (
        <p class="notice">
          Only the newest {formatNumber(total)} entries are counted, from {stepName(counts.fromS, 3_600)} on.
          For longer periods, see the metrics dashboard.
        </p>
      )}
      <Card
        id="chart"
        title={`Entries by status${last}`}
        about={`${describePeriod(iso(counts.fromS), iso(counts.toS))}; heights by square root, so that a burst leaves the rest readable`}
      >
        {total > 0 ? <Chart table={table} stepS={stepS} /> : <p>No entries in this period.</p>}
      </Card>
    </>
  )
}

interface Figure {
  readonly name: string
  readonly total: number
  /** The colour of its bars. */
  readonly mark: string
  readonly href: string | undefined
  readonly onClick?: () => void
}

/** Totals, each with a link to its entries; also the legend of the chart. */
function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <ul class="tiles unstyled">
      {figures.map(({ name, total, mark, href, onClick }) => (
        <li key={name}>
          <a class="card tile unstyled" style={{ '--mark': mark }} href={href} onClick={onClick}>
            <bdi>{name}</bdi> <strong>{formatNumber(total)}</strong>
          </a>
        </li>
      ))}
    </ul>
  )
}

interface ChartProps {
  readonly table: Table
  readonly stepS: number
}

/** The next round, even number; its half is also shown. */
function roundUp(count: number): number {
  const unit = 10 ** Math.floor(Math.log10(count))
  const steps = [1, 2, 4, 6, 8, 10].map((step) => step * unit)
  return steps.find((step) => step >= count && step % 2 === 0) ?? 10 * unit
}

/** Positions of labels on the time axis, from its start (0) to its end (1). */
const MARKS = [0, 0.25, 0.5, 0.75]

/** Entries over time as stacked bars, each of which links to its entries. The tooltip of a bar is also its name. */
function Chart({ table: { startsS, series }, stepS }: ChartProps) {
  const sums = startsS.map((_, i) => series.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0))
  const top = roundUp(Math.max(2, ...sums))
  // By square roots: one burst leaves the other bars readable. The parts of a bar share its height.
  const toPercent = (sum: number, part = sum) =>
    `${sum === 0 ? 0 : (100 * Math.sqrt(sum / top) * part) / sum}%`
  return (
    <div class="chart">
      {[0, top / 2, top].map((level) => (
        <span key={level} class="level" aria-hidden="true" style={{ bottom: toPercent(level) }}>
          {formatNumber(level)}
        </span>
      ))}
      {startsS.map((startS, i) => {
        const parts = series.flatMap(({ status, counts }) => {
          const count = counts[i] ?? 0
          return count === 0 ? [] : [{ status, count }]
        })
        const period = `${stepName(startS, stepS)} – ${stepName(startS + stepS, stepS)}`
        return (
          <a
            key={startS}
            class="bar"
            href={sums[i] ? buildHref(['log'], { from: iso(startS), to: iso(startS + stepS) }) : undefined}
            title={[
              period,
              ...parts.map(({ status, count }) => `${nameOfStatus(status)} ${formatNumber(count)}`),
            ].join('\n')}
          >
            {parts.map(({ status, count }) => (
              <div
                key={status}
                style={{ height: toPercent(sums[i] ?? count, count), background: chooseColour(status) }}
              />
            ))}
          </a>
        )
      })}
      {MARKS.map((part) => (
        <span key={part} class="mark" aria-hidden="true" style={{ left: `${100 * part}%` }}>
          {stepName(startsS[Math.floor(part * startsS.length)] ?? 0, stepS)}
        </span>
      ))}
    </div>
  )
}
