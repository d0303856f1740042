import type { Test } from 'tap'
import { WITNESS_SQL } from '../chaos/snapshot.ts'
import { committedOffsets, endOffsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, type TopicName, type World } from '../stack/world.ts'

export type Published = ReturnType<typeof manyEvents>[number]

const TOPICS: TopicName[] = ['claims', 'billing', 'enrollment']

/** Events of as many parties, spread evenly over the partitions of all three topics. */
export function manyEvents(count: number, partitionCount: number, partyCount = 200) {
  return Array.from({ length: count }, (_, i) => ({
    ...anEvent({ partyLocator: `party-${i % partyCount}` }),
    topic: TOPICS[i % 3] ?? 'claims',
    partition: Math.floor(i / 3) % partitionCount,
  }))
}

/** From now on the database itself records every checkpoint that moves back, for `eachOnce` to find none. */
export async function watchCheckpoints(world: World): Promise<void> {
  await world.sql(WITNESS_SQL)
}

/** Nothing is partial: rows match decisions, each sent row has one receipt, and none is beyond a checkpoint. */
export async function consistent(t: Test, world: World): Promise<void> {
  const [found] = await world.sql(`
    SELECT
      (SELECT count(*)::int FROM notifications.notification_log AS log
        WHERE NOT EXISTS (SELECT FROM notifications.decision WHERE decision.locator = log.locator)
      ) AS "rows without a decision",
      (SELECT count(*)::int FROM notifications.decision
        WHERE NOT EXISTS (SELECT FROM notifications.notification_log AS log WHERE log.locator = decision.locator)
      ) AS "decisions without a row",
      (SELECT count(*)::int FROM notifications.notification_log AS log
        WHERE status = 'SENT' AND channel <> 'IN_APP' AND 1 <> (
          SELECT count(receipt) FROM notifications.decision WHERE decision.locator = log.locator)
      ) AS "rows sent without just one receipt",
      (SELECT count(receipt)::int - count(DISTINCT receipt)::int FROM notifications.decision) AS "receipts given twice",
      (SELECT count(*)::int FROM notifications.decision
        JOIN notifications.projection_checkpoints AS checkpoint USING (topic, partition_id)
        WHERE decision."offset" > checkpoint."offset"
      ) AS "decisions beyond a checkpoint"`)
  t.same(found, {
    'rows without a decision': 0,
    'decisions without a row': 0,
    'rows sent without just one receipt': 0,
    'receipts given twice': 0,
    'decisions beyond a checkpoint': 0,
  })
}

/**
 * Holds once all is consumed: one row and one decision for each distinct event, one receipt for each
 * row sent, checkpoints at end − 1 and Kafka's own offsets at the end.
 */
export async function eachOnce(t: Test, world: World, events: readonly { eventId: string }[]): Promise<void> {
  await consistent(t, world)
  const ids = [...new Set(events.map(({ eventId }) => eventId))]
  const [counts] = await world.sql(
    `SELECT
      (SELECT count(*)::int FROM notifications.notification_log) AS rows,
      (SELECT count(*)::int FROM notifications.notification_log WHERE event_id = ANY($1)) AS known,
      (SELECT count(*)::int FROM notifications.decision WHERE attempt <= 1) AS decisions,
      (SELECT count(*)::int FROM notifications.rejected_message) AS rejected`,
    [ids],
  )
  t.same(counts, { rows: ids.length, known: ids.length, decisions: ids.length, rejected: 0 })
  await offsetsAtEnd(t, world)
  const [witness] = await world.sql(`SELECT to_regclass('chaos.set_back') IS NOT NULL AS watches`)
  if (!witness?.watches) return
  t.same(await world.sql('SELECT * FROM chaos.set_back'), [], 'no checkpoint moves back')
  t.same(await world.sql('SELECT * FROM chaos.beyond'), [], 'no decision is beyond its checkpoint')
}

async function offsetsAtEnd(t: Test, world: World): Promise<void> {
  for (const topic of Object.values(world.topics)) {
    const ends = Object.entries(await endOffsets(world.brokers, topic)).filter(([, end]) => end > 0)
    const rows = await world.sql(
      `SELECT partition_id, "offset"::int FROM notifications.projection_checkpoints WHERE topic = $1`,
      [topic],
    )
    for (const [partition, end] of ends)
      t.ok(
        rows.some((row) => row.partition_id === Number(partition) && row.offset === end - 1),
        `checkpoint of ${topic}/${partition}`,
      )
    const areCommitted = async () => {
      const committed = await committedOffsets(world.brokers, world.groupId, topic)
      return ends.every(([partition, end]) => committed[Number(partition)] === end)
    }
    await until(areCommitted, { what: `the group's offsets of ${topic} to be the checkpoints + 1` })
  }
}

export async function rowCount(world: World): Promise<number> {
  const [row] = await world.sql('SELECT count(*)::int FROM notifications.notification_log')
  return row?.count ?? 0
}
