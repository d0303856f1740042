import { isRecordedOnly } from '../../core/attempt/delivery.ts'
import type { ExplainedDecision } from '../../core/decision/recorded-decision.ts'
import type { ExplainedLogEntry } from '../../core/log/log-entry.ts'
import { statusOf } from '../entries.tsx'
import { Badge, Details, Facts, State, Time, Title, Told, Value } from '../parts.tsx'
import { hrefOf, type Route } from '../route.ts'
import { visible } from '../text.ts'
import { useData } from '../use-data.ts'

/** One entry as a story: what happened, why, what comes next, the message, and each step. Ids are folded away. */
export function EntryView({ path: [, locator = ''] }: Route) {
  const loaded = useData<ExplainedLogEntry>(['log', locator], {})
  return loaded.data === null ? (
    <>
      <Title name={`Entry ${visible(locator)}`} />
      <State of={loaded} />
    </>
  ) : (
    <Entry entry={loaded.data} />
  )
}

function Entry({ entry }: { entry: ExplainedLogEntry }) {
  const { status, partyLocator, failureReason, body, story, eventType } = entry
  const state =
    status !== 'SENT' ? 'NOT SENT' : isRecordedOnly(entry.receipt) ? 'RECORDED, NOT DELIVERED' : status
  return (
    <>
      <Title name={`${visible(eventType)} for ${visible(partyLocator ?? 'nobody')}`} />
      <section
        class="card why"
        style={{ '--mark': `var(--${statusOf(entry).toLowerCase()})` }}
        aria-label="What happened"
      >
        <p class="lead">
          <Told of={story.what} />
        </p>
        {story.because !== null && (
          <p>
            <Told of={story.because} />
          </p>
        )}
        <p>
          <strong>Next:</strong> <Told of={story.next} />
        </p>
        <p class="toolbar faint">
          {partyLocator !== null && <a href={hrefOf(['parties', partyLocator])}>All about this member</a>}
          {failureReason !== null && (
            // Reasons count as one, whatever follows the colon.
            <a href={hrefOf(['log'], { reason: failureReason.split(':', 1)[0] })}>All with this reason</a>
          )}
        </p>
      </section>
      <div class="columns">
        {body !== null && (
          <section class="card" aria-labelledby="message">
            <h2 id="message">
              Message <Badge of={state} />
            </h2>
            <Message subject={entry.subject} body={body} />
          </section>
        )}
        <section class="card" aria-labelledby="timeline">
          <h2 id="timeline">Timeline</h2>
          <ol class="timeline">
            {story.timeline.map(({ at, until, words }) => (
              <li key={`${at} ${words}`}>
                <span class="faint">
                  <Time of={at} />
                  {until !== null && (
                    <>
                      {' '}
                      – <Time of={until} />
                    </>
                  )}
                </span>{' '}
                <Told of={words} />
              </li>
            ))}
          </ol>
        </section>
      </div>
      <details>
        <summary>Technical</summary>
        <Technical entry={entry} />
      </details>
    </>
  )
}

export function Message({ subject, body }: { subject: string | null; body: string }) {
  return (
    <div class="message">
      {subject !== null && (
        <p>
          <strong>
            <Value of={subject} />
          </strong>
        </p>
      )}
      <p>
        <Value of={body} />
      </p>
    </div>
  )
}

function Technical({ entry }: { entry: ExplainedLogEntry }) {
  return (
    <>
      <Facts
        of={{
          Entry: entry.locator,
          'Event ID': entry.eventId,
          Reference: entry.reference,
          Channel: entry.channel,
          Reason: entry.failureReason,
          'Send attempts': entry.attemptCount,
        }}
      />
      {entry.decisions.toReversed().map((decision) => (
        <Decision key={decision.attempt} decision={decision} />
      ))}
    </>
  )
}

function Decision({ decision }: { decision: ExplainedDecision }) {
  const { retry, traceId, traceUrl } = decision
  const short = (revision: string | null) => revision?.slice(0, 12) ?? null
  return (
    <article class="card">
      <h3>
        Attempt {decision.attempt}, <Time of={decision.decidedAt} />
      </h3>
      <p>
        <Told of={decision.why} />
      </p>
      <Facts
        of={{
          Rule: decision.ruleId,
          'Retried by': retry && `${retry.by}: ${retry.because}`,
          Receipt: decision.receipt,
          Source: `${decision.topic}, partition ${decision.partition}, offset ${decision.offset}`,
          'Trace ID': traceUrl ? (
            <a href={traceUrl} target="_blank" rel="noopener noreferrer">
              {traceId}
            </a>
          ) : (
            traceId
          ),
          'Rule table': short(decision.ruleTableRevision),
          'Envelope map': short(decision.envelopeMapRevision),
          Template: short(decision.templateRevision),
        }}
      />
      <RulesAbove of={decision.rulesAbove} />
    </article>
  )
}

/** The reasons why no earlier rule made the decision. */
export function RulesAbove({ of }: { of: ExplainedDecision['rulesAbove'] }) {
  if (of.length === 0) return null
  const why = of.map(({ ruleId, mismatch }) => `${ruleId}: ${mismatch}`)
  return <Details summary="Why the rules above did not match" of={why} />
}
