import { useState } from 'preact/hooks'
import { FACT_LIST } from '../../core/decision/facts.ts'
import type { TrialResult, Trial as Tried } from '../../core/workbench/trial.ts'
import { Badge, Choice, Field, Problem, Value } from '../parts.tsx'
import { counted } from '../text.ts'
import { useAnswer } from '../use-data.ts'
import { Message, RulesAbove } from '../views/entry.tsx'

const FIRST = {
  eventType: 'claim.paid',
  locator: 'CLM-2026-00056',
  reason: null,
  ...Object.fromEntries(FACT_LIST.map(([key, { usual }]) => [key, usual])),
} as Tried

const rank = (usual: unknown) => (typeof usual === 'string' ? 0 : 1)
/** The facts, those of two values last. */
const FIELDS = FACT_LIST.toSorted(([, a], [, b]) => rank(a.usual) - rank(b.usual))

/** A form for a situation, and the message that this table would send. */
export function Trial({ table }: { table: string }) {
  const [trial, setTrial] = useState(FIRST)
  // A blank type is none; what was said of the last one stays.
  const { data, problem } = useAnswer<{ tried: TrialResult | null; faults: readonly string[] }>('try', {
    table,
    trial: { ...trial, eventType: trial.eventType.trim() || FIRST.eventType },
  })
  const set = (change: Partial<Tried>) => setTrial({ ...trial, ...change })
  const text = (label: string, key: 'eventType' | 'locator' | 'reason', list?: string) => (
    <Field
      label={label}
      list={list}
      maxLength={255}
      value={trial[key] ?? ''}
      onInput={({ currentTarget: { value } }) =>
        set({ [key]: key === 'reason' && value === '' ? null : value })
      }
    />
  )
  return (
    <div class="columns">
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        {text('Event type', 'eventType', 'rule-event-types')}
        {text('Locator in the event', 'locator')}
        {text('Reason in the event', 'reason')}
        {FIELDS.map(([key, { column, values, knownOf }]) => {
          const label = column.charAt(0).toUpperCase() + column.slice(1)
          const value = trial[key]
          if (typeof value === 'string') {
            const choices = values as string[]
            return (
              <Choice
                key={key}
                label={label}
                value={value}
                options={choices}
                onValue={(next) => set({ [key]: next })}
              />
            )
          }
          const isKnown = knownOf.includes(trial.party)
          return (
            <label key={key}>
              <input
                type="checkbox"
                checked={isKnown && value === true}
                disabled={!isKnown}
                onChange={({ currentTarget }) => set({ [key]: currentTarget.checked })}
              />
              {label}
            </label>
          )
        })}
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

function Result({ of }: { of: TrialResult }) {
  const { outcome, text, sms } = of
  return (
    <>
      <p>
        <Badge of={outcome} /> {outcome === 'SEND' ? `by ${of.channel}` : <Value of={of.failureReason} />}, by
        the rule <Value of={of.ruleId} mono />: <Value of={of.because} />
      </p>
      {outcome === 'FAIL' && <p class="faint">Nothing is sent now. A retry would send:</p>}
      {text === null ? <p class="faint">No message is sent.</p> : <Message {...text} />}
      {sms !== null && (
        <p class="faint">
          By SMS: {counted(sms.segments, 'segment', 'segments')} ({sms.encoding}).
        </p>
      )}
      <RulesAbove of={of.rulesAbove} />
    </>
  )
}
