import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { counted, formTimeOf, localTime, visible } from './text.ts'
import type { Loaded, Pages } from './use-data.ts'

/** Text that came from outside: nothing in it is hidden, and its direction ends with it. */
export function Value({ of, mono }: { of: string | null | undefined; mono?: boolean }) {
  if (of === null || of === undefined || of === '') return <Nothing />
  return <bdi class={mono ? 'mono' : undefined}>{visible(of)}</bdi>
}

/** Where there is no value. */
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

/** A moment in the zone of whoever looks; in UTC when pointed at. */
export function Time({ of }: { of: string | null }) {
  if (of === null) return <Nothing />
  return (
    <time dateTime={of} title={of} class="nowrap">
      {localTime(of)}
    </time>
  )
}

/** A status or an outcome: in words, and in a colour. */
export function Badge({ of }: { of: string }) {
  return <span class={`badge badge-${of.toLowerCase()}`}>{of}</span>
}

/** The title of a view; it takes the focus when one comes from another view. */
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
/** Not yet where the page has just been opened: the focus is the browser's then. */
Title.hasNavigated = false

/** What went wrong, for everyone to notice. */
export function Problem({ of }: { of: string | null }) {
  return (
    <div role="alert">
      {of !== null && (
        <p class="notice notice-bad">
          <strong>That did not work.</strong> {visible(of)}
        </p>
      )}
    </div>
  )
}

/** A table that can be scrolled sideways where the screen is narrow. */
export function Table({
  label,
  head,
  children,
}: {
  label: string
  head: string[]
  children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
    <section class="table" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

/** Under a list: how much of it is shown, and the way to the rest. */
export function More<Item>({ pages, one, many }: { pages: Pages<Item>; one: string; many: string }) {
  const count = pages.data?.length ?? 0
  return (
    <div class="more">
      <p role="status">
        {pages.isLoading
          ? 'Loading …'
          : pages.problem === null &&
            `${counted(count, one, many)}${pages.more === null ? '' : ', and more'}`}
      </p>
      {pages.more !== null && (
        <button type="button" onClick={pages.more}>
          Show more
        </button>
      )}
    </div>
  )
}

/** Says that something is on its way, or what is the matter. */
export function State({ of: { data, problem, isLoading } }: { of: Loaded<unknown> }) {
  return (
    <>
      <Problem of={problem} />
      {isLoading && data === null && (
        <p class="faint" role="status">
          Loading …
        </p>
      )}
    </>
  )
}

/** What is filled in, under its name. */
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

/** A field for text, as long as identifiers are. */
export function Field({ label, name, value, hint }: FieldProps & { hint?: string }) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input {...PLAIN} id={id} name={name} defaultValue={value ?? ''} placeholder={hint} maxLength={255} />
    </Labelled>
  )
}

/** A field for what nobody should read over a shoulder. */
export function SecretField({ label, name }: FieldProps) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input {...PLAIN} id={id} name={name} type="password" />
    </Labelled>
  )
}

/** A field for a date and a time, in the zone of whoever looks. */
export function TimeField({ label, name, value }: FieldProps) {
  const id = `field-${name}`
  return (
    <Labelled label={label} id={id}>
      <input id={id} name={name} type="datetime-local" step={1} defaultValue={formTimeOf(value)} />
    </Labelled>
  )
}

/** A choice of a form; the blank one, unless there is none (null), means any. */
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

/** The fields of a form as they are filled in, trimmed. */
export function filledIn(event: SubmitEvent): Record<string, string> {
  event.preventDefault()
  const form = new FormData(event.currentTarget as HTMLFormElement)
  return Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()]))
}
