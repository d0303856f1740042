import { useState } from 'preact/hooks'
import type { ExplainedDecision } from '../../../service/decide/decision/recorded-decision.ts'
import { coversEventType } from '../../../service/decide/event/event-type-pattern.ts'
import { channelKind, nameOfChannel, shownSubject } from '../../../service/decide/party/channel.ts'
import { describeOptOut } from '../../../service/decide/party/preference-changes.ts'
import type { PreferenceHistory } from '../../../service/decide/party/preferences.ts'
import type { ExplainedLogEntry } from '../../../service/model/log/log-entry.ts'
import { describeStatus, nameOfAttempt } from '../../../service/model/log/status.ts'
import { Ask, usePreview, useRefusal } from '../ask.tsx'
import { Badge, Card, Details, Facts, ServiceText, State, Time, Title, Value } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { inWords, visible } from '../text.ts'
import { useData } from '../use-data.ts'

/** Half of the pause between two retries. Each read is logged, so a final entry is not read again. */
const WAITING_MS = 30_000
const refreshInterval = ({ status, givenUp }: ExplainedLogEntry) =>
  status === 'FAILED' && !givenUp ? WAITING_MS : null

/** One entry as a story: what happened, why, what comes next, the message, and each step. Ids are folded away. */
export function EntryView({ path: [, locator = ''] }: Route) {
  // Another number loads the entry anew.
  const [turn, setTurn] = useState(0)
  return <LoadedEntry key={turn} locator={locator} onAsked={() => setTurn(turn + 1)} />
}

function LoadedEntry({ locator, onAsked }: { locator: string; onAsked: () => void }) {
  const loaded = useData<ExplainedLogEntry>(['log', locator], {}, refreshInterval)
  const { data } = loaded
  return (
    <>
      <Title name={data === null ? `Entry ${visible(locator)}` : buildTitle(data)} />
      <State loaded={loaded} />
      {data !== null && <Entry entry={data} onAsked={onAsked} />}
    </>
  )
}

function buildTitle({ eventType, partyLocator }: ExplainedLogEntry): string {
  return `${visible(eventType)}${partyLocator === null ? ', no member named' : ` for ${visible(partyLocator)}`}`
}

const READ_AGAIN = {
  verb: 'Read again',
  warning: 'This helps if rules/envelope.json was wrong: the message is read from Kafka by the current map.',
}

/** The next step. A skipped or given-up entry has a retry button if a retry may help, otherwise the reason. */
function NextStep({ entry, onAsked }: { entry: ExplainedLogEntry; onAsked: () => void }) {
  const { locator, status, story } = entry
  const isFinal = entry.givenUp || status === 'SKIPPED'
  const mayAsk = useRefusal() === null && isFinal
  const wanted = { kind: 'retry', locators: [locator] }
  const [group] = usePreview(mayAsk ? wanted : null).data?.groups ?? []
  const nextStep = group?.isUnchanged ? `Nothing. Trying again would not help: ${group.reason}.` : story.next
  const next = (
    <p>
      <strong>Next:</strong> <ServiceText sentence={nextStep} />
    </p>
  )
  if (group === undefined) return next
  const party = entry.decisions.at(-1)?.facts.party
  const isReadWrong = status === 'SKIPPED' && (party === 'missing' || party === 'not found')
  return (
    <>
      {next}
      <p class="hstack">
        {!group.isUnchanged && <Ask verb="Try again" what="this message" wanted={wanted} onAsked={onAsked} />}
        {isReadWrong && (
          <Ask {...READ_AGAIN} what="this event" wanted={{ ...wanted, readAgain: true }} onAsked={onAsked} />
        )}
      </p>
    </>
  )
}

