import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import type { Brokers } from '../consume/brokers.ts'
import type { Consumer } from '../consume/consumer.ts'
import { READ_UNCOMMITTED } from '../consume/fetch-request.ts'
import type { PartyClient } from '../contacts/client.ts'
import { createCaseJudge } from '../decide/event/event-type-pattern.ts'
import { findHold } from '../model/request/hold.ts'
import { type ReplicaTroubles, showBlocked } from '../model/service-status.ts'
import { countFailedEntries } from '../store/read/count-failed-entries.ts'
import { listCheckpoints } from '../store/read/list-checkpoints.ts'
import { readHolds } from '../store/read/read-holds.ts'
import { createMetrics } from '../telemetry/registry.ts'
import { createAnnouncer } from './announce.ts'
import { createJudges } from './judges.ts'
import { listAuthored } from './known-event-types.ts'
import { createNotices } from './notices.ts'
import type { Database } from './pools.ts'
import { givesReason, type RuleFiles, TEMPLATE_EVENT_TYPES } from './rule-files.ts'
import { createBacklog } from './watch-backlog.ts'

const LOG_INTERVAL_MS = 60_000

/**
 * Watches this replica and its surroundings: its troubles, notices, backlog and metrics.
 *
 * @param consumer returns null until the database is ready
 */
export function createMonitor(
  config: Config,
  ruleFiles: RuleFiles,
  brokers: Brokers,
  database: Database,
  parties: PartyClient,
  consumer: () => Consumer | null,
  log: Logger,
) {
  const { groupId, topics } = config.broker
  const self = { id: randomUUID(), groupId, topics, ruleTableRevision: ruleFiles.ruleTable.revision }
  const announcer = createAnnouncer(self, database.pool, () => readTroubles(parties, consumer()))
  const { judges, listMembers, clockAheadMs } = createJudges(self, brokers, database, announcer.announce)
  const notices = createNotices(judges, log)
  const backlog = createBacklog({
    assignment: () => consumer()?.membership.assignment ?? null,
    oldestMs: (topic, partition) => consumer()?.partitions.oldestMs(topic, partition) ?? null,
    // Messages behind an open transaction are unprocessed, too: a producer that hangs must not go unnoticed.
    // A broker that stands still must not hide how far the partitions of the others are behind.
    ends: () => brokers.readReachableEnds(topics, READ_UNCOMMITTED),
    ownedByGroup: async () => new Set((await listMembers()).flatMap(({ owned }) => owned)),
    checkpoints: async () => listCheckpoints(database.pool(), topics),
    failedRows: async () => countFailedEntries(database.pool(), config.retry),
    wallMs: Date.now,
    monotonicMs: () => performance.now(),
  })
  const metrics = createMetrics({
    ...describeMetrics(config, ruleFiles),
    backlog,
    heldTopics: async () => {
      const holds = await readHolds(database.pool())
      return topics.filter((topic) => findHold(holds, topic) !== null)
    },
    readState: () => ({
      connections: database.connections(),
      blocked: consumer()?.blocked ?? [],
      foreign: consumer()?.foreign.found ?? [],
      notices: notices.list(),
      clockAheadMs: clockAheadMs(),
      isPolicyAdministrationDown: parties.isDown(),
    }),
  })
  const minute = setInterval(() => {
    void metrics.logMinute(log)
    void notices.update()
  }, LOG_INTERVAL_MS).unref()
  return {
    /** The id of this process in the database. */
    replicaId: self.id,
    announcer,
    notices,
    backlog,
    metrics,
    close: () => {
      clearInterval(minute)
      return metrics.logMinute(log)
    },
  }
}

function readTroubles(parties: PartyClient, consumer: Consumer | null): ReplicaTroubles {
  const failsSinceMs = parties.failsSinceMs()
  return {
    lookUps: parties.isDown() ? 'policy administration is down' : null,
    lookUpsFailSince: failsSinceMs === null ? null : new Date(failsSinceMs).toISOString(),
    blocked: showBlocked(consumer?.blocked ?? [], (ms) => new Date(ms).toISOString()),
  }
}

/** Constant labels and settings of the metrics. */
function describeMetrics({ broker, policyAdministration, retry }: Config, ruleFiles: RuleFiles) {
  return {
    version: packageJson.version,
    ruleTableRevision: ruleFiles.ruleTable.revision,
    envelopeMapRevision: ruleFiles.envelopeMapRevision.revision,
    groupId: broker.groupId,
    topics: broker.topics,
    rules: ruleFiles.ruleTable.rules,
    eventTypes: new Set(TEMPLATE_EVENT_TYPES),
    isInOtherCase: createCaseJudge(listAuthored(ruleFiles.ruleTable)),
    givesReason,
    addressPlaces: policyAdministration.addresses,
    attemptCountMax: retry.attemptCountMax,
  }
}
