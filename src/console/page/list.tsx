import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { COUNT_WINDOW_NAMES, COUNT_WINDOWS, type CountWindow } from '../../service/model/log/count-windows.ts'
import type { Page } from '../../service/model/log/log-page.ts'
import { type Named, useOffers } from './offers.tsx'
import {
  Choice,
  Field,
  filledIn,
  go,
  Links,
  NOT_LOADED,
  Nothing,
  type Option,
  Problem,
  Time,
  Title,
} from './parts.tsx'
import { buildHref, type Query, type Route } from './route.ts'
import { ago, counted, describePeriod, exactTime, toFormTime, toInstant, visible } from './text.ts'
import type { Loaded } from './use-data.ts'

/** Long text is cut, and shown whole on hover. Other content has its own title. */
export type Cell =
  | string
  | number
  | null
  | VNode
  | { readonly title: string; readonly show: ComponentChildren }

/** A row of a table: its cells by column, in the same order in all rows. The whole row links to `href`. */
export interface Row {
  readonly key: string | number
  readonly href?: string
  readonly cells: Readonly<Record<string, Cell>>
}

/** Columns of a fixed width; the others share the rest. */
const CLASSES: Readonly<Record<string, string>> = {
  Time: 'short',
  Status: 'short',
  Channel: 'short',
  ID: 'short mono',
  Member: 'middle mono',
  About: 'middle mono',
  Rule: 'middle mono',
  'Event type': 'middle',
}

