import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { hrefOf } from './route.ts'
import { counted, formTimeOf, localTime, momentName, visible } from './text.ts'
import type { Loaded, Pages } from './use-data.ts'
import { go } from './visit.ts'

/** Text from outside: invisible characters are shown, and its direction does not leak into the page. */
export function Value({ of, mono }: { of: string | null | undefined; mono?: boolean }) {
  if (of === null || of === undefined || of === '') return <Nothing />
  return <bdi class={mono ? 'mono' : undefined}>{visible(of)}</bdi>
}

/** Stands for a missing value. */
export function Nothing() {
  return (
    <>
      <span aria-hidden="true" class="faint">
        –
      </span>
      <span class="unseen">none</span>
    </>
  )
}

/** A time in the viewer's time zone, and in UTC on hover. */
export function Time({ of }: { of: string | null }) {
  if (of === null) return <Nothing />
  return (
    <time dateTime={of} title={of} class="nowrap">
      {localTime(of)}
    </time>
  )
}

/** A status or an outcome, with its colour. */
export function Badge({ of }: { of: string }) {
  return <span class={`badge badge-${of.toLowerCase()}`}>{of}</span>
}

/** The title of a view; it takes the focus after navigation. */
export function Title({ children, name }: { children?: ComponentChildren; name: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${name} – Notifications console`
    if (Title.hasNavigated) heading.current?.focus()
  }, [name])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? name}
    </h1>
  )
}
/** False until the first navigation: on page load the browser sets the focus. */
Title.hasNavigated = false

interface ProblemProps {
  readonly of: string | null
  readonly title?: string
  /** Tries again; null or absent where that would be in vain. */
  readonly retry?: (() => void) | null
}

/** A problem, announced to screen readers. */
export function Problem({ of, title, retry = null }: ProblemProps) {
  return (
    <>
      <div role="alert">
        {of !== null && (
          <p class="notice notice-bad">
            {title !== undefined && <strong>{title}</strong>} {visible(of)}
            {retry !== null && ' The console tries again every 10 seconds.'}
          </p>
        )}
      </div>
      {of !== null && retry !== null && (
        <p>
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
    </>
  )
}

/** The name of a column; with the class of its cells. */
type Column = string | readonly [name: string, className: string]

/** A row of a table: a cell for each column. */
interface Row {
  readonly key: string | number
  readonly cells: readonly ComponentChildren[]
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section class="table" aria-label={label} tabIndex={0}>
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
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {named.map(([name, className], index) => (
                <td key={name} class={className} data-column={name}>
                  <div>{cells[index]}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Below a list: how many items are shown, and a button for more. */
export function More<Item>({ pages, one, many }: { pages: Pages<Item>; one: string; many: string }) {
  const count = pages.data?.length ?? 0
  const found = count === 0 ? `No ${many} found` : counted(count, one, many)
  return (
    <div class="more">
      <p role="status">
        {pages.isLoading
          ? 'Loading…'
          : pages.problem === null && `${found}${pages.more === null ? '' : ', more available'}`}
      </p>
      {pages.more !== null && (
        <button type="button" onClick={pages.more}>
          Show more
        </button>
      )}
    </div>
  )
}

const NOT_LOADED = 'Could not load this page.'

/** Why a list could not be loaded, or not further. */
export function ListProblem({ of: { data, problem, retry } }: { of: Pages<unknown> }) {
  const title = (data?.length ?? 0) === 0 ? NOT_LOADED : 'Could not load more.'
  return <Problem of={problem} title={title} retry={retry} />
}

/** Since when what is shown may differ from what is; null while it is up to date. */
export function staleSince({ problem, readAtMs }: Loaded<unknown>): string | null {
  return problem === null || readAtMs === null ? null : `Not current since ${momentName(readAtMs)}`
}

/** Says that data is loading, why it could not be loaded, or since when it is out of date. */
export function State({ of }: { of: Loaded<unknown> }) {
  const { data, problem, isLoading, retry } = of
  const stale = staleSince(of)
  return (
    <>
      <Problem of={problem} title={stale === null ? NOT_LOADED : `${stale}.`} retry={retry} />
      {isLoading && data === null && problem === null && (
        <p class="faint" role="status">
          Loading…
        </p>
      )}
    </>
  )
}

/** A form field with its label. */
function Labelled({ label, id, children }: { label: string; id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
    </div>
  )
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly value?: string | undefined
}
const PLAIN = { autocomplete: 'off', spellcheck: false } as const

/** A text field for an identifier. */
export function Field({ label, name, value, hint }: FieldProps & { hint?: string }) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input {...PLAIN} id={id} name={name} defaultValue={value ?? ''} placeholder={hint} maxLength={255} />
    </Labelled>
  )
}

/** A field whose content is masked. */
export function SecretField({ label, name }: FieldProps) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input {...PLAIN} id={id} name={name} type="password" />
    </Labelled>
  )
}

/** A date-and-time field in the viewer's time zone. */
export function TimeField({ label, name, value }: FieldProps) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input id={id} name={name} type="datetime-local" step={1} defaultValue={formTimeOf(value)} />
    </Labelled>
  )
}

/** A drop-down; its blank option, absent if `any` is null, means any value. */
export function Choice({
  label,
  name,
  value,
  options,
  any = 'Any',
}: FieldProps & {
  options: readonly (string | readonly [value: string, label: string])[]
  any?: string | null
}) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <select id={id} name={name} defaultValue={value ?? ''}>
        {any !== null && <option value="">{any}</option>}
        {options.map((option) => {
          const [choice, words] = typeof option === 'string' ? [option, option] : option
          return (
            <option key={choice} value={choice} selected={choice === value}>
              {words}
            </option>
          )
        })}
      </select>
    </Labelled>
  )
}

/** The search form of a list: its fields, and the buttons that apply and clear them. */
export function Filters({
  view,
  values,
  hrefFor = (filled) => hrefOf([view], filled),
  children,
}: {
  view: string
  values: Readonly<Record<string, string | undefined>>
  hrefFor?: (filled: Record<string, string>) => string
  children: ComponentChildren
}) {
  return (
    <search>
      <form class="filters" onSubmit={(event) => go(hrefFor(filledIn(event)))} key={JSON.stringify(values)}>
        {children}
        <div class="actions">
          <button type="submit" class="primary">
            Search
          </button>
          <a class="button" href={hrefOf([view])}>
            Clear
          </a>
        </div>
      </form>
    </search>
  )
}

/** One line of a list of facts. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** The values of a form, trimmed. */
export function filledIn(event: SubmitEvent): Record<string, string> {
  event.preventDefault()
  const form = new FormData(event.currentTarget as HTMLFormElement)
  return Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()]))
}
