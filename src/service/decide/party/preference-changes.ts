import { coversEventType } from '../event/event-type-pattern.ts'
import { nameOfChannel } from './channel.ts'
import type { PreferenceChange } from './preferences.ts'

/** Since when a party has been opted out of an event type, by changes newest first: `since 2026-01-31T12:00:00.000000Z`. */
export function describeOptOut(changes: readonly PreferenceChange[], eventType: string): string {
  const first = changes.find(({ before }) => !coversEventType(before?.optedOutEvents ?? [], eventType))
  if (first?.isUnreadable) return `since ${first.changedAt}, or before`
  if (first && coversEventType(first.after.optedOutEvents, eventType)) return `since ${first.changedAt}`
  return `since before ${changes.at(-1)?.changedAt ?? 'changes were recorded'}`
}

/** A change of preferences in words: `Opted out of claim.paid, by ada`. */
export function describePreferenceChange({
  changedBy,
  before,
  after,
  isUnreadable,
}: PreferenceChange): string {
  const by = changedBy === null ? '' : `, by ${changedBy}`
  if (isUnreadable) return `Changed in a form that this version of the service cannot read${by}`
  const [was, is] = [before?.optedOutEvents ?? [], after.optedOutEvents]
  const out = is.filter((type) => !coversEventType(was, type))
  const back = was.filter((type) => !coversEventType(is, type))
  const prefers = `prefers ${nameOfChannel(after.preferredChannel)}`
  const changes = [
    out.length > 0 && `opted out of ${out.join(', ')}`,
    back.length > 0 && `no longer opted out of ${back.join(', ')}`,
    after.preferredChannel !== before?.preferredChannel && prefers,
    before !== null &&
      (after.email !== before.email || after.phone !== before.phone) &&
      'addresses changed (not used for sending)',
  ].filter((words) => words !== false)
  const words = changes.length === 0 ? 'saved without a change' : changes.join('; ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${by}`
}
