import type { Placed, Review } from '../../core/workbench/review.ts'
import { counted, visible } from '../text.ts'
import type { DraftRow } from './draft.ts'

/** In one line, always in sight: faults, promises, changes. */
export function Verdict({
  review,
  promises,
  isLoading,
}: {
  review: Review | null
  promises: readonly DraftRow[]
  isLoading: boolean
}) {
  return (
    <p class="verdict" role="status">
      {review === null ? (
        'Checking…'
      ) : (
        <>
          <FaultsVerdict of={review} />
          <PromisesVerdict of={review} count={promises.length} />
          <span>{review.diff?.summary ?? 'What changes is shown once the faults are corrected'}</span>
          {isLoading && <span class="faint">Checking…</span>}
        </>
      )}
    </p>
  )
}

function FaultsVerdict({ of: { table, promises } }: { of: Review }) {
  const unread = promises.summary === null ? countOf(promises) : 0
  const count = countOf(table) + unread
  return (
    <span class={`badge ${count === 0 ? 'badge-sent' : 'badge-failed'}`}>
      {count === 0 ? 'No faults' : counted(count, 'fault', 'faults')}
    </span>
  )
}

function countOf({ faults, faultsLeftOut }: Review['table']): number {
  return faults.length + faultsLeftOut.count
}

function PromisesVerdict({ of: { table, promises }, count }: { of: Review; count: number }) {
  if (promises.summary === null) return <span class="faint">Promises not checked</span>
  const broken = new Set(promises.faults.map(({ row }) => row)).size + promises.faultsLeftOut.rows.length
  return (
    <span class={`badge ${broken === 0 ? 'badge-sent' : 'badge-failed'}`}>
      {broken === 0
        ? `All ${count} promises kept`
        : `${counted(broken, 'promise', 'promises')} of ${count} broken`}
      {table.faults.length > 0 && ' so far'}
    </span>
  )
}

/** Faults and warnings that belong to no row. */
export function FileFindings({ faults, faultsLeftOut, warnings }: Omit<Review['table'], 'summary'>) {
  const wide = faults.filter(({ row }) => row === null)
  return (
    <div aria-live="polite">
      {wide.length > 0 && (
        <ul class="notice notice-bad findings">
          {wide.map(({ text }) => (
            <li key={text}>{visible(text)}</li>
          ))}
        </ul>
      )}
      {faultsLeftOut.count > 0 && (
        <p class="notice notice-bad">And {counted(faultsLeftOut.count, 'more fault', 'more faults')}.</p>
      )}
      {warnings.length > 0 && (
        <ul class="notice findings">
          {warnings.map((warning) => (
            <li key={sentenceOf(warning)}>{visible(sentenceOf(warning))}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

function sentenceOf({ row, column, text }: Placed): string {
  const place = [row === null ? null : `row ${row}`, column].filter((part) => part !== null).join(', ')
  return place === '' ? text : `${place}: ${text}`
}

/** Changes for members, the most harmful first. */
export function Changes({ of: diff }: { of: Review['diff'] }) {
  if (diff === null) return <p class="faint">Correct the faults first: the table cannot be used as it is.</p>
  return (
    <>
      <p>
        {diff.groups.length === 0
          ? 'Nothing: every situation is decided as by the rules in force.'
          : `${diff.summary}.`}
      </p>
      {diff.groups.map(({ kind, count, sentences, leftOut }) => (
        <section key={kind} class="change-group" aria-label={kind}>
          <h3>
            <span class={`badge ${KIND_BADGES[kind] ?? 'badge-skipped'}`}>{count}</span> {kind}
          </h3>
          {sentences.map(({ sentence, situations }) => (
            <details key={sentence}>
              <summary class="plain">{visible(sentence)}</summary>
              <ul class="bullets">
                {situations.map((situation) => (
                  <li key={situation}>{situation}</li>
                ))}
              </ul>
            </details>
          ))}
          {leftOut > 0 && <p class="faint">and {counted(leftOut, 'more sentence', 'more sentences')}</p>}
        </section>
      ))}
      {diff.rest.length > 0 && (
        <section class="change-group" aria-label="Same for members">
          <h3>Same for members</h3>
          <ul class="bullets">
            {diff.rest.map((line) => (
              <li key={line}>{visible(line)}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

const KIND_BADGES: Readonly<Record<string, string>> = {
  'no longer sent': 'badge-failed',
  'with another reason only': 'badge-plain',
}

/** Each promise: the broken ones first, with what breaks them. */
export function Promises({
  of: { faults, faultsLeftOut, warnings, summary },
  rows,
}: {
  of: Review['promises']
  rows: readonly DraftRow[]
}) {
  const faultsOf = (index: number) => faults.filter(({ row }) => row === index + 2)
  const all = rows.map((row, index) => ({ row, broken: faultsOf(index) }))
  // A file begins with its columns, in row 1.
  const isLeftOut = new Set(faultsLeftOut.rows.map((row) => row - 2))
  const kept = all.filter(({ broken }, index) => broken.length === 0 && !isLeftOut.has(index))
  return (
    <>
      {summary === null && <p class="faint">Promises are checked once both files can be read.</p>}
      <ul class="promises">
        {all
          .filter(({ broken }) => broken.length > 0)
          .map(({ row, broken }) => (
            <li key={row.id} class="notice notice-bad">
              {broken.map(({ text, column }) => (
                <span key={text}>
                  <strong>Broken: </strong>
                  {column !== null && `${column}: `}
                  <Finding text={text} />
                </span>
              ))}
            </li>
          ))}
      </ul>
      {isLeftOut.size > 0 && (
        <p>
          And {counted(isLeftOut.size, 'more promise is broken', 'more promises are broken')}: correct these
          first.
        </p>
      )}
      {summary !== null && faults.length > 0 && (
        <p>
          Change the rules; or, if you mean it, change the promise below, and propose both files together.
        </p>
      )}
      {summary !== null && (
        <details>
          <summary>{counted(kept.length, 'promise', 'promises')} kept</summary>
          <ul class="bullets">
            {kept.map(({ row }) => (
              <li key={row.id}>{visible(row.cells[0] ?? '')}</li>
            ))}
          </ul>
        </details>
      )}
      {warnings.length > 0 && (
        <details>
          <summary>Rules that no promise covers</summary>
          <ul class="bullets">
            {warnings.map((warning) => (
              <li key={sentenceOf(warning)}>{visible(sentenceOf(warning))}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

/** A fault; the situations that it is about are lines of their own. */
export function Finding({ text }: { text: string }) {
  const [first = '', ...situations] = text.split('\n')
  return (
    <>
      {visible(first)}
      {situations.length > 0 && (
        <ul class="bullets">
          {situations.map((situation) => (
            <li key={situation}>{visible(situation.trim())}</li>
          ))}
        </ul>
      )}
    </>
  )
}
