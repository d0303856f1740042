import type { ComponentChildren, VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { COUNT_WINDOW_NAMES, COUNT_WINDOWS } from '../core/log/count-windows.ts'
import { Choice, Field, filledIn, NOT_LOADED, Nothing, type Option, Problem } from './parts.tsx'
import { hrefOf, type Query } from './route.ts'
import { ago, counted, exactTime, formTimeOf, instantOf, localTime, visible } from './text.ts'
import type { Items, Loaded } from './use-data.ts'
import { go } from './visit.ts'

/** A column's name, and the class of its cells. */
type Column = string | readonly [name: string, className: string]

/** Long text is cut, and shown whole on hover. Other content has its own title. */
export type Cell =
  | string
  | number
  | null
  | VNode
  | { readonly title: string; readonly show: ComponentChildren }

/** A row of a table: its cells by column name. The whole row links to `href`. */
export interface Row {
  readonly key: string | number
  readonly href?: string
  readonly cells: Readonly<Record<string, Cell>>
}

/** A table; on a narrow screen, a card for each row. */
export function Table({
  label,
  columns,
  rows,
}: Pick<ListProps<never>, 'label' | 'columns'> & { rows: readonly Row[] }) {
  const named = columns.map((column) =>
    typeof column === 'string' ? ([column, undefined] as const) : column,
  )
  return (
    <section class="card table" aria-label={label}>
      <table>
        <thead>
          <tr>
            {named.map(([name, className]) => (
              <th key={name} scope="col" class={className}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, href, cells }) => (
            <tr key={key}>
              {named.map(([name, className], index) => {
                const { title, show } = shownOf(cells[name] ?? null)
                return (
                  <td key={name} class={className} data-column={name} title={title}>
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

function shownOf(cell: Cell): { readonly title?: string; readonly show: ComponentChildren } {
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
      <bdi>{text}</bdi>
    </span>
  )
}

/** A relative or other short time, with the exact time in the title. */
export function timeCell(iso: string | null, words = ago): Cell {
  return iso === null ? null : { title: exactTime(iso), show: <time dateTime={iso}>{words(iso)}</time> }
}

/** A field of a list's search form; its name is that of the query parameter. */
export interface Filter {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly options?: readonly Option[]
  readonly isTime?: true
}

interface ListProps<Item> {
  /** The list's path in the address. */
  readonly at: readonly string[]
  readonly label: string
  readonly filters: readonly Filter[]
  readonly query: Query
  readonly pages: Loaded<Items<Item>>
  readonly columns: readonly Column[]
  readonly rowOf: (item: Item) => Row
  readonly one: string
  readonly many: string
  /** Further parameters of the next page's address. */
  readonly following?: Query
}

/** A searchable list in pages. The address contains the page, so that Back returns to it. */
export function List<Item>({
  at,
  label,
  filters,
  query,
  pages,
  columns,
  rowOf,
  one,
  many,
  following,
}: ListProps<Item>) {
  const { data, problem, isLoading, retry } = pages
  const { items, next } = data ?? { items: [], next: null }
  const values = valuesOf(filters, query)
  const active = activeOf(filters, values)
  const isFirst = query.cursor === undefined
  const found =
    items.length > 0 ? counted(items.length, one, many) : none(many, active, next !== null || !isFirst)
  return (
    <>
      <Filters at={at} filters={filters} values={values} active={active} />
      <Problem of={problem} title={items.length === 0 ? NOT_LOADED : 'Could not load all.'} retry={retry} />
      {items.length > 0 && <Table label={label} columns={columns} rows={items.map((item) => rowOf(item))} />}
      <div class="toolbar">
        <span role="status" class="faint">
          {isLoading
            ? 'Loading…'
            : problem === null && `${found}${isFirst && next === null ? '' : ' on this page'}`}
        </span>
        {!isFirst && <a href={hrefOf(at, values)}>First page</a>}
        {next !== null && <a href={hrefOf(at, { ...values, ...following, cursor: next })}>Next page</a>}
      </div>
    </>
  )
}

/** The values of the filters in the query of an address. */
export function valuesOf(filters: readonly Filter[], query: Query): Query {
  return Object.fromEntries(filters.map(({ name }) => [name, query[name]]))
}

/** The reason why a list is empty. */
function none(many: string, active: readonly Active[], isPart: boolean): string {
  if (active.length === 0) return `There are no ${many} yet.`
  const filters = active.map(({ label, words }) => `${label}: ${words}`).join(', ')
  return isPart ? `Nothing found so far for ${filters}` : `No ${many} match ${filters}.`
}

interface Active {
  readonly name: string
  readonly label: string
  readonly words: string
}

function activeOf(filters: readonly Filter[], values: Query): Active[] {
  return filters.flatMap(({ name, label, options = [], isTime }) => {
    const value = values[name]
    if (!value) return []
    const option = options.find(([choice]) => choice === value)
    const words = isTime ? localTime(startOf(value)) : typeof option === 'object' ? option[1] : value
    return [{ name, label, words: visible(words) }]
  })
}

/** The start of a period of the overview. Other times are returned unchanged. */
export function startOf(time: string): string {
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

/** Named periods, in the viewer's time zone. A week begins on Monday. */
function spans(): readonly { name: string; from: string; to?: string }[] {
  const monday = (new Date().getDay() + 6) % 7
  return [
    { name: 'Today', from: daysAgo(0) },
    { name: 'Yesterday', from: daysAgo(1), to: daysAgo(0) },
    { name: 'Last week', from: daysAgo(monday + 7), to: daysAgo(monday) },
    { name: 'Last 30 days', from: '30d' },
  ]
}

interface FiltersProps extends Pick<ListProps<never>, 'at' | 'filters'> {
  readonly values: Query
  readonly active: readonly Active[]
}

/** A list's search form, its named periods, and the active filters, each with a link that removes it. */
function Filters({ at, filters, values, active }: FiltersProps) {
  const details = useRef<HTMLDetailsElement>(null)
  const summary = useRef<HTMLElement>(null)
  const search = (event: SubmitEvent) => {
    const filled = filledIn(event)
    for (const { name, isTime } of filters) if (isTime) filled[name] = instantOf(filled[name] ?? '')
    if (details.current !== null) details.current.open = false
    summary.current?.focus()
    go(hrefOf(at, filled))
  }
  const between = () => {
    if (details.current === null) return
    details.current.open = true
    details.current.querySelector<HTMLInputElement>('[name=from]')?.focus()
  }
  const span = spans().find(({ from, to }) => from === values.from && to === values.to)
  return (
    <search class="toolbar">
      <details ref={details}>
        <summary ref={summary}>Filters</summary>
        <form class="fields" onSubmit={search} key={JSON.stringify(values)}>
          {filters.map(({ name, label, hint, options, isTime }) => {
            const value = values[name] ?? ''
            const input = isTime
              ? { type: 'datetime-local' as const, defaultValue: formTimeOf(startOf(value)) }
              : { defaultValue: value, placeholder: hint, maxLength: 255 }
            return options === undefined ? (
              <Field key={name} label={label} name={name} {...input} />
            ) : (
              <Choice
                key={name}
                label={label}
                name={name}
                value={value}
                options={[['', 'Any'], ...options]}
              />
            )
          })}
          <button type="submit">Search</button>
        </form>
      </details>
      {filters.some(({ isTime }) => isTime) && (
        <nav aria-label="Time">
          {spans().map(({ name, ...times }) => (
            <a
              key={name}
              href={hrefOf(at, { ...values, to: undefined, ...times })}
              aria-current={name === span?.name ? 'true' : undefined}
            >
              {name}
            </a>
          ))}
          <button type="button" onClick={between}>
            Between…
          </button>
        </nav>
      )}
      {active.map(({ name, label, words }) => (
        <a
          key={name}
          class="chip"
          href={hrefOf(at, { ...values, [name]: undefined })}
          title={`Remove ${label}: ${words}`}
          onClick={() => summary.current?.focus()}
        >
          <bdi>
            {label}: {words}
          </bdi>
          <span aria-hidden="true">×</span>
        </a>
      ))}
      {active.length > 0 && <a href={hrefOf(at)}>Clear all</a>}
    </search>
  )
}
