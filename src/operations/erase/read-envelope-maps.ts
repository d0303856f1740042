import { ENVELOPE_MAP, readText } from '../../service/app/authored-files.ts'
import {
  type EnvelopeMaps,
  loadEnvelopeMaps,
  loadStoredMaps,
} from '../../service/decide/event/envelope-map.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { listArchived, readArchived } from '../../service/store/read/read-archive.ts'

/** The envelope maps in force, then all former ones. */
export async function readEnvelopeMaps(pool: DatabasePool): Promise<EnvelopeMaps[]> {
  const maps = [loadEnvelopeMaps(await readText(ENVELOPE_MAP))]
  for (const revision of await listArchived(pool, 'envelope_map')) {
    const stored = loadStoredMaps((await readArchived(pool, 'envelope_map', revision)) ?? '')
    if (stored !== null) maps.push(stored)
  }
  return maps
}