/** A table; in a narrow window, a card for each row. */
export function Table({ label, rows }: { label: string; rows: readonly Row[] }) {
  return (
    <section class="card table" aria-label={label}>
      <table>
        <thead>
          <tr>
            {Object.keys(rows[0]?.cells ?? {}).map((name) => (
              <th key={name} scope="col" class={CLASSES[name]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, href, cells }) => (
            <tr key={key}>
              {Object.entries(cells).map(([name, cell], index) => {
                const { title, show } = renderCell(cell)
                return (
                  <td key={name} class={CLASSES[name]} data-column={name} title={title}>
                    <div>{index === 0 && href ? <a href={href}>{show}</a> : show}</div>
                    {/* biome-ignore lint/a11y/useAnchorContent: for the pointer only; the row has a real link in its first cell */}
                    {index > 0 && href && <a class="open" href={href} tabIndex={-1} aria-hidden="true" />}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function renderCell(cell: Cell): { readonly title?: string; readonly show: ComponentChildren } {
  if (cell === null || cell === '') return { show: <Nothing /> }
  if (typeof cell === 'object' && 'show' in cell) return cell
  if (typeof cell !== 'string') return { show: cell }
  const text = visible(cell)
  return { title: text, show: <Clamped text={text} /> }
}

/** Text that is cut after a few lines, or after two in a row that is a link, unless it has the keyboard focus. */
export function Clamped({ text }: { text: string }) {
  return (
    <span class="clamp">
      <bdi>
        {text
          .split(REFERENCE)
          .map((part, index) => (index % 2 === 1 ? <span class="whole">{part}</span> : part))}
      </bdi>
    </span>
  )
}

/** A short reference such as `CLM-2026-00056`, which must not break at its hyphens. */
const REFERENCE = /\b([A-Z]{2,8}(?:-[A-Z0-9]{1,12}){1,3})\b/

/** A relative or other short time, with the exact time in the title. */
export function timeCell(iso: string | null, words = ago): Cell {
  return iso === null ? null : { title: exactTime(iso), show: <Time iso={iso} words={words} /> }
}

/** A field of a list's search form; its name is that of the query parameter. */
export interface Filter {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly options?: readonly Option[]
  readonly isTime?: true
  /** Set by links alone; the form has no field for it. */
  readonly isLinked?: true
  /** The kind of names to offer as values. */
  readonly named?: NonNullable<Named>
}

interface ListProps<Item> {
  readonly label: string
  /** The address of the list. */
  readonly route: Route
  readonly filters: readonly Filter[]
  readonly pages: Loaded<Page<Item>>
  readonly renderRow: (item: Item) => Row
  readonly noun: readonly [one: string, many: string]
  /** Counts the items in words, if `noun` does not fit all. */
  readonly count?: (items: readonly Item[]) => string
  /** Further parameters of the next page's address. */
  readonly following?: Query
}

/** A searchable list in pages. The address contains the page, so that Back returns to it. */
export function List<Item>(props: ListProps<Item>) {
  const { label, route, filters, pages, renderRow, noun, following } = props
  const { count = ({ length }) => counted(length, ...noun) } = props
  const { data, problem, retry } = pages
  const { items, nextCursor } = data ?? { items: [], nextCursor: null }
  const values = pickValues(filters, route.query)
  const active = activeFilters(filters, values)
  const hasRows = items.length > 0
  useLayoutEffect(() => {
    if (!hasRows || Title.scrollYWanted === null) return
    scrollTo(0, Title.scrollYWanted)
    Title.scrollYWanted = null
  }, [hasRows])
  const known = ['cursor', ...filters.map(({ name }) => name), ...Object.keys(following ?? {})]
  const unknown = Object.keys(route.query).filter((name) => !known.includes(name))
  const isPart = route.query.cursor !== undefined || nextCursor !== null
  const found = items.length > 0 ? count(items) : describeEmpty(noun[1], active, isPart)
  return (
    <>
      {filters.length > 0 && <Filters filters={filters} route={route} />}
      {unknown.length > 0 && (
        <p class="notice">The address has filters that do not exist here: {visible(unknown.join(', '))}.</p>
      )}
      <Problem
        problem={problem}
        title={items.length === 0 ? NOT_LOADED : 'Could not load all.'}
        retry={retry}
      />
      {items.length > 0 && <Table label={label} rows={items.map((item) => renderRow(item))} />}
      <div class="hstack">
        <span role="status">
          {problem === null && (data === null ? 'Loading…' : `${found}${isPart ? ' on this page' : ''}`)}
        </span>
        {route.query.cursor && <a href={buildHref(route.path, values)}>First page</a>}
        {nextCursor !== null && (
          <a href={buildHref(route.path, { ...values, ...following, cursor: nextCursor })}>Next page</a>
        )}
      </div>
      {data !== null && items.length === 0 && !isPart && <NearestSteps filters={filters} route={route} />}
    </>
  )
}

/** The values of the filters in the query of an address. */
export function pickValues(filters: readonly Filter[], query: Query): Query {
  return Object.fromEntries(filters.map(({ name }) => [name, query[name]]))
}

/** Explains why a list is empty. */
function describeEmpty(many: string, active: ReturnType<typeof activeFilters>, isPart: boolean): string {
  if (active.length === 0) return `There are no ${many} yet.`
  const filters = active.map(({ label, words }) => `${label}: ${words}`).join('; ')
  return isPart ? `Nothing found so far for ${filters}` : `No ${many} match ${filters}.`
}

/** Suggestions for filters that match nothing. */
function NearestSteps({ filters, route: { path, query } }: Pick<ListProps<never>, 'filters' | 'route'>) {
  const values = pickValues(filters, query)
  const names = filters.flatMap(({ name, named }) => (named && values[name]) || [])
  return (
    <>
      {names.map((name) => (
        <SearchFor key={name} name={name} />
      ))}
      {(values.from || values.to) && (
        <p>
          <a href={buildHref(path, { ...values, ...ALL_TIMES })}>All times</a>
        </p>
      )}
    </>
  )
}

/** Similar names from the search. */
export function SearchFor({ name }: { name: string }) {
  return (
    <p>
      <a href={buildHref(['search'], { q: name })}>Search for {visible(name)}</a>
    </p>
  )
}

const ALL_TIMES = { from: undefined, to: undefined }

/** The filters with a value, each with its words and the values without it. Both ends of a period are one filter. */
function activeFilters(filters: readonly Filter[], values: Query) {
  const active = filters.flatMap(({ name, label, options = [], isTime }) => {
    const value = values[name]
    if (!value || isTime) return []
    const option = options.find(([choice]) => choice === value)
    return [{ label, words: visible(option?.[1] ?? value), without: { ...values, [name]: undefined } }]
  })
  const { from, to } = values
  if (!from && !to) return active
  const name = listPeriods().find((period) => period.from === from && period.to === to)?.name
  const dates = describePeriod(from && windowStart(from), to && windowStart(to))
  const words = name === undefined ? dates : `${name} (${dates})`
  return [...active, { label: 'Time', words, without: { ...values, ...ALL_TIMES } }]
}

/** Periods up to now, in the words of every view. */
export const WINDOWS: Readonly<Record<CountWindow, string>> = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
}

/** The start of a period of the overview. Other times are returned unchanged. */
export function windowStart(time: string): string {
  const window = COUNT_WINDOW_NAMES.find((name) => name === time)
  return window === undefined
    ? time
    : new Date(Date.now() - COUNT_WINDOWS[window].lengthS * 1_000).toISOString()
}

function daysAgo(count: number): string {
  const day = new Date()
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() - count)
  return day.toISOString()
}

/** Named periods: days in the viewer's time zone, and those up to now. */
function listPeriods(): readonly { name: string; from: string; to?: string }[] {
  return [
    { name: 'Today', from: daysAgo(0) },
    { name: 'Yesterday', from: daysAgo(1), to: daysAgo(0) },
    ...COUNT_WINDOW_NAMES.map((from) => ({ name: WINDOWS[from], from })),
  ]
}

interface OfferedProps {
  readonly named: NonNullable<Named>
  readonly label: string
  readonly name: string
  readonly defaultValue: string
  readonly placeholder: string | undefined
  readonly maxLength: number
}

/** A field that offers names while one types. */
function Offered({ named, ...field }: OfferedProps) {
  const { attributes, offers } = useOffers(named)
  return (
    <>
      <Field {...field} {...attributes} />
      {offers}
    </>
  )
}

interface FilterFormProps {
  readonly filters: readonly Filter[]
  readonly path: Route['path']
  readonly values: Query
}

/** Fields for some of the filters; the others keep their values. It closes when it is sent. */
function FilterForm({ filters, path, values }: FilterFormProps) {
  const search = (event: SubmitEvent) => {
    const filled = filledIn(event)
    for (const { name, isTime } of filters) if (isTime) filled[name] = toInstant(filled[name] ?? '')
    const details = (event.currentTarget as HTMLFormElement).closest('details')
    details?.removeAttribute('open')
    details?.querySelector('summary')?.focus()
    go(buildHref(path, { ...values, ...filled }))
  }
  return (
    <form class="fields" onSubmit={search}>
      {filters.map(({ name, label, hint, options, isTime, named }) => {
        const value = values[name] ?? ''
        const shared = { label, name }
        if (options !== undefined)
          return <Choice {...shared} value={value} options={[['', 'Any'], ...options]} />
        if (isTime)
          return <Field {...shared} type="datetime-local" defaultValue={toFormTime(windowStart(value))} />
        const text = { ...shared, defaultValue: value, placeholder: hint, maxLength: 255 }
        return named === undefined ? <Field {...text} /> : <Offered {...text} named={named} />
      })}
      <button type="submit">Search</button>
    </form>
  )
}

/** A list's search form, its named periods, and the active filters, each with a link that removes it. */
function Filters({ filters, route: { path: at, query } }: Pick<ListProps<never>, 'filters' | 'route'>) {
  const values = pickValues(filters, query)
  const active = activeFilters(filters, values)
  const summary = useRef<HTMLElement>(null)
  const isTimed = filters.some(({ isTime }) => isTime)
  const form = (fields: readonly Filter[]) => (
    <FilterForm key={JSON.stringify(values)} filters={fields} path={at} values={values} />
  )
  return (
    <search class="hstack">
      <details>
        <summary ref={summary}>Filters</summary>
        {form(filters.filter(({ isTime, isLinked }) => !isTime && !isLinked))}
      </details>
      {isTimed && (
        <Links
          label="Time"
          links={listPeriods()
            .filter(({ from }) => from !== '1h' && from !== '24h')
            .map(({ name, from, to }) => ({
              name,
              href: buildHref(at, { ...values, from, to }),
              isCurrent: from === values.from && to === values.to,
            }))}
        />
      )}
      {isTimed && (
        <details>
          <summary>Between…</summary>
          {form(filters.filter(({ isTime }) => isTime))}
        </details>
      )}
      {active.map(({ label, words, without }) => (
        <a
          key={label}
          class="button outline small"
          href={buildHref(at, without)}
          title={`Remove ${label}: ${words}`}
          onClick={() => summary.current?.focus()}
        >
          <bdi>
            {label}: {words}
          </bdi>
          <span aria-hidden="true">×</span>
        </a>
      ))}
      {active.length > 0 && <a href={buildHref(at)}>Clear all</a>}
    </search>
  )
}
