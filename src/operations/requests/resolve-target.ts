import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { RequestTarget } from '../../service/model/request/schemas.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { WantedTarget } from './wanted.ts'

/** The target to store: times and ids are fixed, so that it means the same later. Throws CorrectableError for unknown items. */
export async function resolveTarget(pool: CommonQueryMethods, wanted: WantedTarget): Promise<RequestTarget> {
  if (wanted.kind === 'skip') {
    const { topic, partition } = wanted.batch
    const found = await findTexts(
      pool,
      sql.fragment`SELECT topic AS item FROM notifications.projection_checkpoints WHERE topic = ${topic} AND partition_id::text = ${String(partition)}`,
    )
    requireAll(
      'checkpoint is stored for partition',
      [`${topic}/${partition}`],
      found.map((item) => `${item}/${partition}`),
    )
    return { kind: wanted.kind, target: wanted.batch }
  }
  if ('locators' in wanted) {
    const locators = [...new Set(wanted.locators)]
    const found = await findTexts(
      pool,
      sql.fragment`SELECT locator AS item FROM notifications.notification_log WHERE locator = ANY(${sqlArray('text', locators)})`,
    )
    requireAll('log entry has the locator', locators, found)
    return { kind: wanted.kind, target: { locators, readAgain: wanted.readAgain } }
  }
  if ('ids' in wanted) {
    const ids = [...new Set(wanted.ids)]
    const found = await findTexts(
      pool,
      sql.fragment`SELECT id::text AS item FROM notifications.rejected_message WHERE id = ANY(${sqlArray('int8', ids)})`,
    )
    requireAll('rejected message has the id', ids, found)
    return { kind: wanted.kind, target: { ids } }
  }
  if (wanted.kind === 'retry') {
    // A retry implies `notTold`, and the previous version cannot read that filter.
    const { from, to = 0, notTold: _, ...rest } = wanted.filter
    const [start, end, now] = [
      from === undefined ? undefined : await resolveTime(pool, from),
      await resolveTime(pool, to),
      await resolveTime(pool, 0),
    ]
    return {
      kind: wanted.kind,
      target: { filter: { ...rest, from: start, to: end < now ? end : now }, readAgain: wanted.readAgain },
    }
  }
  const { since, before, ...rest } = wanted.filter
  const upTo = await pool.oneFirst(sql.type(z.object({ id: z.string() }))`
    SELECT coalesce(max(id), 0)::text AS id FROM notifications.rejected_message`)
  const [start, end] = [
    since === undefined ? undefined : await resolveTime(pool, since),
    before === undefined ? undefined : await resolveTime(pool, before),
  ]
  return { kind: wanted.kind, target: { filter: { ...rest, since: start, before: end, upTo } } }
}

function findTexts(pool: CommonQueryMethods, query: ReturnType<typeof sql.fragment>) {
  return pool.anyFirst(sql.type(z.object({ item: z.string() }))`${query}`)
}

function requireAll(what: string, wanted: readonly string[], found: readonly string[]): void {
  const missing = wanted.filter((item) => !found.includes(item))
  if (missing.length > 0) throw new CorrectableError(`no ${what} ${missing.join(', ')}`)
}
