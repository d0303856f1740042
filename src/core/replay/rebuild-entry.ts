import { z } from 'zod'
import { decisionRecord } from '../decision/recorded-decision.ts'
import { ERASED_UNSENT, type LogRow } from '../log/log-entry.ts'
import { STATUS_OF } from '../log/status.ts'
import { finish, renderByMustache, splitSource, type Text } from '../templates/render.ts'
import type { Variables } from '../templates/template.ts'

/** A decision as it is recorded, with all of it that a log row is made from. */
export const replayedDecision = decisionRecord
  .omit({
    receipt: true,
    envelopeMapRevision: true,
    topic: true,
    partition: true,
    offset: true,
    traceId: true,
  })
  .extend({
    eventId: z.string(),
    partyLocator: z.string().nullable(),
    eventType: z.string(),
    /** Null where they were erased, and of skipped rows from before these kept theirs. */
    variables: z.custom<Variables | null>((variables) => typeof variables === 'object'),
  })
export type ReplayedDecision = Readonly<z.infer<typeof replayedDecision>>

/** The decisions of one row, by attempt: at least one. */
export type Decisions = readonly [ReplayedDecision, ...ReplayedDecision[]]

/** A rebuilt row. `textFault` is why subject and body could not be rebuilt, and must be ignored; null where they were. */
export interface Rebuilt {
  readonly row: LogRow
  readonly textFault: string | null
}

/**
 * Makes a log row from its decisions alone. `templateOf` returns the archived source of a template's revision. Its
 * text is rendered by the mustache library, not by our compiler, so that one is checked by the other. What was erased
 * stays so: the row has no text, and where it was still to be sent it is SKIPPED.
 */
export function rebuild(
  locator: string,
  decisions: Decisions,
  templateOf: (revision: string) => string | undefined,
): Rebuilt {
  const first = decisions[0]
  const last = decisions.at(-1) ?? first
  const decided = last.sendError === null ? STATUS_OF[last.outcome] : 'FAILED'
  const isErased = wasErased(decisions)
  const isErasedUnsent = isErased && decided === 'FAILED'
  const status = isErasedUnsent ? 'SKIPPED' : decided
  const isSkippedAtOnce = last === first && last.outcome === 'SKIP'
  const text = isErased || status === 'SKIPPED' ? NO_TEXT : textOf(last, templateOf)
  const isFault = typeof text === 'string'
  return {
    row: {
      locator,
      eventId: first.eventId,
      partyLocator: first.partyLocator,
      eventType: first.eventType,
      channel: last.channel,
      status,
      ...(isFault ? NO_TEXT : text),
      failureReason: isErasedUnsent ? ERASED_UNSENT : (last.sendError ?? last.reason),
      attemptCount: last.attempt,
      sentAt: status === 'SENT' ? last.decidedAt : null,
      createdAt: first.decidedAt,
      lastAttemptAt: isSkippedAtOnce ? null : last.decidedAt,
    },
    textFault: isFault ? text : null,
  }
}

/** True if the row behind these decisions was erased: its text is gone for good. */
export function wasErased(decisions: readonly ReplayedDecision[]): boolean {
  return decisions.some(({ erasedAt }) => erasedAt !== null)
}

const NO_TEXT = { subject: null, body: null }

/** The rendered text, or why it is unknown. A decision repeats the variables of the one before, unless it rendered again. */
function textOf(
  { templateRevision, variables }: ReplayedDecision,
  templateOf: (revision: string) => string | undefined,
): Text | string {
  if (templateRevision === null || variables === null)
    return 'the text cannot be rebuilt: the decision holds no variables'
  const source = templateOf(templateRevision)
  if (source === undefined)
    return `the text cannot be rebuilt: template revision ${templateRevision} is not in the archive`
  const { subject, body } = splitSource(source)
  return finish({ subject: renderByMustache(subject, variables), body: renderByMustache(body, variables) })
}
