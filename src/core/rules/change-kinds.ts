import type { Change } from './diff.ts'

/** What a change means for members, the most harmful kind first: as diffs order, count and name them. */
export const CHANGE_KINDS = [
  'no longer sent',
  'newly sent',
  'sent by another channel',
  'skipped or retried otherwise',
  'with another reason only',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export function kindOf({ before, after }: Pick<Change, 'before' | 'after'>): ChangeKind {
  const [wasSent, isSent] = [before.outcome === 'SEND', after.outcome === 'SEND']
  if (wasSent && !isSent) return 'no longer sent'
  if (!wasSent && isSent) return 'newly sent'
  if (isSent) return 'sent by another channel'
  return before.outcome === after.outcome ? 'with another reason only' : 'skipped or retried otherwise'
}
