import type { ExplainedDecision } from '../../core/decision/recorded-decision.ts'
import type { ExplainedLogEntry } from '../../core/log/log-entry.ts'
import { describeGivenUp } from '../../core/log/status.ts'
import { describeSituation } from '../../core/rules/situations.ts'
import { Reason } from '../entries.tsx'
import { Badge, Fact, State, Time, Title, Value } from '../parts.tsx'
import { hrefOf, type Route } from '../route.ts'
import { visible } from '../text.ts'
import { useData } from '../use-data.ts'

const HEADLINES = {
  SENT: 'The member was told.',
  SKIPPED: 'The member was not told.',
  FAILED: 'The member has not been told.',
} as const

/** One entry: first the reason for its status, then its text, then each decision. */
export function EntryView({ path: [, locator = ''] }: Route) {
  const loaded = useData<ExplainedLogEntry>(['log', locator], {})
  const entry = loaded.data
  return (
    <>
      <Title name={`Entry ${visible(locator)}`}>
        Entry <Value of={locator} mono />
      </Title>
      <State of={loaded} />
      {entry !== null && <Entry entry={entry} />}
    </>
  )
}

function Entry({ entry }: { entry: ExplainedLogEntry }) {
  const last = entry.decisions.at(-1)
  return (
    <>
      <section
        class="card why"
        style={{ '--mark': `var(--series-${entry.status.toLowerCase()})` }}
        aria-labelledby="why"
      >
        <h2 id="why">
          <Badge of={entry.status} />{' '}
          {entry.givenUp ? `The member was not told: ${describeGivenUp(entry)}.` : HEADLINES[entry.status]}
        </h2>
        {last === undefined ? (
          <p class="reason">No recorded decision explains this entry.</p>
        ) : (
          <>
            <p class="reason">
              <Reason of={entry.failureReason} words={reasonOf(entry, last)} />
            </p>
            <p class="sentence">
              <Value of={last.why} />
            </p>
          </>
        )}
      </section>
      <div class="columns">
        <EntryFacts of={entry} />
        <section class="card" aria-labelledby="message">
          <h2 id="message">Message</h2>
          {entry.body === null ? (
            <NoText of={entry} />
          ) : (
            <>
              <p class="subject">
                <Value of={entry.subject} />
              </p>
              <p class="body">
                <Value of={entry.body} />
              </p>
            </>
          )}
        </section>
      </div>
      <section aria-labelledby="attempts">
        <h2 id="attempts">Decisions</h2>
        <ol class="decisions" reversed>
          {entry.decisions.toReversed().map((decision) => (
            <li key={decision.attempt} class="card">
              <Decision decision={decision} />
            </li>
          ))}
        </ol>
      </section>
    </>
  )
}

function EntryFacts({ of: entry }: { of: ExplainedLogEntry }) {
  return (
    <section class="card" aria-labelledby="entry">
      <h2 id="entry">Entry</h2>
      <dl class="facts">
        <Fact name="Event type">
          <Value of={entry.eventType} />
        </Fact>
        <Fact name="Member">
          {entry.partyLocator === null ? (
            <Value of={null} />
          ) : (
            <a href={hrefOf(['parties', entry.partyLocator])}>
              <Value of={entry.partyLocator} mono />
            </a>
          )}
        </Fact>
        <Fact name="Event ID">
          <Value of={entry.eventId} mono />
        </Fact>
        <Fact name="Channel">{entry.channel}</Fact>
        <Fact name="Created at">
          <Time of={entry.createdAt} />
        </Fact>
        <Fact name="Sent at">
          <Time of={entry.sentAt} />
        </Fact>
        <Fact name="Reason">
          <Reason of={entry.failureReason} />
        </Fact>
        <Fact name="Send attempts">{entry.attemptCount}</Fact>
      </dl>
      {entry.partyLocator !== null && (
        <p>
          <a href={hrefOf(['log'], { partyLocator: entry.partyLocator })}>All entries for this member</a>
        </p>
      )}
    </section>
  )
}

/** In a few words. A failure says more than the rule that covers all failures. */
function reasonOf({ status, failureReason }: ExplainedLogEntry, { because, why }: ExplainedDecision): string {
  return (status === 'FAILED' ? failureReason : (because ?? failureReason)) ?? why
}

function NoText({ of: { decisions } }: { of: ExplainedLogEntry }) {
  const erasedAt = decisions.find((decision) => decision.erasedAt !== null)?.erasedAt ?? null
  if (erasedAt === null) return <p class="faint">Skipped entries store no text.</p>
  return (
    <p class="faint">
      The text was erased on <Time of={erasedAt} />.
    </p>
  )
}

function Decision({ decision }: { decision: ExplainedDecision }) {
  const { preferenceChange: change, facts } = decision
  return (
    <>
      <h3>
        <Badge of={decision.outcome} /> <Time of={decision.decidedAt} />
        <span class="faint">, attempt {decision.attempt}</span>
      </h3>
      <p>
        <Value of={decision.why} />
      </p>
      <dl class="facts">
        <Fact name="Rule">
          <a href={hrefOf(['rules'])}>
            <Value of={decision.ruleId} mono />
          </a>
        </Fact>
        <Fact name="Facts">{describeSituation(facts)}</Fact>
        {decision.retry !== null && (
          <Fact name="Retried by">
            <Value of={`${decision.retry.by}: ${decision.retry.because}`} />
          </Fact>
        )}
        {change !== null && (
          <Fact name="Preferences set">
            <Time of={change.changedAt} />
            {change.changedBy !== null && (
              <>
                {' '}
                by <Value of={change.changedBy} />
              </>
            )}
          </Fact>
        )}
        <Fact name="Receipt">
          <Value of={decision.receipt} mono />
        </Fact>
        <Fact name="Source">
          <Value of={`${decision.topic}, partition ${decision.partition}, offset ${decision.offset}`} />
        </Fact>
        {decision.traceId !== null && (
          <Fact name="Trace ID">
            {decision.traceUrl === null ? (
              <Value of={decision.traceId} mono />
            ) : (
              <a href={decision.traceUrl} target="_blank" rel="noopener noreferrer">
                <Value of={decision.traceId} mono />
              </a>
            )}
          </Fact>
        )}
        <Revision name="Rule table" of={decision.ruleTableRevision} />
        <Revision name="Envelope map" of={decision.envelopeMapRevision} />
        <Revision name="Template" of={decision.templateRevision} />
      </dl>
      {decision.rulesAbove.length > 0 && <RulesAbove of={decision.rulesAbove} />}
    </>
  )
}

function Revision({ name, of }: { name: string; of: string | null }) {
  if (of === null) return null
  return (
    <Fact name={name}>
      <Value of={of.slice(0, 12)} mono />
    </Fact>
  )
}

function RulesAbove({ of }: { of: ExplainedDecision['rulesAbove'] }) {
  return (
    <details>
      <summary>Why the rules above did not match</summary>
      <ul>
        {of.map(({ ruleId, mismatch }) => (
          <li key={ruleId}>
            <Value of={ruleId} mono />: <Value of={mismatch} />
          </li>
        ))}
      </ul>
    </details>
  )
}
