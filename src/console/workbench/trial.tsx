import { useState } from 'preact/hooks'
import { FACT_LIST } from '../../core/decision/facts.ts'
import {
  eventOfTrial,
  type Trial as Tried,
  type TriedDecision,
  tryEvent,
} from '../../core/rules/try-event.ts'
import { describeSms } from '../../core/text/sms-length.ts'
import { Badge, Choice, Field, Value } from '../parts.tsx'
import { Message, RulesAbove } from '../views/entry.tsx'
import type { Verdict } from './draft.ts'

const FIRST = {
  eventType: 'claim.paid',
  locator: 'CLM-2026-00056',
  reason: null,
  ...Object.fromEntries(FACT_LIST.map(([key, { usual }]) => [key, usual])),
} as Tried

/** The draft's result in one situation. */
export function Trial({ of: { ruleTable, texts } }: { of: Verdict }) {
  const [tried, setTried] = useState(FIRST)
  const set = (change: Partial<Tried>) => setTried((held) => ({ ...held, ...change }))
  const result =
    ruleTable &&
    texts.report.templates &&
    tried.eventType &&
    tryEvent(ruleTable, texts.report.templates, eventOfTrial(tried))
  return (
    <div class="columns">
      <div class="fields">
        <Field
          label="Event type"
          list="event-types"
          value={tried.eventType}
          maxLength={255}
          onInput={({ currentTarget }) => set({ eventType: currentTarget.value })}
        />
        <Field
          label="Claim, policy or bill"
          value={tried.locator}
          onInput={({ currentTarget }) => set({ locator: currentTarget.value })}
        />
        <Field
          label="Reason, if the event gives one"
          value={tried.reason ?? ''}
          onInput={({ currentTarget }) => set({ reason: currentTarget.value || null })}
        />
        {FACT_LIST.map(([key, { column, values, usual }]) => {
          const label = `${column.charAt(0).toUpperCase()}${column.slice(1)}`
          return typeof usual === 'boolean' ? (
            <label key={key}>
              <input
                type="checkbox"
                checked={tried[key] === true}
                onChange={({ currentTarget }) => set({ [key]: currentTarget.checked })}
              />
              {label}
            </label>
          ) : (
            <Choice
              key={key}
              label={label}
              value={String(tried[key])}
              options={values as string[]}
              onValue={(value) => set({ [key]: value })}
            />
          )
        })}
      </div>
      <div aria-live="polite">{result ? <Result of={result} /> : <p>Correct the faults first.</p>}</div>
    </div>
  )
}

function Result({ of }: { of: TriedDecision }) {
  return (
    <>
      <p>
        <Badge of={of.outcome} />{' '}
        <Value of={of.outcome === 'SEND' ? `by ${of.channel}` : (of.failureReason ?? of.ruleId)} /> – by rule{' '}
        <Value of={of.ruleId} mono />
      </p>
      <p>
        <Value of={of.because} />
      </p>
      {of.outcome === 'FAIL' && <p>Nothing is sent now; a retry would send:</p>}
      {of.text !== null && <Message {...of.text} />}
      {of.sms !== null && <p>{describeSms(of.sms)}</p>}
      <RulesAbove of={of.rulesAbove} />
    </>
  )
}
