import type { ComponentChildren } from 'preact'
import type { Placed, Review } from '../../core/workbench/review.ts'
import { Bullets, Details } from '../parts.tsx'
import { counted, visible } from '../text.ts'
import { type DraftRow, FIRST_ROW, isFilled } from './draft.ts'

interface VerdictProps {
  readonly review: Review | null
  readonly promises: readonly DraftRow[]
  readonly isLoading: boolean
  /** The service does not respond. */
  readonly isGone: boolean
}

/** In one line, always in sight: faults, promises, changes. */
export function Verdict({ review, promises, isLoading, isGone }: VerdictProps) {
  const isStale = isLoading || isGone
  return (
    <p class={isStale ? 'card verdict is-stale' : 'card verdict'} role="status">
      {review !== null && (
        <>
          <FaultsVerdict of={review} />
          <PromisesVerdict of={review} count={promises.filter(isFilled).length} />
          {review.rows.summary !== '' && <span>{review.rows.summary}</span>}
          <span>{review.diff?.summary ?? 'What changes is shown once the faults are corrected'}</span>
        </>
      )}
      {isGone && <span>Out of date: the service does not respond. It is asked again by itself.</span>}
      {!isGone && isLoading && <span class="faint">Checking…</span>}
    </p>
  )
}

function FaultsVerdict({ of: { table, promises } }: { of: Review }) {
  const countOf = ({ faults, faultsLeftOut }: Review['table']) => faults.length + faultsLeftOut.count
  const count = countOf(table) + (promises.summary === null ? countOf(promises) : 0)
  const warnings = table.warnings.length + promises.warnings.length
  return (
    <>
      <Mark tone={count === 0 ? 'success' : 'danger'}>
        {count === 0 ? 'No faults' : counted(count, 'fault', 'faults')}
      </Mark>
      {warnings > 0 && <Mark tone="warning">{counted(warnings, 'warning', 'warnings')}</Mark>}
    </>
  )
}

function PromisesVerdict({ of: { table, promises }, count }: { of: Review; count: number }) {
  if (promises.summary === null) return <span class="faint">Promises not checked</span>
  const broken = new Set(promises.faults.map(({ row }) => row)).size + promises.faultsLeftOut.rows.length
  const soFar = table.faults.length > 0 ? ' so far' : ''
  if (broken === 0) return <Mark tone="success">{`All ${count} promises kept${soFar}`}</Mark>
  return <Mark tone="danger">{`${counted(broken, 'promise', 'promises')} of ${count} broken${soFar}`}</Mark>
}

function Mark({ tone, children }: { tone: string; children: ComponentChildren }) {
  return (
    <span class="badge" data-variant={tone}>
      {children}
    </span>
  )
}

/** Faults and warnings that belong to no row. */
export function FileFindings({ faults, faultsLeftOut, warnings }: Omit<Review['table'], 'summary'>) {
  const wide = faults.filter(({ row }) => row === null).map(({ text }) => text)
  return (
    <div aria-live="polite">
      <Notice of={wide} isBad />
      {faultsLeftOut.count > 0 && (
        <p class="notice notice-bad">And {counted(faultsLeftOut.count, 'more fault', 'more faults')}.</p>
      )}
      <Notice of={warnings.map(sentenceOf)} />
    </div>
  )
}

/** The service's remarks about a file, if any. */
export function Notice({ of, isBad = false }: { of: readonly string[]; isBad?: boolean }) {
  if (of.length === 0) return null
  return (
    <div class={isBad ? 'notice notice-bad' : 'notice'}>
      <Bullets of={of} />
    </div>
  )
}

function sentenceOf({ row, column, text }: Placed): string {
  const place = [row === null ? null : `row ${row}`, column].filter((part) => part !== null).join(', ')
  return place === '' ? text : `${place}: ${text}`
}

/** Changes for members, the most harmful first. */
export function Changes({ of: { diff, rows } }: { of: Review }) {
  return (
    <>
      {rows.changes.length > 0 && <Bullets of={rows.changes} />}
      {diff === null ? (
        <p class="faint">Correct the faults first: the table cannot be used as it is.</p>
      ) : (
        <Decisions of={diff} />
      )}
    </>
  )
}

function Decisions({ of: diff }: { of: NonNullable<Review['diff']> }) {
  return (
    <>
      <p>
        {diff.groups.length === 0
          ? 'Nothing: every situation is decided as by the rules in force.'
          : `${diff.summary}.`}
      </p>
      {diff.groups.map(({ kind, count, sentences, leftOut }) => (
        <section key={kind} aria-label={kind}>
          <h3>
            <Mark tone={KIND_TONES[kind] ?? 'warning'}>{count}</Mark> {kind}
          </h3>
          {sentences.map(({ sentence, situations }) => (
            <Details key={sentence} summary={sentence} of={situations} />
          ))}
          {leftOut > 0 && <p class="faint">and {counted(leftOut, 'more sentence', 'more sentences')}</p>}
        </section>
      ))}
      {diff.rest.length > 0 && (
        <section aria-label="Same for members">
          <h3>Same for members</h3>
          <Bullets of={diff.rest} />
        </section>
      )}
    </>
  )
}

const KIND_TONES: Readonly<Record<string, string>> = {
  'no longer sent': 'danger',
  'with another reason only': 'secondary',
}

/** Each promise: the broken ones first, with what breaks them. */
export function Promises({ of, rows }: { of: Review['promises']; rows: readonly DraftRow[] }) {
  const { faults, faultsLeftOut, warnings, summary } = of
  const isBroken = new Set([...faults.map(({ row }) => row), ...faultsLeftOut.rows])
  const kept = rows.filter((row, index) => isFilled(row) && !isBroken.has(index + FIRST_ROW))
  const moreBroken = faultsLeftOut.rows.length
  return (
    <>
      {summary === null && <p class="faint">Promises are checked once both files can be read.</p>}
      {faults
        .filter(({ row }) => row !== null)
        .toSorted((a, b) => Number(a.row) - Number(b.row))
        .map(({ text, column }) => (
          <div key={text} class="notice notice-bad">
            <strong>Broken: </strong>
            {column !== null && `${column}: `}
            <Finding text={text} />
          </div>
        ))}
      {moreBroken > 0 && (
        <p>
          And {counted(moreBroken, 'more promise is broken', 'more promises are broken')}: correct these
          first.
        </p>
      )}
      {summary !== null && faults.length > 0 && (
        <p>
          Change the rules; or, if you mean it, change the promise below, and propose both files together.
        </p>
      )}
      {summary !== null && (
        <Details
          summary={`${counted(kept.length, 'promise', 'promises')} kept`}
          of={kept.map(({ cells }) => cells[0] ?? '')}
        />
      )}
      <Notice of={warnings.map(sentenceOf)} />
    </>
  )
}

/** A fault; the situations that it is about are lines of their own. */
export function Finding({ text }: { text: string }) {
  const [first = '', ...situations] = text.split('\n')
  return (
    <>
      {visible(first)}
      {situations.length > 0 && <Bullets of={situations.map((situation) => situation.trim())} />}
    </>
  )
}
