import { z } from 'zod'
import { decisionRecord, storedVariables } from '../../service/decide/decision/recorded-decision.ts'
import { compileText, finish, splitSource, type Text } from '../../service/decide/templates/render.ts'
import { ERASED_UNSENT, type LogRow } from '../../service/model/log/log-entry.ts'
import { toStatus } from '../../service/model/log/status.ts'

/** A recorded decision with all data needed to rebuild its log row. */
export const replayedDecision = decisionRecord.omit({ receipt: true, recordedOnly: true }).extend({
  eventId: z.string(),
  partyLocator: z.string().nullable(),
  eventType: z.string(),
  /** Null if erased or not stored. */
  variables: storedVariables.nullable(),
})
export type ReplayedDecision = Readonly<z.infer<typeof replayedDecision>>

export type Decisions = readonly [ReplayedDecision, ...ReplayedDecision[]]

/** A rebuilt row. `textFault`: the reason why subject and body could not be rebuilt and must be ignored, or null. */
export interface RebuildResult {
  readonly row: LogRow
  readonly textFault: string | null
}

/**
 * Rebuilds a log row from its decisions alone; null if this version does not know the last outcome. Erased data stays erased: the
 * row has no text, and is SKIPPED if it was not yet sent.
 *
 * @param findTemplate returns the archived source of a template revision
 */
export function rebuild(
  locator: string,
  decisions: Decisions,
  findTemplate: (revision: string) => string | undefined,
): RebuildResult | null {
  const first = decisions[0]
  const last = decisions.at(-1) ?? first
  const decided = last.sendError === null ? toStatus(last.outcome) : 'FAILED'
  if (decided === undefined) return null
  const isErased = wasErased(decisions)
  const isErasedUnsent = isErased && decided === 'FAILED'
  const status = isErasedUnsent ? 'SKIPPED' : decided
  const isSkippedAtOnce = last === first && last.outcome === 'SKIP'
  const text = isErased || status === 'SKIPPED' ? NO_TEXT : rebuildText(last, findTemplate)
  const isFault = typeof text === 'string'
  return {
    row: {
      locator,
      eventId: first.eventId,
      // The message may have been read again.
      partyLocator: last.partyLocator,
      eventType: last.eventType,
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

/** True if the row of these decisions was erased: its text cannot be rebuilt. */
export function wasErased(decisions: readonly ReplayedDecision[]): boolean {
  return decisions.some(({ erasedAt }) => erasedAt !== null)
}

const NO_TEXT = { subject: null, body: null }

/** The rendered text, or the reason why it is unknown. A decision repeats the variables of the previous one, unless it rendered again. */
function rebuildText(
  { templateRevision, variables }: ReplayedDecision,
  findTemplate: (revision: string) => string | undefined,
): Text | string {
  if (templateRevision === null || variables === null)
    return 'the text cannot be rebuilt: the decision has no variables'
  const source = findTemplate(templateRevision)
  if (source === undefined)
    return `the text cannot be rebuilt: template revision ${templateRevision} is not in the archive`
  const { subject, body } = splitSource(source)
  return finish({ subject: compileText(subject)(variables), body: compileText(body)(variables) })
}
