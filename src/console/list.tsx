import type { ComponentChildren, VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { COUNT_WINDOW_NAMES, COUNT_WINDOWS } from '../core/log/count-windows.ts'
import { Choice, Field, filledIn, NOT_LOADED, Nothing, type Option, Problem } from './parts.tsx'
import { hrefOf } from './route.ts'
import { ago, counted, exactTime, formTimeOf, instantOf, localTime, visible } from './text.ts'
import type { Pages } from './use-data.ts'
import { go } from './visit.ts'

/** The name of a column, and the class of its cells. */
type Column = string | readonly [name: string, className: string]

/** Long text is cut, and shown whole on hover. Other content brings its own title. */
type Cell = string | number | null | VNode | { readonly title: string; readonly show: ComponentChildren }

/** A row of a table: a cell for each column. All of it leads to `href`. */
export interface Row {
  readonly key: string | number
  readonly href?: string
  readonly cells: readonly Cell[]
}

interface TableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
}

/** A table; on a narrow screen, a card for each row. */
export function Table({ label, columns, rows }: TableProps) {
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
                const { title, show } = shownOf(cells[index] ?? null)
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

/** Text that is cut after a few lines, after two in a row that leads somewhere, unless the keyboard is in it. */
export function Clamped({ text }: { text: string }) {
  return (
    <span class="clamp">
      <bdi>{text}</bdi>
    </span>
  )
}

/** How long ago a time was; the time itself is in the title. */
export function timeCell(iso: string | null): Cell {
  return iso === null ? null : { title: exactTime(iso), show: <time dateTime={iso}>{ago(iso)}</time> }
}

/** A field of the search form of a list; its name is that of the query parameter. */
export interface Filter {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly options?: readonly Option[]
  readonly isTime?: true
}
type Values = Readonly<Record<string, string | undefined>>

interface ListProps<Item> {
  readonly view: string
  readonly label: string
  readonly filters: readonly Filter[]
  readonly values: Values
  readonly hrefFor?: (filled: Record<string, string>) => string
  readonly pages: Pages<Item>
  readonly columns: readonly Column[]
  readonly rowOf: (item: Item) => Row
  readonly one: string
  readonly many: string
}

/** A list that can be searched and is loaded page by page. */
export function List<Item>({ label, pages, columns, rowOf, one, many, ...search }: ListProps<Item>) {
  const { data, problem, isLoading, retry, more } = pages
  const items = data ?? []
  const active = activeOf(search.filters, search.values)
  const found = items.length > 0 ? counted(items.length, one, many) : none(many, active, more !== null)
  return (
    <>
      <Filters {...search} active={active} />
      <Problem of={problem} title={items.length === 0 ? NOT_LOADED : 'Could not load more.'} retry={retry} />
      {items.length > 0 && <Table label={label} columns={columns} rows={items.map((item) => rowOf(item))} />}
      <div class="toolbar">
        <span role="status" class="faint">
          {isLoading ? 'Loading…' : problem === null && `${found}${more === null ? '' : ', more available'}`}
        </span>
        {more !== null && (
          <button type="button" class="outline" onClick={more}>
            Show more
          </button>
        )}
      </div>
    </>
  )
}

/** The reason why a list is empty. */
function none(many: string, active: readonly Active[], isMore: boolean): string {
  if (active.length === 0) return `There are no ${many} yet.`
  const filters = active.map(({ label, words }) => `${label}: ${words}`).join(', ')
  return isMore ? `Nothing found so far for ${filters}` : `No ${many} match ${filters}.`
}

interface Active {
  readonly name: string
  readonly label: string
  readonly words: string
}

function activeOf(filters: readonly Filter[], values: Values): Active[] {
  return filters.flatMap(({ name, label, options = [], isTime }) => {
    const value = values[name]
    if (!value) return []
    const option = options.find(([choice]) => choice === value)
    const words = isTime ? localTime(startOf(value)) : typeof option === 'object' ? option[1] : value
    return [{ name, label, words: visible(words) }]
  })
}

/** The start of a period of the overview. Other times are returned unchanged. */
function startOf(time: string): string {
  const window = COUNT_WINDOW_NAMES.find((name) => name === time)
  return window === undefined
    ? time
    : new Date(Date.now() - COUNT_WINDOWS[window].lengthS * 1_000).toISOString()
}

interface FiltersProps extends Pick<ListProps<never>, 'view' | 'filters' | 'values' | 'hrefFor'> {
  readonly active: readonly Active[]
}

/** The search form of a list, and beside it the filters in force, each with a link that removes it. */
function Filters({
  view,
  filters,
  values,
  active,
  hrefFor = (filled) => hrefOf([view], filled),
}: FiltersProps) {
  const details = useRef<HTMLDetailsElement>(null)
  const summary = useRef<HTMLElement>(null)
  const search = (event: SubmitEvent) => {
    const filled = filledIn(event)
    for (const { name, isTime } of filters) if (isTime) filled[name] = instantOf(filled[name] ?? '')
    if (details.current !== null) details.current.open = false
    summary.current?.focus()
    go(hrefFor(filled))
  }
  return (
    <search class="toolbar">
      <details ref={details}>
        <summary ref={summary}>Filters</summary>
        <form class="fields" onSubmit={search} key={JSON.stringify(values)}>
          {filters.map(({ name, label, hint, options, isTime }) => {
            const value = values[name] ?? ''
            const input = isTime
              ? { type: 'datetime-local' as const, step: 1, defaultValue: formTimeOf(startOf(value)) }
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
      {active.map(({ name, label, words }) => (
        <a
          key={name}
          class="chip"
          href={hrefOf([view], { ...values, [name]: undefined })}
          title={`Remove ${label}: ${words}`}
          onClick={() => summary.current?.focus()}
        >
          <bdi>
            {label}: {words}
          </bdi>
          <span aria-hidden="true">×</span>
        </a>
      ))}
      {active.length > 0 && <a href={hrefOf([view])}>Clear all</a>}
    </search>
  )
}
