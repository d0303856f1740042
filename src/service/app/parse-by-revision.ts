import { type EnvelopeMaps, loadStoredMaps, mapOf } from '../decide/event/envelope-map.ts'
import type { Message } from '../decide/event/message.ts'
import { type ParseResult, parseEvent } from '../decide/event/parse-event.ts'

/**
 * Parses messages as the envelope map of any revision does; as the current one if it is null, or if this version cannot read that
 * revision.
 */
export function createParseBy(
  current: EnvelopeMaps,
  currentRevision: string,
  readArchived: (revision: string) => Promise<string | null>,
): (topic: string, message: Message, revision: string | null) => Promise<ParseResult> {
  const known = new Map<string, EnvelopeMaps>()
  async function readMaps(revision: string): Promise<EnvelopeMaps> {
    const source = await readArchived(revision)
    return (source === null ? null : loadStoredMaps(source)) ?? current
  }
  return async (topic, message, revision) => {
    if (revision === null || revision === currentRevision) return parseEvent(message, mapOf(current, topic))
    const maps = known.get(revision) ?? (await readMaps(revision))
    known.set(revision, maps)
    return parseEvent(message, mapOf(maps, topic))
  }
}