function Entry({ entry, onAsked }: { entry: ExplainedLogEntry; onAsked: () => void }) {
  const { status, partyLocator, failureReason, body, story, reference } = entry
  const rule = entry.decisions.at(-1)?.ruleId
  const state = status !== 'SENT' ? 'NOT SENT' : entry.recordedOnly ? 'RECORDED, NOT DELIVERED' : status
  const isAddressed = status === 'SENT' || entry.decisions.some(({ outcome }) => outcome === 'SEND')
  return (
    <>
      <section
        class="card why"
        style={{ '--mark': `var(--${describeStatus(entry).toLowerCase()})` }}
        aria-label="What happened"
      >
        <p>
          <strong>
            <ServiceText sentence={story.what} />
          </strong>
        </p>
        {story.because !== null && (
          <p>
            <ServiceText sentence={story.because} />
          </p>
        )}
        {status === 'SENT' && partyLocator !== null && (
          <OptedOutSince partyLocator={partyLocator} eventType={entry.eventType} />
        )}
        <NextStep entry={entry} onAsked={onAsked} />
        <p class="hstack">
          {partyLocator !== null && <a href={buildHref(['parties', partyLocator])}>All about this member</a>}
          {reference !== null && reference !== partyLocator && (
            <a href={buildHref(['log'], { reference })}>All messages about {visible(reference)}</a>
          )}
          {status !== 'SENT' && rule !== undefined && (
            <a href={buildHref(['log'], { rule, status })}>
              All {inWords(status).toLowerCase()} by this rule
            </a>
          )}
        </p>
      </section>
      <div class="columns">
        {body !== null && (
          <Card
            id="message"
            title={
              <>
                Message <Badge status={state} />
              </>
            }
          >
            <Message subject={shownSubject(entry.channel, entry.subject)} body={body} />
            {isAddressed && channelKind(entry.channel)?.address !== null && (
              <p class="text-light">
                The address is not stored here: policy administration had it, and can correct it.
              </p>
            )}
          </Card>
        )}
        <Card id="timeline" title="Timeline">
          <ol class="unstyled">
            {story.timeline.map(({ at, until, words }) => (
              <li key={`${at} ${words}`}>
                <Time iso={at} />
                {until !== null && ' – '}
                {until !== null && <Time iso={until} />} <ServiceText sentence={words} />
              </li>
            ))}
          </ol>
        </Card>
      </div>
      <details>
        <summary>Technical</summary>
        <Facts
          facts={{
            Entry: entry.locator,
            'Event ID': entry.eventId,
            Reference: entry.reference,
            Channel: status === 'SKIPPED' ? null : inWords(nameOfChannel(entry.channel)),
            Reason: failureReason,
            Attempts: entry.decisions.length,
          }}
        />
        {entry.decisions
          .map((decision, index) => <Decision key={decision.attempt} decision={decision} index={index} />)
          .reverse()}
      </details>
    </>
  )
}

/** A note if the member would not get the message today. */
function OptedOutSince({ partyLocator, eventType }: { partyLocator: string; eventType: string }) {
  const { data } = useData<PreferenceHistory>(['preferences', partyLocator])
  if (!coversEventType(data?.preferences?.optedOutEvents ?? [], eventType)) return null
  return (
    <p>
      The member is opted out of such messages{' '}
      <ServiceText sentence={describeOptOut(data?.changes ?? [], eventType)} />.
    </p>
  )
}

export function Message({ subject, body }: { subject: string | null; body: string }) {
  return (
    <div class="card message">
      {subject !== null && (
        <p>
          <strong>
            <Value text={subject} />
          </strong>
        </p>
      )}
      <p>
        <Value text={body} />
      </p>
    </div>
  )
}

function Decision({ decision, index }: { decision: ExplainedDecision; index: number }) {
  const { retry, traceId, traceUrl } = decision
  const short = (revision: string | null) => revision?.slice(0, 12) ?? null
  return (
    <article class="card">
      <h3>
        {inWords(nameOfAttempt(index))}, <Time iso={decision.decidedAt} />
      </h3>
      <p>
        <ServiceText sentence={decision.why} />
      </p>
      <Facts
        facts={{
          Rule: decision.ruleId,
          'Asked for by': retry && `${retry.by}: ${retry.because}`,
          Request: decision.request && (
            <a href={buildHref(['requests', decision.request])}>{decision.request}</a>
          ),
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
      <RulesAbove rules={decision.rulesAbove} />
    </article>
  )
}

/** The reasons why no earlier rule made the decision. */
export function RulesAbove({ rules }: { rules: ExplainedDecision['rulesAbove'] }) {
  if (rules.length === 0) return null
  const why = rules.map(({ ruleId, mismatch }) => `${ruleId}: ${mismatch}`)
  return <Details summary="Why the rules above did not match" lines={why} />
}
