import { type ComponentChildren, createContext, Fragment } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { describeCounts, describeWanted, groupUnchanged } from '../../operations/requests/describe-request.ts'
import { BECAUSE_LENGTH_MAX } from '../../service/model/request/request.ts'
import type { AgeCounts, RequestPreview, StoredRequest } from '../../service/model/request/schemas.ts'
import { post, RequestError } from './api.ts'
import { WINDOWS, windowStart } from './list.tsx'
import { Button, Choice, Field, filledIn, type Option, Problem, Value } from './parts.tsx'
import { buildHref } from './route.ts'
import { formatNumber, visible } from './text.ts'
import { useData, Visit } from './use-data.ts'

/** The reason why the reader may not make requests, or null; undefined until known. */
export function useRefusal(): string | null | undefined {
  return useData<{ refusal: string | null }>(['rights']).data?.refusal
}

type Narrowed = Pick<AskProps, 'wanted'> & Partial<Pick<AskProps, 'verb' | 'warning'>>

interface AskProps {
  /** The action of the button, such as "Try again". */
  readonly verb: string
  /** The object of the action, such as "this message". */
  readonly what: string
  /** The request to post, without the reason. */
  readonly wanted: object
  /** Narrower variants of the request. */
  readonly narrow?: {
    readonly label: string
    /** The words for the whole. */
    readonly all: string
    readonly options: readonly Option[]
    readonly build: (option: string) => Narrowed
  }
  /** The list of the items of a group, by the beginning of their reasons. */
  readonly hrefOfCause?: ((reasonPrefix: string) => string) | undefined
  /** Its consequences: losses, and the fate of stopped messages. */
  readonly warning?: string | undefined
  /** True if it stops or loses something. */
  readonly isDestructive?: true
  /** Called when the dialog is closed after the service was asked. */
  readonly onAsked?: (() => void) | undefined
}

/** A button that opens a dialog with the consequences of a request and a field for the reason. */
export function Ask(props: AskProps) {
  const { verb, what } = props
  const open = useContext(Dialogs)
  return (
    <Button
      class="outline small"
      data-variant={props.isDestructive && 'danger'}
      onClick={() => open(props)}
      aria-label={`${verb}: ${what}`}
    >
      {verb}…
    </Button>
  )
}

const Dialogs = createContext((_asked: AskProps) => {})

/** Shows a dialog until it is closed or left, even if its button is gone, such as that of an ended hold. */
export function AskHost({ children }: { children: ComponentChildren }) {
  const [asked, setAsked] = useState<AskProps | null>(null)
  const { visit } = useContext(Visit)
  useEffect(() => setAsked(null), [visit])
  return (
    <Dialogs.Provider value={setAsked}>
      {children}
      {asked !== null && <AskDialog {...asked} onClose={() => setAsked(null)} />}
    </Dialogs.Provider>
  )
}

/** The service's answer to a question, or the reason why there is none. */
interface Answer<Data> {
  readonly data: Data | null
  readonly problem: string | null
}
const NO_ANSWER = { data: null, problem: null }

