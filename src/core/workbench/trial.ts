import { z } from 'zod'
import { factSchemas } from '../decision/fact-schemas.ts'
import { factsOf } from '../decision/facts.ts'
import { type TriedEvent, triedDecision } from '../rules/try-event.ts'

const TEXT_LENGTH_MAX = 1_000

/** An event of a party as somebody imagines it. */
export const trial = z.strictObject({
  eventType: z.string().min(1, 'must not be blank').max(255),
  locator: z.string().max(TEXT_LENGTH_MAX),
  /** Null: the event gives none. */
  reason: z.string().max(TEXT_LENGTH_MAX).nullable(),
  ...factSchemas,
})
export type Trial = Readonly<z.infer<typeof trial>>

/** The lines of `rules try`. */
export const trialResult = triedDecision.omit({ reason: true })
export type TrialResult = Readonly<z.infer<typeof trialResult>>

export function eventOfTrial({ eventType, locator, reason, ...values }: Trial): TriedEvent {
  return {
    event: { eventType, locator, reason },
    facts: factsOf(eventType, values.party, (key) => values[key]),
    contact:
      values.party === 'unresolved'
        ? { state: values.party, error: 'policy administration could not be asked', unasked: true }
        : undefined,
  }
}
