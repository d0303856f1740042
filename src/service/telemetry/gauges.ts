import { Gauge, type Registry } from 'prom-client'
import type { Backlog } from '../model/backlog.ts'
import type { Blocked } from '../model/block-reasons.ts'
import type { Notice } from '../model/service-status.ts'
import { withTimeout } from '../time/with-timeout.ts'

/** Readings at a scrape that need no wait. */
export interface ReplicaState {
  /** Empty if the database has not been reached yet. */
  readonly connections: readonly { pool: string; acquired: number; idle: number; waiters: number }[]
  readonly blocked: readonly Pick<Blocked, 'topic' | 'partition' | 'reason'>[]
  readonly foreign: readonly { readonly id: string }[]
  readonly notices: readonly Notice[]
  /** How far the database's clock was ahead a minute ago or less; 0 until it is known. */
  readonly clockAheadMs: number
  readonly isPolicyAdministrationDown: boolean
}

export interface GaugeSources {
  readonly version: string
  readonly ruleTableRevision: string
  readonly envelopeMapRevision: string
  /** The consumer group, which distinguishes deployments. */
  readonly groupId: string
  readonly backlog: () => Promise<Backlog>
  /** The topics of this process that are held. Rejects if the database does not answer. */
  readonly heldTopics: () => Promise<readonly string[]>
  readonly readState: () => ReplicaState
}

/** Together with the backlog's limit, less than Prometheus's default timeout of 10 s. */
const HOLDS_MS_MAX = 2_000

/** Registers the gauges. `readGauges` sets all but `dataFaults` at a scrape. */
export function createGauges(sources: GaugeSources, registers: Registry[]) {
  function gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []) {
    return new Gauge({ name: `notifications_${name}`, help, labelNames, registers })
  }
  const joined = gauge('consumer_joined', '1 while this process is a member of the consumer group', ['group'])
  const assigned = gauge('assigned_partitions', 'Partitions that this process owns')
  const broker = gauge('broker_reachable', '1 if the broker answered this scrape')
  const database = gauge('database_reachable', '1 if the database answered this scrape')
  const lag = gauge(
    'consumer_lag_messages',
    "Messages beyond the database's checkpoint, for each partition owned by this process or by none",
    ['topic', 'partition'],
  )
  const age = gauge(
    'oldest_unprocessed_event_age_seconds',
    'Age of the oldest fetched, unprocessed message; if none is fetched, the time since the checkpoint last moved; 0 if there is no message',
    ['topic', 'partition'],
  )
  const blocked = gauge(
    'partition_blocked',
    '1 for each blocked partition of this process, with the reason; it is retried with backoff',
    ['topic', 'partition', 'reason'],
  )
  const foreign = gauge(
    'foreign_database',
    '1 for each other database, by its id, that commits offsets of the consumer group',
    ['database'],
  )
  const shared = gauge(
    'shared',
    '1 for each resource (database or consumer group) shared with another program or deployment',
    ['resource'],
  )
  const clockAhead = gauge(
    'database_clock_ahead_seconds',
    "How far the database's clock is ahead of this machine's, measured once a minute",
  )
  const failedRows = gauge(
    'failed_rows',
    'Failed rows: waiting for a retry (up to 10,000), or given up (up to 110,000); the same in every replica',
    ['state'],
  )
  const expiredRows = gauge(
    'expired_rows',
    'Failed rows that became older than RETRY_MAX_AGE within the last hour, with attempts left (up to 10,000)',
  )
  const connections = gauge('database_pool_connections', 'Connections to the database', ['pool', 'state'])
  const waiters = gauge('database_pool_waiters', 'Operations that wait for a database connection', ['pool'])
  const down = gauge(
    'policy_administration_down',
    '1 while policy administration is known to be down and look-ups are suspended',
  )
  const held = gauge('hold', '1 for each held topic of this process', ['topic'])
  const heldEvents = gauge(
    'held_events',
    'Messages waiting because their topic is held; the same in every replica',
    ['topic'],
  )
  const dataFaults = gauge(
    'data_fault',
    '1 for each fault shared by the newest events of a topic, or by the newest answers for an address',
    ['fault', 'topic'],
  )
  gauge('build_info', 'Always 1; its labels hold the running version, rule table and envelope map', [
    'version',
    'rule_table_revision',
    'envelope_map_revision',
  ]).set(
    {
      version: sources.version,
      rule_table_revision: sources.ruleTableRevision,
      envelope_map_revision: sources.envelopeMapRevision,
    },
    1,
  )

  async function readGauges(): Promise<void> {
    const backlog = await sources.backlog()
    joined.set({ group: sources.groupId }, backlog.assignedCount === null ? 0 : 1)
    assigned.set(backlog.assignedCount ?? 0)
    broker.set(backlog.brokerReachable ? 1 : 0)
    database.set(backlog.databaseReachable ? 1 : 0)
    lag.reset()
    age.reset()
    for (const { topic, partition, messageCount, oldestAgeS } of backlog.partitions) {
      lag.set({ topic, partition }, messageCount)
      age.set({ topic, partition }, oldestAgeS)
    }
    // While the database does not answer, the last known holds stay.
    const heldTopics = backlog.databaseReachable
      ? await withTimeout(
          HOLDS_MS_MAX,
          sources.heldTopics().catch(() => null),
          () => null,
        )
      : null
    if (heldTopics !== null) for (const gauge of [held, heldEvents]) gauge.reset()
    for (const topic of heldTopics ?? []) {
      held.set({ topic }, 1)
      const waiting = backlog.waitingByTopic.get(topic)
      if (waiting !== undefined) heldEvents.set({ topic }, waiting)
    }
    const state = sources.readState()
    blocked.reset()
    for (const { topic, partition, reason } of state.blocked) blocked.set({ topic, partition, reason }, 1)
    foreign.reset()
    for (const { id } of state.foreign) foreign.set({ database: id }, 1)
    shared.reset()
    for (const { shares } of state.notices) if (shares !== undefined) shared.set({ resource: shares }, 1)
    clockAhead.set(state.clockAheadMs / 1_000)
    failedRows.reset()
    expiredRows.remove()
    if (backlog.failedRows !== null) {
      failedRows.set({ state: 'waiting' }, backlog.failedRows.waiting)
      failedRows.set({ state: 'given_up' }, backlog.failedRows.givenUp)
      expiredRows.set(backlog.failedRows.expired)
    }
    for (const { pool, acquired, idle, waiters: waiting } of state.connections) {
      connections.set({ pool, state: 'acquired' }, acquired)
      connections.set({ pool, state: 'idle' }, idle)
      waiters.set({ pool }, waiting)
    }
    down.set(state.isPolicyAdministrationDown ? 1 : 0)
  }

  return { dataFaults, readGauges }
}
