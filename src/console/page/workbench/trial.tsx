import { useState } from 'preact/hooks'
import { describeSms } from '../../../authoring/templates/sms-length.ts'
import {
  eventOfTrial,
  type Trial as Tried,
  type TriedDecision,
  tryEvent,
} from '../../../authoring/try/try-event.ts'
import { FACT_LIST } from '../../../service/decide/decision/facts.ts'
import { nameOfChannel, shownSubject } from '../../../service/decide/party/channel.ts'
import { Badge, Choice, Field, Value } from '../parts.tsx'
import { Message, RulesAbove } from '../views/entry.tsx'
import type { Verdict } from './draft.ts'

const FIRST = {
  eventType: 'claim.paid',
  locator: 'CLM-2026-00056',
  reason: null,
  ...Object.fromEntries(FACT_LIST.map(([key, { usual }]) => [key, usual])),
} as Tried

/** The event in a form, with the facts assumed for it. */
function triedIn(form: HTMLFormElement): Tried {
  const given = new FormData(form)
  const text = (name: string) => String(given.get(name))
  const facts = FACT_LIST.map(([key, { usual }]) => [
    key,
    typeof usual === 'boolean' ? given.has(key) : text(key),
  ])
  const event = { eventType: text('eventType'), locator: text('locator'), reason: text('reason') || null }
  return { ...event, ...Object.fromEntries(facts) } as Tried
}

/** The draft's result in one situation. */
export function Trial({ verdict: { ruleTable, texts } }: { verdict: Verdict }) {
  const [tried, setTried] = useState(FIRST)
  const { templates } = texts.report
  const result =
    ruleTable && templates && tried.eventType && tryEvent(ruleTable, templates, eventOfTrial(tried))
  return (
    <div class="columns">
      <form class="fields" onInput={({ currentTarget }) => setTried(triedIn(currentTarget))}>
        <Field
          label="Event type"
          name="eventType"
          list="event-types"
          defaultValue={FIRST.eventType}
          maxLength={255}
        />
        <Field label="Claim, policy or bill" name="locator" defaultValue={FIRST.locator} />
        <Field label="Reason, if the event gives one" name="reason" />
        {FACT_LIST.map(([key, { column, values, usual }]) => {
          const label = `${column.charAt(0).toUpperCase()}${column.slice(1)}`
          return typeof usual === 'boolean' ? (
            <label key={key}>
              <input type="checkbox" name={key} defaultChecked={usual} />
              {label}
            </label>
          ) : (
            <Choice
              key={key}
              label={label}
              name={key}
              value={usual}
              options={values.map((choice) => [`${choice}`, nameOfChannel(`${choice}`)])}
            />
          )
        })}
      </form>
      <div aria-live="polite">
        {result ? (
          <Result decision={result} />
        ) : (
          <p>{tried.eventType ? 'Correct the faults first.' : 'Enter an event type.'}</p>
        )}
      </div>
    </div>
  )
}

function Result({ decision }: { decision: TriedDecision }) {
  return (
    <>
      <p>
        <Badge status={decision.outcome} />{' '}
        <Value
          text={
            decision.outcome === 'SEND' ? `by ${nameOfChannel(decision.channel)}` : decision.failureReason
          }
        />{' '}
        – by rule <Value text={decision.ruleId} mono />
      </p>
      <p>
        <Value text={decision.because} />
      </p>
      {decision.outcome === 'FAIL' && <p>Nothing is sent now; a retry would send:</p>}
      {decision.text !== null && (
        <Message {...decision.text} subject={shownSubject(decision.channel, decision.text.subject)} />
      )}
      {decision.sms !== null && <p>{describeSms(decision.sms)}</p>}
      <RulesAbove rules={decision.rulesAbove} />
    </>
  )
}
