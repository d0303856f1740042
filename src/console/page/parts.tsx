import { type ComponentChildren, Fragment, type JSX, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { STATUSES, type Status, toStatus } from '../../service/model/log/status.ts'
import { exactTime, inWords, localTime, visible } from './text.ts'
import type { Loaded } from './use-data.ts'

/** Text from outside. Makes invisible characters visible, and isolates its text direction. */
export function Value({ text, mono }: { text: string | null | undefined; mono?: boolean }) {
  return text ? <bdi class={mono ? 'mono' : undefined}>{visible(text)}</bdi> : <Nothing />
}

/** Stands for a missing value. */
export function Nothing() {
  return (
    <span class="text-light nothing" title="none">
      –
    </span>
  )
}

/** A time in the viewer's time zone, and in UTC on hover. */
export function Time({ iso, words = localTime }: { iso: string; words?: (iso: string) => string }) {
  return (
    <time dateTime={iso} title={exactTime(iso)}>
      {words(iso)}
    </time>
  )
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)/

/** A sentence of the service, with its times in the viewer's time zone. */
export function ServiceText({ sentence }: { sentence: string }) {
  return (
    <bdi>
      {sentence.split(INSTANT).map((part, index) => (index % 2 === 1 ? <Time iso={part} /> : visible(part)))}
    </bdi>
  )
}

const TONES = {
  SENT: ['success', 'check'],
  SKIPPED: ['warning', 'dash'],
  FAILED: ['danger', 'cross'],
} as const satisfies Record<Status, readonly [tone: string, sign: string]>

/** A status or an outcome, with its colour and sign. */
export function Badge({ status }: { status: string }) {
  const known = toStatus(status) ?? STATUSES.find((name) => name === status)
  const [tone, sign] = known === undefined ? [] : TONES[known]
  return (
    <Tag tone={tone} sign={sign}>
      {inWords(status)}
    </Tag>
  )
}

interface TagProps {
  readonly tone?: string | undefined
  readonly sign?: string | undefined
  readonly children: ComponentChildren
}

/** Words with a colour, and a sign for readers who see no colours. */
export function Tag({ tone = 'secondary', sign, children }: TagProps) {
  return (
    <span class="badge" data-variant={tone} data-sign={sign}>
      {children}
    </span>
  )
}

interface LinksProps {
  readonly label: string
  readonly links: readonly {
    readonly name: string
    /** Stands beside the name without taking up space. */
    readonly count?: string | undefined
    readonly href: string
    readonly isCurrent: boolean
  }[]
}

/** Links, one of which is the current one. */
export function Links({ label, links }: LinksProps) {
  return (
    <nav class="hstack" aria-label={label}>
      {links.map(({ name, count, href, isCurrent }) => (
        <a key={name} class="button ghost" href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
          {count !== undefined && <span class="count"> {count}</span>}
        </a>
      ))}
    </nav>
  )
}

/** The title of a view; it takes the focus after navigation. */
export function Title({ children, name }: { children?: ComponentChildren; name: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${name} – Notifications console`
  }, [name])
  // Once only, since data that arrives later must not take the focus from a field.
  useEffect(() => {
    if (Title.hasNavigated) heading.current?.focus()
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? name}
    </h1>
  )
}
/** False until the first navigation: on page load the browser sets the focus. */
Title.hasNavigated = false

/** The scroll position to restore once the rows of a list are rendered; null unless Back or Forward led here. */
Title.scrollYWanted = null as number | null

interface CardProps {
  readonly id: string
  readonly title: ComponentChildren
  readonly about?: string
  readonly children: ComponentChildren
}

/** A section with a heading that can take the focus. */
export function Card({ id, title, about, children }: CardProps) {
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id} tabIndex={-1}>
        {title}
      </h2>
      {about !== undefined && <p class="text-light">{about}</p>}
      {children}
    </section>
  )
}

interface ProblemProps {
  readonly problem: string | null
  readonly title?: string
  /** Retries; null or absent if that would be useless. */
  readonly retry?: (() => void) | null
}

/** A problem, announced to screen readers. */
export function Problem({ problem, title, retry = null }: ProblemProps) {
  return (
    <div role="alert">
      {problem !== null && (
        <div class="notice notice-bad">
          {title !== undefined && <strong>{title}</strong>} {visible(problem)}
          {retry !== null && (
            <>
              {' The console tries again every 10 seconds. '}
              <Button onClick={retry}>Try again</Button>
            </>
          )}
        </div>
      )}
    </div>
  )
}

export const NOT_LOADED = 'Could not load this page.'

/** Shows that data is loading, failed to load (with the reason), or is outdated (with the time). */
export function State({ loaded }: { loaded: Loaded<unknown> }) {
  const { data, problem, retry, readAtMs } = loaded
  const since = readAtMs === null ? null : localTime(new Date(readAtMs).toISOString())
  return (
    <>
      <Problem
        problem={problem}
        title={since === null ? NOT_LOADED : `Last updated ${since}.`}
        retry={retry}
      />
      {data === null && problem === null && <p role="status">Loading…</p>}
    </>
  )
}

/** A button next to the primary one. */
export function Button(props: JSX.IntrinsicElements['button']) {
  return <button type="button" class="outline" {...props} />
}

/** An input with its label. */
export function Field({ label, ...input }: { readonly label: string } & JSX.IntrinsicElements['input']) {
  return (
    <label>
      {label}
      <input autocomplete="off" spellcheck={false} {...input} />
    </label>
  )
}

export type Option = readonly [value: string, words: string]

interface ChoiceProps {
  readonly label: string
  readonly name?: string
  readonly value: string
  readonly options: readonly Option[]
  readonly onValue?: (value: string) => void
}

/** A drop-down with its label. */
export function Choice({ label, name, value, options, onValue }: ChoiceProps) {
  return (
    <label>
      {label}
      <select name={name} onChange={({ currentTarget }) => onValue?.(currentTarget.value)}>
        {options.map(([choice, words]) => (
          <option key={choice} value={choice} selected={choice === value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Names with their values; a name without a value is left out. */
export function Facts({ facts }: { facts: Readonly<Record<string, string | number | VNode | null>> }) {
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>
            {name.split(' ').map((word) => (
              <Fragment key={word}>
                <span class="whole">{word}</span>{' '}
              </Fragment>
            ))}
          </dt>
          <dd>{typeof value === 'string' ? <Value text={value} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Copies a text. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [status, setStatus] = useState('')
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setStatus('copied'),
      () => setStatus('the browser did not allow copying: select the text'),
    )
  return (
    <>
      <Button class="outline small" title={text} onClick={copy}>
        {label}
      </Button>{' '}
      <span role="status">{status}</span>
    </>
  )
}

/** A list of texts from outside. */
export function Bullets({ lines }: { lines: readonly string[] }) {
  return (
    <ul>
      {lines.map((text) => (
        <li key={text}>{visible(text)}</li>
      ))}
    </ul>
  )
}

/** A list of texts that is shown on demand. */
export function Details({ summary, lines }: { summary: string; lines: readonly string[] }) {
  return (
    <details>
      <summary>{visible(summary)}</summary>
      <Bullets lines={lines} />
    </details>
  )
}

/** The values of a form, trimmed. */
export function filledIn(event: SubmitEvent): Record<string, string> {
  event.preventDefault()
  const form = new FormData(event.currentTarget as HTMLFormElement)
  return Object.fromEntries([...form].map(([name, value]) => [name, String(value).trim()]))
}

/** Navigates to an address. If it is the current one, a list or a search loads again. */
export function go(href: string): void {
  if (location.hash === href) dispatchEvent(new HashChangeEvent('hashchange'))
  else location.hash = href
}
