import type { ExplainedDecision } from '../../core/decision/recorded-decision.ts'
import type { ExplainedLogEntry } from '../../core/log/log-entry.ts'
import { describeGivenUp } from '../../core/log/status.ts'
import { describeSituation } from '../../core/rules/situations.ts'
import { Reason } from '../entries.tsx'
import { Badge, Details, Facts, State, Time, Title, Value } from '../parts.tsx'
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
  return (
    <>
      <Title name={`Entry ${visible(locator)}`}>
        Entry <Value of={locator} mono />
      </Title>
      <State of={loaded} />
      {loaded.data !== null && <Entry entry={loaded.data} />}
    </>
  )
}

function Entry({ entry }: { entry: ExplainedLogEntry }) {
  const { status, givenUp, partyLocator, decisions, body } = entry
  const last = decisions.at(-1)
  return (
    <>
      <section class="card why" style={{ '--mark': `var(--${status.toLowerCase()})` }} aria-labelledby="why">
        <h2 id="why">
          <Badge of={status} />{' '}
          {givenUp ? `The member was not told: ${describeGivenUp(entry)}.` : HEADLINES[status]}
        </h2>
        <p>
          <Value
            of={last === undefined ? 'No recorded decision explains this entry.' : reasonOf(entry, last)}
          />
        </p>
        {last !== undefined && (
          <p class="faint">
            <Value of={last.why} />
          </p>
        )}
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="entry">
          <h2 id="entry">Entry</h2>
          <Facts
            of={[
              ['Event type', <Value of={entry.eventType} />],
              ['Member', <Member of={partyLocator} />],
              ['Event ID', <Value of={entry.eventId} mono />],
              ['Channel', entry.channel],
              ['Created at', <Time of={entry.createdAt} />],
              ['Sent at', <Time of={entry.sentAt} />],
              ['Reason', <Reason of={entry.failureReason} />],
              ['Send attempts', entry.attemptCount],
            ]}
          />
          {partyLocator !== null && (
            <a href={hrefOf(['log'], { partyLocator })}>All entries for this member</a>
          )}
        </section>
        <section class="card" aria-labelledby="message">
          <h2 id="message">Message</h2>
          {body === null ? <NoText of={entry} /> : <Message subject={entry.subject} body={body} />}
        </section>
      </div>
      <section aria-labelledby="attempts">
        <h2 id="attempts">Decisions</h2>
        {decisions.toReversed().map((decision) => (
          <Decision key={decision.attempt} decision={decision} />
        ))}
      </section>
    </>
  )
}

function Member({ of }: { of: string | null }) {
  if (of === null) return <Value of={null} />
  return (
    <a href={hrefOf(['parties', of])}>
      <Value of={of} mono />
    </a>
  )
}

/** In a few words. A failure says more than the rule that covers all failures. */
function reasonOf({ status, failureReason }: ExplainedLogEntry, { because, why }: ExplainedDecision): string {
  return (status === 'FAILED' ? failureReason : (because ?? failureReason)) ?? why
}

/** The text of a message. */
export function Message({ subject, body }: { subject: string | null; body: string }) {
  return (
    <div class="message">
      <p>
        <strong>
          <Value of={subject} />
        </strong>
      </p>
      <p>
        <Value of={body} />
      </p>
    </div>
  )
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
  const source = `${decision.topic}, partition ${decision.partition}, offset ${decision.offset}`
  const { preferenceChange: change, retry, traceId } = decision
  return (
    <article class="card">
      <h3>
        <Badge of={decision.outcome} /> <Time of={decision.decidedAt} />
        <span class="faint">, attempt {decision.attempt}</span>
      </h3>
      <p>
        <Value of={decision.why} />
      </p>
      <Facts
        of={[
          ['Rule', <Value of={decision.ruleId} mono />],
          ['Facts', describeSituation(decision.facts)],
          retry && ['Retried by', <Value of={`${retry.by}: ${retry.because}`} />],
          change && ['Preferences set', <Time of={change.changedAt} />],
          change && ['Set by', <Value of={change.changedBy} />],
          ['Receipt', <Value of={decision.receipt} mono />],
          ['Source', <Value of={source} />],
          traceId === null ? null : ['Trace ID', <Trace id={traceId} url={decision.traceUrl} />],
          revision('Rule table', decision.ruleTableRevision),
          revision('Envelope map', decision.envelopeMapRevision),
          revision('Template', decision.templateRevision),
        ]}
      />
      <RulesAbove of={decision.rulesAbove} />
    </article>
  )
}

function Trace({ id, url }: { id: string; url: string | null }) {
  if (url === null) return <Value of={id} mono />
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      <Value of={id} mono />
    </a>
  )
}

function revision(name: string, of: string | null) {
  return of === null ? null : ([name, <Value of={of.slice(0, 12)} mono />] as const)
}

/** Why a decision was not made by an earlier rule. */
export function RulesAbove({ of }: { of: ExplainedDecision['rulesAbove'] }) {
  if (of.length === 0) return null
  const why = of.map(({ ruleId, mismatch }) => `${ruleId}: ${mismatch}`)
  return <Details summary="Why the rules above did not match" of={why} />
}