function AskDialog(props: AskProps & { readonly onClose: () => void }) {
  const { what, narrow, hrefOfCause, isDestructive, onAsked, onClose } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const { refused } = useContext(Visit)
  const [narrowed, setNarrowed] = useState<Narrowed | null>(null)
  const { verb, wanted, warning } = { ...props, ...narrowed }
  const preview = usePreview(wanted)
  const [asked, setAsked] = useState<Answer<Pick<StoredRequest, 'id'>>>(NO_ANSWER)
  const [isAsking, setIsAsking] = useState(false)
  const [key] = useState(newKey)
  /** The answer to a request is missing: only a repeat of the same one counts once. */
  const [isUnclear, setIsUnclear] = useState(false)
  const { data: found } = preview
  const left = found === null ? 0 : countChanged(found)
  // A change of the period keeps the typed reason.
  const hadAny = useRef(false)
  if (found !== null) hadAny.current = left > 0 || found.isMore
  const isOpen = hadAny.current && asked.data === null
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => dialog.current?.querySelector<HTMLInputElement>('[name=because]')?.focus(), [isOpen])
  const close = () => {
    if (asked.data !== null) onAsked?.()
    onClose()
  }
  const ask = async (event: SubmitEvent) => {
    const { because } = filledIn(event)
    setIsAsking(true)
    try {
      const stop = new AbortController()
      setAsked({
        data: await post<Pick<StoredRequest, 'id'>>(['requests'], { wanted, because, key }, stop.signal),
        problem: null,
      })
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (error.status === 401) refused(error)
      const isRefused = error.status >= 400 && error.status < 500
      if (!isRefused) setIsUnclear(true)
      setAsked({ data: null, problem: isRefused ? error.message : `${error.message} ${PERHAPS_ASKED}` })
    } finally {
      setIsAsking(false)
    }
  }
  return (
    <dialog ref={dialog} aria-label={`${verb}: ${what}`} onClose={close}>
      <h2>
        {verb}: {visible(what)}
      </h2>
      <Problem problem={preview.problem ?? asked.problem} />
      {asked.data !== null && <Followed id={asked.data.id} />}
      {asked.data === null && found !== null && <Preview preview={found} hrefOfCause={hrefOfCause} />}
      {asked.data === null && found?.ages !== undefined && <OldNews ages={found.ages} />}
      {asked.data === null && !isUnclear && narrow !== undefined && (
        <Choice
          label={narrow.label}
          value=""
          options={[['', narrow.all], ...narrow.options]}
          onValue={(option) => setNarrowed(option === '' ? null : narrow.build(option))}
        />
      )}
      {asked.data === null && warning !== undefined && <p class="notice">{warning}</p>}
      <form onSubmit={ask}>
        {isOpen && (
          <Field
            label="Reason (recorded; no names of persons)"
            name="because"
            required
            pattern=".*\S.*"
            maxLength={BECAUSE_LENGTH_MAX}
            readOnly={isUnclear}
          />
        )}
        <p class="hstack">
          {isOpen && (
            <button
              type="submit"
              data-variant={isDestructive && 'danger'}
              disabled={isAsking || found === null}
            >
              {verb}
              {found !== null &&
                found.count > 1 &&
                ` (${found.isMore ? 'more than ' : ''}${formatNumber(left)})`}
            </button>
          )}
          <Button onClick={() => dialog.current?.close()}>Close</Button>
        </p>
      </form>
    </dialog>
  )
}

/** Omits items from before a time. */
export function narrowByTime(build: (since: string) => object): NonNullable<AskProps['narrow']> {
  const windows = ['1h', '24h', '7d'] as const
  return {
    label: 'Only those since',
    all: 'the beginning of this list',
    options: windows.map((window) => [window, WINDOWS[window].toLowerCase()]),
    build: (window) => ({ wanted: build(windowStart(window)) }),
  }
}

/** Warns of items more than a day old, beyond which background retries do not reach by default. */
function OldNews({ ages: { day, week, older } }: { ages: AgeCounts }) {
  if (week + older === 0) return null
  const words = `${formatNumber(day)} up to a day old, ${formatNumber(week)} up to a week, ${formatNumber(older)} older.`
  return <p class="notice">Old news is among them: {words} Members would get it now.</p>
}

const PERHAPS_ASKED = 'It may have taken the request. Press again: a repeated request counts once.'

/** `crypto.randomUUID` is missing on pages that came without TLS. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

/** A preview of what the service would do now. */
export function usePreview(wanted: object | null): Answer<RequestPreview> {
  const [answer, setAnswer] = useState<Answer<RequestPreview>>(NO_ANSWER)
  const asked = JSON.stringify(wanted)
  useEffect(() => {
    const stop = new AbortController()
    setAnswer(NO_ANSWER)
    if (wanted === null) return
    post<RequestPreview>(['requests', 'preview'], wanted, stop.signal).then(
      (data) => setAnswer({ data, problem: null }),
      (error) => stop.signal.aborted || setAnswer({ data: null, problem: error.message }),
    )
    return () => stop.abort()
  }, [asked])
  return answer
}

