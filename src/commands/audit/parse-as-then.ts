import { type EnvelopeMap, loadEnvelopeMap } from '../../core/event/envelope-map.ts'
import { parseEvent } from '../../core/event/parse-event.ts'
import type { AuditNeeds } from '../../pipeline/audit.ts'

/**
 * Parses messages by the present envelope map, or by that of another revision; where the archive lacks that one, by the
 * present one.
 */
export function createParse(
  present: { readonly source: string; readonly revision: string },
  readMap: (revision: string) => Promise<string | null>,
): AuditNeeds['parse'] {
  const map = loadEnvelopeMap(present.source)
  const maps = new Map<string, Promise<EnvelopeMap>>()
  return (message, revision) => {
    if (revision === null || revision === present.revision) return parseEvent(message, map)
    const then =
      maps.get(revision) ??
      readMap(revision).then((source) => (source === null ? map : loadEnvelopeMap(source)))
    maps.set(revision, then)
    return then.then((mapThen) => parseEvent(message, mapThen))
  }
}
