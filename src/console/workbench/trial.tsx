import { useState } from 'preact/hooks'
import { FACT_LIST } from '../../core/decision/facts.ts'
import type { TrialResult, Trial as Tried } from '../../core/workbench/trial.ts'
import { Badge, Problem, Value } from '../parts.tsx'
import { counted } from '../text.ts'
import { useAnswer } from '../use-data.ts'

const FIRST = {
  eventType: 'claim.paid',
  locator: 'CLM-2026-00056',
  reason: null,
  ...Object.fromEntries(FACT_LIST.map(([key, { usual }]) => [key, usual])),
} as Tried

/** A form for a situation, and the message that this table would send. */
export function Trial({ table }: { table: string }) {
  const [trial, setTrial] = useState(FIRST)
  // A blank type is none; what was said of the last one stays.
  const { data, problem } = useAnswer<{ tried: TrialResult | null; faults: readonly string[] }>('try', {
    table,
    trial: { ...trial, eventType: trial.eventType.trim() || FIRST.eventType },
  })
  const set = (key: keyof Tried, value: string | boolean | null) =>
    setTrial({ ...trial, [key]: value } as Tried)
  return (
    <div class="columns">
      <form class="trial" onSubmit={(event) => event.preventDefault()}>
        <Text
          label="Event type"
          value={trial.eventType}
          list="rule-event-types"
          onValue={(text) => set('eventType', text)}
        />
        <Text label="Locator in the event" value={trial.locator} onValue={(text) => set('locator', text)} />
        <Text
          label="Reason in the event"
          value={trial.reason ?? ''}
          onValue={(text) => set('reason', text === '' ? null : text)}
        />
        {FACT_LIST.filter(([, { usual }]) => typeof usual === 'string').map(([key, { column, values }]) => (
          <Pick
            key={key}
            label={labelOf(column)}
            value={trial[key] as string}
            options={values as string[]}
            onValue={(value) => set(key, value)}
          />
        ))}
        <div class="checks">
          {FACT_LIST.filter(([, { usual }]) => typeof usual === 'boolean').map(
            ([key, { column, knownOf }]) => (
              <Check
                key={key}
                label={labelOf(column)}
                value={knownOf.includes(trial.party) && trial[key] === true}
                isOff={!knownOf.includes(trial.party)}
                onValue={(is) => set(key, is)}
              />
            ),
          )}
        </div>
      </form>
      <div aria-live="polite">
        <Problem of={problem} />
        {data !== null && data.tried === null && (
          <p class="faint">Correct the faults first: the table cannot be used as it is.</p>
        )}
        {data?.tried && <Result of={data.tried} />}
      </div>
    </div>
  )
}

function Result({
  of: { outcome, channel, ruleId, because, failureReason, text, sms, rulesAbove },
}: {
  of: TrialResult
}) {
  return (
    <>
      <p>
        <Badge of={outcome} /> {outcome === 'SEND' ? `by ${channel}` : <Value of={failureReason} />}, by the
        rule <Value of={ruleId} mono />: <Value of={because} />
      </p>
      {outcome === 'FAIL' && <p class="faint">Nothing is sent now. A retry would send:</p>}
      {text === null ? (
        <p class="faint">No message is sent.</p>
      ) : (
        <blockquote class="message">
          <p class="subject">
            <Value of={text.subject} />
          </p>
          <p class="body">
            <Value of={text.body} />
          </p>
        </blockquote>
      )}
      {sms !== null && (
        <p class="faint">
          By SMS: {counted(sms.segments, 'segment', 'segments')} ({sms.encoding}).
        </p>
      )}
      {rulesAbove.length > 0 && (
        <details>
          <summary>Why {counted(rulesAbove.length, 'rule', 'rules')} above did not match</summary>
          <ul class="bullets">
            {rulesAbove.map((above) => (
              <li key={above.ruleId}>
                <Value of={above.ruleId} mono />: <Value of={above.mismatch} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

interface InputProps<Value> {
  readonly label: string
  readonly value: Value
  readonly onValue: (value: Value) => void
}

const labelOf = (column: string) => column.charAt(0).toUpperCase() + column.slice(1)
const idOf = (label: string) => `trial-${label.toLowerCase().replaceAll(' ', '-')}`

function Text({ label, value, list, onValue }: InputProps<string> & { list?: string }) {
  return (
    <div class="field">
      <label for={idOf(label)}>{label}</label>
      <input
        id={idOf(label)}
        value={value}
        list={list}
        maxLength={255}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </div>
  )
}

function Pick({ label, value, options, onValue }: InputProps<string> & { options: readonly string[] }) {
  return (
    <div class="field">
      <label for={idOf(label)}>{label}</label>
      <select id={idOf(label)} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </div>
  )
}

function Check({ label, value, isOff = false, onValue }: InputProps<boolean> & { isOff?: boolean }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        disabled={isOff}
        onChange={({ currentTarget }) => onValue(currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}