/** The number of items that change. A skip has no groups. */
function countChanged({ groups, count }: RequestPreview): number {
  return groups.length === 0
    ? count
    : groups.reduce((sum, group) => sum + (group.isUnchanged ? 0 : group.count), 0)
}

function Preview({ preview, hrefOfCause }: { preview: RequestPreview } & Pick<AskProps, 'hrefOfCause'>) {
  if (preview.count === 0)
    return (
      <p>
        {preview.isMore
          ? 'Nothing was found among the newest entries.'
          : 'Nothing matches: there is nothing to do.'}
      </p>
    )
  return (
    <ul>
      {preview.groups.map(({ reason, count, isUnchanged, reasonPrefix }) => (
        <li key={`${isUnchanged} ${reason}`}>
          {formatNumber(count)}: {isUnchanged && 'stays unchanged: '}
          {hrefOfCause && reasonPrefix ? (
            <a href={hrefOfCause(reasonPrefix)}>
              <Value text={reason} />
            </a>
          ) : (
            <Value text={reason} />
          )}
        </li>
      ))}
      {preview.isMore && <li>and more</li>}
    </ul>
  )
}

const EVERY_MS = 1_000

/** The progress of a request, from its start to its end. */
function Followed({ id }: { id: string }) {
  const { data, problem } = useData<StoredRequest>(['requests', id], {}, followInterval)
  if (data === null) return <Problem problem={problem} />
  return (
    <>
      <p role="status">
        <RequestState request={data} />
      </p>
      <Unchanged request={data} />
      <p>
        <a href={buildHref(['requests', id])}>Request {id}</a>
      </p>
    </>
  )
}

export const followInterval = ({ endedAt }: StoredRequest) => (endedAt === null ? EVERY_MS : null)

const STATES: Readonly<Record<string, string>> = {
  waiting: 'Requested; the service starts within seconds',
  running: 'In progress',
  done: 'Done',
  stopped: 'Stopped',
  cancelled: 'Cancelled',
}

/** The state of a request in a sentence, with its results. */
export function RequestState({ request }: { request: StoredRequest }) {
  const { counts, note } = request
  const results = describeCounts(counts)
  return (
    <>
      {describeProgress(request)}
      {results !== '' && `: ${results}`}
      {note !== null && (
        <>
          {' '}
          (<Value text={note} />)
        </>
      )}
      .
    </>
  )
}

function describeProgress(request: StoredRequest): string {
  const { kind, state, counts, note, endedAt } = request
  if (endedAt === null && kind === 'hold')
    return `In force: ${describeWanted(request)}. Nothing is sent, not even after a restart`
  if (endedAt === null && note !== null) return 'Waiting'
  if (kind !== 'retry' || state !== 'done') return STATES[state] ?? state
  return (counts.SENT ?? 0) + (counts.FAILED ?? 0) > 0 ? 'Retried' : 'Nothing to retry'
}

/** Ends a hold. `what` names it, and `about` describes it. */
export function Resume({ hold, what, about }: { hold: string; what: string; about: string }) {
  if (useRefusal() !== null) return null
  return <Ask verb="Resume" what={what} wanted={{ kind: 'resume', hold }} warning={`${about} ${RESUMED}`} />
}

const RESUMED =
  'Waiting messages are sent within seconds, by the current rules and texts. If members must not be told of these events, close this, and first deploy a rule that skips them.'

/** The first unchanged items, each with its reason. */
export function Unchanged({ request: { kind, unchanged } }: { request: StoredRequest }) {
  if (unchanged.length === 0) return null
  return (
    <ul>
      {groupUnchanged(unchanged).map(({ reason, items, count }) => (
        <li key={reason}>
          {formatNumber(count)}: <Value text={reason} /> (
          {items.map((item, index) => (
            <Fragment key={item}>
              {index > 0 && ', '}
              {kind === 'retry' ? (
                <a href={buildHref(['log', item])}>{visible(item)}</a>
              ) : (
                <Value text={item} />
              )}
            </Fragment>
          ))}
          {count > items.length && ' …'})
        </li>
      ))}
    </ul>
  )
}
